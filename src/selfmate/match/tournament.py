"""A match between two or more contestants: who plays whom, in which hall, and what is written down.

Every two contestants play every opening twice, with either colour. What was played before and stands in the match file
is not played again.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from selfmate._core import GameRecord, Termination
from selfmate.match.match_file import Entry, MatchFile, MatchSettings
from selfmate.match.referee import ADJUDICATION, Finished, Table, Terms, Turn, Verdict
from selfmate.match.report import Report
from selfmate.match.runner import OUT, Attendants, Evaluated, Fixture, Roll, play_engines, play_seats
from selfmate.match.spec import Contestant
from selfmate.match.uci_client import FIRST_WORD, PATIENCE, Engine
from selfmate.match.uci_parse import Score
from selfmate.rating.sprt import Sprt, SprtWalk
from selfmate.search.player import Player
from selfmate.util.cpu import cores

__all__ = ["Plan", "ask_names", "play", "schedule"]


EVENT: Final = "selfmate arena"


GAMES_PER_CORE: Final = 8
"""Games at once between a net and an engine: enough for a batch, and not too many processes."""


MOST_GAMES: Final = 64


THINKERS_PER_CORE: Final = 4
"""Engines that think at once where no clock runs: pipes and the start of a search leave a core idle."""


QUIET: Final = 20
"""Telling how a match stands may take one part in so many of the time."""


def schedule(players: int, openings: Sequence[str]) -> list[Fixture]:
    """List all games. Numbers 2n and 2n+1 are one opening with either colour; all pairs of players take turns.

    >>> [(game.number, game.white, game.black) for game in schedule(3, ["a"])]
    [(0, 0, 1), (1, 1, 0), (2, 0, 2), (3, 2, 0), (4, 1, 2), (5, 2, 1)]
    """
    pairs = list(itertools.combinations(range(players), 2))
    return [
        Fixture(2 * (index * len(pairs) + place) + turned, opening, *(pair[::-1] if turned else pair))
        for index, opening in enumerate(openings)
        for place, pair in enumerate(pairs)
        for turned in (0, 1)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A match as it is meant to be."""

    variant: str
    contestants: tuple[Contestant, ...]
    openings: tuple[str, ...]
    terms: Terms
    seed: int = 0
    gumbel: bool = False
    test: Sprt | None = None
    """Ends the match as soon as it is decided."""
    concurrency: int | None = None
    """Games against or between engines at a time."""

    @property
    def threads(self) -> int:
        """Cores that an engine uses at most."""
        return max((each.engine.threads for each in self.contestants if each.engine is not None), default=1)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the contestants are called; those that are alike are numbered."""
        labels: list[str] = []
        for contestant in self.contestants:
            alike = sum(label == contestant.label for label in (each.label for each in self.contestants[: len(labels)]))
            labels.append(f"{contestant.label} #{alike + 1}" if alike else contestant.label)
        return tuple(labels)

    @property
    def settings(self) -> MatchSettings:
        """What must stay the same when the match goes on another time."""
        terms, test = self.terms, self.test
        rules = {
            "seed": str(self.seed),
            "root": "gumbel" if self.gumbel else "puct",
            "max-plies": str(terms.max_plies),
            "margin": f"{1000 * terms.margin:g} {1000 * terms.move_margin:g}",
            "sprt": "off" if test is None else f"{test.elo0:g},{test.elo1:g} {test.alpha:g} {test.beta:g} {test.model}",
            **{name: str(getattr(terms, name) or "off") for name in ("resign", "win", "draw")},
        }
        return MatchSettings(variant=self.variant, players=self.labels, openings=self.openings, rules=rules)


def play(
    plan: Plan,
    players: Sequence[Player | None],
    file: MatchFile | None = None,
    *,
    fixtures: Sequence[Fixture] | None = None,
    before: Sequence[Entry] = (),
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Play what is left of a match; `tell` hears how it stands whenever games are over.

    `players` are those of our own that have a seat, None for an engine. The games are those of `schedule`, unless
    `fixtures` are other ones; those of `before` were played already, beside what stands in the file.
    """
    began = time.monotonic()
    labels = plan.labels
    quiet_until = 0.0
    walk = None if plan.test is None else SprtWalk(plan.test)

    def halted() -> bool:
        return (walk is not None and walk.standing.verdict is not None) or stopping()

    roll = Roll(plan.contestants, plan.variant, plan.terms, halted)
    entries: dict[int, Entry] = {}
    evaluated = Evaluated()

    def report() -> Report:
        return Report(
            variant=plan.variant,
            contestants=plan.contestants,
            labels=labels,
            openings=len(plan.openings),
            entries=tuple(entries[number] for number in sorted(entries)),
            out=roll.out,
            evaluations=evaluated.leaves,
            batches=evaluated.batches,
            seconds=time.monotonic() - began,
            gumbel=plan.gumbel,
            test=plan.test,
            standing=None if walk is None else walk.standing,
        )

    def enter(games: Iterable[Entry]) -> None:
        """Note games, see at once whether the match is decided, and tell how it stands: that not too often."""
        nonlocal quiet_until
        fresh = {entry.number: entry for entry in games if entry.number not in entries}
        entries.update(fresh)
        if walk is not None:
            walk.add(entry.scored(0) for entry in fresh.values())
        now = time.monotonic()
        if now >= quiet_until:
            tell(report())
            quiet_until = time.monotonic() + QUIET * (time.monotonic() - now)

    def write(games: Iterable[tuple[Fixture, Finished]]) -> None:
        games = list(games)
        if file is not None:
            file.add(str(game.game((labels[each.white], labels[each.black]), EVENT)) for each, game in games)
        enter(_entry(fixture, game) for fixture, game in games)

    # 1. Games by where they are played: none has an engine, one side is an engine, both are.
    enter((*(file.entries if file is not None else ()), *before))
    listed = schedule(len(labels), plan.openings) if fixtures is None else fixtures
    todo = [game for game in listed if game.number not in entries]
    halls: list[list[Fixture]] = [[], [], []]
    for fixture in todo:
        halls[sum(players[index] is None for index in (fixture.white, fixture.black))].append(fixture)
    # 2. Play.
    for games in halls[:2]:
        if not games or halted():
            continue
        numbered = {fixture.number: fixture for fixture in games}
        attendants = _attendants(plan, roll, games) if games is halls[1] else None

        def written(
            records: list[GameRecord],
            numbered: dict[int, Fixture] = numbered,
            attendants: Attendants | None = attendants,
        ) -> None:
            tables = attendants.tables if attendants is not None else {}
            write(
                (numbered[record.game_id], _finished(record, numbered[record.game_id], plan, tables))
                for record in records
                if record.reason != OUT
            )

        evaluated += play_seats(
            plan.variant,
            players,
            [contestant.limit.visits or 0 for contestant in plan.contestants],
            games,
            gumbel=plan.gumbel,
            seed=plan.seed,
            max_plies=plan.terms.max_plies,
            rules=plan.terms.score_rules,
            stopping=halted,
            done=written,
            attendants=attendants,
            needed=None if plan.test is None else 2 * plan.test.expected_pairs,
        )
    if halls[2] and not halted():
        play_engines(
            roll,
            halls[2],
            concurrency=plan.concurrency or max(1, cores() // plan.threads),
            done=lambda fixture, table: write([(fixture, table.finished())]),
        )
    return report()


def _entry(fixture: Fixture, game: Finished) -> Entry:
    verdict = game.verdict
    return Entry(
        number=fixture.number,
        white=fixture.white,
        black=fixture.black,
        result=verdict.result,
        reason=verdict.kind,
        fault=None if verdict.fault is None else str(verdict.fault),
        plies=len(game.moves),
    )


def _finished(record: GameRecord, fixture: Fixture, plan: Plan, tables: dict[int, Table]) -> Finished:
    """Put together what the pool knows of a game, and what the referee knows of the engine's part in it."""
    moves = record.moves
    table = tables.pop(record.game_id, None)
    turns = list(table.turns) if table is not None else []
    turns += [Turn()] * (len(moves) - len(turns))
    turns = [
        turn if turn.score or score is None else Turn(score=Score(cp=score))
        for turn, score in zip(turns, record.scores, strict=True)
    ]
    if table is not None and table.verdict is not None and table.verdict.fault is not None:
        verdict = table.verdict
    elif record.outcome is None:
        verdict = Verdict.cut_off(len(moves))
    else:
        by_score = record.outcome.termination == Termination.ADJUDICATED
        verdict = Verdict(
            result=record.result, reason=record.reason, termination=ADJUDICATION if by_score else "normal"
        )
    return Finished(
        number=fixture.number,
        variant=plan.variant,
        start=record.start_fen,
        moves=moves,
        turns=turns,
        limits=(plan.contestants[fixture.white].limit, plan.contestants[fixture.black].limit),
        verdict=verdict,
    )


def _attendants(plan: Plan, roll: Roll, fixtures: Sequence[Fixture]) -> Attendants:
    """Decide how many games against engines are played at once.

    Our side wants many of them, for its batches; an engine that only waits costs memory, but no time. On a clock
    engines must not compete with our searches for the processor.
    """
    playing = {index for fixture in fixtures for index in (fixture.white, fixture.black)}
    thinkers, lanes = THINKERS_PER_CORE * cores() // plan.threads, cores()
    if any(plan.contestants[index].engine and plan.contestants[index].limit.is_timed for index in playing):
        thinkers, lanes = (cores() - 1) // plan.threads, 1
    games = plan.concurrency or min(GAMES_PER_CORE * cores(), MOST_GAMES)
    games = min(games, len(fixtures))
    return Attendants(
        roll, fixtures, games=games, thinkers=max(1, min(thinkers, games)), lanes=max(1, min(lanes, games // 4))
    )


def ask_names(
    contestants: Sequence[Contestant],
    variant: str,
    patience: float | None = None,
    notice: Callable[[str], None] = lambda text: None,
) -> list[Contestant]:
    """Start every engine once, with its options and the variant, and learn its name; whatever is wrong is an error.

    A patience that was asked for holds from the first word on. `notice` hears whom we wait for when it takes long.
    """
    first_word = FIRST_WORD if patience is None else patience
    asked = []
    for contestant in contestants:
        if contestant.engine is not None:
            with Engine(
                contestant.engine, patience=patience or PATIENCE, first_word=first_word, notice=notice
            ) as engine:
                engine.play_variant(variant)
                if not contestant.named and not contestant.player:
                    contestant = replace(contestant, name=engine.name)
        asked.append(contestant)
    return asked
