/** A short tour over the views. It covers nothing, and can be left at any time. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { go, route } from "../router";
import { writeSetting } from "../store";

interface Stop {
  view: string;
  query: Record<string, string>;
  title: string;
  text: string;
}

export const STOPS: readonly Stop[] = [
  {
    view: "play",
    query: { variant: "atomic" },
    title: "Play",
    text: "Choose a variant, an opponent and its strength, then Start. Drag, click, or type a move. Below the moves the opponent says what it expected; H asks it for a hint, U takes a move back.",
  },
  {
    view: "study",
    query: { variant: "atomic" },
    title: "Study",
    text: "The search runs while you look: arrows show where its visits go, the list shows visits beside the net’s first guess. Open loads a PGN and finds its mistakes. The tabs show the search tree, playout by playout, and the inside of the net.",
  },
  {
    view: "train",
    query: {},
    title: "Train",
    text: "A recipe starts a run on this machine. You see its curves, the games that it plays now, old games with how they were judged, and what each net finds without a search. It goes on when the page is closed.",
  },
  {
    view: "nets",
    query: {},
    title: "Nets",
    text: "Cards of the shipped nets and of yours, their ratings with error bars, and matches between any two players, watched live. Keys: ? lists them all.",
  },
];

/** The stop of the tour that is shown; null without a tour. */
export const tourStop = signal<number | null>(null);

export function startTour(): void {
  showStop(0);
}

function showStop(number: number): void {
  const stop = STOPS[number];
  if (!stop) {
    leaveTour();
    return;
  }
  tourStop.value = number;
  go(stop.view, [], stop.query);
}

export function leaveTour(): void {
  tourStop.value = null;
  writeSetting("tour", "done");
}

export function Tour() {
  const number = tourStop.value;
  const box = useRef<HTMLDivElement>(null);
  const stop = number === null ? undefined : STOPS[number];
  useEffect(() => {
    if (number !== null) box.current?.focus();
  }, [number]);
  // Another view than the tour's ends it.
  const { view } = route.value;
  useEffect(() => {
    if (stop && view !== stop.view) leaveTour();
  }, [view]);
  if (!stop || number === null) return null;
  return (
    <div
      class="tour card"
      ref={box}
      role="dialog"
      aria-labelledby="tour-title"
      aria-describedby="tour-text"
      tabIndex={-1}
      onKeyDown={(event) => event.key === "Escape" && leaveTour()}
    >
      <div class="between">
        <h2 id="tour-title">{stop.title}</h2>
        <span class="sm mut num">
          {number + 1} of {STOPS.length}
        </span>
      </div>
      <p id="tour-text">{stop.text}</p>
      <div class="between">
        <button type="button" class="btn ghost" onClick={leaveTour}>
          Leave the tour
        </button>
        <span class="grow" />
        {number > 0 && (
          <button type="button" class="btn" onClick={() => showStop(number - 1)}>
            Back
          </button>
        )}
        <button type="button" class="btn pri" onClick={() => showStop(number + 1)}>
          {number + 1 < STOPS.length ? "Next" : "Done"}
        </button>
      </div>
    </div>
  );
}
