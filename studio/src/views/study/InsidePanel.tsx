/** Inside the net: what it is given (planes), and what it says without a search beside an untrained one and the search. */
import { useEffect, useState } from "preact/hooks";
import { heatOf } from "../../analysis";
import { squareAt } from "../../chess";
import { percent, signed } from "../../format";
import type { AnalysisUpdate, InsideNet, NetOpinion, NetPlane } from "../../messages";
import { sayError, server } from "../../store";
import { uciLine, type GameTree } from "../../tree";
import { WdlBar } from "../../ui/controls";

interface Props {
  tree: GameTree;
  at: number;
  player: string;
  update: AnalysisUpdate | null;
}

export function InsidePanel({ tree, at, player, update }: Props) {
  const [inside, setInside] = useState<InsideNet | null>(null);
  useEffect(() => {
    let wanted = true;
    server
      .ask(
        "net.inside",
        { variant: tree.variant, fen: tree.start, moves: uciLine(tree, at), player: player || null },
        "net.inside",
      )
      .then((found) => wanted && setInside(found), sayError);
    return () => {
      wanted = false;
    };
  }, [tree.variant, tree.start, at, player]);
  if (!inside) return <div class="empty" aria-busy="true" />;
  const turn = inside.fen.split(" ")[1] === "b" ? "black" : "white";
  const views: { name: string; note: string; heat: Map<string, number>; wdl: [number, number, number] }[] =
    inside.opinions.map((opinion) => ({
      name: opinion.name,
      note: `value ${signed(opinion.wdl[0] - opinion.wdl[2])}${opinion.plies === null ? "" : `, ${Math.round(opinion.plies)} plies left`}`,
      heat: targets(opinion),
      wdl: opinion.wdl,
    }));
  if (update)
    views.push({
      name: "the search",
      note: `value ${signed(update.value)}, ${update.visits} visits`,
      heat: heatOf(update, "visits").squares,
      wdl: update.wdl,
    });
  return (
    <div class="planes" tabIndex={0} role="region" aria-label="Inside the net">
      <div>
        <h3>Where each would move to</h3>
        <div class="tri">
          {views.map((view) => (
            <figure key={view.name}>
              <Squares
                files={inside.files}
                ranks={inside.ranks}
                values={view.heat}
                label={`${view.name}: ${best(view.heat)}`}
              />
              <figcaption>
                <span>{view.name}</span>
                <span class="mut num">{view.note}</span>
              </figcaption>
              <WdlBar wdl={view.wdl} />
            </figure>
          ))}
        </div>
      </div>
      <div>
        <h3>
          What the net is given: {inside.planes.length} planes, as {turn} sees the board
        </h3>
        <div class="pgrid">
          {inside.planes.map((plane) => (
            <Plane key={plane.name} plane={plane} files={inside.files} ranks={inside.ranks} />
          ))}
        </div>
      </div>
    </div>
  );
}

function targets(opinion: NetOpinion): Map<string, number> {
  const squares = new Map<string, number>();
  for (const [uci, prior] of Object.entries(opinion.priors)) {
    const square = uci.slice(2, 4);
    squares.set(square, (squares.get(square) ?? 0) + prior);
  }
  return squares;
}

function best(heat: Map<string, number>): string {
  const [square, share] = [...heat].sort((a, b) => b[1] - a[1])[0] ?? ["none", 0];
  return `most to ${square}, ${percent(share)}`;
}

interface SquaresProps {
  files: number;
  ranks: number;
  values: Map<string, number>;
  label: string;
}

/** A board of shares: the darker, the larger; the largest are written. */
function Squares({ files, ranks, values, label }: SquaresProps) {
  const most = Math.max(0.0001, ...values.values());
  const cells = [];
  for (let rank = 1; rank <= ranks; rank++)
    for (let file = 0; file < files; file++) {
      const share = values.get(squareAt(file, rank)) ?? 0;
      const [x, y] = [10 * file, 10 * (ranks - rank)];
      cells.push(
        <g key={`${file}-${rank}`}>
          <rect class={(file + rank) % 2 ? "dark" : "light"} x={x} y={y} width={10} height={10} />
          {share > 0.003 && (
            <rect
              class="share"
              x={x}
              y={y}
              width={10}
              height={10}
              opacity={(0.1 + 0.85 * Math.sqrt(share / most)).toFixed(2)}
            />
          )}
          {share >= 0.1 && (
            <text x={x + 5} y={y + 6.4}>
              {Math.round(100 * share)}
            </text>
          )}
        </g>,
      );
    }
  return (
    <svg class="squares" viewBox={`0 0 ${10 * files} ${10 * ranks}`} role="img" aria-label={label}>
      {cells}
    </svg>
  );
}

function Plane({ plane, files, ranks }: { plane: NetPlane; files: number; ranks: number }) {
  const [only] = plane.values;
  const isFlat = plane.values.length === 1;
  const isEmpty = isFlat && only === 0;
  return (
    <div class={isEmpty ? "pl none" : "pl"}>
      <svg
        viewBox={`0 0 ${files} ${ranks}`}
        role="img"
        aria-label={`${plane.name}: ${isFlat ? String(only) : `${plane.values.filter((value) => value > 0).length} squares`}`}
      >
        {isFlat
          ? !isEmpty && <rect width={files} height={ranks} opacity={only} />
          : plane.values.map(
              (value, index) =>
                value > 0 && (
                  <rect
                    key={index}
                    x={(index % files) + 0.06}
                    y={ranks - 1 - Math.floor(index / files) + 0.06}
                    width={0.88}
                    height={0.88}
                    opacity={value}
                  />
                ),
            )}
      </svg>
      <span>{plane.name}</span>
    </div>
  );
}
