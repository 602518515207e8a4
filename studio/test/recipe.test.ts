import { expect, it } from "vitest";
import type { RecipeForm } from "../src/messages";
import { commandLine, isRunName, settingsOf } from "../src/recipe";

const form = { keys: [{ key: "selfplay.visits", value: "16" }] } as RecipeForm;

it("lists only what was changed and is known", () => {
  expect(settingsOf(form, { "selfplay.visits": "16" })).toEqual([]);
  expect(settingsOf(form, { "selfplay.visits": " 32 " })).toEqual(["selfplay.visits=32"]);
  expect(settingsOf(form, { "selfplay.visits": "" })).toEqual([]);
  expect(settingsOf(form, { "other.key": "1" })).toEqual([]);
});

it("quotes what a shell would read otherwise", () => {
  expect(commandLine("gardner-laptop", "mine", 2, ["selfplay.visits=[[0, 8]]"])).toBe(
    "selfmate train gardner-laptop --run runs/mine --minutes 2 --set 'selfplay.visits=[[0, 8]]'",
  );
  expect(commandLine("a", "", null, ["x.y=it's"])).toBe("selfmate train a --set 'x.y=it'\\''s'");
});

it("lets names of runs begin with a letter or a digit", () => {
  expect(["", "first", "2", "a.b-c_d"].every(isRunName)).toBe(true);
  expect([".", "..", ".studio", "-x", "_x", "a b"].some(isRunName)).toBe(false);
});
