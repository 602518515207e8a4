"""The tree of moves of a game: main line, variations, comments, annotations. PGN text is read and written elsewhere.

>>> from selfmate import Game
>>> game = Game("atomic")
>>> node = game.add_line(["g1f3", "f7f6"])
>>> node.comment = "the usual reply"
>>> [node.san() for node in game.mainline()]
['Nf3', 'f6']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from selfmate._core import Move
from selfmate.board.position import Position
from selfmate.errors import PgnError, clip_repr

__all__ = ["GameTree", "MoveNode", "Node"]

MAX_NAG = 255
"""Highest numeric annotation glyph of the PGN standard."""


class Node:
    """A node of a game tree: the start (`Game`) or the position after a move (`MoveNode`).

    `variations` are the children, the main line first; `comment` is one paragraph of text: line breaks become spaces.

    >>> from selfmate import Game
    >>> game = Game()
    >>> node = game.add_variation("e2e4")
    >>> node.comment = "best by test"
    >>> game.next is node, node.parent is game, node.position().board_fen()
    (True, True, 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR')
    """

    __slots__ = ("_comment", "variations")

    variations: list[MoveNode]

    def __init__(self) -> None:
        self.variations = []
        self._comment = ""

    @property
    def comment(self) -> str:
        """The comment after the move; at the root, the comment before the first move."""
        return self._comment

    @comment.setter
    def comment(self, text: str) -> None:
        self._comment = one_paragraph(text)

    @property
    def next(self) -> MoveNode | None:
        """The next node of the main line, or None at its end."""
        return self.variations[0] if self.variations else None

    def root(self) -> GameTree:
        """Return the root of the tree.

        >>> from selfmate import Game
        >>> game = Game()
        >>> game.add_variation("e2e4").root() is game
        True
        """
        node: Node = self
        while isinstance(node, MoveNode):
            node = node.parent
        assert isinstance(node, GameTree)
        return node

    def position(self) -> Position:
        """Return the position at this node as a new object, with the moves from the start as its history.

        >>> from selfmate import Game
        >>> Game("gardner").position().fen()
        'rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1'
        """
        moves: list[Move] = []
        node: Node = self
        while isinstance(node, MoveNode):
            moves.append(node.move)
            node = node.parent
        position = self.root().start.copy()
        for move in reversed(moves):
            position.play(move)
        return position

    def mainline(self) -> Iterator[MoveNode]:
        """Yield the nodes of the main line after this one.

        >>> from selfmate import Game
        >>> game = Game.from_pgn("1. e4 e5 (1... c5) 2. Nf3 *")
        >>> [node.move.uci() for node in game.mainline()]
        ['e2e4', 'e7e5', 'g1f3']
        """
        node = self.next
        while node is not None:
            yield node
            node = node.next

    def end(self) -> Node:
        """Return the last node of the main line from here, or this node if it has no children.

        >>> from selfmate import Game
        >>> Game.from_pgn("1. e4 e5 *").end().position().fullmove_number
        2
        """
        node: Node = self
        while node.variations:
            node = node.variations[0]
        return node

    def add_variation(self, move: Move | str, *, comment: str = "", nags: Iterable[int] = ()) -> MoveNode:
        """Append a child for a move (or its UCI text) and return it. Raises `MoveError` if the move is not legal.

        >>> from selfmate import Game
        >>> game = Game()
        >>> game.add_variation("e2e4", comment="the king's pawn", nags=[1]).san()
        'e4'
        """
        text = one_paragraph(comment)  # what is no text is refused before anything changes
        node = MoveNode(self, self.position().play(move))
        node._comment = text
        node.nags.update(nags)
        self.variations.append(node)
        return node

    def add_line(self, moves: Iterable[Move | str]) -> Node:
        """Append consecutive moves and return the last node. Raises `MoveError` and adds none if one is not legal.

        >>> from selfmate import Game
        >>> game = Game()
        >>> game.add_line(["e2e4", "e7e5", "g1f3"]).position().fullmove_number
        2
        """
        position = self.position()
        legal = [position.play(move) for move in moves]
        node: Node = self
        for move in legal:
            child = MoveNode(node, move)
            node.variations.append(child)
            node = child
        return node


class MoveNode(Node):
    """A node with the move that leads to it.

    `nags` are numeric annotation glyphs (1 is `!`, 4 is `??`); `starting_comment` is the comment before the first move
    of a variation.

    >>> from selfmate import Game
    >>> node = Game.from_pgn("1. d4 d5 2. c4!? *").end()
    >>> node.move, node.san(), node.nags
    (Move.from_uci('c2c4'), 'c4', {5})
    """

    __slots__ = ("_nags", "_starting_comment", "move", "parent")

    move: Move
    parent: Node

    def __init__(self, parent: Node, move: Move) -> None:
        # The assignments of Node.__init__, inlined: reading a PGN file makes one node per move.
        self.parent = parent
        self.move = move
        self.variations = []
        self._comment = ""
        self._starting_comment = ""
        self._nags: set[int] | None = None

    @property
    def nags(self) -> set[int]:
        """The numeric annotation glyphs of the move, as a set that may be changed."""
        if self._nags is None:
            self._nags = set()
        return self._nags

    @property
    def starting_comment(self) -> str:
        """The comment before the move; only the first move of a variation has one."""
        return self._starting_comment

    @starting_comment.setter
    def starting_comment(self, text: str) -> None:
        if text and not self.starts_variation():
            raise PgnError("only the first move of a variation has a starting comment", text)
        self._starting_comment = one_paragraph(text)

    def starts_variation(self) -> bool:
        """Return whether the move is the first of a variation, not of the main line.

        >>> from selfmate import Game
        >>> game = Game.from_pgn("1. e4 (1. d4) *")
        >>> [node.starts_variation() for node in game.variations]
        [False, True]
        """
        return self.parent.variations[0] is not self

    def san(self) -> str:
        """Return the move in SAN.

        >>> from selfmate import Game
        >>> Game.from_pgn("1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7#").end().san()
        'Qxf7#'
        """
        return self.parent.position().san(self.move)

    def __reduce__(self) -> tuple[object, ...]:
        path: list[int] = []
        node: Node = self
        while isinstance(node, MoveNode):
            path.append(next(i for i, each in enumerate(node.parent.variations) if each is node))
            node = node.parent
        return _node_at, (self.root(), path[::-1])

    def promote(self) -> None:
        """Make this the first variation of its parent, the main line.

        >>> from selfmate import Game
        >>> game = Game.from_pgn("1. e4 (1. d4) *")
        >>> game.variations[1].promote()
        >>> str(game).splitlines()[-1]
        '1. d4 (1. e4) *'
        """
        siblings = self.parent.variations
        siblings.remove(self)
        siblings.insert(0, self)
        self._starting_comment = ""

    def remove(self) -> None:
        """Remove this node and everything below it from the game.

        >>> from selfmate import Game
        >>> game = Game.from_pgn("1. e4 e5 *")
        >>> game.end().remove()
        >>> str(game).splitlines()[-1]
        '1. e4 *'
        """
        self.parent.variations.remove(self)


class GameTree(Node):
    """The root of a game tree, with the start position. `Game` adds the headers.

    >>> tree = GameTree(Position("gardner"))
    >>> tree.add_variation("a2a3").root() is tree
    True
    """

    __slots__ = ("start",)

    start: Position
    parent = None

    def __init__(self, start: Position) -> None:
        super().__init__()
        self.start = start

    # Pickled as rows: nodes that are linked one by one are too deep a structure for a long game.

    def __getstate__(self) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
        names = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        fields = {name: getattr(self, name) for name in names if name != "variations"}
        rows: list[tuple[Any, ...]] = []
        waiting: list[tuple[int, Node]] = [(-1, self)]  # number of the node, and the node
        while waiting:
            number, node = waiting.pop()
            for child in node.variations:
                waiting.append((len(rows), child))
                rows.append((number, child.move, child._comment, child._starting_comment, child._nags))
        return fields, rows

    def __setstate__(self, state: tuple[dict[str, Any], list[tuple[Any, ...]]]) -> None:
        fields, rows = state
        self.variations = []
        for name, value in fields.items():
            setattr(self, name, value)
        nodes: list[MoveNode] = []
        for number, move, comment, starting_comment, nags in rows:
            parent = self if number < 0 else nodes[number]
            node = MoveNode(parent, move)
            node._comment, node._starting_comment, node._nags = comment, starting_comment, nags
            parent.variations.append(node)
            nodes.append(node)

    def same_moves(self, other: GameTree) -> bool:
        """Return whether two trees have the same start, moves, comments and annotations.

        >>> one, other = GameTree(Position("chess")), GameTree(Position("chess"))
        >>> _ = one.add_variation("e2e4")
        >>> one.same_moves(other)
        False
        """
        if not isinstance(other, GameTree):
            raise PgnError(f"moves are compared with those of a game, not of {clip_repr(other)}", clip_repr(other))
        if self.start != other.start or self._comment != other._comment:
            return False
        pairs: list[tuple[Node, Node]] = [(self, other)]
        while pairs:
            left, right = pairs.pop()
            if len(left.variations) != len(right.variations):
                return False
            for one, two in zip(left.variations, right.variations, strict=True):
                if (
                    one.move != two.move
                    or one._comment != two._comment
                    or one._starting_comment != two._starting_comment
                    or (one._nags or set()) != (two._nags or set())
                ):
                    return False
                pairs.append((one, two))
        return True


def _node_at(root: GameTree, path: list[int]) -> Node:
    """Return the node of a pickled tree behind these numbers of variations."""
    node: Node = root
    for number in path:
        node = node.variations[number]
    return node


def one_paragraph(text: str) -> str:
    r"""Return text as a comment holds it: line breaks as spaces, stripped.

    >>> one_paragraph(" two\nlines ")
    'two lines'
    """
    given: object = text
    if not isinstance(given, str):
        raise PgnError(f"a comment is a text, not {clip_repr(given)}", clip_repr(given))
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
