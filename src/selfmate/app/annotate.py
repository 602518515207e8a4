r"""Annotated PGN: `[%eval]` after every move, marks as annotation glyphs, the better line as a variation.

Evaluations are from White's view in pawns, as Lichess and the PGN readers of other programs have them; `#3` and `#-3`
are forced wins of White and Black in three moves. What a game had before is kept, except other `[%eval]` commands.
"""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from selfmate._core import centipawns
from selfmate.board.game_tree import MoveNode
from selfmate.board.pgn import Game
from selfmate.util.files import OUTPUT_ADVICE, FileError, check_apart, check_target, explain_full_disk
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.app.accuracy import GameSummary
    from selfmate.app.judge import MoveJudgement

__all__ = ["AnnotatedFile", "annotate_move", "eval_command", "finish_game"]

NAG_OF_MARK: Final = {"?!": 6, "?": 2, "??": 4}
MOVE_NAGS: Final = frozenset(range(1, 7))
"""`!`, `?`, `!!`, `??`, `!?`, `?!`: a move has at most one of them."""
WORD_OF_MARK: Final = {"?!": "Inaccuracy", "?": "Mistake", "??": "Blunder"}
EVAL: Final = re.compile(r"\s*\[%eval [^\]]*\]\s*")
LINE_PLIES: Final = 10
"""Longest variation."""


def eval_command(white_value: float, proven: int | None) -> str:
    """Return `[%eval …]` for a value (-1 to 1) and plies to a proven end, both from White's view.

    >>> eval_command(0.3, None), eval_command(1.0, 5), eval_command(-1.0, -4), eval_command(0.0, 0)
    ('[%eval 0.46]', '[%eval #3]', '[%eval #-2]', '[%eval 0.00]')
    """
    if proven:
        return f"[%eval #{'-' if proven < 0 else ''}{(abs(proven) + 1) // 2}]"
    return f"[%eval {centipawns(white_value) / 100:.2f}]"


def annotate_move(node: MoveNode, judged: MoveJudgement) -> None:
    """Write a judgement into its node of the game: evaluation, mark, and the better line beside it."""
    # 1. The evaluation of the position after the move; a game that is over has none.
    words = [EVAL.sub(" ", node.comment).strip()]
    if judged.after is not None:
        words.insert(0, eval_command(judged.white_value, judged.white_proven))
    # 2. The mark and the line that was better.
    if judged.mark:
        better = judged.better
        words.append(f"{WORD_OF_MARK[judged.mark]}. {judged.before.position.san(better[0])} was better.")
        node.nags.difference_update(MOVE_NAGS)
        node.nags.add(NAG_OF_MARK[judged.mark])
        if all(other.move != better[0] for other in node.parent.variations):
            node.parent.add_line(better[:LINE_PLIES])
    node.comment = " ".join(word for word in words if word)


def finish_game(game: Game, player: str, effort: str, summary: GameSummary) -> None:
    """Write the tags of an annotated game: `Annotator`, and the accuracy of each side."""
    game.headers["Annotator"] = f"Selfmate {version('selfmate')} ({player}, {effort})"
    for name, side in (("WhiteAccuracy", summary.white), ("BlackAccuracy", summary.black)):
        if side.accuracy is not None:
            game.headers[name] = f"{side.accuracy:.1f}"


class AnnotatedFile:
    """A PGN file that is written game by game; it takes its name at the end, with all games that are complete.

    If none has a move, nothing is written, and a file that was there stays. A device or a pipe is written to directly.
    Raises `FileError`, at the begin if the folder is missing or cannot be written.
    """

    def __init__(self, path: Path, source: Path | None = None) -> None:
        check_target(path)
        check_apart(path, source, "--annotate")
        self._is_plain = not path.exists() or path.is_file()
        self._path = path.resolve() if self._is_plain else path
        self._temporary = self._path.with_name(f".{self._path.name}.tmp") if self._is_plain else path
        self._games = 0
        self._has_moves = False
        try:
            self._file = self._temporary.open("wb", buffering=0)
        except OSError as error:
            raise FileError(f"{path}: {error.strerror}", str(path)) from error

    def write(self, game: Game) -> None:
        """Append a game, wholly or not at all."""
        data = f"{chr(10) if self._games else ''}{game.pgn()}\n".encode()
        if self._is_plain:
            end = self._file.tell()
            kept = f"{many(self._games, 'game')} before this one will stand in {self._path}; free some space"
            with explain_full_disk(self._path, len(data), kept if self._has_moves else OUTPUT_ADVICE):
                try:
                    self._write(data)
                except OSError:
                    self._file.truncate(end)
                    raise
        else:
            try:
                self._write(data)
            except OSError as error:
                raise FileError(f"{self._path}: {error.strerror}", str(self._path)) from error
        self._games += 1
        self._has_moves |= game.next is not None

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        if not self._is_plain:
            self._file.close()
            return
        try:
            if self._has_moves:
                os.fsync(self._file.fileno())
                self._temporary.replace(self._path)
        finally:
            self._file.close()
            self._temporary.unlink(missing_ok=True)
