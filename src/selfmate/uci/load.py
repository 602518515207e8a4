"""Loads what the options ask for: a net on its backend, a tree of the size of `Hash`, measured strength."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from selfmate import _core
from selfmate.errors import EvaluatorError, SelfmateError, VariantMismatch
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.strength import (
    Strength,
    StrengthError,
    StrengthTable,
    clamp_nominal,
    read_strength_table,
    strength_at,
)
from selfmate.search.tree_session import TreeSession
from selfmate.uci.options import Settings, StrictError

__all__ = ["FALLBACK", "LoadedPlayer", "load"]

FALLBACK: Final = "heuristic-1"
"""The player where there is no net, or none that can be loaded; it plays every variant."""


@dataclass(frozen=True, slots=True)
class LoadedPlayer:
    """A player with its tree, ready to search."""

    player: Player
    session: TreeSession
    table: StrengthTable | None
    """Measured ratings of its net, if any."""

    def strength(self, settings: Settings) -> Strength | None:
        """Return how `UCI_Elo` weakens the player; None for its full strength."""
        if not settings.limit_strength or settings.analyse_mode:
            return None
        elo = settings.elo
        return strength_at(clamp_nominal(elo) if self.table is None else self.table.nominal(elo))

    def describe_strength(self, elo: int) -> str:
        """Return a line that says what `UCI_Elo` stands for with this player."""
        if self.table is not None:
            return self.table.describe(elo)
        return f"plays like about {clamp_nominal(elo)}, by an estimate that no match has confirmed yet"


def load(settings: Settings, say: Callable[[str], None]) -> LoadedPlayer:
    """Return the player that the settings ask for, or `FALLBACK`; `say` gets a line that names it, or says why.

    With `StrictWeights` a net or a backend that cannot be loaded raises `StrictError` instead; a variant without any
    net is played by `FALLBACK` in any case.
    """
    source, is_shipped = settings.weights_file or _shipped(settings.variant), not settings.weights_file
    try:
        if source is not None:
            player, session = _open_net(source, settings, say)
            name = f"the shipped net {player.name}" if is_shipped else player.name
            say(f"{name} plays {settings.variant} ({_backend_of(player)})")
            return LoadedPlayer(player, session, _strength_table(player, say))
        say(_why_no_net(settings.variant))
    except SelfmateError as error:
        if settings.strict_weights:
            is_other_variant = isinstance(error, VariantMismatch)
            raise StrictError(f"StrictWeights: {error}", error.part, is_other_variant=is_other_variant) from None
        say(f"{error}; {FALLBACK} plays instead")
    player = Player(FALLBACK)
    return LoadedPlayer(player, _open_session(player, settings), None)


def _open_net(source: str | Path, settings: Settings, say: Callable[[str], None]) -> tuple[Player, TreeSession]:
    """Open a net on the backend of the settings, or on the default one if that is not available."""
    try:
        player = _open_player(source, settings.backend)
        return player, _open_session(player, settings)
    except EvaluatorError as error:
        if settings.backend == "auto" or settings.strict_weights:
            raise
        say(f"{error}; Backend auto instead")
        player = _open_player(source, "auto")
        return player, _open_session(player, settings)


def _open_player(source: str | Path, backend: str) -> Player:
    """Open a net, or an evaluator of the core. A net has one thread: `Threads` of them run side by side."""
    return Player(str(source), threads=1, backend=backend)


def _open_session(player: Player, settings: Settings) -> TreeSession:
    """Return a session that has evaluated one position, so that no clock pays for what is loaded with the first."""
    player.check(settings.variant)
    session = TreeSession(player.evaluator, threads=settings.threads, memory=settings.hash_mib << 20)
    session.begin(_core.Position(settings.variant), Limit(visits=1))
    session.run()
    session.forget()
    return session


def _strength_table(player: Player, say: Callable[[str], None]) -> StrengthTable | None:
    if player.path is None or isinstance(player.evaluator, str):
        return None
    try:
        folder = player.path if player.path.is_dir() else player.path.parent
        return read_strength_table(folder, player.evaluator.net_id)
    except StrengthError as error:
        say(f"{error}; levels are estimates")
        return None


def _backend_of(player: Player) -> str:
    """Return the name of the backend, and why it was chosen where the choice was automatic."""
    if isinstance(player.evaluator, str):
        return player.evaluator
    reason = player.evaluator.choice_reason
    return f"{player.evaluator.name}{f'; auto: {reason}' if reason else ''}"


def _shipped(variant: str) -> Path | None:
    """Return the net that is shipped for a variant and plays it on a clock, if any."""
    from selfmate.nn import shipped as nets

    return nets.find(variant)


def _why_no_net(variant: str) -> str:
    """Return the line that says why `FALLBACK` plays where no net is chosen."""
    from selfmate.nn import shipped as nets

    net = nets.net_of(variant)
    if net is None:
        return f"no net for {variant} is shipped or chosen: {FALLBACK} plays"
    return f"{FALLBACK} plays {variant}: in equal time it is stronger than the net {net.name} (WeightsFile chooses it)"
