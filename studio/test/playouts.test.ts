import { expect, it } from "vitest";
import type { PlayoutStep, PlayoutTrace } from "../src/messages";
import { replay, sumBars } from "../src/playouts";

const step = (path: number[], visits: number[], values: number[]): PlayoutStep => ({
  path,
  visits,
  values,
  choices: [],
  is_new: true,
  by_rules: false,
  value: 0,
  proven: path.map(() => null),
});
const trace = {
  nodes: [
    { parent: -1, uci: "", san: "", prior: 1 },
    { parent: 0, uci: "e2e4", san: "e4", prior: 0.6 },
    { parent: 1, uci: "e7e5", san: "e5", prior: 0.5 },
  ],
  playouts: [step([0], [1], [0.1]), step([0, 1], [2, 1], [0.2, 0.3]), step([0, 1, 2], [3, 2, 1], [0.3, 0.4, 0.5])],
} as unknown as PlayoutTrace;

it("shows the tree before a playout with its path, and after it with its numbers", () => {
  expect(replay(trace, 2, false).map((node) => [node.san, node.visits])).toEqual([
    ["", 2],
    ["e4", 1],
    ["e5", 0],
  ]);
  expect(replay(trace, 2, true).map((node) => [node.visits, node.value])).toEqual([
    [3, 0.3],
    [2, 0.4],
    [1, 0.5],
  ]);
});

it("draws sums of Q and U that can be compared, also where Q is negative", () => {
  const choices = [
    { q: -0.41, u: 0.3 },
    { q: -0.27, u: 0.14 },
  ];
  const [first, second] = sumBars(choices).map(({ q, u }) => q + u);
  expect(first).toBeCloseTo(1);
  expect(second).toBeCloseTo(0.28 / 0.3);
  expect(sumBars([{ q: 0.5, u: 0.5 }])).toEqual([{ q: 0.5, u: 0.5 }]);
  expect(sumBars([])).toEqual([]);
});
