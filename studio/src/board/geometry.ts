/** Places on the board's drawings, whose squares are 100 units wide. */
import { fileOf, rankOf, squareAt } from "../chess";
import type { Color } from "../messages";

export interface BoardShape {
  files: number;
  ranks: number;
  orientation: Color;
}

/** The top left corner of a square. */
export function corner(square: string, shape: BoardShape): [number, number] {
  const file = fileOf(square);
  const rank = rankOf(square);
  return shape.orientation === "white"
    ? [100 * file, 100 * (shape.ranks - rank)]
    : [100 * (shape.files - 1 - file), 100 * (rank - 1)];
}

export function centre(square: string, shape: BoardShape): [number, number] {
  const [x, y] = corner(square, shape);
  return [x + 50, y + 50];
}

/** The square that lies some columns to the right of and some rows below another, as the board is seen. */
export function neighbour(square: string, right: number, down: number, shape: BoardShape): string {
  const sign = shape.orientation === "white" ? 1 : -1;
  const file = Math.min(shape.files - 1, Math.max(0, fileOf(square) + sign * right));
  const rank = Math.min(shape.ranks, Math.max(1, rankOf(square) - sign * down));
  return squareAt(file, rank);
}

/** Whether a square is dark: a1 is. */
export function isDark(square: string): boolean {
  return (fileOf(square) + rankOf(square)) % 2 === 1;
}

/** All squares, from the top left of White's view. */
export function allSquares(shape: BoardShape): string[] {
  const found: string[] = [];
  for (let rank = shape.ranks; rank >= 1; rank--)
    for (let file = 0; file < shape.files; file++) found.push(squareAt(file, rank));
  return found;
}

/** The outline of an arrow between the centres of two squares; `width` in units. */
export function arrowPath(
  from: [number, number],
  to: [number, number],
  width: number,
): { path: string; tip: [number, number] } {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const head = width * 1.25 + 14;
  const half = width * 0.9 + 11;
  const [begin, end] = [24, 6];
  const place = (along: number, aside: number) =>
    `${(from[0] + ux * along - uy * aside).toFixed(1)} ${(from[1] + uy * along + ux * aside).toFixed(1)}`;
  const neck = length - head - end;
  const points = [
    place(begin, width / 2),
    place(neck, width / 2),
    place(neck, half),
    place(length - end, 0),
    place(neck, -half),
    place(neck, -width / 2),
    place(begin, -width / 2),
  ];
  const along = length - head * 0.62 - end;
  return { path: `M${points.join("L")}Z`, tip: [from[0] + ux * along, from[1] + uy * along] };
}
