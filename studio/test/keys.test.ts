import { expect, it } from "vitest";
import { isTaken, keyName, KEY_HELP } from "../src/ui/keys";

const press = (key: string, shiftKey = false) => keyName({ key, shiftKey });

it("tells a letter with Shift from the letter, and not with Caps Lock", () => {
  expect([press("l"), press("L"), press("L", true), press("l", true)]).toEqual(["l", "l", "Shift L", "Shift L"]);
  expect([press("ArrowLeft"), press("ArrowLeft", true)]).toEqual(["ArrowLeft", "Shift ArrowLeft"]);
  expect([press("?", true), press("$", true), press("Home", true)]).toEqual(["?", "$", "Home"]);
});

it("leaves a key to the element that has the focus only where it means something there", () => {
  const element = (html: string, selector = "*") => {
    const box = document.createElement("div");
    box.append(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
    return box.querySelector(selector);
  };
  const slider = element("<input type=range>");
  expect(["ArrowLeft", "Home", "PageUp"].map((key) => isTaken(slider, key))).toEqual([true, true, true]);
  expect([".", " ", "f"].map((key) => isTaken(slider, key))).toEqual([false, false, false]);
  const box = element("<input type=checkbox>");
  expect([isTaken(box, " "), isTaken(box, "ArrowLeft")]).toEqual([true, false]);
  for (const html of ["<input>", "<input type=search>", "<textarea></textarea>", "<select></select>"])
    expect(isTaken(element(html), "f")).toBe(true);
  expect(isTaken(element("<dialog><button></button></dialog>", "button"), "f")).toBe(true);
  expect([isTaken(element("<button></button>"), " "), isTaken(element("<button></button>"), "f")]).toEqual([
    true,
    false,
  ]);
  expect(isTaken(document.body, " ")).toBe(false);
});

it("lists every key once", () => {
  const keys = KEY_HELP.map(([key]) => key);
  expect(new Set(keys).size).toBe(keys.length);
});
