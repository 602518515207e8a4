"""Second implementations for the tests: encoder, policy index, random numbers, PUCT and Gumbel search, in plain Python.

They follow the documented contracts (`cpp/data/encode.h`, docs/decisions) and the published formulas, use nothing of
the core but `Position`, and are slow. Scores are float64; `Tree.margin` is the distance of the closest choice, where
float32 may decide otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from selfmate import WHITE, Move, Position

PIECES: Final = "PNBRQK"
DIFFERENT_COLOURS: Final = ("horde", "racingkings")
# Clockwise from north, (file, rank).
DIRECTIONS: Final = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))
JUMPS: Final = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
QUEEN: Final = 5
UNDERPROMOTIONS: Final = {2: 0, 3: 1, 4: 2, 6: 3}

# ---- statistics ---------------------------------------------------------------------------------


def chi_square_z(observed: Sequence[float], expected: Sequence[float]) -> float:
    """Return Pearson's chi-square as a standard normal deviate (Wilson and Hilferty 1931).

    Cells that expect fewer than five are merged into one.

    >>> round(chi_square_z([50, 50], [50, 50]), 2) < 0 < 5 < chi_square_z([80, 20], [50, 50])
    True
    """
    cells = [(seen, wanted) for seen, wanted in zip(observed, expected, strict=True) if wanted >= 5]
    rare = [(seen, wanted) for seen, wanted in zip(observed, expected, strict=True) if wanted < 5]
    if sum(wanted for _, wanted in rare) > 0:
        cells.append((sum(seen for seen, _ in rare), sum(wanted for _, wanted in rare)))
    chi_square = sum((seen - wanted) ** 2 / wanted for seen, wanted in cells)
    freedom = len(cells) - 1
    assert freedom >= 1
    share = 2 / (9 * freedom)
    return float(((chi_square / freedom) ** (1 / 3) - (1 - share)) / math.sqrt(share))


def binomial_z(successes: int, trials: int, probability: float) -> float:
    """Return a number of successes as a standard normal deviate."""
    return (successes - trials * probability) / math.sqrt(trials * probability * (1 - probability))


# ---- random numbers -----------------------------------------------------------------------------

MASK: Final = (1 << 64) - 1


def mix(z: int) -> int:
    """Return the next output of splitmix64 (Steele, Lea and Flood 2014) for the state `z`.

    >>> hex(mix(0))
    '0xe220a8397b1dcdaf'
    """
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return z ^ z >> 31


class Counter:
    """A stream of random numbers that is a function of a seed and up to three counters."""

    def __init__(self, seed: int, *counters: int) -> None:
        self.state = mix(seed)
        for each in (*counters, 0, 0, 0)[:3]:
            self.state = mix(self.state ^ each)

    def bits(self) -> int:
        """Return 64 random bits."""
        bits = mix(self.state)
        self.state = (self.state + 1) & MASK
        return bits

    def uniform(self) -> float:
        """Return a number between 0 and 1, both excluded."""
        return ((self.bits() >> 12) + 0.5) / 2**52

    def below(self, n: int) -> int:
        """Return an integer of range(n)."""
        return (self.bits() >> 32) * n >> 32

    def gamma(self, alpha: float) -> float:
        """Return a gamma variate (Marsaglia and Tsang 2000), with normals by the polar method."""
        if alpha < 1:
            grown = self.gamma(alpha + 1)
            return grown * math.exp(math.log(self.uniform()) / alpha)
        d = alpha - 1 / 3
        while True:
            square = 0.0
            while not 0 < square < 1:
                x, y = 2 * self.uniform() - 1, 2 * self.uniform() - 1
                square = x * x + y * y
            normal = x * math.sqrt(-2 * math.log(square) / square)
            cube = (1 + normal / math.sqrt(9 * d)) ** 3
            if cube > 0 and math.log(self.uniform()) < normal**2 / 2 + d * (1 - cube + math.log(cube)):
                return d * cube

    def dirichlet(self, alpha: float, n: int) -> list[float]:
        """Return a draw from the symmetric Dirichlet distribution."""
        drawn = [self.gamma(alpha) for _ in range(n)]
        return [each / sum(drawn) for each in drawn]


# ---- encoder and policy index -------------------------------------------------------------------


class Encoded(NamedTuple):
    """What a net sees: 16 bitboards and 4 scalars."""

    bits: tuple[int, ...]
    scalars: tuple[float, ...]


def bitboard(squares: Iterable[tuple[int, int]]) -> int:
    """Return the set of (file, rank) as bits rank * 8 + file.

    >>> bitboard([(0, 0), (1, 2)])
    131073
    """
    return sum(1 << (8 * rank + file) for file, rank in squares)


def encode(position: Position, repeated: bool) -> Encoded:
    """Encode a position from its FEN alone.

    >>> encode(Position("gardner"), False).bits[:2] == (0b11111 << 8, 0b10)
    True
    """
    board, turn, castling, ep_square, *rest = position.fen(shredder=True).split()
    rows = board.split("/")
    ranks = len(rows)
    us_white = turn == "w"

    def seen(file: int, rank: int) -> tuple[int, int]:
        return (file, rank if us_white else ranks - 1 - rank)

    planes: list[list[tuple[int, int]]] = [[] for _ in range(16)]
    for row, text in enumerate(rows):
        file = 0
        for letter in text:
            if letter.isdigit():
                file += int(letter)
                continue
            plane = PIECES.index(letter.upper()) + (0 if letter.isupper() == us_white else 6)
            planes[plane].append(seen(file, ranks - 1 - row))
            file += 1
        assert file == position.files
    for letter in castling.replace("-", ""):
        plane = 12 if letter.isupper() == us_white else 13
        planes[plane].append(seen("abcdefgh".index(letter.lower()), 0 if letter.isupper() else ranks - 1))
    if ep_square != "-":
        planes[14].append(seen("abcdefgh".index(ep_square[0]), int(ep_square[1]) - 1))
    if repeated:
        planes[15] = [(file, rank) for file in range(position.files) for rank in range(ranks)]
    own, theirs = 0.0, 0.0
    if "+" in rest[0]:
        white, black = (int(number) for number in rest.pop(0).split("+"))
        own, theirs = (white / 3, black / 3) if us_white else (black / 3, white / 3)
    black_of_two_games = float(position.variant in DIFFERENT_COLOURS and not us_white)
    return Encoded(tuple(bitboard(plane) for plane in planes), (int(rest[0]) / 100, own, theirs, black_of_two_games))


def move_index(position: Position, move: Move) -> int:
    """Return plane * squares + from-square of a move, seen by the side to move.

    >>> move_index(Position("chess"), Move.from_uci("e2e4")) == (0 * 7 + 1) * 64 + 12
    True
    """
    files, ranks = position.files, position.ranks
    reach = files - 1

    def seen(square: int) -> tuple[int, int]:
        rank, file = divmod(square, 8)
        return file, rank if position.turn == WHITE else ranks - 1 - rank

    (from_file, from_rank), (to_file, to_rank) = seen(move.from_square), seen(move.to_square)
    step = (to_file - from_file, to_rank - from_rank)
    if move.promotion is not None and move.promotion != QUEEN:
        plane = 8 * reach + 8 + 3 * UNDERPROMOTIONS[move.promotion] + 1 + step[0]
    elif step in JUMPS:
        plane = 8 * reach + JUMPS.index(step)
    else:
        distance = max(abs(step[0]), abs(step[1]))
        plane = DIRECTIONS.index((step[0] // distance, step[1] // distance)) * reach + distance - 1
    return plane * files * ranks + from_rank * files + from_file


def mirrored_position(position: Position) -> Position:
    """Return the position with left and right exchanged; it must have no castling rights."""
    board, turn, castling, ep_square, *rest = position.fen().split()
    assert castling == "-"
    rows = "/".join(row[::-1] for row in board.split("/"))
    if ep_square != "-":
        ep_square = "abcdefgh"[position.files - 1 - "abcdefgh".index(ep_square[0])] + ep_square[1]
    return Position(position.variant, " ".join([rows, turn, castling, ep_square, *rest]))


def mirrored_move(position: Position, move: Move) -> Move:
    """Return the move with left and right exchanged."""

    def mirrored(square: int) -> int:
        rank, file = divmod(square, 8)
        return 8 * rank + position.files - 1 - file

    return Move(mirrored(move.from_square), mirrored(move.to_square), move.promotion)


# ---- a net that is a hash ------------------------------------------------------------------------


def hash_net(seen: Encoded, indices: Sequence[int], draws: float = 0.4) -> tuple[list[float], tuple[float, ...]]:
    """Return priors of the moves with these policy indices, and win, draw, loss: float32 numbers of what is seen."""
    state = hash((*seen.bits, *(round(300 * scalar) for scalar in seen.scalars))) & MASK
    weights = [0.02 + (mix(state ^ index) / 2**64) ** 3 for index in indices]
    total = sum(weights)
    win = mix(state ^ 1 << 20) / 2**64
    draw = draws * mix(state ^ 1 << 21) / 2**64
    wdl = (win * (1 - draw), draw, (1 - win) * (1 - draw))
    return [float(np.float32(weight / total)) for weight in weights], tuple(float(np.float32(each)) for each in wdl)


def answer(leaves: Any, draws: float = 0.4) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Evaluate a batch of the core's leaves with `hash_net`."""
    priors = np.zeros(leaves.moves.shape, dtype=np.float32)
    wdl = np.zeros((leaves.size, 3), dtype=np.float32)
    for row, count in enumerate(leaves.counts.tolist()):
        seen = Encoded(tuple(leaves.bits[row].tolist()), tuple(leaves.scalars[row].tolist()))
        priors[row, :count], wdl[row] = hash_net(seen, leaves.moves[row, :count].tolist(), draws)
    return priors, wdl


# ---- search -------------------------------------------------------------------------------------

Proof = tuple[int, int]
"""(1, plies) for a win of the side that is asked, (0, 0) for a draw, (-1, plies) for a loss."""


def preference(proof: Proof) -> tuple[int, int]:
    """Order proofs: quick wins, then draws, then slow losses."""
    return proof[0], -proof[0] * proof[1]


def one_ply_earlier(proof: Proof) -> Proof:
    """Return the same fact for the side that moved here."""
    return -proof[0], proof[1] + abs(proof[0])


def best_proof(edges: Sequence[Edge]) -> Proof | None:
    """Return what is proven of a node: a win by one move, or the best of all moves once each is proven."""
    known = [edge.proof for edge in edges if edge.proof is not None]
    best = max(known, key=preference, default=None)
    return best if best is not None and (best[0] > 0 or len(known) == len(edges)) else None


@dataclass
class Edge:
    """A move; values are those of the side that makes it."""

    move: Move
    prior: float = 0.0
    values: list[float] = field(default_factory=list)
    draws: list[float] = field(default_factory=list)
    in_flight: int = 0
    proof: Proof | None = None
    child: Node | None = None
    mixed: float | None = None
    """Its value, where that is another one than the mean (`Tree.mix`)."""

    @property
    def visits(self) -> int:
        """Return the number of playouts that came back along this edge."""
        return len(self.values)

    @property
    def value(self) -> float:
        """Return the mean of them, or what replaces it."""
        return math.fsum(self.values) / len(self.values) if self.mixed is None else self.mixed


@dataclass
class Node:
    """A position; values are those of the side to move."""

    white: bool
    edges: list[Edge]
    proof: Proof | None
    seen: Encoded
    indices: list[int]
    net_value: float = 0.0
    by_rules: bool = False
    """Decided when it was made, so that the net was not asked."""
    values: list[float] = field(default_factory=list)
    in_flight: int = 0
    waiting: bool = False
    number: int = 0
    """Of nodes made before this one."""
    mixed: float | None = None

    @property
    def value(self) -> float:
        """Return the mean of its own evaluation and of all that came from below, or what replaces it."""
        return math.fsum(self.values) / len(self.values) if self.mixed is None else self.mixed


Path = list[tuple[Node, Edge]]


class Config(NamedTuple):
    """The search's parameters, by the names of `SearchConfig`."""

    cpuct: float = 1.25
    fpu_reduction: float = 0.33
    draw_score: float = 0.0
    virtual_loss: int = 1
    gumbel: bool = False
    considered: int = 16
    value_scale: float = 0.1
    maxvisit_init: float = 50.0
    stop_when_proven: bool = True
    select: str = "puct"
    cpuct_base: float = 0.0
    noise_alpha: float = 0.3
    top_k: int = 0
    tail: float = 0.0
    widening: float = 0.0
    repetition_penalty: float = 0.0
    stop_share: float = 0.0
    stop_min_visits: int = 100
    solver: bool = True
    choose: str = "visits"
    minimax: float = 0.0
    proven_means: bool = False


SELECTION_NOISE: Final = int.from_bytes(b"sele", "big")
"""What the noise of `select = "noise"` is drawn for: counters of (seed, purpose, node, visits)."""


def considered_visits(considered: int, simulations: int) -> list[int]:
    """Return the visits that the next candidate should have before each simulation (mctx, seq_halving.py).

    >>> considered_visits(4, 8)
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    if considered <= 1:
        return list(range(simulations))
    phases = math.ceil(math.log2(considered))
    sequence: list[int] = []
    visits = [0] * considered
    left = considered
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (phases * left))):
            sequence += visits[:left]
            visits[:left] = [each + 1 for each in visits[:left]]
        left = max(2, left // 2)
    return sequence[:simulations]


def transformed_values(
    raw_value: float,
    priors: Sequence[float],
    means: Sequence[float | None],
    visits: Sequence[int],
    decided: Sequence[float | None],
    value_scale: float = 0.1,
    maxvisit_init: float = 50.0,
) -> list[float]:
    """Return sigma(completed Q) (Danihelka et al. 2022, appendix D; mctx, qtransform_completed_by_mix_value).

    `means` are those of visited moves, None for the others, which get the mixed value approximation. A move with a
    `decided` result has that one.
    """
    total = sum(visits)
    visited = [(prior, mean) for prior, mean in zip(priors, means, strict=True) if mean is not None]
    prior_sum = sum(prior for prior, _ in visited)
    weighted = sum(prior * mean for prior, mean in visited) / prior_sum if prior_sum else 0.0
    mixed = (raw_value + total * weighted) / (1 + total)
    completed = [
        result if result is not None else mean if mean is not None else mixed
        for result, mean in zip(decided, means, strict=True)
    ]
    low, high = min(completed), max(completed)
    scale = (maxvisit_init + max(visits)) * value_scale
    return [scale * (value - low) / max(high - low, 1e-8) for value in completed]


class Tree:
    """One search: `playout` gives a leaf, `answer` brings its evaluation; several leaves may wait."""

    def __init__(
        self,
        position: Position,
        config: Config,
        visits: int,
        net: Callable[[Encoded, Sequence[int]], tuple[list[float], tuple[float, ...]]] = hash_net,
        seed: int = 0,
    ) -> None:
        self.root_position = position.copy()
        self.seed = seed
        self.config = config
        self.budget = visits
        self.net = net
        self.root: Node | None = None
        self.done_visits = self.waiting = self.collisions = 0
        self.depths: list[int] = []  # of each node
        self.margin = math.inf
        """The smallest difference between the best score and the second of all selections."""
        before = position.copy()
        self.history = [before.epd()]  # up to and with the root
        while before.move_stack:
            before.undo()
            self.history.insert(0, before.epd())

    # -- what the rules say -----------------------------------------------------------------------

    def worth(self, result: int, white: bool) -> float:
        """Return what a win (1), a draw or a loss (-1) of a side is worth to it."""
        if result:
            return float(result)
        return self.config.draw_score * (1 if white == self.root_position.turn else -1)

    def is_drawn(self, position: Position, line: Sequence[str]) -> tuple[bool, bool]:
        """Whether the rules of counting make a position a draw, and whether it has occurred before.

        `line` has every position of the game, this one last. One that occurred at the root or below it is a draw, one
        from before the root only the third time.
        """
        *past, here = line
        before_root, since_root = past[: len(self.history) - 1], past[len(self.history) - 1 :]
        drawn = here in since_root or before_root.count(here) >= 2 or position.halfmove_clock >= 100
        outcome = position.outcome()
        drawn |= outcome is not None and outcome.termination.name == "INSUFFICIENT_MATERIAL"
        if not self.config.solver and not position.legal_moves:
            drawn = here in since_root  # the end of the game comes first; it was not seen at the parent
        return drawn, here in past

    def expand(self, position: Position, repeated: bool) -> Node:
        """Make a node; moves that win or lose at once are seen."""
        white = position.turn == WHITE
        moves = position.legal_moves
        edges = [Edge(move) for move in moves]
        for edge in edges if self.config.solver else []:
            position.play(edge.move)
            outcome = position.outcome()
            if outcome is not None and outcome.winner is not None:
                edge.proof = (1, 1) if outcome.winner == white else (-1, 1)
            position.undo()
        proof: Proof | None
        if edges:
            proof = best_proof(edges)
        else:
            outcome = position.outcome()
            assert outcome is not None
            proof = (0 if outcome.winner is None else 1 if outcome.winner == white else -1, 0)
        indices = [move_index(position, move) for move in moves]
        node = Node(white, edges, proof, encode(position, repeated), indices, number=len(self.depths))
        if proof is not None:
            node.net_value = float(proof[0])
            node.by_rules = True
        return node

    # -- one playout ------------------------------------------------------------------------------

    def is_decided(self) -> bool:
        """Whether a proof at the root, or a move with most of the visits, ends the search."""
        assert self.root is not None
        proof = self.root.proof
        if proof is not None and (self.config.stop_when_proven or proof[0] <= 0 or proof[1] <= 1):
            return True
        if not self.config.stop_share or self.done_visits < self.config.stop_min_visits:
            return False
        visits = [edge.visits for edge in self.root.edges]
        return max(visits) > self.config.stop_share * sum(visits)

    def wants_playout(self) -> bool:
        """Whether a playout may begin."""
        if self.root is None:
            return True
        return not self.root.waiting and not self.is_decided() and self.done_visits + self.waiting < self.budget

    def done(self) -> bool:
        """Whether the search is over."""
        if self.root is None or self.root.waiting or self.waiting:
            return False
        return self.done_visits >= self.budget or self.is_decided()

    def playout(self) -> tuple[Node, Path] | str:
        """Select down to a leaf: (node, path) to be answered, "backed up", or "blocked" by a leaf that waits."""
        if self.root is None:
            self.root = self.expand(self.root_position, self.is_drawn(self.root_position, self.history)[1])
            self.depths.append(0)
            if self.root.proof is not None:
                return "backed up"
            self.root.waiting = True
            self.waiting += 1
            return self.root, []
        position, line = self.root_position.copy(), list(self.history)
        node, path = self.root, Path()
        while True:
            if node.waiting:
                return self.release(path)
            if not node.edges:  # the end of a game, which was not proven
                assert node.proof is not None
                self.back_up(path, self.worth(node.proof[0], node.white), float(node.proof[0] == 0))
                return "backed up"
            edge = node.edges[self.select(node)]
            path.append((node, edge))
            node.in_flight += 1
            edge.in_flight += 1
            position.play(edge.move)
            line.append(position.epd())
            if edge.proof is not None:
                self.back_up(path, -self.worth(edge.proof[0], node.white), float(edge.proof[0] == 0))
                return "backed up"
            if edge.child is None:
                break
            node = edge.child
        drawn, repeated = self.is_drawn(position, line)
        if drawn:
            edge.proof = (0, 0)
            self.back_up(path, -self.worth(0, node.white), 1.0)
            self.prove(path)
            return "backed up"
        leaf = self.expand(position, repeated)
        edge.child = leaf
        self.depths.append(len(path))
        if leaf.proof is not None:
            if self.config.solver:
                edge.proof = one_ply_earlier(leaf.proof)
            self.back_up(path, self.worth(leaf.proof[0], leaf.white), float(leaf.proof[0] == 0))
            self.prove(path)
            return "backed up"
        leaf.waiting = True
        self.waiting += 1
        return leaf, path

    def release(self, path: Path) -> str:
        """Undo the virtual loss of a playout that found no leaf."""
        for node, edge in path:
            node.in_flight -= 1
            edge.in_flight -= 1
        self.collisions += 1
        return "blocked"

    def answer(self, leaf: Node, path: Path) -> None:
        """Bring the net's answer to a leaf."""
        priors, (win, draw, loss) = self.net(leaf.seen, leaf.indices)
        for edge, prior in zip(leaf.edges, priors, strict=True):
            edge.prior = prior
        leaf.waiting = False
        self.waiting -= 1
        leaf.by_rules = False
        leaf.net_value = min(1.0, max(-1.0, win - loss + draw * self.worth(0, leaf.white)))
        if path:
            self.back_up(path, leaf.net_value, draw)
        else:
            leaf.values.append(leaf.net_value)

    def back_up(self, path: Path, value: float, draw: float) -> None:
        """Count a value, that of the side to move behind the last edge, on the whole path."""
        if (leaf := path[-1][1].child) is not None:
            leaf.values.append(value)
        for node, edge in reversed(path):
            value = -value
            edge.values.append(value)
            edge.draws.append(draw)
            node.values.append(value)
            edge.in_flight -= 1
            node.in_flight -= 1
            if self.config.minimax or self.config.proven_means:
                if edge.proof is not None and not self.config.proven_means:  # its running mean goes on
                    old = 0.0 if edge.mixed is None else edge.mixed
                    edge.mixed = old + (value - old) / edge.visits
                self.mix(node, edge)
        self.done_visits += 1

    def mix(self, node: Node, edge: Edge) -> None:
        """Replace the values of an edge and its node by what follows from their children."""
        proven_means = self.config.proven_means
        if edge.proof is not None and proven_means:
            edge.mixed = self.worth(edge.proof[0], node.white)
        elif edge.proof is None:
            assert edge.child is not None
            edge.mixed = -edge.child.value
        if node.proof is not None and proven_means:
            node.mixed = self.worth(node.proof[0], node.white)
            return
        tried = [each for each in node.edges if each.visits]
        kept = [each for each in tried if each.proof is None or each.proof[0] >= 0]
        counted = kept if proven_means else tried
        total = node.net_value + math.fsum(each.visits * each.value for each in counted)
        mean = total / (1 + sum(each.visits for each in counted))
        best = max((each.value for each in kept), default=mean)
        node.mixed = (1 - self.config.minimax) * mean + self.config.minimax * best

    def prove(self, path: Path) -> None:
        """Carry a proof towards the root."""
        if not self.config.solver:
            return
        for place in range(len(path) - 1, -1, -1):
            node = path[place][0]
            proof = best_proof(node.edges)
            if proof is None or proof == node.proof:
                break
            node.proof = proof
            if place:
                path[place - 1][1].proof = one_ply_earlier(proof)
        if self.config.proven_means:
            for node, edge in reversed(path):
                self.mix(node, edge)

    # -- selection --------------------------------------------------------------------------------

    def select(self, node: Node) -> int:
        """Return the index of the edge to follow."""
        if node is self.root and self.config.gumbel:
            return self.select_gumbel(node)
        total = max(1, len(node.values) + node.in_flight)
        score = {"puct": self.puct, "ucb1": self.ucb1, "noise": self.noise_bonus}[self.config.select](node, total)
        scores: dict[int, float] = {}
        flights = []
        for index in self.candidates(node, total):
            edge = node.edges[index]
            if edge.in_flight and not edge.values:
                flights.append(index)
                continue
            flying = self.config.virtual_loss * edge.in_flight
            total_value = edge.visits * edge.value if edge.values else 0.0
            scores[index] = score(index, total_value - flying, edge.visits + flying)
            if node is self.root:
                scores[index] -= self.config.repetition_penalty * self.is_repeated(edge.move)
        if not scores:  # all decided, or in flight
            return flights[-1] if flights else 0
        return self.first_best(scores)

    def candidates(self, node: Node, total: int) -> list[int]:
        """Return the moves that a node searches: undecided ones, and with a limit only those of highest prior."""
        config, edges = self.config, node.edges
        free = [i for i, edge in enumerate(edges) if edge.proof is None or edge.proof[0] == 0]
        if config.top_k or config.tail or config.widening:
            free.sort(key=lambda i: -edges[i].prior)
            free = [i for place, i in enumerate(free) if place == 0 or edges[i].prior >= config.tail]
        if config.top_k:
            free = free[: config.top_k]
        if config.widening:
            free = free[: math.ceil(config.widening * math.sqrt(total))]
        return free

    def puct(self, node: Node, total: int) -> Callable[[int, float, int], float]:
        """Return PUCT (Silver et al. 2018) as a function of a move, its sum of values and its visits."""
        config = self.config
        tried = sum(edge.prior for edge in node.edges if edge.values or edge.in_flight)
        urgency = node.value - config.fpu_reduction * math.sqrt(tried)
        explore = config.cpuct
        if config.cpuct_base:
            explore += math.log((total + config.cpuct_base) / config.cpuct_base)
        return lambda i, value, n: (
            (value / n if n else urgency) + explore * node.edges[i].prior * math.sqrt(total) / (1 + n)
        )

    def ucb1(self, node: Node, total: int) -> Callable[[int, float, int], float]:
        """Return UCB1 (Auer et al. 2002); untried moves come first, in their order."""
        del node
        log, cpuct = math.log(total), self.config.cpuct
        return lambda i, value, n: value / n + cpuct * math.sqrt(log / n) if n else 1e6 - 100 * i

    def noise_bonus(self, node: Node, total: int) -> Callable[[int, float, int], float]:
        """Return W / (n + 1) + r * d * sqrt(N / (n + 1)), d a draw of Dirichlet noise for this selection."""
        stream = Counter(self.seed, SELECTION_NOISE, node.number, total)
        shares = stream.dirichlet(self.config.noise_alpha, len(node.edges))
        return lambda i, value, n: value / (n + 1) + self.config.cpuct * shares[i] * math.sqrt(total / (n + 1))

    def is_repeated(self, move: Move) -> bool:
        """Whether a root move leads to a position that has occurred in the game."""
        position = self.root_position.copy()
        position.play(move)
        return position.epd() in self.history

    def first_best(self, scores: dict[int, float]) -> int:
        """Return the key with the highest score, the first of equals, and note how close the second was."""
        ordered = sorted(scores.values(), reverse=True)
        if len(ordered) > 1:
            self.margin = min(self.margin, ordered[0] - ordered[1])
        return max(scores, key=scores.__getitem__)

    def gumbel_scores(self, root: Node) -> list[float]:
        """Return logit + sigma(completed Q) of the root's moves, without noise."""
        priors = [edge.prior for edge in root.edges]
        decided = [None if edge.proof is None else self.worth(edge.proof[0], root.white) for edge in root.edges]
        means = [edge.value if edge.values else None for edge in root.edges]
        visits = [edge.visits for edge in root.edges]
        config = self.config
        sigma = transformed_values(
            root.net_value, priors, means, visits, decided, config.value_scale, config.maxvisit_init
        )
        return [math.log(max(1e-12, prior)) + each for prior, each in zip(priors, sigma, strict=True)]

    def select_gumbel(self, root: Node) -> int:
        """Sequential halving: the best score of those that have as many visits as the schedule says."""
        scores = self.gumbel_scores(root)
        schedule = considered_visits(min(self.config.considered, len(root.edges)), max(1, self.budget))
        wanted = schedule[min(self.done_visits + self.waiting, len(schedule) - 1)]
        free = {
            i: edge.visits + edge.in_flight
            for i, edge in enumerate(root.edges)
            if edge.proof is None or edge.proof[0] == 0
        }
        if not free:
            return 0
        if wanted not in free.values():
            wanted = min(free.values())
        return self.first_best({i: scores[i] for i, visits in free.items() if visits == wanted})

    # -- what was found ---------------------------------------------------------------------------

    def improved_policy(self) -> list[float]:
        """Return the target weights of the root's moves."""
        assert self.root is not None
        edges = self.root.edges
        best = self.best()
        if self.root.proof is not None:
            return [float(index == best) for index in range(len(edges))]
        lost = [edge.proof is not None and edge.proof[0] < 0 for edge in edges]
        if self.config.gumbel:
            scores = self.gumbel_scores(self.root)
            high = max(score for score, out in zip(scores, lost, strict=True) if not out)
            weights = [0.0 if out else math.exp(score - high) for score, out in zip(scores, lost, strict=True)]
        else:
            weights = [0.0 if out else float(edge.visits) for edge, out in zip(edges, lost, strict=True)]
            if not sum(weights):
                return [edge.prior for edge in edges]
        return [weight / sum(weights) for weight in weights]

    def best(self) -> int:
        """Return the index of the move to play."""
        assert self.root is not None
        edges = self.root.edges
        if self.root.proof is not None:
            proofs = [(-2, 0) if edge.proof is None else preference(edge.proof) for edge in edges]
            return proofs.index(max(proofs))
        by_value = self.config.choose == "value"
        scores = (
            self.gumbel_scores(self.root)
            if self.config.gumbel
            else [edge.value if edge.values else -2 + edge.prior for edge in edges]
        )
        keys = [
            (not (edge.proof is not None and edge.proof[0] < 0), *((score,) if by_value else ()), edge.visits, score)
            for edge, score in zip(edges, scores, strict=True)
        ]
        return keys.index(max(keys))
