/** A finished self-play game that is replayed on a small board; a hidden tab stops it. */
import { useEffect, useState } from "preact/hooks";
import { MiniBoard } from "../../board/MiniBoard";
import type { RunGame } from "../../messages";

const STEP_MS = 700;
const END_STEPS = 4;

export function GameReplay({ game }: { game: RunGame }) {
  const plies = game.moves.length;
  const [at, setAt] = useState(() => game.id % Math.max(1, Math.floor(plies / 2)));
  useEffect(() => {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      setAt(plies);
      return;
    }
    const timer = setInterval(
      () => {
        if (!document.hidden) setAt((ply) => (ply >= plies + END_STEPS ? 0 : ply + 1));
      },
      STEP_MS + (game.id % 7) * 40,
    );
    return () => clearInterval(timer);
  }, [game.id, plies]);
  const ply = Math.min(at, plies);
  const ended = ply === plies;
  return (
    <div class={ended ? "wb end" : "wb"}>
      <div class="wb-board" data-result={ended ? game.result : ""}>
        <MiniBoard
          fen={`${game.boards[ply] ?? ""} w`}
          lastMove={game.moves[ply - 1] ?? null}
          label={`Game ${game.id}, ${plies} plies, ${game.result} ${game.reason}`}
        />
      </div>
      <span class="cap2">
        <b>#{game.id}</b>
        <span>{ended ? game.result : `ply ${ply}`}</span>
      </span>
    </div>
  );
}
