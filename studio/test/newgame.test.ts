import { expect, it } from "vitest";
import type { PlayerCard } from "../src/messages";
import { chess960Problem, choiceOf, type Setup } from "../src/views/NewGame";

const setup: Setup = {
  variant: "chess960",
  player: "net",
  color: "black",
  strength: 1500,
  by: "elo",
  limit: "5+3",
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
