import { expect, it } from "vitest";
import {
  arrowsOf,
  heatOf,
  proofText,
  provenVerdict,
  SteadyOrder,
  wdlOfResult,
  whyNoAnalysis,
  whyNot,
} from "../src/analysis";
import type { AnalysisUpdate, Candidate, ReviewedMove } from "../src/messages";
import { provenStretches, worstMoves } from "../src/review";
import { spreadLabels } from "../src/ui/ValueGraph";

const candidate = (uci: string, share: number, prior = 0.1): Candidate => ({
  uci,
  san: uci,
  visits: 100 * share,
  share,
  value: 0,
  prior,
  proven: null,
  pv: [uci],
  net_value: null,
});
const update = {
  candidates: [candidate("e2e4", 0.6), candidate("d2d4", 0.3), candidate("c2d3", 0.05), candidate("a2a3", 0.02)],
} as AnalysisUpdate;

it("says why a position has no analysis, and nothing while one is about to come", () => {
  const usual = { isOn: true, isOver: false, isReviewing: false, problem: null };
  expect(whyNoAnalysis(usual)).toBeNull();
  expect(whyNoAnalysis({ ...usual, isOver: true, isReviewing: true })).toMatch(/over here/);
  expect(whyNoAnalysis({ ...usual, problem: "No such player." })).toBe("No such player.");
  expect(whyNoAnalysis({ ...usual, isOn: false, isReviewing: true })).toBe("The analysis is off.");
  expect(whyNoAnalysis({ ...usual, isReviewing: true })).toMatch(/judged first/);
});

it("says who wins a proven position, whoever moves", () => {
  const [white, black] = ["8/8 w - - 0 1", "8/8 b - - 0 1"] as const;
  expect([provenVerdict(3, white), provenVerdict(-4, white)]).toEqual(["White wins in 2", "Black wins in 2"]);
  expect([provenVerdict(3, black), provenVerdict(-4, black)]).toEqual(["Black wins in 2", "White wins in 2"]);
  expect(provenVerdict(0, black)).toBe("draw, proven");
});

it("shows the result of a finished game as its bar", () => {
  expect(["1-0", "0-1", "1/2-1/2"].map(wdlOfResult)).toEqual([
    [1, 0, 0],
    [0, 0, 1],
    [0, 1, 0],
  ]);
});

it("draws wide arrows for much visited moves and none for hardly visited ones", () => {
  const arrows = arrowsOf(update);
  expect(arrows.map((arrow) => arrow.uci)).toEqual(["e2e4", "d2d4", "c2d3"]);
  expect(arrows[0]?.width).toBeGreaterThan(arrows[1]?.width ?? 99);
  expect(arrows.map((arrow) => arrow.label)).toEqual(["60", "30", undefined]);
});

it("adds shares of moves to the same square", () => {
  const both = { candidates: [candidate("b1d2", 0.2), candidate("f1d2", 0.3)] } as AnalysisUpdate;
  expect(heatOf(both, "visits").squares.get("d2")).toBeCloseTo(0.5);
  expect(heatOf(both, "prior").squares.get("d2")).toBeCloseTo(0.2);
});

it("changes the order of rows only when it holds for two updates, and never while it is held", () => {
  const order = new SteadyOrder();
  const [a, b] = [candidate("a", 0.6), candidate("b", 0.4)];
  const names = (list: Candidate[]) => list.map((each) => each.uci).join("");
  expect(names(order.sort([a, b], false))).toBe("ab");
  expect(names(order.sort([b, a], false))).toBe("ab");
  expect(names(order.sort([b, a], true))).toBe("ab");
  expect(names(order.sort([b, a], false))).toBe("ba");
});

it("says proofs in moves", () => {
  expect([proofText(1), proofText(5), proofText(-2), proofText(0)]).toEqual([
    "wins in 1",
    "wins in 3",
    "loses in 1",
    "draw, proven",
  ]);
});

it("lists the worst moves in the order of the game, marked ones first to be kept", () => {
  const move = (ply: number, loss: number, mark: "" | "?" | "??") => ({ ply, loss, mark }) as never;
  const found = worstMoves([move(0, 0.9, ""), move(1, 0.5, "??"), undefined, move(3, 0.35, "?"), move(4, 0.05, "")], 2);
  expect(found.map((each) => each.ply)).toEqual([1, 3]);
});

it("spreads labels without pushing them over the end", () => {
  expect(spreadLabels([10, 20, 200], 50, 210)).toEqual([10, 60, 200]);
  expect(spreadLabels([190, 200, 205], 50, 210)).toEqual([110, 160, 210]);
});

it("says what a move costs the side that plays it", () => {
  const known = (fen: string, value: number, moves: Candidate[]) =>
    ({ fen, value, candidates: moves, visits: 100, proven: null }) as unknown as AnalysisUpdate;
  const best = { ...candidate("e2e4", 0.9), value: 0.4 };
  const after = known("x b", 0.1, [{ ...candidate("e7e5", 0.5), pv: ["e5", "Nf3"] }]);
  const white = whyNot(known("x w", 0.4, [best]), after, "a2a3", "a3");
  expect(white?.loss).toBeCloseTo(0.3);
  expect(white?.isBest).toBe(false);
  expect(white?.line).toEqual(["e5", "Nf3"]);
  // For Black a value that falls for White is a gain.
  const black = whyNot(known("x b", -0.4, [{ ...best, value: -0.4 }]), known("x w", 0.1, []), "a7a6", "a6");
  expect(black?.loss).toBeCloseTo(0.5);
  expect(whyNot(known("x w", 0.4, [best]), after, "e2e4", "e4")?.isBest).toBe(true);
  expect(whyNot(known("x w", 0, []), after, "e2e4", "e4")).toBeNull();
  // A search that has only begun says nothing, unless it has a proof.
  expect(whyNot(known("x w", 0.4, [best]), { ...after, visits: 0 }, "a2a3", "a3")).toBeNull();
  expect(whyNot(known("x w", 0.4, [best]), { ...after, visits: 0, proven: 1 }, "a2a3", "a3")).not.toBeNull();
});

it("joins proven positions with the same result", () => {
  const move = (ply: number, proven: number | null): ReviewedMove => ({ ply, proven }) as ReviewedMove;
  const review = [move(0, null), move(1, 5), move(2, 4), move(3, -3), undefined, move(5, -1), move(6, 0)];
  expect(provenStretches(review)).toEqual([
    { first: 1, last: 2, result: 1 },
    { first: 3, last: 3, result: -1 },
    { first: 5, last: 5, result: -1 },
    { first: 6, last: 6, result: 0 },
  ]);
});
