/** Scores between players in the matches of this server: a cell shows its games, an empty one starts a match. */
import { useEffect, useState } from "preact/hooks";
import { count, percent } from "../format";
import type { MatchGames, MatchTable, PlayerCard, TableCell } from "../messages";
import { formatRoute } from "../router";
import { sayError, server } from "../store";
import { Dialog } from "../ui/controls";
import { matchPlayers } from "./MatchPanel";
import { GameReplay } from "./train/GameReplay";

interface Props {
  variant: string;
  /** Changes when a match has been played. */
  version: string;
  onPair: (first: string, second: string) => void;
}

const MOST_PLAYERS = 6;
/** Which players come first. */
const KINDS: readonly PlayerCard["kind"][] = ["net", "core", "engine", "run"];

export function MatchTableCard({ variant, version, onPair }: Props) {
  const [table, setTable] = useState<MatchTable | null>(null);
  const [open, setOpen] = useState<TableCell | null>(null);
  useEffect(
    () => server.onOpen(() => void server.ask("match.table", { variant }, "match.table").then(setTable, sayError)),
    [variant, version],
  );
  const cards = matchPlayers(variant).sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind));
  const cells = table?.cells ?? [];
  // Players that have played, then others up to a full table.
  const ids = [...new Set([...cells.map((cell) => cell.row), ...cards.map((card) => card.id)])].slice(
    0,
    Math.max(MOST_PLAYERS, new Set(cells.map((cell) => cell.row)).size),
  );
  const name = (id: string) => cards.find((card) => card.id === id)?.name ?? id;
  return (
    <div class="card">
      <header>
        <h2>Who beats whom</h2>
        <span class="sp" />
        <span class="sm mut">score of the row; press a cell for its games, + for a match</span>
      </header>
      <div class="xtab scrollx" tabIndex={0} role="region" aria-label="Table of matches">
        <table>
          <thead>
            <tr>
              <td />
              {ids.map((id) => (
                <th key={id} scope="col">
                  {name(id)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {ids.map((row) => (
              <tr key={row}>
                <th scope="row">{name(row)}</th>
                {ids.map((column) => {
                  const cell = cells.find((each) => each.row === row && each.column === column);
                  if (row === column && !cell)
                    return (
                      <td key={column} class="self">
                        ·
                      </td>
                    );
                  return (
                    <td key={column}>
                      {cell && played(cell) > 0 ? (
                        <button
                          type="button"
                          class="cell num"
                          style={{ "--score": score(cell) }}
                          onClick={() => setOpen(cell)}
                        >
                          <span class="sr">{`${name(row)} against ${name(column)}: `}</span>
                          <b>{percent(score(cell))}</b> <small>{count(played(cell))} games</small>
                        </button>
                      ) : (
                        <button
                          type="button"
                          class="cell none"
                          aria-label={`Match of ${name(row)} against ${name(column)}`}
                          onClick={() => onPair(row, column)}
                        >
                          +
                        </button>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {open && (
        <GamesDialog title={`${name(open.row)} – ${name(open.column)}`} cell={open} onClose={() => setOpen(null)} />
      )}
    </div>
  );
}

function played(cell: TableCell): number {
  return cell.wins + cell.draws + cell.losses;
}

function score(cell: TableCell): number {
  return (cell.wins + cell.draws / 2) / Math.max(1, played(cell));
}

function GamesDialog({ title, cell, onClose }: { title: string; cell: TableCell; onClose: () => void }) {
  const [found, setFound] = useState<MatchGames[]>([]);
  useEffect(() => {
    Promise.all(cell.matches.slice(0, 4).map((id) => server.ask("match.games", { id }, "match.games"))).then(
      setFound,
      sayError,
    );
  }, [cell]);
  return (
    <Dialog title={title} onClose={onClose} wide>
      <p class="mut num">
        {cell.wins} won, {cell.draws} drawn, {cell.losses} lost
      </p>
      <div class="game-grid in-dialog">
        {found.flatMap((match) =>
          match.games.map((game, index) => (
            <a
              key={`${match.id}-${game.id}`}
              class="card game-card"
              href={formatRoute("study", [], { variant: game.variant, fen: game.start, moves: game.moves.join(" ") })}
            >
              <GameReplay game={game} />
              <span class="sm mut">White: {match.first_is_white[index] ? match.first : match.second}</span>
            </a>
          )),
        )}
      </div>
    </Dialog>
  );
}
