/** FEN, squares and moves as text. The rules are the server's: nothing here decides what is legal. */
import type { Color, LegalMove } from "./messages";

export const FILES = "abcdefgh";
const ROLE_NAMES: Record<string, string> = {
  p: "pawn",
  n: "knight",
  b: "bishop",
  r: "rook",
  q: "queen",
  k: "king",
};
/** Usual values in pawns, for the balance of captured pieces. */
const ROLE_VALUES: Record<string, number> = { p: 1, n: 3, b: 3, r: 5, q: 9, k: 0 };

/** Pieces by square, white in upper case. */
export type Pieces = Map<string, string>;

export interface ParsedFen {
  pieces: Pieces;
  files: number;
  ranks: number;
  turn: Color;
}

export function parseFen(fen: string): ParsedFen {
  const [board = "", side] = fen.split(" ");
  const rows = board.split("/");
  const pieces: Pieces = new Map();
  let files = 0;
  rows.forEach((row, index) => {
    let file = 0;
    for (const letter of row) {
      if (/[0-9]/.test(letter)) file += Number(letter);
      else if (/[a-zA-Z]/.test(letter)) pieces.set(`${FILES[file++] ?? "?"}${rows.length - index}`, letter);
    }
    files = Math.max(files, file);
  });
  return { pieces, files, ranks: rows.length, turn: side === "b" ? "black" : "white" };
}

/** The first field of a FEN of pieces. */
export function boardFen(pieces: Pieces, files: number, ranks: number): string {
  const rows: string[] = [];
  for (let rank = ranks; rank >= 1; rank--) {
    let row = "";
    let empty = 0;
    for (let file = 0; file < files; file++) {
      const piece = pieces.get(squareAt(file, rank));
      if (piece === undefined) {
        empty++;
        continue;
      }
      row += (empty ? String(empty) : "") + piece;
      empty = 0;
    }
    rows.push(row + (empty ? String(empty) : ""));
  }
  return rows.join("/");
}

/** The name of a square; files count from 0, ranks from 1. */
export function squareAt(file: number, rank: number): string {
  return `${FILES[file] ?? "?"}${rank}`;
}

export function fileOf(square: string): number {
  return FILES.indexOf(square.charAt(0));
}

export function rankOf(square: string): number {
  return Number(square.slice(1));
}

export function colorOf(piece: string): Color {
  return piece === piece.toUpperCase() ? "white" : "black";
}

export function otherColor(color: Color): Color {
  return color === "white" ? "black" : "white";
}

export function pieceName(piece: string): string {
  return `${colorOf(piece)} ${ROLE_NAMES[piece.toLowerCase()] ?? "piece"}`;
}

/** Squares around a square, with itself. */
export function around(square: string, files: number, ranks: number): string[] {
  const found: string[] = [];
  for (let file = fileOf(square) - 1; file <= fileOf(square) + 1; file++)
    for (let rank = rankOf(square) - 1; rank <= rankOf(square) + 1; rank++)
      if (file >= 0 && rank >= 1 && file < files && rank <= ranks) found.push(squareAt(file, rank));
  return found;
}

/** Squares that pieces may move to, by the square they come from. */
export function destinations(legal: LegalMove[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { uci } of legal) {
    const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)];
    const list = found.get(from) ?? [];
    if (!list.includes(to)) list.push(to);
    found.set(from, list);
  }
  return found;
}

/** The legal moves between two squares: several for a promotion. */
export function movesBetween(legal: LegalMove[], from: string, to: string): LegalMove[] {
  return legal.filter((move) => move.uci.slice(0, 4) === from + to);
}

/** The legal move that a text names, in SAN (checks may be left out) or UCI. */
export function readMove(legal: LegalMove[], text: string): LegalMove | null {
  const plain = (san: string) => san.replace(/[+#x=]/g, "").replace(/0/g, "O");
  const wanted = plain(text.trim());
  if (!wanted) return null;
  const fits = (same: (move: LegalMove) => boolean) => legal.filter(same);
  for (const found of [
    fits((move) => move.uci === text.trim().toLowerCase()),
    fits((move) => plain(move.san) === wanted),
    fits((move) => plain(move.san).toLowerCase() === wanted.toLowerCase()),
  ])
    if (found.length === 1 && found[0]) return found[0];
  return null;
}

export interface Material {
  /** Pieces that White has lost, most valuable first. */
  white: string[];
  black: string[];
  /** White's pieces less Black's, in pawns. */
  balance: number;
}

/** What is gone since the start. Pieces that a side has more of than at the start (promotions) count as pawns gone. */
export function capturedMaterial(start: string, now: string): Material {
  const count = (fen: string) => {
    const counts = new Map<string, number>();
    for (const piece of parseFen(fen).pieces.values()) counts.set(piece, (counts.get(piece) ?? 0) + 1);
    return counts;
  };
  const [before, after] = [count(start), count(now)];
  const lost: Record<Color, string[]> = { white: [], black: [] };
  let balance = 0;
  for (const role of "qrbnp") {
    for (const piece of [role.toUpperCase(), role]) {
      const gone = (before.get(piece) ?? 0) - (after.get(piece) ?? 0);
      for (let number = 0; number < gone; number++) lost[colorOf(piece)].push(piece);
    }
  }
  for (const [piece, number] of after)
    balance += (colorOf(piece) === "white" ? 1 : -1) * number * (ROLE_VALUES[piece.toLowerCase()] ?? 0);
  return { ...lost, balance };
}

/** A board in words, for screen readers: rank by rank from White's side. */
export function describeBoard(fen: string): string {
  const { pieces, turn } = parseFen(fen);
  const words = (color: Color) =>
    [...pieces]
      .filter(([, piece]) => colorOf(piece) === color)
      .sort(
        (a, b) =>
          "kqrbnp".indexOf(a[1].toLowerCase()) - "kqrbnp".indexOf(b[1].toLowerCase()) || a[0].localeCompare(b[0]),
      )
      .map(([square, piece]) => `${ROLE_NAMES[piece.toLowerCase()] ?? "piece"} ${square}`)
      .join(", ");
  return `White: ${words("white") || "no pieces"}. Black: ${words("black") || "no pieces"}. ${turn === "white" ? "White" : "Black"} to move.`;
}

/** A move in words: "knight f3", "bishop takes f7, check". */
export function speakSan(san: string): string {
  const end = san.endsWith("#") ? ", end of the game" : san.endsWith("+") ? ", check" : "";
  if (san.startsWith("O-O")) return `castles ${san.startsWith("O-O-O") ? "long" : "short"}${end}`;
  const role = ROLE_NAMES[(/^[KQRBN]/.exec(san)?.[0] ?? "p").toLowerCase()] ?? "";
  const rest = san
    .replace(/^[KQRBN]/, "")
    .replace("x", " takes ")
    .replace(/=([KQRBN])/, (_, letter: string) => `, becomes ${ROLE_NAMES[letter.toLowerCase()] ?? ""}`)
    .replace(/[+#]$/, end);
  return `${role} ${rest}`.replace(/\s+/g, " ");
}

/** Number of a full move and whether White made it, for the ply of a game that began with a FEN. */
export function moveNumber(startFen: string, ply: number): { number: number; white: boolean } {
  const fields = startFen.split(" ");
  const first = Number(fields[fields.length - 1]) || 1;
  const offset = fields[1] === "b" ? 1 : 0;
  return { number: first + Math.floor((ply + offset) / 2), white: (ply + offset) % 2 === 0 };
}

/** The square of the king of the side to move, if it has one. */
export function kingToMove(fen: string): string | null {
  const { pieces, turn } = parseFen(fen);
  const king = turn === "white" ? "K" : "k";
  return [...pieces].find(([, piece]) => piece === king)?.[0] ?? null;
}

/** The FEN with a castling right (`K`, `Q`, `k`, `q`) given or taken away. */
export function toggleCastling(fen: string, right: string): string {
  const fields = fen.split(" ");
  const before = fields[2] ?? "-";
  const after = ["K", "Q", "k", "q"].filter((each) => before.includes(each) !== (each === right)).join("");
  fields[2] = after || "-";
  return fields.join(" ");
}
