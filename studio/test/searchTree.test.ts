import { expect, it } from "vitest";
import { placeTree, type DrawnNode } from "../src/searchTree";

const node = (id: number, parent: number, visits: number): DrawnNode => ({
  id,
  parent,
  san: `m${id}`,
  visits,
  value: 0,
  prior: 0.1,
  proven: null,
});
const nodes = [node(0, -1, 11), node(1, 0, 3), node(2, 0, 7), node(3, 2, 5), node(4, 3, 2)];

it("draws the most visited children first, and only below open nodes", () => {
  const { nodes: placed } = placeTree(nodes, (id) => id === 0);
  expect(placed.map((each) => each.id)).toEqual([0, 2, 1]);
  const [root, most, least] = placed;
  expect(most?.y).toBeLessThan(least?.y ?? 0);
  expect(root?.y).toBeCloseTo(((most?.y ?? 0) + (least?.y ?? 0)) / 2);
  expect(most?.share).toBeCloseTo(0.7);
  expect(most?.children).toBe(1);
});

it("draws proven wins first, however few visits they had", () => {
  const proofs = [null, null, 5, 3, -2, 0];
  const tree = proofs.map((proven, id) => ({ ...node(id, id ? 0 : -1, id ? 100 - 10 * id : 500), proven }));
  expect(placeTree(tree, () => true).nodes.map((each) => each.id)).toEqual([0, 3, 2, 1, 4, 5]);
});

it("opens the way to nodes that must be seen", () => {
  const { nodes: placed } = placeTree(nodes, () => false, new Set([2, 3, 4]));
  expect(placed.map((each) => each.id)).toEqual([0, 2, 3, 4, 1]);
});

it("never places two nodes on each other, and says how many it leaves out", () => {
  const many = [node(0, -1, 100), ...Array.from({ length: 20 }, (_, index) => node(index + 1, 0, 20 - index))];
  const { nodes: placed, height } = placeTree(many, () => true);
  expect(placed).toHaveLength(10);
  expect(placed[0]?.hidden).toBe(11);
  const spots = placed.map((each) => `${each.x},${each.y}`);
  expect(new Set(spots).size).toBe(spots.length);
  expect(Math.max(...placed.map((each) => each.y))).toBeLessThan(height);
});

it("draws nothing of nothing", () => {
  expect(placeTree([], () => true).nodes).toEqual([]);
});
