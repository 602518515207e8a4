import { expect, it } from "vitest";
import { clockText, count, duration, finePercent, percent, rate, short, signed } from "../src/format";

it("shows tenths only in the last ten seconds, and never a time above what is left", () => {
  expect(clockText(252_000)).toBe("4:12");
  expect(clockText(10_000)).toBe("0:10");
  expect(clockText(9_990)).toBe("0:09.9");
  expect(clockText(0)).toBe("0:00.0");
  expect(clockText(-5)).toBe("0:00.0");
  expect(clockText(3_661_000)).toBe("1:01:01");
});

it("signs values, but not zero", () => {
  expect(signed(0.534)).toBe("+0.53");
  expect(signed(-0.534)).toBe("−0.53");
  expect(signed(-0.001)).toBe("0.00");
});

it("writes whole numbers with one minus sign, and zero without", () => {
  expect([1420, -112, 0, -0, Math.ceil(-0.3)].map(count)).toEqual(["1,420", "−112", "0", "0", "0"]);
});

it("shortens", () => {
  expect(percent(0.125)).toBe("13 %");
  expect(finePercent(0.00042)).toBe("0.04 %");
  expect(finePercent(0.88)).toBe("88 %");
  expect(finePercent(0)).toBe("0 %");
  expect(duration(355.9)).toBe("5:55");
  expect(short(620_000)).toBe("620 k");
  expect(short(1_240_000)).toBe("1.24 M");
  expect(short(41.2)).toBe("41.2");
});

it("writes speeds without an exponent", () => {
  expect([260, 53.4, 9.96, 2.6, 0.31].map(rate)).toEqual(["260", "53", "10.0", "2.6", "0.31"]);
});
