/** A traced search as it stood at a playout. */
import type { PlayoutTrace, TracedChoice } from "./messages";
import type { DrawnNode } from "./searchTree";

export const PHASES = ["select", "expand", "evaluate", "back up"] as const;
export type Phase = (typeof PHASES)[number];
export const phaseCount = PHASES.length;

/** The tree before playout `number`, or after it; the nodes of its path are there in any case. */
export function replay(trace: PlayoutTrace, number: number, after: boolean): DrawnNode[] {
  const visits = new Map<number, { visits: number; value: number; proven: number | null }>();
  trace.playouts.slice(0, after ? number + 1 : number).forEach((step) => {
    step.path.forEach((id, index) => {
      visits.set(id, {
        visits: step.visits[index] ?? 0,
        value: step.values[index] ?? 0,
        proven: step.proven[index] ?? null,
      });
    });
  });
  for (const id of trace.playouts[number]?.path ?? [])
    if (!visits.has(id)) visits.set(id, { visits: 0, value: 0, proven: null });
  return [...visits].map(([id, known]) => {
    const node = trace.nodes[id];
    return { id, parent: node?.parent ?? -1, san: node?.san ?? "", prior: node?.prior ?? 0, ...known };
  });
}

/** Lengths of Q and U as bars, shares of the longest: the sums can be compared by eye, also where Q is below 0. */
export function sumBars(choices: readonly Pick<TracedChoice, "q" | "u">[]): { q: number; u: number }[] {
  const floor = Math.min(0, ...choices.map((each) => each.q));
  const most = Math.max(0.01, ...choices.map((each) => each.q - floor + each.u));
  return choices.map((each) => ({ q: (each.q - floor) / most, u: each.u / most }));
}
