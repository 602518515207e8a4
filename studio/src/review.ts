/** The judgement of a game's moves. */
import type { ReviewedMove } from "./messages";

export type Mark = ReviewedMove["mark"];

/** The moves that lost most, the worst first: those with a mark before those without. */
export function worstMoves(review: readonly (ReviewedMove | undefined)[], most = 4, least = 0.15): ReviewedMove[] {
  return review
    .filter((move): move is ReviewedMove => move !== undefined && (move.mark !== "" || move.loss >= least))
    .sort((a, b) => Number(b.mark !== "") - Number(a.mark !== "") || b.loss - a.loss)
    .slice(0, most)
    .sort((a, b) => a.ply - b.ply);
}

/** Positions of a game one after another that are proven, with the same result. */
export interface ProvenStretch {
  /** Plies of the moves before the first and the last of the positions. */
  first: number;
  last: number;
  /** Of White: 1 wins, 0 draws, -1 loses. */
  result: number;
}

/** The stretches of a game whose result is proven, in order. */
export function provenStretches(review: readonly (ReviewedMove | undefined)[]): ProvenStretch[] {
  const found: ProvenStretch[] = [];
  for (const move of review) {
    if (!move || move.proven === null) continue;
    const result = Math.sign(move.proven);
    const before = found[found.length - 1];
    if (before?.last === move.ply - 1 && before.result === result) before.last = move.ply;
    else found.push({ first: move.ply, last: move.ply, result });
  }
  return found;
}
