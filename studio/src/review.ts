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
