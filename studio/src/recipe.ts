/** Changes of a recipe as settings and as a command line. */
import type { RecipeForm } from "./messages";

/** The changed keys as `section.key=value`; a value that was emptied is left as the recipe has it. */
export function settingsOf(form: RecipeForm | null, changes: Record<string, string>): string[] {
  const usual = new Map(form?.keys.map((key) => [key.key, key.value]));
  return Object.entries(changes)
    .filter(([key, value]) => value.trim() !== "" && usual.has(key) && usual.get(key) !== value.trim())
    .map(([key, value]) => `${key}=${value.trim()}`);
}

/** A setting as its key and its value. */
export function splitSetting(setting: string): [string, string] {
  const at = setting.indexOf("=");
  return at < 0 ? [setting, ""] : [setting.slice(0, at).trim(), setting.slice(at + 1).trim()];
}

/** Whether a run may have this name; without one it has that of its recipe. */
export function isRunName(name: string): boolean {
  return /^([A-Za-z0-9][A-Za-z0-9._-]*)?$/.test(name);
}

function quoted(word: string): string {
  return /^[A-Za-z0-9._/=-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

export function commandLine(recipe: string, name: string, minutes: number | null, settings: string[]): string {
  const words = ["selfmate", "train", recipe];
  if (name && name !== recipe) words.push("--run", `runs/${name}`);
  if (minutes !== null) words.push("--minutes", String(minutes));
  for (const setting of settings) words.push("--set", setting);
  return words.map(quoted).join(" ");
}

/** A step of a schedule: the value that holds from a cycle on. Both as they are typed. */
export interface ScheduleStep {
  cycle: string;
  value: string;
}

/** The steps of a schedule as recipes write it (`[[0, 16], [20, 32]]`); null for a plain value. */
export function parseSchedule(text: string): ScheduleStep[] | null {
  const inner = /^\s*\[\s*(\[.*\])\s*,?\s*\]\s*$/.exec(text)?.[1];
  if (inner === undefined) return null;
  const steps = [...inner.matchAll(/\[([^[\],]*),([^[\],]*)\]/g)].map((match) => ({
    cycle: (match[1] ?? "").trim(),
    value: (match[2] ?? "").trim(),
  }));
  return steps.length ? steps : null;
}

/** The same as text. */
export function formatSchedule(steps: readonly ScheduleStep[]): string {
  return `[${steps.map((step) => `[${step.cycle}, ${step.value}]`).join(", ")}]`;
}

/** What is wrong with steps, in a few words; null if they can be a schedule. */
export function scheduleProblem(steps: readonly ScheduleStep[]): string | null {
  if (steps[0]?.cycle !== "0") return "The first step is for cycle 0.";
  for (const [index, step] of steps.entries()) {
    if (!/^\d+$/.test(step.cycle)) return "A cycle is a whole number.";
    if (index > 0 && Number(step.cycle) <= Number(steps[index - 1]?.cycle)) return "Cycles rise from step to step.";
    if (step.value === "") return "Every step has a value.";
  }
  return null;
}
