/** Curves with uPlot: one crosshair for all charts, names at the ends of the curves, bands for 95 % intervals. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { ChartSeries } from "../messages";
import { alignSeries, distinctSteps, wholeAxis, zoomOf, type Zoom } from "../series";
import { theme } from "../store";

interface Props {
  title: string;
  note?: string;
  series: ChartSeries[];
  format: (value: number) => string;
  height?: number;
  /** Areas above each other, of shares from 0 to 1. */
  stacked?: boolean;
  /** Ends of the vertical axis; without them it fits the curves. */
  range?: [number, number];
  xName?: string;
  /** A click at a value of x. */
  onPick?: (x: number) => void;
}

/** Charts of the same horizontal axis share a crosshair. */
const syncKey = (xName: string) => uPlot.sync(`train-${xName}`).key;
const COLOURS = ["--accent", "--blue", "--violet", "--boom", "--good", "--amber"];
const DASHES = [[], [6, 4], [2, 4], [8, 3, 2, 3], [1, 3], [10, 4]];
/** The horizontal axis counts cycles or plies: no halves. */
const WHOLE_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000];
const STACK = ["--w", "--d", "--l", "--violet"];

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
}

/** Two rows of charts fill the window below the figures. */
function usualHeight(): number {
  return Math.round(Math.max(190, (innerHeight - 240) / 2 - 92));
}

/** Draw the interval of each point as a bar: a band needs two points. */
function drawErrors(chart: uPlot, series: readonly ChartSeries[]): void {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  series.forEach((each, index) => {
    ctx.strokeStyle = colour(COLOURS[index % COLOURS.length] ?? "--accent");
    each.error?.forEach((error, place) => {
      const [x, y] = [each.x[place] ?? 0, each.y[place] ?? 0];
      const across = chart.valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(across, chart.valToPos(y - error, "y", true));
      ctx.lineTo(across, chart.valToPos(y + error, "y", true));
      ctx.stroke();
    });
  });
  ctx.restore();
}

export function Chart({
  title,
  note,
  series,
  format,
  height = usualHeight(),
  stacked = false,
  range,
  xName = "cycle",
  onPick,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLSpanElement>(null);
  const plot = useRef<uPlot | null>(null);
  /** What a user has chosen with the mouse; null: the whole axis. New values and a new plot keep it. */
  const zoom = useRef<Zoom | null>(null);
  const [isZoomed, setZoomed] = useState(false);
  const latest = useRef(series);
  latest.current = series;
  const names = series.map((each) => each.name).join("|");
  const dark = theme.value;
  // An area has no width before there are two points.
  const isEmpty = series.length === 0 || (stacked && series.every((each) => each.x.length < 2));

  function show(index: number | null | undefined): void {
    if (!readout.current) return;
    const shown = latest.current;
    const at = index ?? null;
    const x = at === null ? null : plot.current?.data[0][at];
    const words = shown.map((each) => {
      const found = at === null ? each.y.length - 1 : each.x.findLastIndex((value) => value <= (x ?? 0));
      const value = each.y[found];
      const error = each.error?.[found];
      const text = value === undefined ? "–" : `${format(value)}${error === undefined ? "" : ` ± ${format(error)}`}`;
      return shown.length > 1 ? `${each.name} ${text}` : text;
    });
    readout.current.textContent = `${x === null || x === undefined ? "" : `${xName} ${x} · `}${words.join(" · ")}`;
  }

  function noteZoom(chart: uPlot): void {
    zoom.current = zoomOf(chart.data[0], chart.scales["x"]);
    setZoomed(zoom.current !== null);
  }

  function showAll(): void {
    zoom.current = null;
    plot.current?.setData(plot.current.data);
  }

  useEffect(() => {
    const element = box.current;
    if (!element || isEmpty) return;
    const fill = (name: string) => `color-mix(in srgb, ${colour(name)} 16%, transparent)`;
    const lines: uPlot.Series[] = series.map((each, index) =>
      stacked
        ? {
            label: each.name,
            stroke: colour("--w-line"),
            width: 1,
            fill: colour(STACK[index] ?? "--d"),
            points: { show: false },
          }
        : {
            label: each.name,
            stroke: colour(COLOURS[index % COLOURS.length] ?? "--accent"),
            width: 2,
            dash: DASHES[index % DASHES.length] ?? [],
            points: { show: each.error != null || each.x.length < 3, size: 6 },
            spanGaps: true,
          },
    );
    const withBands: uPlot.Series[] = stacked
      ? [...lines].reverse()
      : lines.flatMap((line, index) =>
          series[index]?.error
            ? [line, { width: 0, points: { show: false } }, { width: 0, points: { show: false } }]
            : [line],
        );
    const bands: uPlot.Band[] = [];
    let number = 1;
    if (!stacked)
      series.forEach((each, index) => {
        if (each.error)
          bands.push({ series: [number + 1, number + 2], fill: fill(COLOURS[index % COLOURS.length] ?? "--accent") });
        number += each.error ? 3 : 1;
      });
    const axis: uPlot.Axis = {
      stroke: colour("--text-3"),
      font: "500 11px Inter, system-ui, sans-serif",
      grid: { stroke: colour("--grid"), width: 1 },
      ticks: { show: false },
    };
    const made = new uPlot(
      {
        width: element.clientWidth || 300,
        height,
        legend: { show: false },
        cursor: { sync: { key: syncKey(xName) }, y: false, drag: { x: true, y: false } },
        scales: {
          x: { time: false, range: (_, low, high) => wholeAxis(low, high) },
          y: stacked ? { range: [0, 1] } : range ? { range } : {},
        },
        axes: [
          { ...axis, size: 28, incrs: WHOLE_STEPS },
          {
            ...axis,
            size: 46,
            incrs: (_chart, _axis, low, high) => distinctSteps(low, high, format),
            values: (_, ticks) => ticks.map((tick) => format(tick)),
          },
        ],
        series: [{}, ...withBands],
        bands,
        hooks: {
          setCursor: [(chart) => show(chart.cursor.idx)],
          setScale: [(chart, key) => key === "x" && noteZoom(chart)],
          draw: [(chart) => drawErrors(chart, latest.current)],
        },
      },
      alignSeries(series, stacked),
      element,
    );
    plot.current = made;
    if (zoom.current) made.setScale("x", zoom.current);
    if (onPick)
      made.over.addEventListener("click", () => {
        const x = made.cursor.idx == null ? undefined : made.data[0][made.cursor.idx];
        if (x !== undefined) onPick(x);
      });
    show(null);
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth || 300, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [names, stacked, height, dark, isEmpty, series.map((each) => each.error != null).join()]);

  useEffect(() => {
    plot.current?.setData(alignSeries(series, stacked)); // shows the whole axis
    if (zoom.current) plot.current?.setScale("x", zoom.current);
    show(plot.current?.cursor.idx ?? null);
  }, [series]);

  const summary = series
    .map((each) => `${each.name} ${each.y.length ? format(each.y[each.y.length - 1] ?? 0) : "no value"}`)
    .join(", ");
  return (
    <div class="card ch">
      <header>
        <h2>{title}</h2>
        {note && <span class="sm mut hide-s nowrap">{note}</span>}
        <span class="rd num" ref={readout} />
        {isZoomed && (
          <button type="button" class="btn small ghost" onClick={showAll}>
            Show all
          </button>
        )}
      </header>
      {isEmpty ? (
        <div class="empty" style={{ height: `${height}px` }}>
          {series.length ? "The curves begin with the second cycle." : "Nothing was measured yet."}
        </div>
      ) : (
        <>
          <div
            class="plot"
            ref={box}
            role="img"
            aria-label={`${title}: ${summary}`}
            style={{ height: `${height}px` }}
          />
          {series.length > 1 && (
            <div class="series-names">
              {series.map((each, index) => (
                <span key={each.name} class={stacked ? `stack-${index}` : `curve-${index % COLOURS.length}`}>
                  <i />
                  {each.name}
                </span>
              ))}
            </div>
          )}
        </>
      )}
    </div>
  );
}
