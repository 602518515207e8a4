"""What a candidate must achieve against the champion: a score, a share of wins, or a sequential test."""

from __future__ import annotations

from collections.abc import Iterable

from selfmate._core import GameRecord
from selfmate.match.record_pgn import count_records
from selfmate.rating.match_stats import Match, SideResult, elo_of_score
from selfmate.rating.sprt import Sprt, SprtState, SprtTracker
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import GatePart

__all__ = ["GateTest", "passes"]


def passes(part: GatePart, match: Match, cycle: int) -> bool:
    """Return whether a whole match passes a gate without a sequential test.

    >>> match = Match(wins=(2, 1), draws=(0, 0), losses=(1, 2))
    >>> passes(GatePart(rule="wins", threshold=0.5), match, 0), passes(GatePart(threshold=0.55), match, 0)
    (True, False)
    """
    reached = sum(match.wins) / match.games if part.rule == "wins" else match.score
    return reached >= at(part.threshold, cycle)


class GateTest:
    """The sequential test of a gate: does the candidate score `p1`, or only `p0`?

    Pairs count in the order of their numbers, so that the verdict does not depend on which games end first.
    """

    def __init__(self, part: GatePart, cycle: int) -> None:
        elo0, elo1 = (elo_of_score(at(score, cycle)) for score in (part.p0, part.p1))
        assert elo0 is not None
        assert elo1 is not None
        self._tracker = SprtTracker(Sprt(elo0, elo1, at(part.alpha, cycle), at(part.beta, cycle), model="logistic"))
        self._records: dict[int, GameRecord] = {}

    def follow(self, finished: Iterable[GameRecord]) -> None:
        """Take the games of the match that have ended; those that were taken before are known by their numbers."""
        fresh = [record for record in finished if record.game_id not in self._records]
        self._records.update((record.game_id, record) for record in fresh)
        self._tracker.add(SideResult(each.game_id // 2, each.white_seat == 0, each.result) for each in fresh)

    @property
    def state(self) -> SprtState:
        """The state of the test."""
        return self._tracker.state

    def result(self) -> tuple[Match, list[GameRecord]]:
        """Return the score over the pairs that decided the test, or over all, and their games by number."""
        pairs = self.state.pairs if self.state.verdict is not None else None
        counted = [record for number, record in sorted(self._records.items()) if pairs is None or number // 2 < pairs]
        return count_records(counted), counted
