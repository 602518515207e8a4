/** Training runs: watch one, look at its games, start a new one. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { count, duration, short, signed } from "../format";
import type { ChartSeries, RunCard, RunView } from "../messages";
import { go, route } from "../router";
import { runs, sayError, server, variantName, welcome } from "../store";
import { Chart } from "../ui/Chart";
import { Icon } from "../ui/Icon";
import { MatchPanel } from "./MatchPanel";
import { GameReplay } from "./train/GameReplay";
import { NewRun } from "./train/NewRun";

export function TrainView() {
  const { rest, query } = route.value;
  const list = runs.value;
  const isNew = rest[0] === "new" || (list !== null && list.length === 0);
  const id = isNew ? null : (rest[0] ?? list?.[0]?.id ?? null);
  const tab = rest[1] ?? "watch";
  const beside = query.get("with");
  const view = useRun(id);
  const run = view?.run ?? list?.find((each) => each.id === id) ?? null;
  return (
    <section class="view" aria-label="Train and watch">
      <div class="top">
        <h1>Train</h1>
        {list && list.length > 0 && (
          <select
            class="sel"
            aria-label="Run"
            value={id ?? ""}
            onChange={(event) => go("train", [event.currentTarget.value])}
          >
            {isNew && <option value="">new run</option>}
            {list.map((each) => (
              <option key={each.id} value={each.id}>
                {each.id}
              </option>
            ))}
          </select>
        )}
        {run && !isNew && <RunStatus run={run} />}
        <span class="sp" />
        {run && !isNew && <RunButtons run={run} />}
        {!isNew && (
          <button type="button" class="btn pri" onClick={() => go("train", ["new"])}>
            <Icon name="plus" />
            <span class="label">New run</span>
          </button>
        )}
      </div>
      {isNew ? (
        <NewRun
          recipe={query.get("recipe") ?? "gardner-laptop"}
          minutes={query.get("minutes") ?? "2"}
          name={query.get("name") ?? ""}
        />
      ) : run?.status === "broken" ? (
        <div class="tr">
          <div class="banner err" role="alert">
            This run cannot be read: {run.message}
          </div>
        </div>
      ) : (
        <>
          <div class="tabs train-tabs" role="tablist" aria-label="Run">
            {["watch", "games", "match"].map((name) => (
              <button
                key={name}
                type="button"
                role="tab"
                aria-selected={tab === name}
                onClick={() => id && go("train", [id, name])}
              >
                {name.charAt(0).toUpperCase() + name.slice(1)}
              </button>
            ))}
          </div>
          <div class="tr">
            {!view ? (
              <div class="empty" aria-busy="true" />
            ) : tab === "games" ? (
              <Games view={view} />
            ) : tab === "match" ? (
              <MatchPanel key={view.run.id} variant={view.run.variant} {...matchPlayers(view.run)} />
            ) : (
              <Watch view={view} beside={beside} />
            )}
          </div>
        </>
      )}
    </section>
  );
}

/** The newest net of a run against its untrained one. */
function matchPlayers(run: RunCard): { first?: string; second?: string } {
  const own = (welcome.value?.players ?? []).filter((player) => player.id.startsWith(`run/${run.id}/`));
  const newest = own.find((player) => player.id !== `run/${run.id}/0`);
  return newest ? { first: newest.id, second: `run/${run.id}/0` } : {};
}

/** Follow a run of the server. */
function useRun(id: string | null): RunView | null {
  const [view, setView] = useState<RunView | null>(null);
  useEffect(() => {
    setView(null);
    if (id === null) return;
    const endHearing = server.on("run.view", (event) => event.run.id === id && setView(event));
    const endOpening = server.onOpen(() => void server.ask("run.watch", { id }, "run.view").catch(sayError));
    return () => {
      endHearing();
      endOpening();
      server.send("run.watch", { id: "" });
    };
  }, [id]);
  return view;
}

/** The curves of another run, read once, to compare. */
function useOther(id: string | null): RunView | null {
  const [view, setView] = useState<RunView | null>(null);
  useEffect(() => {
    setView(null);
    if (id) server.ask("run.look", { id }, "run.view").then(setView, sayError);
  }, [id]);
  return view;
}

function RunStatus({ run }: { run: RunCard }) {
  const kinds = { running: "run", stopping: "warn", stopped: "", broken: "bad" } as const;
  return (
    <>
      <span class={`pill ${kinds[run.status]}`}>{run.status}</span>
      <span class="sub num hide-s">
        {variantName(run.variant)} · cycle {run.cycle} · {duration(run.seconds)} · {count(run.games)} games
      </span>
    </>
  );
}

function RunButtons({ run }: { run: RunCard }) {
  const [busy, setBusy] = useState(false);
  useEffect(() => setBusy(false), [run.status]);
  const resume = () => {
    setBusy(true);
    server.ask("run.start", { resume: run.id }, "run.started").then(
      () => setBusy(false),
      (error: unknown) => {
        setBusy(false);
        sayError(error);
      },
    );
  };
  if (run.status === "running" || run.status === "stopping")
    return (
      <button
        type="button"
        class="btn bad"
        disabled={run.status === "stopping"}
        onClick={() => server.send("run.stop", { id: run.id })}
      >
        <Icon name="stop" />
        <span class="label">{run.status === "stopping" ? "Stopping" : "Stop"}</span>
      </button>
    );
  return (
    <button type="button" class="btn" disabled={busy || run.status === "broken"} onClick={resume}>
      <Icon name="go" />
      <span class="label">{busy ? "Starting" : "Resume"}</span>
    </button>
  );
}

const two = (value: number) => value.toFixed(2);
const whole = (value: number) => count(Math.round(value));
const percent = (value: number) => `${Math.round(100 * value)} %`;

function Watch({ view, beside }: { view: RunView; beside: string | null }) {
  const other = useOther(beside);
  const others = (runs.value ?? []).filter((run) => run.id !== view.run.id && run.status !== "broken");
  const curves = (name: string): ChartSeries[] => {
    const own = view.charts[name] ?? [];
    const theirs = (other?.charts[name] ?? []).map((each) => ({ ...each, name: `${each.name}, ${beside ?? ""}` }));
    return useMemo(() => [...own, ...theirs], [view, other]);
  };
  const last = (name: string) => view.charts[name]?.[0]?.y.at(-1);
  const first = (name: string) => view.charts[name]?.[0]?.y[0];
  const elo = view.charts["elo"]?.[0];
  const loss = last("policy");
  const positions = (view.charts["positions"]?.[0]?.y ?? []).reduce((sum, each) => sum + each, 0);
  const drawn = view.charts["results"]?.[1]?.y.at(-1);
  return (
    <>
      <div class="kpis">
        <Figure
          name="Elo on the ladder"
          value={elo?.y.at(-1)}
          format={whole}
          note={elo?.error ? `± ${whole(elo.error.at(-1) ?? 0)}` : "not measured yet"}
        />
        <Figure
          name="Held-out policy loss"
          value={loss}
          format={two}
          note={loss === undefined ? "" : `${signed(loss - (first("policy") ?? loss))} since start`}
        />
        <Figure
          name="Games a second"
          value={last("games")}
          format={(value) => value.toPrecision(3)}
          note={`${short(last("evaluations") ?? 0)} evaluations a second`}
        />
        <Figure name="Positions seen" value={positions} format={short} note={`${count(view.run.games)} games`} />
        <Figure
          name="Plies a game"
          value={last("plies")}
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
        </div>
        <div class="side">
          <div class="card">
            <header>
              <h2>Newest games</h2>
              <span class="sp" />
              <span class="sm mut num">replayed{view.games[0] ? `, cycle ${view.games[0].cycle}` : ""}</span>
            </header>
            <div class="wall">
              {view.games.map((game) => (
                <GameReplay key={game.id} game={game} />
              ))}
              {view.games.length === 0 && <p class="dim">The first games are still being played.</p>}
            </div>
          </div>
          <Chart title="Games a second" series={curves("games")} format={short} height={96} />
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
          {others.length > 0 && (
            <label class="card compare">
              <span>Beside it</span>
              <select
                class="sel"
                value={beside ?? ""}
                onChange={(event) =>
                  go("train", [view.run.id], event.currentTarget.value ? { with: event.currentTarget.value } : {})
                }
              >
                <option value="">no other run</option>
                {others.map((run) => (
                  <option key={run.id} value={run.id}>
                    {run.id}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
      </div>
    </>
  );
}

const NONE: ChartSeries[] = [];

function Figure({
  name,
  value,
  format,
  note,
}: {
  name: string;
  value: number | undefined;
  format: (value: number) => string;
  note: string;
}) {
  return (
    <div class="card kpi">
      <span>{name}</span>
      <b class="num">{value === undefined ? "–" : format(value)}</b>
      <small class="num">{note || "\u00a0"}</small>
    </div>
  );
}

/** The newest finished games as a list; one can be studied. */
function Games({ view }: { view: RunView }) {
  return (
    <div class="game-grid">
      {view.games.map((game) => (
        <div key={game.id} class="card game-card">
          <GameReplay game={game} />
          <button
            type="button"
            class="btn small"
            onClick={() => go("study", [], { variant: game.variant, fen: game.start, moves: game.moves.join(" ") })}
          >
            Study
          </button>
        </div>
      ))}
      {view.games.length === 0 && <div class="empty">No game has finished yet.</div>}
    </div>
  );
}
