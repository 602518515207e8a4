/** A run as it learns: figures, curves (of several runs), the games that it plays now, what happened. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { MiniBoard } from "../../board/MiniBoard";
import { count, duration, percent, rate, short, signed } from "../../format";
import type { ChartSeries, LiveBoard, RunCard, RunView } from "../../messages";
import { go } from "../../router";
import { besideCurves } from "../../series";
import { runs, sayError, server, welcome } from "../../store";
import { Chart } from "../../ui/Chart";
import { Sparkline } from "../../ui/Sparkline";
import { GameReplay } from "./GameReplay";
import { Settings } from "./NewRun";

const two = (value: number) => value.toFixed(2);
const whole = (value: number) => count(Math.round(value));
const NONE: ChartSeries[] = [];
const LOOK_MS = 10_000;
const MOST_BESIDE = 4;

export function Watch({ view, beside }: { view: RunView; beside: string[] }) {
  const others = useOthers(beside);
  const boards = useBoards(view.run.id);
  const curves = (name: string): ChartSeries[] =>
    useMemo(() => besideCurves(view.charts[name] ?? NONE, others, name), [view, others]);
  const first = (name: string) => view.charts[name]?.[0];
  const elo = first("elo");
  const loss = first("policy");
  const positions = first("positions")?.y ?? [];
  const drawn = view.charts["results"]?.[1]?.y.at(-1);
  return (
    <>
      <div class="kpis">
        <Figure
          name="Elo on the ladder"
          curve={elo}
          format={whole}
          note={elo?.error ? `± ${whole(elo.error.at(-1) ?? 0)}` : "not measured yet"}
        />
        <Figure name="Held-out policy loss" curve={loss} format={two} note={lossNote(loss?.y ?? [])} />
        <Figure
          name="Games a second"
          curve={first("games")}
          format={rate}
          note={`${short(first("evaluations")?.y.at(-1) ?? 0)} evaluations/s`}
        />
        <Figure
          name="Positions seen"
          curve={{ y: runningSum(positions) }}
          format={short}
          note={`${count(view.run.games)} games`}
        />
        <Figure
          name="Plies a game"
          curve={first("plies")}
          format={whole}
          note={drawn === undefined ? "" : `${percent(drawn)} drawn`}
        />
      </div>
      <div class="watch">
        <div class="charts">
          <Chart title="Elo" note="random = 0" series={curves("elo")} format={whole} />
          <Chart title="Policy loss" series={curves("policy")} format={two} />
          <Chart title="Value loss" series={curves("value")} format={two} />
          <Chart title="Results" series={view.charts["results"] ?? NONE} format={percent} stacked />
          <Chart title="Entropy of the targets" note="nats" series={curves("entropy")} format={two} height={150} />
          <Chart title="Plies a game" series={curves("plies")} format={whole} height={150} />
          <Chart title="Games a second" series={curves("games")} format={rate} height={150} />
          <Chart title="Evaluations a second" series={curves("evaluations")} format={short} height={150} />
          <Chart title="Use of the machine" series={curves("use")} format={percent} height={150} range={[0, 1]} />
        </div>
        <div class="side">
          <Wall boards={boards} view={view} />
          <div class="card">
            <header>
              <h2>What happened</h2>
            </header>
            <dl class="log num">
              {view.log.map(([seconds, text], index) => (
                <div key={`${seconds}-${index}`} class="log-row">
                  <dt>{duration(seconds)}</dt>
                  <dd>{text}</dd>
                </div>
              ))}
            </dl>
          </div>
          <Recipe run={view.run} />
          <Beside run={view.run.id} beside={beside} />
        </div>
      </div>
    </>
  );
}

/** How far the loss has come since the first measurement. */
function lossNote(losses: number[]): string {
  const [first, last] = [losses[0], losses.at(-1)];
  if (first === undefined || last === undefined) return "not measured yet";
  return losses.length < 2 ? "the first measurement" : `${signed(last - first)} since start`;
}

function runningSum(numbers: number[]): number[] {
  let sum = 0;
  return numbers.map((each) => (sum += each));
}

/** The games in flight of a run, as its trainer tells them about once a second. */
function useBoards(id: string): LiveBoard[] {
  const [boards, setBoards] = useState<LiveBoard[]>([]);
  useEffect(() => {
    setBoards([]);
    return server.on("run.boards", (event) => event.id === id && setBoards(event.boards));
  }, [id]);
  return boards;
}

/** The curves of other runs, looked at now and then while they train. */
function useOthers(ids: string[]): RunView[] {
  const [views, setViews] = useState<RunView[]>([]);
  const key = ids.join(",");
  useEffect(() => {
    let wanted = true;
    const look = () =>
      Promise.all(ids.map((id) => server.ask("run.look", { id }, "run.view"))).then((found) => {
        if (wanted) setViews(found);
      }, sayError);
    setViews([]);
    if (ids.length) void look();
    const timer = setInterval(() => {
      const training = (runs.value ?? []).some((run) => ids.includes(run.id) && run.status === "running");
      if (ids.length && training && !document.hidden) void look();
    }, LOOK_MS);
    return () => {
      wanted = false;
      clearInterval(timer);
    };
  }, [key]);
  return views;
}

/** Boards that move: the games that are played now; where there are none, the newest finished ones are replayed. */
function Wall({ boards, view }: { boards: LiveBoard[]; view: RunView }) {
  const isLive = boards.length > 0;
  return (
    <div class="card">
      <header>
        <h2>{isLive ? "Being played now" : "Newest games"}</h2>
        <span class="sp" />
        <span class="sm mut num">
          {isLive
            ? `${boards.length} of the games`
            : `replayed${view.games[0] ? `, cycle ${view.games[0].cycle}` : ""}`}
        </span>
      </header>
      <div class={isLive ? "wall live" : "wall"}>
        {isLive
          ? boards.map((board) => (
              <div key={board.game} class="wb">
                <div class="wb-board">
                  <MiniBoard
                    fen={`${board.board} w`}
                    lastMove={board.last || null}
                    label={`Game ${board.game}, ply ${board.plies}`}
                  />
                </div>
                <span class="cap2">
                  <b>#{count(board.game)}</b>
                  <span>ply {board.plies}</span>
                </span>
              </div>
            ))
          : view.games.map((game) => <GameReplay key={game.id} game={game} />)}
        {!isLive && view.games.length === 0 && <p class="dim">The first games are still being played.</p>}
      </div>
    </div>
  );
}

/** What the run was started with, and a form with the same. */
function Recipe({ run }: { run: RunCard }) {
  const settings = run.settings ?? [];
  const isShipped = welcome.value?.recipes.some(([name]) => name === run.recipe) ?? false;
  const query = new URLSearchParams([["recipe", run.recipe], ...settings.map((each) => ["set", each])]);
  return (
    <div class="card run-recipe">
      <header>
        <h2>Recipe</h2>
        <span class="sp" />
        {isShipped && (
          <a class="btn small ghost" href={`#train/new?${query.toString()}`}>
            Another run like it
          </a>
        )}
      </header>
      <p>
        <b>{run.recipe}</b>
        {settings.length === 0 && <span class="mut">, nothing changed</span>}
      </p>
      <Settings settings={settings} />
    </div>
  );
}

/** Which other runs are drawn on the same charts. */
function Beside({ run, beside }: { run: string; beside: string[] }) {
  const others = (runs.value ?? []).filter((each) => each.id !== run && each.status !== "broken");
  if (others.length === 0) return null;
  const change = (id: string, on: boolean) => {
    const next = on ? [...beside, id] : beside.filter((each) => each !== id);
    go("train", [run], next.length ? { with: next.join(",") } : {});
  };
  return (
    <fieldset class="card beside">
      <legend>Other runs on the same charts</legend>
      {others.slice(0, 12).map((each) => (
        <label key={each.id}>
          <input
            type="checkbox"
            checked={beside.includes(each.id)}
            disabled={!beside.includes(each.id) && beside.length >= MOST_BESIDE}
            onChange={(event) => change(each.id, event.currentTarget.checked)}
          />
          {each.id}
          <span class="sm mut num">
            {each.variant}, cycle {each.cycle}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

interface FigureProps {
  name: string;
  curve: Pick<ChartSeries, "y"> | undefined;
  format: (value: number) => string;
  note: string;
}

function Figure({ name, curve, format, note }: FigureProps) {
  const value = curve?.y.at(-1);
  return (
    <div class="card kpi">
      <span>{name}</span>
      <b class="num">{value === undefined ? "–" : format(value)}</b>
      <small class="num">{note || "\u00a0"}</small>
      <Sparkline values={curve?.y ?? []} />
    </div>
  );
}
