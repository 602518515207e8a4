"""The players that the page can choose, by id: shipped nets, nets of runs, and evaluators of the core.

An id is looked up among those that the catalog lists; it is never a path or a command.

>>> catalog = PlayerCatalog(None)
>>> catalog.default("gardner"), catalog.open("heuristic-1").name
('gardner-laptop', 'heuristic-1')
>>> catalog.open("../../etc/passwd")
Traceback (most recent call last):
...
selfmate.errors.PlayerError: no such player: '../../etc/passwd'
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from selfmate._core import VARIANTS
from selfmate.board.position import Position
from selfmate.errors import PlayerError, SelfmateError, clip
from selfmate.evaluator.base import Evaluator
from selfmate.nn import shipped as nets
from selfmate.nn.untrained import UNTRAINED
from selfmate.rundir.format import RunError, read_run
from selfmate.search.player import Player
from selfmate.search.spec import HEURISTIC, RANDOM
from selfmate.search.strength import HIGHEST, LOWEST, StrengthTable, read_strength_table, strength_at
from selfmate.studio.messages import PlayerCard, VariantCard
from selfmate.studio.outside_engine import ENGINE_PREFIX, OutsideEngine
from selfmate.util.memory import trim_heap

__all__ = ["UNIFORM", "UNUSED_SECONDS", "GameStrength", "PlayerCatalog", "variant_cards"]

UNIFORM: Final = "uniform"
"""Equal priors, to compare players without a net with; it is not listed."""
TWIN: Final = f":{UNTRAINED}"
"""Behind the id of a net: the same architecture with random weights, to compare the net with; it is not listed."""
MOST_OPEN: Final = 4
"""Nets that are kept in memory; the largest that is shipped takes 80 MB."""
UNUSED_SECONDS: Final = 600.0
"""Time after which a net that no search asked for is closed; longer than any search, which holds its net itself."""
MOST_CHECKPOINTS: Final = 12
"""Nets of one run that are listed: the untrained, the champion and the newest. All that are kept can be opened."""

ENGINE_NODES: Final = 100_000
"""Nodes for a move of an outside engine, if neither a rating nor a number is asked for."""

NAMES: Final = {
    "chess": ("Chess", "The rules that most people know."),
    "chess960": ("Chess960", "Chess from one of 960 shuffled first ranks."),
    "atomic": ("Atomic", "A capture explodes and takes all pieces around it but pawns; an exploded king loses."),
    "atomic960": ("Atomic960", "Atomic chess from one of 960 shuffled first ranks."),
    "gardner": ("Gardner", "Chess on five by five squares, without double steps and castling."),
    "antichess": ("Antichess", "Captures must be made; losing all pieces wins."),
    "kingofthehill": ("King of the Hill", "A king on one of the four centre squares wins, too."),
    "3check": ("Three-check", "The third check wins, too."),
    "racingkings": ("Racing Kings", "The first king on the eighth rank wins; no move may give check."),
    "horde": ("Horde", "Thirty-six white pawns against black's usual pieces."),
}


def variant_cards(catalog: PlayerCatalog) -> list[VariantCard]:
    """Return every variant, with its default player."""
    cards = []
    for variant in (*VARIANTS, *(f"{name}960" for name in VARIANTS if f"{name}960" in NAMES)):
        if variant not in NAMES and variant not in VARIANTS:
            continue
        name, rule = NAMES.get(variant, (variant, ""))
        start = Position(variant)
        cards.append(
            VariantCard(
                id=variant,
                name=name,
                files=start.files,
                ranks=start.ranks,
                start=start.fen(),
                chess960=variant.endswith("960"),
                player=catalog.default(variant),
                rule=rule,
            )
        )
    order = list(NAMES)
    return sorted(cards, key=lambda card: order.index(card.id) if card.id in order else len(order))


@dataclass(frozen=True, slots=True)
class GameStrength:
    """How strong a player plays: visits for a move, the temperature of its choice, and words for both."""

    visits: int
    temperature: float
    text: str
    elo: int | None = None
    """Of an outside engine that limits its own strength."""


class _RunNet(NamedTuple):
    """A net of a run."""

    id: str
    name: str
    variant: str
    folder: Path
    has_parent: bool
    """Whether the run began with the weights or the games of another one."""


class PlayerCatalog:
    """Lists and opens players; opened nets are shared by all searches. `runs` is the folder of the runs, or None."""

    def __init__(self, runs: Path | None, engines: Sequence[OutsideEngine] = ()) -> None:
        self._runs = runs
        self._engines = {engine.id: engine for engine in engines}
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[Player, float]] = OrderedDict()
        """With the time (`time.monotonic`) of the last use, the oldest first."""

    def default(self, variant: str) -> str:
        """Return the id of the player of a variant: its shipped net, else heuristic-1."""
        net = nets.net_of(variant)
        return HEURISTIC if net is None else net.name

    def cards(self) -> list[PlayerCard]:
        """List all players: shipped nets, nets of runs, evaluators of the core."""
        found = [
            _card(net.name, net.name, "net", net.variant, f"shipped, {net.size}", _table(net.folder, net.net_id))
            for net in nets.shipped()
        ]
        found += [
            _card(net.id, net.name, "run", net.variant, "from a run", None)
            for net in self._nets_of_runs(MOST_CHECKPOINTS)
        ]
        found.append(_card(HEURISTIC, HEURISTIC, "core", None, "counts material, no net", None))
        found.append(_card(RANDOM, RANDOM, "core", None, "random legal moves", None))
        return found

    def engine_cards(self) -> list[PlayerCard]:
        """List the outside engines."""
        return [
            PlayerCard(
                id=engine.id,
                name=engine.name,
                kind="engine",
                variant="chess" if engine.only_chess else None,
                detail=engine.title,
                elo_range=engine.elo_range or (0, 0),
                measured=False,
            )
            for engine in self._engines.values()
        ]

    def engine(self, engine_id: str) -> OutsideEngine:
        """Return the outside engine of an id; an unknown one raises `PlayerError`."""
        if engine_id not in self._engines:
            raise PlayerError(f"no such engine: {clip(engine_id)!r}", engine_id)
        return self._engines[engine_id]

    def open(self, player_id: str) -> Player:
        """Return the player of an id; an unknown one, or a net that cannot be read, raises `SelfmateError`."""
        with self._lock:  # also while a net is read: asked for twice at a time, it is opened once
            if player_id in self._open:
                player = self._open.pop(player_id)[0]
            else:  # one thread for each search: several games and analyses share the cores
                player = _open_player(player_id, self._source(player_id))
            self._open[player_id] = player, time.monotonic()
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
            return player

    def close_unused(self) -> None:
        """Close the nets that no search has asked for of late."""
        before = time.monotonic() - UNUSED_SECONDS
        with self._lock:
            unused = [player_id for player_id, (_, used) in self._open.items() if used < before]
            for player_id in unused:
                del self._open[player_id]
        if unused:
            trim_heap()

    def untrained(self, player_id: str) -> str:
        """Return the id of the untrained net to compare a player with: `UNIFORM` for one that is no net.

        It is the one with which the run of the net began. One that began with another run's weights, or that is
        shipped or copied without it, has a net of the same architecture instead.
        """
        if player_id in (HEURISTIC, RANDOM, UNIFORM):
            return UNIFORM
        if player_id.endswith(TWIN):
            return player_id
        run, _, _ = player_id.rpartition("/")
        nets_of_runs = self._nets_of_runs(most=None) if run else []
        is_kept = any(net.id == f"{run}/0" and not net.has_parent for net in nets_of_runs)
        return f"{run}/0" if is_kept else f"{player_id}{TWIN}"

    def skill(self, player_id: str, elo: int | None, visits: int | None) -> GameStrength:
        """Return how strong a player shall play: by visits, by a rating, or (neither given) at its usual strength."""
        if player_id == RANDOM:
            return GameStrength(1, 0.0, "random moves")
        if player_id.startswith(ENGINE_PREFIX):
            return _engine_strength(self.engine(player_id), elo, visits)
        if elo is not None and visits is None:
            table = self._strength_table(player_id)
            strength = strength_at(min(max(elo, LOWEST), HIGHEST) if table is None else table.nominal(elo))
            known = "estimated" if table is None else "measured"
            return GameStrength(strength.visits, strength.temperature, f"about {elo}, {known}")
        count = visits or 800
        return GameStrength(count, 0.0, f"{count:,} visits")

    def _strength_table(self, player_id: str) -> StrengthTable | None:
        player = self.open(player_id)
        if player.path is None or not isinstance(player.evaluator, Evaluator):
            return None
        return _table(player.path, player.evaluator.net_id)

    def _source(self, player_id: str) -> str | Path:
        if player_id in (HEURISTIC, RANDOM, UNIFORM):
            return player_id
        trained_id = player_id.removesuffix(TWIN)
        folder = nets.named(trained_id)
        if folder is None:
            folder = next((net.folder for net in self._nets_of_runs(most=None) if net.id == trained_id), None)
        if folder is None:
            raise PlayerError(f"no such player: {clip(player_id)!r}", player_id)
        return folder if trained_id == player_id else f"{folder}{TWIN}"

    def _nets_of_runs(self, most: int | None) -> list[_RunNet]:
        """Return the nets of all runs that can be read, at most `most` of each."""
        found: list[_RunNet] = []
        if self._runs is None or not self._runs.is_dir():
            return found
        for manifest in sorted(self._runs.glob("*/manifest.json")):
            directory = manifest.parent
            try:
                known, state = read_run(directory)
            except (RunError, OSError):
                continue
            cycles = sorted((checkpoint.cycle for checkpoint in state.checkpoints), reverse=True)
            newest = cycles if most is None else cycles[: most - 2]
            listed = dict.fromkeys([state.champion, *newest, 0])
            for cycle in (cycle for cycle in listed if cycle in cycles):
                found.append(
                    _RunNet(
                        id=f"run/{directory.name}/{cycle}",
                        # Of a copy, too, that of its folder: net_name would be that of the run that was copied.
                        name=f"{directory.name} {f'cycle {cycle}' if cycle else UNTRAINED}",
                        variant=known.variant,
                        folder=directory / state.checkpoint(cycle).name,
                        has_parent=known.parent is not None,
                    )
                )
        return found


def _open_player(player_id: str, source: str | Path) -> Player:
    """Open a player; the error of a damaged net names the player, and not the folders of this machine."""
    try:
        return Player(source, threads=1)
    except SelfmateError as error:
        raise PlayerError(str(error).replace(str(source).removesuffix(TWIN), player_id), player_id) from None


def _engine_strength(engine: OutsideEngine, elo: int | None, visits: int | None) -> GameStrength:
    """Return the strength of an engine: by its own rating where it has one, else by nodes for a move."""
    if elo is not None and visits is None and engine.elo_range is not None:
        low, high = engine.elo_range
        limited = min(max(elo, low), high)
        return GameStrength(1, 0.0, f"about {limited}, by its own measure", limited)
    count = visits or ENGINE_NODES
    return GameStrength(count, 0.0, f"{count:,} nodes")


def _card(
    player_id: str, name: str, kind: str, variant: str | None, detail: str, table: StrengthTable | None
) -> PlayerCard:
    low, high = (LOWEST, HIGHEST) if table is None else (round(table.anchors[0].elo), round(table.anchors[-1].elo))
    return PlayerCard(
        id=player_id,
        name=name,
        kind="net" if kind == "net" else "run" if kind == "run" else "core",
        variant=variant,
        detail=detail,
        elo_range=(low, high),
        measured=table is not None,
    )


def _table(folder: Path, net_id: str) -> StrengthTable | None:
    try:
        return read_strength_table(folder, net_id)
    except SelfmateError:  # measured with another net, or damaged: the estimate is used
        return None
