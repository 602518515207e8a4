/** Keys of a view, as on Lichess. They are ignored in text fields and dialogs. */
import { useEffect, useRef } from "preact/hooks";

export type KeyMap = Record<string, () => void>;

/** What a pressed key is called in a `KeyMap`: `f`, `Shift L`, `ArrowLeft`, `Shift ArrowLeft`, `?`. */
export function keyName({ key, shiftKey }: Pick<KeyboardEvent, "key" | "shiftKey">): string {
  const isLetter = /^[a-z]$/i.test(key);
  if (shiftKey && (isLetter || key.startsWith("Arrow"))) return `Shift ${isLetter ? key.toUpperCase() : key}`;
  return isLetter ? key.toLowerCase() : key; // with Caps Lock, too
}

/** Whether a key belongs to the element that has the focus: all to a text, arrows to a slider, Space to a button. */
export function isTaken(target: Element | null, key: string): boolean {
  if (target?.closest("textarea, select, dialog")) return true;
  if (!(target instanceof HTMLInputElement)) return key === " " && target?.closest("button, summary") != null;
  if (target.type === "range") return /^(Shift )?Arrow|^Home$|^End$|^Page/.test(key);
  return target.type === "checkbox" ? key === " " : true;
}

export function useKeys(keys: KeyMap): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const name = keyName(event);
      const action = latest.current[name];
      if (!action || isTaken(event.target as Element | null, name)) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["← → or K J", "step through the moves"],
  ["↑ ↓, Home End or 0 $", "first and last position"],
  ["Shift ← →", "out of a variation, into one"],
  ["Shift ↑ ↓", "the variation before or after it"],
  ["F", "flip the board"],
  ["U", "take a move back"],
  ["H", "hint"],
  ["Space or L", "analysis on or off"],
  ["A", "change what is drawn on the board"],
  ["T", "search tree"],
  [". ,", "playouts: a step on, a step back"],
  ["arrows, Enter, Esc", "on the board: cursor, choose, let go"],
  ["Q N R B", "promotion"],
  ["1 2 3 4", "Play, Study, Train, Nets"],
  ["Shift L", "light or dark"],
  ["?", "this list"],
];
