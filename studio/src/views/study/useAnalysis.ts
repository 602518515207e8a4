/** The analysis of the shown position and the review of the game; the server does one of them at a time. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AnalysisUpdate, ReviewedMove } from "../../messages";
import { server } from "../../store";
import { fenAt, mainLine, uciLine, type GameTree } from "../../tree";

export interface AnalysisOptions {
  player: string;
  visits: number | null;
  treeNodes: number;
}

/** Analysed positions that are remembered. */
const MOST_KNOWN = 200;

export interface Review {
  moves: (ReviewedMove | undefined)[];
  /** Share of the moves that are judged; 1 when it is done. */
  progress: number;
}

export interface Analysis {
  /** The newest update of the shown position. */
  update: AnalysisUpdate | null;
  /** Why there is none. */
  problem: string | null;
  /** The last update of the position before the shown one, if it was analysed. */
  before: AnalysisUpdate | null;
  review: Review | null;
  /** Whether the review is at work: the analysis stands still as long as it is. */
  isReviewing: boolean;
  startReview: () => void;
  clearReview: () => void;
}

export function useAnalysis(
  tree: GameTree,
  at: number,
  isOn: boolean,
  /** Whether the game is over here; null as long as that is not known. */
  isOver: boolean | null,
  options: AnalysisOptions,
): Analysis {
  const [update, setUpdate] = useState<AnalysisUpdate | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [review, setReview] = useState<Review | null>(null);
  const analysisAsk = useRef(0);
  const reviewAsk = useRef(0);
  const known = useRef(new Map<string, AnalysisUpdate>());
  const isReviewing = review !== null && review.progress < 1;
  const position = fenAt(tree, at);

  useEffect(() => {
    const endUpdates = server.on("analysis.update", (event) => {
      if (event.ask !== analysisAsk.current) return;
      known.current.set(event.fen, event);
      if (known.current.size > MOST_KNOWN) known.current.delete([...known.current.keys()][0] ?? "");
      setUpdate(event);
    });
    const endMoves = server.on("review.move", (event) => {
      if (event.ask !== reviewAsk.current) return;
      setReview((before) => {
        if (!before) return before;
        const moves = [...before.moves];
        moves[event.ply] = event;
        return { moves, progress: event.done ? 1 : (event.ply + 1) / moves.length };
      });
    });
    const endFailures = server.on("failure", (event) => {
      if (event.ask > 0 && event.ask === analysisAsk.current) setProblem(event.message);
      if (event.ask > 0 && event.ask === reviewAsk.current) setReview(null);
    });
    // A review ends with its connection.
    const endOpen = server.onOpen(() => setReview((before) => (before && before.progress < 1 ? null : before)));
    return () => {
      endUpdates();
      endMoves();
      endFailures();
      endOpen();
      server.send("analysis.stop", {});
    };
  }, []);

  useEffect(() => {
    setProblem(null);
    if (isReviewing || (isOn && isOver === null)) return;
    if (!isOn || isOver || !tree.start) {
      if (analysisAsk.current) server.send("analysis.stop", {});
      analysisAsk.current = 0;
      return;
    }
    const end = server.onOpen(() => {
      analysisAsk.current = server.send("analysis.start", {
        variant: tree.variant,
        fen: tree.start,
        moves: uciLine(tree, at),
        player: options.player || null,
        visits: options.visits,
        tree_nodes: options.treeNodes,
      });
    });
    return end;
  }, [
    isOn,
    isOver,
    isReviewing,
    tree.variant,
    tree.start,
    position,
    at,
    options.player,
    options.visits,
    options.treeNodes,
  ]);

  useEffect(() => known.current.clear(), [tree.variant, tree.start, options.player]);

  const parent = tree.moves[at]?.parent;
  return {
    update: update && update.fen === position ? update : null,
    problem,
    before: parent === undefined ? null : (known.current.get(fenAt(tree, parent)) ?? null),
    review,
    isReviewing,
    startReview: () => {
      const line = mainLine(tree);
      if (!line.length) return;
      setReview({ moves: line.map(() => undefined), progress: 0 });
      reviewAsk.current = server.send("review.start", {
        variant: tree.variant,
        fen: tree.start,
        moves: line.map((index) => tree.moves[index]?.uci ?? ""),
        player: options.player || null,
      });
    },
    clearReview: () => {
      reviewAsk.current = 0;
      setReview(null);
    },
  };
}
