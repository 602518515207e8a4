/** The first screen: three doors, and what was going on. */
import { useEffect, useState } from "preact/hooks";
import { MiniBoard } from "../board/MiniBoard";
import type { GameCard } from "../messages";
import { formatRoute, go } from "../router";
import { runs, server, toggleTheme, variantName } from "../store";
import { IconButton } from "../ui/controls";
import { startTour } from "../ui/Tour";

const DOOR_BOARDS = {
  atomic: "r1b1k2r/pppp2pp/2n2p2/1B6/1q1PPB2/2N5/PP3PPP/R2QK2R w KQkq - 0 11",
  gardner: "rnbNk/2ppp/p4/PPQPP/R1B1K b - - 0 4",
  study: "r4rk1/pp1p2p1/5p2/1B5p/1q1PP3/2N5/PP3PPP/R2QK2R w KQ - 0 12",
};

export function HomeView() {
  const [games, setGames] = useState<GameCard[]>([]);
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
          <a class="door" href={formatRoute("play", [], { variant: "atomic", start: "1" })}>
            <div class="pic">
              <MiniBoard fen={DOOR_BOARDS.atomic} label="A game of atomic chess" />
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
            <div class="pic">
              <MiniBoard fen={DOOR_BOARDS.gardner} label="A game of Gardner chess on five by five squares" />
            </div>
            <div class="tx">
              <b>Teach a net Gardner in two minutes</b>
              <span>5×5 chess, from random moves to beating its untrained self.</span>
              <span class="go">Start training →</span>
            </div>
          </a>
          <a class="door" href={formatRoute("study", [], { open: "1" })}>
            <div class="pic">
              <MiniBoard fen={DOOR_BOARDS.study} label="A position to study" />
            </div>
            <div class="tx">
              <b>Study a game</b>
              <span>Load a PGN, find the moves that lost it, and watch the search think.</span>
              <span class="go">Open the board →</span>
            </div>
          </a>
        </div>
        {(game ?? run) && (
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
                      {game.result ?? (game.your_turn ? "your turn" : "it thinks")} · {game.plies}{" "}
                      {game.plies === 1 ? "ply" : "plies"}
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
            </div>
          </div>
        )}
      </div>
    </section>
  );
}

function ignore(): void {
  // The list is a convenience: without it the doors are enough.
}
