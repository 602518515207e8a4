/** The game tree that is studied, the shown position and what the server knows of it. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { BoardState, LoadPgn } from "../../messages";
import { sayError, server, variantCard, welcome } from "../../store";
import { addMove, emptyTree, fenAt, ROOT, treeOfLine, treeOfNodes, uciLine, type GameTree } from "../../tree";

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

export function useStudy(variant: string, fen: string | null, moves: string | null): Study {
  const [tree, setTree] = useState<GameTree>(() => emptyTree(variant, fen ?? variantCard(variant)?.start ?? ""));
  const [at, setAt] = useState(ROOT);
  const [board, setBoard] = useState<BoardState | null>(null);
  const current = useRef({ tree, at });
  current.current = { tree, at };

  const open = useCallback((next: GameTree, where = ROOT) => {
    setTree(next);
    setAt(where);
    setBoard(null);
  }, []);

  // Another variant or position in the address begins anew.
  useEffect(() => {
    const start = fen ?? variantCard(variant)?.start;
    if (start && (start !== current.current.tree.start || variant !== current.current.tree.variant))
      open(emptyTree(variant, start));
    if (start && moves)
      server
        .ask("position.ask", { variant, fen: start, moves: moves.split(" ") }, "position.view")
        .then((view) => open(treeOfLine(variant, start, {}, view.moves)), sayError);
  }, [variant, fen, moves, welcome.value === null]);

  const position = fenAt(tree, at);
  useEffect(() => {
    if (!tree.start) return;
    let wanted = true;
    const ask = () =>
      server
        .ask("position.ask", { variant: tree.variant, fen: tree.start, moves: uciLine(tree, at) }, "position.view")
        .then(
          (view) => wanted && setBoard(view.board),
          (error: unknown) => wanted && sayError(error),
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
  }, []);

  const loadGame = useCallback(async (id: string) => {
    const game = await server.ask("game.open", { id }, "game.view");
    server.send("game.leave", { id });
    const names = game.you === "white" ? ["You", game.opponent] : [game.opponent, "You"];
    const headers = { White: names[0] ?? "?", Black: names[1] ?? "?", Result: game.board.result ?? "*" };
    const next = treeOfLine(game.variant, game.start, headers, game.moves);
    open(next, game.moves.length - 1);
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
