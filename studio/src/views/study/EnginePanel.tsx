/** An outside UCI engine beside our analysis: chosen among those that the server was started with, off at first. */
import { useEffect, useState } from "preact/hooks";
import { count } from "../../format";
import type { EngineUpdate } from "../../messages";
import { server, welcome } from "../../store";
import { lineTo, type GameTree } from "../../tree";

interface Props {
  tree: GameTree;
  at: number;
  isOver: boolean;
  onPlay: (uci: string) => void;
}

export function EnginePanel({ tree, at, isOver, onPlay }: Props) {
  const engines = (welcome.value?.engines ?? []).filter(
    (each) => each.variant === null || each.variant === tree.variant.replace(/960$/, ""),
  );
  const [engine, setEngine] = useState("");
  const [update, setUpdate] = useState<EngineUpdate | null>(null);
  const moves = lineTo(tree, at).map((index) => tree.moves[index]?.uci ?? "");
  useEffect(() => {
    setUpdate(null);
    if (!engine || !tree.start || isOver) return;
    let ask = 0;
    const end = server.on("engine.update", (event) => {
      if (event.ask === ask) setUpdate(event);
    });
    const endOpen = server.onOpen(() => {
      ask = server.send("engine.start", { variant: tree.variant, fen: tree.start, moves, engine });
    });
    return () => {
      end();
      endOpen();
      server.send("engine.stop", {});
    };
  }, [engine, tree.variant, tree.start, moves.join(" "), isOver]);
  if (engines.length === 0) return null;
  return (
    <div class="engine-panel" aria-label="Outside engine">
      <div class="between">
        <select
          class="sel"
          aria-label="Outside engine"
          value={engine}
          onChange={(event) => setEngine(event.currentTarget.value)}
        >
          <option value="">No outside engine</option>
          {engines.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name} · {each.detail}
            </option>
          ))}
        </select>
        {update && (
          <span class="sm mut num nowrap">
            depth {update.depth}, {count(update.nodes)} nodes
          </span>
        )}
      </div>
      {update?.lines.map((line) => (
        <button key={line.uci} type="button" class="engine-line" onClick={() => onPlay(line.uci)}>
          <b class="num">{line.score.replace("-", "−")}</b> <span class="sm">{line.pv.join(" ")}</span>
        </button>
      ))}
    </div>
  );
}
