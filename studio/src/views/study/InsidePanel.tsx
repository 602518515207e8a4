/** Inside the net: what it is given and what it answers, without a search, beside an untrained one and the search. */
import { useEffect, useState } from "preact/hooks";
import type { Arrow } from "../../board/Overlay";
import { percent, signed } from "../../format";
import type { AnalysisUpdate, InsideNet, NetOpinion, NetPlane } from "../../messages";
import { drawPolicy, type PolicyChoice, type PolicyDrawing } from "../../policy";
import { ConnectionLost } from "../../socket";
import { server } from "../../store";
import { uciLine, type GameTree } from "../../tree";
import { WdlBar } from "../../ui/controls";
import { PolicyPlanes, policyViews, Squares } from "./PolicyPlanes";

interface Props {
  tree: GameTree;
  at: number;
  player: string;
  update: AnalysisUpdate | null;
  /** Arrows of the chosen plane or piece, for the board; null: none are chosen. */
  onArrows: (arrows: Arrow[] | null) => void;
}

export function InsidePanel({ tree, at, player, update, onArrows }: Props) {
  const [inside, problem] = useInside(tree, at, player);
  const [wanted, setChoice] = useState<PolicyChoice>({ kind: "all" });
  const [shown, setShown] = useState(0);
  const [everyCell, setEveryCell] = useState(false);
  const views = inside ? policyViews(inside, update, everyCell) : [];
  const view = views[shown] ?? views[0];
  const choice = inside && isKnown(inside, wanted) ? wanted : ALL;
  const drawing = view && choice.kind !== "all" ? drawPolicy(view.cells, choice) : null;
  const arrows = drawing ? JSON.stringify(arrowsOf(drawing)) : "";
  useEffect(() => onArrows(arrows ? (JSON.parse(arrows) as Arrow[]) : null), [arrows]);
  useEffect(() => () => onArrows(null), []);
  if (!inside)
    return (
      <div class="empty" aria-busy={problem === null}>
        {problem ?? "Reading the net…"}
      </div>
    );
  return (
    <div class="planes" tabIndex={0} role="region" aria-label="Inside the net">
      <div>
        <h3>{title(inside, choice)}</h3>
        <div class="tri">
          {views.map((each) => {
            const { heat, moves } = drawPolicy(each.cells, choice);
            return (
              <figure key={each.id}>
                <Squares
                  fen={inside.fen}
                  files={inside.files}
                  ranks={inside.ranks}
                  values={heat}
                  moves={moves}
                  searched={each.opinion === null}
                  label={`${each.name}: ${best(heat, choice)}`}
                />
                <figcaption>
                  <span>{each.name}</span>
                  <span class="mut num">
                    {each.opinion
                      ? note(each.opinion)
                      : `value ${signed(update?.value ?? 0)}, ${update?.visits ?? 0} visits`}
                  </span>
                </figcaption>
                <WdlBar wdl={each.wdl} />
              </figure>
            );
          })}
        </div>
      </div>
      {view && (
        <PolicyPlanes
          inside={inside}
          views={views}
          shown={view}
          onShow={setShown}
          everyCell={everyCell}
          onEveryCell={setEveryCell}
          choice={choice}
          onChoice={setChoice}
        />
      )}
      <div>
        <h3>
          What the net is given: {inside.planes.length} planes, as {inside.seen_by} sees the board
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

const ALL: PolicyChoice = { kind: "all" };

/** What is inside the net in this position; or why there is nothing to see: not every player is a net. */
function useInside(tree: GameTree, at: number, player: string): [InsideNet | null, string | null] {
  const [inside, setInside] = useState<InsideNet | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let wanted = true;
    setProblem(null);
    const fail = (error: unknown) => {
      if (!wanted || error instanceof ConnectionLost) return;
      setInside(null);
      setProblem(error instanceof Error ? error.message : String(error));
    };
    const end = server.onOpen(() => {
      server
        .ask(
          "net.inside",
          { variant: tree.variant, fen: tree.start, moves: uciLine(tree, at), player: player || null },
          "net.inside",
        )
        .then((found) => wanted && setInside(found), fail);
    });
    return () => {
      wanted = false;
      end();
    };
  }, [tree.variant, tree.start, at, player]);
  return [inside, problem];
}

/** Whether a choice that was made in another position still means something: a piece may be gone. */
function isKnown(inside: InsideNet, choice: PolicyChoice): boolean {
  if (choice.kind === "from") return Object.keys(inside.policy.cells).some((uci) => uci.startsWith(choice.square));
  return choice.kind === "all" || choice.plane < inside.policy.planes.length;
}

function title(inside: InsideNet, choice: PolicyChoice): string {
  if (choice.kind === "all") return "Where each would move to";
  if (choice.kind === "from") return `Moves from ${choice.square}, by target`;
  return `The plane “${inside.policy.planes[choice.plane]?.name ?? ""}”, by from-square`;
}

function note(opinion: NetOpinion): string {
  const plies = opinion.plies === null ? "" : `, ${Math.round(opinion.plies)} plies left`;
  return `value ${signed(opinion.wdl[0] - opinion.wdl[2])}${plies}`;
}

function best(heat: Map<string, number>, choice: PolicyChoice): string {
  const [square, share] = [...heat].sort((a, b) => b[1] - a[1])[0] ?? ["none", 0];
  return `most ${choice.kind === "plane" ? "from" : "to"} ${square}, ${percent(share)}`;
}

function arrowsOf(drawing: PolicyDrawing): Arrow[] {
  return drawing.moves.map((move, index) => ({
    uci: `${move.from}${move.to ?? ""}`,
    width: 8 + 26 * Math.sqrt(Math.min(1, move.share)),
    kind: index === 0 ? "best" : "other",
    ...(move.share >= 0.08 ? { label: String(Math.round(100 * move.share)) } : {}),
  }));
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
      <span>
        {plane.name}
        {isFlat && !isEmpty && <b class="num"> {Number(only?.toFixed(2))}</b>}
      </span>
    </div>
  );
}
