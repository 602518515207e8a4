import { describe, expect, it } from "vitest";
import {
  around,
  boardFen,
  capturedMaterial,
  describeBoard,
  destinations,
  kingToMove,
  moveNumber,
  movesBetween,
  parseFen,
  readMove,
  speakSan,
  toggleCastling,
} from "../src/chess";
import type { LegalMove } from "../src/messages";

const START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
const GARDNER = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1";
const move = (uci: string, san: string, capture = false): LegalMove => ({ uci, san, capture });

describe("FEN", () => {
  it("gives and takes castling rights, in their order", () => {
    expect(toggleCastling("8/8 w - - 0 1", "q")).toBe("8/8 w q - 0 1");
    expect(toggleCastling("8/8 w q - 0 1", "K")).toBe("8/8 w Kq - 0 1");
    expect(toggleCastling("8/8 w KQkq - 0 1", "Q")).toBe("8/8 w Kkq - 0 1");
    expect(toggleCastling("8/8 w K - 0 1", "K")).toBe("8/8 w - - 0 1");
  });

  it("finds the king of the side to move", () => {
    expect(kingToMove(START)).toBe("e1");
    expect(kingToMove(GARDNER.replace(" w ", " b "))).toBe("e5");
    expect(kingToMove("8/8/8/8/8/8/8/4K3 b - - 0 1")).toBeNull();
  });

  it("reads both board sizes", () => {
    const chess = parseFen(START);
    expect([chess.files, chess.ranks, chess.turn, chess.pieces.get("e1"), chess.pieces.get("d8")]).toEqual([
      8,
      8,
      "white",
      "K",
      "q",
    ]);
    const gardner = parseFen(GARDNER.replace(" w ", " b "));
    expect([gardner.files, gardner.ranks, gardner.turn, gardner.pieces.get("e5")]).toEqual([5, 5, "black", "k"]);
  });
  it("writes what it reads", () => {
    for (const fen of [START, GARDNER, "r3k2r/8/8/3pP3/8/8/8/R3K2R w KQkq d6 0 1"]) {
      const { pieces, files, ranks } = parseFen(fen);
      expect(boardFen(pieces, files, ranks)).toBe(fen.split(" ")[0]);
    }
  });
});

describe("moves", () => {
  const legal = [
    move("e7e8q", "e8=Q"),
    move("e7e8n", "e8=N"),
    move("e7d8q", "exd8=Q", true),
    move("g1f3", "Nf3"),
    move("b2b4", "b4"),
    move("c3b4", "Bb4"),
  ];
  it("groups targets without repeating a promotion", () => {
    expect(destinations(legal).get("e7")).toEqual(["e8", "d8"]);
    expect(movesBetween(legal, "e7", "e8").map((each) => each.uci)).toEqual(["e7e8q", "e7e8n"]);
  });
  it("reads SAN and UCI, and nothing else", () => {
    expect(readMove(legal, "Nf3")?.uci).toBe("g1f3");
    expect(readMove(legal, "nf3")?.uci).toBe("g1f3");
    expect(readMove(legal, "e7e8n")?.uci).toBe("e7e8n");
    expect(readMove(legal, "ed8Q")?.uci).toBe("e7d8q");
    expect(readMove(legal, "b4")?.uci).toBe("b2b4"); // the pawn, although Bb4 differs in case only
    expect(readMove(legal, "Bb4")?.uci).toBe("c3b4");
    expect(readMove(legal, "e8")).toBeNull();
    expect(readMove(legal, " ")).toBeNull();
  });
  it("speaks SAN", () => {
    expect(speakSan("Nf3")).toBe("knight f3");
    expect(speakSan("exd8=Q+")).toBe("pawn e takes d8, becomes queen, check");
    expect(speakSan("Qxf7#")).toBe("queen takes f7, end of the game");
    expect(speakSan("O-O-O")).toBe("castles long");
    expect(speakSan("O-O+")).toBe("castles short, check");
    expect(speakSan("O-O-O#")).toBe("castles long, end of the game");
  });
  it("numbers moves from any start", () => {
    expect(moveNumber(START, 3)).toEqual({ number: 2, white: false });
    expect(moveNumber("8/8/8/8/8/8/8/8 b - - 0 7", 0)).toEqual({ number: 7, white: false });
    expect(moveNumber("8/8/8/8/8/8/8/8 b - - 0 7", 1)).toEqual({ number: 8, white: true });
  });
});

describe("material", () => {
  it("lists what each side lost and who is ahead", () => {
    const now = "rnb1kbnr/pppp1ppp/8/8/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 4";
    expect(capturedMaterial(START, now)).toEqual({ white: ["N"], black: ["q", "p"], balance: 7 });
  });
  it("counts a promotion as a pawn gone", () => {
    const now = "QQ2k3/8/8/8/8/8/8/4K3 w - - 0 1";
    const before = "Q3k3/1P6/8/8/8/8/8/4K3 w - - 0 1";
    expect(capturedMaterial(before, now)).toEqual({ white: ["P"], black: [], balance: 18 });
  });
});

it("finds the squares around a corner", () => {
  expect(around("a1", 5, 5).sort()).toEqual(["a1", "a2", "b1", "b2"]);
  expect(around("e5", 5, 5)).toHaveLength(4);
  expect(around("d4", 8, 8)).toHaveLength(9);
});

it("describes a board in words", () => {
  expect(describeBoard("4k/5/5/5/KP3 b - - 0 1")).toBe("White: king a1, pawn b1. Black: king e5. Black to move.");
});
