r"""Game trees between PGN and the page.

>>> loaded = load_pgn(LoadPgn(ask=1, text="1. e4 e5 (1... c5 {sharp}) 2. Nf3 *"))
>>> [(node.parent, node.san, node.comment) for node in loaded.nodes]
[(-1, 'e4', ''), (0, 'e5', ''), (1, 'Nf3', ''), (0, 'c5', 'sharp')]
>>> save_pgn(SavePgn(ask=1, variant="chess", nodes=loaded.nodes)).text.splitlines()[-1]
'1. e4 e5 (1... c5 { sharp }) 2. Nf3 *'
"""

from __future__ import annotations

import io
import itertools
from typing import Final

from selfmate.board.game_tree import MoveNode, Node
from selfmate.board.pgn import Game, read_games
from selfmate.board.position import Position
from selfmate.errors import PgnError
from selfmate.studio.board_view import board_state, play_line, play_one, start_position
from selfmate.studio.messages import (
    AskPosition,
    LoadPgn,
    PgnText,
    PositionView,
    SavePgn,
    StudyGame,
    StudyNode,
    sentence,
)

__all__ = ["load_pgn", "position_view", "save_pgn"]

MOST_NODES: Final = 5000
"""Moves of a game tree, variations included."""


def position_view(request: AskPosition) -> PositionView:
    """Return a position and the moves to it; raises a `SelfmateError` for what the rules do not allow."""
    position = start_position(request.variant, request.fen, request.chess960)
    start = position.fen()
    moves = play_line(position, request.moves)
    return PositionView(ask=request.ask, variant=request.variant, start=start, moves=moves, board=board_state(position))


def load_pgn(request: LoadPgn) -> StudyGame:
    """Return the first game of a PGN text; raises `PgnError` if there is none that can be read."""
    games = list(itertools.islice(read_games(io.StringIO(request.text), lenient=True), 2))
    if games and games[0].error is not None and games[0].next is None:
        raise games[0].error
    if not games or (games[0].next is None and not request.text.strip().startswith("[")):
        raise PgnError("this text has no game in PGN", request.text)
    game = games[0]
    nodes: list[StudyNode] = []
    _collect(game, -1, game.start.copy(), nodes)
    return StudyGame(
        ask=request.ask,
        variant=game.variant,
        start=game.start.fen(),
        headers={name: game.headers[name] for name in game.headers},
        nodes=nodes,
        comment=game.comment,
        more_games=len(games) > 1,
        repair=sentence(str(game.repairs[-1 if game.error else 0])) if game.repairs else "",
    )


def _collect(node: Node, number: int, position: Position, nodes: list[StudyNode]) -> None:
    """Append the moves after a node, the main line before its variations; `position` is that of the node."""
    # A stack instead of recursion: a game may have a thousand moves.
    stack: list[tuple[MoveNode, int, Position]] = [(child, number, position) for child in reversed(node.variations)]
    while stack:
        child, parent, before = stack.pop()
        if len(nodes) >= MOST_NODES:
            raise PgnError(f"this game has more than {MOST_NODES} moves with its variations")
        after = before.copy()
        played = play_one(after, child.move)
        nodes.append(
            StudyNode(
                parent=parent,
                uci=played.uci,
                san=played.san,
                fen=played.fen,
                comment=" ".join(filter(None, (child.starting_comment, child.comment))),
                nags=sorted(child.nags),
                exploded=played.exploded,
            )
        )
        stack += [(each, len(nodes) - 1, after) for each in reversed(child.variations)]


def save_pgn(request: SavePgn) -> PgnText:
    """Return a game tree as PGN; raises a `SelfmateError` for moves that are not legal or not in order."""
    game = Game(request.variant, request.fen or None)
    for name, value in request.headers.items():
        if name not in ("Variant", "FEN", "SetUp", "Chess960", "Result"):
            game.headers[name] = value
    if request.headers.get("Result") in ("1-0", "0-1", "1/2-1/2"):
        game.result = request.headers["Result"]
    game.comment = request.comment
    made: list[Node] = []
    places: list[Position] = []
    for number, node in enumerate(request.nodes):
        if node.parent >= number:
            raise PgnError(f"move {number} stands before the move that it follows", node.uci)
        parent: Node = game if node.parent < 0 else made[node.parent]
        place = (game.start if node.parent < 0 else places[node.parent]).copy()
        child = MoveNode(parent, place.play(node.uci))
        child.comment = node.comment
        child.nags.update(node.nags)
        parent.variations.append(child)
        made.append(child)
        places.append(place)
    return PgnText(ask=request.ask, text=game.pgn())
