"""Self-play games by any player, in memory: for research and for training with one's own loop.

`selfmate train` plays its games by the recipe of a run (`selfmate.train.selfplay`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfmate._core import GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.errors import PlayerError
from selfmate.evaluator.base import Evaluator
from selfmate.search.driver import drive, one_thread
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM
from selfmate.util.numbers import whole_number

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["selfplay_games"]

MAX_GAMES: Final = 1_000_000
SLOTS: Final = 64
"""Games at once, as far as there are as many."""


def selfplay_games(
    source: str | Path | Player | Evaluator | Net,
    variant: str,
    games: int,
    *,
    selfplay: SelfPlayConfig | None = None,
    search: SearchConfig | None = None,
    seed: int = 0,
) -> list[GameRecord]:
    """Play games of a player against itself, and return their records in the order of their ids.

    `source` is as in `evaluate`; a custom evaluator is one, too. The games have their moves, outcomes, and the search
    results of their trained positions; `selfmate._core.Buffer` makes samples of them. The defaults are full searches of
    64 visits, and `SearchConfig(noise_epsilon=0.25)`. The result is a function of the arguments. Raises `PlayerError`
    for a player that does not play the variant and for numbers out of range, `EvaluatorError` for answers of a custom
    evaluator that do not fit.

    >>> records = selfplay_games("heuristic-1", "gardner", 3, selfplay=SelfPlayConfig(visits=8, full_probability=1))
    >>> [record.game_id for record in records], records[0].positions > 0
    ([0, 1, 2], True)
    """
    player = source if isinstance(source, Player) else Player(source)
    player.check(variant)
    if player.evaluator == RANDOM:
        raise PlayerError(f"{RANDOM} does not search", RANDOM)
    search = SearchConfig(noise_epsilon=0.25) if search is None else search
    selfplay = SelfPlayConfig(visits=64, full_probability=1.0) if selfplay is None else selfplay
    if not isinstance(search, SearchConfig):
        raise PlayerError(f"search must be a SearchConfig, not {type(search).__name__}", type(search).__name__)
    if not isinstance(selfplay, SelfPlayConfig):
        raise PlayerError(f"selfplay must be a SelfPlayConfig, not {type(selfplay).__name__}", type(selfplay).__name__)
    count = whole_number("games", games, 1, MAX_GAMES, PlayerError)
    pool = Pool(
        variant,
        search,
        selfplay,
        seed=whole_number("seed", seed, 0, (1 << 64) - 1, PlayerError),
        slots=min(count, SLOTS),
        threads=1,
        encoding=None if isinstance(player.evaluator, str) else player.evaluator.encoding,
    )
    pool.start(0, count)
    if isinstance(player.evaluator, str):
        pool.run(player.evaluator)
    else:
        drive(pool, [player.evaluator], lanes=1, prepare=one_thread)
    return sorted(pool.drain(), key=lambda record: record.game_id)
