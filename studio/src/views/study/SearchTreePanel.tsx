/** The search tree: live while an analysis runs, or playout by playout at any pace. */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Arrow } from "../../board/Overlay";
import { signed } from "../../format";
import type { AnalysisUpdate, PlayoutTrace } from "../../messages";
import { PHASES, phaseCount, replay, sumBars, type Phase } from "../../playouts";
import type { DrawnNode } from "../../searchTree";
import { sayError, server } from "../../store";
import { uciLine, type GameTree } from "../../tree";
import { IconButton, Segmented } from "../../ui/controls";
import { Icon } from "../../ui/Icon";
import { useKeys } from "../../ui/keys";
import { clampZoom, TreePicture } from "./TreePicture";

interface Props {
  tree: GameTree;
  at: number;
  player: string;
  update: AnalysisUpdate | null;
  /** Why there is no analysis. */
  reason: string | null;
  onArrows: (arrows: Arrow[] | null) => void;
}

const PLAYOUTS = 120;
const PACE_MS: Record<Phase, number> = { select: 520, expand: 420, evaluate: 700, "back up": 620 };
type Pace = "0.5" | "1" | "4";

export function SearchTreePanel({ tree, at, player, update, reason, onArrows }: Props) {
  const [trace, setTrace] = useState<PlayoutTrace | null>(null);
  const [zoom, setZoom] = useState(1);
  const [follow, setFollow] = useState(true);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => setTrace(null), [at, tree, player]);
  useEffect(() => () => onArrows(null), []);

  const step = () =>
    server
      .ask(
        "analysis.playouts",
        {
          variant: tree.variant,
          fen: tree.start,
          moves: uciLine(tree, at),
          player: player || null,
          playouts: PLAYOUTS,
        },
        "analysis.trace",
      )
      .then(setTrace, sayError);
  const live: DrawnNode[] = useMemo(() => (update?.tree ?? []).map((node, id) => ({ id, ...node })), [update]);

  // Nodes are known by their line, because their numbers change from update to update.
  const lines = useMemo(() => {
    const found: string[] = [];
    for (const node of live) found.push(node.parent < 0 ? "" : `${found[node.parent] ?? ""} ${node.san}`);
    return found;
  }, [live]);
  const isOpen = (id: number) => {
    const line = lines[id] ?? "";
    const depth = line.split(" ").length - 1;
    return (
      opened.has(line) ||
      (!closed.has(line) && (depth < 1 || (depth < 3 && (live[id]?.visits ?? 0) * 8 > (live[0]?.visits ?? 0))))
    );
  };
  const toggle = (id: number) => {
    const line = lines[id] ?? "";
    const [open, close] = [new Set(opened), new Set(closed)];
    if (isOpen(id)) {
      open.delete(line);
      close.add(line);
    } else {
      open.add(line);
      close.delete(line);
    }
    setOpened(open);
    setClosed(close);
  };

  return (
    <>
      {trace ? (
        <Stepper
          key={trace.ask}
          trace={trace}
          zoom={zoom}
          follow={follow}
          onZoom={setZoom}
          onArrows={onArrows}
          onEnd={() => setTrace(null)}
        />
      ) : (
        <>
          <TreePicture
            nodes={live}
            isOpen={isOpen}
            onToggle={toggle}
            zoom={zoom}
            onZoom={setZoom}
            follow={follow && update?.done === false}
          />
          <div class="stepper live">
            <div class="trow">
              <button type="button" class="btn pri" onClick={() => void step()}>
                <Icon name="step" />
                Step through playouts
              </button>
              <span class="sm mut">
                {live.length ? nodesText(live.length, update?.nodes ?? 0) : (reason ?? "The tree is about to grow.")}
              </span>
            </div>
          </div>
        </>
      )}
      <div class="tleg sm mut">
        <span class="lg">
          <i class="key-share" />
          share of the visits
        </span>
        <span class="lg">
          <i class="key-tick" />
          prior
        </span>
        <span class="hide-s">value for the side that moves, then visits</span>
        <span class="lg proof-key hide-s">#3 proven</span>
        <span class="tree-tools">
          <label class="lg follow">
            <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
            follow
          </label>
          <span class="zoom">
            <button type="button" class="link" onClick={() => setZoom(clampZoom(zoom - 0.25))} aria-label="Smaller">
              −
            </button>
            <button
              type="button"
              class="link num"
              onClick={() => setZoom(1)}
              aria-label={`${Math.round(100 * zoom)} %, usual size`}
            >
              {Math.round(100 * zoom)} %
            </button>
            <button type="button" class="link" onClick={() => setZoom(clampZoom(zoom + 0.25))} aria-label="Larger">
              +
            </button>
          </span>
        </span>
      </div>
    </>
  );
}

interface StepperProps {
  trace: PlayoutTrace;
  zoom: number;
  follow: boolean;
  onZoom: (zoom: number) => void;
  onArrows: (arrows: Arrow[] | null) => void;
  onEnd: () => void;
}

function Stepper({ trace, zoom, follow, onZoom, onArrows, onEnd }: StepperProps) {
  const [at, setAt] = useState({ playout: 1, phase: 0 });
  const [playing, setPlaying] = useState(false);
  const [pace, setPace] = useState<Pace>("1");
  const count = trace.playouts.length;
  const playout = trace.playouts[at.playout];
  const phase: Phase = PHASES[at.phase] ?? "select";
  const state = useMemo(() => replay(trace, at.playout, phase === "back up"), [trace, at.playout, phase === "back up"]);
  const levels = Math.max(1, playout?.choices.length ?? 1);

  const next = () =>
    setAt(({ playout: number, phase: part }) => {
      if (part + 1 < phaseCount) return { playout: number, phase: part + 1 };
      return number + 1 < count ? { playout: number + 1, phase: 0 } : { playout: number, phase: part };
    });
  const back = () =>
    setAt(({ playout: number, phase: part }) =>
      part > 0
        ? { playout: number, phase: part - 1 }
        : { playout: Math.max(1, number - 1), phase: number > 1 ? phaseCount - 1 : 0 },
    );
  useEffect(() => {
    if (!playing) return;
    if (at.playout === count - 1 && at.phase === phaseCount - 1) {
      setPlaying(false);
      return;
    }
    const wait = (PACE_MS[phase] * (phase === "select" ? Math.min(4, levels) : 1)) / Number(pace);
    const timer = setTimeout(next, wait);
    return () => clearTimeout(timer);
  }, [playing, at, pace, count]);
  useEffect(() => {
    onArrows(
      (playout?.path.slice(1) ?? []).map((id, index) => ({
        uci: trace.nodes[id]?.uci ?? "a1a1",
        width: Math.max(8, 22 - 3 * index),
        kind: "path",
        label: String(index + 1),
      })),
    );
  }, [playout]);
  useKeys({ ".": next, ",": back, " ": () => setPlaying(!playing) });

  // The much visited nodes are open, so that the tree is seen to grow.
  const openIds = new Set(
    state.filter((node) => node.visits * 10 > at.playout && node.visits > 2).map((node) => node.id),
  );
  const leaf = playout?.path[playout.path.length - 1] ?? 0;
  return (
    <>
      <TreePicture
        nodes={state}
        isOpen={(id) => id === 0 || openIds.has(id)}
        onToggle={() => undefined}
        path={playout?.path ?? []}
        fresh={playout?.is_new && at.phase >= 1 ? leaf : null}
        zoom={zoom}
        onZoom={onZoom}
        follow={follow}
      />
      <div class="stepper">
        <div class="trow">
          <IconButton plain icon="prev" label="Step back (,)" onClick={back} />
          <button type="button" class="btn pri play-step" onClick={() => setPlaying(!playing)}>
            <Icon name={playing ? "pause" : "go"} />
            {playing ? "Pause" : "Play"}
          </button>
          <IconButton plain icon="step" label="Step (.)" onClick={next} />
          <span class="num sm nowrap count">
            playout {at.playout} of {count - 1}
          </span>
          <input
            type="range"
            aria-label="Playout"
            min={1}
            max={count - 1}
            value={at.playout}
            onInput={(event) => setAt({ playout: Number(event.currentTarget.value), phase: 0 })}
          />
          <Segmented
            label="Pace"
            options={
              [
                ["0.5", "½×"],
                ["1", "1×"],
                ["4", "4×"],
              ] as const
            }
            value={pace}
            onChange={setPace}
          />
          <button type="button" class="btn ghost" onClick={onEnd}>
            Done
          </button>
        </div>
        <div class="phases">
          {PHASES.map((name, index) => (
            <button
              key={name}
              type="button"
              class={index < at.phase ? "done" : ""}
              aria-current={index === at.phase ? "step" : undefined}
              onClick={() => setAt({ ...at, phase: index })}
            >
              <i>{index + 1}</i>
              {name.charAt(0).toUpperCase() + name.slice(1)}
            </button>
          ))}
        </div>
        <Explained trace={trace} number={at.playout} phase={phase} />
      </div>
    </>
  );
}

function Explained({ trace, number, phase }: { trace: PlayoutTrace; number: number; phase: Phase }) {
  const playout = trace.playouts[number];
  if (!playout) return null;
  const line = playout.path.slice(1).map((id) => trace.nodes[id]?.san ?? "");
  const last = line[line.length - 1] ?? "the root";
  const choices = playout.choices[playout.choices.length - 1] ?? [];
  const bars = sumBars(choices);
  return (
    <div class="expl" aria-live="polite">
      <p>
        {phase === "select" && (
          <>
            At every node the search takes the move with the largest sum of <b>Q</b> (how good it has been) and <b>U</b>{" "}
            (how little it was tried for its prior): {line.join(" ") || "it is still at the root"}.
          </>
        )}
        {phase === "expand" &&
          (playout.is_new ? (
            <>
              The position after <b>{last}</b> is new: it joins the tree with its legal moves.
            </>
          ) : (
            <>
              The position after <b>{last}</b> is in the tree already, and the rules decide it.
            </>
          ))}
        {phase === "evaluate" &&
          (playout.by_rules ? (
            <>
              The rules decide: <b>{signed(playout.value)}</b> for the side that played {last}.
            </>
          ) : (
            <>
              {trace.player} looks at the position once: <b>{signed(playout.value)}</b> for the side that played {last}.
            </>
          ))}
        {phase === "back up" && (
          <>
            The value goes back along the path; each node has one visit more and a new mean, with the sign of its side.
          </>
        )}
      </p>
      <div class="qu">
        {choices.map((each, index) => (
          <div key={each.uci} class={index === 0 ? "win qrow" : "qrow"}>
            <span>{each.san}</span>
            <span class="bar">
              <i style={{ width: `${100 * (bars[index]?.q ?? 0)}%` }} />
              <i style={{ width: `${100 * (bars[index]?.u ?? 0)}%` }} />
            </span>
            <span class="num">
              {signed(each.q)} + {each.u.toFixed(2)}
            </span>
          </div>
        ))}
      </div>
    </div>
  );
}

/** How many nodes are shown. A move that ends the game is shown without being a node of the search. */
function nodesText(shown: number, all: number): string {
  return shown < all ? `${shown} of ${all} nodes, the most visited` : `${shown} nodes`;
}
