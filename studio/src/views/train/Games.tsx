/** Finished games of a run by cycle; one of them with the values that its positions had then and have now. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { MiniBoard } from "../../board/MiniBoard";
import { count, signed } from "../../format";
import { judgementCurves } from "../../series";
import type { JudgedGame, RunCard, RunGame, RunGames } from "../../messages";
import { formatRoute, go } from "../../router";
import { sayError, server } from "../../store";
import { Chart } from "../../ui/Chart";
import { IconButton } from "../../ui/controls";
import { useKeys } from "../../ui/keys";
import { GameReplay } from "./GameReplay";

interface Props {
  run: RunCard;
  cycle: string | null;
  game: string | null;
}

export function Games({ run, cycle, game }: Props) {
  const [list, setList] = useState<RunGames | null>(null);
  const wanted = cycle !== null && /^\d+$/.test(cycle) ? Number(cycle) : null;
  // Without a cycle in the address the newest one is shown. A new cycle of the run makes the list longer.
  useEffect(
    () =>
      server.onOpen(
        () => void server.ask("run.games", { id: run.id, cycle: wanted }, "run.games").then(setList, sayError),
      ),
    [run.id, wanted, run.cycle],
  );
  if (!list) return <div class="empty" aria-busy="true" />;
  if (list.cycles.length === 0) return <div class="empty">No game has finished yet.</div>;
  const place = list.cycles.indexOf(list.cycle);
  const show = (index: number) => go("train", [run.id, "games", String(list.cycles[index] ?? list.cycle)]);
  const open = list.games.find((each) => String(each.id) === game);
  return (
    <>
      <div class="cycle-bar">
        <IconButton plain icon="prev" label="Earlier cycle" disabled={place <= 0} onClick={() => show(place - 1)} />
        <label>
          <span class="sr">Cycle</span>
          <input
            type="range"
            aria-valuetext={`cycle ${list.cycle}`}
            min={0}
            max={list.cycles.length - 1}
            value={place}
            onChange={(event) => show(Number(event.currentTarget.value))}
          />
        </label>
        <IconButton
          plain
          icon="next"
          label="Later cycle"
          disabled={place >= list.cycles.length - 1}
          onClick={() => show(place + 1)}
        />
        <b class="num">cycle {list.cycle}</b>
        <span class="sm mut num">
          {list.games.length < list.total ? `${list.games.length} of ${count(list.total)}` : count(list.total)} games,
          played by the net of cycle {list.games[0]?.net ?? 0}
        </span>
      </div>
      {open && <GameDetail key={open.id} run={run} game={open} />}
      <div class="game-grid">
        {list.games.map((each) => (
          <a
            key={each.id}
            class="card game-card"
            aria-current={each === open ? "true" : undefined}
            href={formatRoute("train", [run.id, "games", String(list.cycle), String(each.id)])}
          >
            <GameReplay game={each} />
          </a>
        ))}
      </div>
    </>
  );
}

const value = (number: number) => signed(number);

function GameDetail({ run, game }: { run: RunCard; game: RunGame }) {
  const [judged, setJudged] = useState<JudgedGame | null>(null);
  const [at, setAt] = useState(0);
  const plies = game.moves.length;
  useEffect(
    () =>
      server.onOpen(
        () =>
          void server
            .ask("run.judge", { id: run.id, cycle: game.cycle, game: game.id }, "run.judged")
            .then(setJudged, sayError),
      ),
    [run.id, game.id],
  );
  const show = (ply: number) => setAt(Math.min(plies, Math.max(0, ply)));
  useKeys({
    ArrowLeft: () => show(at - 1),
    ArrowRight: () => show(at + 1),
    Home: () => show(0),
    End: () => show(plies),
  });
  const curves = useMemo(() => (judged ? judgementCurves(judged) : []), [judged]);
  const said = (list: (number | null)[] | undefined) => {
    const number = list?.[at];
    return number === null || number === undefined ? "–" : signed(number);
  };
  return (
    <div class="card judged">
      <div class="judged-board">
        <MiniBoard
          fen={`${game.boards[at] ?? ""} w`}
          lastMove={game.moves[at - 1] ?? null}
          label={`Game ${game.id} after ${at} plies`}
        />
        <div class="trans">
          <IconButton plain icon="first" label="First position (Home)" onClick={() => show(0)} />
          <IconButton plain icon="prev" label="Back (←)" onClick={() => show(at - 1)} />
          <IconButton plain icon="next" label="Forward (→)" onClick={() => show(at + 1)} />
          <IconButton plain icon="last" label="Last position (End)" onClick={() => show(plies)} />
          <span class="sp" />
          <a
            class="btn"
            href={formatRoute("study", [], { variant: game.variant, fen: game.start, moves: game.moves.join(" ") })}
          >
            Study
          </a>
        </div>
      </div>
      <div class="judged-side">
        <div class="between">
          <h2>
            Game #{count(game.id)} · {game.result} {game.reason}
          </h2>
          <span class="sm mut num" aria-live="polite">
            ply {at} of {plies}
            {at > 0 && judged ? ` · ${judged.sans[at - 1] ?? ""}` : ""}
          </span>
        </div>
        <dl class="then-now num">
          <div>
            <dt>search, cycle {game.cycle}</dt>
            <dd>{said(judged?.search_then)}</dd>
          </div>
          <div>
            <dt>net, cycle {game.net}</dt>
            <dd>{said(judged?.net_then)}</dd>
          </div>
          <div>
            <dt>net now, cycle {judged?.now ?? "…"}</dt>
            <dd>{said(judged?.net_now)}</dd>
          </div>
        </dl>
        <Chart
          title="White’s value, then and now"
          series={curves}
          format={value}
          height={220}
          range={[-1.05, 1.05]}
          xName="ply"
          onPick={show}
        />
      </div>
    </div>
  );
}
