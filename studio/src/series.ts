/** Curves as uPlot takes them: one list of x for all, null where a curve has no value. */
import type { ChartSeries } from "./messages";

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
