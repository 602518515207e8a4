import { expect, it } from "vitest";
import { allSquares, arrowPath, corner, isDark, neighbour } from "../src/board/geometry";

const white = { files: 8, ranks: 8, orientation: "white" } as const;
const black = { files: 5, ranks: 5, orientation: "black" } as const;

it("places squares as each side sees them", () => {
  expect(corner("a1", white)).toEqual([0, 700]);
  expect(corner("h8", white)).toEqual([700, 0]);
  expect(corner("a1", black)).toEqual([400, 0]);
  expect(corner("e5", black)).toEqual([0, 400]);
});

it("has dark corners at a1 on both boards", () => {
  expect(isDark("a1")).toBe(true);
  expect(isDark("h1")).toBe(false);
  expect(isDark("e1")).toBe(true); // the other corner of 5×5
});

it("moves the cursor as it is seen, and stops at the edge", () => {
  expect(neighbour("e4", 1, 0, white)).toBe("f4");
  expect(neighbour("e4", 0, -1, white)).toBe("e5");
  expect(neighbour("c3", 1, 0, black)).toBe("b3");
  expect(neighbour("c3", 0, -1, black)).toBe("c2");
  expect(neighbour("a1", -1, 1, white)).toBe("a1");
});

it("lists every square once", () => {
  expect(new Set(allSquares(white)).size).toBe(64);
  expect(allSquares(black)).toHaveLength(25);
});

it("draws an arrow from centre to centre", () => {
  const { path, tip } = arrowPath([50, 750], [50, 350], 20);
  expect(path.startsWith("M")).toBe(true);
  expect(tip[0]).toBeCloseTo(50);
  expect(tip[1]).toBeGreaterThan(350);
  expect(tip[1]).toBeLessThan(400);
});
