"""Several pools that share the games of self-play, so that their lanes do not wait for each other.

A call of a pool locks it and uses its threads; what such a call does in series leaves the other processors idle. Two
pools with half of the threads each fill these gaps. A game is the same in whichever pool it is played.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from selfmate._core import GameRecord, Pool, SearchConfig, SelfPlayConfig

__all__ = ["Pools"]


class Pools:
    """Pools of the same settings; a game belongs to the pool whose index is its id modulo their number.

    >>> config = SelfPlayConfig(visits=2, max_plies=8)
    >>> pools = Pools([Pool("gardner", SearchConfig(), config, seed=1) for _ in range(2)])
    >>> pools.start(3, 4)
    >>> for pool in pools.each:
    ...     pool.run("uniform")
    >>> [record.game_id for record in pools.each[1].drain()], [record.game_id for record in pools.drain()]
    ([3, 5], [4, 6])
    """

    def __init__(self, each: Iterable[Pool]) -> None:
        self.each = list(each)

    def start(self, first: int, count: int) -> None:
        """Queue self-play games with the ids first to first + count - 1."""
        step = len(self.each)
        for index, pool in enumerate(self.each):
            ids = range(first + (index - first) % step, first + count, step)
            pool.start(ids.start, len(ids), step)

    def start_games(self, games: Sequence[tuple[str, int, int]], first: int) -> None:
        """Queue games of (opening, white seat, black seat) with the ids first, first + 1, …."""
        step = len(self.each)
        for index, pool in enumerate(self.each):
            begin = (index - first) % step
            pool.start_games(list(games[begin::step]), first + begin, step)

    def resume(self, games: Sequence[GameRecord]) -> None:
        """Queue games of `unfinished_games`, before all other games."""
        for index, pool in enumerate(self.each):
            pool.resume([game for game in games if game.game_id % len(self.each) == index])

    def configure(self, search: SearchConfig, selfplay: SelfPlayConfig) -> None:
        """Change self-play as `Pool.configure` does."""
        for pool in self.each:
            pool.configure(search, selfplay)

    def drain(self) -> list[GameRecord]:
        """Remove and return the finished games, by id."""
        return sorted((game for pool in self.each for game in pool.drain()), key=lambda game: game.game_id)

    def unfinished_games(self) -> list[GameRecord]:
        """Return the games that are not over, with the moves so far, by id."""
        return sorted((game for pool in self.each for game in pool.unfinished_games()), key=lambda game: game.game_id)

    @property
    def playouts(self) -> int:
        """Visits of all finished searches."""
        return sum(pool.playouts for pool in self.each)

    @property
    def searched_plies(self) -> int:
        """Moves that a search has chosen."""
        return sum(pool.searched_plies for pool in self.each)
