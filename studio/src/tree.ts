/** A game with variations: moves that know the move before them. Functions return a new tree and leave the old one. */
import type { PlayedMove, StudyNode } from "./messages";

export interface TreeMove {
  parent: number;
  uci: string;
  san: string;
  fen: string;
  comment: string;
  nags: number[];
  exploded: string[];
}

export interface GameTree {
  variant: string;
  start: string;
  headers: Record<string, string>;
  comment: string;
  /** Parents stand before their children; the first child of a move is its main line. */
  moves: TreeMove[];
}

/** The start of a tree; moves have numbers from 0. */
export const ROOT = -1;

export function emptyTree(variant: string, start: string): GameTree {
  return { variant, start, headers: {}, comment: "", moves: [] };
}

export function treeOfNodes(
  variant: string,
  start: string,
  headers: Record<string, string>,
  nodes: StudyNode[],
  comment: string,
): GameTree {
  const moves = nodes.map((node) => ({
    parent: node.parent,
    uci: node.uci,
    san: node.san ?? "",
    fen: node.fen ?? "",
    comment: node.comment ?? "",
    nags: node.nags ?? [],
    exploded: node.exploded ?? [],
  }));
  return { variant, start, headers, comment, moves };
}

export function treeOfLine(
  variant: string,
  start: string,
  headers: Record<string, string>,
  line: PlayedMove[],
): GameTree {
  const moves = line.map((move, index) => ({
    parent: index - 1,
    uci: move.uci,
    san: move.san,
    fen: move.fen,
    comment: "",
    nags: [],
    exploded: move.exploded,
  }));
  return { variant, start, headers, comment: "", moves };
}

export function childrenOf(tree: GameTree, at: number): number[] {
  const found: number[] = [];
  tree.moves.forEach((move, index) => {
    if (move.parent === at) found.push(index);
  });
  return found;
}

/** Numbers of the moves from the start to a move, with it. */
export function lineTo(tree: GameTree, at: number): number[] {
  const line: number[] = [];
  for (let index = at; index !== ROOT; index = tree.moves[index]?.parent ?? ROOT) line.push(index);
  return line.reverse();
}

export function uciLine(tree: GameTree, at: number): string[] {
  return lineTo(tree, at).map((index) => tree.moves[index]?.uci ?? "");
}

/** Numbers of the moves after a move, along first children. */
export function mainLine(tree: GameTree, from = ROOT): number[] {
  const line: number[] = [];
  for (let next = childrenOf(tree, from)[0]; next !== undefined; next = childrenOf(tree, next)[0]) line.push(next);
  return line;
}

export function fenAt(tree: GameTree, at: number): string {
  return tree.moves[at]?.fen ?? tree.start;
}

/** The move before a move that has another one beside it; the start where there is no such move. */
export function branchBefore(tree: GameTree, at: number): number {
  for (let index = at; index !== ROOT; index = tree.moves[index]?.parent ?? ROOT) {
    const parent = tree.moves[index]?.parent ?? ROOT;
    if (childrenOf(tree, parent).length > 1) return parent;
  }
  return ROOT;
}

/** The move `step` places after a move among those that replace each other, in a circle. */
export function siblingOf(tree: GameTree, at: number, step: number): number {
  const move = tree.moves[at];
  if (!move) return at;
  const beside = childrenOf(tree, move.parent);
  return beside[(beside.indexOf(at) + step + beside.length) % beside.length] ?? at;
}

/** Add a move after another, or find it there; returns its number, too. */
export function addMove(tree: GameTree, at: number, played: PlayedMove): [GameTree, number] {
  const known = childrenOf(tree, at).find((index) => tree.moves[index]?.uci === played.uci);
  if (known !== undefined) return [tree, known];
  const move: TreeMove = {
    parent: at,
    uci: played.uci,
    san: played.san,
    fen: played.fen,
    comment: "",
    nags: [],
    exploded: played.exploded,
  };
  return [{ ...tree, moves: [...tree.moves, move] }, tree.moves.length];
}

export function setComment(tree: GameTree, at: number, comment: string): GameTree {
  if (at === ROOT) return { ...tree, comment };
  return { ...tree, moves: tree.moves.map((move, index) => (index === at ? { ...move, comment } : move)) };
}

/** Remove a move and all after it; returns the move before it, too. */
export function removeMove(tree: GameTree, at: number): [GameTree, number] {
  const parent = tree.moves[at]?.parent ?? ROOT;
  const gone = new Set<number>();
  const numbers = new Map<number, number>([[ROOT, ROOT]]);
  const moves: TreeMove[] = [];
  tree.moves.forEach((move, index) => {
    if (index === at || gone.has(move.parent)) {
      gone.add(index);
      return;
    }
    numbers.set(index, moves.length);
    moves.push({ ...move, parent: numbers.get(move.parent) ?? ROOT });
  });
  return [{ ...tree, moves }, numbers.get(parent) ?? ROOT];
}

/** Whether a move is on the main line from the start. */
export function isMain(tree: GameTree, at: number): boolean {
  return mainLine(tree).includes(at);
}

export interface Variation {
  /** Number of the main-line move that it replaces. */
  instead: number;
  moves: number[];
}

/** Variations beside the main line, each along its first children; those inside variations follow the outer one. */
export function variationsOf(tree: GameTree): Variation[] {
  const main = mainLine(tree);
  const found: Variation[] = [];
  const visit = (parent: number, instead: number) => {
    for (const index of childrenOf(tree, parent).slice(1)) {
      const line = [index, ...mainLine(tree, index)];
      found.push({ instead, moves: line });
      for (const each of line) visit(each, instead);
    }
  };
  for (const index of main) visit(tree.moves[index]?.parent ?? ROOT, index);
  return found;
}
