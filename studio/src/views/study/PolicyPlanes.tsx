/** The policy of a net: its planes, and boards of shares with the moves of a chosen plane or piece as arrows. */
import { useMemo } from "preact/hooks";
import { arrowPath } from "../../board/geometry";
import { PieceShapes } from "../../board/MiniBoard";
import { fileOf, rankOf, squareAt } from "../../chess";
import { finePercent, percent } from "../../format";
import type { AnalysisUpdate, InsideNet, NetOpinion } from "../../messages";
import {
  allCells,
  fromSquares,
  legalCells,
  legalShare,
  visitShares,
  type PolicyCell,
  type PolicyChoice,
} from "../../policy";
import { Segmented } from "../../ui/controls";

/** Something with an opinion: a net, an untrained one, or the search. */
export interface PolicyView {
  id: string;
  name: string;
  cells: PolicyCell[];
  wdl: [number, number, number];
  /** Null: the search. */
  opinion: NetOpinion | null;
}

export function policyViews(inside: InsideNet, update: AnalysisUpdate | null, everyCell: boolean): PolicyView[] {
  const { policy } = inside;
  const views: PolicyView[] = inside.opinions.map((opinion, index) => ({
    id: String(index),
    name: opinion.name,
    cells:
      everyCell && opinion.policy
        ? allCells(policy, opinion.policy, inside)
        : legalCells(policy, opinion.priors, inside),
    wdl: opinion.wdl,
    opinion,
  }));
  if (update)
    views.push({
      id: String(views.length),
      name: "the search",
      cells: legalCells(policy, visitShares(update), inside),
      wdl: update.wdl,
      opinion: null,
    });
  return views;
}

interface Props {
  inside: InsideNet;
  views: PolicyView[];
  shown: PolicyView;
  onShow: (index: number) => void;
  everyCell: boolean;
  onEveryCell: (on: boolean) => void;
  choice: PolicyChoice;
  onChoice: (choice: PolicyChoice) => void;
}

const KINDS: Record<string, string> = {
  planes: "by direction and distance",
  fromto: "by target square",
  factored: "by target square, the logit of a move being that of its from-square and its own",
  core: "as a net would have them",
};

export function PolicyPlanes(props: Props) {
  const { inside, views, shown, choice, onChoice } = props;
  const { policy } = inside;
  if (policy.kind === "none")
    return (
      <div>
        <h3>What the net answers: no policy</h3>
        <p class="sm mut">This net has a value alone: every legal move gets the same prior, and the search decides.</p>
      </div>
    );
  const froms = fromSquares(legalCells(policy, shown.opinion?.priors ?? priorsOf(views), inside));
  return (
    <div class="policy">
      <h3>
        What the net answers: {policy.planes.length} policy planes, {KINDS[policy.kind]}
      </h3>
      <div class="policy-bar">
        <Segmented
          label="Policy of"
          options={views.map((view) => [view.id, view.name] as const)}
          value={shown.id}
          onChange={(id) => props.onShow(Number(id))}
        />
        <select
          class="sel"
          aria-label="Moves of"
          value={choice.kind === "from" ? choice.square : ""}
          onChange={({ currentTarget: { value } }) =>
            onChoice(value ? { kind: "from", square: value } : { kind: "all" })
          }
        >
          <option value="">all pieces</option>
          {froms.map(([square, share]) => (
            <option key={square} value={square}>
              from {square}, {percent(share)}
            </option>
          ))}
        </select>
        {policy.kind !== "core" && (
          <label class="lg">
            <input
              type="checkbox"
              checked={props.everyCell}
              onChange={(event) => props.onEveryCell(event.currentTarget.checked)}
            />
            illegal moves, too
          </label>
        )}
        {choice.kind !== "all" && (
          <button type="button" class="btn small" onClick={() => onChoice({ kind: "all" })}>
            All moves
          </button>
        )}
      </div>
      <p class="sm mut" aria-live="polite">
        {explain(inside, shown, props.everyCell)}
      </p>
      <PlaneGrid inside={inside} cells={shown.cells} choice={choice} onChoice={onChoice} />
    </div>
  );
}

/** The search has no priors of its own: those of the net name the pieces that can move. */
function priorsOf(views: PolicyView[]): Record<string, number> {
  return views[0]?.opinion?.priors ?? {};
}

function explain(inside: InsideNet, view: PolicyView, everyCell: boolean): string {
  const each = "A plane is one kind of move, a cell the square it starts from. Press a plane to see its moves.";
  if (!view.opinion) return `${each} The search counts visits, of legal moves alone.`;
  if (!view.opinion.policy) return `${each} ${view.name} is no net: it has priors for the legal moves alone.`;
  const share = finePercent(legalShare(inside.policy, view.opinion.policy));
  return everyCell
    ? `${each} ${share} of this policy lie on legal moves; a net whose training left the illegal ones out was never told about them.`
    : `${each} Shares are of the legal moves, which have ${share} of the whole policy.`;
}

/** Planes with less are named, not drawn. */
const LEAST_PLANE = 0.0005;

interface GridProps {
  inside: InsideNet;
  cells: PolicyCell[];
  choice: PolicyChoice;
  onChoice: (choice: PolicyChoice) => void;
}

function PlaneGrid({ inside, cells, choice, onChoice }: GridProps) {
  const chosen = choice.kind === "plane" ? choice.plane : -1;
  const key = cells.map((cell) => `${cell.plane}${cell.from}${cell.share.toFixed(3)}`).join();
  return useMemo(() => {
    const most = Math.max(0.0001, ...cells.map((cell) => cell.share));
    const byPlane = new Map<number, PolicyCell[]>();
    for (const cell of cells) byPlane.set(cell.plane, [...(byPlane.get(cell.plane) ?? []), cell]);
    const planes = inside.policy.planes.map((plane, index) => ({ plane, index, cells: byPlane.get(index) ?? [] }));
    const isShown = (each: (typeof planes)[number]) => each.index === chosen || sumOf(each.cells) >= LEAST_PLANE;
    const empty = planes.filter((each) => !isShown(each));
    return (
      <>
        <div class="pgrid">
          {planes.filter(isShown).map(({ plane, index, cells: own }) => (
            <button
              key={plane.name}
              type="button"
              class="pl policy-plane"
              aria-pressed={index === chosen}
              onClick={() => onChoice(index === chosen ? { kind: "all" } : { kind: "plane", plane: index })}
            >
              <Cells files={inside.files} ranks={inside.ranks} cells={own} most={most} />
              <span>{plane.name}</span>
              <span class="num">{(100 * sumOf(own)).toFixed(sumOf(own) < 0.0995 ? 1 : 0)} %</span>
            </button>
          ))}
        </div>
        {empty.length > 0 && (
          <details class="sm mut">
            <summary>{empty.length} planes have less than 0.05 %</summary>
            {empty.map((each) => each.plane.name).join(" · ")}
          </details>
        )}
      </>
    );
  }, [inside, key, chosen]);
}

function sumOf(cells: PolicyCell[]): number {
  return cells.reduce((found, cell) => found + cell.share, 0);
}

interface CellsProps {
  files: number;
  ranks: number;
  cells: PolicyCell[];
  most: number;
}

/** One plane: a square for each from-square with a share, the darker, the larger. */
function Cells({ files, ranks, cells, most }: CellsProps) {
  return (
    <svg viewBox={`0 0 ${files} ${ranks}`} aria-hidden="true">
      {cells
        .filter((cell) => cell.share > 0.002 * most)
        .map((cell) => (
          <rect
            key={`${cell.from}${cell.to ?? ""}`}
            x={fileOf(cell.from) + 0.06}
            y={ranks - rankOf(cell.from) + 0.06}
            width={0.88}
            height={0.88}
            opacity={(0.08 + 0.92 * Math.sqrt(cell.share / most)).toFixed(2)}
          />
        ))}
    </svg>
  );
}

function arrow(move: PolicyCell, ranks: number): string {
  const middle = (square: string): [number, number] => [100 * fileOf(square) + 50, 100 * (ranks - rankOf(square)) + 50];
  return arrowPath(middle(move.from), middle(move.to ?? move.from), 16).path;
}

interface SquaresProps {
  fen: string;
  files: number;
  ranks: number;
  values: Map<string, number>;
  moves: PolicyCell[];
  /** Whether the shares are visits of a search; else they are priors. */
  searched: boolean;
  label: string;
}

/** A board of shares: the darker, the larger; the largest are written. */
export function Squares({ fen, files, ranks, values, moves, searched, label }: SquaresProps) {
  const most = Math.max(0.0001, ...values.values());
  const top = Math.max(0.0001, ...moves.map((move) => move.share));
  const viewBox = `0 0 ${10 * files} ${10 * ranks}`;
  const cells = [];
  const labels = [];
  for (let rank = 1; rank <= ranks; rank++)
    for (let file = 0; file < files; file++) {
      const share = values.get(squareAt(file, rank)) ?? 0;
      const [x, y] = [10 * file, 10 * (ranks - rank)];
      cells.push(
        <g key={`${file}-${rank}`}>
          <rect class={(file + rank) % 2 ? "dark" : "light"} x={x} y={y} width={10} height={10} />
          {share > 0.003 * Math.min(1, most * 10) && (
            <rect
              class={searched ? "share visits" : "share"}
              x={x}
              y={y}
              width={10}
              height={10}
              opacity={(0.1 + 0.85 * Math.sqrt(share / most)).toFixed(2)}
            />
          )}
        </g>,
      );
      if (share >= 0.1)
        labels.push(
          <text key={`${file}-${rank}`} x={x + 5} y={y + 6.4}>
            {Math.round(100 * share)}
          </text>,
        );
    }
  return (
    <div class="shares" style={{ "--files": files, "--ranks": ranks }}>
      <svg class="squares" viewBox={viewBox} role="img" aria-label={label}>
        {cells}
      </svg>
      <PieceShapes fen={fen} />
      <svg class="layer" viewBox={viewBox} aria-hidden="true">
        {labels}
        {moves.map((move) => (
          <path
            key={`${move.from}${move.to ?? ""}`}
            class="move"
            d={arrow(move, ranks)}
            opacity={(0.35 + 0.65 * Math.sqrt(move.share / top)).toFixed(2)}
          />
        ))}
      </svg>
    </div>
  );
}
