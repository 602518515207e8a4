"""`selfmate bench arena`: how fast a match of net against net is, beside the same evaluators without a search.

The ceiling is what the evaluators of the match answer when full batches are always there, with all transfers, each of
them for as many leaves as it had in the match. It is measured before and after the match, for the load of a machine
changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from selfmate import _core
from selfmate._core import GameRecord
from selfmate.bench.movegen import Tell
from selfmate.bench.report import BenchReport, Table
from selfmate.bench.selfplay import Speed, ceiling
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.match.openings import balanced_openings
from selfmate.match.pool import MatchPool, make_match_pool
from selfmate.match.runner import play_games
from selfmate.match.schedule import schedule
from selfmate.search.driver import Turn, one_thread
from selfmate.search.player import Player
from selfmate.util.cpu import cores, processor_name
from selfmate.util.text import many

__all__ = ["arena"]


CEILING_SECONDS: Final = 2.0


class Stretch(NamedTuple):
    """A part of a match, or all of it."""

    leaves: list[int]
    """Of each evaluator."""
    seconds: float
    processor: float

    def of_ceiling(self, tops: Sequence[Speed]) -> tuple[float, float]:
        """Give the share of the ceiling that was reached, by the clock and by the processor's time."""
        pairs = list(zip(self.leaves, tops, strict=True))
        least = sum(leaves / top.wall for leaves, top in pairs)
        least_processor = sum(leaves / top.processor for leaves, top in pairs)
        return least / self.seconds, least_processor / self.processor


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

    The end of a match, when no game is left to begin and batches become small, is counted; the figures up to there
    stand beside it.
    """
    players = _players(nets, variant, size, device, compile)
    variant = players[0].variant or variant
    tell(0, games, "openings")
    scheduled = schedule(2, balanced_openings(variant, games // 2, seed=1))
    match = make_match_pool(
        variant, players, [visits] * len(players), games, max_plies=max_plies, slots=slots, lanes=lanes
    )
    evaluators = [each for each in match.evaluators if isinstance(each, Evaluator)]
    if len(evaluators) != len(match.evaluators) or not evaluators:
        raise SelfmateError("only nets have a ceiling to compare with", ", ".join(nets))

    def alone(evaluator: Evaluator) -> Speed:
        return ceiling(evaluator, match.pool.lane_rows, match.lanes, seconds=CEILING_SECONDS, prepare=one_thread)

    # 1. What the evaluators can do without a search behind them
    tell(0, games, "the evaluators alone")
    before = [alone(each) for each in evaluators]
    # 2. The match
    turns: list[Turn] = []
    stretches: list[Stretch] = []
    done = 0
    began, processor = time.perf_counter(), time.process_time()

    def stretch() -> Stretch:
        leaves = [sum(turn.leaves for turn in turns if turn.desk.evaluator is each) for each in evaluators]
        return Stretch(leaves, time.perf_counter() - began, time.process_time() - processor)

    def on_finished(records: list[GameRecord]) -> None:
        nonlocal done
        done += len(records)
        tell(done, games, "the match")
        if not stretches and done > games - match.slots and turns:
            stretches.append(stretch())

    play_games(match, scheduled, on_finished=on_finished, watch=turns.append)
    stretches.append(stretch())
    # 3. The evaluators alone once more
    tell(games, games, "the evaluators alone")
    after = [alone(each) for each in evaluators]
    tops = [
        Speed((one.wall + other.wall) / 2, (one.processor + other.processor) / 2)
        for one, other in zip(before, after, strict=True)
    ]
    return _report(match, players, variant, visits, done, turns, stretches, tops)


def _report(
    match: MatchPool,
    players: Sequence[Player],
    variant: str,
    visits: int,
    games: int,
    turns: Sequence[Turn],
    stretches: Sequence[Stretch],
    tops: Sequence[Speed],
) -> BenchReport:
    whole, full = stretches[-1], stretches[0]
    leaves, elapsed = sum(whole.leaves), whole.seconds
    lane_seconds = match.lanes * elapsed
    shares = {
        "gather": sum(turn.gathered - turn.began for turn in turns) / lane_seconds,
        "evaluate": sum(turn.answered - turn.gathered for turn in turns) / lane_seconds,
        "apply": sum(turn.applied - turn.applying for turn in turns) / lane_seconds,
        "wait for the pool": sum(turn.began - turn.asked + turn.applying - turn.answered for turn in turns)
        / lane_seconds,
    }
    evaluators = sorted({each.name for each in match.evaluators if isinstance(each, Evaluator)})
    (of_whole, of_whole_processor), (of_full, of_full_processor) = (each.of_ceiling(tops) for each in (whole, full))
    values: dict[str, Any] = {
        "variant": variant,
        "players": [player.name for player in players],
        "evaluators": evaluators,
        "visits": visits,
        "games": games,
        "slots": match.slots,
        "lanes": match.lanes,
        "rows": match.pool.lane_rows,
        "seconds": round(elapsed, 3),
        "evaluations_per_second": round(leaves / elapsed),
        "ceiling": round(leaves / elapsed / of_whole),
        "of_ceiling": round(of_whole, 4),
        "of_ceiling_by_processor": round(of_whole_processor, 4),
        "full_seconds": round(full.seconds, 3),
        "full_of_ceiling": round(of_full, 4),
        "full_of_ceiling_by_processor": round(of_full_processor, 4),
        "games_per_hour": round(3600 * games / elapsed),
        "moves_per_second": round(match.pool.plies / elapsed, 1),
        "batch": round(leaves / max(1, len(turns)), 1),
        "processor_share": round(whole.processor / elapsed / cores(), 4),
        "lane_share": {name: round(share, 4) for name, share in shares.items()},
    }
    by_processor = "" if any("cuda" in name for name in evaluators) else f", {of_whole_processor:.1%} by processor time"
    full_by_processor = "" if not by_processor else f", {of_full_processor:.1%} by processor time"
    shown = (
        ("evaluations/s", f"{values['evaluations_per_second']:,}"),
        ("the evaluators alone", f"{values['ceiling']:,}"),
        ("reached of it", f"{of_whole:.1%}{by_processor}"),
        (f"in the first {full.seconds:.1f} s, with games to begin", f"{of_full:.1%}{full_by_processor}"),
        ("games/h", f"{values['games_per_hour']:,}"),
        ("moves/s", f"{values['moves_per_second']:,}"),
        ("mean batch", f"{values['batch']} of {values['rows']} at most"),
        ("processor busy", f"{values['processor_share']:.1%} of {many(cores(), 'core')}"),
        *((f"lanes: {name}", f"{share:.1%}") for name, share in shares.items()),
    )
    title = f"{players[0].name} against {players[1].name}, {variant}, {many(visits, 'visit')}, {', '.join(evaluators)}"
    machine = f"{processor_name()}, {elapsed:.1f} s, {many(games, 'game')}, load {os.getloadavg()[0]:.1f}"
    return BenchReport((Table(title, ("figure", "measured"), shown),), (f"{match.why}.", machine), values)


def _players(nets: Sequence[str], variant: str, size: str, device: str, compile: bool) -> list[Player]:
    """Open the nets of a match, or make two with random weights."""
    threads = 1 if device == "cpu" else None
    if nets and len(nets) != 2:
        raise SelfmateError(f"a match has two players, not {len(nets)}", ", ".join(nets))
    if nets:
        return [Player(net, device=device, threads=threads) for net in nets]
    try:
        from selfmate.nn.config import NetConfig
        from selfmate.nn.net import Net
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{error.name} is missing; give two nets, or install selfmate[train]") from None
    made = [Net(NetConfig.sized(_core.encoding(variant), size), seed=seed) for seed in (1, 2)]
    return [Player(open_evaluator(net, device=device, threads=threads, compiled=compile)) for net in made]
