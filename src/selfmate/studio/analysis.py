"""Analysis of positions and reviews of games for one page, in a worker thread that reports while it works."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from selfmate.app.judge import analyse_game
from selfmate.board.pgn import Game
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.search.config import play_config
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import MoveResult, Result
from selfmate.search.spec import RANDOM
from selfmate.search.tree import SearchTree
from selfmate.search.tree_session import TreeSession
from selfmate.studio.board_view import for_white, play_line, san_words, start_position, wdl_for_white
from selfmate.studio.messages import (
    AnalysisUpdate,
    Candidate,
    Event,
    ReviewedMove,
    ReviewGame,
    StartAnalysis,
    TreeNodeView,
)
from selfmate.studio.page_worker import PageWorker
from selfmate.studio.players import PlayerCatalog
from selfmate.util.memory import trim_heap

__all__ = ["AnalysisWorker", "analysis_update", "tree_view"]

UPDATE_SECONDS: Final = 0.125
"""Eight updates a second."""
FIRST_UPDATE_SECONDS: Final = 0.03
MOST_SECONDS: Final = 300.0
"""Longest analysis that a page can ask for."""
MEMORY_BYTES: Final = 96 << 20
REVIEW_VISITS: Final = 120
SHOWN_CANDIDATES: Final = 40


class AnalysisWorker(PageWorker):
    """The one analysis or review of a page at a time; `send` is called from its thread."""

    def __init__(self, catalog: PlayerCatalog, send: Callable[[Event], None]) -> None:
        super().__init__(send)
        self._catalog = catalog
        self._session: tuple[str, TreeSession] | None = None

    def start(self, request: StartAnalysis) -> None:
        """Replace the present work by an analysis; raises a `SelfmateError` for what cannot be analysed."""
        position = start_position(request.variant, request.fen)
        play_line(position, request.moves)
        if position.outcome() is not None:
            raise SelfmateError("the game is over in this position")
        self._begin(lambda stop: self._analyse(request, position, stop), request.ask)

    def review(self, request: ReviewGame) -> None:
        """Replace the present work by a review of a game; raises a `SelfmateError` for moves that are not legal."""
        game = Game(request.variant, request.fen or None)
        game.add_line(request.moves)
        if not request.moves:
            raise SelfmateError("there is no move to judge")
        self._begin(lambda stop: self._review(request, game, stop), request.ask)

    # -- in the thread ------------------------------------------------------------------------------------------------

    def _release(self) -> None:
        """Free the tree and the cache of evaluations."""
        self._session = None
        trim_heap()

    def _analyse(self, request: StartAnalysis, position: Position, stop: threading.Event) -> None:
        name = request.player or self._catalog.default(request.variant)
        player = self._open(name, request.variant)
        if self._session is None or self._session[0] != name:
            self._session = name, TreeSession(player.evaluator, memory=MEMORY_BYTES)
        session = self._session[1]
        seconds = min(MOST_SECONDS, request.seconds or MOST_SECONDS)
        session.begin(position, Limit(visits=request.visits, seconds=seconds), config=play_config())
        sent, wait = time.perf_counter(), FIRST_UPDATE_SECONDS

        def update(done: bool) -> None:
            if (result := session.result()) is not None:
                tree = (
                    session.tree(position, max_nodes=request.tree_nodes, max_depth=60) if request.tree_nodes else None
                )
                self._send(analysis_update(request.ask, player, position, result, tree, done=done))

        for _ in session.steps(stop.is_set):
            now = time.perf_counter()
            if now - sent >= wait:
                update(False)
                sent, wait = time.perf_counter(), UPDATE_SECONDS
        session.stop()
        if not stop.is_set():
            update(True)

    def _review(self, request: ReviewGame, game: Game, stop: threading.Event) -> None:
        player = self._open(request.player or self._catalog.default(request.variant), request.variant)
        last = len(request.moves) - 1
        visits = request.visits or (REVIEW_VISITS if player.variant else 10 * REVIEW_VISITS)
        for judged in analyse_game(player, game, Limit(visits=visits)):
            if stop.is_set():
                return
            position, best = judged.before.position, judged.before.best
            self._send(
                ReviewedMove(
                    ask=request.ask,
                    ply=judged.ply - 1,
                    value=round(judged.white_value, 4),
                    before=for_white(best.value, position.turn),
                    loss=round(judged.lost, 4),
                    mark=judged.mark,
                    best=position.uci(best.move),
                    best_san=position.san(best.move),
                    best_line=san_words(position, judged.better or best.pv, 8),
                    proven=judged.white_proven,
                    done=judged.ply - 1 == last or judged.after is None,
                )
            )

    def _open(self, name: str, variant: str) -> Player:
        player = self._catalog.open(name)
        player.check(variant)
        if player.evaluator == RANDOM:
            raise SelfmateError(f"{RANDOM} does not search: choose another player")
        return player


def analysis_update(
    ask: int, player: Player, position: Position, result: Result, tree: SearchTree | None, *, done: bool
) -> AnalysisUpdate:
    """Return what a search has found, as the page shows it."""
    turn = position.turn
    total = sum(each.visits for each in result.moves) or 1
    return AnalysisUpdate(
        ask=ask,
        fen=position.fen(),
        player=player.name,
        visits=result.visits,
        seconds=round(result.seconds, 3),
        nodes=result.nodes,
        depth=round(result.depth, 1),
        seldepth=result.seldepth,
        value=for_white(result.value, turn),
        wdl=wdl_for_white(result.wdl, turn),
        net_value=None if result.net_value is None else for_white(result.net_value, turn),
        proven=result.proven,
        candidates=[
            Candidate(
                uci=position.uci(each.move),
                san=position.san(each.move),
                visits=each.visits,
                share=round(each.visits / total, 4),
                value=for_white(each.value, turn),
                prior=round(each.prior, 4),
                proven=each.proven,
                pv=san_words(position, each.pv, 10) if number < 8 else [position.san(each.move)],
                net_value=None if each.net_value is None else for_white(each.net_value, turn),
            )
            for number, each in enumerate(result.moves[:SHOWN_CANDIDATES])
        ],
        tree=[] if tree is None else tree_view(position, tree, result.moves),
        done=done,
    )


def tree_view(position: Position, tree: SearchTree, moves: Sequence[MoveResult]) -> list[TreeNodeView]:
    """Return the nodes of a tree, parents before children, each with its move in SAN.

    The tree has the most visited nodes; a move of the root (`moves`) that wins by force is added where it had too few
    visits for that, because it decides the root.
    """
    numbers = {id(node): number for number, node in enumerate(tree.nodes)}
    places: dict[int, Position] = {id(tree.root): position.copy()}
    found = []
    for node in tree.nodes:
        uci = san = ""
        value = node.value
        if node.parent is not None and node.move is not None:
            parent = places[id(node.parent)]
            uci, san = parent.uci(node.move), parent.san(node.move)
            if node.children:
                places[id(node)] = place = parent.copy()
                place.play(node.move)
            # Values of the tree are the root's; the page shows those of the side that makes the move.
            value = node.value if node.depth % 2 == 1 else -node.value
        found.append(
            TreeNodeView(
                parent=-1 if node.parent is None else numbers[id(node.parent)],
                uci=uci,
                san=san,
                visits=node.visits,
                value=round(value, 3) + 0.0,
                prior=round(node.prior, 4),
                proven=node.proven,
            )
        )
    known = {node.move for node in tree.root.children}
    found += [
        TreeNodeView(
            parent=0,
            uci=position.uci(each.move),
            san=position.san(each.move),
            visits=each.visits,
            value=round(each.value, 3) + 0.0,
            prior=round(each.prior, 4),
            proven=each.proven,
        )
        for each in moves
        if each.proven is not None and each.proven > 0 and each.move not in known
    ]
    return found
