"""Do the marks of `selfmate analyse` hold? Games of Stockfish, each move judged by it and by a player.

    python bench/analysis_marks.py games data --stockfish /usr/games/stockfish --games 100
    python bench/analysis_marks.py screen data --stockfish /usr/games/stockfish
    python bench/analysis_marks.py marks data --net heuristic-1
    python bench/analysis_marks.py evaluate data --stockfish /usr/games/stockfish
    python bench/analysis_marks.py table data

`games` plays them from seeded openings: those with even numbers at full strength, the others at `UCI_Elo` 1600.
`screen` searches every position at depth 12, from the end of each game to its begin. `marks` runs the analysis, for as
many players as wanted. `evaluate` searches the positions before and after a move at depth 18, for every move that any
player has marked and every move that lost a pawn or more at depth 12. `table` compares, for the half of the games with
which weights and bounds were chosen, and for the other. Each part but the last writes lines of JSON into the folder and
skips what is there already, so it can be stopped at any time.

The loss of a move is the score of the position before it less that of the position after it, in pawns for the side
that played it; 0 if it is Stockfish's own choice. Scores are held within 10 pawns, as on Lichess; a mate is 10.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Final, NamedTuple

import chess
import chess.engine

MOST_PLIES: Final = 160
"""Longer games are broken off."""
FULL_NODES, WEAK_NODES = 50_000, 10_000
WEAK_ELO: Final = 1600
SCREEN_DEPTH, DEPTH = 12, 18
MATE_PAWNS: Final = 10.0
SCREENED_LOSS: Final = 1.0
"""Moves that lose this much at depth 12 are evaluated at depth 18."""
SMALL_LOSS, LARGE_LOSS = 0.5, 3.0

HALVES: Final = ("tuning", "verification")
"""Weights and bounds of the marks were chosen with the games of the first, and tried with those of the second."""

Line = dict[str, Any]


# -- the data ------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[Line]:
    """Return the games of a file; none if it does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def half_of(number: int) -> str:
    """Return the half of a game; each has games of both strengths."""
    return HALVES[number % 4 // 2]


def make(path: Path, todo: list[Line], work: Callable[[Line], Line], workers: int) -> None:
    """Append the work on each line that is not in the file yet."""
    done = {(line["number"], line.get("ply")) for line in lines_of(path)}
    todo = [line for line in todo if (line["number"], line.get("ply")) not in done]
    todo.sort(key=lambda line: line["number"] % 2 == 0)  # games with more errors first
    with ThreadPoolExecutor(workers) as pool, path.open("a") as file:
        for future in as_completed([pool.submit(work, line) for line in todo]):
            print(json.dumps(future.result()), file=file, flush=True)


def open_engine(path: str, **options: str | int | bool) -> chess.engine.SimpleEngine:
    """Return a running Stockfish with one thread."""
    engine = chess.engine.SimpleEngine.popen_uci(path)
    engine.configure({"Threads": 1, "Hash": 64, **options})
    return engine


def play_game(stockfish: str, line: Line) -> Line:
    """Return the moves of a game from an opening, both sides of the same strength."""
    board = chess.Board(line["fen"])
    elo = line["elo"]
    options: dict[str, str | int | bool] = {"UCI_LimitStrength": True, "UCI_Elo": elo} if elo else {}
    with open_engine(stockfish, **options) as engine:
        limit = chess.engine.Limit(nodes=WEAK_NODES if elo else FULL_NODES)
        while len(board.move_stack) < MOST_PLIES and not board.is_game_over(claim_draw=True):
            move = engine.play(board, limit, game=line["number"]).move
            assert move is not None
            board.push(move)
    return {**line, "moves": [move.uci() for move in board.move_stack]}


def screen_game(stockfish: str, line: Line) -> Line:
    """Return Stockfish's loss of every move of a game at depth 12."""
    board = board_before(line, len(line["moves"]))
    losses: list[float] = []
    with open_engine(stockfish) as engine:
        after, _ = evaluate(engine, board, SCREEN_DEPTH, line["number"])
        while board.move_stack:
            move = board.pop()
            before, choice = evaluate(engine, board, SCREEN_DEPTH, line["number"])
            losses.insert(0, loss_of(board, before, after, move, choice))
            after = before
    return {"number": line["number"], "losses": losses}


def evaluate_move(stockfish: str, games: dict[int, Line], line: Line) -> Line:
    """Return Stockfish's loss of one move at depth 18, with both scores in pawns for White and its own choice."""
    game = games[line["number"]]
    board = board_before(game, line["ply"] + 1)
    with open_engine(stockfish) as engine:  # another game: an empty table, else the first search leads the second
        after, _ = evaluate(engine, board, DEPTH, 1)
        move = board.pop()
        before, choice = evaluate(engine, board, DEPTH, 2)
    return {**line, "scores": [before, after], "choice": choice, "loss": loss_of(board, before, after, move, choice)}


def board_before(line: Line, ply: int) -> chess.Board:
    """Return the board of a game before the move with this index."""
    board = chess.Board(line["fen"])
    for move in line["moves"][:ply]:
        board.push_uci(move)
    return board


def evaluate(engine: chess.engine.SimpleEngine, board: chess.Board, depth: int, game: int) -> tuple[float, str | None]:
    """Return the score in pawns for White, and Stockfish's choice; None if the game is over."""
    outcome = board.outcome(claim_draw=True)
    if outcome is not None:
        return (0.0 if outcome.winner is None else MATE_PAWNS if outcome.winner else -MATE_PAWNS), None
    info = engine.analyse(board, chess.engine.Limit(depth=depth), game=game)
    points = info["score"].white().score(mate_score=100_000)
    assert points is not None
    return max(-MATE_PAWNS, min(MATE_PAWNS, points / 100)), info["pv"][0].uci()


def loss_of(board: chess.Board, before: float, after: float, move: chess.Move, choice: str | None) -> float:
    """Return the loss in pawns of a move on a board, from the scores for White before and after it."""
    lost = before - after if board.turn == chess.WHITE else after - before
    return 0.0 if move.uci() == choice else round(max(0.0, lost), 2)


def analyse_game(player: Any, limit: Any, line: Line) -> Line:
    """Return the judgement of every move of a game, and the processor seconds that it took."""
    from selfmate import Game
    from selfmate.app.judge import analyse_game as judge_moves

    game = Game("chess", line["fen"])
    game.add_line(line["moves"])
    began = time.process_time()
    judged = [
        {
            "value": round(each.white_value, 3),
            "lost": round(each.lost, 3),
            "alpha_beta": [] if each.check is None else [round(loss, 3) for loss in each.check.alpha_beta],
            "judge": None if each.check is None or each.check.judge is None else round(each.check.judge, 3),
            "checked": 0.0 if each.check is None else round(each.check.loss, 4),
            "mark": each.mark,
        }
        for each in judge_moves(player, game, limit)
    ]
    return {"number": line["number"], "seconds": round(time.process_time() - began, 3), "moves": judged}


# -- the comparison ------------------------------------------------------------------------------


def table(folder: Path, from_game: int) -> None:
    """Print for each player and half how many moves of each loss have which mark, and the marks that do not hold."""
    games = {line["number"]: line for line in lines_of(folder / "games.jsonl")}
    screened = {line["number"]: line["losses"] for line in lines_of(folder / "screen.jsonl")}
    evaluated = {(line["number"], line["ply"]): line["loss"] for line in lines_of(folder / "evaluations.jsonl")}
    for path in sorted(folder.glob("marks-*.jsonl")):
        for half in HALVES:
            analysed = [
                line
                for line in lines_of(path)
                if line["number"] in screened and half_of(line["number"]) == half and line["number"] >= from_game
            ]
            rows = [
                Row(number, ply, evaluated.get((number, ply), loss), judged["mark"], (number, ply) in evaluated)
                for line in analysed
                for number in [line["number"]]
                for ply, (loss, judged) in enumerate(zip(screened[number], line["moves"], strict=False))
            ]
            full = sum(not line["number"] % 2 for line in analysed)
            seconds = sum(line["seconds"] for line in analysed) / max(1, len(rows))
            print(
                f"{path.stem.removeprefix('marks-')}, {half}: {len(analysed)} games ({full} at full strength), ", end=""
            )
            print(f"{len(rows)} moves, {seconds:.2f} s a move")
            compare(rows, games)


class Row(NamedTuple):
    """A move of a game: Stockfish's loss in pawns (at depth 18 if `evaluated`), and its mark."""

    number: int
    ply: int
    loss: float
    mark: str
    evaluated: bool


def compare(rows: list[Row], games: dict[int, Line]) -> None:
    """Print how many moves of each loss have which mark, and the marks that do not hold."""
    for low, high in ((0.0, SMALL_LOSS), (SMALL_LOSS, 1.0), (1.0, 2.0), (2.0, LARGE_LOSS), (LARGE_LOSS, 99.0)):
        some = [row.mark for row in rows if low <= row.loss < high]
        counts = "  ".join(f"{mark} {some.count(mark):4d}" for mark in ("?!", "?", "??"))
        share = sum(map(bool, some)) / max(1, len(some))
        print(f"  loss {low:3.1f} to {high:4.1f}: {len(some):5d} moves  {counts}  marked {share:6.1%}")
    for row in rows:
        if row.mark and (row.loss < SMALL_LOSS or not row.evaluated):
            move, fen = games[row.number]["moves"][row.ply], board_before(games[row.number], row.ply).fen()
            word = "does not hold" if row.evaluated else "not evaluated yet"
            print(f"  {word}: game {row.number}, {move}{row.mark}, loss {row.loss}: {fen}")


def wanted(folder: Path) -> list[Line]:
    """Return the moves that are evaluated at depth 18: those with a mark first, then by their loss at depth 12."""
    found: dict[tuple[int, int], float] = {}
    for path in folder.glob("marks-*.jsonl"):
        for line in lines_of(path):
            found |= {(line["number"], ply): 99.0 for ply, judged in enumerate(line["moves"]) if judged["mark"]}
    for line in lines_of(folder / "screen.jsonl"):
        for ply, loss in enumerate(line["losses"]):
            if loss >= SCREENED_LOSS:
                found.setdefault((line["number"], ply), loss)
    return [{"number": number, "ply": ply} for number, ply in sorted(found, key=lambda move: -found[move])]


def main() -> None:
    """Run one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("games", "screen", "marks", "evaluate", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stockfish", default="stockfish")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--net", default=None, help="player of `marks` (default: that of the command)")
    parser.add_argument("--visits", type=int, default=None)
    parser.add_argument("--half", choices=HALVES, help="analyse only these games (default: all)")
    parser.add_argument("--from-game", type=int, default=0, help="take only games from this number on")
    parser.add_argument(
        "--share", default="0/1", help="analyse one part of the games, as in 2/3: 0/3 to 2/3 side by side"
    )
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    games = given.folder / "games.jsonl"
    if given.part == "games":
        from selfmate.match.openings import balanced_openings

        fens = balanced_openings("chess", given.games, given.seed)
        todo = [{"number": n, "elo": WEAK_ELO if n % 2 else None, "fen": fen} for n, fen in enumerate(fens)]
        make(games, todo, lambda line: play_game(given.stockfish, line), given.workers)
    elif given.part == "screen":
        path = given.folder / "screen.jsonl"
        make(path, lines_of(games), lambda line: screen_game(given.stockfish, line), given.workers)
    elif given.part == "evaluate":
        path, known = given.folder / "evaluations.jsonl", {line["number"]: line for line in lines_of(games)}
        make(path, wanted(given.folder), lambda line: evaluate_move(given.stockfish, known, line), given.workers)
    elif given.part == "marks":
        from selfmate.app.analyse import Effort, VariantPlayers

        player = VariantPlayers(given.net)("chess", in_game=True)
        limit = Effort(given.visits).limit(player, in_game=True)
        share, shares = map(int, given.share.split("/"))
        path = given.folder / f"marks-{player.name}.jsonl"
        chosen = [line for line in lines_of(games) if given.half in {None, half_of(line["number"])}]
        chosen = [
            line for line in chosen if line["number"] >= given.from_game and line["number"] // 4 % shares == share
        ]
        make(path, chosen, lambda line: analyse_game(player, limit, line), 1)
    else:
        table(given.folder, given.from_game)


if __name__ == "__main__":
    main()
