import { expect, it } from "vitest";
import { formatRoute, parseRoute } from "../src/router";

it("reads what it writes, FENs included", () => {
  const fen = "4k/5/5/5/K4 w - - 0 1";
  const found = parseRoute(formatRoute("play", ["a b/c"], { variant: "gardner", fen }));
  expect([found.view, found.rest, found.query.get("fen")]).toEqual(["play", ["a b/c"], fen]);
});

it("takes any text", () => {
  expect(parseRoute("").view).toBe("home");
  expect(parseRoute("#%E0%A4%A/x").rest).toEqual(["x"]);
});
