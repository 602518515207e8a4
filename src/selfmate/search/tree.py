"""The tree of a search, as objects, JSON or a DataFrame.

>>> from selfmate import Limit, Player, Position
>>> tree = Player("heuristic-1").search_tree(Position("gardner"), Limit(visits=200), max_nodes=50)
>>> len(tree), tree.root.visits, tree.root.children[0].parent is tree.root
(50, 201, True)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from selfmate import _core
from selfmate._core import Move, Search
from selfmate.errors import SearchError, clip, clip_repr
from selfmate.util.frames import to_frame
from selfmate.util.numbers import whole_number

__all__ = ["MAX_TREE_NODES", "SearchTree", "TreeNode", "read_tree"]

MAX_TREE_NODES: Final = 1_000_000
"""Most nodes of a tree that are read; each takes about half a kilobyte as an object."""
MAX_TREE_DEPTH: Final = 10_000
MAX_INDENT: Final = 100
MAX_MIN_VISITS: Final = (1 << 32) - 1


@dataclass(eq=False, slots=True, kw_only=True)
class TreeNode:
    """A position of a search tree, and the move that leads to it. Values are for the side to move at the root."""

    move: Move | None
    """None at the root."""
    depth: int
    """Plies below the root."""
    visits: int
    """Playouts through the node; at the root with its own evaluation."""
    value: float
    """Mean value, -1 to 1; the proven result where there is one."""
    draw: float
    """Mean probability of a draw."""
    prior: float
    """Of the move, in the position before it; 1 at the root."""
    net_value: float | None
    """The evaluator's value of the position; None: not evaluated."""
    proven: int | None
    """Plies to a forced win (positive) or loss (negative), 0 for a draw, None if nothing is proven."""
    parent: TreeNode | None = field(repr=False)
    children: list[TreeNode] = field(default_factory=list, repr=False)
    """The most visited first."""

    def line(self) -> list[Move]:
        """Return the moves from the root to this node."""
        moves: list[Move] = []
        node: TreeNode | None = self
        while node is not None and node.move is not None:
            moves.append(node.move)
            node = node.parent
        return moves[::-1]


COLUMNS: Final = ("visits", "value", "draw", "prior", "net_value", "proven")


class SearchTree:
    """Part of the tree of a search: the root and the most visited moves below it.

    `nodes` are in the order of their visits, parents before children; `root` is the first. `fen` and `variant` are the
    position that was searched. A tree is pickled as a whole.

    >>> from selfmate import Limit, Player, Position
    >>> tree = Player("heuristic-1").search_tree(Position("chess"), Limit(visits=100), max_depth=2)
    >>> max(node.depth for node in tree), tree.node("e2e4").move
    (2, Move.from_uci('e2e4'))
    """

    def __init__(self, variant: str, fen: str, nodes: list[TreeNode]) -> None:
        self.variant = variant
        self.fen = fen
        self.nodes = nodes

    @property
    def root(self) -> TreeNode:
        """The position that was searched."""
        return self.nodes[0]

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[TreeNode]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        return f"SearchTree({self.variant!r}, {self.fen!r}, {len(self)} nodes)"

    def __reduce__(self) -> tuple[object, ...]:
        numbers = {id(node): number for number, node in enumerate(self.nodes)}
        rows = [
            (
                -1 if node.parent is None else numbers[id(node.parent)],
                node.depth,
                node.move,
                *(getattr(node, name) for name in COLUMNS),
            )
            for node in self.nodes
        ]
        return _tree_of, (self.variant, self.fen, rows)

    def node(self, *moves: Move | str) -> TreeNode:
        """Return the node behind moves from the root; raise `SearchError` if the tree does not have it."""
        found = self.root
        for move in moves:
            given: object = move
            if not isinstance(given, Move | str):
                raise SearchError(f"a move is a Move or UCI text, not {clip_repr(given)}", clip_repr(given))
            wanted = Move.from_uci(move) if isinstance(move, str) else move
            child = next((each for each in found.children if each.move == wanted), None)
            if child is None:
                raise SearchError(f"the tree has no move {clip(str(move))} there", str(move))
            found = child
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as nested dictionaries of plain values: what `to_json` writes.

        >>> from selfmate import Limit, Player, Position
        >>> tree = Player("uniform").search_tree(Position("gardner"), Limit(visits=10), max_nodes=2)
        >>> list(tree.to_dict()), list(tree.to_dict()["root"])
        (['variant', 'fen', 'root'], ['move', 'visits', 'value', 'draw', 'prior', 'net_value', 'proven', 'children'])
        """
        entries: dict[int, dict[str, Any]] = {}
        for node in self.nodes:
            entry = {"move": None if node.move is None else node.move.uci()}
            entry |= {name: getattr(node, name) for name in COLUMNS} | {"children": []}
            entries[id(node)] = entry
            if node.parent is not None:
                entries[id(node.parent)]["children"].append(entry)
        return {"variant": self.variant, "fen": self.fen, "root": entries[id(self.root)]}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the tree as JSON: `variant`, `fen` and `root`, whose `children` are nodes of the same form.

        >>> from selfmate import Limit, Player, Position
        >>> tree = Player("uniform").search_tree(Position("gardner"), Limit(visits=10), max_nodes=1)
        >>> tree.to_json()[:21]
        '{"variant": "gardner"'
        """
        import json  # not needed by the UCI engine

        if indent is not None:
            indent = whole_number("indent", indent, 0, MAX_INDENT, SearchError)
        return json.dumps(self.to_dict(), indent=indent)

    def to_frame(self, library: str | None = None) -> Any:
        """Return the tree as a DataFrame of pandas or polars (`selfmate.util.frames`), a row for each node.

        Columns: `node`, `parent` (-1 at the root), `depth`, `line` (UCI moves from the root), `move`, and the fields of
        `TreeNode`. Raises `MissingExtra` if neither library is installed.

        >>> from selfmate import Limit, Player, Position
        >>> tree = Player("uniform").search_tree(Position("gardner"), Limit(visits=10), max_nodes=3)
        >>> tree.to_frame("pandas")["parent"].tolist()
        [-1, 0, 0]
        """
        numbers = {id(node): number for number, node in enumerate(self.nodes)}
        columns: dict[str, list[Any]] = {
            "node": list(range(len(self.nodes))),
            "parent": [-1 if node.parent is None else numbers[id(node.parent)] for node in self.nodes],
            "depth": [node.depth for node in self.nodes],
            "line": [" ".join(move.uci() for move in node.line()) for node in self.nodes],
            "move": ["" if node.move is None else node.move.uci() for node in self.nodes],
        }
        columns |= {name: [getattr(node, name) for node in self.nodes] for name in COLUMNS}
        return to_frame(columns, library)


def read_tree(
    search: Search, position: _core.Position, *, max_depth: int, max_nodes: int, min_visits: int
) -> SearchTree:
    """Return the tree of a search of `position`, of at most this depth and size.

    Only moves with at least `min_visits` visits (0: all legal moves) or a proven result are read. Raises `SearchError`
    for numbers out of range and for a search without a result.
    """
    rows = search.tree_rows(
        whole_number("max_depth", max_depth, 0, MAX_TREE_DEPTH, SearchError),
        whole_number("max_nodes", max_nodes, 1, MAX_TREE_NODES, SearchError),
        whole_number("min_visits", min_visits, 0, MAX_MIN_VISITS, SearchError),
    )
    name = f"{position.variant}960" if position.chess960 else position.variant
    return _tree_of(name, position.fen(), rows)


def _tree_of(variant: str, fen: str, rows: list[tuple[Any, ...]]) -> SearchTree:
    nodes: list[TreeNode] = []
    for parent, depth, move, *values in rows:
        above = nodes[parent] if parent >= 0 else None
        node = TreeNode(move=move, depth=depth, parent=above, **dict(zip(COLUMNS, values, strict=True)))
        nodes.append(node)
        if above is not None:
            above.children.append(node)
    return SearchTree(variant, fen, nodes)
