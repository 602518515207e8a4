/** Study: a game tree, the analysis of its positions, the review of its moves, and the search itself. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { arrowsOf, heatOf, provenVerdict, wdlOfResult, whyNoAnalysis, whyNot, type BoardDrawing } from "../analysis";
import { Board } from "../board/Board";
import type { Arrow } from "../board/Overlay";
import { moveNumber, otherColor } from "../chess";
import { count, percent, signed } from "../format";
import type { AnalysisUpdate, Color } from "../messages";
import { worstMoves } from "../review";
import { formatRoute, replaceRoute, route } from "../router";
import { say, sayError, server, toggleTheme, variantName, welcome } from "../store";
import {
  branchBefore,
  lineTo,
  mainLine,
  removeMove,
  ROOT,
  setComment,
  siblingOf,
  type GameTree,
  type TreeMove,
} from "../tree";
import { copyText, downloadText, IconButton, Segmented, WdlBar, WdlColumn, type Wdl } from "../ui/controls";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { ValueGraph } from "../ui/ValueGraph";
import { BoardEditor } from "./BoardEditor";
import { Candidates } from "./study/Candidates";
import { EnginePanel } from "./study/EnginePanel";
import { InsidePanel } from "./study/InsidePanel";
import { MoveTree } from "./study/MoveTree";
import { OpenDialog } from "./study/OpenDialog";
import { SearchTreePanel } from "./study/SearchTreePanel";
import { useAnalysis, type Review } from "./study/useAnalysis";
import { useStudy, type Study } from "./study/useStudy";

type Tab = "lines" | "tree" | "net" | "game";
const TABS: readonly (readonly [Tab, string])[] = [
  ["lines", "Candidates"],
  ["tree", "Search tree"],
  ["net", "Inside the net"],
  ["game", "Game"],
];
const DRAWINGS: readonly (readonly [BoardDrawing, string])[] = [
  ["arrows", "Arrows"],
  ["visits", "Visits"],
  ["prior", "Prior"],
  ["off", "Off"],
];
const VISITS: readonly (readonly [string, string])[] = [
  ["800", "800 visits"],
  ["4000", "4,000 visits"],
  ["20000", "20,000 visits"],
  ["", "no limit"],
];
const TREE_NODES = 400;

export function StudyView() {
  const { query, rest } = route.value;
  const variant = query.get("variant") ?? "atomic";
  const study = useStudy(query);
  const { tree, at, board } = study;
  const tab: Tab = TABS.find(([id]) => id === rest[0])?.[0] ?? "lines";
  const [isOn, setOn] = useState(true);
  const [player, setPlayer] = useState(query.get("player") ?? "");
  const [visits, setVisits] = useState("4000");
  const [drawing, setDrawing] = useState<BoardDrawing>("arrows");
  const [orientation, setOrientation] = useState<Color>("white");
  const [opening, setOpening] = useState(query.get("open") !== null);
  const [editing, setEditing] = useState(false);
  const [hovered, setHovered] = useState<string | null>(null);
  const [pathArrows, setPathArrows] = useState<Arrow[] | null>(null);
  const analysis = useAnalysis(tree, at, isOn, board && board.result !== null, {
    player,
    visits: visits ? Number(visits) : null,
    treeNodes: tab === "tree" ? TREE_NODES : 0,
  });
  const { update, review } = analysis;
  const isOver = board !== null && board.result !== null;
  const wdl = isOver ? wdlOfResult(board.result) : (update?.wdl ?? null);
  const { isReviewing } = analysis;
  const reason = whyNoAnalysis({ isOn, isOver, isReviewing, problem: analysis.problem });

  // Another player in the address is meant also where the position stays.
  const wantedPlayer = query.get("player") ?? "";
  useEffect(() => setPlayer(wantedPlayer), [wantedPlayer]);
  const gameId = query.get("game");
  useEffect(() => {
    if (gameId) study.loadGame(gameId).catch(sayError);
  }, [gameId]);
  useEffect(() => {
    setPlayer(tree.variant === variant ? (query.get("player") ?? "") : "");
    analysis.clearReview();
  }, [tree.variant, tree.start, tree.headers]);

  const line = useMemo(() => lineTo(tree, at), [tree, at]);
  const main = useMemo(() => mainLine(tree), [tree]);
  const children = tree.moves.flatMap((move, index) => (move.parent === at ? [index] : []));
  const back = () => study.show(tree.moves[at]?.parent ?? ROOT);
  const forward = () => study.show(children[0] ?? at);
  const first = () => study.show(ROOT);
  const last = () => study.show([...line, ...mainLine(tree, at)].pop() ?? ROOT);
  const flip = () => setOrientation(otherColor(orientation));
  const showTab = (name: Tab) => replaceRoute("study", name === "lines" ? [] : [name], Object.fromEntries(query));
  const closeOpening = () => {
    setOpening(false);
    const rest = Object.fromEntries([...query].filter(([name]) => name !== "open")); // not again after a reload
    replaceRoute("study", route.value.rest, rest);
  };
  useKeys({
    ArrowLeft: back,
    ArrowRight: forward,
    Home: first,
    End: last,
    ArrowUp: first,
    ArrowDown: last,
    "0": first,
    $: last,
    "Shift ArrowLeft": () => study.show(branchBefore(tree, at)),
    "Shift ArrowRight": () => study.show(children[1] ?? children[0] ?? at),
    "Shift ArrowUp": () => study.show(siblingOf(tree, at, -1)),
    "Shift ArrowDown": () => study.show(siblingOf(tree, at, 1)),
    j: forward,
    k: back,
    l: () => setOn(!isOn),
    f: flip,
    t: () => showTab(tab === "tree" ? "lines" : "tree"),
    a: () => setDrawing(DRAWINGS[(DRAWINGS.findIndex(([id]) => id === drawing) + 1) % DRAWINGS.length]?.[0] ?? "off"),
    ...(tab === "tree" ? {} : { " ": () => setOn(!isOn) }),
  });

  const arrows = useMemo(() => {
    if (pathArrows) return pathArrows;
    if (hovered) return [{ uci: hovered, width: 18, kind: "hint" } satisfies Arrow];
    return update && drawing === "arrows" ? arrowsOf(update) : [];
  }, [update, drawing, hovered, pathArrows]);
  const heat = useMemo(
    () => (update && (drawing === "visits" || drawing === "prior") ? heatOf(update, drawing) : null),
    [update, drawing],
  );
  const move = tree.moves[at];
  const [files, ranks] = boardSize(tree.start);

  return (
    <section class="view" aria-label="Study">
      <div class="top">
        <h1>Study</h1>
        <span class="sub">{titleOf(tree)}</span>
        <span class="sp" />
        <button type="button" class="btn" onClick={() => setOpening(true)}>
          <Icon name="folder" />
          <span class="label">Open</span>
        </button>
        <button type="button" class="btn" onClick={() => setEditing(true)}>
          <Icon name="edit" />
          <span class="label">Set up</span>
        </button>
        <button type="button" class="btn" onClick={() => void copyPosition(tree, at)}>
          <Icon name="link" />
          <span class="label">Link</span>
        </button>
        <IconButton class="only-s" icon="flip" label="Flip the board (F)" onClick={flip} />
        <IconButton class="only-s" icon="sun" label="Theme" onClick={toggleTheme} />
      </div>
      <div class={`study ${tab === "tree" || tab === "net" ? "wide" : ""} ${tab === "game" ? "moves-tab" : ""}`}>
        <div class="sb">
          <div class="sbrow">
            <WdlColumn wdl={wdl} flipped={orientation === "black"} />
            {tree.start && (
              <Board
                fen={move?.fen ?? tree.start}
                variant={tree.variant}
                files={files}
                ranks={ranks}
                orientation={orientation}
                movable="both"
                legal={board?.legal ?? NO_MOVES}
                lastMove={move?.uci ?? null}
                check={board?.check ?? null}
                exploded={move?.exploded ?? NO_SQUARES}
                arrows={arrows}
                heat={heat}
                label={`${variantName(tree.variant)}, analysis board`}
                onMove={study.play}
              />
            )}
          </div>
          <div class="trans">
            <IconButton plain icon="first" label="First position (Home)" onClick={first} />
            <IconButton plain icon="prev" label="Back (←)" onClick={back} />
            <IconButton plain icon="next" label="Forward (→)" onClick={forward} />
            <IconButton plain icon="last" label="Last position (End)" onClick={last} />
            <span class="sp hide-s" />
            <Segmented label="On the board" options={DRAWINGS} value={drawing} onChange={setDrawing} />
            <IconButton plain class="hide-s" icon="flip" label="Flip the board (F)" onClick={flip} />
          </div>
          <GraphCard
            tree={tree}
            main={main}
            shown={line.length}
            review={review}
            onShow={(plies) => study.show(main[plies - 1] ?? ROOT)}
            onReview={analysis.startReview}
          />
        </div>
        <div class="card eng">
          <div class="ehd">
            <button
              type="button"
              class="sw"
              role="switch"
              aria-checked={isOn}
              aria-label="Analysis"
              onClick={() => setOn(!isOn)}
            />
            <PlayerSelect
              variant={tree.variant}
              value={player}
              onChange={setPlayer}
              update={update}
              waits={isOn && !isOver && isReviewing}
            />
            <select
              class="sel"
              aria-label="Limit"
              value={visits}
              onChange={(event) => setVisits(event.currentTarget.value)}
            >
              {VISITS.map(([id, text]) => (
                <option key={id} value={id}>
                  {text}
                </option>
              ))}
            </select>
          </div>
          <Verdict
            update={update}
            wdl={wdl}
            over={isOver ? `${board.result ?? ""}, ${board.reason ?? ""}` : null}
            isOn={isOn}
          />
          <div class="tabs" role="tablist" aria-label="Analysis">
            {TABS.map(([id, text]) => (
              <button
                key={id}
                type="button"
                role="tab"
                aria-selected={tab === id}
                class={id === "game" ? "only-m" : ""}
                onClick={() => showTab(id)}
              >
                {text}
              </button>
            ))}
          </div>
          {tab === "lines" && (
            <div class="body" role="tabpanel" aria-label="Candidates">
              <Candidates update={update} reason={reason} onPlay={study.play} onHover={setHovered} />
              <EnginePanel tree={tree} at={at} isOver={isOver} onPlay={study.play} />
              <WhyNotCard update={update} before={analysis.before} move={move} onBack={back} />
            </div>
          )}
          {tab === "tree" && (
            <div class="body" role="tabpanel" aria-label="Search tree">
              <SearchTreePanel
                tree={tree}
                at={at}
                player={player}
                update={update}
                reason={reason}
                onArrows={setPathArrows}
              />
            </div>
          )}
          {tab === "net" && (
            <div class="body" role="tabpanel" aria-label="Inside the net">
              <InsidePanel tree={tree} at={at} player={player} update={update} onArrows={setPathArrows} />
            </div>
          )}
          {tab === "game" && <GameColumn study={study} review={review} />}
        </div>
        <div class="card gcol">
          <GameColumn study={study} review={review} />
        </div>
      </div>
      {opening && <OpenDialog onClose={closeOpening} onPgn={study.loadPgn} />}
      {editing && (
        <BoardEditor
          variant={tree.variant}
          fen={move?.fen ?? tree.start}
          onClose={() => setEditing(false)}
          onDone={(fen) => {
            setEditing(false);
            replaceRoute("study", [], { variant: tree.variant, fen });
          }}
        />
      )}
    </section>
  );
}

interface WhyNotProps {
  update: AnalysisUpdate | null;
  before: AnalysisUpdate | null;
  move: TreeMove | undefined;
  onBack: () => void;
}

/** The move that was just played beside the one that the search preferred. */
function WhyNotCard({ update, before, move, onBack }: WhyNotProps) {
  const why = update && before && move ? whyNot(before, update, move.uci, move.san) : null;
  return (
    <div class="why" aria-live="polite">
      {why && before && update ? (
        <>
          <span>
            <b>{why.isBest ? `${why.san} is the search’s choice.` : `Why not ${why.san}?`}</b>{" "}
            {why.isBest
              ? `It expects ${why.line.slice(0, 4).join(" ") || "nothing yet"}.`
              : why.loss < 0.03
                ? `It is about as good as ${why.best}; expected is ${why.line.slice(0, 4).join(" ")}.`
                : `It gives up ${why.loss.toFixed(2)} against ${why.best}: the answer is ${why.line.slice(0, 4).join(" ")}.`}
            <span class="sm mut num">
              {" "}
              {count(update.visits)} visits of its own, {count(before.visits)} before it.
            </span>
          </span>
          <button type="button" class="btn small" onClick={onBack}>
            Back
          </button>
        </>
      ) : (
        <span class="sm mut">Why not another move? Play it on the board, and it gets a search of its own.</span>
      )}
    </div>
  );
}

const NO_MOVES: never[] = [];
const NO_SQUARES: string[] = [];

function boardSize(fen: string): [number, number] {
  const size = (fen.split(" ")[0] ?? "").split("/").length || 8;
  return [size, size];
}

function titleOf(tree: GameTree): string {
  const { White: white, Black: black, Result: result } = tree.headers;
  const names = white && black && (white !== "?" || black !== "?") ? ` · ${white} – ${black}` : "";
  return `${variantName(tree.variant)}${names}${result && result !== "*" ? ` · ${result}` : ""}`;
}

async function copyPosition(tree: GameTree, at: number): Promise<void> {
  const fen = tree.moves[at]?.fen ?? tree.start;
  const address = `${location.origin}/${formatRoute("study", [], { variant: tree.variant, fen })}`;
  say((await copyText(address)) ? "The link to this position is copied." : address);
}

interface PlayerSelectProps {
  variant: string;
  value: string;
  update: AnalysisUpdate | null;
  /** Whether the analysis waits for the review of the game. */
  waits: boolean;
  onChange: (player: string) => void;
}

function PlayerSelect({ variant, value, update, waits, onChange }: PlayerSelectProps) {
  const players = (welcome.value?.players ?? []).filter(
    (each) => each.id !== "random" && (each.variant === null || each.variant === variant.replace(/960$/, "")),
  );
  const usual = welcome.value?.variants.find((each) => each.id === variant)?.player ?? "";
  return (
    <div class="nm">
      <select
        class="sel plain"
        aria-label="Player"
        value={value || usual}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {value && !players.some((each) => each.id === value) && <option value={value}>{value}</option>}
        {players.map((each) => (
          <option key={each.id} value={each.id}>
            {each.name}
          </option>
        ))}
      </select>
      <span class="sm mut num nowrap">
        {waits
          ? "waits for the review"
          : update
            ? `${count(update.visits)} visits, ${count(Math.round(update.visits / Math.max(update.seconds, 0.001)))}/s`
            : "\u00a0"}
      </span>
    </div>
  );
}

interface VerdictProps {
  update: AnalysisUpdate | null;
  wdl: Wdl | null;
  /** How the game ended here. */
  over: string | null;
  isOn: boolean;
}

/** The value of the position: White's, or what is proven. */
function Verdict({ update, wdl, over, isOn }: VerdictProps) {
  const proven = update?.proven ?? null;
  const value = proven !== null && update ? provenVerdict(proven, update.fen) : update ? signed(update.value) : null;
  return (
    <div class="ewdl">
      <div class="nums">
        <span class={over === null ? "val num" : "val over"} data-value={update?.value ?? ""}>
          {over ?? value ?? (isOn ? "…" : "off")}
        </span>
        {over === null && update && (
          <>
            <span class="nowrap">{update.net_value === null ? "" : `net alone ${signed(update.net_value)}`}</span>
            <span class="sp" />
            <span class="nowrap num">
              {proven === null ? `depth ${update.depth.toFixed(1)}, longest ${update.seldepth}` : ""}
            </span>
          </>
        )}
      </div>
      <WdlBar wdl={wdl} />
      <div class="wl num">
        <span class="lg">
          <i class="key-w" />
          White {wdl ? percent(wdl[0]) : "–"}
        </span>
        <span class="lg">
          <i class="key-d" />
          draw {wdl ? percent(wdl[1]) : "–"}
        </span>
        <span class="lg">
          <i class="key-l" />
          Black {wdl ? percent(wdl[2]) : "–"}
        </span>
      </div>
    </div>
  );
}

interface GraphCardProps {
  tree: GameTree;
  main: number[];
  shown: number;
  review: Review | null;
  onShow: (plies: number) => void;
  onReview: () => void;
}

function GraphCard({ tree, main, shown, review, onShow, onReview }: GraphCardProps) {
  const sans = main.map((index) => tree.moves[index]?.san ?? "");
  const worst = review ? worstMoves(review.moves) : [];
  const judged = review?.moves[shown - 1];
  return (
    <div class={main.length ? "card vg" : "card vg hide-s"}>
      <header>
        <h2>Value over the game</h2>
        {review?.moves.some((move) => move && move.proven !== null) && (
          <span class="sm mut lg hide-s">
            <i class="key-proven" />
            proven
          </span>
        )}
        <span class="sp" />
        <span class="sm mut num">
          {review && review.progress < 1
            ? `judging the moves, ${percent(review.progress)}`
            : judged
              ? `${nameOf(tree.start, judged.ply, sans[judged.ply] ?? "")} · White ${signed(judged.value)}`
              : ""}
        </span>
        {!review && main.length > 0 && (
          <button type="button" class="btn small" onClick={onReview}>
            Find the mistakes
          </button>
        )}
      </header>
      {review ? (
        <ValueGraph review={review.moves} worst={worst} sans={sans} shown={shown} onShow={onShow} />
      ) : (
        <div class="empty low">
          {main.length
            ? "Each move gets a search; large losses are checked by others."
            : "A game has a graph once it has moves."}
        </div>
      )}
    </div>
  );
}

function nameOf(start: string, ply: number, san: string): string {
  const { number, white } = moveNumber(start, ply);
  return `${number}${white ? "." : "…"} ${san}`;
}

function GameColumn({ study, review }: { study: Study; review: Review | null }) {
  const { tree, at } = study;
  const main = mainLine(tree);
  const worst = review ? worstMoves(review.moves) : [];
  const pgn = (use: (text: string) => void) =>
    server
      .ask(
        "pgn.save",
        {
          variant: tree.variant,
          fen: tree.start,
          headers: tree.headers,
          comment: tree.comment,
          nodes: tree.moves.map(({ parent, uci, comment, nags }) => ({ parent, uci, comment, nags })),
        },
        "pgn.text",
      )
      .then((event) => use(event.text), sayError);
  const comment = at === ROOT ? tree.comment : (tree.moves[at]?.comment ?? "");
  return (
    <>
      <div class="ghd between">
        <div class="grow">
          <b>{tree.headers["White"] ? `${tree.headers["White"]} – ${tree.headers["Black"] ?? "?"}` : "Analysis"}</b>
          <div class="sm mut">
            {main.length} {main.length === 1 ? "ply" : "plies"}
            {tree.headers["Result"] ? ` · ${tree.headers["Result"]}` : ""}
          </div>
        </div>
        <IconButton
          icon="copy"
          label="Copy PGN"
          onClick={() =>
            void pgn(
              (text) => void copyText(text).then((ok) => say(ok ? "PGN copied." : "The browser did not let us copy.")),
            )
          }
        />
        <IconButton icon="save" label="Save PGN" onClick={() => void pgn((text) => downloadText("study.pgn", text))} />
      </div>
      <MoveTree tree={tree} at={at} review={review} onShow={study.show} />
      {worst.length > 0 && (
        <div class="worst">
          <h3>Moves that lost most</h3>
          {worst.map((move) => (
            <button key={move.ply} type="button" onClick={() => study.show(main[move.ply - 1] ?? ROOT)}>
              <b class={move.mark === "??" ? "mark bad" : "mark"}>{move.mark || "·"}</b>
              <span>{nameOf(tree.start, move.ply, tree.moves[main[move.ply] ?? -1]?.san ?? "")}</span>
              <b class="num">{signed(-move.loss)}</b>
              <span class="s2">better: {move.best_line.slice(0, 4).join(" ")}</span>
            </button>
          ))}
        </div>
      )}
      <div class="comment-field">
        <label class="sr" for="comment">
          Comment
        </label>
        <textarea
          id="comment"
          class="inp"
          rows={2}
          placeholder="Comment"
          value={comment}
          onInput={(event) => study.change(setComment(tree, at, event.currentTarget.value))}
        />
        {at !== ROOT && (
          <button
            type="button"
            class="btn small ghost"
            onClick={() => {
              const [rest, where] = removeMove(tree, at);
              study.change(rest, where);
            }}
          >
            Delete from here
          </button>
        )}
      </div>
    </>
  );
}
