/** Changes of a recipe as settings and as a command line. */
import type { RecipeForm } from "./messages";

/** The changed keys as `section.key=value`; a value that was emptied is left as the recipe has it. */
export function settingsOf(form: RecipeForm | null, changes: Record<string, string>): string[] {
  const usual = new Map(form?.keys.map((key) => [key.key, key.value]));
  return Object.entries(changes)
    .filter(([key, value]) => value.trim() !== "" && usual.has(key) && usual.get(key) !== value.trim())
    .map(([key, value]) => `${key}=${value.trim()}`);
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
