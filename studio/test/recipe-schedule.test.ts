import { describe, expect, it } from "vitest";
import { formatSchedule, parseSchedule, scheduleProblem } from "../src/recipe";

describe("schedules of a recipe", () => {
  it("are read and written as the recipe has them", () => {
    const steps = parseSchedule("[[0, 16], [20, 32.5]]");
    expect(steps).toEqual([
      { cycle: "0", value: "16" },
      { cycle: "20", value: "32.5" },
    ]);
    expect(formatSchedule(steps ?? [])).toBe("[[0, 16], [20, 32.5]]");
  });
  it("are not plain values or lists of numbers", () => {
    expect(parseSchedule("16")).toBeNull();
    expect(parseSchedule("")).toBeNull();
    expect(parseSchedule("[1, 2]")).toBeNull();
    expect(parseSchedule("[]")).toBeNull();
  });
  it("survive a step that is half typed", () => {
    const steps = [
      { cycle: "0", value: "16" },
      { cycle: "", value: "" },
    ];
    expect(parseSchedule(formatSchedule(steps))).toEqual(steps);
    expect(scheduleProblem(steps)).toBe("A cycle is a whole number.");
  });
  it("begin with cycle 0 and rise", () => {
    const step = (cycle: string, value = "1") => ({ cycle, value });
    expect(scheduleProblem([step("0"), step("5")])).toBeNull();
    expect(scheduleProblem([step("1")])).toBe("The first step is for cycle 0.");
    expect(scheduleProblem([step("0"), step("5"), step("5")])).toBe("Cycles rise from step to step.");
    expect(scheduleProblem([step("0", "")])).toBe("Every step has a value.");
  });
});
