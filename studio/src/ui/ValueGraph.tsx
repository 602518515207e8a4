/** White's value over a game, with the moves that lost most and what is proven. A click shows the position. */
import { signed } from "../format";
import type { ReviewedMove } from "../messages";
import { provenStretches } from "../review";

interface Props {
  review: (ReviewedMove | undefined)[];
  worst: ReviewedMove[];
  sans: string[];
  /** Number of moves played at the shown position. */
  shown: number;
  onShow: (plies: number) => void;
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 118, 30, 12, 8, 24];

export function ValueGraph({ review, worst, sans, shown, onShow }: Props) {
  const plies = Math.max(1, sans.length);
  const x = (ply: number) => LEFT + (ply / plies) * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => TOP + ((1 - value) / 2) * (HEIGHT - TOP - BOTTOM);
  const points: [number, number][] = [];
  const first = review[0];
  if (first) points.push([x(0), y(first.before)]);
  review.forEach((move) => move && points.push([x(move.ply + 1), y(move.value)]));
  const line = points.map(([px, py]) => `${px.toFixed(1)} ${py.toFixed(1)}`).join("L");
  const last = points[points.length - 1];
  const labels = spreadLabels(
    worst.map((move) => x(move.ply + 1)),
    58,
    WIDTH - RIGHT - 24,
  );
  const lost = worst.map((move) => `${sans[move.ply] ?? ""} lost ${move.loss.toFixed(2)}`).join(", ");
  const proven = provenStretches(review);
  const known = proven.map(({ first, last, result }) => {
    const moves = first === last ? (sans[first] ?? "") : `${sans[first] ?? ""} to ${sans[last] ?? ""}`;
    return ` After ${moves} ${result > 0 ? "a win of White" : result < 0 ? "a win of Black" : "a draw"} is proven.`;
  });
  return (
    <svg
      class="value-graph"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`White's value over the game. ${lost || "No large mistake was found"}.${known.join("")}`}
      preserveAspectRatio="none"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const along = ((event.clientX - box.left) / box.width) * WIDTH;
        onShow(Math.round(Math.min(1, Math.max(0, (along - LEFT) / (WIDTH - LEFT - RIGHT))) * plies));
      }}
    >
      <rect class="plot" x={LEFT} y={y(1)} width={WIDTH - LEFT - RIGHT} height={y(-1) - y(1)} />
      {[1, 0, -1].map((value) => (
        <g key={value}>
          <line class="gl" x1={LEFT} x2={WIDTH - RIGHT} y1={y(value)} y2={y(value)} />
          <text class="ax" x={LEFT - 5} y={y(value) + 4} text-anchor="end">
            {value === 0 ? "0" : signed(value, 0)}
          </text>
        </g>
      ))}
      {last && <path class="area" d={`M${x(0)} ${y(0)}L${line}L${last[0].toFixed(1)} ${y(0)}Z`} />}
      {last && <path class="ln s1" d={`M${line}`} />}
      {proven.map(({ first, last, result }) => (
        <rect
          key={first}
          class="proven"
          x={x(first + 1) - 4}
          y={y(result) - (result < 0 ? 4 : 0)}
          width={x(last + 1) - x(first + 1) + 8}
          height={4}
          rx={1}
        />
      ))}
      {worst.map((move, index) => {
        const [px, py] = [x(move.ply + 1), y(move.value)];
        const down = move.value < move.before;
        return (
          <g key={move.ply} class={move.mark === "??" ? "blunder" : "mistake"}>
            <path d={down ? `M${px - 5} ${py - 7}h10l-5 8Z` : `M${px - 5} ${py + 7}h10l-5 -8Z`} />
            <text x={labels[index] ?? px} y={HEIGHT - 8} text-anchor="middle">
              {sans[move.ply]}
              {move.mark}
            </text>
          </g>
        );
      })}
      <line class="now" x1={x(shown)} x2={x(shown)} y1={TOP - 4} y2={HEIGHT - BOTTOM + 4} />
    </svg>
  );
}

/** Places of labels that do not overlap: each at least `gap` after the one before, none beyond `end`. */
export function spreadLabels(places: number[], gap: number, end: number): number[] {
  const found: number[] = [];
  for (const place of places) found.push(Math.max(place, (found[found.length - 1] ?? -Infinity) + gap));
  let most = end;
  for (let index = found.length - 1; index >= 0; index--) {
    found[index] = Math.min(found[index] ?? 0, most);
    most = (found[index] ?? 0) - gap;
  }
  return found;
}
