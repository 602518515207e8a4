"""A search playout by playout: which moves were selected and why, what was evaluated, and what was backed up.

The tree is read after every playout; the scores of selection are computed here once more from the numbers of the tree,
by the formula of `Search::select_puct` (cpp/search/selection.cpp).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from selfmate._core import Search, SearchConfig
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM
from selfmate.search.tree import SearchTree, TreeNode, read_tree
from selfmate.studio.board_view import play_line, start_position
from selfmate.studio.messages import PlayoutStep, PlayoutTrace, StepPlayouts, TracedChoice, TraceNode
from selfmate.studio.players import PlayerCatalog

__all__ = ["trace_playouts"]

SHOWN_CHOICES: Final = 4
Line = tuple[str, ...]


@dataclass
class Known:
    """What is known of a node before a playout; values are for the side to move at the root of the search."""

    visits: int = 0
    value: float = 0.0
    proven: int | None = None
    children: dict[str, float] = field(default_factory=dict)
    """Priors of all legal moves."""


def trace_playouts(
    catalog: PlayerCatalog, request: StepPlayouts, stopped: Callable[[], bool] = lambda: False
) -> PlayoutTrace:
    """Search a position, and return every playout.

    Raises a `SelfmateError` for what cannot be searched, and when `stopped` says that nothing waits for it any more.
    """
    position = start_position(request.variant, request.fen)
    play_line(position, request.moves)
    if position.outcome() is not None:
        raise SelfmateError("the game is over in this position")
    player = catalog.open(request.player or catalog.default(request.variant))
    player.check(request.variant)
    if player.evaluator == RANDOM:
        raise SelfmateError(f"{RANDOM} does not search: choose another player")
    config = play_config().replace(forced_win_nodes=0)  # every proof that is shown comes from a playout
    search = Search(position, config, request.playouts, 0, [])
    snapshots: list[SearchTree] = []
    while not search.done() and len(snapshots) <= request.playouts:
        if stopped():
            raise SelfmateError("the search was stopped")
        _one_playout(search, player)
        snapshots.append(read_tree(search, position, max_depth=100, max_nodes=2000, min_visits=1))
    whole = read_tree(search, position, max_depth=100, max_nodes=60_000, min_visits=0)
    return _trace(request.ask, player.name, position, config, snapshots, whole)


def _one_playout(search: Search, player: Player) -> None:
    """Search one playout; with a net, those that the rules decide before it, too."""
    if isinstance(player.evaluator, str) and search.is_rooted():
        search.run(player.evaluator, 1)
        return
    leaves = search.gather(1)
    if not leaves.size:  # the rules decided
        return
    if isinstance(player.evaluator, Evaluator):
        answer = player.evaluator.evaluate(leaves)
        search.apply(leaves.ticket, answer.priors, answer.wdl)
    else:
        search.apply_native(leaves.ticket, player.evaluator)


def _trace(
    ask: int, name: str, position: Position, config: SearchConfig, snapshots: list[SearchTree], whole: SearchTree
) -> PlayoutTrace:
    priors = {_line(node): {_uci(each): each.prior for each in node.children} for node in whole}
    known: dict[Line, Known] = {}
    nodes: list[TraceNode] = []
    numbers: dict[Line, int] = {}
    places: dict[Line, Position] = {(): position}
    steps: list[PlayoutStep] = []
    for tree in snapshots:
        for path in _paths(tree, known):
            choices = [
                _choices(known, _line(node), places[_line(node)], _uci(after), config)
                for node, after in itertools.pairwise(path)
            ]
            before = len(nodes)
            for node in path:
                if (line := _line(node)) not in numbers:
                    numbers[line] = len(nodes)
                    nodes.append(_new_node(node, line, numbers, places))
                reached = known.setdefault(line, Known(children=priors.get(line, {})))
                reached.visits += 1
                reached.value, reached.proven = node.value, node.proven
            visits = [known[_line(node)].visits for node in path]
            steps.append(_step(path, visits, numbers, choices, is_new=len(nodes) > before))
        for node in tree:  # proofs reach nodes beside the path, too
            known[_line(node)] = Known(node.visits, node.value, node.proven, priors.get(_line(node), {}))
    return PlayoutTrace(ask=ask, fen=position.fen(), player=name, nodes=nodes, playouts=steps)


def _paths(tree: SearchTree, known: dict[Line, Known]) -> list[list[TreeNode]]:
    """Return the playouts since the last reading of the tree: mostly one, more where the rules decided some of them."""
    more = {_line(node): node.visits - (known[_line(node)].visits if _line(node) in known else 0) for node in tree}
    paths = []
    while more[()] > 0:
        path = [tree.root]
        while (after := next((each for each in path[-1].children if more[_line(each)] > 0), None)) is not None:
            path.append(after)
        for node in path:
            more[_line(node)] -= 1
        paths.append(path)
    return sorted(paths, key=lambda path: path[-1].net_value is not None)


def _new_node(node: TreeNode, line: Line, numbers: dict[Line, int], places: dict[Line, Position]) -> TraceNode:
    """Return a node for the page, and add its position to `places`."""
    if not line:
        return TraceNode(parent=-1, uci="", san="", prior=1.0)
    before = places[line[:-1]]
    places[line] = after = before.copy()
    move = after.play(line[-1])
    return TraceNode(parent=numbers[line[:-1]], uci=before.uci(move), san=before.san(move), prior=round(node.prior, 4))


def _step(
    path: list[TreeNode],
    visits: list[int],
    numbers: dict[Line, int],
    choices: list[list[TracedChoice]],
    *,
    is_new: bool,
) -> PlayoutStep:
    leaf = path[-1]
    sign = -1.0 if leaf.depth % 2 == 0 and leaf.depth else 1.0
    value = leaf.net_value if leaf.net_value is not None else leaf.value
    return PlayoutStep(
        path=[numbers[_line(node)] for node in path],
        choices=choices,
        is_new=is_new,
        by_rules=leaf.net_value is None,
        value=round(sign * value, 3) + 0.0,
        visits=visits,
        values=[round((1.0 if node.depth % 2 or not node.depth else -1.0) * node.value, 3) + 0.0 for node in path],
        proven=[node.proven for node in path],
    )


def _choices(
    known: dict[Line, Known], line: Line, position: Position, chosen: str, config: SearchConfig
) -> list[TracedChoice]:
    """Return the chosen move of a node and those with the highest scores beside it, the highest first."""
    node = known[line]
    sign = 1.0 if len(line) % 2 == 0 else -1.0  # values of `known` are the root's, those of selection the mover's
    children = {uci: known.get((*line, uci), Known()) for uci in node.children}
    visited = sum(node.children[uci] for uci, child in children.items() if child.visits)
    first_play = sign * node.value - config.fpu_reduction * math.sqrt(max(0.0, visited))
    explore = config.cpuct * math.sqrt(max(1, node.visits))
    found = []
    for uci, child in children.items():
        if child.proven and uci != chosen:
            continue  # decided: selection passes it by, unless nothing else is left
        quality = sign * child.value if child.visits else first_play
        bonus = explore * node.children[uci] / (1 + child.visits)
        found.append((quality + bonus, uci, quality, bonus))
    found.sort(key=lambda each: (-round(each[0], 4), each[1] != chosen))
    if chosen not in {uci for _, uci, _, _ in found[:SHOWN_CHOICES]}:
        found.insert(SHOWN_CHOICES - 1, next(each for each in found if each[1] == chosen))
    return [
        TracedChoice(uci=position.uci(move), san=position.san(move), q=round(quality, 3), u=round(bonus, 3))
        for _, uci, quality, bonus in found[:SHOWN_CHOICES]
        for move in (position.parse_uci(uci),)
    ]


def _line(node: TreeNode) -> Line:
    return tuple(move.uci() for move in node.line())


def _uci(node: TreeNode) -> str:
    return "" if node.move is None else node.move.uci()
