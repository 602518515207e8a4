"""Selfmate: an engine for chess and its variants that learns from nothing but the rules.

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
from selfmate.game import Position, chess960_fen

if TYPE_CHECKING:
    from selfmate import svg
    from selfmate.epd import Epd, PerftLine, Tactic, parse_epd, read_epd, read_perft_suite, read_tactics
    from selfmate.pgn import Game, Headers, MoveNode, Node, read_games
    from selfmate.player import Limit, Player, Result

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

# Loaded when first asked for, so that `import selfmate` stays light.
_LATER = {
    "Epd": "epd",
    "Game": "pgn",
    "Headers": "pgn",
    "MoveNode": "pgn",
    "Node": "pgn",
    "PerftLine": "epd",
    "Tactic": "epd",
    "parse_epd": "epd",
    "read_epd": "epd",
    "read_games": "pgn",
    "read_perft_suite": "epd",
    "read_tactics": "epd",
    "Limit": "player",
    "Player": "player",
    "Result": "player",
}


if not TYPE_CHECKING:  # else every name would pass for one of ours

    def __getattr__(name: str) -> object:
        import importlib

        if name == "__version__":
            import importlib.metadata

            value: object = importlib.metadata.version("selfmate")
        elif name == "svg":
            value = importlib.import_module("selfmate.svg")
        elif name in _LATER:
            value = getattr(importlib.import_module(f"selfmate.{_LATER[name]}"), name)
        else:
            raise AttributeError(f"module 'selfmate' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
