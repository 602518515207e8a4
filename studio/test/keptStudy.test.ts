import { beforeEach, describe, expect, it } from "vitest";
import { keepStudy, keptStudy, parseStudy, type KeptStudy } from "../src/keptStudy";
import { emptyTree } from "../src/tree";

const study = (query: string, comment: string): KeptStudy => ({
  query,
  tree: { ...emptyTree("chess", "8/8/8/8/8/8/8/8 w - - 0 1"), comment },
  at: -1,
});

describe("the kept game", () => {
  beforeEach(() => {
    sessionStorage.clear();
    localStorage.clear();
  });

  it("is there again at its address and at one without a position", () => {
    expect(keptStudy("")).toBeNull();
    keepStudy(study("variant=chess", "mine"));
    expect(keptStudy("variant=chess")?.tree.comment).toBe("mine");
    expect(keptStudy("")?.tree.comment).toBe("mine");
    expect(keptStudy("variant=atomic")).toBeNull();
  });

  it("is that of this tab, and that of another in a new tab", () => {
    keepStudy(study("", "mine"));
    localStorage.setItem("selfmate.study", JSON.stringify(study("", "theirs")));
    expect(keptStudy("")?.tree.comment).toBe("mine");
    sessionStorage.clear();
    expect(keptStudy("")?.tree.comment).toBe("theirs");
  });

  it("is left out where it is damaged", () => {
    const whole = study("", "");
    expect(parseStudy(JSON.stringify(whole))).toEqual(whole);
    const move = { parent: 0, uci: "e2e4", san: "e4", fen: "", comment: "", nags: [], exploded: [] };
    for (const text of [null, "", "{", "null", "[]", "{}", JSON.stringify({ ...whole, at: 0 })])
      expect(parseStudy(text)).toBeNull();
    expect(parseStudy(JSON.stringify({ ...whole, tree: { ...whole.tree, start: "" } }))).toBeNull();
    expect(parseStudy(JSON.stringify({ ...whole, tree: { ...whole.tree, moves: [move] } }))).toBeNull();
  });
});
