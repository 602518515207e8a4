/** What browsers have and jsdom lacks. */
Object.assign(globalThis, { matchMedia: (query: string) => ({ matches: false, media: query }) });
