/** Icons on a 24 grid, drawn with lines. */
const PATHS = {
  play: "M12 3.5a3 3 0 0 1 1.8 5.4c.3 2.6 1.3 4 2.2 5.6H8c.9-1.6 1.900-3 2.200-5.600A3 3 0 0 1 12 3.500ZM6.500 20.500h11l-1-3h-9Z",
  study: "M10.5 4a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM15.3 15.3 20.5 20.5M7.8 11.8l2-2.4 1.7 1.6 2-2.8",
  train: "M3 17.5c3 0 3.5-9 7-9s3 5.5 6 5.5 3-6.5 5-6.5M3 21h18",
  nets: "M4 5.5h4v4H4ZM4 14.5h4v4H4ZM16 10h4v4h-4ZM8 7.5l8 4M8 16.5l8-4",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M5 5l1.7 1.7M17.3 17.3 19 19M5 19l1.7-1.7M17.3 6.7 19 5",
  key: "M3.5 6.5h17v11h-17ZM7 10h.01M10.5 10h.01M14 10h.01M17 10h.01M8 14h8",
  flip: "M7 4v16M7 4 4 7M7 4l3 3M17 20V4M17 20l-3-3M17 20l3-3",
  undo: "M9 7 4.5 11.5 9 16M5 11.5h9a5.5 5.5 0 0 1 0 11h-2",
  flag: "M6 21V4M6 4.5h11l-2.5 4 2.5 4H6",
  half: "M5 16.5c3-4 5 2 7-2s4-3 7-2M5 9.5c3-4 5 2 7-2s4-3 7-2",
  bulb: "M9 18h6M10 21h4M12 3a6 6 0 0 1 3.6 10.8c-.6.5-.6 1.2-.6 2.2H9c0-1 0-1.7-.6-2.2A6 6 0 0 1 12 3Z",
  first: "M18 6l-7 6 7 6M7 6v12",
  prev: "M15 6l-7 6 7 6",
  next: "M9 6l7 6-7 6",
  last: "M6 6l7 6-7 6M17 6v12",
  pause: "M8 5v14M16 5v14",
  go: "M8 5l11 7-11 7Z",
  stop: "M6.5 6.5h11v11h-11Z",
  copy: "M9 9h10v11H9ZM5 15V4h10",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  step: "M5 5l9 7-9 7ZM18 5v14",
  talk: "M4 5h16v11H10l-4.5 4V16H4Z",
  folder: "M3.5 6h6l2 2.5h9V18.5h-17Z",
  edit: "M4 20h4L19.5 8.5l-4-4L4 16Z",
  save: "M5 4h11l3 3v13H5ZM8 4v5h7V4M8 20v-6h8v6",
  muted: "M4 9.5v5h4l5 4V5.5l-5 4ZM17 9l4 6M21 9l-4 6",
  sound: "M4 9.5v5h4l5 4V5.5l-5 4ZM16.5 9a4 4 0 0 1 0 6M19 6.500a8 8 0 0 1 0 11",
  again: "M5 12a7 7 0 1 1 2 5M5 17v-4h4",
  link: "M10 14a4 4 0 0 0 6 .5l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-6-.500l-3 3a4 4 0 0 0 5.700 5.700l1-1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="ico" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
