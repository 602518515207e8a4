"""Matches between players, watched while they are played. A match runs in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, Literal

from selfmate._core import GameRecord
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.match.openings import balanced_openings
from selfmate.match.referee import FinishedGame
from selfmate.match.runner import MatchProgress, play_match
from selfmate.rating.match_stats import Match, SideResult, count_games, elo_bounds, whole_pairs
from selfmate.rating.sprt import Sprt
from selfmate.rundir.live import game_in_flight
from selfmate.search.config import play_config
from selfmate.studio.match_sides import Side, open_side, play_refereed
from selfmate.studio.messages import (
    MatchBoard,
    MatchGames,
    MatchTable,
    MatchView,
    RunGame,
    StartMatch,
    TableCell,
    sentence,
)
from selfmate.studio.players import PlayerCatalog
from selfmate.studio.run_games import game_of, replayed
from selfmate.util.memory import trim_heap

__all__ = ["LiveMatches"]

MOST_RUNNING: Final = 2
MOST_KEPT: Final = 20
SHOWN_BOARDS: Final = 12
SHOWN_GAMES: Final = 100
LEFT_SECONDS: Final = 60.0
"""Time after which a match is stopped that no page follows; a page that is loaded again follows it before."""
TEST: Final = Sprt(elo0=0, elo1=20, alpha=0.05, beta=0.05)
Send = Callable[[MatchView], None]
Status = Literal["preparing", "playing", "done", "stopped"]
log = logging.getLogger("selfmate.studio")


class LiveMatch:
    """One match with the pages that follow it."""

    def __init__(self, request: StartMatch, first: str, second: str) -> None:
        self.id = secrets.token_hex(8)
        self.request = request
        self.names = first, second
        """Of the players, whose nets a match that is over does not keep in memory."""
        self.followers: set[Send] = set()
        self.stopping = threading.Event()
        self.status: Status = "preparing"
        self._match = Match(wins=(0, 0), draws=(0, 0), losses=(0, 0))
        self._boards: list[MatchBoard] = []
        self._finished: tuple[GameRecord | FinishedGame, ...] = ()
        self._seconds = 0.0
        self._message = ""

    @property
    def is_running(self) -> bool:
        """Whether its games are still being played."""
        return self.status in ("preparing", "playing")

    def play(self, first: Side, second: Side) -> None:
        """Play all games, in the thread of the match."""
        request = self.request
        try:
            openings = balanced_openings(
                request.variant, -(-request.games // 2), secrets.randbits(32), stopping=self.stopping.is_set
            )
            if openings and self._play(first, second, openings):
                self.status = "done"
            else:
                self.status = "stopped"
        except SelfmateError as error:
            self._message, self.status = sentence(str(error)), "stopped"
        except Exception:
            log.exception("a match failed")
            self._message, self.status = "The match failed; the terminal of the server says why.", "stopped"
        self._send()

    def _play(self, first: Side, second: Side, openings: list[str]) -> bool:
        """Play every opening with both colours; return whether all games were played."""
        if first.player is None or second.player is None:
            return self._play_refereed([first, second], openings)
        ended = play_match(
            self.request.variant,
            first.player.evaluator,
            second.player.evaluator,
            openings,
            search=play_config(),
            visits=self.request.visits,
            stopping=self.stopping.is_set,
            tell=self._tell,
        )
        return ended is not None

    def _play_refereed(self, sides: Sequence[Side], openings: list[str]) -> bool:
        """Play a match with an outside engine, of which boards are shown when their games are over."""
        began = time.monotonic()
        ended: list[FinishedGame] = []

        def add(games: list[FinishedGame]) -> None:
            ended.extend(games)
            results = (SideResult(each.number // 2, each.number % 2 == 0, each.verdict.result) for each in ended)
            self._match = count_games(whole_pairs(results))
            self._finished, self._seconds = tuple(ended), time.monotonic() - began
            self._boards = [_last_board(_game(each)) for each in reversed(ended[-SHOWN_BOARDS:])]
            self._send()

        self.status = "playing"
        self._send()
        reason = play_refereed(
            self.request.variant,
            sides,
            openings,
            self.request.visits,
            on_finished=add,
            stopping=self.stopping.is_set,
        )
        self._message = sentence(reason) if reason else self._message
        return len(ended) == 2 * len(openings)

    def view(self, ask: int = 0) -> MatchView:
        """Return the match as it stands."""
        match, request = self._match, self.request
        state = TEST.judge(match)
        return MatchView(
            ask=ask,
            id=self.id,
            variant=request.variant,
            first=self.names[0],
            second=self.names[1],
            visits=request.visits,
            games=2 * -(-request.games // 2),
            wins=sum(match.wins),
            draws=sum(match.draws),
            losses=sum(match.losses),
            score=round(match.score, 4),
            score_range=(round(match.interval[0], 4), round(match.interval[1], 4)),
            elo=round(match.elo, 1),
            elo_range=elo_bounds(match),
            llr=round(state.llr, 3),
            llr_bounds=(round(state.lower, 3), round(state.upper, 3)),
            verdict=state.verdict,
            boards=self._boards,
            seconds=round(self._seconds, 1),
            status=self.status,
            message=self._message,
        )

    def games(self, ask: int) -> MatchGames:
        """Return the finished games, the newest first."""
        games = [_game(each) for each in self._finished[::-1][:SHOWN_GAMES]]
        return MatchGames(
            ask=ask,
            id=self.id,
            first=self.names[0],
            second=self.names[1],
            games=games,
            first_is_white=[game.id % 2 == 0 for game in games],
        )

    def score(self, *, reverse: bool) -> tuple[int, int, int]:
        """Return wins, draws and losses of the first player, or of the second."""
        counts = (sum(self._match.wins), sum(self._match.draws), sum(self._match.losses))
        return counts[::-1] if reverse else counts

    def stop_unwatched(self) -> None:
        """End the match if no page follows it."""
        if self.is_running and not self.followers:
            self._message = "It was stopped because no page watched it any more."
            self.stopping.set()

    def _tell(self, progress: MatchProgress) -> None:
        self.status = "playing"
        self._match, self._seconds, self._finished = progress.match, progress.seconds, progress.finished
        newest = progress.finished[-(SHOWN_BOARDS - min(len(progress.playing), SHOWN_BOARDS - 3)) :]
        shown = [*progress.playing[: SHOWN_BOARDS - len(newest)], *reversed(newest)]
        playing = {record.game_id for record in progress.playing}
        self._boards = [_board(record, is_over=record.game_id not in playing) for record in shown]
        self._send()

    def _send(self) -> None:
        view = self.view()
        for send in list(self.followers):
            send(view)


class LiveMatches:
    """All matches of the server."""

    def __init__(self, catalog: PlayerCatalog) -> None:
        self._catalog = catalog
        self._matches: OrderedDict[str, LiveMatch] = OrderedDict()

    async def start(self, request: StartMatch, send: Send) -> MatchView:
        """Start a match; raises a `SelfmateError` for players that there are not, and for too many at a time."""
        first, second = await asyncio.to_thread(self._open, request)
        if sum(match.is_running for match in self._matches.values()) >= MOST_RUNNING:  # also those asked for meanwhile
            raise SelfmateError(f"{MOST_RUNNING} matches are running already: stop one of them, or wait")
        match = LiveMatch(request, first.name, second.name)
        self._matches[match.id] = match
        while len(self._matches) > MOST_KEPT:
            self._matches.popitem(last=False)[1].stopping.set()
        match.followers.add(send)

        def play() -> None:
            match.play(first, second)
            trim_heap()

        threading.Thread(target=play, name="match", daemon=False).start()  # as in `PageWorker`
        return match.view(request.ask)

    def _open(self, request: StartMatch) -> list[Side]:
        Position(request.variant)  # raises for a variant that there is not
        return [open_side(self._catalog, each, request.variant) for each in (request.first, request.second)]

    def follow(self, match_id: str, send: Send, ask: int) -> MatchView | None:
        """Return a match and send it from now on; an empty id means the newest, None if there is none."""
        if not match_id and not self._matches:
            return None
        match = self._match(match_id or next(reversed(self._matches)))
        match.followers.add(send)
        return match.view(ask)

    def unfollow(self, send: Send) -> None:
        """Send nothing more to a page; a match that no other page follows is stopped after a while."""
        for match in self._matches.values():
            match.followers.discard(send)
            if match.is_running and not match.followers:
                asyncio.get_running_loop().call_later(LEFT_SECONDS, match.stop_unwatched)

    def stop(self, match_id: str) -> None:
        """End a match."""
        self._match(match_id).stopping.set()

    def close(self) -> None:
        """End all matches."""
        for match in self._matches.values():
            match.stopping.set()

    def games(self, match_id: str, ask: int) -> MatchGames:
        """Return the finished games of a match."""
        return self._match(match_id).games(ask)

    def table(self, variant: str, ask: int) -> MatchTable:
        """Return the scores between players of a variant: a cell for each ordered pair of players that played."""
        found: dict[tuple[str, str], list[LiveMatch]] = {}
        for match in reversed(self._matches.values()):
            if match.request.variant == variant:
                pair = match.request.first, match.request.second
                for each in dict.fromkeys((pair, pair[::-1])):
                    found.setdefault(each, []).append(match)
        cells = []
        for (row, column), matches in found.items():
            scores = [match.score(reverse=match.request.first != row) for match in matches]
            wins, draws, losses = (sum(counts) for counts in zip(*scores, strict=True))
            ids = [match.id for match in matches]
            cells.append(TableCell(row=row, column=column, wins=wins, draws=draws, losses=losses, matches=ids))
        return MatchTable(ask=ask, variant=variant, cells=cells)

    def _match(self, match_id: str) -> LiveMatch:
        if match_id not in self._matches:
            raise SelfmateError("this match is not on the server any more")
        return self._matches[match_id]


def _board(record: GameRecord, *, is_over: bool) -> MatchBoard:
    live = game_in_flight(record)
    return MatchBoard(
        game=live.game,
        board=live.board,
        last=live.last,
        plies=live.plies,
        first_is_white=record.game_id % 2 == 0,
        result=record.result if is_over else "",
    )


def _game(ended: GameRecord | FinishedGame) -> RunGame:
    """Return a finished game as the page replays it."""
    if isinstance(ended, GameRecord):
        return game_of(ended)
    verdict = ended.verdict
    return replayed(ended.number, ended.variant, ended.start, ended.moves, verdict.result, verdict.reason)


def _last_board(game: RunGame) -> MatchBoard:
    return MatchBoard(
        game=game.id,
        board=game.boards[-1],
        last=game.moves[-1] if game.moves else "",
        plies=len(game.moves),
        first_is_white=game.id % 2 == 0,
        result=game.result,
    )
