"""Do the marks of `selfmate analyse` hold? Games of Stockfish, each move judged by it and by a player.

    python bench/analysis_marks.py games data --stockfish /usr/games/stockfish --games 100
    python bench/analysis_marks.py evaluate data --stockfish /usr/games/stockfish
    python bench/analysis_marks.py marks data --net heuristic-1
    python bench/analysis_marks.py table data

`games` plays them from seeded openings: those with even numbers at full strength, the others at `UCI_Elo` 1600.
`evaluate` searches every position at depth 18, from the end of each game to its begin. `marks` runs the analysis.
All three write a line of JSON for each game into the folder and skip games that are there already. `table` compares.

The loss of a move is the score of the position before it less that of the position after it, in pawns for the side
that played it; 0 if it is Stockfish's own choice. Scores are held within 10 pawns, as on Lichess; a mate is 10.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import chess
import chess.engine

MOST_PLIES: Final = 160
"""Longer games are broken off."""
FULL_NODES, WEAK_NODES = 50_000, 10_000
WEAK_ELO: Final = 1600
DEPTH: Final = 18
MATE_PAWNS: Final = 10.0
SMALL_LOSS, LARGE_LOSS = 0.5, 3.0

Line = dict[str, Any]


# -- the data ------------------------------------------------------------------------------------


def lines_of(path: Path) -> list[Line]:
    """Return the games of a file; none if it does not exist."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def make(path: Path, todo: list[Line], work: Callable[[Line], Line], workers: int) -> None:
    """Append the work on each game that is not in the file yet."""
    done = {line["number"] for line in lines_of(path)}
    todo = [line for line in todo if line["number"] not in done]
    with ThreadPoolExecutor(workers) as pool, path.open("a") as file:
        for line in pool.map(work, todo):
            print(json.dumps(line), file=file, flush=True)


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


def evaluate_game(stockfish: str, line: Line) -> Line:
    """Return Stockfish's score in pawns from White's view and its choice in every position, the last one included."""
    board = chess.Board(line["fen"])
    for move in line["moves"]:
        board.push_uci(move)
    scores: list[float] = []
    choices: list[str | None] = []
    with open_engine(stockfish) as engine:
        while True:
            score, choice = _evaluate(engine, board, line["number"])
            scores.insert(0, score)
            choices.insert(0, choice)
            if not board.move_stack:
                break
            board.pop()
    return {"number": line["number"], "scores": scores, "choices": choices}


def _evaluate(engine: chess.engine.SimpleEngine, board: chess.Board, game: int) -> tuple[float, str | None]:
    outcome = board.outcome(claim_draw=True)
    if outcome is not None:
        return (0.0 if outcome.winner is None else MATE_PAWNS if outcome.winner else -MATE_PAWNS), None
    info = engine.analyse(board, chess.engine.Limit(depth=DEPTH), game=game)
    points = info["score"].white().score(mate_score=100_000)
    assert points is not None
    return max(-MATE_PAWNS, min(MATE_PAWNS, points / 100)), info["pv"][0].uci()


def analyse_game(player: Any, limit: Any, line: Line) -> Line:
    """Return the judgement of every move of a game, and the processor seconds that it took."""
    from selfmate import Game
    from selfmate.app.judge import analyse_game as judge_moves

    game = Game("chess", line["fen"])
    game.add_line(line["moves"])
    began = time.process_time()
    judged = [
        {"value": each.white_value, "lost": each.lost, "checked": each.checked, "mark": each.mark}
        for each in judge_moves(player, game, limit)
    ]
    return {"number": line["number"], "seconds": round(time.process_time() - began, 3), "moves": judged}


# -- the comparison ------------------------------------------------------------------------------


def losses(line: Line, evaluated: Line) -> Iterator[float]:
    """Yield Stockfish's loss of every move of a game, in pawns."""
    white = chess.Board(line["fen"]).turn
    for ply, move in enumerate(line["moves"]):
        before, after = evaluated["scores"][ply : ply + 2]
        sign = 1 if white == (ply % 2 == 0) else -1
        yield 0.0 if move == evaluated["choices"][ply] else max(0.0, sign * (before - after))


def table(folder: Path) -> None:
    """Print for each player how many moves of each loss have which mark."""
    games = {line["number"]: line for line in lines_of(folder / "games.jsonl")}
    evaluated = {line["number"]: line for line in lines_of(folder / "evaluations.jsonl")}
    for path in sorted(folder.glob("marks-*.jsonl")):
        analysed = lines_of(path)
        pairs = [
            (loss, judged)
            for line in analysed
            if line["number"] in evaluated
            for loss, judged in zip(
                losses(games[line["number"]], evaluated[line["number"]]), line["moves"], strict=True
            )
        ]
        print(f"{path.stem.removeprefix('marks-')}: {len(analysed)} games, {len(pairs)} moves, ", end="")
        print(f"{sum(line['seconds'] for line in analysed) / max(1, len(pairs)):.2f} s a move")
        for low, high in ((0.0, SMALL_LOSS), (SMALL_LOSS, 1.0), (1.0, 2.0), (2.0, LARGE_LOSS), (LARGE_LOSS, 99.0)):
            some = [judged["mark"] for loss, judged in pairs if low <= loss < high]
            marks = "  ".join(f"{mark} {some.count(mark):4d}" for mark in ("?!", "?", "??"))
            share = sum(mark in ("?", "??") for mark in some) / max(1, len(some))
            print(f"  loss {low:3.1f} to {high:4.1f}: {len(some):5d} moves  {marks}  ? or ?? {share:6.1%}")


def main() -> None:
    """Run one of the four parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("games", "evaluate", "marks", "table"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stockfish", default="stockfish")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--net", default=None, help="player of `marks` (default: that of the command)")
    parser.add_argument("--visits", type=int, default=None)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    games = given.folder / "games.jsonl"
    if given.part == "games":
        from selfmate.match.openings import balanced_openings

        fens = balanced_openings("chess", given.games, given.seed)
        todo = [{"number": n, "elo": WEAK_ELO if n % 2 else None, "fen": fen} for n, fen in enumerate(fens)]
        make(games, todo, lambda line: play_game(given.stockfish, line), given.workers)
    elif given.part == "evaluate":
        path = given.folder / "evaluations.jsonl"
        make(path, lines_of(games), lambda line: evaluate_game(given.stockfish, line), given.workers)
    elif given.part == "marks":
        from selfmate.app.analyse import Effort, VariantPlayers

        player = VariantPlayers(given.net)("chess")
        limit = Effort(given.visits).limit(player, in_game=True)
        path = given.folder / f"marks-{player.name}.jsonl"
        make(path, lines_of(games), lambda line: analyse_game(player, limit, line), 1)
    else:
        table(given.folder)


if __name__ == "__main__":
    main()
