/** What is drawn under and over the pieces: squares, marks, coordinates, arrows, explosions. */
import { FILES } from "../chess";
import { allSquares, arrowPath, centre, corner, isDark, type BoardShape } from "./geometry";

export interface Arrow {
  uci: string;
  /** Width in hundredths of a square. */
  width: number;
  kind: "best" | "other" | "path" | "hint" | "played";
  label?: string;
}

export interface Heat {
  /** Shares by square, 0 to 1. */
  squares: Map<string, number>;
  kind: "visits" | "prior";
}

interface Props {
  shape: BoardShape;
}

const viewBox = ({ files, ranks }: BoardShape) => `0 0 ${100 * files} ${100 * ranks}`;

/** Squares, the scorch of the last explosion and a heat map. */
export function Underlay({ shape, heat, scorch }: Props & { heat: Heat | null; scorch: string | null }) {
  const dark = allSquares(shape)
    .filter(isDark)
    .map((square) => {
      const [x, y] = corner(square, shape);
      return `M${x} ${y}h100v100h-100Z`;
    })
    .join("");
  const most = Math.max(...(heat?.squares.values() ?? []), 0.0001);
  return (
    <svg class="layer under" viewBox={viewBox(shape)} aria-hidden="true">
      <rect class="light" width={100 * shape.files} height={100 * shape.ranks} />
      <path class="dark" d={dark} />
      {heat &&
        [...heat.squares]
          .filter(([, share]) => share >= 0.004)
          .map(([square, share]) => {
            const [x, y] = corner(square, shape);
            const opacity = (0.12 + 0.78 * Math.sqrt(share / most)).toFixed(2);
            return (
              <rect key={square} class={`heat ${heat.kind}`} x={x} y={y} width={100} height={100} opacity={opacity} />
            );
          })}
      {scorch && <Scorch square={scorch} shape={shape} />}
    </svg>
  );
}

function Scorch({ square, shape }: Props & { square: string }) {
  const [x, y] = centre(square, shape);
  return (
    <>
      <radialGradient id="scorch">
        <stop offset="0" stop-color="#3a2413" stop-opacity=".62" />
        <stop offset=".6" stop-color="#5a3417" stop-opacity=".26" />
        <stop offset="1" stop-color="#5a3417" stop-opacity="0" />
      </radialGradient>
      <circle cx={x} cy={y} r={165} fill="url(#scorch)" />
    </>
  );
}

interface OverlayProps extends Props {
  arrows: Arrow[];
  heat: Heat | null;
  cursor: string | null;
  blast: string[] | null;
  coordinates: boolean;
}

/** Coordinates, arrows, labels of the heat map, the frame of a blast and the keyboard's cursor. */
export function Overlay({ shape, arrows, heat, cursor, blast, coordinates }: OverlayProps) {
  return (
    <svg class="layer over" viewBox={viewBox(shape)} aria-hidden="true">
      {coordinates && <Coordinates shape={shape} />}
      {[...arrows]
        .sort((a, b) => a.width - b.width)
        .map((arrow) => (
          <ArrowShape key={arrow.uci} arrow={arrow} shape={shape} />
        ))}
      {heat &&
        [...heat.squares]
          .filter(([, share]) => share >= 0.015)
          .map(([square, share]) => {
            const [x, y] = corner(square, shape);
            const text = `${Math.round(100 * share)}%`;
            const width = 10 + 12 * text.length;
            return (
              <g key={square}>
                <rect class="heat-label" x={x + 96 - width} y={y + 4} width={width} height={26} rx={6} />
                <text class="heat-text" x={x + 96 - width / 2} y={y + 23}>
                  {text}
                </text>
              </g>
            );
          })}
      {blast && blast.length > 0 && <BlastFrame squares={blast} shape={shape} />}
      {cursor && <Cursor square={cursor} shape={shape} />}
    </svg>
  );
}

function Coordinates({ shape }: Props) {
  const letters = Array.from({ length: shape.files }, (_, index) => index);
  const numbers = Array.from({ length: shape.ranks }, (_, index) => index);
  const white = shape.orientation === "white";
  return (
    <g>
      {letters.map((index) => {
        const file = FILES[white ? index : shape.files - 1 - index] ?? "";
        const square = `${file}${white ? 1 : shape.ranks}`;
        return (
          <text
            key={`f${index}`}
            class={isDark(square) ? "coord dark" : "coord"}
            x={100 * index + 7}
            y={100 * shape.ranks - 8}
          >
            {file}
          </text>
        );
      })}
      {numbers.map((index) => {
        const rank = white ? shape.ranks - index : index + 1;
        const square = `${FILES[white ? shape.files - 1 : 0] ?? ""}${rank}`;
        return (
          <text
            key={`r${index}`}
            class={isDark(square) ? "coord dark" : "coord"}
            x={100 * shape.files - 8}
            y={100 * index + 21}
            text-anchor="end"
          >
            {rank}
          </text>
        );
      })}
    </g>
  );
}

function ArrowShape({ arrow, shape }: Props & { arrow: Arrow }) {
  const from = arrow.uci.slice(0, 2);
  const to = arrow.uci.slice(2, 4);
  const { path, tip } = arrowPath(centre(from, shape), centre(to, shape), arrow.width);
  return (
    <g>
      <path class={`arrow ${arrow.kind}`} d={path} />
      {arrow.label && (
        <text class="arrow-label" x={tip[0]} y={tip[1]}>
          {arrow.label}
        </text>
      )}
    </g>
  );
}

function BlastFrame({ squares, shape }: Props & { squares: string[] }) {
  const corners = squares.map((square) => corner(square, shape));
  const left = Math.min(...corners.map(([x]) => x));
  const top = Math.min(...corners.map(([, y]) => y));
  const right = Math.max(...corners.map(([x]) => x)) + 100;
  const bottom = Math.max(...corners.map(([, y]) => y)) + 100;
  return <rect class="blast" x={left + 4} y={top + 4} width={right - left - 8} height={bottom - top - 8} rx={14} />;
}

function Cursor({ square, shape }: Props & { square: string }) {
  const [x, y] = corner(square, shape);
  return <rect class="cursor" x={x + 3} y={y + 3} width={94} height={94} rx={6} />;
}

const BITS = Array.from({ length: 16 }, (_, index) => {
  const angle = (index / 16) * 2 * Math.PI + 0.2;
  const distance = 90 + ((index * 37) % 5) * 22;
  return {
    x: `${(Math.cos(angle) * distance).toFixed(0)}px`,
    y: `${(Math.sin(angle) * distance).toFixed(0)}px`,
    radius: 6 + ((index * 13) % 8),
    colour: ["#F08A3C", "#FFD28A", "#5a3417"][index % 3] ?? "#F08A3C",
  };
});

/** The flash, waves and bits of an explosion; the style sheet animates and hides them. */
export function Explosion({ square, shape }: Props & { square: string }) {
  const [x, y] = centre(square, shape);
  return (
    <svg class="layer over explosion" viewBox={viewBox(shape)} aria-hidden="true">
      <radialGradient id="flash">
        <stop offset="0" stop-color="#FFFDF4" />
        <stop offset=".35" stop-color="#FFE3A6" stop-opacity=".95" />
        <stop offset=".7" stop-color="#F0853A" stop-opacity=".7" />
        <stop offset="1" stop-color="#C2500F" stop-opacity="0" />
      </radialGradient>
      <circle class="flash" cx={x} cy={y} r={150} fill="url(#flash)" />
      <circle class="wave" cx={x} cy={y} r={170} />
      <circle class="wave second" cx={x} cy={y} r={210} />
      {BITS.map((bit, index) => (
        <circle
          key={index}
          class="bit"
          cx={x}
          cy={y}
          r={bit.radius}
          fill={bit.colour}
          style={{ "--dx": bit.x, "--dy": bit.y }}
        />
      ))}
    </svg>
  );
}
