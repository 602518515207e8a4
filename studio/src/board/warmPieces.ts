/** Read the pictures of the pieces one by one, before a board needs all of them in one task of the main thread. */

const PIECES = ["p", "n", "b", "r", "q", "k"].flatMap((letter) => [`w${letter}`, `b${letter}`]);

/** A browser reads a picture of a style sheet when the first element shows it: 3 ms for each piece. */
export function warmPieces(): void {
  const sample = document.createElement("span");
  sample.setAttribute("aria-hidden", "true");
  document.body.append(sample);
  const left = [...PIECES];
  const next = () => {
    const piece = left.shift();
    if (piece === undefined) {
      sample.remove();
      return;
    }
    sample.className = `piece-picture warm ${piece}`;
    getComputedStyle(sample).getPropertyValue("background-image");
    setTimeout(next);
  };
  setTimeout(next);
}
