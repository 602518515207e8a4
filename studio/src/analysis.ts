/** What an analysis says, as drawings on the board. */
import type { Arrow, Heat } from "./board/Overlay";
import { otherColor, parseFen } from "./chess";
import type { AnalysisUpdate, Candidate } from "./messages";

export type BoardDrawing = "arrows" | "visits" | "prior" | "off";

const MOST_ARROWS = 5;
const LEAST_SHARE = 0.03;
/** Visits below which a search says nothing against a move: its value is still the net's, or that of a few leaves. */
const LEAST_VISITS = 20;

/** Arrows for the moves with most visits; the width grows with the share, and large shares have a label. */
export function arrowsOf(update: AnalysisUpdate): Arrow[] {
  return update.candidates
    .filter((candidate) => candidate.share >= LEAST_SHARE)
    .slice(0, MOST_ARROWS)
    .map((candidate, index) => ({
      uci: candidate.uci,
      width: 8 + 26 * Math.sqrt(candidate.share),
      kind: index === 0 ? "best" : "other",
      ...(candidate.share >= 0.08 ? { label: String(Math.round(100 * candidate.share)) } : {}),
    }));
}

/** Shares of visits or priors by target square. */
export function heatOf(update: AnalysisUpdate, kind: Heat["kind"]): Heat {
  const squares = new Map<string, number>();
  for (const candidate of update.candidates) {
    const square = candidate.uci.slice(2, 4);
    squares.set(square, (squares.get(square) ?? 0) + (kind === "visits" ? candidate.share : candidate.prior));
  }
  return { squares, kind };
}

/** A proven result in words, for the side to move: "wins in 3". */
export function proofText(proven: number): string {
  if (proven === 0) return "draw, proven";
  const moves = Math.ceil(Math.abs(proven) / 2);
  return `${proven > 0 ? "wins" : "loses"} in ${moves}`;
}

/** What is proven of a position: who wins, as the other values of a position are White's. */
export function provenVerdict(proven: number, fen: string): string {
  if (proven === 0) return proofText(0);
  const { turn } = parseFen(fen);
  const winner = proven > 0 ? turn : otherColor(turn);
  return `${winner === "white" ? "White" : "Black"} wins in ${Math.ceil(Math.abs(proven) / 2)}`;
}

export interface AnalysisState {
  isOn: boolean;
  isOver: boolean;
  /** Whether the moves of the game are judged, which the server does before anything else. */
  isReviewing: boolean;
  /** Why a search failed. */
  problem: string | null;
}

/** Why a position has no analysis, as a sentence; null: it is about to come. */
export function whyNoAnalysis({ isOn, isOver, isReviewing, problem }: AnalysisState): string | null {
  if (isOver) return "The game is over here: there is nothing to search.";
  if (problem) return problem;
  if (!isOn) return "The analysis is off.";
  if (isReviewing) return "The moves of the game are judged first; the analysis goes on after that.";
  return null;
}

/** Win, draw and loss of White in a game that is over. */
export function wdlOfResult(result: string | null): [number, number, number] {
  return result === "1-0" ? [1, 0, 0] : result === "0-1" ? [0, 0, 1] : [0, 1, 0];
}

/** The answer to "why not this move?": what it costs against the best move, and the best answer to it. */
export interface WhyNot {
  san: string;
  best: string;
  /** Value of the best move less that of this one, for the side that moves. */
  loss: number;
  /** The line that refutes it, or is expected after it. */
  line: string[];
  isBest: boolean;
}

/** Compare a played move with the best one: `before` is the analysis before it, `after` the one of its own. */
export function whyNot(before: AnalysisUpdate, after: AnalysisUpdate, uci: string, san: string): WhyNot | null {
  const [best] = before.candidates;
  if (!best || (after.visits < LEAST_VISITS && after.proven === null)) return null;
  const sign = before.fen.split(" ")[1] === "b" ? -1 : 1; // values are White's
  const loss = sign * (best.value - after.value);
  const line = after.candidates[0]?.pv ?? [];
  return { san, best: best.san, loss: Math.max(0, loss), line, isBest: best.uci === uci };
}

/** Keeps the order of rows unless a new one holds for two updates, so that rows do not jump under the eye. */
export class SteadyOrder {
  private order: string[] = [];
  private wanted: string[] = [];

  sort(candidates: Candidate[], held: boolean): Candidate[] {
    const next = candidates.map((candidate) => candidate.uci);
    const known = new Set(next);
    const same = this.order.length === next.length && this.order.every((uci) => known.has(uci));
    const holds = next.join() === this.wanted.join();
    this.wanted = next;
    if (!same || (holds && !held)) this.order = next;
    const byUci = new Map(candidates.map((candidate) => [candidate.uci, candidate]));
    return this.order.flatMap((uci) => byUci.get(uci) ?? []);
  }

  reset(): void {
    this.order = [];
    this.wanted = [];
  }
}
