"""Selfmate trains an engine for chess and its variants from nothing but the rules.

>>> from selfmate import Position
>>> position = Position("atomic")
>>> for san in ["Nf3", "a6", "Ne5", "a5", "Nxf7"]:
...     _ = position.play(position.parse_san(san))
>>> position.outcome().reason
'king exploded'
"""

from typing import TYPE_CHECKING

from selfmate._core import (
    BISHOP,
    BLACK,
    CORE,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    VARIANTS,
    WHITE,
    Move,
    Outcome,
    Setup,
    Termination,
    parse_square,
    square_name,
)
from selfmate.board.position import Position, chess960_fen
from selfmate.errors import (
    AmbiguousSan,
    BadCastling,
    BadChecks,
    BadClock,
    BadEnPassant,
    EmptyBoard,
    EpdError,
    FenError,
    IllegalMove,
    IllegalSan,
    InvalidMove,
    InvalidSan,
    MoveError,
    NoKing,
    OppositeCheck,
    PawnOnBackRank,
    PgnError,
    RecordError,
    SanError,
    SearchError,
    SelfmateError,
    SetupError,
    TooManyKings,
    TooManyPieces,
    UnknownVariant,
)

if TYPE_CHECKING:
    from selfmate.board import board_svg as svg
    from selfmate.board.epd import Epd, PerftLine, Tactic, parse_epd, read_epd, read_perft_suite, read_tactics
    from selfmate.board.game_tree import MoveNode, Node
    from selfmate.board.pgn import Game, Repair, read_games
    from selfmate.board.pgn_writer import Headers
    from selfmate.search.limit import Limit
    from selfmate.search.player import Player
    from selfmate.search.result import Result

    __version__: str

__all__ = [
    "BISHOP",
    "BLACK",
    "CORE",
    "KING",
    "KNIGHT",
    "PAWN",
    "QUEEN",
    "ROOK",
    "VARIANTS",
    "WHITE",
    "AmbiguousSan",
    "BadCastling",
    "BadChecks",
    "BadClock",
    "BadEnPassant",
    "EmptyBoard",
    "Epd",
    "EpdError",
    "FenError",
    "Game",
    "Headers",
    "IllegalMove",
    "IllegalSan",
    "InvalidMove",
    "InvalidSan",
    "Limit",
    "Move",
    "MoveError",
    "MoveNode",
    "NoKing",
    "Node",
    "OppositeCheck",
    "Outcome",
    "PawnOnBackRank",
    "PerftLine",
    "PgnError",
    "Player",
    "Position",
    "RecordError",
    "Repair",
    "Result",
    "SanError",
    "SearchError",
    "SelfmateError",
    "Setup",
    "SetupError",
    "Tactic",
    "Termination",
    "TooManyKings",
    "TooManyPieces",
    "UnknownVariant",
    "__version__",
    "chess960_fen",
    "parse_epd",
    "parse_square",
    "read_epd",
    "read_games",
    "read_perft_suite",
    "read_tactics",
    "square_name",
    "svg",
]

# Imported on first use, so that `import selfmate` stays fast.
_LATER = {
    "Epd": "board.epd",
    "Game": "board.pgn",
    "Headers": "board.pgn_writer",
    "MoveNode": "board.game_tree",
    "Node": "board.game_tree",
    "PerftLine": "board.epd",
    "Repair": "board.pgn",
    "Tactic": "board.epd",
    "parse_epd": "board.epd",
    "read_epd": "board.epd",
    "read_games": "board.pgn",
    "read_perft_suite": "board.epd",
    "read_tactics": "board.epd",
    "Limit": "search.limit",
    "Player": "search.player",
    "Result": "search.result",
}


if not TYPE_CHECKING:  # a type checker would accept every name otherwise

    def __getattr__(name: str) -> object:
        import importlib

        if name == "__version__":
            import importlib.metadata

            value: object = importlib.metadata.version("selfmate")
        elif name == "svg":
            value = importlib.import_module("selfmate.board.board_svg")
        elif name in _LATER:
            value = getattr(importlib.import_module(f"selfmate.{_LATER[name]}"), name)
        else:
            raise AttributeError(f"module 'selfmate' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
