/** The moves of a game in two columns, and in one line on small screens. */
import { useEffect, useRef } from "preact/hooks";
import { moveNumber } from "../chess";
import type { Mark } from "../review";
import { signed } from "../format";

export interface ListedMove {
  san: string;
  mark?: Mark;
  loss?: number;
}

interface Props {
  start: string;
  moves: ListedMove[];
  /** Number of moves played at the shown position. */
  shown: number;
  onShow: (plies: number) => void;
}

export function MoveTable({ start, moves, shown, onShow }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const current = box.current?.querySelector<HTMLElement>("table [aria-current=true]");
    const list = box.current;
    if (!list) return;
    if (!current) list.scrollTop = 0;
    else if (current.offsetTop < list.scrollTop || current.offsetTop + 30 > list.scrollTop + list.clientHeight)
      list.scrollTop = current.offsetTop - list.clientHeight / 2;
    const inLine = list.querySelector<HTMLElement>(".hmoves [aria-current=true]");
    inLine?.parentElement?.scrollTo({ left: inLine.offsetLeft - 120 });
  }, [shown, moves.length]);
  const rows = new Map<number, [number | null, number | null]>();
  moves.forEach((_, ply) => {
    const { number, white } = moveNumber(start, ply);
    const row = rows.get(number) ?? [null, null];
    row[white ? 0 : 1] = ply;
    rows.set(number, row);
  });
  const button = (ply: number | null) => {
    const move = ply === null ? undefined : moves[ply];
    if (ply === null || !move) return null;
    return (
      <button type="button" class="mv" aria-current={shown === ply + 1} onClick={() => onShow(ply + 1)}>
        {move.san}
        {move.mark && <span class={`mk ${move.mark === "??" ? "q2" : "q1"}`}>{move.mark}</span>}
        {move.mark && move.loss !== undefined && <span class="ls num">{signed(-move.loss)}</span>}
      </button>
    );
  };
  return (
    <div class="moves" ref={box} role="region" aria-label="Moves" tabIndex={0}>
      <table>
        <tbody>
          {[...rows].map(([number, [white, black]]) => (
            <tr key={number}>
              <td class="n">{number}</td>
              <td>{white === null ? <span class="mv dim">…</span> : button(white)}</td>
              <td>{button(black)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <div class="hmoves">
        {moves.map((move, ply) => {
          const { number, white } = moveNumber(start, ply);
          return (
            <button key={ply} type="button" class="hm" aria-current={shown === ply + 1} onClick={() => onShow(ply + 1)}>
              {white ? `${number}. ` : ply === 0 ? `${number}… ` : ""}
              {move.san}
              {move.mark}
            </button>
          );
        })}
        {moves.length === 0 && <span class="dim">No moves yet.</span>}
      </div>
    </div>
  );
}
