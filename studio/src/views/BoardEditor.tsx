/** A board on which pieces are set and removed, and its FEN; the server says whether it can be played from. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { allSquares, corner, isDark } from "../board/geometry";
import { boardFen, parseFen, pieceName, squareAt, toggleCastling } from "../chess";
import { server, variantCard } from "../store";
import { Dialog, Segmented } from "../ui/controls";

interface Props {
  variant: string;
  fen: string;
  onClose: () => void;
  onDone: (fen: string) => void;
}

const RIGHTS: readonly (readonly [string, string])[] = [
  ["K", "White O-O"],
  ["Q", "White O-O-O"],
  ["k", "Black O-O"],
  ["q", "Black O-O-O"],
];
/** Characters of a FEN: the server takes no more. */
const MOST_FEN = 200;
const TRAY = ["K", "Q", "R", "B", "N", "P", "k", "q", "r", "b", "n", "p"];

export function BoardEditor({ variant, fen, onClose, onDone }: Props) {
  const [text, setText] = useState(fen);
  const [tool, setTool] = useState<string>("P");
  const [problem, setProblem] = useState<string | null>(null);
  const parsed = useMemo(() => parseFen(text), [text]);
  const card = variantCard(variant);
  const files = card?.files ?? 8;
  const ranks = card?.ranks ?? 8;
  const shape = { files, ranks, orientation: "white" as const };

  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      server.ask("position.ask", { variant, fen: text }, "position.view").then(
        (view) =>
          current && setProblem(view.board.result ? `The game is over here: ${view.board.reason ?? ""}.` : null),
        (error: unknown) => current && setProblem(error instanceof Error ? error.message : String(error)),
      );
    }, 150);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text, variant]);

  function setSquare(square: string): void {
    const pieces = new Map(parsed.pieces);
    if (tool === "" || pieces.get(square) === tool) pieces.delete(square);
    else pieces.set(square, tool);
    const fields = text.split(" ");
    // Castling rights and en passant of another position would be wrong: both are dropped.
    setText([boardFen(pieces, files, ranks), fields[1] ?? "w", "-", "-", ...fields.slice(4)].join(" "));
  }

  function setTurn(turn: "w" | "b"): void {
    const fields = text.split(" ");
    fields[1] = turn;
    if (fields.length > 3) fields[3] = "-";
    setText(fields.join(" "));
  }

  return (
    <Dialog title="Set up a position" onClose={onClose} wide>
      <div class="editor">
        <div class="board mini edit" style={{ "--files": files, "--ranks": ranks }}>
          {allSquares(shape).map((square) => {
            const [x, y] = corner(square, shape);
            const piece = parsed.pieces.get(square);
            const picture = piece
              ? `piece-picture ${piece === piece.toUpperCase() ? "w" : "b"}${piece.toLowerCase()}`
              : "";
            return (
              <button
                key={square}
                type="button"
                class={`edit-square ${isDark(square) ? "dark" : ""} ${picture}`}
                style={{ left: `${x / files}%`, top: `${y / ranks}%` }}
                aria-label={`${square}, ${piece ? pieceName(piece) : "empty"}`}
                onClick={() => setSquare(square)}
              />
            );
          })}
        </div>
        <div class="stack">
          <div class="tray" role="group" aria-label="Piece to set">
            {TRAY.map((piece) => (
              <button
                key={piece}
                type="button"
                aria-pressed={tool === piece}
                aria-label={pieceName(piece)}
                class={`piece-picture ${piece === piece.toUpperCase() ? "w" : "b"}${piece.toLowerCase()}`}
                onClick={() => setTool(piece)}
              />
            ))}
            <button type="button" class="erase" aria-pressed={tool === ""} onClick={() => setTool("")}>
              Remove
            </button>
          </div>
          <Segmented
            label="Side to move"
            options={[
              ["w", "White to move"],
              ["b", "Black to move"],
            ]}
            value={parsed.turn === "white" ? "w" : "b"}
            onChange={setTurn}
          />
          {/[KQkq]/.test(card?.start.split(" ")[2] ?? "") && (
            <fieldset class="rights">
              <legend class="sr">Castling</legend>
              {RIGHTS.map(([right, words]) => (
                <label key={right} class="sm">
                  <input
                    type="checkbox"
                    checked={(text.split(" ")[2] ?? "").includes(right)}
                    onChange={() => setText(toggleCastling(text, right))}
                  />
                  {words}
                </label>
              ))}
            </fieldset>
          )}
          <div class="between">
            <button type="button" class="btn grow" onClick={() => setText(card?.start ?? fen)}>
              Start position
            </button>
            <button type="button" class="btn grow" onClick={() => setText(emptyFen(text, files, ranks))}>
              Empty board
            </button>
          </div>
          <label class="f">
            <span>FEN</span>
            <input
              class="inp mono"
              name="fen"
              maxLength={MOST_FEN}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <p class="sm" role="status">
            {problem ? (
              <span class="problem">{problem}</span>
            ) : (
              <span class="mut">This position can be played from.</span>
            )}
          </p>
          <button type="button" class="btn pri lg" disabled={problem !== null} onClick={() => onDone(text.trim())}>
            Use this position
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function emptyFen(fen: string, files: number, ranks: number): string {
  const kings = new Map([
    [squareAt(Math.floor(files / 2), 1), "K"],
    [squareAt(Math.floor(files / 2), ranks), "k"],
  ]);
  const fields = fen.split(" ");
  return [boardFen(kings, files, ranks), "w", "-", "-", ...fields.slice(4)].join(" ");
}
