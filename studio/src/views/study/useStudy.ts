/** The game tree that is studied, the shown position and what the server knows of it. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { BoardState, LoadPgn } from "../../messages";
import { keepStudy, keptStudy } from "../../keptStudy";
import { replaceRoute, route } from "../../router";
import { ConnectionLost } from "../../socket";
import { say, sayError, server, variantCard, welcome } from "../../store";
import { addMove, emptyTree, fenAt, mainLine, ROOT, treeOfLine, treeOfNodes, uciLine, type GameTree } from "../../tree";

const KEEP_MS = 400;

export interface Study {
  tree: GameTree;
  at: number;
  /** The shown position; null until the server has answered. */
  board: BoardState | null;
  show: (at: number) => void;
  change: (tree: GameTree, at?: number) => void;
  play: (uci: string) => void;
  open: (tree: GameTree, at?: number) => void;
  loadPgn: (text: LoadPgn["text"]) => Promise<void>;
  loadGame: (id: string) => Promise<void>;
}

/** The game that the query of an address names; a kept one goes on where it was left. */
export function useStudy(query: URLSearchParams): Study {
  const [variant, fen, moves] = [query.get("variant") ?? "atomic", query.get("fen"), query.get("moves")];
  const address = addressOf(query);
  const [kept] = useState(() => keptStudy(address));
  const [tree, setTree] = useState<GameTree>(
    () => kept?.tree ?? emptyTree(variant, fen ?? variantCard(variant)?.start ?? ""),
  );
  const [at, setAt] = useState(kept?.at ?? ROOT);
  const shownAddress = useRef(kept ? address : null);
  const [board, setBoard] = useState<BoardState | null>(null);
  const current = useRef({ tree, at });
  current.current = { tree, at };

  const open = useCallback((next: GameTree, where = ROOT) => {
    setTree(next);
    setAt(where);
    setBoard(null);
  }, []);

  // Another variant or position in the address begins anew; an address without one leaves the game as it is.
  useEffect(() => {
    if (welcome.value && !variantCard(variant)) {
      say(`There is no variant “${variant}”.`);
      replaceRoute("study", route.value.rest);
      return;
    }
    const start = fen ?? variantCard(variant)?.start;
    const isSame = shownAddress.current === address || (address === "" && current.current.tree.start !== "");
    if (start) shownAddress.current = address;
    if (isSame) return;
    if (start && (start !== current.current.tree.start || variant !== current.current.tree.variant))
      open(emptyTree(variant, start));
    if (start && moves)
      server
        .ask("position.ask", { variant, fen: start, moves: moves.split(" ") }, "position.view")
        .then((view) => open(treeOfLine(variant, start, {}, view.moves)), sayError);
  }, [address, welcome.value === null]);

  // What is kept is the newest game, also when the page is left within the time.
  const save = useRef(() => undefined as unknown);
  save.current = () => tree.start && keepStudy({ query: shownAddress.current ?? address, tree, at });
  useEffect(() => {
    const timer = setTimeout(() => save.current(), KEEP_MS);
    return () => clearTimeout(timer);
  }, [tree, at]);
  useEffect(() => {
    const leave = () => save.current();
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, []);

  const position = fenAt(tree, at);
  useEffect(() => {
    if (!tree.start) return;
    let wanted = true;
    const ask = () =>
      server
        .ask("position.ask", { variant: tree.variant, fen: tree.start, moves: uciLine(tree, at) }, "position.view")
        .then(
          (view) => {
            if (!wanted) return;
            setBoard(view.board);
            // A FEN may be written in several ways, as without the counters: from now on it is the server's.
            if (at === ROOT && view.board.fen !== tree.start)
              setTree((before) => (before === tree ? { ...tree, start: view.board.fen } : before));
          },
          (error: unknown) => {
            if (!wanted) return;
            sayError(error);
            // An address with a position that there cannot be: the usual one is better than none.
            const usual = variantCard(tree.variant)?.start;
            const isNew = tree.moves.length === 0 && usual && usual !== tree.start;
            if (isNew && !(error instanceof ConnectionLost)) open(emptyTree(tree.variant, usual));
          },
        );
    const end = server.onOpen(() => void ask());
    return () => {
      wanted = false;
      end();
    };
  }, [tree.variant, tree.start, at, position]);

  const play = useCallback((uci: string) => {
    const { tree: before, at: from } = current.current;
    server
      .ask(
        "position.ask",
        { variant: before.variant, fen: before.start, moves: [...uciLine(before, from), uci] },
        "position.view",
      )
      .then((view) => {
        const played = view.moves[view.moves.length - 1];
        if (!played || current.current.tree !== before) return;
        const [after, index] = addMove(before, from, played);
        setTree(after);
        setAt(index);
        setBoard(view.board);
      }, sayError);
  }, []);

  const loadPgn = useCallback(async (text: string) => {
    const game = await server.ask("pgn.load", { text }, "pgn.loaded");
    const next = treeOfNodes(game.variant, game.start, game.headers, game.nodes, game.comment);
    open(next);
    const notes = [game.more_games && "The text has more than one game: the first is open.", game.repair];
    if (notes.some(Boolean)) say(notes.filter(Boolean).join(" "));
  }, []);

  const loadGame = useCallback(async (id: string) => {
    const game = await server.ask("game.open", { id }, "game.view");
    server.send("game.leave", { id });
    const names = game.you === "white" ? ["You", game.opponent] : [game.opponent, "You"];
    const headers = { White: names[0] ?? "?", Black: names[1] ?? "?", Result: game.board.result ?? "*" };
    const next = treeOfLine(game.variant, game.start, headers, game.moves);
    if (!continues(current.current.tree, next)) open(next, game.moves.length - 1);
  }, []);

  return {
    tree,
    at,
    board: board && board.fen === position ? board : null,
    show: setAt,
    change: (next, where) => {
      setTree(next);
      if (where !== undefined) setAt(where);
    },
    play,
    open,
    loadPgn,
    loadGame,
  };
}

/** What of an address names the game. */
function addressOf(query: URLSearchParams): string {
  const names = ["variant", "fen", "moves", "game"];
  return new URLSearchParams([...query].filter(([name]) => names.includes(name))).toString();
}

/** Whether a tree is a game with what was added to it: the game is its main line, or the beginning of it. */
function continues(tree: GameTree, game: GameTree): boolean {
  const line = mainLine(tree).map((index) => tree.moves[index]?.uci);
  const isSame = tree.variant === game.variant && tree.start === game.start && tree.headers["White"] !== undefined;
  return isSame && game.moves.length > 0 && game.moves.every((move, index) => move.uci === line[index]);
}
