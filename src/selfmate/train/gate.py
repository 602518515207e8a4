"""The matches of a run while it trains: the gate, measurements of strength, and the final matches.

All of them read committed checkpoints only. A match that is stopped or killed is played again from its start;
measurements keep their games (`selfmate.ladder.curve`) and only play what is missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, Protocol

import msgspec

from selfmate._core import GameRecord
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.ladder import curve
from selfmate.match.openings import balanced_openings
from selfmate.match.record_pgn import as_game
from selfmate.match.runner import MatchProgress, play_match
from selfmate.rating.match_stats import Match
from selfmate.recipe.schedule import at
from selfmate.recipe.searches import match_search
from selfmate.rundir.directory import Run
from selfmate.search.player import Player
from selfmate.search.spec import label, net_name
from selfmate.train.engine_match import FOLDER as ENGINE_FOLDER
from selfmate.train.engine_match import play_engine
from selfmate.train.gate_rules import GateTest, passes
from selfmate.train.status import MeasuredElo, TrainingStatus
from selfmate.util.random_streams import stream
from selfmate.util.signals import Stop
from selfmate.util.text import many

__all__ = ["ANCHOR", "UNTRAINED", "Log", "Matches"]

ANCHOR: Final = "heuristic-1"
UNTRAINED: Final = "untrained"
"""Opponents of the champion in the final matches."""

FINAL_SEED: Final = 0
"""Seed of the openings of the final matches, the same in every run, so that runs can be compared."""


class Log(Protocol):
    """Writes a line of metrics."""

    def __call__(self, stage: str, cycle: int, **values: Any) -> None: ...


class Matches:
    """Plays the matches of a run. Every method that plays returns early when `stop` is true.

    `rest` is called before a match, so that self-play leaves the device to it, `beat` by the lanes of a match (see
    `Watchdog`).
    """

    def __init__(
        self,
        run: Run,
        status: TrainingStatus,
        log: Log,
        *,
        stop: Stop,
        device: str,
        lanes: int,
        rest: Callable[[], None] = lambda: None,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self.run = run
        self.recipe = run.recipe
        self.variant = run.recipe.variant.name
        self.status = status
        self.log = log
        self.stop = stop
        self.device = device
        self.lanes = lanes
        self.rest = rest
        self.beat = beat
        self._gate_pgn: tuple[str, ...] = ()

    def evaluator(self, cycle: int) -> Evaluator:
        """Return the net of a cycle, loaded from its committed files."""
        return open_evaluator(self.run.verify(self.run.state.checkpoint(cycle)), device=self.device, threads=1)

    def name(self, cycle: int) -> str:
        """Return the name of a net for PGN."""
        return net_name(self.run.directory, cycle)

    # -- the gate ---------------------------------------------------------------------------------

    def gate(self, cycle: int) -> int | None:
        """Return the champion after this cycle: the candidate if there is no gate or it passes; None when stopped."""
        part, candidate, champion = self.recipe.gate, cycle + 1, self.run.state.champion
        games = at(part.games, cycle)
        self._gate_pgn = ()
        if games == 0 or champion == candidate:
            return candidate
        if candidate % at(part.every, cycle) or self._is_unchanged(candidate, champion):
            return champion
        self._show("gate match", "candidate", "champion")
        openings = self._openings(games, stream(self.run.manifest.seed, "gate", cycle), cycle)
        test = GateTest(part, cycle) if part.rule == "sprt" else None
        opponent = self._opponent(champion)
        played = self._match(candidate, opponent, openings, at(part.visits, cycle), cycle, test)
        if played is None:
            return None
        match, records = played
        passed = passes(part, match, cycle) if test is None else test.state.verdict == "H1"
        self.status.scores["champion"] = (candidate, match)
        tested = {} if test is None else {"llr": test.state.llr, "verdict": test.state.verdict}
        self.log("gate", cycle, champion=champion, passed=passed, **tested, **match.as_json())
        players = (self.name(candidate), opponent if isinstance(opponent, str) else self.name(champion))
        text = _as_pgn(records, players, at(part.visits, cycle), f"gate of cycle {cycle}")
        self._gate_pgn = (self.run.write_text(f"pgn/{cycle:05}-gate.pgn", text),)
        return candidate if passed else champion

    def take_gate_pgn(self) -> tuple[str, ...]:
        """Return the file with the games of the newest gate, for a commit; nothing where it was returned before."""
        written, self._gate_pgn = self._gate_pgn, ()
        return written

    def _is_unchanged(self, candidate: int, champion: int) -> bool:
        """Return whether no step lies between two nets, as in cycle 0, which has no games to learn from yet."""
        return self.run.state.checkpoint(candidate).step == self.run.state.checkpoint(champion).step

    def _opponent(self, champion: int) -> Evaluator | str:
        """Return what a candidate plays: the champion, or, until one has passed, what plays the games instead."""
        explorer = self.recipe.selfplay.explorer
        return explorer if champion == 0 and explorer != "net" else self.evaluator(champion)

    # -- measurements of strength -----------------------------------------------------------------

    def measure(self, cycle: int, champion: int) -> bool:
        """Rate the champion on the scale of `selfmate progress` when it is due; return False when a stop was requested.

        When the time of the session ends, the measurement is left out; its games are kept. The champion plays the
        strongest fixed player of the curve, and the newest kept checkpoint that was measured before. For a variant
        without a shipped ladder the fixed players play each other, once in a run.
        """
        if not self._play_engine(cycle, champion):
            return False
        part = self.recipe.progress
        games, visits = at(part.games, cycle), at(part.visits, cycle)
        if games == 0 or (cycle + 1) % at(part.every, cycle) or self.stop.late():
            return True
        # 1. Pairings
        folder, fixed = self.run.directory / curve.FOLDER, curve.fixed_players(visits)
        measured = {key for game in curve.read_games_of(folder, self.variant, visits) for key in game[:2]}
        kept = {each.cycle: curve.checkpoint(each.cycle, visits) for each in self.run.state.checkpoints}
        before = [each for number, each in sorted(kept.items()) if number < champion and each.key in measured]
        ladder = curve.ladder_results(self.variant)
        pairs = [(each, kept[champion]) for each in before[-1:]] + [(kept[champion], fixed[-1])]
        pairs += [] if ladder else pairwise(fixed)
        # 2. Play the missing games, in one pool
        self._show("measuring strength", "", "")

        def player(entrant: curve.CurvePlayer) -> Player:
            return Player(entrant.spec if entrant.cycle is None else self.evaluator(entrant.cycle))

        def tell(done: int, total: int) -> None:
            self.status.stage = f"measuring strength, {done} of {many(total, 'game')}"

        cost = curve.play_missing(
            folder,
            self.variant,
            pairs,
            curve.openings_for(self.variant, games),
            player,
            lanes=self.lanes,
            stopping=self.stop,
            tell=tell,
        )
        if cost.missing:
            return self.stop.late() and not self.stop.asked
        # 3. Fit one scale to all games so far
        played = curve.read_games_of(folder, self.variant, visits)
        scale = curve.fit_scale(played, visits, ladder)
        rating = scale.players[kept[champion].key]
        self.status.measured_elo = MeasuredElo(
            cycle=cycle + 1, elo=rating.elo, error=rating.error, games=cost.games, seconds=cost.seconds
        )
        facts = {"champion": champion, "visits": visits, "elo": rating.elo, "error": rating.error}
        spent = {"games": cost.games, "evaluations": cost.evaluations, "seconds": round(cost.seconds, 3)}
        self.log("progress", cycle, **facts, **spent)
        return True

    def _play_engine(self, cycle: int, champion: int) -> bool:
        """Let a new champion play the recipe's engine; return False when a stop was requested."""
        part = self.recipe.progress
        if not part.engine or champion == self.run.state.champion or self.stop.late():
            return True
        self._show("match against an engine", "champion", "engine")

        def tell(done: int, total: int) -> None:
            self.status.stage = f"match against an engine, {done} of {many(total, 'game')}"

        seed = stream(self.run.manifest.seed, "engine", cycle)
        result = play_engine(
            self.run.directory / ENGINE_FOLDER,
            self.variant,
            (self.name(champion), Player(self.evaluator(champion))),
            part.engine,
            self._openings(at(part.engine_games, cycle), seed, cycle),
            engine_elo=part.engine_elo,
            visits=at(part.visits, cycle),
            max_plies=at(self.recipe.selfplay.max_plies, cycle),
            stopping=self.stop,
            tell=tell,
        )
        if result is None:
            return self.stop.late() and not self.stop.asked
        self.log("engine", cycle, champion=champion, visits=at(part.visits, cycle), **result.as_json())
        return True

    # -- the final matches ------------------------------------------------------------------------

    def final(self, games: int) -> dict[str, Match]:
        """Return the champion's results against the untrained net (unless it is that net) and the heuristic.

        Each match has `games` games, an even number. The result is empty when stopped, or without games.
        Matches of an earlier session are read back.
        """
        state = self.run.state
        visits = at(self.recipe.gate.final_visits, state.cycle)
        if games == 0:
            return {}
        openings = self._openings(games, FINAL_SEED, state.cycle)
        scores: dict[str, Match] = {}
        is_trained = state.checkpoint(state.champion).step > 0
        has_first = any(each.cycle == 0 for each in state.checkpoints)  # a packed copy does not have it
        for opponent in (UNTRAINED, ANCHOR) if is_trained and has_first else (ANCHOR,):
            name = f"matches/{state.champion:05}-{opponent}-{games}x{visits}"
            if f"{name}.json" in state.matches:  # played in an earlier session
                saved = json.loads((self.run.directory / f"{name}.json").read_text())
                scores[opponent] = msgspec.convert(saved["match"], Match)
                continue
            match = self._final_match(opponent, openings, visits, name)
            if match is None:
                return {}
            scores[opponent] = match
        return scores

    def _final_match(self, opponent: str, openings: Sequence[str], visits: int, name: str) -> Match | None:
        """Play one final match and commit it as `name`.json and `name`.pgn; return None when stopped."""
        state, is_untrained = self.run.state, opponent == UNTRAINED
        # 1. Play
        self._show(f"final match against {'the untrained net' if is_untrained else opponent}", "champion", opponent)
        side = self.evaluator(0) if is_untrained else ANCHOR
        played = self._match(state.champion, side, openings, visits, state.cycle)
        if played is None:
            return None
        match, records = played
        # 2. Write the result and the games
        self.status.scores[opponent] = (state.cycle, match)
        facts = {"champion": state.champion, "opponent": opponent, "visits": visits, **match.as_json()}
        self.log("final", state.cycle, **facts)
        text = json.dumps({**facts, "match": msgspec.to_builtins(match)}, indent=1)
        players = (self.name(state.champion), self.name(0) if is_untrained else ANCHOR)
        written = (
            self.run.write_text(f"{name}.json", text),
            self.run.write_text(f"{name}.pgn", _as_pgn(records, players, visits, "final match")),
        )
        # 3. Commit
        self.run.commit(matches=(*state.matches, *written), seconds=self.status.elapsed())
        return match

    def final_game_seconds(self, plies: float, evaluations_per_second: float) -> float:
        """Return an estimate of the seconds that one game of each of the two final matches takes.

        In one match both sides are nets, in the other only one of them. Nearly every visit needs an evaluation (94 % in
        self-play of Gardner, all in Racing Kings). A fifth is added, for the last games of a match do not fill batches.
        """
        evaluations = 1.5 * plies * at(self.recipe.gate.final_visits, self.run.state.cycle)
        return 1.2 * evaluations / max(evaluations_per_second, 1.0)

    # -- shared -----------------------------------------------------------------------------------

    def _openings(self, games: int, seed: int, cycle: int) -> list[str]:
        return balanced_openings(self.variant, games // 2, seed, at(self.recipe.gate.random_plies, cycle))

    def _match(
        self,
        first: int,
        second: Evaluator | str,
        openings: Sequence[str],
        visits: int,
        cycle: int,
        test: GateTest | None = None,
    ) -> tuple[Match, list[GameRecord]] | None:
        """Play a match of the net of cycle `first`, both sides with the same search; return None when stopped.

        A sequential test ends it as soon as it is decided.
        """

        def tell(progress: MatchProgress) -> None:
            self.status.match = progress
            if test is not None:
                test.follow(progress.finished)

        def stopping() -> bool:
            self.beat()
            return self.stop() or (test is not None and test.state.verdict is not None)

        played = play_match(
            self.variant,
            self.evaluator(first),
            second,
            openings,
            search=match_search(self.recipe, cycle),
            visits=visits,
            max_plies=at(self.recipe.selfplay.max_plies, cycle),
            lanes=self.lanes,
            stopping=stopping,
            tell=tell,
        )
        return test.result() if test is not None and test.state.verdict is not None else played

    def _show(self, stage: str, first: str, second: str) -> None:
        """Give the device to a match, and bring the status up to date before it; while it is played `_match` does."""
        self.rest()
        self.status.match, self.status.stage, self.status.sides = None, stage, (first, second)


def _as_pgn(records: Sequence[GameRecord], players: tuple[str, str], visits: int, event: str) -> str:
    """Return the games of a match as PGN; `players` are the names of the two seats."""
    names = [label(player, visits) for player in players]
    games = [
        as_game(record, names[record.white_seat], names[record.black_seat], event, counts=True) for record in records
    ]
    return "\n\n".join(map(str, games)) + "\n"
