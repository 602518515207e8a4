import { expect, it } from "vitest";
import type { PlayedMove } from "../src/messages";
import {
  addMove,
  branchBefore,
  childrenOf,
  emptyTree,
  lineTo,
  mainLine,
  removeMove,
  ROOT,
  setComment,
  siblingOf,
  uciLine,
  variationsOf,
} from "../src/tree";

const played = (uci: string): PlayedMove => ({ uci, san: uci, fen: `after ${uci}`, check: false, exploded: [] });

function sample() {
  let tree = emptyTree("chess", "start");
  const add = (at: number, uci: string) => {
    const [next, index] = addMove(tree, at, played(uci));
    tree = next;
    return index;
  };
  const a = add(ROOT, "e2e4");
  const b = add(a, "e7e5");
  add(b, "g1f3");
  const c = add(a, "c7c5");
  const d = add(c, "g1f3");
  add(c, "b1c3");
  return { tree, a, b, c, d };
}

it("keeps the main line first and finds a move that is there", () => {
  const { tree, a, b } = sample();
  expect(mainLine(tree).map((index) => tree.moves[index]?.uci)).toEqual(["e2e4", "e7e5", "g1f3"]);
  const [same, index] = addMove(tree, a, played("e7e5"));
  expect([same === tree, index]).toEqual([true, b]);
});

it("lists variations, inner ones after the outer", () => {
  const { tree, b } = sample();
  const words = variationsOf(tree).map(({ instead, moves }) => [instead, moves.map((index) => tree.moves[index]?.uci)]);
  expect(words).toEqual([
    [b, ["c7c5", "g1f3"]],
    [b, ["b1c3"]],
  ]);
});

it("walks to a move", () => {
  const { tree, c, d } = sample();
  expect(uciLine(tree, d)).toEqual(["e2e4", "c7c5", "g1f3"]);
  expect(lineTo(tree, ROOT)).toEqual([]);
  expect(childrenOf(tree, c)).toHaveLength(2);
});

it("removes a move with all after it and renumbers the rest", () => {
  const { tree, a, b } = sample();
  const [rest, at] = removeMove(tree, b);
  expect(at).toBe(a);
  expect(rest.moves.map((move) => [move.parent, move.uci])).toEqual([
    [-1, "e2e4"],
    [0, "c7c5"],
    [1, "g1f3"],
    [1, "b1c3"],
  ]);
  expect(tree.moves).toHaveLength(6);
});

it("sets comments without changing the old tree", () => {
  const { tree, a } = sample();
  expect(setComment(tree, a, "hello").moves[a]?.comment).toBe("hello");
  expect(setComment(tree, ROOT, "first").comment).toBe("first");
  expect(tree.moves[a]?.comment).toBe("");
});

it("goes from variation to variation", () => {
  const { tree, a, b, c, d } = sample();
  const last = tree.moves.length - 1; // 2. Nc3, beside 2. Nf3 after 1... c5
  expect([branchBefore(tree, d), branchBefore(tree, c), branchBefore(tree, b)]).toEqual([c, a, a]);
  expect([branchBefore(tree, a), branchBefore(tree, ROOT)]).toEqual([ROOT, ROOT]);
  expect([siblingOf(tree, b, 1), siblingOf(tree, c, 1), siblingOf(tree, b, -1)]).toEqual([c, b, c]);
  expect([siblingOf(tree, d, 1), siblingOf(tree, last, -1)]).toEqual([last, d]);
  expect([siblingOf(tree, a, 1), siblingOf(tree, ROOT, 1)]).toEqual([a, ROOT]); // nothing is beside them
});
