"""The native core of Selfmate: rules, notation, counting."""

from collections.abc import Sequence
import enum
from typing import Annotated, Any, overload

import numpy
from numpy.typing import NDArray


CORE: str

WHITE: bool = True

BLACK: bool = False

PAWN: int = 1

KNIGHT: int = 2

BISHOP: int = 3

ROOK: int = 4

QUEEN: int = 5

KING: int = 6

VARIANTS: tuple[str, ...]

class Move:
    """
    From, to and promotion: a value that can be compared and hashed.

    >>> Move.from_uci('a7a8q').promotion == QUEEN
    True
    """

    def __init__(self, from_square: int, to_square: int, promotion: int | None = None) -> None: ...

    @staticmethod
    def from_uci(uci: str) -> Move:
        """
        Read a move such as ``e2e4`` or ``a7a8q``, without looking at any board.

        >>> Move.from_uci('e2e4').to_square
        28
        """

    @property
    def from_square(self) -> int: ...

    @property
    def to_square(self) -> int: ...

    @property
    def promotion(self) -> int | None: ...

    def uci(self) -> str:
        """
        The move as from, to, promotion; castling as king takes rook (see `Position.uci`).
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __reduce__(self) -> tuple[object, ...]: ...

class Termination(enum.Enum):
    """Why a game is over."""

    CHECKMATE = 0

    STALEMATE = 1

    INSUFFICIENT_MATERIAL = 2

    SEVENTYFIVE_MOVES = 3

    FIVEFOLD_REPETITION = 4

    FIFTY_MOVES = 5

    THREEFOLD_REPETITION = 6

    KING_EXPLODED = 7

    KING_ON_HILL = 8

    THREE_CHECKS = 9

    RACE_WON = 10

    RACE_DRAWN = 11

    NO_PIECES_LEFT = 12

    NO_MOVES_LEFT = 13

    HORDE_DESTROYED = 14

    ADJUDICATED = 15

class Outcome:
    """
    How a game ended: who won, and why.

    >>> outcome = Position('chess', '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1').outcome()
    >>> outcome.result(), outcome.reason
    ('1/2-1/2', 'stalemate')
    """

    @property
    def termination(self) -> Termination: ...

    @property
    def winner(self) -> bool | None: ...

    @property
    def reason(self) -> str: ...

    def result(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class Setup:
    """
    A position as somebody set it up, not yet checked: `Position.from_setup` does that.

    >>> setup = Setup('gardner')
    >>> setup.set_piece(0, 'K')
    >>> setup.fen()
    '5/5/5/5/K4 w - - 0 1'
    """

    def __init__(self, variant: str = 'chess') -> None: ...

    @staticmethod
    def from_fen(fen: str, variant: str = 'chess') -> Setup:
        """Read a FEN; only what cannot be read is an error here (`FenError`)."""

    @property
    def variant(self) -> str: ...

    @property
    def chess960(self) -> bool: ...

    @chess960.setter
    def chess960(self, arg: bool, /) -> None: ...

    @property
    def turn(self) -> bool: ...

    @turn.setter
    def turn(self, arg: bool, /) -> None: ...

    @property
    def castling(self) -> int:
        """Squares of the rooks that may still castle, as a set of 64 bits."""

    @castling.setter
    def castling(self, arg: int, /) -> None: ...

    @property
    def ep_square(self) -> int | None: ...

    @ep_square.setter
    def ep_square(self, square: int | None) -> None: ...

    @property
    def halfmove_clock(self) -> int: ...

    @halfmove_clock.setter
    def halfmove_clock(self, arg: int, /) -> None: ...

    @property
    def fullmove_number(self) -> int: ...

    @fullmove_number.setter
    def fullmove_number(self, arg: int, /) -> None: ...

    @property
    def checks_left(self) -> tuple[int, int] | None: ...

    @checks_left.setter
    def checks_left(self, arg: tuple[int, int], /) -> None: ...

    def piece_at(self, square: int) -> str | None: ...

    def set_piece(self, square: int, piece: str | None) -> None:
        """Put a piece (``P``, ``k``) on a square, or clear it with None."""

    def fen(self) -> str: ...

class Position:
    """
    A position of any variant with the moves that led to it.

    >>> position = Position('atomic')
    >>> len(position.legal_moves)
    20
    >>> position.play('g1f3')
    Move.from_uci('g1f3')
    """

    @overload
    def __init__(self, variant: str = 'chess', fen: str | None = None, *, lenient: bool = False) -> None: ...

    @overload
    def __init__(self, other: Position) -> None:
        """A copy, with its history."""

    @staticmethod
    def from_setup(setup: Setup, *, lenient: bool = False) -> Position:
        """
        Check a setup by the rules; `NoKing`, `OppositeCheck` and their like say what is wrong with it.
        """

    def copy(self) -> Position:
        """A copy, with its history."""

    def setup(self) -> Setup: ...

    @property
    def variant(self) -> str: ...

    @property
    def chess960(self) -> bool: ...

    @property
    def files(self) -> int: ...

    @property
    def ranks(self) -> int: ...

    @property
    def turn(self) -> bool:
        """WHITE (True) or BLACK (False)"""

    @property
    def key(self) -> int:
        """Zobrist key of the position"""

    @property
    def fullmove_number(self) -> int: ...

    @property
    def halfmove_clock(self) -> int: ...

    @property
    def ep_square(self) -> int | None:
        """Set only while a legal capture en passant exists"""

    @property
    def checks_left(self) -> tuple[int, int] | None:
        """Checks that White and Black have still to give (3check)"""

    @property
    def castling(self) -> int:
        """Squares of the rooks that may still castle, as a set of 64 bits"""

    def fen(self, *, shredder: bool = False) -> str:
        """
        The position as FEN.

        >>> Position('gardner').fen()
        'rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1'
        """

    def epd(self) -> str:
        """The FEN without its clocks"""

    def board_fen(self) -> str:
        """The first field of the FEN"""

    def recomputed_key(self) -> int:
        """The key worked out from nothing; always equal to `key`"""

    def piece_at(self, square: int) -> str | None:
        """
        The piece on a square, white in upper case.

        >>> Position('chess').piece_at(parse_square('e8'))
        'k'
        """

    def pieces(self, piece: str) -> list[int]:
        """
        Squares of all pieces of a kind.

        >>> Position('chess').pieces('R')
        [0, 7]
        """

    def king(self, color: bool) -> int | None:
        """Square of a side's king, or None"""

    def attackers(self, color: bool, square: int) -> list[int]:
        """Squares of a side's pieces that attack a square"""

    def __eq__(self, other: object, /) -> bool: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    __hash__: None  # type: ignore[assignment]

    @property
    def legal_moves(self) -> list[Move]: ...

    @property
    def move_stack(self) -> list[Move]:
        """The moves played so far"""

    def is_legal(self, move: Move) -> bool: ...

    @overload
    def play(self, move: Move) -> Move:
        """
        Play a move, a `Move` or UCI text; castling may be written e1g1 or e1h1. Returns the move as the
        position has it. `IllegalMove` and `InvalidMove` leave the position as it was.

        >>> position = Position('chess', 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1')
        >>> position.play('e1g1')
        Move.from_uci('e1h1')
        >>> position.fen()
        'r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1'
        """

    @overload
    def play(self, move: str) -> Move: ...

    def undo(self) -> Move:
        """Take the last move back and return it."""

    def is_castling(self, move: Move) -> bool: ...

    def is_en_passant(self, move: Move) -> bool: ...

    def is_capture(self, move: Move) -> bool: ...

    def gives_check(self, move: Move) -> bool: ...

    def uci(self, move: Move) -> str:
        """
        A legal move as UCI has it: castling as the king's two steps, in chess960 as king takes rook.
        """

    def parse_uci(self, uci: str) -> Move: ...

    def san(self, move: Move) -> str:
        """
        A legal move in algebraic notation.

        >>> Position('chess').san(Move.from_uci('g1f3'))
        'Nf3'
        """

    def parse_san(self, san: str) -> Move:
        """
        Read a move in algebraic notation.

        >>> Position('chess').parse_san('Nf3')
        Move.from_uci('g1f3')
        """

    def is_check(self) -> bool: ...

    def checkers(self) -> list[int]:
        """Squares of the pieces that give check"""

    def repetitions(self) -> int:
        """How often this position has occurred, this time included"""

    def outcome(self, *, claim_draw: bool = False) -> Outcome | None:
        """
        How the game has ended, or None while it goes on. Threefold repetition and the fifty-move rule
        count only when somebody claims them.

        >>> position = Position('atomic', 'rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3')
        >>> _ = position.play('e5f7')
        >>> position.outcome().reason, position.outcome().result()
        ('king exploded', '1-0')
        """

    def is_game_over(self, *, claim_draw: bool = False) -> bool: ...

    def has_insufficient_material(self, color: bool) -> bool:
        """Whether a side can no longer win with what is on the board"""

    def perft(self, depth: int, threads: int = 1) -> int:
        """
        Leaves of the tree of legal moves.

        >>> Position('atomic').perft(4)
        197326
        """

    def divide(self, depth: int, threads: int = 1) -> list[tuple[Move, int]]:
        """The same for each legal move: a list of (move, leaves)."""

class Encoding:
    """Sizes of a variant's inputs and policy (see cpp/encode.h)."""

    @property
    def variant(self) -> str: ...

    @property
    def files(self) -> int: ...

    @property
    def ranks(self) -> int: ...

    @property
    def planes(self) -> int: ...

    @property
    def policy_size(self) -> int: ...

    @property
    def max_moves(self) -> int: ...

    @property
    def bitboards(self) -> int: ...

    @property
    def scalars(self) -> int: ...

def encoding(variant: str) -> Encoding:
    """
    >>> encoding('gardner').planes, encoding('chess').planes, encoding('antichess').planes
    (49, 73, 76)
    """

def encode(position: Position) -> tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))]]:
    """
    Bitboards, scalars, and the policy index of each legal move in the order of `legal_moves`.
    """

def move_index(position: Position, move: Move) -> int:
    """Policy index of a legal move."""

def index_move(position: Position, index: int) -> Move:
    """The legal move that has a policy index."""

def mirror_index(variant: str, index: int) -> int:
    """The policy index with left and right exchanged."""

def mirror_squares(variant: str, squares: int) -> int:
    """A set of squares with left and right exchanged."""

def evaluate(position: Position, evaluator: str) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """
    Priors of the legal moves and win, draw, loss, as a native evaluator sees them.
    """

class Leaves:
    """
    Positions that wait for an evaluator: bits[B, P], scalars[B, S], moves[B, M], counts[B].
    """

    @property
    def ticket(self) -> int: ...

    @property
    def size(self) -> int: ...

    @property
    def bits(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None, None))]: ...

    @property
    def scalars(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def moves(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None, None))]: ...

    @property
    def counts(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]: ...

    @property
    def keys(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class LeafRoom:
    """
    Memory for leaves that stays where it is (a device reads it, say): flat arrays with room for
    so many rows. A batch has the first of `widths` that holds the moves of every row.
    """

    def __init__(self, bits: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], scalars: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], widths: Sequence[int]) -> None: ...

    @property
    def size(self) -> int:
        """Rows of the last gather"""

    @property
    def width(self) -> int:
        """Moves that its rows have room for"""

    @property
    def ticket(self) -> int: ...

class SearchConfig:
    """How to search; every value has a default (see cpp/search.h)."""

    def __init__(self, *, cpuct: float = 1.25, fpu_reduction: float = 0.33000001311302185, draw_score: float = 0.0, virtual_loss: int = 1, gumbel: bool = False, considered: int = 16, gumbel_scale: float = 1.0, value_scale: float = 0.10000000149011612, maxvisit_init: float = 50.0, noise_alpha: float = 0.30000001192092896, noise_epsilon: float = 0.0, stop_when_proven: bool = True, max_bytes: int = 1073741824, lcb: bool = False) -> None: ...

    @property
    def gumbel(self) -> bool: ...

    @property
    def cpuct(self) -> float: ...

class MoveStats:
    """What a search found out about one move at the root."""

    @property
    def move(self) -> Move: ...

    @property
    def visits(self) -> int: ...

    @property
    def value(self) -> float:
        """For the side to move, -1 to 1"""

    @property
    def draw(self) -> float: ...

    @property
    def prior(self) -> float: ...

    @property
    def weight(self) -> float:
        """In the improved policy"""

    @property
    def proven(self) -> int | None:
        """
        Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven
        """

    @property
    def net_value(self) -> float | None:
        """
        The evaluator's value of the position behind the move, for the side to move at the root, or None
        """

    @property
    def pv(self) -> list[Move]: ...

class SearchResult:
    """What a search found, its moves best first."""

    @property
    def moves(self) -> list[MoveStats]: ...

    @property
    def best(self) -> Move: ...

    @property
    def pv(self) -> list[Move]: ...

    @property
    def visits(self) -> int: ...

    @property
    def value(self) -> float: ...

    @property
    def net_value(self) -> float: ...

    @property
    def wdl(self) -> tuple[float, float, float]: ...

    @property
    def proven(self) -> int | None: ...

    @property
    def depth(self) -> float: ...

    @property
    def seldepth(self) -> int: ...

    @property
    def nodes(self) -> int: ...

    @property
    def edges(self) -> int: ...

    @property
    def bytes(self) -> int: ...

    @property
    def collisions(self) -> int: ...

class Search:
    """
    One tree on one position: gather leaves, evaluate them, apply, until done.

    >>> search = Search(Position('atomic'), SearchConfig(), visits=100)
    >>> search.run('heuristic-1')
    >>> search.result().visits
    100
    """

    def __init__(self, position: Position, config: SearchConfig, visits: int, seed: int = 0, moves: Sequence[Move] = []) -> None: ...

    def apply(self, ticket: int, priors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], wdl: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def apply_native(self, ticket: int, evaluator: str) -> None:
        """Answer a ticket with 'uniform', 'fake' or 'heuristic-1'."""

    def move_to(self, position: Position, config: SearchConfig, visits: int, seed: int = 0, moves: Sequence[Move] = []) -> bool:
        """
        Begin a new search on a position, with what is known of it if it lies at most two plies below the last
        root; says whether it does. `moves` are the only ones to consider, if there are any.

        >>> position = Position('chess')
        >>> search = Search(position, SearchConfig(), 1000)
        >>> search.run('heuristic-1')
        >>> _ = position.play(search.result().best)
        >>> search.move_to(position, SearchConfig(), 1000), search.visits, search.result().nodes > 100
        (True, 0, True)
        """

    def abandon(self) -> None:
        """Give up every ticket that is open."""

    def full(self) -> bool:
        """Whether the tree is at its limit."""

    def prune(self) -> None:
        """
        Give up the less visited half of the tree; every open ticket is given up too.
        """

    def gather(self, max_leaves: int) -> Leaves: ...

    def run(self, evaluator: str, visits: int | None = None) -> None:
        """
        The search with 'uniform', 'fake' or 'heuristic-1', to its end or for so many more visits.
        """

    def run_for(self, seconds: float, evaluator: str, visits: int = 4294967295, threads: int = 1) -> None:
        """
        The search with 'uniform', 'fake' or 'heuristic-1' for a short time, to so many more visits, or until the
        tree is full.
        """

    def done(self) -> bool: ...

    @property
    def visits(self) -> int: ...

    @property
    def bytes(self) -> int:
        """What the tree takes"""

    def is_rooted(self) -> bool:
        """Whether the root has been evaluated, so that there is a result."""

    def result(self) -> SearchResult: ...

    def result_after(self, move: Move) -> SearchResult | None:
        """What was found about the position after a move at the root, or None."""

def centipawns(value: float) -> int:
    """
    A value (-1 to 1) in centipawns as lc0 does it: 90 tan(1.5637541897 value). The value is what counts;
    centipawns are for programs that want them.

    >>> centipawns(0.0), centipawns(0.5), centipawns(-1.0)
    (0, 89, -12780)
    """

class ScoreRules:
    """
    Ends by what players say of their positions, each (centipawns, moves, after): so many centipawns in the
    last so many moves of a side, from a move of the game on. `resign`: lost, when a side says so of itself;
    `win`: when both sides say so; `draw`: when both sides see no more than this.

    >>> rules = ScoreRules(resign=(600, 2, 0))
    >>> rules.end([30, -610, 25, -700], white_moved=False, number=2)
    ('1-0', 'Black resigns by score')
    >>> rules.end([30, None, 25, -700], white_moved=False, number=2)
    """

    def __init__(self, *, resign: tuple[int, int, int] | None = None, win: tuple[int, int, int] | None = None, draw: tuple[int, int, int] | None = None) -> None: ...

    def end(self, scores: Sequence[int | None], white_moved: bool, number: int) -> tuple[str, str] | None:
        """
        Result and reason, or None. `scores` are the movers', of every move so far, None where nothing was said;
        `number` is that of the last move, as in a score sheet.
        """

class GameRecord:
    """
    A game as it is kept: moves, and what the search found where it is trained on.
    """

    @property
    def game_id(self) -> int: ...

    @property
    def variant(self) -> str: ...

    @property
    def chess960(self) -> bool: ...

    @property
    def start_fen(self) -> str: ...

    @property
    def random_plies(self) -> int: ...

    @property
    def white_seat(self) -> int: ...

    @property
    def black_seat(self) -> int: ...

    @property
    def moves(self) -> list[Move]: ...

    @property
    def outcome(self) -> Outcome | None:
        """None for a game that was cut off or is not over"""

    @property
    def result(self) -> str: ...

    @property
    def reason(self) -> str:
        """
        Why the game ended, by the rules or as a referee said; nothing for one that was cut off or is not over
        """

    @property
    def scores(self) -> list[int | None]:
        """
        What the mover said of each move, in centipawns, or None; nothing of a game that was read from bytes
        """

    @property
    def values(self) -> list[tuple[int, float]]:
        """
        (ply, value) of every position that was searched fully, seen by the side to move
        """

    @property
    def positions(self) -> int:
        """How many positions are trained on"""

    def trained(self) -> list[dict[str, Any]]:
        """
        The trained positions: ply, value, net_value, visits and weights by move.
        """

    def to_bytes(self) -> bytes: ...

    @staticmethod
    def from_bytes(data: bytes) -> GameRecord:
        """
        Read a record; the game is replayed, and anything that is not one raises RecordError.
        """

class Seat:
    """
    Who plays in a pool: a search and the number of its evaluator; any legal move without visits; or
    `Seat.outside()`, whose moves `Pool.play` brings.

    >>> Seat(visits=100, evaluator=1).evaluator, Seat(visits=0).is_random, Seat.outside().is_outside
    (1, True, True)
    """

    def __init__(self, *, visits: int, evaluator: int = 0, search: SearchConfig = ...) -> None: ...

    @staticmethod
    def outside() -> Seat: ...

    @property
    def visits(self) -> int: ...

    @property
    def evaluator(self) -> int: ...

    @property
    def is_outside(self) -> bool: ...

    @property
    def is_random(self) -> bool: ...

class Pool:
    """
    Many games at once: gather, evaluate, apply, drain. Self-play has one search for everybody, games
    between players have seats. Any thread may call anything at any time.

    >>> pool = Pool('gardner', [Seat(visits=32), Seat(visits=0)], max_plies=60)
    >>> pool.start_games([('rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1', 0, 1)])
    >>> pool.run('heuristic-1')
    >>> [(record.white_seat, record.black_seat, record.result) for record in pool.drain()]
    [(0, 1, '1-0')]
    """

    @overload
    def __init__(self, variant: str, search: SearchConfig, *, seed: int, visits: int, fast_visits: int = 16, full_probability: float = 1.0, random_plies: int = 0, temperature: float = 0.0, temperature_plies: int = 0, max_plies: int = 512, slots: int = 64, lanes: int = 1, threads: int = 0, leaves_per_slot: int = 1, batch: int = 0) -> None:
        """For self-play: seat 0 plays both sides."""

    @overload
    def __init__(self, variant: str, seats: Sequence[Seat], *, seed: int = 0, max_plies: int = 512, slots: int = 64, lanes: int = 1, threads: int = 0, leaves_per_slot: int = 1, batch: int = 0, rules: ScoreRules = ..., ahead: int = 0, greedy: bool = False) -> None:
        """
        For games between players, whose seats are known by their numbers; `seed` is for those without visits.
        A gather gives at most `batch` leaves (0: those of all games, shared by the lanes). A game begins at most
        `ahead` ids before the oldest one that is not over (0: whenever there is room). A `greedy` gather takes
        all that it has room for, and nothing while two batches are on their way and it would not be full.
        """

    def apply(self, ticket: int, priors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], wdl: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def apply_native(self, ticket: int, evaluator: str) -> None:
        """Answer a ticket with 'uniform', 'fake' or 'heuristic-1'."""

    def start(self, first_game: int, games: int) -> None:
        """
        Self-play games with the ids first_game, first_game + 1, …; seat 0 plays both sides.
        """

    def start_games(self, games: Sequence[tuple[str, int, int]], first_game: int = 0) -> None:
        """
        Games of (opening, white seat, black seat) with the ids first_game, first_game + 1, …. An opening is a
        FEN; an empty one is the variant's start.
        """

    def resume(self, games: Sequence[GameRecord]) -> None:
        """
        Games that were in flight when another pool stopped: they go on before others begin.
        """

    def awaiting(self, seconds: float = 0.0) -> list[tuple[int, int, str, list[Move]]]:
        """
        Games that wait for a move from outside, as (slot, game id, opening, moves so far): each once for each
        move. Waits for the first of them for so many seconds.
        """

    def play(self, slot: int, move: Move, score: int | None = None) -> None:
        """
        Play the move that a game waits for; `score`: what its player says of the position, in centipawns. A
        move that is not legal raises IllegalMove, and the game waits on.
        """

    def forfeit(self, slot: int, result: str, reason: str) -> None:
        """End a game that waits for a move, as a referee does."""

    def idle(self) -> bool:
        """
        Whether no gather would give anything before answers come, or a move from outside.
        """

    def waiting(self) -> list[int]:
        """
        How many games need each of the evaluators next, without those whose leaves are on their way.
        """

    @property
    def news(self) -> int:
        """
        Counts answers, moves from outside, games that end and games that are added: what ends an idle lane's
        sleep.
        """

    def wait(self, news: int, seconds: float) -> None:
        """Sleep until there is other news than this, or for so long."""

    def gather_into(self, room: LeafRoom, evaluator: int = 0) -> None:
        """As `gather`, into memory that stays where it is."""

    def gather(self, evaluator: int = 0) -> Leaves:
        """Leaves that games need next, with a ticket for their answers."""

    def run(self, evaluator: str) -> None:
        """Play everything to the end with 'uniform', 'fake' or 'heuristic-1'."""

    def done(self) -> bool: ...

    def drain(self) -> list[GameRecord]:
        """Finished games, by id."""

    def in_flight(self) -> list[GameRecord]:
        """Games that are not over, with the moves so far."""

    @property
    def playouts(self) -> int: ...

    @property
    def plies(self) -> int:
        """Moves that were searched for"""

    @property
    def evaluators(self) -> int:
        """How many evaluators its seats name, by number"""

    @property
    def lane_rows(self) -> int:
        """Leaves that a gather gives at most"""

    @property
    def finished(self) -> int:
        """Games that are over and not yet drained"""

class Samples:
    """What the learner learns from: inputs and targets of B positions."""

    @property
    def size(self) -> int: ...

    @property
    def bits(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None, None))]: ...

    @property
    def scalars(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def policy_index(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None, None))]: ...

    @property
    def policy_weight(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def legal_index(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None, None))]: ...

    @property
    def legal_counts(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]: ...

    @property
    def wdl(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def value_weight(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def plies(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def root_value(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def game_ids(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class Buffer:
    """The window of games that the learner samples from."""

    def __init__(self, variant: str, capacity: int, threads: int = 0) -> None: ...

    def add(self, record: GameRecord) -> None: ...

    def sample(self, size: int, seed: int, mirror: bool = True) -> Samples: ...

    @property
    def positions(self) -> int: ...

    @property
    def games(self) -> int: ...

    @property
    def game_ids(self) -> list[int]: ...

class CpuNet:
    """
    A net in float32 by Winograd's convolutions; any thread may ask it at any time.
    """

    def __init__(self, *, ranks: int, files: int, bitboards: int, scalars: int, planes: int, blocks: int, channels: int, policy_channels: int, value_channels: int, context: str, tensors: Sequence[Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)]]) -> None:
        """
        `tensors`: weights and bias of each layer of a folded net, in the order in which they are used.
        """

    def evaluate(self, bits: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scalars: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], priors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], wdl: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], plies: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """Answer a batch of any size into the last three arrays."""

def cpu_kernels() -> str:
    """Which instructions nets are computed with: avx512, avx2 or base."""

def square_name(square: int) -> str:
    """
    >>> square_name(28)
    'e4'
    """

def parse_square(name: str) -> int:
    """
    >>> parse_square('e4')
    28
    """

def signature() -> int:
    """
    Checksum of the rules of every variant, equal on every machine (see bench/signature.txt).
    """

def selfplay_signature() -> int:
    """
    Checksum of self-play records of every variant, with noise, temperature, random plies and fast searches; equal
    on every machine.
    """

def generate_rate(variant: str, positions: int, seed: int, seconds: float) -> tuple[float, float]:
    """
    Positions and legal moves per second that one thread writes down, over positions of random games.
    """
