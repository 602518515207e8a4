"""A pool for the games of a match: a seat for each player, and how many games are played at once.

>>> from selfmate.search.player import Player
>>> match = make_match_pool("gardner", [Player("heuristic-1"), Player("random"), None], [100, 100, 0], games=10)
>>> [(seat.visits, seat.is_random, seat.is_external) for seat in match.seats], match.evaluators
([(100, False, False), (0, True, False), (0, False, True)], ['heuristic-1'])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from selfmate._core import Pool, ScoreRules, SearchConfig, Seat
from selfmate.evaluator.base import Evaluator
from selfmate.match.schedule import ScheduledGame
from selfmate.search.autotune import BATCHES, GPU_LANES, best_batch, is_on_gpu, room_for_trees, with_spare
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM
from selfmate.util.cpu import cores
from selfmate.util.text import many

__all__ = ["MatchPool", "make_match_pool"]

NATIVE_SLOTS: Final = 256
"""Games at once where all evaluators are native, which need no batches."""
GPU_LEAVES: Final = {1: 0, 2: 32, 4: 64, 8: 512}
"""Leaves of a game in one batch on a GPU, with the visits of the shortest search that may have so many. More where
there are too few games for full batches; a search has at least 16 batches, since many leaves at once make it weaker."""
SMALL_BATCH: Final = 512
"""Leaves that a GPU computes in twice the time of one (docs/results/gpu.md): smaller batches gain little."""
GAMES_PER_SLOT: Final = 3
"""Games of a match for each that is played at once on a GPU: when no game is left to begin, batches shrink."""
MOST_QUEUES: Final = 4
"""Nets for which there are games enough that one of them always has a full batch."""
AHEAD: Final = 2
"""Where games are needed in order: how far the newest game may be ahead of the oldest, in games at once. The oldest
ends sooner when others wait for it, but batches are smaller; 2 costs a tenth of the speed (docs/results/arena.md)."""
AHEAD_SHARE: Final = 8
"""In a long match the newest game may also be ahead by this part of all games, which matters little there."""


class MatchPool(NamedTuple):
    """A pool for a match, with what drives it."""

    pool: Pool
    evaluators: list[Evaluator | str]
    """By the numbers that the seats name."""
    seats: tuple[Seat, ...]
    """One for each player, in their order."""
    lanes: int
    slots: int
    """Games at once."""
    why: str
    """A sentence that says why this many games are played at once."""

    def start(self, games: Sequence[ScheduledGame]) -> None:
        """Add games to the pool; their ids are their numbers."""
        for run in _consecutive(games):
            self.pool.start_games([(each.opening, each.white, each.black) for each in run], first_game=run[0].number)


class _Layout(NamedTuple):
    lanes: int
    slots: int
    batch: int
    """Leaves of a full batch; 0 for any number."""
    leaves: int
    """Leaves of one game in a batch."""
    why: str


def make_match_pool(
    variant: str,
    players: Sequence[Player | None],
    visits: Sequence[int],
    games: int,
    *,
    search: SearchConfig | Sequence[SearchConfig] | None = None,
    seed: int = 0,
    max_plies: int = 512,
    rules: ScoreRules | None = None,
    slots: int | None = None,
    lanes: int | None = None,
    in_order: bool = False,
) -> MatchPool:
    """Return a pool in which `games` games can be played; a player that is None is external (`Pool.play`).

    `visits` are per move, one number for each player. `search`, without noise, is that of all players, or one for each;
    `play_config()` when None. `seed` is for the moves of `random`, `rules` end games by score. Players with the same
    net share it and its batches. `slots` is the number of games at once; when None, as many as the nets need to be
    nearly as fast as they get, by a short measurement. `in_order` keeps new games from getting far ahead of the oldest
    unfinished one.
    """
    searches = search if isinstance(search, Sequence) else [search or play_config()] * len(players)
    seats, evaluators = _make_seats(variant, players, visits, searches)
    nets = [each for each in evaluators if not isinstance(each, str)]
    layout = _choose_layout(nets, [seat.visits for seat in seats if seat.visits], games, lanes=lanes, slots=slots)
    gpu = any(map(is_on_gpu, nets))
    pool = Pool(
        variant,
        seats,
        seed=seed,
        max_plies=max_plies,
        slots=layout.slots,
        lanes=layout.lanes,
        # Native evaluators run in the threads of the pool. A net on a CPU is called from one thread for each lane.
        threads=0 if gpu or not nets else 1,
        leaves_per_slot=layout.leaves,
        batch=layout.batch,
        rules=rules or ScoreRules(),
        max_id_lead=max(AHEAD * layout.slots, games // AHEAD_SHARE) if in_order else 0,
        greedy=gpu,
    )
    why = f"{many(layout.slots, 'game')} at once in {many(layout.lanes, 'lane')}: {layout.why}"
    return MatchPool(pool, evaluators, tuple(seats), layout.lanes, layout.slots, why)


def _make_seats(
    variant: str, players: Sequence[Player | None], visits: Sequence[int], searches: Sequence[SearchConfig]
) -> tuple[list[Seat], list[Evaluator | str]]:
    """Return a seat for each player, and the evaluators that the seats name by number."""
    evaluators: list[Evaluator | str] = []
    seats: list[Seat] = []
    for player, each, search in zip(players, visits, searches, strict=True):
        if player is None:
            seats.append(Seat.external())
            continue
        player.check(variant)
        if player.evaluator == RANDOM:
            seats.append(Seat(visits=0))
        else:
            encoding = None if isinstance(player.evaluator, str) else player.evaluator.encoding
            number = _number(player.evaluator, evaluators)
            seats.append(Seat(visits=each, evaluator=number, search=search, encoding=encoding))
    return seats, evaluators


def _choose_layout(
    nets: Sequence[Evaluator], visits: Sequence[int], games: int, *, lanes: int | None, slots: int | None
) -> _Layout:
    """Choose lanes, games at once and batches for a match of `games` games; `visits` are those of the searches."""
    gpu = any(map(is_on_gpu, nets))
    lanes = lanes or (1 if not nets else GPU_LANES if gpu else cores())
    lanes = max(1, min(lanes, games // 2, slots or games))
    if slots is not None:
        return _Layout(lanes, max(lanes, slots), 0, 1, "as was asked")
    if not nets:
        return _Layout(lanes, max(lanes, min(games, NATIVE_SLOTS)), 0, 1, "all that there are")
    # 1. Batches of the nets. While a lane looks for games, those of the other lanes are in batches.
    queues = lanes - 1 + min(MOST_QUEUES, len(nets))
    batch, slots, why = 0, games, "all that there are"
    leaves = _gpu_leaves(min(visits)) if gpu else 1
    most = -(-games // queues) * leaves
    if most > BATCHES[0]:
        rows = max(best_batch(net, most)[0] for net in nets)
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
    # 2. Memory for the trees
    room = room_for_trees(max(1, *visits))
    if slots > room:
        slots, why = room, "the trees of more would not fit into memory"
    return _Layout(lanes, max(lanes, slots), batch, leaves, why)


def _gpu_leaves(visits: int) -> int:
    """Return the most leaves of one game in a batch, for the shortest search.

    >>> [_gpu_leaves(visits) for visits in (1, 32, 64, 800)]
    [1, 2, 4, 8]
    """
    return max(leaves for leaves, least in GPU_LEAVES.items() if visits >= least)


def _fit_gpu(rows: int, most_leaves: int, queues: int, games: int) -> tuple[int, int]:
    """Return the size of GPU batches and the leaves of a game in them.

    As few leaves as there are games for, so that enough games are left to begin when others end; smaller batches if
    even `most_leaves` do not suffice.

    >>> _fit_gpu(4096, 4, 5, 100_000), _fit_gpu(4096, 4, 5, 20_000), _fit_gpu(4096, 4, 5, 2000)
    ((4096, 1), (4096, 4), (512, 4))
    """
    for leaves in GPU_LEAVES:
        if leaves <= most_leaves and GAMES_PER_SLOT * queues * rows <= games * leaves:
            return rows, leaves
    while rows > SMALL_BATCH and GAMES_PER_SLOT * queues * rows > games * most_leaves:
        rows //= 2
    return rows, most_leaves


def _number(evaluator: Evaluator | str, evaluators: list[Evaluator | str]) -> int:
    """Return the number of the evaluator with the same net and backend, which is added if there is none."""

    def identity(each: Evaluator | str) -> str | tuple[str, str]:
        return each if isinstance(each, str) else (each.net_id, each.name)

    for number, each in enumerate(evaluators):
        if identity(each) == identity(evaluator):
            return number
    evaluators.append(evaluator)
    return len(evaluators) - 1


def _consecutive(games: Sequence[ScheduledGame]) -> list[list[ScheduledGame]]:
    """Split a list of games where their numbers are not consecutive.

    >>> [len(run) for run in _consecutive([ScheduledGame(number, "", 0, 1) for number in (0, 1, 4, 5, 6)])]
    [2, 3]
    """
    runs: list[list[ScheduledGame]] = []
    for game in games:
        if not runs or runs[-1][-1].number + 1 != game.number:
            runs.append([])
        runs[-1].append(game)
    return runs
