/** The choices of a new game: variant, opponent, strength, colour, limit, start. */
import { useEffect, useState } from "preact/hooks";
import type { NewGame, PlayerCard, TimeControl } from "../messages";
import { readSetting, say, variantCard, welcome, writeSetting } from "../store";
import { Segmented } from "../ui/controls";
import { Icon } from "../ui/Icon";
import { BoardEditor } from "./BoardEditor";

export type GameChoice = Omit<NewGame, "type" | "ask">;
type Limit = "none" | "1+0" | "5+3" | "10+5" | "custom";

export interface Setup {
  variant: string;
  player: string;
  color: "white" | "random" | "black";
  strength: number;
  by: "elo" | "visits";
  limit: Limit;
  /** As typed, of the limit "custom". */
  minutes: string;
  /** Seconds that are added after each move, as typed. */
  increment: string;
  fen: string;
  chess960: string;
}

const LIMITS: readonly (readonly [Limit, string])[] = [
  ["none", "None"],
  ["1+0", "1 + 0"],
  ["5+3", "5 + 3"],
  ["10+5", "10 + 5"],
  ["custom", "Other"],
];
/** What a custom clock may have: the server takes no more, and less than this is no game. */
const MINUTES = [0.1, 180] as const;
const INCREMENT = [0, 180] as const;
const VISITS = [1, 4, 16, 64, 200, 800, 3000, 10_000];

function keptSetup(): Setup {
  const usual: Setup = {
    variant: "atomic",
    player: "",
    color: "white",
    strength: 1400,
    by: "elo",
    limit: "none",
    minutes: "15",
    increment: "10",
    fen: "",
    chess960: "",
  };
  try {
    return { ...usual, ...(JSON.parse(readSetting("setup") ?? "{}") as Partial<Setup>), fen: "", chess960: "" };
  } catch {
    return usual;
  }
}

/** What is wrong with the number of a Chess960 position, if something is; none at all means any position. */
export function chess960Problem(setup: Pick<Setup, "variant" | "chess960">): string | null {
  const number = setup.chess960.trim();
  const isFine = !setup.variant.endsWith("960") || !number || (/^\d{1,3}$/.test(number) && Number(number) < 960);
  return isFine ? null : "Positions have the numbers 0 to 959.";
}

/** What is wrong with a custom clock, if something is. */
export function clockProblem(setup: Pick<Setup, "limit" | "minutes" | "increment">): string | null {
  if (setup.limit !== "custom") return null;
  const isFine = isBetween(setup.minutes, MINUTES) && isBetween(setup.increment, INCREMENT);
  return isFine
    ? null
    : `Clocks have ${MINUTES[0]} to ${MINUTES[1]} minutes, and ${INCREMENT[0]} to ${INCREMENT[1]} seconds a move.`;
}

/** A typed number, with a point or a comma and at most two places behind it; NaN for anything else. */
function typedNumber(text: string): number {
  return /^\d{1,3}([.,]\d{1,2})?$/.test(text.trim()) ? Number(text.trim().replace(",", ".")) : NaN;
}

function isBetween(text: string, [least, most]: readonly [number, number]): boolean {
  const number = typedNumber(text);
  return number >= least && number <= most;
}

function clockOf(setup: Setup): TimeControl | null {
  if (setup.limit === "none" || clockProblem(setup)) return null;
  const [minutes, increment] =
    setup.limit === "custom" ? [setup.minutes, setup.increment] : (setup.limit.split("+") as [string, string]);
  return { seconds: Math.round(60 * typedNumber(minutes)), increment: typedNumber(increment) };
}

/** The request of a setup. */
export function choiceOf(setup: Setup, players: PlayerCard[]): GameChoice {
  const player = players.find((each) => each.id === setup.player) ?? null;
  const number = setup.chess960.trim();
  return {
    variant: setup.variant,
    color: setup.color,
    player: player?.id ?? null,
    elo: setup.by === "elo" ? setup.strength : null,
    visits: setup.by === "visits" ? (VISITS[setup.strength] ?? 800) : null,
    clock: clockOf(setup),
    fen: setup.fen.trim() || null,
    chess960: setup.variant.endsWith("960") && number && !chess960Problem(setup) ? Number(number) : null,
  };
}

interface Props {
  variant?: string | undefined;
  player?: string | undefined;
  fen?: string | undefined;
  busy: boolean;
  onStart: (choice: GameChoice) => void;
  /** Hears the variant and position that are chosen, for the board beside the form. */
  onSetup?: (setup: Pick<Setup, "variant" | "fen">) => void;
}

export function NewGamePanel({ variant, player: wanted, fen, busy, onStart, onSetup }: Props) {
  const [setup, setSetup] = useState<Setup>(keptSetup);
  const [editing, setEditing] = useState(false);
  useEffect(() => {
    if (variant && variantCard(variant)) change({ variant, player: wanted ?? "", fen: fen ?? "" });
  }, [variant, wanted, fen, welcome.value === null]);
  useEffect(() => onSetup?.({ variant: setup.variant, fen: setup.fen }), [setup.variant, setup.fen]);
  const info = welcome.value;
  const card = variantCard(setup.variant);
  const players = [...(info?.players ?? []), ...(info?.engines ?? [])].filter(
    (player) => player.variant === null || player.variant === setup.variant.replace(/960$/, ""),
  );
  const player = players.find((each) => each.id === setup.player) ?? players.find((each) => each.id === card?.player);
  const [low, high] = player?.elo_range ?? [600, 2850];
  const rated = high > low; // an engine without UCI_Elo has no ratings to choose from
  const by = rated ? setup.by : "visits";
  const strength = by === setup.by ? setup.strength : 4;
  const elo = Math.min(high, Math.max(low, strength));
  const problem = chess960Problem(setup);
  const timeProblem = clockProblem(setup);

  function change(part: Partial<Setup>): void {
    setSetup((before) => {
      const after = { ...before, ...part };
      writeSetting("setup", JSON.stringify(after));
      return after;
    });
  }

  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onStart(choiceOf({ ...setup, by, player: player?.id ?? "", strength: by === "elo" ? elo : strength }, players));
      }}
    >
      <label class="f">
        <span>Variant</span>
        <select
          class="sel"
          name="variant"
          value={setup.variant}
          onChange={(event) => change({ variant: event.currentTarget.value, player: "", fen: "" })}
        >
          {info?.variants.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name} {each.files === 8 ? "" : `${each.files}×${each.ranks}`}
            </option>
          ))}
        </select>
      </label>
      <p class="sm mut rule">{card?.rule}</p>
      <label class="f">
        <span>Opponent</span>
        <select
          class="sel"
          name="player"
          value={player?.id ?? ""}
          onChange={(event) => change({ player: event.currentTarget.value })}
        >
          {players.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name} · {each.detail}
            </option>
          ))}
        </select>
      </label>
      <div class="f">
        <span>Strength</span>
        {rated && (
          <Segmented
            label="Strength by"
            options={[
              ["elo", "By rating"],
              ["visits", "By visits"],
            ]}
            value={by}
            onChange={(value) => change({ by: value, strength: value === "elo" ? 1400 : 4 })}
          />
        )}
        <input
          type="range"
          aria-label={by === "elo" ? "Strength in Elo" : "Visits for a move"}
          min={by === "elo" ? low : 0}
          max={by === "elo" ? high : VISITS.length - 1}
          step={by === "elo" ? 10 : 1}
          value={by === "elo" ? elo : strength}
          onInput={(event) => change({ by, strength: Number(event.currentTarget.value) })}
        />
        <div class="sm mut between">
          <b class="num">{by === "elo" ? `about ${elo}` : `${VISITS[strength] ?? 800} visits a move`}</b>
          <span>{by === "elo" ? (player?.measured ? "measured, random = 0" : "an estimate") : "exact"}</span>
        </div>
      </div>
      <div class="f">
        <span>You play</span>
        <Segmented
          label="You play"
          options={[
            ["white", "White"],
            ["random", "Either"],
            ["black", "Black"],
          ]}
          value={setup.color}
          onChange={(color) => change({ color })}
        />
      </div>
      <div class="f">
        <span>Clock</span>
        <Segmented label="Clock" options={LIMITS} value={setup.limit} onChange={(limit) => change({ limit })} />
        {setup.limit === "custom" && (
          <div class="own-clock">
            <label class="f">
              <span>Minutes</span>
              <input
                class="inp num"
                name="minutes"
                inputMode="decimal"
                autoComplete="off"
                aria-invalid={timeProblem !== null}
                value={setup.minutes}
                onInput={(event) => change({ minutes: event.currentTarget.value })}
              />
            </label>
            <label class="f">
              <span>Seconds a move</span>
              <input
                class="inp num"
                name="increment"
                inputMode="decimal"
                autoComplete="off"
                aria-invalid={timeProblem !== null}
                value={setup.increment}
                onInput={(event) => change({ increment: event.currentTarget.value })}
              />
            </label>
          </div>
        )}
        {timeProblem && (
          <span class="problem" role="alert">
            {timeProblem}
          </span>
        )}
      </div>
      {setup.variant.endsWith("960") && (
        <label class="f">
          <span>Position, 0 to 959 (empty: any)</span>
          <input
            class="inp num"
            name="chess960"
            inputMode="numeric"
            aria-invalid={problem !== null}
            value={setup.chess960}
            onInput={(event) => change({ chess960: event.currentTarget.value })}
          />
          {problem && (
            <span class="problem" role="alert">
              {problem}
            </span>
          )}
        </label>
      )}
      <div class="f">
        <span>Start from</span>
        <div class="between">
          <button type="button" class="btn grow" onClick={() => setEditing(true)}>
            <Icon name="edit" />
            {setup.fen ? "Own position" : "Position"}
          </button>
          {setup.fen && (
            <button
              type="button"
              class="btn"
              title="The usual start of the variant"
              onClick={() => change({ fen: "" })}
            >
              Reset
            </button>
          )}
        </div>
      </div>
      <button type="submit" class="btn pri lg" disabled={busy || !info || problem !== null || timeProblem !== null}>
        Start
      </button>
      {editing && (
        <BoardEditor
          variant={setup.variant}
          fen={setup.fen || (card?.start ?? "")}
          onClose={() => setEditing(false)}
          onDone={(position) => {
            change({ fen: position });
            setEditing(false);
            say("The next game starts from this position.");
          }}
        />
      )}
    </form>
  );
}
