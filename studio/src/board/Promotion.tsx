/** The choice of a piece for a promotion: a column of buttons on the board. Keys: Q, N, R, B, K. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { fileOf, rankOf } from "../chess";
import type { LegalMove } from "../messages";
import type { BoardShape } from "./geometry";
import { corner } from "./geometry";

const NAMES: Record<string, string> = { q: "queen", n: "knight", r: "rook", b: "bishop", k: "king" };
const ORDER = "qnrbk";

interface Props {
  moves: LegalMove[];
  shape: BoardShape;
  onChoose: (move: LegalMove) => void;
  onCancel: () => void;
}

export function Promotion({ moves, shape, onChoose, onCancel }: Props) {
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => first.current?.focus(), []);
  // The keys work at once, whatever has the focus.
  useLayoutEffect(() => {
    const listener = (event: KeyboardEvent) => {
      const move = moves.find((each) => each.uci.charAt(4) === event.key.toLowerCase());
      if (move) onChoose(move);
      else if (event.key === "Escape") onCancel();
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("keydown", listener, true);
    return () => removeEventListener("keydown", listener, true);
  });
  const sorted = [...moves].sort((a, b) => ORDER.indexOf(a.uci.charAt(4)) - ORDER.indexOf(b.uci.charAt(4)));
  const target = sorted[0]?.uci.slice(2, 4) ?? "a1";
  const [x, y] = corner(target, shape);
  const color = rankOf(target) > shape.ranks / 2 ? "w" : "b";
  const fromTop = y === 0;
  return (
    <>
      <button class="promotion-dim" aria-label="No promotion" onClick={onCancel} />
      <div
        class="promotion"
        role="group"
        aria-label={`Promotion on ${target}`}
        data-file={fileOf(target)}
        style={{
          left: `${x / shape.files}%`,
          width: `${100 / shape.files}%`,
          [fromTop ? "top" : "bottom"]: "0",
          "flex-direction": fromTop ? "column" : "column-reverse",
        }}
      >
        {sorted.map((move, index) => {
          const role = move.uci.charAt(4);
          return (
            <button
              key={role}
              ref={index === 0 ? first : null}
              class={`piece-picture ${color}${role}`}
              aria-label={NAMES[role] ?? role}
              onClick={() => onChoose(move)}
            />
          );
        })}
      </div>
    </>
  );
}
