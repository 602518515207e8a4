import { expect, it } from "vitest";
import type { AnalysisUpdate, NetPolicy } from "../src/messages";
import { allCells, drawPolicy, fromSquares, legalCells, legalShare, visitShares } from "../src/policy";

const size = { files: 5, ranks: 5 };
const policy: NetPolicy = {
  kind: "planes",
  planes: [
    { name: "up 1", step: [0, 1], to: null },
    { name: "knight up 2 right 1", step: [1, 2], to: null },
  ],
  cells: { a2a3: 5, b2b3: 6, b1c3: 26 },
};
const priors = { a2a3: 0.5, b2b3: 0.2, b1c3: 0.3 };

it("lays priors out by plane and from-square", () => {
  const cells = legalCells(policy, priors, size);
  expect(cells.map((cell) => [cell.plane, cell.from, cell.to])).toEqual([
    [0, "a2", "a3"],
    [0, "b2", "b3"],
    [1, "b1", "c3"],
  ]);
  expect(fromSquares(cells)).toEqual([
    ["a2", 0.5],
    ["b1", 0.3],
    ["b2", 0.2],
  ]);
});

it("adds promotions that share a cell, and keeps the moves of a net without planes", () => {
  const shared = { ...policy, cells: { a4a5q: 15, a4a5n: 15 } };
  expect(legalCells(shared, { a4a5q: 0.75, a4a5n: 0.25 }, size)).toEqual([
    { plane: 0, from: "a4", to: "a5", share: 1 },
  ]);
  const none: NetPolicy = { kind: "none", planes: [], cells: {} };
  expect(drawPolicy(legalCells(none, priors, size), { kind: "all" }).heat.get("a3")).toBe(0.5);
});

it("finds the move of every cell, also of those that leave the board", () => {
  const millionths = new Array<number>(50).fill(0);
  [millionths[6], millionths[24], millionths[26]] = [400_000, 100_000, 300_000];
  const cells = allCells(policy, millionths, size);
  expect(cells).toEqual([
    { plane: 0, from: "b2", to: "b3", share: 0.4 },
    { plane: 0, from: "e5", to: null, share: 0.1 },
    { plane: 1, from: "b1", to: "c3", share: 0.3 },
  ]);
  expect(legalShare(policy, millionths)).toBeCloseTo(0.7);
  const to: NetPolicy = { ...policy, planes: [{ name: "to c3", step: null, to: "c3" }] };
  expect(allCells(to, [0, 1_000_000], size)).toEqual([{ plane: 0, from: "b1", to: "c3", share: 1 }]);
});

it("draws a plane by from-square and a piece by target, with arrows", () => {
  const cells = legalCells(policy, priors, size);
  const plane = drawPolicy(cells, { kind: "plane", plane: 0 });
  expect([...plane.heat]).toEqual([
    ["a2", 0.5],
    ["b2", 0.2],
  ]);
  expect(plane.moves.map((move) => move.to)).toEqual(["a3", "b3"]);
  const piece = drawPolicy(cells, { kind: "from", square: "b1" });
  expect([...piece.heat]).toEqual([["c3", 0.3]]);
  expect(drawPolicy(cells, { kind: "all" }).moves).toEqual([]);
});

it("takes the shares of a search from its candidates", () => {
  const update = { candidates: [{ uci: "a2a3", share: 0.9 }] } as unknown as AnalysisUpdate;
  expect(visitShares(update)).toEqual({ a2a3: 0.9 });
});
