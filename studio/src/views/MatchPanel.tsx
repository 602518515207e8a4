/** A match between two players: chosen here, watched live, with Elo and a sequential test. */
import { useEffect, useState } from "preact/hooks";
import { MiniBoard } from "../board/MiniBoard";
import { count, duration, percent, signed } from "../format";
import type { MatchView, PlayerCard } from "../messages";
import { sayError, server, variantName, welcome } from "../store";
import { Icon } from "../ui/Icon";

export interface MatchProps {
  variant: string;
  /** Players that are chosen at first. */
  first?: string;
  second?: string;
  /** Players beside those that are listed everywhere. */
  more?: { id: string; name: string }[];
}

export function MatchPanel({ variant, first: wantedFirst, second: wantedSecond, more = [] }: MatchProps) {
  const listed = matchPlayers(variant);
  const engine = (id: string) => listed.some((player) => player.id === id && player.kind === "engine");
  const own = new Set(more.map((player) => player.id));
  const players = [...more, ...listed.filter((player) => !own.has(player.id))];
  const usual = welcome.value?.variants.find((each) => each.id === variant)?.player ?? "heuristic-1";
  const [first, setFirst] = useState(wantedFirst ?? "");
  const [second, setSecond] = useState(wantedSecond ?? "");
  const [games, setGames] = useState("40");
  const [visits, setVisits] = useState("32");
  const [match, setMatch] = useState<MatchView | null>(null);
  const running = match?.status === "playing" || match?.status === "preparing" ? match : null;
  const chosen = { first: first || usual, second: second || (usual === "heuristic-1" ? "random" : "heuristic-1") };

  useEffect(() => {
    const endHearing = server.on("match.view", (view) => view.variant === variant && setMatch(view));
    const endOpening = server.onOpen(() => server.send("match.watch", { id: "" }));
    return () => {
      endHearing();
      endOpening();
    };
  }, [variant]);

  const start = () =>
    server
      .ask("match.start", { variant, ...chosen, games: Number(games), visits: Number(visits) }, "match.view")
      .then(setMatch, sayError);
  const select = (label: string, value: string, change: (id: string) => void) => (
    <label class="f">
      <span>{label}</span>
      <select class="sel" value={value} onChange={(event) => change(event.currentTarget.value)}>
        {players.map((player) => (
          <option key={player.id} value={player.id}>
            {player.name}
          </option>
        ))}
      </select>
    </label>
  );
  const isValid =
    /^\d+$/.test(games) &&
    Number(games) >= 2 &&
    Number(games) <= 1000 &&
    /^\d+$/.test(visits) &&
    Number(visits) >= 1 &&
    Number(visits) <= 10_000;
  return (
    <div class="matchv">
      <form
        class="card stack"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <h2>A match of {variantName(variant)}</h2>
        {select("First", chosen.first, setFirst)}
        {select("Second", chosen.second, setSecond)}
        <div class="pair">
          <label class="f">
            <span>Games</span>
            <input
              class="inp num"
              name="games"
              inputMode="numeric"
              value={games}
              onInput={(event) => setGames(event.currentTarget.value)}
            />
          </label>
          <label class="f">
            <span>Visits a move</span>
            <input
              class="inp num"
              name="visits"
              inputMode="numeric"
              value={visits}
              onInput={(event) => setVisits(event.currentTarget.value)}
            />
          </label>
        </div>
        <p class="sm mut">
          Every opening is played with both colours. Both have the same visits
          {engine(chosen.first) || engine(chosen.second) ? "; an outside engine searches as many nodes" : ""}.
        </p>
        {running ? (
          <button type="button" class="btn bad lg" onClick={() => server.send("match.stop", { id: running.id })}>
            <Icon name="stop" />
            Stop the match
          </button>
        ) : (
          <button type="submit" class="btn pri lg" disabled={!isValid || players.length === 0}>
            Play the match
          </button>
        )}
      </form>
      {match ? <Score match={match} /> : <div class="card empty">No match was played yet.</div>}
    </div>
  );
}

/** Who can play a match of a variant: our players, then the outside engines. */
export function matchPlayers(variant: string): PlayerCard[] {
  return [...(welcome.value?.players ?? []), ...(welcome.value?.engines ?? [])].filter(
    (player) => player.variant === null || player.variant === variant.replace(/960$/, ""),
  );
}

function Score({ match }: { match: MatchView }) {
  const played = match.wins + match.draws + match.losses;
  const [low, high] = match.elo_range;
  const bound = (elo: number | null, sign: string) => (elo === null ? `${sign}∞` : signed(elo, 0));
  const [lower, upper] = match.llr_bounds;
  const along = Math.min(1, Math.max(0, (match.llr - lower) / (upper - lower)));
  const words = {
    preparing: "choosing openings",
    playing: "being played",
    done: "played",
    stopped: "stopped",
  } as const;
  return (
    <div class="match-result">
      <div class="card stack">
        <div class="between">
          <h2>
            {match.first} – {match.second}
          </h2>
          <span class={match.status === "playing" ? "pill run" : "pill"}>{words[match.status]}</span>
        </div>
        {match.message && (
          <p class="problem sm" role="alert">
            {match.message}
          </p>
        )}
        <div class="scorebar" role="img" aria-label={`${match.wins} won, ${match.draws} drawn, ${match.losses} lost`}>
          <div class="a" style={{ flex: match.wins || 0.01 }}>
            {match.wins}
          </div>
          <div class="e" style={{ flex: match.draws || 0.01 }}>
            {match.draws}
          </div>
          <div class="z" style={{ flex: match.losses || 0.01 }}>
            {match.losses}
          </div>
        </div>
        <div class="figures num">
          <span>
            <b>{played ? percent(match.score) : "–"}</b>
            <small>
              score, 95 % [{percent(match.score_range[0])}, {percent(match.score_range[1])}]
            </small>
          </span>
          <span>
            <b>{played ? signed(match.elo, 0) : "–"}</b>
            <small>
              Elo, 95 % [{bound(low, "−")}, {bound(high, "+")}]
            </small>
          </span>
          <span>
            <b data-played={played}>
              {count(played)} of {count(match.games)}
            </b>
            <small>
              games, {match.visits} visits, {duration(match.seconds)}
            </small>
          </span>
        </div>
        <div>
          <div
            class="gauge"
            role="img"
            aria-label={`Sequential test: ratio ${match.llr} between ${lower} and ${upper}`}
          >
            <i style={{ left: `${100 * along}%` }} />
            <span class="gauge-low">not stronger</span>
            <span class="gauge-high">stronger by 20</span>
          </div>
          <p class="sm mut num">
            SPRT of 0 against 20 normalised Elo: {signed(match.llr)} between {signed(lower)} and {signed(upper)}
            {match.verdict === "H1"
              ? "; the first is stronger"
              : match.verdict === "H0"
                ? "; the first is not stronger"
                : ""}
          </p>
        </div>
      </div>
      <div class="card">
        <header>
          <h2>Boards</h2>
        </header>
        <div class="wall">
          {match.boards.map((board) => (
            <div key={board.game} class="wb">
              <div class="wb-board" data-result={board.result}>
                <MiniBoard
                  fen={`${board.board} w`}
                  lastMove={board.last || null}
                  label={`Game ${board.game + 1}, ${board.plies} plies ${board.result}`}
                />
              </div>
              <span class="cap2">
                <b>#{board.game + 1}</b>
                <span>{board.first_is_white ? "first is White" : "first is Black"}</span>
              </span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
