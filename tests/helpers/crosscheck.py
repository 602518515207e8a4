"""Random games played side by side with other implementations of the rules and compared at every ply.

`tests/board/test_crosscheck_*.py` play a few hundred of them, `tests/soak/games.py` a million. A game is a function of
its variant and seed alone, so a difference can be reproduced: `python tests/soak/games.py --variant atomic --seed 7`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

import chess
import chess.variant
import pyffish

from selfmate import Move, Outcome, Position, Termination, parse_square, square_name
from selfmate.board.position import chess960_fen
from selfmate.errors import SetupError

EIGHT_BY_EIGHT = (
    "chess",
    "chess960",
    "atomic",
    "atomic960",
    "antichess",
    "kingofthehill",
    "3check",
    "racingkings",
    "horde",
)

CASTLING_VARIANTS = ("chess", "chess960", "atomic", "atomic960", "kingofthehill", "3check")

BOARDS: dict[str, type[chess.Board]] = {
    "chess": chess.Board,
    "atomic": chess.variant.AtomicBoard,
    "antichess": chess.variant.AntichessBoard,
    "kingofthehill": chess.variant.KingOfTheHillBoard,
    "3check": chess.variant.ThreeCheckBoard,
    "racingkings": chess.variant.RacingKingsBoard,
    "horde": chess.variant.HordeBoard,
}

VARIANT_ENDS = {
    "atomic": {Termination.KING_EXPLODED},
    "antichess": {Termination.NO_PIECES_LEFT, Termination.NO_MOVES_LEFT},
    "kingofthehill": {Termination.KING_ON_HILL},
    "3check": {Termination.THREE_CHECKS},
    "racingkings": {Termination.RACE_WON, Termination.RACE_DRAWN},
    "horde": {Termination.HORDE_DESTROYED},
}
"""The terminations that python-chess calls a variant win, loss or draw."""

MAX_PLIES = 240
Item = TypeVar("Item")


class Mismatch(AssertionError):
    """Two implementations disagree."""


class Judge(Protocol):
    """Another implementation of the rules, played along with ours."""

    name: str

    def compare(self, position: Position, moves: dict[str, Move], chance: random.Random) -> None:
        """Raise `Mismatch` if this position differs; `moves` are our legal moves by UCI."""

    def push(self, uci: str) -> None:
        """Play a move."""

    def finish(self, moves: list[str], sans: list[str]) -> None:
        """Compare the whole game, in UCI and SAN."""


def demand(what: str, ours: object, theirs: object) -> None:
    """Raise `Mismatch` unless both are equal."""
    if ours != theirs:
        if isinstance(ours, set) and isinstance(theirs, set):
            raise Mismatch(f"{what}: only ours {sorted(ours - theirs)} / only theirs {sorted(theirs - ours)}")
        raise Mismatch(f"{what}: {ours} / {theirs}")


# -- python-chess -----------------------------------------------------------------------------------------------------


class PythonChess:
    """python-chess: legal moves, FEN, check, outcome and reason, insufficient material, SAN."""

    name = "python-chess"

    def __init__(self, variant: str, fen: str) -> None:
        self.variant = variant.removesuffix("960")
        self.board = BOARDS[self.variant](fen, chess960=variant.endswith("960"))

    def push(self, uci: str) -> None:
        """Play a move."""
        self.board.push_uci(uci)

    def finish(self, moves: list[str], sans: list[str]) -> None:
        """Nothing to do: every move was compared before."""

    def compare(self, position: Position, moves: dict[str, Move], chance: random.Random) -> None:
        """Raise `Mismatch` if this position differs."""
        board = self.board
        theirs = {} if board.is_variant_end() else {move.uci(): move for move in board.legal_moves}
        demand("legal moves", set(moves), set(theirs))
        demand("FEN", position.fen(), self._fen(theirs.values(), shredder=False))
        demand("Shredder-FEN", position.fen(shredder=True), self._fen(theirs.values(), shredder=True))
        demand("check", position.is_check(), board.is_check())
        demand("checkers", set(position.checkers()), set(board.checkers()))
        if self._shut_in_bishops():
            return
        for color in chess.COLORS:
            ours = position.has_insufficient_material(color)
            demand("insufficient material", ours, board.has_insufficient_material(color))
        outcome = self._outcome()
        demand("outcome", self._translate(position.outcome()), outcome)
        if outcome is None and board.is_fifty_moves():
            outcome = (chess.Termination.FIFTY_MOVES, None)
        elif outcome is None and board.is_repetition(3):
            outcome = (chess.Termination.THREEFOLD_REPETITION, None)
        demand("outcome with claim", self._translate(position.outcome(claim_draw=True)), outcome)
        for uci in _sample(sorted(moves), chance):
            self._compare_move(position, moves[uci], theirs[uci])

    def _compare_move(self, position: Position, ours: Move, theirs: chess.Move) -> None:
        board = self.board
        san = position.san(ours)
        demand(f"SAN of {theirs}", san, board.san(theirs))
        demand(f"SAN {san} read", position.parse_san(san), ours)
        demand(f"{san} is a capture", position.is_capture(ours), board.is_capture(theirs))
        demand(f"{san} castles", position.is_castling(ours), board.is_castling(theirs))
        demand(f"{san} is en passant", position.is_en_passant(ours), board.is_en_passant(theirs))
        demand(f"{san} gives check", position.gives_check(ours), board.gives_check(theirs))

    def _shut_in_bishops(self) -> bool:
        """Return whether their atomic calls a draw where mate is possible: bishops only, three or more (decision 3)."""
        board = self.board
        rest = board.occupied & ~board.kings
        return self.variant == "atomic" and rest == board.bishops and rest.bit_count() > 2

    def _fen(self, moves: Iterable[chess.Move], *, shredder: bool) -> str:
        """Return their FEN, with en passant only when a legal capture exists.

        Their own `en_passant="legal"` forgets in atomic that such a capture may explode one's own king.
        """
        fields = self.board.fen(shredder=shredder, en_passant="fen").split()
        if not any(self.board.is_en_passant(move) for move in moves):
            fields[3] = "-"
        return " ".join(fields)

    def _outcome(self) -> tuple[chess.Termination, bool | None] | None:
        outcome = self.board.outcome()
        return (outcome.termination, outcome.winner) if outcome else None

    def _translate(self, outcome: Outcome | None) -> tuple[chess.Termination, bool | None] | None:
        """Return our outcome in their terms."""
        if outcome is None:
            return None
        if outcome.termination in VARIANT_ENDS.get(self.variant, set()):
            if outcome.winner is None:
                return chess.Termination.VARIANT_DRAW, None
            won = outcome.winner == self.board.turn
            return chess.Termination.VARIANT_WIN if won else chess.Termination.VARIANT_LOSS, outcome.winner
        return chess.Termination[outcome.termination.name], outcome.winner


def _sample(items: Sequence[Item], chance: random.Random) -> Sequence[Item]:
    """Return three of the items, sometimes all: every move of every ply would take too long."""
    return items if len(items) <= 3 or chance.random() < 0.03 else chance.sample(items, 3)


# -- Fairy-Stockfish --------------------------------------------------------------------------------------------------


class Pyffish:
    """Fairy-Stockfish's rules: legal moves, FEN, check, SAN, and the winner when there are no moves.

    Each call costs it some milliseconds, for it makes all its tables again: what can wait is asked now and then.
    """

    name = "pyffish"

    def __init__(self, variant: str, fen: str) -> None:
        self.variant = variant.removesuffix("960")
        self.chess960 = variant.endswith("960")
        self.start = self.fen = pyffish.get_fen(self.variant, fen, [], self.chess960)

    def push(self, uci: str) -> None:
        """Play a move."""
        self.fen = pyffish.get_fen(self.variant, self.fen, [uci], self.chess960)

    def compare(self, position: Position, moves: dict[str, Move], chance: random.Random) -> None:
        """Raise `Mismatch` if this position differs."""
        theirs = pyffish.legal_moves(self.variant, self.fen, [], self.chess960)
        demand("legal moves", set(moves), set(theirs))
        demand("FEN", position.fen(shredder=self.chess960), self._fen(position, theirs))
        if not theirs:
            self._compare_end(position)
        elif chance.random() < 0.1:
            ended, _ = pyffish.is_immediate_game_end(self.variant, self.fen, [], self.chess960)
            demand("game has ended", False, ended)
            check = pyffish.gives_check(self.variant, self.fen, [], self.chess960)
            demand("check", position.is_check(), check)

    def finish(self, moves: list[str], sans: list[str]) -> None:
        """Compare the whole game in SAN, but for the signs of check and mate."""
        theirs = pyffish.get_san_moves(self.variant, self.start, moves, self.chess960)
        demand("SAN", [san.rstrip("+#") for san in sans], [san.rstrip("+#") for san in theirs])

    def _compare_end(self, position: Position) -> None:
        """Compare the winner where no moves are left; insufficient material is not compared."""
        outcome = position.outcome()
        ended, value = pyffish.is_immediate_game_end(self.variant, self.fen, [], self.chess960)
        if not ended:
            value = pyffish.game_result(self.variant, self.fen, [], self.chess960)
        winner = None if value == 0 else position.turn if value > 0 else not position.turn
        demand("over", outcome is not None, True)
        if position.halfmove_clock < 100:  # from 100 on its atomic prefers the fifty-move rule to mate
            demand("winner", outcome and outcome.winner, winner)

    def _fen(self, position: Position, moves: Iterable[str]) -> str:
        """Return their FEN, with en passant only when a legal capture exists."""
        fields = self.fen.split()
        if fields[3] != "-":
            target = parse_square(fields[3])
            pawns = {square_name(square) for square in position.pieces("P" if position.turn else "p")}
            capturing = (uci for uci in moves if uci[2:4] == fields[3] and uci[:2] in pawns and uci[0] != uci[2])
            if not any(capturing) or position.piece_at(target) is not None:
                fields[3] = "-"
        return " ".join(fields)


JUDGES: dict[str, Callable[[str, str], Judge]] = {"python-chess": PythonChess, "pyffish": Pyffish}


# -- the games --------------------------------------------------------------------------------------------------------


def random_start(variant: str, chance: random.Random) -> str:
    """Return the start of a game: mostly the usual one, sometimes with a clock near its end or few pieces."""
    fen = chess960_fen(chance.randrange(960)) if variant.endswith("960") else Position(variant).fen()
    if chance.random() < 0.3 and is_accepted(variant, sparse := sparse_fen(variant, chance)):
        fen = sparse
    if chance.random() < 0.2:
        fields = fen.split()
        fields[-2] = str(chance.randrange(80, 149))
        fen = " ".join(fields)
    return fen


def sparse_fen(variant: str, chance: random.Random) -> str:
    """Return a FEN with the kings and a few pieces on random squares, which need not be a legal position."""
    empty = Position(variant)
    free = [(file, rank) for file in range(empty.files) for rank in range(empty.ranks)]
    chance.shuffle(free)
    board: dict[tuple[int, int], str] = {}
    castling = ""
    for king, rook, home in (("K", "R", 0), ("k", "r", empty.ranks - 1)):
        # 1. A king, sometimes on its original square with rooks that may castle.
        if variant in CASTLING_VARIANTS and chance.random() < 0.4:
            is_960 = variant.endswith("960")
            file = chance.randrange(1, 7) if is_960 else 4
            right, left = (chance.randrange(file + 1, 8), chance.randrange(file)) if is_960 else (7, 0)
            board |= {(file, home): king, (right, home): rook, (left, home): rook}
            rights = "abcdefgh"[right] + "abcdefgh"[left] if is_960 else "kq"
            castling += rights.upper() if home == 0 else rights
        elif variant != "horde" or king == "k":
            board[next(square for square in free if square not in board)] = king
    # 2. A few more pieces, many of them pawns.
    for piece in chance.choices("QRBNqrbn" if variant == "racingkings" else "QRBNPPPPqrbnpppp", k=chance.randrange(9)):
        square = next(square for square in free if square not in board)
        if piece not in "Pp" or 0 < square[1] < empty.ranks - 1:
            board[square] = piece
    # 3. The FEN.
    rows = []
    for rank in reversed(range(empty.ranks)):
        row = "".join(board.get((file, rank), ".") for file in range(empty.files))
        for count in range(empty.files, 0, -1):
            row = row.replace("." * count, str(count))
        rows.append(row)
    checks = f" {chance.randint(1, 3)}+{chance.randint(1, 3)}" if variant == "3check" else ""
    return f"{'/'.join(rows)} {chance.choice('wb')} {castling or '-'} -{checks} 0 1"


def is_accepted(variant: str, fen: str) -> bool:
    """Return whether our rules accept a position."""
    try:
        Position(variant, fen)
    except SetupError:
        return False
    return True


def choose(position: Position, style: str, moves: Sequence[Move], chance: random.Random) -> Move:
    """Choose a move by the style of the game, so that rare rules come up often."""
    if chance.random() < 0.2:
        return chance.choice(moves)
    liked: list[Move] = []
    if style == "captures":
        liked = [move for move in moves if position.is_capture(move)]
    elif style == "special":
        liked = [
            move
            for move in moves
            if move.promotion
            or position.is_castling(move)
            or position.is_en_passant(move)
            or position.gives_check(move)
        ]
        liked = liked or [move for move in moves if position.piece_at(move.from_square) in ("P", "p")]
    elif style == "quiet":
        liked = [
            move
            for move in moves
            if not position.is_capture(move) and position.piece_at(move.from_square) not in ("P", "p")
        ]
    elif style == "shuffle" and len(position.move_stack) >= 2:
        last = position.move_stack[-2]
        liked = [move for move in moves if (move.from_square, move.to_square) == (last.to_square, last.from_square)]
    return chance.choice(liked or moves)


STYLES = ("random", "random", "captures", "special", "quiet", "shuffle")


def play_game(variant: str, seed: int, judge_names: Sequence[str], max_plies: int = MAX_PLIES) -> Position:
    """Play one random game beside the judges and return its last position; raise `Mismatch` with all details.

    The game ends by our rules, or after `max_plies`; after a draw by material it continues for some plies.
    """
    chance = random.Random(f"{variant}/{seed}")
    sampling = random.Random(f"{variant}/{seed}/judges")  # a separate stream, so that the judges do not change the game
    style = chance.choice(STYLES)
    start = random_start(variant, chance)
    position = Position(variant, start)
    judges = [JUDGES[name](variant, start) for name in judge_names]
    ucis: list[str] = []
    sans: list[str] = []
    current = "ourselves"
    try:
        while True:
            moves = position.legal_moves
            by_uci = {position.uci(move): move for move in moves}
            demand("moves are unique", len(by_uci), len(moves))
            demand("key", position.key, position.recomputed_key())
            for judge in judges:
                current = judge.name
                judge.compare(position, by_uci, sampling)
            current = "ourselves"
            outcome = position.outcome()
            if outcome is None and not moves:
                raise Mismatch("no legal moves and no outcome")
            if not moves or len(ucis) >= max_plies or (outcome is not None and chance.random() < 0.5):
                break
            move = choose(position, style, moves, chance)
            ucis.append(position.uci(move))
            sans.append(position.san(move))
            _play_undo_play(position, move)
            for judge in judges:
                current = judge.name
                judge.push(ucis[-1])
        for judge in judges:
            current = judge.name
            judge.finish(ucis, sans)
    except Exception as error:
        line = " ".join(move.uci() for move in position.move_stack)
        kind = "" if isinstance(error, Mismatch) else f"{type(error).__name__}: "
        raise Mismatch(
            f"{variant}, seed {seed}, {style}, ours / {current}: {kind}{error}\n"
            f"  in    {position.fen()}\n  from  {start}\n  moves {line}"
        ) from error
    return position


def _play_undo_play(position: Position, move: Move) -> None:
    """Play a move; first play and undo it once and check that the position is unchanged."""
    before = (position.fen(), position.key, position.repetitions(), position.halfmove_clock)
    position.play(move)
    demand("undo gives the move", position.undo(), move)
    demand("undo restores", (position.fen(), position.key, position.repetitions(), position.halfmove_clock), before)
    position.play(move)
