"""
The native core of Selfmate: rules, notation, search, self-play, records, CPU nets.
"""

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

NODE_BYTES: int = 32

EDGE_BYTES: int = 28

VARIANTS: tuple[str, ...]

class Move:
    """
    A move: origin, target and promotion. Immutable, comparable and hashable.

    >>> Move.from_uci('a7a8q').promotion == QUEEN
    True
    """

    def __init__(self, from_square: int, to_square: int, promotion: int | None = None) -> None: ...

    @staticmethod
    def from_uci(uci: str) -> Move:
        """
        Return the move of a UCI text such as ``e2e4`` or ``a7a8q``, which need not be legal anywhere, or the null
        move for ``0000``. Raises InvalidMove.

        >>> Move.from_uci('e2e4').to_square
        28
        """

    @staticmethod
    def null() -> Move:
        """
        Return the null move: the other side is to move. PGN games contain it in analyses.

        >>> position = Position('chess')
        >>> position.san(position.play(Move.null())), position.turn == BLACK
        ('--', True)
        """

    def __bool__(self) -> bool:
        """Return False for the null move only."""

    @property
    def from_square(self) -> int: ...

    @property
    def to_square(self) -> int: ...

    @property
    def promotion(self) -> int | None: ...

    def uci(self) -> str:
        """
        Return origin, target and promotion as text; castling is king takes rook (see `Position.uci`).
        """

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __reduce__(self) -> tuple[object, ...]: ...

class Termination(enum.Enum):
    """The reason for the end of a game."""

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
    The end of a game: winner and termination.

    >>> outcome = Position('chess', '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1').outcome()
    >>> outcome.result(), outcome.reason
    ('1/2-1/2', 'stalemate')
    """

    def __init__(self, termination: Termination, winner: bool | None = None) -> None: ...

    @property
    def termination(self) -> Termination: ...

    @property
    def winner(self) -> bool | None: ...

    @property
    def reason(self) -> str: ...

    def result(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __reduce__(self) -> tuple[object, ...]: ...

    def __repr__(self) -> str: ...

class Setup:
    """
    An unchecked arrangement of pieces, turn and rights; `Position.from_setup` validates it.

    >>> setup = Setup('gardner')
    >>> setup.set_piece(0, 'K')
    >>> setup.fen()
    '5/5/5/5/K4 w - - 0 1'
    """

    def __init__(self, variant: str = 'chess') -> None: ...

    @staticmethod
    def from_fen(fen: str, variant: str = 'chess') -> Setup:
        """Return the setup of a FEN. Raises `FenError` for invalid syntax only."""

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
        """Squares of the rooks that may still castle, as a bitboard."""

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
        """Put a piece (``P``, ``k``) on a square, or remove it with None."""

    def fen(self) -> str: ...

    def __getstate__(self) -> tuple[str, list[tuple[int, str]], bool, int, int | None, tuple[int, int], tuple[int, int]]: ...

    def __setstate__(self, arg: tuple[str, Sequence[tuple[int, str]], bool, int, int | None, tuple[int, int], tuple[int, int]], /) -> None: ...

class Position:
    """
    A position of any variant, with its move stack. Mutable: `play` and `undo` change it.

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
        """Return a copy with its move stack."""

    @staticmethod
    def from_setup(setup: Setup, *, lenient: bool = False) -> Position:
        """
        Return the position of a setup. Raises a `SetupError` such as `NoKing` or `OppositeCheck` if the rules do
        not allow it.
        """

    def copy(self) -> Position:
        """Return a copy with its move stack."""

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
        """The en passant square if a legal en passant capture exists, else None"""

    @property
    def checks_left(self) -> tuple[int, int] | None:
        """
        Checks that White and Black still have to give, where checks win, else None
        """

    @property
    def castling(self) -> int:
        """Squares of the rooks that may still castle, as a bitboard"""

    def fen(self, *, shredder: bool = False) -> str:
        """
        Return the FEN.

        >>> Position('gardner').fen()
        'rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1'
        """

    def epd(self) -> str:
        """Return the FEN without its clocks."""

    def board_fen(self) -> str:
        """Return the first field of the FEN."""

    def recomputed_key(self) -> int:
        """Return the key computed from scratch; always equal to `key`."""

    def piece_at(self, square: int) -> str | None:
        """
        Return the piece on a square, white in upper case, or None.

        >>> Position('chess').piece_at(parse_square('e8'))
        'k'
        """

    def pieces(self, piece: str) -> list[int]:
        """
        Return the squares of all pieces of a colour and role.

        >>> Position('chess').pieces('R')
        [0, 7]
        """

    def king(self, color: bool) -> int | None:
        """Return the square of a side's king, or None."""

    def attackers(self, color: bool, square: int) -> list[int]:
        """Return the squares of a side's pieces that attack a square."""

    def __eq__(self, other: object, /) -> bool: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    __hash__: None  # type: ignore[assignment]

    @property
    def legal_moves(self) -> list[Move]: ...

    @property
    def move_stack(self) -> list[Move]:
        """The moves so far, oldest first"""

    def is_legal(self, move: Move) -> bool: ...

    @overload
    def play(self, move: Move) -> Move:
        """
        Play a `Move` or UCI text and return the normalised move; castling may be written e1g1 or e1h1. The null
        move `Move.null()` passes; it is not among the legal moves, and not allowed in check. Raises
        `IllegalMove` or `InvalidMove` and leaves the position unchanged.

        >>> position = Position('chess', 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1')
        >>> position.play('e1g1')
        Move.from_uci('e1h1')
        >>> position.fen()
        'r3k2r/8/8/8/8/8/8/R4RK1 b kq - 1 1'
        """

    @overload
    def play(self, move: str) -> Move: ...

    def undo(self) -> Move:
        """
        Take the last move back and return it. Raises IndexError without moves.
        """

    def is_castling(self, move: Move) -> bool: ...

    def is_en_passant(self, move: Move) -> bool: ...

    def is_capture(self, move: Move) -> bool: ...

    def gives_check(self, move: Move) -> bool:
        """Return whether a legal move gives check, also where it ends the game."""

    def uci(self, move: Move) -> str:
        """
        Return the UCI text of a legal move: castling as the king's two steps, in chess960 as king takes rook.
        """

    def parse_uci(self, uci: str) -> Move: ...

    def san(self, move: Move) -> str:
        """
        Return the SAN of a legal move.

        >>> Position('chess').san(Move.from_uci('g1f3'))
        'Nf3'
        """

    def parse_san(self, san: str) -> Move:
        """
        Return the legal move of a SAN. Raises InvalidSan, AmbiguousSan or IllegalSan.

        >>> Position('chess').parse_san('Nf3')
        Move.from_uci('g1f3')
        """

    def play_san(self, san: str) -> Move:
        """Play the legal move of a SAN and return it. Raises as `parse_san`."""

    def is_check(self) -> bool: ...

    def checkers(self) -> list[int]:
        """Return the squares of the pieces that give check."""

    def repetitions(self) -> int:
        """Return how often this position has occurred, including this time."""

    def outcome(self, *, claim_draw: bool = False) -> Outcome | None:
        """
        Return the outcome of the game, or None if it is not over. Threefold repetition and the fifty-move rule
        count only with `claim_draw`.

        >>> position = Position('atomic', 'rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3')
        >>> _ = position.play('e5f7')
        >>> position.outcome().reason, position.outcome().result()
        ('king exploded', '1-0')
        """

    def is_game_over(self, *, claim_draw: bool = False) -> bool: ...

    def has_insufficient_material(self, color: bool) -> bool:
        """Return whether a side cannot win with the material on the board."""

    def perft(self, depth: int, threads: int = 1) -> int:
        """
        Return the number of leaves of the tree of legal moves.

        >>> Position('atomic').perft(4)
        197326
        """

    def divide(self, depth: int, threads: int = 1) -> list[tuple[Move, int]]:
        """Return [(move, leaves)] for each legal move."""

class Encoding:
    """Sizes of a variant's inputs and policy (see cpp/data/encode.h)."""

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

    @property
    def history(self) -> int:
        """Positions that the encoder sees"""

    @property
    def encoder(self) -> str: ...

    @property
    def policy(self) -> str: ...

    @property
    def is_default(self) -> bool:
        """Whether it is the variant's own: full, planes, one position"""

    @property
    def seen_by_white(self) -> bool:
        """Whether the board is never flipped"""

    def move_index(self, position: Position, move: Move) -> int:
        """Return the policy index of a legal move."""

    def mirror_index(self, index: int) -> int:
        """Return the policy index with left and right exchanged."""

    def plane_names(self) -> list[str]:
        """
        Return what each plane of the policy means. Planes of encodings that are seen by the same side mean the
        same, on any board and in any variant, where their names are equal.

        >>> names = encoding('gardner').plane_names()
        >>> names[:4], names[32:34], names[-3:]
        (['0,1', '0,2', '0,3', '0,4'], ['1,2', '2,1'], ['=r -1', '=r 0', '=r 1'])
        """

    def __eq__(self, other: object, /) -> bool: ...

    def __getstate__(self) -> tuple[str, str, str, int]: ...

    def __setstate__(self, arg: tuple[str, str, str, int], /) -> None: ...

def encoding(variant: str, encoder: str = 'full', policy: str = 'planes', history: int = 1) -> Encoding:
    """
    Return an encoding of a variant (the names are those of cpp/data/encoders.h).

    >>> encoding('gardner').planes, encoding('chess').planes, encoding('antichess').planes
    (49, 73, 76)
    """

def encode(position: Position) -> tuple[Annotated[NDArray[numpy.uint64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.uint16], dict(shape=(None,))]]:
    """
    Return bitboards uint64[P], scalars float32[S], and the policy index uint16 of each legal move in the order of
    `legal_moves`.
    """

def move_index(position: Position, move: Move) -> int:
    """Return the policy index of a legal move."""

def index_move(position: Position, index: int) -> Move:
    """Return the legal move with a policy index. Raises IllegalMove."""

def mirror_index(variant: str, index: int) -> int:
    """Return the policy index with left and right exchanged."""

def mirror_squares(variant: str, squares: int) -> int:
    """Return a bitboard with left and right exchanged."""

def evaluate(position: Position, evaluator: str) -> tuple[Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]:
    """
    Return the priors float32[moves] of the legal moves and win, draw, loss float32[3] of a native evaluator.
    """

class Leaves:
    """
    A batch of leaves for an evaluator: bits uint64[B, P], scalars float32[B, S], moves uint16[B, M],
    counts uint16[B], keys uint64[B], and the ticket to apply its evaluations with.
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

class LeafBuffers:
    """
    Caller-owned memory for batches of leaves, such as pinned memory that a device reads: flat arrays, as many
    rows as `counts` has. The width of a batch is the first of `widths` that holds the moves of every row.
    """

    def __init__(self, bits: Annotated[NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu')], scalars: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu')], widths: Sequence[int], encoding: Encoding | None = None) -> None: ...

    @property
    def size(self) -> int:
        """Rows of the last batch"""

    @property
    def width(self) -> int:
        """Width of its moves"""

    @property
    def ticket(self) -> int: ...

DENSE_PLANES: int = 20

def encode_positions(positions: Sequence[Position], encoding: Encoding | None = None) -> Leaves:
    """
    Return positions of one variant as a batch of leaves without a ticket, as a search encodes them.
    """

def write_planes(positions: Sequence[Position], planes: Any) -> None:
    """
    Write the dense planes of positions of one variant into float32[B, C, H, W]. Raises ArrayError.
    """

def write_masks(positions: Sequence[Position], masks: Any) -> None:
    """
    Write the legal actions of positions of one variant into bool[B, policy_size]. Raises ArrayError.
    """

def observe(position: Position, white: bool, planes: Any, mask: Any) -> None:
    """
    Write what a side sees of a position: planes float32[C, H, W], legal actions int8[policy_size], none of them
    for the side that is not to move. Raises ArrayError.
    """

def leaf_planes(variant: str, bits: Any, scalars: Any, planes: Any) -> None:
    """
    Write bits uint64[B, P] and scalars float32[B, S] of leaves as dense planes float32[B, C, H, W]. Raises
    ArrayError.
    """

class GameBatch:
    """
    Many games of one variant, stepped side by side by actions (policy indices); a game that ends begins again at
    once. Observations and results are written into arrays of the caller. Use it through `selfmate.envs`.
    """

    def __init__(self, variant: str, games: int, *, starts: Sequence[str] = [], seed: int = 0, max_plies: int = 512, threads: int = 1) -> None: ...

    def reset(self, seed: int, planes: Any, masks: Any) -> None:
        """
        Begin all games again; write planes float32[N, C, H, W] and masks bool[N, policy_size]. Raises ArrayError.
        """

    def step(self, actions: Any, planes: Any, masks: Any, rewards: Any, terminated: Any, truncated: Any) -> None:
        """
        Make one move in each game: actions int64[N]; rewards float32[N], terminated and truncated bool[N] are
        written besides planes and masks. Raises ArrayError, or IllegalMove before any move is made.
        """

    def random_actions(self, actions: Any) -> None:
        """
        Write a legal action of each game, drawn uniformly, into int64[N]. Raises ArrayError.
        """

    @property
    def games(self) -> int: ...

    def turns(self) -> Annotated[NDArray[numpy.uint8], dict(shape=(None,))]:
        """Return uint8[N], 1 where White is to move."""

    def fens(self) -> list[str]:
        """Return the positions as FEN."""

class ConfigField:
    """
    A field of a config struct of the core: name, type, default, range, help.
    """

    @property
    def name(self) -> str: ...

    @property
    def help(self) -> str: ...

    @property
    def type(self) -> Any:
        """bool, int, float or str"""

    @property
    def default(self) -> Any:
        """None for a required field"""

    @property
    def minimum(self) -> Any:
        """None for a flag or a choice"""

    @property
    def maximum(self) -> Any:
        """None for a flag or a choice"""

    @property
    def choices(self) -> list[str]:
        """The names that a choice may have; empty for other fields"""

    @property
    def is_above_minimum(self) -> bool:
        """Whether the minimum itself is excluded"""

    @property
    def is_required(self) -> bool: ...

    @property
    def in_recipe(self) -> bool:
        """Whether it is also a key of recipes"""

class SearchConfig:
    """
    How to search; the defaults are those of playing.

    >>> SearchConfig(cpuct=2).cpuct, SearchConfig().fpu_reduction
    (2.0, 0.33)
    >>> SearchConfig(cpuct=2, lcb=True).replace(cpuct=3)  # shows what is not a default
    SearchConfig(cpuct=3.0, lcb=True)
    >>> SearchConfig(noise_epsilon=2)
    Traceback (most recent call last):
    ...
    selfmate.errors.SearchError: noise_epsilon: expected a number from 0.0 to 1.0, not 2
    """

    def __init__(self, *, gumbel: bool = False, considered: int = 16, gumbel_scale: float = 1.0, value_scale: float = 0.1, maxvisit_init: float = 50.0, select: str = 'puct', cpuct: float = 1.25, cpuct_base: float = 0.0, fpu_reduction: float = 0.33, noise_alpha: float = 0.3, noise_epsilon: float = 0.0, noise_depth: int = 0, noise_alpha_below: float = 0.1, draw_score: float = 0.0, virtual_loss: int = 1, top_k: int = 0, tail: float = 0.0, widening: float = 0.0, repetition_penalty: float = 0.0, stop_share: float = 0.0, stop_min_visits: int = 100, budget_moves: int = 0, opening_plies: int = 0, opening_share: float = 0.75, reuse: bool = False, solver: bool = True, minimax: float = 0.0, proven_means: bool = False, choose: str = 'visits', stop_when_proven: bool = True, max_bytes: int = 1073741824, lcb: bool = False, forced_win_nodes: int = 0) -> None:
        """Raises SearchError, which names the field, for a value out of range."""

    @staticmethod
    def fields() -> list[ConfigField]:
        """Every field as it was declared, in order."""

    @property
    def gumbel(self) -> bool:
        """Gumbel root (true) or PUCT with Dirichlet noise (false)"""

    @property
    def considered(self) -> int:
        """root moves that a Gumbel search considers"""

    @property
    def gumbel_scale(self) -> float:
        """scale of the Gumbel noise"""

    @property
    def value_scale(self) -> float:
        """scale of completed Q values (Gumbel root)"""

    @property
    def maxvisit_init(self) -> float:
        """
        visits added to the most visited move in the scale of completed Q values (Gumbel root)
        """

    @property
    def select(self) -> str:
        """
        selection: puct, ucb1 (no priors, untried moves first), or noise (no priors, a bonus of random size)
        """

    @property
    def cpuct(self) -> float:
        """exploration constant of PUCT, UCB1 and the noise bonus"""

    @property
    def cpuct_base(self) -> float:
        """
        the constant is cpuct + log((N + base) / base) at a node with N visits; 0: cpuct alone
        """

    @property
    def fpu_reduction(self) -> float:
        """
        first-play urgency: how much less than its parent an unvisited move is worth
        """

    @property
    def noise_alpha(self) -> float:
        """
        concentration of the Dirichlet noise (PUCT root; every node with select = "noise")
        """

    @property
    def noise_epsilon(self) -> float:
        """share of Dirichlet noise in the priors (PUCT root)"""

    @property
    def noise_depth(self) -> int:
        """
        plies below the root down to which priors also have noise_epsilon of noise
        """

    @property
    def noise_alpha_below(self) -> float:
        """concentration of the Dirichlet noise below the root"""

    @property
    def draw_score(self) -> float:
        """value of a draw inside the search, for the side to move at the root"""

    @property
    def virtual_loss(self) -> int:
        """losses that selection counts for each playout in flight"""

    @property
    def top_k(self) -> int:
        """moves of highest prior that a node searches; 0: all"""

    @property
    def tail(self) -> float:
        """moves with a smaller prior are not searched; 0: all are"""

    @property
    def widening(self) -> float:
        """
        progressive widening: a node with N visits searches widening * sqrt(N) moves; 0: all
        """

    @property
    def repetition_penalty(self) -> float:
        """
        taken in self-play from the score of a root move that repeats a position of the game
        """

    @property
    def stop_share(self) -> float:
        """
        end a search once a move has more than this share of the visits; 0: off
        """

    @property
    def stop_min_visits(self) -> int:
        """visits before stop_share ends a search"""

    @property
    def budget_moves(self) -> int:
        """
        a position with m legal moves gets budget_moves / m of the visits, half to double; 0: all alike
        """

    @property
    def opening_plies(self) -> int:
        """plies of a game with opening_share of the visits"""

    @property
    def opening_share(self) -> float:
        """share of the visits in the opening_plies"""

    @property
    def reuse(self) -> bool:
        """begin a search of self-play with the subtree of the played move"""

    @property
    def solver(self) -> bool:
        """
        prove results by minimax, and look one move ahead for the end of the game
        """

    @property
    def minimax(self) -> float:
        """
        share of the best move's value in the value of a position; the rest is the mean over its visits
        """

    @property
    def proven_means(self) -> bool:
        """
        correct means when a move is proven: its result counts for all its visits, a lost move's not at all
        """

    @property
    def choose(self) -> str:
        """the move at temperature 0: of most visits or of highest value"""

    @property
    def stop_when_proven(self) -> bool:
        """stop before the visits are used up when the root is proven"""

    @property
    def max_bytes(self) -> int:
        """size of the tree above which it is pruned to half"""

    @property
    def lcb(self) -> bool:
        """
        play the move with the highest lower confidence bound instead of the most visited move
        """

    @property
    def forced_win_nodes(self) -> int:
        """
        positions of an alpha-beta search for a forced win before a search of 400 visits or more; 0: off
        """

    def __repr__(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __getstate__(self) -> dict[str, Any]: ...

    def __setstate__(self, state: dict[str, Any], /) -> None: ...

    def replace(self, *, gumbel: bool = ..., considered: int = ..., gumbel_scale: float = ..., value_scale: float = ..., maxvisit_init: float = ..., select: str = ..., cpuct: float = ..., cpuct_base: float = ..., fpu_reduction: float = ..., noise_alpha: float = ..., noise_epsilon: float = ..., noise_depth: int = ..., noise_alpha_below: float = ..., draw_score: float = ..., virtual_loss: int = ..., top_k: int = ..., tail: float = ..., widening: float = ..., repetition_penalty: float = ..., stop_share: float = ..., stop_min_visits: int = ..., budget_moves: int = ..., opening_plies: int = ..., opening_share: float = ..., reuse: bool = ..., solver: bool = ..., minimax: float = ..., proven_means: bool = ..., choose: str = ..., stop_when_proven: bool = ..., max_bytes: int = ..., lcb: bool = ..., forced_win_nodes: int = ...) -> SearchConfig:
        """
        Return a copy with other values of some fields. Raises SearchError, which names the field.
        """

    def without_noise(self) -> SearchConfig:
        """
        The same search as matches are played: without noise and without the penalty of repetitions.
        """

    def with_max_bytes(self, bytes: int) -> SearchConfig:
        """The same search with another size of the tree."""

class SelfPlayConfig:
    """
    How the moves of self-play games are chosen; the defaults are those of a recipe.

    >>> SelfPlayConfig(visits=64).max_plies
    512
    >>> [field.name for field in SelfPlayConfig.fields() if field.is_required]
    ['visits']
    """

    def __init__(self, *, visits: int, fast_visits: int = 1, full_probability: float = 0.25, random_plies: int = 4, temperature: float = 1.0, temperature_plies: int = 10, max_plies: int = 512, policy_plies: int = 0, policy_games: float = 0.0, resign: float = 0.0, resign_moves: int = 3, resign_from: int = 20, resign_played_out: float = 0.1, quickdraw: int = 0, judge_search: bool = False) -> None:
        """Raises SearchError, which names the field, for a value out of range."""

    @staticmethod
    def fields() -> list[ConfigField]:
        """Every field as it was declared, in order."""

    @property
    def visits(self) -> int:
        """visits of a full search; its position is trained on"""

    @property
    def fast_visits(self) -> int:
        """visits of a fast search, which only chooses a move"""

    @property
    def full_probability(self) -> float:
        """share of full searches (playout cap randomisation)"""

    @property
    def random_plies(self) -> int:
        """a game begins with 0 to this many random plies"""

    @property
    def temperature(self) -> float:
        """temperature of the choice of moves in the opening"""

    @property
    def temperature_plies(self) -> int:
        """plies for which the temperature lasts"""

    @property
    def max_plies(self) -> int:
        """
        longer games are truncated and have no value target, unless `judge` is set
        """

    @property
    def policy_plies(self) -> int:
        """
        first plies of a game that are chosen by the bare policy, without a search
        """

    @property
    def policy_games(self) -> float:
        """share of games in which every move is chosen by the bare policy"""

    @property
    def resign(self) -> float:
        """
        a side resigns when its searches have values of at most minus this; 0: never
        """

    @property
    def resign_moves(self) -> int:
        """moves in a row of one side that must have such a value"""

    @property
    def resign_from(self) -> int:
        """moves of each side before which no side resigns"""

    @property
    def resign_played_out(self) -> float:
        """share of games without resignation, which measure false ones"""

    @property
    def quickdraw(self) -> int:
        """
        a game is drawn when this many plies passed without a capture or a pawn move; 0: by the rules only
        """

    @property
    def judge_search(self) -> bool:
        """search the last position of a truncated game and record its value"""

    def __repr__(self) -> str: ...

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __getstate__(self) -> dict[str, Any]: ...

    def __setstate__(self, state: dict[str, Any], /) -> None: ...

    def replace(self, *, visits: int = ..., fast_visits: int = ..., full_probability: float = ..., random_plies: int = ..., temperature: float = ..., temperature_plies: int = ..., max_plies: int = ..., policy_plies: int = ..., policy_games: float = ..., resign: float = ..., resign_moves: int = ..., resign_from: int = ..., resign_played_out: float = ..., quickdraw: int = ..., judge_search: bool = ...) -> SelfPlayConfig:
        """
        Return a copy with other values of some fields. Raises SearchError, which names the field.
        """

class MoveStats:
    """The search result of one move."""

    @property
    def move(self) -> Move: ...

    @property
    def visits(self) -> int: ...

    @property
    def value(self) -> float:
        """Mean value for the side to move, -1 to 1"""

    @property
    def draw(self) -> float: ...

    @property
    def prior(self) -> float: ...

    @property
    def weight(self) -> float:
        """In the improved policy; the weights of all moves sum to 1"""

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
    """The result of a search; `moves` are sorted best first."""

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
    def net_value(self) -> float | None:
        """
        The evaluator's value of the position; None where the rules decided it before the evaluator was asked
        """

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

class Nnue:
    """
    An efficiently updatable net, the evaluation of `alpha_beta`. Immutable.
    """

    def __init__(self, *, features: NDArray[numpy.int16], bias: NDArray[numpy.int16], output: NDArray[numpy.int16], output_bias: NDArray[numpy.int32], scale: int) -> None:
        """
        `features` int16[768, H], `bias` int16[H], `output` int16[8, 2 H], `output_bias` int32[8]; `scale`:
        centipawns for an output of one, 1 to 10,000. Raises EvaluatorError for other arrays, and for weights whose
        sums may overflow.
        """

    def evaluate(self, position: Position) -> int:
        """
        Return the evaluation of a position in centipawns, for the side to move.
        """

    @property
    def scale(self) -> int:
        """
        Centipawns for an output of one, whose sigmoid is the expected score: a score s has the value
        tanh(s / (2 scale)), -1 to 1.
        """

NNUE_HIDDEN: int = 128

NNUE_BUCKETS: int = 8

NNUE_ACTIVATION_ONE: int = 181

NNUE_OUTPUT_ONE: int = 256

class AlphaBetaResult:
    """The result of `alpha_beta`."""

    @property
    def score(self) -> int:
        """
        Centipawns for the side to move; a forced win in n plies is 1,000,000 - n
        """

    @property
    def depth(self) -> int:
        """Of the deepest iteration that was finished"""

    @property
    def best(self) -> Move: ...

    @property
    def nodes(self) -> int: ...

    @property
    def scores(self) -> list[int]:
        """The score of each depth, from 1 on"""

def alpha_beta(position: Position, depth: int, nodes: int, net: Nnue | None = None, *, exact: bool = False) -> AlphaBetaResult:
    """
    Search a position by alpha-beta with the evaluation of a net, or of heuristic-1, until `depth` is reached or
    `nodes` positions are searched; one ply at least. Repetitions count within the search alone. A game that is over
    raises SearchError. `exact`: nothing is pruned, reduced or extended.

    >>> result = alpha_beta(Position('chess', '7k/8/5K2/8/8/8/8/6Q1 w - - 0 1'), depth=4, nodes=10_000)
    >>> result.best, result.score
    (Move.from_uci('g1g7'), 999999)
    """

class Search:
    """
    One search tree. Until `done`: gather leaves, evaluate them, apply.

    >>> search = Search(Position('atomic'), SearchConfig(), visits=100)
    >>> search.run('heuristic-1')
    >>> search.result().visits
    100
    """

    def __init__(self, position: Position, config: SearchConfig, visits: int, seed: int = 0, moves: Sequence[Move] = [], encoding: Encoding | None = None) -> None: ...

    def apply(self, ticket: int, priors: NDArray[numpy.float32], wdl: NDArray[numpy.float32]) -> None:
        """
        Apply the evaluations of a ticket's leaves: priors float32[B, M], of sum one over the legal moves, and wdl
        float32[B, 3], of sum one. Raises EvaluatorError for other arrays and for numbers that are not
        probabilities, whose leaves are abandoned; SearchError for a ticket that is not open or another B.
        """

    def apply_native(self, ticket: int, evaluator: str) -> None:
        """
        Evaluate a ticket's leaves by 'uniform', 'fake' or 'heuristic-1' and apply.
        """

    def move_to(self, position: Position, config: SearchConfig, visits: int, seed: int = 0, moves: Sequence[Move] = []) -> bool:
        """
        Begin a search of another position. Keep the position's subtree, and return True, if it is in the tree
        at most two plies below the last root. `moves`: the only root moves to consider; all if empty.

        >>> position = Position('chess')
        >>> search = Search(position, SearchConfig(), 1000)
        >>> search.run('heuristic-1')
        >>> _ = position.play(search.result().best)
        >>> search.move_to(position, SearchConfig(), 1000), search.visits, search.result().nodes > 100
        (True, 0, True)
        """

    def abandon(self) -> None:
        """Abandon the leaves of all open tickets."""

    def full(self) -> bool:
        """Return whether the tree exceeds `max_bytes`."""

    def prune(self) -> None:
        """
        Remove the least visited nodes until the tree has half of `max_bytes`. Abandons all open tickets.
        """

    def gather(self, max_leaves: int) -> Leaves:
        """
        Select up to `max_leaves` leaves and return them as a batch with a ticket.
        """

    def run(self, evaluator: str, visits: int | None = None) -> None:
        """
        Search with 'uniform', 'fake' or 'heuristic-1' until done, or for `visits` more visits.
        """

    def run_for(self, seconds: float, evaluator: str, visits: int = 4294967295, threads: int = 1) -> None:
        """
        Search with 'uniform', 'fake' or 'heuristic-1' until done, for `visits` more visits or `seconds`, or until
        the tree is full.
        """

    def done(self) -> bool: ...

    @property
    def visits(self) -> int: ...

    @property
    def bytes(self) -> int:
        """Size of the tree in bytes"""

    def is_rooted(self) -> bool:
        """Return whether the root is evaluated, so that there is a result."""

    def result(self) -> SearchResult:
        """
        Return the result at the root. Raises SearchError if it is not evaluated.
        """

    def result_after(self, move: Move) -> SearchResult | None:
        """
        Return the result at the position after a root move, or None if it is not evaluated.
        """

    def tree_rows(self, max_depth: int, max_nodes: int, min_visits: int) -> list[tuple[int, int, Move | None, int, float, float, float, float | None, int | None]]:
        """
        Return the root and the moves below it, the most visited first: row of the parent, depth, move, visits,
        value, draw, prior, net_value, proven, seen by the side to move at the root. Raises SearchError if the
        root is not evaluated.
        """

def centipawns(value: float) -> int:
    """
    Return a value (-1 to 1) in centipawns by lc0's formula, 90 tan(1.5637541897 value).

    >>> centipawns(0.0), centipawns(0.5), centipawns(-1.0)
    (0, 89, -12780)
    """

class ScoreRules:
    """
    Adjudication by the players' scores. Each rule is (centipawns, moves, after): the bound must hold in the last
    `moves` moves of a side, from move number `after` on. `resign`: a side's own scores are at most -centipawns;
    `win`: both sides' scores agree on it; `draw`: both sides' scores are within +-centipawns.

    >>> rules = ScoreRules(resign=(600, 2, 0))
    >>> rules.end([30, -610, 25, -700], white_moved=False, number=2)
    ('1-0', 'Black resigns by score')
    >>> rules.end([30, None, 25, -700], white_moved=False, number=2)
    """

    def __init__(self, *, resign: tuple[int, int, int] | None = None, win: tuple[int, int, int] | None = None, draw: tuple[int, int, int] | None = None) -> None: ...

    def end(self, scores: Sequence[int | None], white_moved: bool, number: int) -> tuple[str, str] | None:
        """
        Return (result, reason) or None. `scores`: of every move so far, for the side that moved, or None;
        `number`: the number of the last move, as in a score sheet.
        """

    def __getstate__(self) -> tuple[tuple[int, int, int] | None, tuple[int, int, int] | None, tuple[int, int, int] | None]: ...

    def __setstate__(self, arg: tuple[tuple[int, int, int] | None, tuple[int, int, int] | None, tuple[int, int, int] | None], /) -> None: ...

class GameRecord:
    """
    The stored form of a game: its moves, and the search results of its trained positions.
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
        """None for a game that was truncated or is not over"""

    @property
    def result(self) -> str: ...

    @property
    def reason(self) -> str:
        """
        Why the game ended, by the rules or by a referee; empty if it was truncated or is not over
        """

    @property
    def judgement(self) -> tuple[float, float] | None:
        """
        (value, share of draws) of the last position of a truncated game by a judge, for White; or None
        """

    def judged(self, value: float, draw: float) -> GameRecord:
        """
        Return the record of a truncated game with a judgement of its last position, for White.
        """

    @property
    def resignation(self) -> tuple[int, str] | None:
        """
        (ply, result) of the first resignation: the number of moves before it, and the result that it claims; or
        None. A game that was played out goes on from there, and may have another result.
        """

    @property
    def scores(self) -> list[int | None]:
        """
        Score of each move in centipawns for the side that moved, or None; empty after `from_bytes`,
        but for an unfinished game of self-play with resignation
        """

    @property
    def values(self) -> list[tuple[int, float]]:
        """(ply, value) of every trained position, for the side to move"""

    @property
    def positions(self) -> int:
        """Number of trained positions"""

    def trained(self) -> list[dict[str, Any]]:
        """
        Return the trained positions: ply, value, draw, net_value, and visits and weights by move.
        """

    def to_bytes(self) -> bytes:
        """Return the record as bytes."""

    @staticmethod
    def from_bytes(data: bytes) -> GameRecord:
        """
        Return the record of bytes. The game is replayed; invalid bytes raise RecordError.
        """

    def __getstate__(self) -> tuple[bytes, list[int | None]]: ...

    def __setstate__(self, arg: tuple[bytes, Sequence[int | None]], /) -> None: ...

class Seat:
    """
    A player of a pool: a search with the number of its evaluator; random legal moves with 0 visits; or
    `Seat.external()`, whose moves come from `Pool.play`.

    >>> Seat(visits=100, evaluator=1).evaluator, Seat(visits=0).is_random, Seat.external().is_external
    (1, True, True)
    """

    def __init__(self, *, visits: int, evaluator: int = 0, search: SearchConfig = ..., encoding: Encoding | None = None) -> None:
        """`encoding`: of the evaluator, the variant's own by default."""

    @staticmethod
    def external() -> Seat: ...

    @property
    def visits(self) -> int: ...

    @property
    def evaluator(self) -> int: ...

    @property
    def is_external(self) -> bool: ...

    @property
    def search(self) -> SearchConfig: ...

    @property
    def is_random(self) -> bool: ...

    def __getstate__(self) -> tuple[int, int, SearchConfig, bool, Encoding | None]: ...

    def __setstate__(self, arg: tuple[int, int, SearchConfig, bool, Encoding | None], /) -> None: ...

class Pool:
    """
    Many games at once with batched evaluation: gather, evaluate, apply, drain. Self-play has one search for
    both sides, games between players have seats. Thread-safe.

    >>> pool = Pool('gardner', [Seat(visits=32), Seat(visits=0)], max_plies=60)
    >>> pool.start_games([('rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1', 0, 1)])
    >>> pool.run('heuristic-1')
    >>> [(record.white_seat, record.black_seat, record.result) for record in pool.drain()]
    [(0, 1, '1-0')]
    """

    @overload
    def __init__(self, variant: str, search: SearchConfig, selfplay: SelfPlayConfig, *, seed: int, slots: int = 64, lanes: int = 1, threads: int = 0, leaves_per_slot: int = 1, batch: int = 0, cache: bool = True, encoding: Encoding | None = None) -> None:
        """
        Self-play: seat 0 plays both sides. `cache`: a leaf that was evaluated in the same search or in the one
        before it is not evaluated again; the games are the same. `encoding`: of the evaluator, the variant's own
        by default.
        """

    @overload
    def __init__(self, variant: str, seats: Sequence[Seat], *, seed: int = 0, max_plies: int = 512, slots: int = 64, lanes: int = 1, threads: int = 0, leaves_per_slot: int = 1, batch: int = 0, rules: ScoreRules = ..., max_id_lead: int = 0, greedy: bool = False, cache: bool = True) -> None:
        """
        Games between players; games name seats by their index. `batch`: leaves of a batch, at most (0: of all
        games, divided by the lanes). `max_id_lead`: a game begins only if its id is less than this above the
        smallest unfinished id (0: no limit). `greedy`: a batch takes all leaves that fit, and a partial batch
        waits while two others are open. `cache`: as for self-play.
        """

    def apply(self, ticket: int, priors: NDArray[numpy.float32], wdl: NDArray[numpy.float32]) -> None:
        """
        Apply the evaluations of a ticket's leaves: priors float32[B, M], of sum one over the legal moves, and wdl
        float32[B, 3], of sum one. Raises EvaluatorError for other arrays and for numbers that are not
        probabilities, whose leaves are abandoned; SearchError for a ticket that is not open or another B.
        """

    def apply_native(self, ticket: int, evaluator: str) -> None:
        """
        Evaluate a ticket's leaves by 'uniform', 'fake' or 'heuristic-1' and apply.
        """

    def start(self, first_game: int, games: int) -> None:
        """
        Queue self-play games with the ids first_game, first_game + 1, …; seat 0 plays both sides.
        """

    def start_games(self, games: Sequence[tuple[str, int, int]], first_game: int = 0, *, random_opening: bool = True) -> None:
        """
        Queue games of (opening, white seat, black seat) with the ids first_game, first_game + 1, …. An opening
        is a FEN, or empty for the variant's start position. `random_opening`: the random plies of self-play
        follow it.
        """

    def set_temperature_by_move(self, steps: Sequence[tuple[int, float]]) -> None:
        """
        Draw moves at temperatures of (move, temperature), each from its move of the game on (two plies each, the
        first is 0), instead of `temperature` for `temperature_plies`. No steps: as in the config.
        """

    def configure(self, search: SearchConfig, selfplay: SelfPlayConfig) -> None:
        """
        Change self-play from the next search of each game on; no later search uses evaluations from before.
        For an evaluator that has got a new net.
        """

    def resume(self, games: Sequence[GameRecord]) -> None:
        """
        Queue games of another pool's `unfinished_games`, before all other games. They continue as they would have there.
        """

    def take_move_requests(self, seconds: float = 0.0) -> list[tuple[int, int, str, list[Move]]]:
        """
        Return the games that need a move of an external seat, as (slot, game id, opening, moves so far), each
        once per move. Blocks up to `seconds` until there is one.
        """

    def play(self, slot: int, move: Move, score: int | None = None) -> None:
        """
        Play the move of an external seat; `score`: the player's score of the position, in centipawns. Raises
        IllegalMove; then the game still needs its move.
        """

    def forfeit(self, slot: int, result: str, reason: str) -> None:
        """End a game that needs a move of an external seat, as a referee."""

    def idle(self) -> bool:
        """
        Return whether `gather` returns no leaves until evaluations or external moves arrive.
        """

    def games_to_evaluate(self) -> list[int]:
        """
        Return, for each evaluator, the number of games whose next leaves are in no batch.
        """

    @property
    def event_count(self) -> int:
        """
        Number of events so far: evaluations applied, external moves, games finished or added
        """

    def wait_for_event(self, seen: int, seconds: float) -> None:
        """
        Block until `Pool.event_count` differs from `seen`, at most for `seconds`.
        """

    def gather_into(self, buffers: LeafBuffers, evaluator: int = 0) -> None:
        """
        As `gather`, but write the batch into `buffers`. Its size is 0 if there is no batch now.
        """

    def gather(self, evaluator: int = 0) -> Leaves:
        """
        Return a batch of leaves for an evaluator, with a ticket; size 0 if there is none now.
        """

    def run(self, evaluator: str) -> None:
        """Play all games to their end with 'uniform', 'fake' or 'heuristic-1'."""

    def done(self) -> bool:
        """Return whether no game is queued or unfinished."""

    def drain(self) -> list[GameRecord]:
        """Remove and return the finished games, by id."""

    def unfinished_games(self, most: int | None = None) -> list[GameRecord]:
        """
        Return the games that are not over, with the moves so far, by id; `most`: only those with the smallest ids.
        """

    @property
    def playouts(self) -> int:
        """Visits of all finished searches"""

    @property
    def searched_plies(self) -> int:
        """Moves that a search has chosen"""

    @property
    def evaluators(self) -> int:
        """1 + the largest evaluator number of a seat with visits"""

    def encoding(self, evaluator: int = 0) -> Encoding:
        """Return the encoding of the leaves for an evaluator."""

    @staticmethod
    def seconds_waited() -> float:
        """
        Return the seconds for which the last `gather` or `apply` of this thread waited for other threads.
        """

    @property
    def lane_rows(self) -> int:
        """Leaves of a batch, at most"""

    @property
    def finished_games(self) -> int:
        """Finished games that are not drained yet"""

class Samples:
    """Inputs and targets of B positions (see cpp/data/buffer.h for shapes)."""

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
    def played(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def material(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def final_material(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def root_value(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def root_draw(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def reply_index(self) -> Annotated[NDArray[numpy.uint16], dict(shape=(None,))]: ...

    @property
    def reply_weight(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def value_ahead(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def ahead_weight(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def game_ids(self) -> Annotated[NDArray[numpy.uint64], dict(shape=(None,))]: ...

class Buffer:
    """The window of games that the learner samples from."""

    def __init__(self, variant: str, capacity: int, threads: int = 0, encoding: Encoding | None = None) -> None: ...

    def add(self, record: GameRecord) -> None:
        """Add a game; the oldest games are dropped beyond `capacity` positions."""

    def forget_before(self, game_id: int) -> None:
        """Drop the oldest games, as long as their ids are below `game_id`."""

    def sample(self, size: int, seed: int, mirror: bool = True, endings: bool = False, futures: bool = False) -> Samples:
        """
        Return `size` positions, drawn uniformly with replacement; a function of `seed` and the games. `mirror`:
        exchange left and right in half of the positions without castling rights. `endings`: replay each game to
        its end, for `final_material`, which is 0 otherwise. `futures`: also `reply_index` and `value_ahead`.
        """

    def sample_at(self, positions: Sequence[int], seed: int, mirror: bool = True, endings: bool = False, futures: bool = False) -> Samples:
        """
        Return the given positions, numbered from 0, the oldest, to `Buffer.positions` - 1; all else as in `sample`.
        """

    @property
    def positions(self) -> int: ...

    @property
    def games(self) -> int: ...

    @property
    def game_ids(self) -> list[int]: ...

class CpuLayer:
    """A layer of a CpuNet: the fields of LayerSpec, and its folded tensors."""

    def __init__(self, *, name: str, kind: str, inputs: int, outputs: int, kernel: int, reads: str, writes: str, pooling: str, onto: str, residual: str, activation: str, weight: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float32], dict(order='C', device='cpu', writable=False)]) -> None: ...

class CpuNet:
    """A net on the CPU in float32 with Winograd convolutions. Thread-safe."""

    def __init__(self, *, ranks: int, files: int, bitboards: int, scalars: int, planes: int, plies_unit: float, layers: Sequence[CpuLayer], ones: bool = True) -> None:
        """
        `layers` in the order of their computation; `ones`: whether a plane of ones follows the scalars. Raises ValueError if they do not fit together.
        """

    def evaluate(self, bits: Annotated[NDArray[numpy.uint64], dict(shape=(None, None), order='C', device='cpu', writable=False)], scalars: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], moves: Annotated[NDArray[numpy.uint16], dict(shape=(None, None), order='C', device='cpu', writable=False)], counts: Annotated[NDArray[numpy.uint16], dict(shape=(None,), order='C', device='cpu', writable=False)], priors: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], wdl: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu')], plies: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu')]) -> None:
        """
        Evaluate a batch of any size B and write priors float32[B, M], wdl float32[B, 3] and plies float32[B].
        """

def cpu_kernels() -> str:
    """
    Return the instruction set that nets are computed with: avx512, avx2 or base.
    """

class LakeNet:
    """
    The net of a deep Q-network on a Frozen Lake: square, two hidden layers with ReLU, values of four actions. Use
    it through `selfmate.lab.frozenlake.dqn`.
    """

    def __init__(self, weights: Any, *, states: int, hidden: int, learning_rate: float, average: float) -> None:
        """
        Copy float32 weights, layer by layer [inputs, outputs] and then the biases. `learning_rate` is Adam's,
        `average` the decay of the averaged weights, 0 for none. Raises ArrayError and LabError.
        """

    def values(self, squares: NDArray[numpy.int64]) -> NDArray[numpy.float32]:
        """
        Return the values of the actions on squares int64[N], float32[N, 4]. Raises ArrayError and LabError.
        """

    def averaged_values(self) -> NDArray[numpy.float32]:
        """
        Return the values of every square by the averaged weights, float32[S, 4].
        """

    def learn(self, squares: NDArray[numpy.int64], actions: NDArray[numpy.int64], targets: NDArray[numpy.float32]) -> None:
        """
        Make one step of Adam on the mean smooth L1 loss of a batch: squares and actions int64[N], targets
        float32[N]. Raises ArrayError and LabError.
        """

class LakeSearch:
    """
    Monte-Carlo tree search on the exact model of a Frozen Lake: UCT, chance nodes, roll-outs. Use it through
    `selfmate.lab.frozenlake.planner`.
    """

    def __init__(self, next: Any, bounds: Any, rewards: Any, ends: Any, *, policy: Any, leaf_values: Any, c: float, gamma: float, rollout_steps: int) -> None:
        """
        Copy a model: next int32[S, 4, 3], bounds uint64[S, 4, 2], rewards float64[S, 4, 3], ends bool[S, 4, 3],
        policy int8[S] (-1: a random action) and leaf_values float64[S]. Raises ArrayError and LabError.
        """

    def run(self, root: int, simulations: int, seed: int, stream: int = 0) -> None:
        """
        Build a new tree from a square; equal arguments build equal trees. Raises LabError.
        """

    def plan(self, states: Sequence[int], simulations: int, repeats: int, seed: int, *, by_visits: bool = False) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """
        Search `repeats` times from each square; return how often each action was best, or with `by_visits` the
        sum of its visits, int64[len(states), 4]. Raises LabError.
        """

    def best_action(self) -> int:
        """
        Return the action with the highest value at the root. Raises LabError before the first search.
        """

    def tree(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.uint32], NDArray[numpy.uint32], NDArray[numpy.float64], NDArray[numpy.int32]]:
        """
        Return the tree, node by node in the order of expansion: states int32[N], visits uint32[N], action visits
        uint32[N, 4], value sums float64[N, 4], and children int32[N, 12], 3 for each action, 0 where there is none.
        """

def portable_log(number: float) -> float:
    """
    Return the natural logarithm, with the same digits on every machine. Raises LabError.
    """

def square_name(square: int) -> str:
    """
    Return the name of a square.

    >>> square_name(28)
    'e4'
    """

def parse_square(name: str) -> int:
    """
    Return the square of a name. Raises SelfmateError.

    >>> parse_square('e4')
    28
    """

def signature() -> int:
    """
    Return the checksum of rules and search over every variant, equal on every machine (bench/signature.txt).
    """

def selfplay_signature() -> int:
    """
    Return the checksum of self-play records of every variant, with noise, temperature, random plies and fast
    searches; equal on every machine (bench/signature.txt).
    """

def generate_rate(variant: str, positions: int, seed: int, seconds: float) -> tuple[float, float]:
    """
    Return (positions, legal moves) per second of move generation on one thread, over positions of random games.
    """

def observe_random_games(variant: str, seed: int, moves: int) -> int:
    """
    Play random moves in one game after another, writing dense planes and action masks after each, on one thread;
    return the number of games that ended.
    """
