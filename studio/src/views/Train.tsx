/** Training runs: watch one, look at its games, start a new one. */
import { useEffect, useState } from "preact/hooks";
import { count, duration } from "../format";
import type { RunCard, RunView } from "../messages";
import { formatRoute, go, route } from "../router";
import { ConnectionLost } from "../socket";
import { runs, sayError, server, variantName } from "../store";
import { Icon } from "../ui/Icon";
import { MatchPanel, type MatchProps } from "./MatchPanel";
import { Games } from "./train/Games";
import { NewRun } from "./train/NewRun";
import { Probes } from "./train/Probes";
import { Watch } from "./train/Watch";

const TABS = [
  ["watch", "Watch"],
  ["games", "Games"],
  ["probes", "Probes"],
  ["match", "Match"],
] as const;

export function TrainView() {
  const { rest, query } = route.value;
  const list = runs.value;
  const isNew = rest[0] === "new" || (list !== null && list.length === 0);
  const id = isNew ? null : (rest[0] ?? list?.[0]?.id ?? null);
  const tab = rest[1] ?? "watch";
  const beside = (query.get("with") ?? "").split(",").filter(Boolean);
  const [view, problem] = useRun(id);
  const run = view?.run ?? list?.find((each) => each.id === id) ?? null;
  return (
    <section class="view" aria-label="Train and watch">
      <div class="top">
        <h1 class={run && !isNew ? "wide-only" : ""}>Train</h1>
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
        {run && !isNew && run.status !== "broken" && (
          <a
            class="btn hide-s"
            title="A game against its best net"
            href={formatRoute("play", [], { variant: run.variant, player: netId(run, run.champion ?? 0) })}
          >
            <Icon name="play" />
            Play it
          </a>
        )}
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
          key={[...query].join()}
          recipe={query.get("recipe") ?? "gardner-laptop"}
          settings={query.getAll("set")}
          minutes={query.get("minutes") ?? "2"}
          name={query.get("name") ?? ""}
        />
      ) : problem && !view ? (
        <div class="tr">
          <div class="banner err" role="alert">
            {problem}
          </div>
        </div>
      ) : run?.status === "broken" ? (
        <div class="tr">
          <div class="banner err" role="alert">
            This run cannot be read: {run.message}
          </div>
        </div>
      ) : (
        <>
          {run?.message && (
            <div class="tr">
              <div class="banner err" role="alert">
                The training ended: {run.message}
              </div>
            </div>
          )}
          <div class="tabs train-tabs" role="tablist" aria-label="Run">
            {TABS.map(([name, text]) => (
              <button
                key={name}
                type="button"
                role="tab"
                aria-selected={tab === name}
                onClick={() => id && go("train", [id, name])}
              >
                {text}
              </button>
            ))}
          </div>
          <div class="tr">
            {!view ? (
              <div class="empty" aria-busy="true" />
            ) : tab === "games" ? (
              <Games key={view.run.id} run={view.run} cycle={rest[2] ?? null} game={rest[3] ?? null} />
            ) : tab === "probes" ? (
              <Probes key={view.run.id} run={view.run} />
            ) : tab === "match" ? (
              <MatchPanel key={view.run.id} variant={view.run.variant} {...matchPlayers(view)} />
            ) : (
              <Watch key={view.run.id} view={view} beside={beside} />
            )}
          </div>
        </>
      )}
    </section>
  );
}

/** The id of a net of a run as a player. */
function netId(run: RunCard, cycle: number): string {
  return `run/${run.id}/${cycle}`;
}

/** All nets of a run that are kept, and at first the newest against the oldest, usually the untrained one. */
function matchPlayers({ run, checkpoints }: RunView): Pick<MatchProps, "first" | "second" | "more"> {
  const more = checkpoints.map((cycle) => ({
    id: netId(run, cycle),
    name: `${run.id} ${cycle ? `cycle ${cycle}` : "untrained"}`,
  }));
  const [first, second] = [more[0]?.id, more[more.length - 1]?.id];
  return first && second && first !== second ? { first, second, more } : { more };
}

/** Follow a run of the server: what is known of it, or why it cannot be followed. */
function useRun(id: string | null): [RunView | null, string | null] {
  const [view, setView] = useState<RunView | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    setView(null);
    setProblem(null);
    if (id === null) return;
    const endHearing = server.on("run.view", (event) => event.run.id === id && setView(event));
    const fail = (error: unknown) => {
      if (!(error instanceof ConnectionLost)) setProblem(error instanceof Error ? error.message : String(error));
    };
    const endOpening = server.onOpen(() => void server.ask("run.watch", { id }, "run.view").catch(fail));
    return () => {
      endHearing();
      endOpening();
      server.send("run.watch", { id: "" });
    };
  }, [id]);
  return [view, problem];
}

function RunStatus({ run }: { run: RunCard }) {
  const kinds = {
    running: "run",
    pausing: "warn",
    stopping: "warn",
    paused: "warn",
    stopped: "",
    broken: "bad",
  } as const;
  const left = run.status === "paused" && typeof run.seconds_left === "number" ? run.seconds_left : null;
  return (
    <>
      <span class={`pill ${kinds[run.status]}`}>{run.status}</span>
      {left !== null && <span class="sub num nowrap">{duration(left)} left</span>}
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
  const end = (pause: boolean) => server.send("run.stop", { id: run.id, pause });
  const isEnding = run.status === "pausing" || run.status === "stopping";
  const isTraining = run.status === "running" || isEnding;
  return (
    <>
      {isTraining ? (
        <button
          type="button"
          class="btn"
          disabled={isEnding}
          title="Save it and rest: Resume goes on for the rest of its time."
          onClick={() => end(true)}
        >
          <Icon name="pause" />
          <span class="label">{run.status === "pausing" ? "Pausing" : "Pause"}</span>
        </button>
      ) : (
        <button
          type="button"
          class="btn"
          disabled={busy || run.status === "broken"}
          title={
            run.status === "paused" && typeof run.seconds_left === "number"
              ? `Go on for the ${duration(run.seconds_left)} that were left.`
              : "Go on from where it was saved, until it is stopped."
          }
          onClick={resume}
        >
          <Icon name="go" />
          <span class="label">{busy ? "Starting" : "Resume"}</span>
        </button>
      )}
      {(isTraining || run.status === "paused") && (
        <button
          type="button"
          class="btn bad"
          disabled={isEnding || busy}
          title="Save it and end its time. It stays in the list, and can be resumed without a limit."
          onClick={() => end(false)}
        >
          <Icon name="stop" />
          <span class="label">{run.status === "stopping" ? "Stopping" : "Stop"}</span>
        </button>
      )}
    </>
  );
}
