"""`selfmate bench arena`: how fast a match of net against net is, beside the same evaluators without a search.

The ceiling is the speed of the evaluators on full batches, all transfers included, each for as many leaves as it had in
the match. It is measured before and after the match, because the load of a machine changes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from selfmate._core import GameRecord
from selfmate.bench.ceiling import EvaluatorSpeed, ceiling
from selfmate.bench.lane_times import lane_seconds
from selfmate.bench.report import BenchReport, BenchTable, Tell, load_note
from selfmate.bench.untrained import untrained_net
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.match.openings import balanced_openings
from selfmate.match.pool import MatchPool, make_match_pool
from selfmate.match.runner import play_games
from selfmate.match.schedule import ScheduledGame, schedule
from selfmate.search.driver import BatchTiming, one_thread
from selfmate.search.player import Player
from selfmate.util.cpu import cores, processor_name
from selfmate.util.text import many

__all__ = ["Stretch", "arena"]

CEILING_SECONDS: Final = 2.0


class Stretch(NamedTuple):
    """A match from its first game to some moment."""

    leaves: list[int]
    """By evaluator."""
    seconds: float
    processor: float
    """Seconds of processor time."""

    def of_ceiling(self, tops: Sequence[EvaluatorSpeed]) -> tuple[float, float]:
        """Return the share of the ceiling that was reached, by the clock and by processor time."""
        pairs = list(zip(self.leaves, tops, strict=True))
        least = sum(leaves / top.wall for leaves, top in pairs)
        least_processor = sum(leaves / top.processor for leaves, top in pairs)
        return least / self.seconds, least_processor / self.processor


@dataclass(frozen=True, slots=True)
class _Match:
    """A match that was played to its end."""

    games: int
    timings: list[BatchTiming]
    full: Stretch
    """While there were games left to begin, so that batches were full."""
    whole: Stretch


def arena(
    *,
    nets: Sequence[str] = (),
    variant: str = "gardner",
    size: str = "tiny",
    games: int = 512,
    visits: int = 32,
    max_plies: int = 512,
    device: str = "cpu",
    compile: bool = False,
    slots: int | None = None,
    lanes: int | None = None,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Play a match between two nets, or two untrained ones of a size, from its first game to its last.

    The end of the match, when no game is left to begin and batches become small, is included; the report has the
    figures up to there too.
    """
    players = _players(nets, variant, size, device, compile)
    variant = players[0].variant or variant
    tell(0, games, "openings")
    scheduled = schedule(2, balanced_openings(variant, games // 2, seed=1))
    pool = make_match_pool(
        variant, players, [visits] * len(players), games, max_plies=max_plies, slots=slots, lanes=lanes
    )
    evaluators = [each for each in pool.evaluators if isinstance(each, Evaluator)]
    if len(evaluators) != len(pool.evaluators) or not evaluators:
        raise SelfmateError("only nets have a ceiling to compare with", ", ".join(nets))

    def alone() -> list[EvaluatorSpeed]:
        rows, lanes = pool.pool.lane_rows, pool.lanes
        return [ceiling(each, rows, lanes, seconds=CEILING_SECONDS, prepare=one_thread) for each in evaluators]

    tell(0, games, "the evaluators alone")
    before = alone()
    match = _play(pool, scheduled, evaluators, tell)
    tell(games, games, "the evaluators alone")
    tops = [
        EvaluatorSpeed((one.wall + other.wall) / 2, (one.processor + other.processor) / 2)
        for one, other in zip(before, alone(), strict=True)
    ]
    names = {
        "variant": variant,
        "players": [player.name for player in players],
        "evaluators": sorted({each.name for each in evaluators}),
        "visits": visits,
    }
    return _report(names | _figures(pool, match, tops), pool.why)


def _play(pool: MatchPool, scheduled: Sequence[ScheduledGame], evaluators: Sequence[Evaluator], tell: Tell) -> _Match:
    """Play the scheduled games."""
    timings: list[BatchTiming] = []
    full: Stretch | None = None
    done = 0
    began, processor = time.perf_counter(), time.process_time()

    def stretch() -> Stretch:
        leaves = [
            sum(timing.leaves for timing in timings if timing.evaluator_lane.evaluator is each) for each in evaluators
        ]
        return Stretch(leaves, time.perf_counter() - began, time.process_time() - processor)

    def on_finished(records: list[GameRecord]) -> None:
        nonlocal done, full
        done += len(records)
        tell(done, len(scheduled), "the match")
        if full is None and done > len(scheduled) - pool.slots and timings:
            full = stretch()

    play_games(pool, scheduled, on_finished=on_finished, watch=timings.append)
    whole = stretch()
    return _Match(done, timings, full or whole, whole)


def _figures(pool: MatchPool, match: _Match, tops: Sequence[EvaluatorSpeed]) -> dict[str, Any]:
    leaves, elapsed = sum(match.whole.leaves), match.whole.seconds
    of_whole, of_whole_processor = match.whole.of_ceiling(tops)
    of_full, of_full_processor = match.full.of_ceiling(tops)
    spent = lane_seconds(match.timings)
    return {
        "games": match.games,
        "slots": pool.slots,
        "lanes": pool.lanes,
        "rows": pool.pool.lane_rows,
        "seconds": round(elapsed, 3),
        "evaluations_per_second": round(leaves / elapsed),
        "ceiling": round(leaves / elapsed / of_whole),
        "of_ceiling": round(of_whole, 4),
        "of_ceiling_by_processor": round(of_whole_processor, 4),
        "full_seconds": round(match.full.seconds, 3),
        "full_of_ceiling": round(of_full, 4),
        "full_of_ceiling_by_processor": round(of_full_processor, 4),
        "games_per_hour": round(3600 * match.games / elapsed),
        "moves_per_second": round(pool.pool.searched_plies / elapsed, 1),
        "batch": round(leaves / max(1, len(match.timings)), 1),
        "processor_share": round(match.whole.processor / elapsed / cores(), 4),
        "lane_share": {name: round(each / (pool.lanes * elapsed), 4) for name, each in spent.items()},
    }


def _report(values: dict[str, Any], why: str) -> BenchReport:
    on_gpu = any("cuda" in name for name in values["evaluators"])

    def reached(prefix: str) -> str:
        by_processor = f", {values[f'{prefix}of_ceiling_by_processor']:.1%} by processor time"
        return f"{values[f'{prefix}of_ceiling']:.1%}{'' if on_gpu else by_processor}"

    rows = (
        ("evaluations/s", f"{values['evaluations_per_second']:,}"),
        ("the evaluators alone", f"{values['ceiling']:,}"),
        ("reached of it", reached("")),
        (f"in the first {values['full_seconds']:.1f} s, with games to begin", reached("full_")),
        ("games/h", f"{values['games_per_hour']:,}"),
        ("moves/s", f"{values['moves_per_second']:,}"),
        ("mean batch", f"{values['batch']} of {values['rows']} at most"),
        ("processor busy", f"{values['processor_share']:.1%} of {many(cores(), 'core')}"),
        *((f"lanes: {name}", f"{share:.1%}") for name, share in values["lane_share"].items()),
    )
    one, other = values["players"]
    title = f"{one} against {other}, {values['variant']}, {many(values['visits'], 'visit')}, "
    table = BenchTable(title + ", ".join(values["evaluators"]), ("figure", "measured"), rows)
    machine = f"{processor_name()}, {values['seconds']:.1f} s, {many(values['games'], 'game')}, {load_note()}"
    return BenchReport((table,), (f"{why}.", machine), values)


def _players(nets: Sequence[str], variant: str, size: str, device: str, compile: bool) -> list[Player]:
    """Return the players of a match: the given nets, or two with random weights."""
    threads = 1 if device == "cpu" else None
    if nets and len(nets) != 2:
        raise SelfmateError(f"a match has two players, not {len(nets)}", ", ".join(nets))
    if nets:
        return [Player(net, device=device, threads=threads) for net in nets]
    made = [untrained_net(variant, size, seed=seed) for seed in (1, 2)]
    return [Player(open_evaluator(net, device=device, threads=threads, compiled=compile)) for net in made]
