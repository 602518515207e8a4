import { expect, it } from "vitest";
import type { PlayerCard } from "../src/messages";
import { chess960Problem, choiceOf, clockProblem, type Setup } from "../src/views/NewGame";

const setup: Setup = {
  variant: "chess960",
  player: "net",
  color: "black",
  strength: 1500,
  by: "elo",
  limit: "5+3",
  minutes: "",
  increment: "",
  fen: " ",
  chess960: "518",
};
const players: PlayerCard[] = [
  { id: "net", name: "net", kind: "net", variant: "chess", detail: "", elo_range: [600, 2850], measured: false },
];

it("makes a request of the choices", () => {
  expect(choiceOf(setup, players)).toEqual({
    variant: "chess960",
    color: "black",
    player: "net",
    elo: 1500,
    visits: null,
    clock: { seconds: 300, increment: 3 },
    fen: null,
    chess960: 518,
  });
});

it("asks for nothing that does not exist", () => {
  const choice = choiceOf(
    { ...setup, variant: "chess", player: "gone", chess960: "960", by: "visits", strength: 5, limit: "none" },
    players,
  );
  expect([choice.player, choice.chess960, choice.visits, choice.elo, choice.clock]).toEqual([
    null,
    null,
    800,
    null,
    null,
  ]);
});

it("refuses numbers that no Chess960 position has", () => {
  const wrong = ["960", "-1", "5 18", "five", "0518"].map((chess960) => chess960Problem({ ...setup, chess960 }));
  expect(wrong.every((problem) => problem !== null)).toBe(true);
  for (const chess960 of ["", " ", "0", "959", " 518 "]) expect(chess960Problem({ ...setup, chess960 })).toBeNull();
  expect(chess960Problem({ variant: "chess", chess960: "5000" })).toBeNull(); // the field is not shown
});

it("takes a clock of any minutes and seconds for each move", () => {
  const own = { ...setup, limit: "custom" } as const;
  for (const [minutes, increment, clock] of [
    ["15", "10", { seconds: 900, increment: 10 }],
    [" 0,25 ", "0", { seconds: 15, increment: 0 }],
    ["1.1", "2.5", { seconds: 66, increment: 2.5 }],
    ["180", "180", { seconds: 10_800, increment: 180 }],
  ] as const) {
    expect(clockProblem({ ...own, minutes, increment })).toBeNull();
    expect(choiceOf({ ...own, minutes, increment }, players).clock).toEqual(clock);
  }
});

it("refuses clocks that no game can have, in one sentence", () => {
  const sentence = "Clocks have 0.1 to 180 minutes, and 0 to 180 seconds a move.";
  for (const [minutes, increment] of [
    ["0", "5"],
    ["181", "0"],
    ["-1", "0"],
    ["", "0"],
    ["5", ""],
    ["5", "181"],
    ["five", "0"],
    ["1e2", "0"],
    ["5", "1.234"],
    ["3+2", "0"],
  ] as const) {
    expect(clockProblem({ limit: "custom", minutes, increment })).toBe(sentence);
    expect(choiceOf({ ...setup, limit: "custom", minutes, increment }, players).clock).toBeNull();
  }
  expect(clockProblem({ limit: "5+3", minutes: "x", increment: "x" })).toBeNull(); // the fields are not shown
});
