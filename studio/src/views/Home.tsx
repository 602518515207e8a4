/** The first screen: three doors, and what was going on. */
import { useEffect, useState } from "preact/hooks";
import { MiniBoard } from "../board/MiniBoard";
import type { Arrow } from "../board/Overlay";
import { keptStudy, type KeptStudy } from "../keptStudy";
import type { GameCard } from "../messages";
import { formatRoute, go } from "../router";
import { runs, server, toggleTheme, variantName } from "../store";
import { mainLine, type GameTree } from "../tree";
import { IconButton } from "../ui/controls";
import { startTour } from "../ui/Tour";

const DOOR_BOARDS = {
  gardner: "rnbNk/2ppp/p4/PPQPP/R1B1K b - - 0 4",
  study: "r4rk1/pp1p2p1/5p2/1B5p/1q1PP3/2N5/PP3PPP/R2QK2R w KQ - 0 12",
};
/** A stretch of an atomic game of atomic-gpu against itself, with two explosions: positions, and the moves to them. */
const ATOMIC_GAME: readonly (readonly [string, string | null])[] = [
  ["r1b1k2r/pppp2pp/2n2p2/1B6/1q1PPB2/2N5/PP3PPP/R2QK2R w", null],
  ["r1b1k2r/pppp2p1/2n2p2/1B5p/1q1PPB2/2N5/PP3PPP/R2QK2R w", "h7h5"],
  ["r3k2r/pp1p2p1/5p2/1B5p/1q1PP3/2N5/PP3PPP/R2QK2R w", "f4c7"],
  ["r4rk1/pp1p2p1/5p2/1B5p/1q1PP3/2N5/PP3PPP/R2QK2R w", "e8g8"],
  ["r4rk1/pp1p2p1/5p2/1B5p/Qq1PP3/2N5/PP3PPP/R3K2R w", "d1a4"],
  ["r4rk1/pp1p2p1/5p2/1B5p/Q2PP3/8/PP3PPP/R3K2R w", "b4c3"],
];
const ATOMIC_MOVE_MS = 900;
/** Moves that a search of 1,800 visits considers in the third picture, by their shares of the visits. */
const STUDY_ARROWS: Arrow[] = [
  { uci: "a2a3", width: 33, kind: "best" },
  { uci: "e1g1", width: 25, kind: "other" },
  { uci: "g2g3", width: 20, kind: "other" },
  { uci: "a1c1", width: 18, kind: "other" },
];
/** Loss of the policy on held-out games, cycle by cycle, of a run of gardner-laptop: two minutes on two cores. */
const LOSSES = [
  2.1472, 2.1833, 2.1452, 2.0966, 2.0758, 2.0763, 2.0955, 1.9819, 1.9675, 1.9649, 1.9931, 1.9188, 1.9759, 1.9647,
  1.8862,
];

export function HomeView() {
  const [games, setGames] = useState<GameCard[]>([]);
  const [isPlaying, setPlaying] = useState(false);
  const [study, setStudy] = useState<KeptStudy | null>(null);
  useEffect(() => setStudy(keptStudy("")), []); // a study that was just left is kept when its view is gone
  useEffect(
    () =>
      server.onOpen(() => {
        server.ask("game.list", {}, "game.list").then((event) => setGames(event.games), ignore);
      }),
    [],
  );
  const game = games.find((each) => each.result === null) ?? games[0];
  const run = runs.value?.find((each) => each.status === "running") ?? runs.value?.[0];
  return (
    <section class="view" aria-label="First screen">
      <div class="top">
        <span class="sp" />
        <span class="pill">works off-line</span>
        <IconButton class="only-s" icon="sun" label="Theme" onClick={toggleTheme} />
      </div>
      <div class="home">
        <div class="hero">
          <h1>Play it, look inside it, teach it.</h1>
          <p>
            An engine that learns chess and its variants from nothing but the rules, on this machine. Pick a door;
            nothing leaves your computer.
          </p>
          <button type="button" class="btn" onClick={startTour}>
            A tour of one minute
          </button>
        </div>
        <div class="doors">
          <a
            class="door"
            href={formatRoute("play", [], { variant: "atomic", start: "1" })}
            onPointerEnter={() => setPlaying(true)}
            onPointerLeave={() => setPlaying(false)}
            onFocus={() => setPlaying(true)}
            onBlur={() => setPlaying(false)}
          >
            <div class="pic">
              <AtomicGame playing={isPlaying} />
            </div>
            <div class="tx">
              <b>Play atomic</b>
              <span>Captures explode. The net learned from games against itself, and nothing else.</span>
              <span class="go">Play a game →</span>
            </div>
          </a>
          <a
            class="door"
            href={formatRoute("train", ["new"], { recipe: "gardner-laptop", minutes: "2", name: "first" })}
          >
            <div class="pic two">
              <MiniBoard fen={DOOR_BOARDS.gardner} label="A game of Gardner chess on five by five squares" />
              <LossCurve />
            </div>
            <div class="tx">
              <b>Teach a net Gardner in two minutes</b>
              <span>5×5 chess, from random moves to beating its untrained self.</span>
              <span class="go">Start training →</span>
            </div>
          </a>
          <a class="door" href={formatRoute("study", [], { open: "1" })}>
            <div class="pic">
              <MiniBoard fen={DOOR_BOARDS.study} arrows={STUDY_ARROWS} label="A position to study" />
            </div>
            <div class="tx">
              <b>Study a game</b>
              <span>Load a PGN, find the moves that lost it, and watch the search think.</span>
              <span class="go">Open the board →</span>
            </div>
          </a>
        </div>
        {(game ?? run ?? study) && (
          <div>
            <h2 class="again">Go on where you were</h2>
            <div class="cont">
              {game && (
                <button type="button" class="row" onClick={() => go("play", [game.id])}>
                  <MiniBoard fen={game.fen} orientation={game.you} label="The position" />
                  <div>
                    <b>
                      {variantName(game.variant)} against {game.opponent}
                    </b>
                    <span class="sm mut">
                      {game.result ?? (game.your_turn ? "your turn" : "it thinks")} ·{" "}
                      {plural(game.plies, "ply", "plies")}
                    </span>
                  </div>
                </button>
              )}
              {run && (
                <button type="button" class="row" onClick={() => go("train", [run.id])}>
                  <div>
                    <b>
                      {run.name}{" "}
                      {run.status === "running" ? "is training" : run.status === "paused" ? "is paused" : "was trained"}
                    </b>
                    <span class="sm mut">cycle {run.cycle}</span>
                  </div>
                </button>
              )}
              {study && (
                <button type="button" class="row" onClick={() => go("study")}>
                  <MiniBoard fen={study.tree.moves[study.at]?.fen ?? study.tree.start} label="The position" />
                  <div>
                    <b>{studyName(study.tree)}</b>
                    <span class="sm mut">study · {plural(mainLine(study.tree).length, "ply", "plies")}</span>
                  </div>
                </button>
              )}
            </div>
          </div>
        )}
      </div>
    </section>
  );
}

/** The game of the first door; it is played on while the pointer or the focus is there. */
function AtomicGame({ playing }: { playing: boolean }) {
  const [at, setAt] = useState(0);
  useEffect(() => {
    if (!playing || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const timer = setInterval(() => setAt((before) => (before + 1) % ATOMIC_GAME.length), ATOMIC_MOVE_MS);
    return () => clearInterval(timer);
  }, [playing]);
  const [fen, lastMove] = ATOMIC_GAME[at] ?? ["", null];
  return <MiniBoard fen={fen} lastMove={lastMove} label="A game of atomic chess" />;
}

/** What a training of two minutes looked like. */
function LossCurve() {
  const [low, high] = [Math.min(...LOSSES), Math.max(...LOSSES)];
  const points = LOSSES.map((loss, index) => {
    const [x, y] = [6 + (index / (LOSSES.length - 1)) * 244, 28 + ((high - loss) / (high - low)) * 150];
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  return (
    <svg class="loss-curve" viewBox="0 0 260 206" aria-hidden="true">
      {[28, 78, 128, 178].map((y) => (
        <line key={y} class="gl" x1={6} x2={250} y1={y} y2={y} />
      ))}
      <path class="area" d={`M${points.join("L")}V178H6Z`} />
      <path class="line" d={`M${points.join("L")}`} />
      <circle class="end" cx={250} cy={178} r={5} />
      <text class="ax name" x={250} y={20} text-anchor="end">
        policy loss, held-out games
      </text>
      <text class="ax" x={6} y={200}>
        cycle 1
      </text>
      <text class="ax" x={250} y={200} text-anchor="end">
        15
      </text>
    </svg>
  );
}

function studyName({ variant, headers }: GameTree): string {
  const { White: white, Black: black } = headers;
  return white && black && (white !== "?" || black !== "?") ? `${white} – ${black}` : variantName(variant);
}

function plural(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

function ignore(): void {
  // The list is a convenience: without it the doors are enough.
}
