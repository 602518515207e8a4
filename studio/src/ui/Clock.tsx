/** The clock of a side: it counts down here between the messages of the server. */
import { useEffect, useRef, useState } from "preact/hooks";
import { clockText } from "../format";
import type { ClockState, Color } from "../messages";

const LOW_MS = 10_000;

export function Clock({ clock, color }: { clock: ClockState; color: Color }) {
  const running = clock.running === color;
  const received = useRef(performance.now());
  const given = useRef(clock);
  if (given.current !== clock) {
    given.current = clock;
    received.current = performance.now();
  }
  const [, tick] = useState(0);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => tick((number) => number + 1), 100);
    return () => clearInterval(timer);
  }, [running]);
  const left = clock[color] - (running ? performance.now() - received.current : 0);
  const low = left < LOW_MS;
  return (
    <div
      class={`clock${running ? " on" : ""}${low && running ? " low" : ""}`}
      role="timer"
      aria-label={`${color} has ${clockText(left)}${running ? ", running" : ""}`}
    >
      {clockText(left)}
    </div>
  );
}
