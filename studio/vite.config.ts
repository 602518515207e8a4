import { defineConfig } from "vitest/config";

// The built page is part of the Python package and of the repository. Its bytes depend on the sources and the lock file
// alone, so that continuous integration can build it again and compare.
export default defineConfig({
  base: "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/selfmate/studio/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8765", "/ws": { target: "ws://127.0.0.1:8765", ws: true } } },
  test: {
    environment: "jsdom",
    isolate: false,
    maxWorkers: 1,
    setupFiles: ["test/setup.ts"],
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
  },
});
