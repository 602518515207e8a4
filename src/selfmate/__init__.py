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
    Buffer,
    GameRecord,
    Move,
    Outcome,
    SearchConfig,
    SelfPlayConfig,
    Setup,
    Termination,
    parse_square,
    square_name,
)
from selfmate.board.position import Position, chess960_fen
from selfmate.errors import (
    AmbiguousSan,
    ArrayError,
    BadCastling,
    BadChecks,
    BadClock,
    BadEnPassant,
    EmptyBoard,
    EnvError,
    EpdError,
    EvaluatorError,
    FenError,
    IllegalMove,
    IllegalSan,
    InvalidMove,
    InvalidSan,
    LabError,
    MissingExtra,
    MoveError,
    NoKing,
    OppositeCheck,
    PawnOnBackRank,
    PgnError,
    PlayerError,
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
    from selfmate.board.encoding import (
        PLANE_NAMES,
        action_masks,
        action_of,
        dense_planes,
        encode_planes,
        encoding,
        move_of,
    )
    from selfmate.board.epd import Epd, PerftLine, Tactic, parse_epd, read_epd, read_perft_suite, read_tactics
    from selfmate.board.game_tree import MoveNode, Node
    from selfmate.board.pgn import Game, Repair, read_games
    from selfmate.board.pgn_writer import Headers
    from selfmate.evaluator.base import Evaluation, Evaluator
    from selfmate.evaluator.function import FunctionEvaluator
    from selfmate.match.runner import play_match
    from selfmate.rundir.format import RunError
    from selfmate.rundir.reader import RunReader as Run
    from selfmate.rundir.reader import RunSample
    from selfmate.search.config import play_config
    from selfmate.search.evaluate import PositionEvaluation, evaluate
    from selfmate.search.generate import selfplay_games
    from selfmate.search.limit import Limit
    from selfmate.search.player import Player
    from selfmate.search.result import MoveResult, Result
    from selfmate.search.tree import SearchTree, TreeNode

    __version__: str

__all__ = [
    "BISHOP",
    "BLACK",
    "CORE",
    "KING",
    "KNIGHT",
    "PAWN",
    "PLANE_NAMES",
    "QUEEN",
    "ROOK",
    "VARIANTS",
    "WHITE",
    "AmbiguousSan",
    "ArrayError",
    "BadCastling",
    "BadChecks",
    "BadClock",
    "BadEnPassant",
    "Buffer",
    "EmptyBoard",
    "EnvError",
    "Epd",
    "EpdError",
    "Evaluation",
    "Evaluator",
    "EvaluatorError",
    "FenError",
    "FunctionEvaluator",
    "Game",
    "GameRecord",
    "Headers",
    "IllegalMove",
    "IllegalSan",
    "InvalidMove",
    "InvalidSan",
    "LabError",
    "Limit",
    "MissingExtra",
    "Move",
    "MoveError",
    "MoveNode",
    "MoveResult",
    "NoKing",
    "Node",
    "OppositeCheck",
    "Outcome",
    "PawnOnBackRank",
    "PerftLine",
    "PgnError",
    "Player",
    "PlayerError",
    "Position",
    "PositionEvaluation",
    "RecordError",
    "Repair",
    "Result",
    "Run",
    "RunError",
    "RunSample",
    "SanError",
    "SearchConfig",
    "SearchError",
    "SearchTree",
    "SelfPlayConfig",
    "SelfmateError",
    "Setup",
    "SetupError",
    "Tactic",
    "Termination",
    "TooManyKings",
    "TooManyPieces",
    "TreeNode",
    "UnknownVariant",
    "__version__",
    "action_masks",
    "action_of",
    "chess960_fen",
    "dense_planes",
    "encode_planes",
    "encoding",
    "evaluate",
    "move_of",
    "parse_epd",
    "parse_square",
    "play_config",
    "play_match",
    "read_epd",
    "read_games",
    "read_perft_suite",
    "read_tactics",
    "selfplay_games",
    "square_name",
    "svg",
]

# Imported on first use, so that `import selfmate` stays fast.
_LATER = {
    "Epd": "board.epd",
    "Evaluation": "evaluator.base",
    "Evaluator": "evaluator.base",
    "FunctionEvaluator": "evaluator.function",
    "Game": "board.pgn",
    "Headers": "board.pgn_writer",
    "Limit": "search.limit",
    "MoveNode": "board.game_tree",
    "MoveResult": "search.result",
    "Node": "board.game_tree",
    "PLANE_NAMES": "board.encoding",
    "PerftLine": "board.epd",
    "Player": "search.player",
    "PositionEvaluation": "search.evaluate",
    "Repair": "board.pgn",
    "Result": "search.result",
    "RunError": "rundir.format",
    "RunSample": "rundir.reader",
    "SearchTree": "search.tree",
    "Tactic": "board.epd",
    "TreeNode": "search.tree",
    "action_masks": "board.encoding",
    "action_of": "board.encoding",
    "dense_planes": "board.encoding",
    "encode_planes": "board.encoding",
    "encoding": "board.encoding",
    "evaluate": "search.evaluate",
    "move_of": "board.encoding",
    "parse_epd": "board.epd",
    "play_config": "search.config",
    "play_match": "match.runner",
    "read_epd": "board.epd",
    "read_games": "board.pgn",
    "read_perft_suite": "board.epd",
    "read_tactics": "board.epd",
    "selfplay_games": "search.generate",
}


if not TYPE_CHECKING:  # a type checker would accept every name otherwise

    def __getattr__(name: str) -> object:
        import importlib

        if name == "__version__":
            import importlib.metadata

            value: object = importlib.metadata.version("selfmate")
        elif name == "svg":
            value = importlib.import_module("selfmate.board.board_svg")
        elif name == "Run":  # the Run of selfmate.rundir.directory is the trainer's, which locks and writes
            value = importlib.import_module("selfmate.rundir.reader").RunReader
        elif name in _LATER:
            value = getattr(importlib.import_module(f"selfmate.{_LATER[name]}"), name)
        else:
            raise AttributeError(f"module 'selfmate' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
