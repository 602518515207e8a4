/** A small board to look at: pieces as pictures in a grid, without chessgroundx. */
import { parseFen } from "../chess";
import type { Color } from "../messages";
import { allSquares, corner, isDark } from "./geometry";
import { Overlay, type Arrow } from "./Overlay";

interface Props {
  fen: string;
  orientation?: Color;
  lastMove?: string | null;
  arrows?: Arrow[];
  label: string;
}

export function MiniBoard({ fen, orientation = "white", lastMove, arrows, label }: Props) {
  const { files, ranks } = parseFen(fen);
  const shape = { files, ranks, orientation };
  const marked = lastMove ? [lastMove.slice(0, 2), lastMove.slice(2, 4)] : [];
  const dark = allSquares(shape)
    .filter(isDark)
    .map((square) => `M${corner(square, shape).join(" ")}h100v100h-100Z`)
    .join("");
  return (
    <div class="board mini" role="img" aria-label={label} style={{ "--files": files, "--ranks": ranks }}>
      <svg class="layer under" viewBox={`0 0 ${100 * files} ${100 * ranks}`} aria-hidden="true">
        <rect class="light" width={100 * files} height={100 * ranks} />
        <path class="dark" d={dark} />
        {marked.map((square) => {
          const [x, y] = corner(square, shape);
          return <rect key={square} class="last" x={x} y={y} width={100} height={100} />;
        })}
      </svg>
      <PieceShapes fen={fen} orientation={orientation} />
      {arrows && <Overlay shape={shape} arrows={arrows} heat={null} cursor={null} blast={null} coordinates={false} />}
    </div>
  );
}

/** The pieces of a position as pictures, placed in the board around them. */
export function PieceShapes({ fen, orientation = "white" }: Pick<Props, "fen" | "orientation">) {
  const { pieces, files, ranks } = parseFen(fen);
  return (
    <>
      {[...pieces].map(([square, piece]) => {
        const [x, y] = corner(square, { files, ranks, orientation });
        const name = (piece === piece.toUpperCase() ? "w" : "b") + piece.toLowerCase();
        return (
          <span key={square} class={`piece-picture ${name}`} style={{ left: `${x / files}%`, top: `${y / ranks}%` }} />
        );
      })}
    </>
  );
}
