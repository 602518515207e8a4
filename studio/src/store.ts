/** What all views share: the connection, what there is to play with, the theme and short notices. */
import { computed, effect, signal } from "@preact/signals";
import type { RunCard, VariantCard, Welcome } from "./messages";
import { Connection, type ConnectionState } from "./socket";

export const connectionState = signal<ConnectionState>("connecting");
export const welcome = signal<Welcome | null>(null);
export const runs = signal<RunCard[] | null>(null);
export const toast = signal<{ text: string; number: number } | null>(null);
/** The nets of the runs: another text means that there are other players. */
export const runNets = computed(() =>
  runs.value?.map((run) => `${run.id}/${run.cycle}/${run.champion ?? 0}`).join(" "),
);
export const isTraining = computed(() => (runs.value ?? []).some((run) => run.status === "running"));

const protocol = location.protocol === "https:" ? "wss" : "ws";
export const server = new Connection(
  `${protocol}://${location.host}/ws`,
  (state) => {
    connectionState.value = state;
  },
  undefined,
  () => fetch("/", { cache: "no-store" }).catch(() => undefined),
);

/** Say something at the bottom of the page for a moment; screen readers read it. */
export function say(text: string): void {
  toast.value = { text, number: (toast.value?.number ?? 0) + 1 };
}

/** Show the sentence of a failed request. */
export function sayError(error: unknown): void {
  say(error instanceof Error ? error.message : String(error));
}

export function variantCard(id: string): VariantCard | undefined {
  return welcome.value?.variants.find((variant) => variant.id === id);
}

export function variantName(id: string): string {
  return variantCard(id)?.name ?? id;
}

// -- settings that this browser keeps -----------------------------------------------------------------------------

export type Theme = "light" | "dark";

export function readSetting(name: string): string | null {
  try {
    return localStorage.getItem(`selfmate.${name}`);
  } catch {
    return null;
  }
}

export function writeSetting(name: string, value: string): void {
  try {
    localStorage.setItem(`selfmate.${name}`, value);
  } catch {
    // A browser without storage forgets settings; nothing else depends on them.
  }
}

function firstTheme(): Theme {
  const kept = readSetting("theme");
  if (kept === "light" || kept === "dark") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export const theme = signal<Theme>(firstTheme());
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  writeSetting("theme", theme.value);
}

let knownNets: string | undefined;

/** Ask for the players again if runs have new nets since they were asked for. */
export function renewPlayers(): void {
  const before = knownNets;
  knownNets = runNets.value ?? before;
  if (before !== undefined && before !== knownNets) server.send("hello", {});
}

/** Begin: connect, and ask for what all views need. */
export function begin(): void {
  server.on("welcome", (event) => (welcome.value = event));
  server.on("run.list", (event) => (runs.value = event.runs));
  server.on("failure", (event) => say(event.message));
  server.onOpen(() => {
    server.send("hello", {});
    server.send("run.list", {});
  });
  server.connect();
}
