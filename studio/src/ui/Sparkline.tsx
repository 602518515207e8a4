/** A curve of a few pixels without axes; the figure beside it says the last value. */
interface Props {
  values: number[];
}

const [WIDTH, HEIGHT, PAD, POINTS] = [76, 34, 2, 60];

/** The path of a curve that fills the box; long ones are thinned. */
export function sparkPath(values: readonly number[]): string {
  const step = Math.max(1, Math.ceil(values.length / POINTS));
  const shown = values.filter((_, index) => (values.length - 1 - index) % step === 0);
  if (shown.length < 2) return "";
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const across = (WIDTH - 2 * PAD) / (shown.length - 1);
  const up = high > low ? (HEIGHT - 2 * PAD) / (high - low) : 0;
  return shown
    .map((value, index) => {
      const y = high > low ? HEIGHT - PAD - (value - low) * up : HEIGHT / 2;
      return `${index ? "L" : "M"}${(PAD + index * across).toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

export function Sparkline({ values }: Props) {
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <path d={sparkPath(values)} />
    </svg>
  );
}
