/** The policy of a net as moves on the board: a cell is a plane and a from-square. */
import { squareAt } from "./chess";
import type { AnalysisUpdate, NetPolicy } from "./messages";

export interface PolicyCell {
  plane: number;
  from: string;
  /** Null: the move would leave the board. */
  to: string | null;
  share: number;
}

export interface BoardSize {
  files: number;
  ranks: number;
}

/** What the boards show: all moves by target, the moves of one piece, or one plane by from-square. */
export type PolicyChoice = { kind: "all" } | { kind: "from"; square: string } | { kind: "plane"; plane: number };

export interface PolicyDrawing {
  heat: Map<string, number>;
  moves: PolicyCell[];
}

const MILLION = 1_000_000;
/** Moves of a plane or a piece below this share of the largest are not drawn as arrows. */
const LEAST_ARROW = 0.04;
const MOST_ARROWS = 12;

/** Cells of the legal moves, with shares by move: priors, or visits of a search. A net without planes has plane -1. */
export function legalCells(policy: NetPolicy, shares: Record<string, number>, size: BoardSize): PolicyCell[] {
  const found = new Map<string, PolicyCell>();
  for (const [uci, share] of Object.entries(shares)) {
    const cell = policy.cells[uci];
    const plane = cell === undefined ? -1 : Math.floor(cell / (size.files * size.ranks));
    const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)];
    const key = `${plane}${from}${to}`; // promotions may share a cell
    found.set(key, { plane, from, to, share: share + (found.get(key)?.share ?? 0) });
  }
  return [...found.values()];
}

/** All cells that have a share, of legal moves or not. */
export function allCells(policy: NetPolicy, millionths: number[], size: BoardSize): PolicyCell[] {
  const squares = size.files * size.ranks;
  const found: PolicyCell[] = [];
  millionths.forEach((number, cell) => {
    const plane = policy.planes[Math.floor(cell / squares)];
    if (number === 0 || !plane) return;
    const [file, rank] = [cell % size.files, Math.floor((cell % squares) / size.files)];
    const [right, up] = plane.step ?? [0, 0];
    const isOn = file + right >= 0 && file + right < size.files && rank + up >= 0 && rank + up < size.ranks;
    const to = plane.to ?? (isOn ? squareAt(file + right, rank + up + 1) : null);
    found.push({
      plane: Math.floor(cell / squares),
      from: squareAt(file, rank + 1),
      to,
      share: number / MILLION,
    });
  });
  return found;
}

/** The part of the policy that lies on legal moves. */
export function legalShare(policy: NetPolicy, millionths: number[]): number {
  let sum = 0;
  for (const cell of new Set(Object.values(policy.cells))) sum += millionths[cell] ?? 0;
  return sum / MILLION;
}

/** Shares of visits by move. */
export function visitShares(update: AnalysisUpdate): Record<string, number> {
  return Object.fromEntries(update.candidates.map((candidate) => [candidate.uci, candidate.share]));
}

/** What a board shows of the cells. */
export function drawPolicy(cells: PolicyCell[], choice: PolicyChoice): PolicyDrawing {
  const chosen = cells.filter((cell) =>
    choice.kind === "all" ? true : choice.kind === "from" ? cell.from === choice.square : cell.plane === choice.plane,
  );
  const heat = new Map<string, number>();
  for (const cell of chosen) {
    const square = choice.kind === "plane" ? cell.from : cell.to;
    if (square !== null) heat.set(square, (heat.get(square) ?? 0) + cell.share);
  }
  if (choice.kind === "all") return { heat, moves: [] };
  const most = Math.max(0, ...chosen.map((cell) => cell.share));
  const moves = chosen
    .filter((cell) => cell.to !== null && cell.to !== cell.from && cell.share >= LEAST_ARROW * most && cell.share > 0)
    .sort((a, b) => b.share - a.share)
    .slice(0, MOST_ARROWS);
  return { heat, moves };
}

/** Shares by from-square, the largest first. */
export function fromSquares(cells: PolicyCell[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const cell of cells) sums.set(cell.from, (sums.get(cell.from) ?? 0) + cell.share);
  return [...sums].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
}
