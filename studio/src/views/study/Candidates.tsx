/** The moves that a search considers: visits against prior, value and line of each. */
import { useMemo, useRef, useState } from "preact/hooks";
import { proofText, SteadyOrder } from "../../analysis";
import { percent, signed } from "../../format";
import type { AnalysisUpdate } from "../../messages";

interface Props {
  update: AnalysisUpdate | null;
  /** Why there is no analysis. */
  reason: string | null;
  onPlay: (uci: string) => void;
  onHover: (uci: string | null) => void;
}

const SHOWN = 12;

export function Candidates({ update, reason, onPlay, onHover }: Props) {
  const order = useRef(new SteadyOrder());
  const fen = useRef("");
  const [held, setHeld] = useState(false);
  if (update && update.fen !== fen.current) {
    fen.current = update.fen;
    order.current.reset();
  }
  const rows = useMemo(
    () => (update ? order.current.sort(update.candidates, held).slice(0, SHOWN) : []),
    [update, held],
  );
  return (
    <>
      <div class="chead" aria-hidden="true">
        <span />
        <span>Move</span>
        <span class="legend-pair">
          <span class="lg">
            <i class="key-visits" />
            visits
          </span>
          <span class="lg">
            <i class="key-prior" />
            prior
          </span>
        </span>
        <span class="r">Share</span>
        <span class="r">Value</span>
      </div>
      <div class="cand" onPointerEnter={() => setHeld(true)} onPointerLeave={() => (setHeld(false), onHover(null))}>
        {rows.map((row, index) => (
          <button
            key={row.uci}
            type="button"
            class="crow"
            data-uci={row.uci}
            onPointerEnter={() => onHover(row.uci)}
            onClick={() => onPlay(row.uci)}
          >
            <span class={`rk ${index === 0 ? "a1" : row.share >= 0.03 ? "a2" : ""}`}>{index + 1}</span>
            <span class="mvn">{row.san}</span>
            <span class="bars">
              <div>
                <i style={{ width: percentWidth(row.share) }} />
              </div>
              <div class="pr">
                <i style={{ width: percentWidth(row.prior) }} />
              </div>
            </span>
            <span class="r num">
              <b>{percent(row.share)}</b>
              <span class="er">{percent(row.prior)}</span>
            </span>
            <span class="r num">
              {row.proven !== null ? (
                <b class="proof">{proofText(row.proven)}</b>
              ) : row.visits ? (
                <>
                  <b>{signed(row.value)}</b>
                  {row.net_value !== null && <span class="er">net {signed(row.net_value)}</span>}
                </>
              ) : (
                <span class="er">not visited</span>
              )}
            </span>
            <span class="pv">{row.pv.slice(1).join(" ") || "\u00a0"}</span>
          </button>
        ))}
        {!update && (
          <div class="empty" aria-busy={reason === null}>
            {reason ?? "No analysis yet."}
          </div>
        )}
      </div>
    </>
  );
}

function percentWidth(share: number): string {
  return `${Math.min(100, 100 * share).toFixed(1)}%`;
}
