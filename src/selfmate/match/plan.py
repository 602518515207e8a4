"""A match as it will be played: players, openings, limits and rules, checked before the first game."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from selfmate._core import SearchConfig
from selfmate.board.position import Position
from selfmate.errors import SelfmateError, clip
from selfmate.match.match_file import MatchSettings
from selfmate.match.openings import balanced_openings, is_pgn, read_openings
from selfmate.match.options import MatchOptions
from selfmate.match.referee import CLOCK_MARGIN, MOVE_MARGIN, RefereeSettings, ScoreRule
from selfmate.match.spec import Contestant, on_device, read_contestant
from selfmate.match.uci_client import FIRST_REPLY, PATIENCE, UciClient
from selfmate.rating.match_stats import Model
from selfmate.rating.sprt import Sprt
from selfmate.search.limit import Clock, Limit
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM

__all__ = ["MatchPlan", "check_engines", "make_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchPlan:
    """A match that can be played."""

    variant: str
    contestants: tuple[Contestant, ...]
    openings: tuple[str, ...]
    """FENs."""
    referee: RefereeSettings
    seed: int = 0
    gumbel: bool = False
    sprt: Sprt | None = None
    """Ends the match as soon as it is decided."""
    concurrency: int | None = None
    """Games with engines at a time; None for a number that fits the machine."""
    searches: tuple[SearchConfig, ...] = ()
    """The search of each contestant; where empty, all have the same one."""

    @property
    def threads(self) -> int:
        """The largest number of cores that an engine uses."""
        return max((each.engine.threads for each in self.contestants if each.engine is not None), default=1)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the contestants in tables and PGN; equal ones are numbered."""
        labels: list[str] = []
        for contestant in self.contestants:
            same = sum(each.label == contestant.label for each in itertools.islice(self.contestants, len(labels)))
            labels.append(f"{contestant.label} #{same + 1}" if same else contestant.label)
        return tuple(labels)

    @property
    def settings(self) -> MatchSettings:
        """Everything that must be equal when the match is resumed."""
        referee, sprt = self.referee, self.sprt
        rules = {
            "seed": str(self.seed),
            "root": "gumbel" if self.gumbel else "puct",
            "max-plies": str(referee.max_plies),
            "margin": f"{1000 * referee.margin:g} {1000 * referee.move_margin:g}",
            "sprt": "off" if sprt is None else f"{sprt.elo0:g},{sprt.elo1:g} {sprt.alpha:g} {sprt.beta:g} {sprt.model}",
            **{name: str(getattr(referee, name) or "off") for name in ("resign", "win", "draw")},
        } | ({"searches": ", ".join(map(repr, self.searches))} if self.searches else {})
        return MatchSettings(variant=self.variant, players=self.labels, openings=self.openings, rules=rules)


def make_plan(
    options: MatchOptions, notice: Callable[[str], None] = lambda text: None
) -> tuple[MatchPlan, list[Player | None]]:
    """Return the match that options describe, and the players that search in a pool (None for an engine).

    Everything that can be wrong raises `SelfmateError` here, before the first game; every engine has been started once.
    `notice` is called with a line when an engine takes long to reply.
    """
    # 1. Players and limits
    count, sprt = options.openings_count, _sprt(options)
    contestants = _contestants(options)
    referee = _referee(options)
    if options.opening_plies is not None and not (options.openings is not None and is_pgn(options.openings)):
        raise SelfmateError("--opening-plies is for a book of games: --openings FILE.pgn")
    # 2. Variant
    threads = 1 if options.device == "cpu" else None
    own = {
        index: Player(each.player, device=options.device, threads=threads)
        for index, each in enumerate(contestants)
        if each.player and (each.engine is None or options.variant is None)
    }
    variant = options.variant or next((each.variant for each in own.values() if each.variant), "chess")
    Position(variant)  # raises if the variant is unknown
    for player in own.values():
        player.check(variant)
    contestants = check_engines(contestants, variant, options.patience, notice)
    # 3. Openings
    if options.openings is None:
        openings = balanced_openings(variant, count, options.seed)
    else:
        openings = read_openings(options.openings, variant, count, options.opening_plies)
    plan = MatchPlan(
        variant=variant,
        contestants=tuple(contestants),
        openings=tuple(openings),
        referee=referee,
        seed=options.seed,
        gumbel=options.gumbel,
        sprt=sprt,
        concurrency=options.concurrency,
    )
    return plan, [None if each.engine is not None else own[index] for index, each in enumerate(contestants)]


def _referee(options: MatchOptions) -> RefereeSettings:
    rules = (("resign", options.resign), ("win", options.win), ("draw", options.draw))
    return RefereeSettings(
        max_plies=options.max_plies,
        margin=CLOCK_MARGIN if options.margin is None else options.margin / 1000,
        move_margin=MOVE_MARGIN if options.margin is None else options.margin / 1000,
        patience=PATIENCE if options.patience is None else options.patience,
        **{name: None if text is None else ScoreRule.read(text, name) for name, text in rules},
    )


def _contestants(options: MatchOptions) -> list[Contestant]:
    players, own = options.players, (options.visits_a, options.visits_b)
    if len(players) < 2:
        raise SelfmateError("a match needs two players or more: selfmate arena A B")
    if len(players) > 2 and any(own):
        raise SelfmateError("--visits-a and --visits-b are for two players; with more, write NAME?visits=N")
    if len(players) > 2 and options.sprt is not None:
        raise SelfmateError("--sprt is for two players")
    clock = None if options.tc is None else Clock.parse(options.tc)
    seconds = None if options.movetime is None else options.movetime / 1000
    contestants = []
    for index, text in enumerate(players):
        visits = (own[index] if index < 2 else None) or options.visits
        limit = Limit(visits=visits, nodes=options.nodes, depth=options.depth, seconds=seconds, clock=clock)
        contestants.append(read_contestant(text, limit))
        if index < 2 and own[index] and contestants[-1].player in ("", RANDOM):
            raise SelfmateError(f"--visits-{'ab'[index]} is for a net or heuristic-1; {clip(text)} has no visits", text)
    if all(each.player for each in contestants) and (options.nodes or options.depth):
        raise SelfmateError("--nodes and --depth are for engines, and none plays; nets have --visits")
    if not any(each.player for each in contestants) and any((options.visits, *own)):
        raise SelfmateError("--visits are for nets, and none plays; engines have --nodes")
    return [on_device(each, options.device) for each in contestants]


def _sprt(options: MatchOptions) -> Sprt | None:
    """Return the sequential test; its own checks raise `SelfmateError`."""
    if options.sprt is None:
        if any(each is not None for each in (options.alpha, options.beta, options.model)):
            raise SelfmateError("--alpha, --beta and --model need --sprt ELO0,ELO1")
        return None
    try:
        elo0, elo1 = (float(part) for part in options.sprt.split(","))
    except ValueError:
        message = f"--sprt is written ELO0,ELO1, such as 0,10, not {clip(options.sprt)!r}"
        raise SelfmateError(message, options.sprt) from None
    alpha, beta = (0.05 if each is None else each for each in (options.alpha, options.beta))
    return Sprt(elo0, elo1, alpha, beta, cast(Model, options.model or "normalised"))


def check_engines(
    contestants: Sequence[Contestant],
    variant: str,
    patience: float | None = None,
    notice: Callable[[str], None] = lambda text: None,
) -> list[Contestant]:
    """Start every engine once, with its options and the variant; return the contestants with the engines' names.

    Raises `EngineError` if an engine does not start. `patience`, in seconds, also holds for the first reply when it is
    given. `notice` is called with a line when a reply takes long.
    """
    first_reply = FIRST_REPLY if patience is None else patience
    checked = []
    for contestant in contestants:
        if contestant.engine is not None:
            with UciClient(
                contestant.engine, patience=patience or PATIENCE, first_reply=first_reply, notice=notice
            ) as engine:
                engine.set_variant(variant)
                if not contestant.named and not contestant.player:
                    contestant = replace(contestant, name=engine.name)
        checked.append(contestant)
    return checked
