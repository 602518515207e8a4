/** The moves of the studied game with its variations, comments and marks. */
import { Fragment } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { moveNumber } from "../../chess";
import { signed } from "../../format";
import { lineTo, mainLine, ROOT, variationsOf, type GameTree } from "../../tree";
import type { Review } from "./useAnalysis";

const GLYPHS: Record<number, string> = { 1: "!", 2: "?", 3: "!!", 4: "??", 5: "!?", 6: "?!" };

interface Props {
  tree: GameTree;
  at: number;
  review: Review | null;
  onShow: (at: number) => void;
}

export function MoveTree({ tree, at, review, onShow }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const main = useMemo(() => mainLine(tree), [tree]);
  const variations = useMemo(() => variationsOf(tree), [tree]);
  useEffect(() => {
    const list = box.current;
    const current = list?.querySelector<HTMLElement>("[aria-current=true]");
    if (!list || !current) return;
    const top = current.offsetTop;
    if (top < list.scrollTop || top + 30 > list.scrollTop + list.clientHeight)
      list.scrollTop = top - list.clientHeight / 2;
  }, [at]);

  const cell = (index: number, ply: number) => {
    const move = tree.moves[index];
    if (!move) return null;
    const judged = review?.moves[ply];
    const mark = judged?.mark || move.nags.map((nag) => GLYPHS[nag] ?? "").join("");
    return (
      <button type="button" class="mv" aria-current={index === at} onClick={() => onShow(index)}>
        {move.san}
        {mark && <span class={`mk ${mark === "??" ? "q2" : "q1"}`}>{mark}</span>}
        {judged && judged.loss >= 0.15 && <span class="ls num">{signed(-judged.loss)}</span>}
      </button>
    );
  };

  const rows: { number: number; cells: [number | null, number | null] }[] = [];
  main.forEach((_, ply) => {
    const { number, white } = moveNumber(tree.start, ply);
    const last = rows[rows.length - 1];
    const hasNotes =
      variations.some((variation) => variation.instead === main[ply - 1]) ||
      (tree.moves[main[ply - 1] ?? -1]?.comment ?? "") !== "";
    if (last?.number === number && !white && !hasNotes) last.cells[1] = ply;
    else rows.push({ number, cells: white ? [ply, null] : [null, ply] });
  });

  return (
    <div class="moves" ref={box} role="region" aria-label="Moves" tabIndex={0}>
      <table>
        <tbody>
          {tree.comment && (
            <tr>
              <td colSpan={3} class="comment">
                {tree.comment}
              </td>
            </tr>
          )}
          {rows.map(({ number, cells }) => (
            <Fragment key={`${number}-${cells[0] ?? "x"}`}>
              <tr>
                <td class="n">{number}</td>
                <td>{cells[0] === null ? <span class="mv dim">…</span> : cell(main[cells[0]] ?? ROOT, cells[0])}</td>
                <td>{cells[1] === null ? null : cell(main[cells[1]] ?? ROOT, cells[1])}</td>
              </tr>
              {cells
                .filter((ply) => ply !== null)
                .map((ply) => (
                  <Notes
                    key={ply}
                    tree={tree}
                    at={at}
                    index={main[ply] ?? ROOT}
                    variations={variations}
                    onShow={onShow}
                  />
                ))}
            </Fragment>
          ))}
        </tbody>
      </table>
      {main.length === 0 && <p class="dim pad">Play a move on the board, or open a game.</p>}
    </div>
  );
}

interface NotesProps {
  tree: GameTree;
  at: number;
  index: number;
  variations: ReturnType<typeof variationsOf>;
  onShow: (at: number) => void;
}

/** The comment of a main-line move, and the variations that replace it. */
function Notes({ tree, at, index, variations, onShow }: NotesProps) {
  const comment = tree.moves[index]?.comment ?? "";
  const beside = variations.filter((variation) => variation.instead === index);
  if (!comment && beside.length === 0) return null;
  return (
    <tr>
      <td colSpan={3}>
        {comment && <div class="comment">{comment}</div>}
        {beside.map(({ moves }) => (
          <div key={moves[0]} class="var">
            {moves.map((each, order) => {
              const move = tree.moves[each];
              const { number, white } = moveNumber(tree.start, lineTo(tree, each).length - 1);
              return (
                <Fragment key={each}>
                  <button type="button" class="hm" aria-current={each === at} onClick={() => onShow(each)}>
                    {white ? `${number}. ` : order === 0 ? `${number}… ` : ""}
                    {move?.san}
                  </button>
                  {move?.comment && <span class="dim"> {move.comment} </span>}
                </Fragment>
              );
            })}
          </div>
        ))}
      </td>
    </tr>
  );
}
