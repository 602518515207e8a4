/** Small controls that views share. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { percent } from "../format";
import { Icon, type IconName } from "./Icon";

interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick: () => void;
  disabled?: boolean;
  pressed?: boolean;
  plain?: boolean;
  class?: string;
}

export function IconButton({ icon, label, onClick, disabled, pressed, plain, class: extra }: IconButtonProps) {
  return (
    <button
      type="button"
      class={`btn icon ${plain ? "" : "ghost"} ${extra ?? ""}`}
      aria-label={label}
      title={label}
      disabled={disabled ?? false}
      onClick={onClick}
      {...(pressed === undefined ? {} : { "aria-pressed": pressed })}
    >
      <Icon name={icon} />
    </button>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  options: readonly (readonly [T, string])[];
  value: T;
  onChange: (value: T) => void;
  class?: string;
}

/** A few choices side by side, one of which is pressed. */
export function Segmented<T extends string>({ label, options, value, onChange, class: extra }: ChoiceProps<T>) {
  return (
    <div class={`seg ${extra ?? ""}`} role="group" aria-label={label}>
      {options.map(([id, text]) => (
        <button key={id} type="button" aria-pressed={id === value} onClick={() => onChange(id)}>
          {text}
        </button>
      ))}
    </div>
  );
}

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}

/** A dialog of the browser: focus stays inside, Escape closes it. */
export function Dialog({ title, onClose, children, wide }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
  }, []);
  return (
    <dialog
      ref={element}
      aria-label={title}
      class={wide ? "wide" : ""}
      onClose={onClose}
      onClick={(event) => event.target === element.current && element.current?.close()}
    >
      <div class="dialog-body">
        <header>
          <h1>{title}</h1>
          <button type="button" class="btn ghost" onClick={() => element.current?.close()}>
            Close
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

export type Wdl = readonly [number, number, number];

function wdlText(wdl: Wdl | null): string {
  if (!wdl) return "Nothing is known of this position yet";
  return `White wins ${percent(wdl[0])}, draw ${percent(wdl[1])}, Black wins ${percent(wdl[2])}`;
}

/** What a bar shows, without numbers, before anything is known. */
const UNKNOWN: Wdl = [0.34, 0.32, 0.34];
/** The share in which its number has room; outside it, on the other colour, it could not be read. */
const LABELLED = 0.05;

/** Win, draw and loss of White as a horizontal bar. */
export function WdlBar({ wdl }: { wdl: Wdl | null }) {
  const [win, draw, loss] = wdl ?? UNKNOWN;
  return (
    <div class={wdl ? "wdl" : "wdl unknown"} role="img" aria-label={wdlText(wdl)}>
      <i class="w" style={{ flex: `0 0 ${100 * win}%` }} />
      <i class="d" style={{ flex: `0 0 ${100 * draw}%` }} />
      <i class="l" style={{ flex: `0 0 ${100 * loss}%` }} />
    </div>
  );
}

/** The same beside a board: White's share stands at White's side. */
export function WdlColumn({ wdl, flipped }: { wdl: Wdl | null; flipped: boolean }) {
  const [win, draw, loss] = wdl ?? UNKNOWN;
  const parts = [
    { kind: "l", share: loss },
    { kind: "d", share: draw },
    { kind: "w", share: win },
  ];
  if (flipped) parts.reverse();
  const classes = ["wbar", flipped ? "flipped" : "", wdl ? "" : "unknown"].filter(Boolean).join(" ");
  return (
    <div class={classes} role="img" aria-label={wdlText(wdl)}>
      {parts.map(({ kind, share }) => (
        <i key={kind} class={kind} style={{ "--share": `${100 * share}%` }} />
      ))}
      {wdl && loss >= LABELLED && <b class="bl">{Math.round(100 * loss)}</b>}
      {wdl && win >= LABELLED && <b class="bw">{Math.round(100 * win)}</b>}
    </div>
  );
}

/** Copy a text, and return whether the browser let us. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Offer a text as a file. */
export function downloadText(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/x-chess-pgn" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
