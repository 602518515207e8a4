/** A game against a player. The server owns the game; this view shows it and sends what the user does. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Board } from "../board/Board";
import type { Arrow } from "../board/Overlay";
import { capturedMaterial, kingToMove, moveNumber, otherColor, readMove, speakSan } from "../chess";
import type { Color, GameView, PlayedMove } from "../messages";
import { formatRoute, go, replaceRoute, route } from "../router";
import { ConnectionLost } from "../socket";
import {
  readSetting,
  say,
  sayError,
  server,
  toggleTheme,
  variantCard,
  variantName,
  welcome,
  writeSetting,
} from "../store";
import { Clock } from "../ui/Clock";
import { copyText, Dialog, downloadText, IconButton, WdlBar } from "../ui/controls";
import { Icon } from "../ui/Icon";
import { useKeys } from "../ui/keys";
import { MoveTable } from "../ui/MoveTable";
import { playSound, soundsOn, toggleSounds } from "../ui/sounds";
import { NewGamePanel, type GameChoice } from "./NewGame";

export function PlayView() {
  const { rest, query } = route.value;
  const id = rest[0] ?? null;
  const variant = query.get("variant") ?? undefined;
  const fen = query.get("fen") ?? undefined;
  const [busy, setBusy] = useState(false);
  const [dialog, setDialog] = useState(false);
  const [setup, setSetup] = useState<{ variant: string; fen: string } | null>(null);
  const game = useGame(id);
  const started = useRef("");

  async function start(choice: GameChoice): Promise<void> {
    setBusy(true);
    setDialog(false);
    try {
      const view = await server.ask("game.new", choice, "game.view");
      go("play", [view.id]);
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  }

  // The first door starts a game at once; the rail comes back to the last one.
  useEffect(() => {
    if (id !== null || !welcome.value) return;
    const key = location.hash;
    if (query.get("start") && started.current !== key) {
      started.current = key;
      void start({ variant: variant ?? "atomic", color: "white", elo: 1200, ...(fen ? { fen } : {}) });
    } else if (!variant) {
      const last = readSetting("game");
      if (last) replaceRoute("play", [last]);
    }
  }, [id, welcome.value, variant]);

  // A variant that there is not is said, and another one is offered.
  useEffect(() => {
    if (id !== null || !variant || !welcome.value || variantCard(variant)) return;
    say(`There is no variant “${variant}”.`);
    replaceRoute("play");
  }, [id, variant, welcome.value === null]);

  // A position that there cannot be is not shown.
  useEffect(() => {
    if (id !== null || !fen || !variant || !variantCard(variant)) return;
    server.ask("position.ask", { variant, fen }, "position.view").catch((error: unknown) => {
      if (error instanceof ConnectionLost) return;
      sayError(error);
      replaceRoute("play", [], Object.fromEntries([...query].filter(([name]) => name !== "fen" && name !== "start")));
    });
  }, [id, variant, fen, welcome.value === null]);

  useEffect(() => {
    if (game) writeSetting("game", game.id);
  }, [game?.id]);

  const panel = (
    <NewGamePanel
      variant={variant}
      player={query.get("player") ?? undefined}
      fen={fen}
      busy={busy}
      onStart={(choice) => void start(choice)}
      onSetup={setSetup}
    />
  );
  return (
    <section class="view" aria-label="Play">
      <div class="top">
        <h1>Play</h1>
        <span class="sub">{game ? subtitle(game) : "Choose a game."}</span>
        <span class="sp" />
        {/* Without a game the form is there already, but on a phone it is below the board. */}
        <button type="button" class={game ? "btn only-m" : "btn only-s"} onClick={() => setDialog(true)}>
          <Icon name="plus" />
          New
        </button>
        <IconButton class="only-s" icon="sun" label="Theme" onClick={toggleTheme} />
      </div>
      <div class={game ? "play" : "play idle"}>
        <aside class="card setup">
          <header>
            <h2>New game</h2>
          </header>
          {panel}
        </aside>
        {game ? (
          <GameBoard key={game.id} game={game} />
        ) : (
          <IdleBoard variant={setup?.variant ?? variant ?? "atomic"} fen={setup?.fen || fen} />
        )}
      </div>
      {dialog && (
        <Dialog title="New game" onClose={() => setDialog(false)}>
          {panel}
        </Dialog>
      )}
    </section>
  );
}

function subtitle(game: GameView): string {
  const minutes = game.control ? Number((game.control.seconds / 60).toFixed(2)) : 0;
  const limit = game.control ? ` · ${minutes} + ${game.control.increment ?? 0}` : "";
  return `${variantName(game.variant)}${limit} · against ${game.opponent}, ${game.opponent_detail}`;
}

/** Follow a game of the server. One that it does not have any more is forgotten. */
function useGame(id: string | null): GameView | null {
  const [game, setGame] = useState<GameView | null>(null);
  useEffect(() => {
    setGame(null);
    if (id === null) return;
    const endHearing = server.on("game.view", (view) => view.id === id && setGame(view));
    const endOpening = server.onOpen(() => {
      server.ask("game.open", { id }, "game.view").catch((error: unknown) => {
        if (readSetting("game") === id) writeSetting("game", "");
        sayError(error);
        replaceRoute("play");
      });
    });
    return () => {
      endHearing();
      endOpening();
      server.send("game.leave", { id });
    };
  }, [id]);
  return usePaced(game?.id === id ? game : null);
}

const EXPLOSION_MS = 520;
const MOVE_MS = 150;

/** Show each move for a moment, an explosion for longer, before the answer to it. */
function usePaced(game: GameView | null): GameView | null {
  const [shown, setShown] = useState(game);
  const since = useRef(0);
  useEffect(() => {
    const before = shown?.id === game?.id ? shown : null;
    const hold = before?.moves.at(-1)?.exploded.length ? EXPLOSION_MS : MOVE_MS;
    const grows = before && game && game.moves.length > before.moves.length;
    const wait = grows ? since.current + hold - performance.now() : 0;
    const show = () => {
      since.current = performance.now();
      setShown(game);
    };
    if (wait <= 0) {
      show();
      return;
    }
    const timer = setTimeout(show, wait);
    return () => clearTimeout(timer);
  }, [game]);
  return shown?.id === game?.id ? shown : game;
}

function IdleBoard({ variant, fen }: { variant: string; fen: string | undefined }) {
  const card = variantCard(variant);
  if (!card) return <div class="bcol" aria-busy="true" />;
  return (
    <div class="bcol idle">
      <div class="who" />
      <Board
        key={`${card.files} ${card.ranks}`}
        fen={fen ?? card.start}
        variant={variant}
        files={card.files}
        ranks={card.ranks}
        orientation="white"
        movable={null}
        legal={[]}
        lastMove={null}
        check={null}
        label={`Board of ${card.name}`}
        onMove={() => undefined}
      />
      <div class="who" />
    </div>
  );
}

function GameBoard({ game }: { game: GameView }) {
  const [flipped, setFlipped] = useState(false);
  const [shown, setShown] = useState<number | null>(null);
  const [hint, setHint] = useState<{ ply: number; uci: string; text: string } | null>(null);
  const [resigning, setResigning] = useState(false);
  const plies = game.moves.length;
  const at = shown ?? plies;
  const isLive = at === plies;
  const played: PlayedMove | undefined = game.moves[at - 1];
  const orientation = flipped ? otherColor(game.you) : game.you;
  const over = game.board.result !== null;
  const yourTurn = !over && game.board.turn === game.you;

  useEffect(() => {
    setShown(null);
    setHint(null);
    setResigning(false);
    const last = game.moves[plies - 1];
    if (!last) return;
    playSound(last.exploded.length ? "explosion" : last.san.includes("x") ? "capture" : "move");
  }, [plies]);
  useEffect(() => {
    if (over) playSound("end");
  }, [over]);
  useEffect(() => {
    if (!resigning) return;
    const timer = setTimeout(() => setResigning(false), 4000);
    return () => clearTimeout(timer);
  }, [resigning]);
  // The rematch is followed when it begins; a game that had one long ago can still be looked at.
  const hadRematch = useRef(game.rematch);
  useEffect(() => {
    if (game.rematch && game.rematch !== hadRematch.current) go("play", [game.rematch]);
  }, [game.rematch]);

  const show = (number: number) => setShown(number >= plies ? null : Math.max(0, number));
  const play = (uci: string) => server.send("game.move", { id: game.id, ply: plies, uci });
  const takeBack = () => game.can_take_back && server.send("game.takeback", { id: game.id });
  const askHint = () => {
    if (!yourTurn) return;
    server
      .ask("game.hint", { id: game.id }, "game.hint")
      .then((found) => setHint({ ply: found.ply, uci: found.uci, text: found.text }), sayError);
  };
  const resign = () => {
    if (!resigning) setResigning(true);
    else server.send("game.resign", { id: game.id });
  };
  const withPgn = (use: (text: string) => void) =>
    server.ask("game.pgn", { id: game.id }, "pgn.text").then((event) => use(event.text), sayError);
  useKeys({
    ArrowLeft: () => show(at - 1),
    ArrowRight: () => show(at + 1),
    Home: () => show(0),
    End: () => show(plies),
    ArrowUp: () => show(0),
    ArrowDown: () => show(plies),
    "0": () => show(0),
    $: () => show(plies),
    j: () => show(at + 1),
    k: () => show(at - 1),
    f: () => setFlipped(!flipped),
    u: takeBack,
    h: askHint,
  });

  const arrows: Arrow[] = hint && hint.ply === plies && isLive ? [{ uci: hint.uci, width: 20, kind: "hint" }] : [];
  return (
    <>
      <div class="bcol">
        <Side game={game} color={otherColor(orientation)} at={at} />
        <Board
          fen={played?.fen ?? game.start}
          variant={game.variant}
          files={game.board.files}
          ranks={game.board.ranks}
          orientation={orientation}
          movable={isLive && !over ? game.you : null}
          legal={useStable(isLive && yourTurn ? game.board.legal : [])}
          lastMove={played?.uci ?? null}
          check={isLive ? game.board.check : played?.check ? kingToMove(played.fen) : null}
          exploded={played?.exploded ?? NO_SQUARES}
          premoves={!over && !yourTurn}
          arrows={arrows}
          label={`${variantName(game.variant)}, you play ${game.you}`}
          onMove={play}
        />
        <Side game={game} color={orientation} at={at} />
      </div>
      <aside class="card game-panel">
        <header>
          <h2>Moves</h2>
          <span class="sp" />
          <IconButton
            icon="copy"
            label="Copy PGN"
            onClick={() =>
              void withPgn(
                (text) =>
                  void copyText(text).then((ok) => say(ok ? "PGN copied." : "The browser did not let us copy.")),
              )
            }
          />
          <IconButton
            icon="save"
            label="Save PGN"
            onClick={() => void withPgn((text) => downloadText("game.pgn", text))}
          />
          <IconButton
            icon="link"
            label="Copy a link to this position"
            onClick={() => void copyLink(game.variant, played?.fen ?? game.start)}
          />
          <a class="btn ghost" href={formatRoute("study", [], { game: game.id })}>
            <Icon name="study" />
            Study
          </a>
        </header>
        <MoveTable start={game.start} moves={game.moves} shown={at} onShow={show} />
        {yourTurn && isLive && <MoveField game={game} onMove={play} />}
        <Talk game={game} hint={hint?.ply === plies ? hint.text : null} resigning={resigning} />
        <div class="acts">
          <IconButton icon="undo" label="Take back (U)" disabled={!game.can_take_back} onClick={takeBack} />
          {over ? (
            <IconButton
              icon="again"
              label="Rematch"
              onClick={() =>
                void server
                  .ask("game.rematch", { id: game.id }, "game.view")
                  .then((view) => go("play", [view.id]), sayError)
              }
            />
          ) : (
            <IconButton icon="half" label="Offer a draw" onClick={() => server.send("game.draw", { id: game.id })} />
          )}
          <IconButton
            icon="flag"
            label={resigning && !over ? "Press again to resign" : "Resign"}
            pressed={resigning && !over}
            disabled={over}
            onClick={resign}
          />
          <IconButton icon="bulb" label="Hint (H)" disabled={!yourTurn} onClick={askHint} />
          <IconButton icon="flip" label="Flip the board (F)" onClick={() => setFlipped(!flipped)} />
          <IconButton
            icon={soundsOn.value ? "sound" : "muted"}
            label={soundsOn.value ? "Sounds are on" : "Sounds are off"}
            pressed={soundsOn.value}
            onClick={toggleSounds}
          />
        </div>
      </aside>
    </>
  );
}

const NO_SQUARES: string[] = [];

/** The same array as long as its content is the same: an empty list need not set up the board again. */
function useStable<T>(list: T[]): T[] {
  const kept = useRef(list);
  if (kept.current !== list && (kept.current.length > 0 || list.length > 0)) kept.current = list;
  return kept.current;
}

async function copyLink(variant: string, fen: string): Promise<void> {
  const address = `${location.origin}/${formatRoute("play", [], { variant, fen })}`;
  say((await copyText(address)) ? "The link to this position is copied." : address);
}

/** One side: name, captured pieces and clock. */
function Side({ game, color, at }: { game: GameView; color: Color; at: number }) {
  const isYou = color === game.you;
  const fen = game.moves[at - 1]?.fen ?? game.start;
  const material = useMemo(() => capturedMaterial(game.start, fen), [game.start, fen]);
  const taken = material[otherColor(color)];
  const lead = color === "white" ? material.balance : -material.balance;
  const checks = game.board.checks_left?.[color === "white" ? 0 : 1];
  return (
    <div class="who">
      <span class="av" aria-hidden="true">
        <i class={`piece-picture ${color === "white" ? "w" : "b"}k`} />
      </span>
      <div class="nm">
        <b>{isYou ? "You" : game.opponent}</b>
        <span class="mat">
          <span class="sr">has taken {taken.length === 1 ? "1 piece" : `${taken.length} pieces`}</span>
          {taken.length > 0 && (
            <span aria-hidden="true">
              {taken.map((piece, index) => (
                <i
                  key={index}
                  class={`piece-picture ${piece === piece.toUpperCase() ? "w" : "b"}${piece.toLowerCase()}`}
                />
              ))}
            </span>
          )}
          {lead > 0 && <em>+{lead}</em>}
          {checks !== undefined && <em>{checks === 1 ? "1 more check wins" : `${checks} more checks win`}</em>}
          {!isYou && game.thinking && taken.length === 0 && <em>thinking…</em>}
        </span>
      </div>
      {game.clock && <Clock clock={game.clock} color={color} />}
    </div>
  );
}

/** Moves by their names, for the keyboard and for screen readers. */
function MoveField({ game, onMove }: { game: GameView; onMove: (uci: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      class="move-field"
      onSubmit={(event) => {
        event.preventDefault();
        const move = readMove(game.board.legal, text);
        if (move) onMove(move.uci);
        else say(`“${text}” is not a legal move here.`);
        setText("");
      }}
    >
      <label class="sr" for="move-text">
        Your move, such as {game.board.legal[0]?.san ?? "e4"}
      </label>
      <input
        id="move-text"
        class="inp"
        autocomplete="off"
        maxLength={10}
        placeholder={`Type a move, such as ${game.board.legal[0]?.san ?? "e4"}`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}

/** What the opponent says: its last move, the end of the game, or an answer. Screen readers hear each change. */
function Talk({ game, hint, resigning }: { game: GameView; hint: string | null; resigning: boolean }) {
  const { result, reason } = game.board;
  const last = game.moves[game.moves.length - 1];
  const note = game.explanation && game.explanation.ply >= game.moves.length - 2 ? game.explanation : null;
  const ended = result
    ? `${result === "1/2-1/2" ? "Draw" : result === "1-0" ? "White wins" : "Black wins"}: ${reason ?? ""}.`
    : null;
  const mine = last && moverOf(game) === game.you;
  return (
    <div class="say">
      <Icon name="talk" />
      <div class="grow">
        <div aria-live="polite">
          {last && !mine && <span class="sr">{speakSan(last.san)}. </span>}
          {ended ? (
            <b>{ended}</b>
          ) : resigning ? (
            "Press the flag again to resign."
          ) : game.notice ? (
            game.notice
          ) : hint ? (
            `Hint: ${hint}.`
          ) : game.thinking ? (
            "Thinking… you may already premove."
          ) : note ? (
            note.text
          ) : (
            "Your move."
          )}
        </div>
        {note && !game.thinking && (
          <div class="sm mut note">
            {note.line.length > 1 && <div>{lineText(game.start, note.ply, note.line)}</div>}
            <WdlBar wdl={note.wdl} />
          </div>
        )}
      </div>
    </div>
  );
}

function moverOf(game: GameView): Color {
  return otherColor(game.board.turn);
}

function lineText(start: string, ply: number, line: string[]): string {
  return line
    .map((san, index) => {
      const { number, white } = moveNumber(start, ply + index);
      return white ? `${number}. ${san}` : index === 0 ? `${number}… ${san}` : san;
    })
    .join(" ");
}
