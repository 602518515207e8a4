"""Who sits where: the players of a match as seats of one pool, and how many games it plays at once.

>>> from selfmate.search.player import Player
>>> seating = seat_players("gardner", [Player("heuristic-1"), Player("random"), None], [100, 100, 0], games=10)
>>> [(seat.visits, seat.is_random, seat.is_outside) for seat in seating.seats], seating.evaluators
([(100, False, False), (0, True, False), (0, False, True)], ['heuristic-1'])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from selfmate._core import Pool, ScoreRules, SearchConfig, Seat
from selfmate.evaluator.base import Evaluator
from selfmate.search.autotune import BATCHES, GPU_LANES, best_batch, is_on_gpu, room_for_trees, with_spare
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM
from selfmate.util.cpu import cores
from selfmate.util.text import many

__all__ = ["Seating", "paired", "seat_players"]


def paired(openings: Sequence[str], first: int = 0, second: int = 1) -> list[tuple[str, int, int]]:
    """Give the games of a match between two seats: every opening twice, `first` with White and then with Black.

    >>> paired(["a", "b"])
    [('a', 0, 1), ('a', 1, 0), ('b', 0, 1), ('b', 1, 0)]
    """
    return [(opening, *colours) for opening in openings for colours in ((first, second), (second, first))]


NATIVE_SLOTS: Final = 256
"""Games at once where only evaluators of the core play, which need no batches."""


GPU_LEAVES: Final = (1, 2, 4)
"""Leaves of a game in one batch on a GPU: more where there are too few games for full batches, """


LEAST_TURNS: Final = 16
"""and never so many that a search takes less turns than this."""


SMALL_BATCH: Final = 512
"""Leaves that a GPU computes in twice the time of one (docs/results/gpu.md): smaller batches gain little."""


ROUNDS: Final = 3
"""Games on a GPU for each that is played at once: when no game is left to begin, batches shrink."""


MOST_QUEUES: Final = 4
"""Nets for which there are games enough that, whichever of them the games wait for, one batch is full."""


AHEAD: Final = 2
"""Where games are needed in their order: how far the newest may be ahead of the oldest, in games at once. The oldest
ends sooner when others wait for it, but batches are smaller; twice costs a tenth of the speed (docs/results/arena.md).
"""


AHEAD_SHARE: Final = 8
"""The same for long matches, in which so many more games matter little: this part of them."""


class Seating(NamedTuple):
    """A pool for a match: `drive(pool, evaluators, lanes=lanes)` plays the games that are started in it."""

    pool: Pool
    evaluators: list[Evaluator | str]
    """By the numbers that the seats name."""
    lanes: int
    seats: tuple[Seat, ...]
    """Of the players, in their order."""
    slots: int
    why: str
    """A sentence that says why so many games are played at once."""


def seat_players(
    variant: str,
    players: Sequence[Player | None],
    visits: Sequence[int],
    games: int,
    *,
    gumbel: bool = False,
    search: SearchConfig | None = None,
    seed: int = 0,
    max_plies: int = 512,
    rules: ScoreRules | None = None,
    slots: int | None = None,
    lanes: int | None = None,
    in_order: bool = False,
) -> Seating:
    """Seat players for a match of so many games; None plays from outside.

    Nobody's search has noise, and the root is that of PUCT, or of Gumbel, unless `search` says how everybody searches.
    `seed` is for the moves of `random`, `rules` are for ends by score. Players with the same net share it and its
    batches. Games at once are as many as the nets need, by a short measurement, to be nearly as fast as they get,
    unless `slots` says how many. `in_order` is for who waits for the oldest game: new ones then do not run away
    from it.
    """
    # 1. The seats
    search = search or play_config(gumbel=gumbel)
    evaluators: list[Evaluator | str] = []
    seats: list[Seat] = []
    for player, each in zip(players, visits, strict=True):
        if player is None:
            seats.append(Seat.outside())
            continue
        player.check(variant)
        if player.evaluator == RANDOM:
            seats.append(Seat(visits=0))
        else:
            seats.append(Seat(visits=each, evaluator=_number(player.evaluator, evaluators), search=search))
    # 2. Lanes and games at once. Evaluators of the core run in the threads of the pool; a net on a CPU is called from
    #    one thread for each lane, and the pool needs no more of them.
    nets = [each for each in evaluators if not isinstance(each, str)]
    gpu = any(map(is_on_gpu, nets))
    lanes = lanes or (1 if not nets else GPU_LANES if gpu else cores())
    lanes = max(1, min(lanes, games // 2, slots or games))
    batch, leaves, why = 0, 1, "all that there are"
    if slots is not None:
        why = "as was asked"
    elif not nets:
        slots = min(games, NATIVE_SLOTS)
    else:
        # While a lane looks for games, those of the other lanes are on their way.
        queues = lanes - 1 + min(MOST_QUEUES, len(nets))
        slots, most = games, -(-games // queues)
        if gpu:
            leaves = _gpu_leaves(min(seat.visits for seat in seats if seat.visits))
        if most * leaves > BATCHES[0]:
            rows = max(best_batch(net, most * leaves)[0] for net in nets)
            if gpu:
                rows, leaves = _fit_gpu(rows, leaves, queues, games)
            if queues * rows <= games * leaves:
                batch, slots = rows, queues * rows // leaves
                if gpu:
                    slots = with_spare(slots)
                why = f"nets are nearly as fast as they get with {batch:,} leaves"
                why += f", {leaves} of a game" if leaves > 1 else ""
        if slots >= games:
            batch, slots, why = 0, games, "all that there are"
        room = room_for_trees(max(1, *(seat.visits for seat in seats)))
        if slots > room:
            slots, why = room, "the trees of more would not fit into memory"
    slots = max(lanes, slots)
    pool = Pool(
        variant,
        seats,
        seed=seed,
        max_plies=max_plies,
        slots=slots,
        lanes=lanes,
        threads=0 if gpu or not nets else 1,
        leaves_per_slot=leaves,
        batch=batch,
        rules=rules or ScoreRules(),
        ahead=max(AHEAD * slots, games // AHEAD_SHARE) if in_order else 0,
        greedy=gpu,
    )
    why = f"{many(slots, 'game')} at once in {many(lanes, 'lane')}: {why}"
    return Seating(pool, evaluators, lanes, tuple(seats), slots, why)


def _gpu_leaves(visits: int) -> int:
    """Give how many leaves of one game a batch may have at most, by the shortest search.

    >>> [_gpu_leaves(visits) for visits in (1, 32, 64, 800)]
    [1, 2, 4, 4]
    """
    return max(leaves for leaves in GPU_LEAVES if leaves == 1 or visits >= leaves * LEAST_TURNS)


def _fit_gpu(rows: int, most_leaves: int, queues: int, games: int) -> tuple[int, int]:
    """Give the batches of a GPU and the leaves of a game in them.

    As few leaves as there are games for, so that enough are left to begin when others end; if even the most do not
    suffice, smaller batches.

    >>> _fit_gpu(4096, 4, 5, 100_000), _fit_gpu(4096, 4, 5, 20_000), _fit_gpu(4096, 4, 5, 2000)
    ((4096, 1), (4096, 4), (512, 4))
    """
    for leaves in GPU_LEAVES:
        if leaves <= most_leaves and ROUNDS * queues * rows <= games * leaves:
            return rows, leaves
    while rows > SMALL_BATCH and ROUNDS * queues * rows > games * most_leaves:
        rows //= 2
    return rows, most_leaves


def _number(evaluator: Evaluator | str, evaluators: list[Evaluator | str]) -> int:
    """Give the number of an evaluator: that of one that gives the same answers, or a new one."""

    def identity(each: Evaluator | str) -> str | tuple[str, str]:
        return each if isinstance(each, str) else (each.net_id, each.name)

    for number, each in enumerate(evaluators):
        if identity(each) == identity(evaluator):
            return number
    evaluators.append(evaluator)
    return len(evaluators) - 1
