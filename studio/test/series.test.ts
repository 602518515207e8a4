import { expect, it } from "vitest";
import { alignSeries } from "../src/series";

it("gives all curves one x, with holes", () => {
  const data = alignSeries(
    [
      { name: "a", x: [0, 2], y: [1, 3] },
      { name: "b", x: [1, 2], y: [5, 6] },
    ],
    false,
  );
  expect(data).toEqual([
    [0, 1, 2],
    [1, null, 3],
    [null, 5, 6],
  ]);
});

it("adds the bounds of errors after the curve", () => {
  expect(alignSeries([{ name: "Elo", x: [1], y: [100], error: [30] }], false)).toEqual([[1], [100], [130], [70]]);
});

it("stacks shares with the largest sum first", () => {
  const share = (name: string, value: number) => ({ name, x: [0], y: [value] });
  const [, all, two, one] = alignSeries([share("White", 0.5), share("drawn", 0.2), share("Black", 0.3)], true);
  expect([one?.[0], two?.[0], all?.[0]].map((value) => Number(value?.toFixed(6)))).toEqual([0.5, 0.7, 1]);
});
