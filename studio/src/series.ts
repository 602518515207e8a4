/** Curves as uPlot takes them: one list of x for all, null where a curve has no value. */
import type { ChartSeries, JudgedGame, RunView } from "./messages";

/** Distances between the ticks of an axis, from the smallest on. */
const TICK_STEPS = [-4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) =>
  [1, 2, 5].map((digit) => Number(`${digit}e${power}`)),
);

/**
 * The distances at which ticks from `low` on have different texts: an axis does not say "14 %" three times. Where the
 * texts are too coarse for two ticks up to `high`, all distances.
 */
export function distinctSteps(low: number, high: number, format: (value: number) => string): number[] {
  const steps = TICK_STEPS.filter((step) => {
    const first = Math.ceil(low / step) * step;
    const texts = Array.from({ length: 10 }, (_, index) => format(first + index * step));
    return new Set(texts).size === texts.length;
  });
  return 2 * (steps[0] ?? Infinity) <= high - low ? steps : TICK_STEPS;
}

export type Aligned = [number[], ...(number | null)[][]];

/** `stacked`: shares are summed from the first curve on, and the largest sum comes first, so that it is drawn below. */
export function alignSeries(series: readonly ChartSeries[], stacked: boolean): Aligned {
  const xs = [...new Set(series.flatMap((each) => each.x))].sort((a, b) => a - b);
  const at = new Map(xs.map((x, index) => [x, index]));
  const spread = (x: number[], y: number[]) => {
    const column: (number | null)[] = xs.map(() => null);
    x.forEach((value, index) => {
      const place = at.get(value);
      if (place !== undefined) column[place] = y[index] ?? null;
    });
    return column;
  };
  const columns = series.map((each) => spread(each.x, each.y));
  if (stacked) {
    const sums: (number | null)[][] = [];
    columns.forEach((column, index) => {
      const before = sums[index - 1];
      sums.push(column.map((value, place) => (value === null ? null : value + (before?.[place] ?? 0))));
    });
    return [xs, ...sums.reverse()];
  }
  return [
    xs,
    ...series.flatMap((each, index) => {
      const column = columns[index] ?? [];
      const { error } = each;
      if (!error) return [column];
      const bound = (sign: number) =>
        spread(
          each.x,
          each.y.map((value, place) => value + sign * (error[place] ?? 0)),
        );
      return [column, bound(1), bound(-1)];
    }),
  ];
}

/** A part of the horizontal axis. */
export interface Zoom {
  min: number;
  max: number;
}

/** The ends of an axis from `low` to `high`, which is at least one step long. */
export function wholeAxis(low: number, high: number): [number, number] {
  return [low, Math.max(high, low + 1)];
}

/** The part of the axis that is shown of all values of x; null: all of it. */
export function zoomOf(xs: ArrayLike<number>, shown: { min?: number; max?: number } | undefined): Zoom | null {
  const [first, last, min, max] = [xs[0], xs[xs.length - 1], shown?.min, shown?.max];
  if (first === undefined || last === undefined || min === undefined || max === undefined) return null;
  const [low, high] = wholeAxis(first, last);
  return min > low || max < high ? { min, max } : null;
}

/** The curves of a run with the first curve of each other run, which is named after its run. */
export function besideCurves(own: ChartSeries[], others: readonly RunView[], chart: string): ChartSeries[] {
  const theirs = others.flatMap((view) => {
    const [curve] = view.charts[chart] ?? [];
    return curve ? [{ ...curve, name: view.run.id }] : [];
  });
  return theirs.length ? [...own, ...theirs] : own;
}

/** How a game was judged then and is judged now, as curves over its plies; positions without a value are left out. */
export function judgementCurves(judged: JudgedGame): ChartSeries[] {
  const curve = (name: string, values: readonly (number | null)[]): ChartSeries => {
    const known = values.flatMap((value, ply) => (value === null ? [] : [[ply, value] as const]));
    return { name, x: known.map(([ply]) => ply), y: known.map(([, value]) => value) };
  };
  return [
    curve("search then", judged.search_then),
    curve("net now", judged.net_now),
    curve("net then", judged.net_then),
  ].filter((each) => each.x.length > 0);
}
