import { expect, it } from "vitest";
import type { JudgedGame, RunView } from "../src/messages";
import { count, percent } from "../src/format";
import { alignSeries, besideCurves, distinctSteps, judgementCurves, zoomOf } from "../src/series";
import { sparkPath } from "../src/ui/Sparkline";

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

it("draws the first curve of other runs under the name of the run", () => {
  const own = [
    { name: "held out", x: [0], y: [2] },
    { name: "learned", x: [0], y: [1] },
  ];
  const other = { run: { id: "second" }, charts: { policy: own } } as unknown as RunView;
  expect(besideCurves(own, [other], "policy").map((each) => each.name)).toEqual(["held out", "learned", "second"]);
  expect(besideCurves(own, [other], "elo")).toBe(own);
});

it("leaves positions without a judgement out", () => {
  const judged = { search_then: [null, 0.5], net_then: [null, null], net_now: [0.1, null] } as unknown as JudgedGame;
  expect(judgementCurves(judged)).toEqual([
    { name: "search then", x: [1], y: [0.5] },
    { name: "net now", x: [0], y: [0.1] },
  ]);
});

it("draws small curves upwards, with the last value always", () => {
  expect(sparkPath([1])).toBe("");
  expect(sparkPath([0, 1])).toBe("M2.0 32.0L74.0 2.0");
  const long = sparkPath(Array.from({ length: 500 }, (_, index) => index));
  expect(long.split("L").length).toBeLessThanOrEqual(60);
  expect(long.endsWith("74.0 2.0")).toBe(true);
});

it("takes only those ticks of an axis whose texts differ", () => {
  expect(distinctSteps(0.131, 0.17, percent)[0]).toBe(0.01);
  expect(distinctSteps(-700, 600, (value) => count(Math.round(value)))[0]).toBe(1);
  expect(distinctSteps(2.05, 2.45, (value) => value.toFixed(2))[0]).toBe(0.01);
  expect(distinctSteps(0.141, 0.144, percent)[0]).toBe(0.0001); // else the axis would have no tick at all
  const losses = distinctSteps(0, 1, (value) => value.toFixed(2));
  expect([losses[0], losses.includes(0.05), losses.includes(0.005)]).toEqual([0.01, true, false]);
});

it("knows a zoomed axis from a whole one", () => {
  const cycles = [0, 1, 2, 3];
  expect(zoomOf(cycles, { min: 0, max: 3 })).toBeNull();
  expect(zoomOf(cycles, { min: 1, max: 3 })).toEqual({ min: 1, max: 3 });
  expect(zoomOf(cycles, { min: 0, max: 2 })).toEqual({ min: 0, max: 2 });
  expect(zoomOf([5], { min: 5, max: 6 })).toBeNull(); // the axis of one value
  expect(zoomOf([], { min: 0, max: 1 })).toBeNull();
  expect(zoomOf(cycles, {})).toBeNull(); // not drawn yet
});
