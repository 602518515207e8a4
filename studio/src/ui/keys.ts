/** Keys of a view, as on Lichess. They are ignored in fields and dialogs. */
import { useEffect, useRef } from "preact/hooks";

export type KeyMap = Record<string, () => void>;

export function useKeys(keys: KeyMap): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target?.closest("input, textarea, select, dialog")) return;
      const name =
        event.key.length === 1 && event.shiftKey && /[a-z]/i.test(event.key)
          ? `Shift ${event.key.toUpperCase()}`
          : event.key;
      const action = latest.current[name] ?? latest.current[event.key.toLowerCase()];
      if (!action) return;
      if (event.key === " " && target?.closest("button")) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", listener);
    return () => removeEventListener("keydown", listener);
  }, []);
}

export const KEY_HELP: readonly (readonly [string, string])[] = [
  ["← → or K J", "step through the moves"],
  ["↑ ↓ or Home End", "first and last position"],
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
