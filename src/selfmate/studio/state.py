"""What the server holds: players, games and runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from selfmate.studio.games import Games
from selfmate.studio.matches import LiveMatches
from selfmate.studio.messages import AskNets, NetList, Welcome
from selfmate.studio.net_list import list_nets
from selfmate.studio.outside_engine import OutsideEngine
from selfmate.studio.players import UNUSED_SECONDS, PlayerCatalog, variant_cards
from selfmate.studio.runs import STUDIO_FOLDER, Runs
from selfmate.studio.train_extra import TrainExtra

__all__ = ["Studio"]


class Studio:
    """The state behind all pages; an asynchronous context that watches the runs.

    `runs` is the folder of the runs; its folder `.studio` has what the studio itself keeps.
    """

    def __init__(self, runs: Path, engines: Sequence[OutsideEngine] = ()) -> None:
        self._folder = runs
        self.catalog = PlayerCatalog(runs, engines)
        self.games = Games(self.catalog, runs / STUDIO_FOLDER / "games")
        self.extra = TrainExtra(runs / STUDIO_FOLDER / "install.log")
        self.runs = Runs(runs, self.extra)
        self.matches = LiveMatches(self.catalog)
        self._closing: asyncio.Task[None] | None = None
        self._recipes: list[tuple[str, str, str]] | None = None

    async def __aenter__(self) -> Self:
        self.runs.begin()
        self._closing = asyncio.get_running_loop().create_task(self._close_unused_nets())
        await self.games.begin()
        return self

    async def _close_unused_nets(self) -> None:
        while True:
            await asyncio.sleep(UNUSED_SECONDS / 10)
            await asyncio.to_thread(self.catalog.close_unused)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self.matches.close()
        await self.games.close()
        await self.runs.close()

    @property
    def knows_recipes(self) -> bool:
        """Whether the recipes were read."""
        return self._recipes is not None

    def read_recipes(self) -> None:
        """Read the shipped recipes, those for a CPU first. Their schema takes a third of a second to import."""
        from selfmate.recipe.describe import shipped_recipes

        if self._recipes is None:
            found = sorted(shipped_recipes(), key=lambda each: (each.device != "CPU", each.name))
            self._recipes = [(each.name, each.variant, each.description) for each in found]

    def welcome(self, ask: int) -> Welcome:
        """Return what a page needs first; without recipes as long as they were not read."""
        from selfmate import __version__

        return Welcome(
            ask=ask,
            version=__version__,
            variants=variant_cards(self.catalog),
            players=self.catalog.cards(),
            recipes=self._recipes or [],
            engines=self.catalog.engine_cards(),
            can_train=self.extra.is_installed,
            training_hint=self.extra.hint,
            can_install=self.extra.can_install,
        )

    def nets(self, request: AskNets) -> NetList:
        """Return the nets and the ladder of a variant; an unknown variant raises `SelfmateError`."""
        return list_nets(self._folder, request)
