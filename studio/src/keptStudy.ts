/** The studied game as this tab keeps it: it is there again after a reload, or a look at another view. */
import type { GameTree } from "./tree";

export interface KeptStudy {
  /** The query of the address at which it was studied. */
  query: string;
  tree: GameTree;
  at: number;
}

const NAME = "selfmate.study";

/** The storages of the browser: that of the tab comes first, so that two tabs do not change each other's game. */
function storages(): Storage[] {
  try {
    return [sessionStorage, localStorage];
  } catch {
    return []; // a browser without storage forgets the game
  }
}

export function keepStudy(study: KeptStudy): void {
  for (const storage of storages()) {
    try {
      storage.setItem(NAME, JSON.stringify(study));
    } catch {
      // Full: an older game stays.
    }
  }
}

/** The kept game, if an address means it: the same one, or one that names no position at all. */
export function keptStudy(query: string): KeptStudy | null {
  for (const storage of storages()) {
    const kept = parseStudy(storage.getItem(NAME));
    if (kept && (query === "" || query === kept.query)) return kept;
  }
  return null;
}

/** Read a kept game; null for a text that is none, of another version say. */
export function parseStudy(text: string | null): KeptStudy | null {
  try {
    const kept = JSON.parse(text ?? "null") as Partial<KeptStudy> | null;
    const tree = kept?.tree;
    const isWhole =
      typeof kept?.query === "string" &&
      typeof kept.at === "number" &&
      typeof tree?.variant === "string" &&
      typeof tree.start === "string" &&
      tree.start !== "" &&
      typeof tree.comment === "string" &&
      typeof tree.headers === "object" &&
      Array.isArray(tree.moves) &&
      tree.moves.every((move, index) => typeof move.fen === "string" && move.parent < index && move.parent >= -1) &&
      kept.at >= -1 &&
      kept.at < tree.moves.length;
    return isWhole ? (kept as KeptStudy) : null;
  } catch {
    return null;
  }
}
