"""The tree of moves of a game: main line, variations, comments, annotations. No text format here.

>>> from selfmate import Game
>>> game = Game("atomic")
>>> node = game.add_line(["g1f3", "f7f6"])
>>> node.comment = "the usual reply"
>>> [node.san() for node in game.mainline()]
['Nf3', 'f6']
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from selfmate._core import Move
from selfmate.board.position import Position
from selfmate.errors import PgnError

__all__ = ["MoveNode", "Node", "Tree"]

MAX_NAG = 255


class Node:
    """A point in the tree of a game: the start (`Game`) or the place after a move (`MoveNode`).

    `variations` are the moves that go on from here, the main line first; `comment` is one paragraph of
    text: line breaks in it become spaces.

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
        """The text after the move, or before the first move of a game."""
        return self._comment

    @comment.setter
    def comment(self, text: str) -> None:
        self._comment = one_paragraph(text)

    @property
    def next(self) -> MoveNode | None:
        """The next node of the main line, or None at its end."""
        return self.variations[0] if self.variations else None

    def root(self) -> Tree:
        """Find the start of the game that this node belongs to.

        >>> from selfmate import Game
        >>> game = Game()
        >>> game.add_variation("e2e4").root() is game
        True
        """
        node: Node = self
        while isinstance(node, MoveNode):
            node = node.parent
        assert isinstance(node, Tree)
        return node

    def position(self) -> Position:
        """Give the position at this node, as a new object that holds the moves from the start.

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
        """Walk along the first variations from here to the end.

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
        """Give the last node of the main line from here.

        >>> from selfmate import Game
        >>> Game.from_pgn("1. e4 e5 *").end().position().fullmove_number
        2
        """
        node: Node = self
        while node.variations:
            node = node.variations[0]
        return node

    def add_variation(self, move: Move | str, *, comment: str = "", nags: Iterable[int] = ()) -> MoveNode:
        """Add a move (or its UCI text) after those that are already here; it must be legal.

        >>> from selfmate import Game
        >>> game = Game()
        >>> game.add_variation("e2e4", comment="the king's pawn", nags=[1]).san()
        'e4'
        """
        node = MoveNode(self, self.position().play(move))
        node.comment = comment
        node.nags.update(nags)
        self.variations.append(node)
        return node

    def add_line(self, moves: Iterable[Move | str]) -> Node:
        """Add moves one after the other and return the last node. If one is illegal, none is added.

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

    `nags` are numeric annotations (1 is `!`, 4 is `??`), `starting_comment` stands before the move when
    it begins a variation.

    >>> from selfmate import Game
    >>> node = Game.from_pgn("1. d4 d5 2. c4!? *").end()
    >>> node.move, node.san(), node.nags
    (Move.from_uci('c2c4'), 'c4', {5})
    """

    __slots__ = ("_nags", "_starting_comment", "move", "parent")

    move: Move
    parent: Node

    def __init__(self, parent: Node, move: Move) -> None:
        # Does what Node.__init__ does, without the call: one of these is made for every move read.
        self.parent = parent
        self.move = move
        self.variations = []
        self._comment = ""
        self._starting_comment = ""
        self._nags: set[int] | None = None

    @property
    def nags(self) -> set[int]:
        """The numeric annotation glyphs of the move; change the set to change them."""
        if self._nags is None:
            self._nags = set()
        return self._nags

    @property
    def starting_comment(self) -> str:
        """The text before the move; only the first move of a variation has one."""
        return self._starting_comment

    @starting_comment.setter
    def starting_comment(self, text: str) -> None:
        if text and not self.starts_variation():
            raise PgnError("only the first move of a variation has a starting comment", text)
        self._starting_comment = one_paragraph(text)

    def starts_variation(self) -> bool:
        """Tell whether the move is an alternative to a main move.

        >>> from selfmate import Game
        >>> game = Game.from_pgn("1. e4 (1. d4) *")
        >>> [node.starts_variation() for node in game.variations]
        [False, True]
        """
        return self.parent.variations[0] is not self

    def san(self) -> str:
        """Write the move in algebraic notation.

        >>> from selfmate import Game
        >>> Game.from_pgn("1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7#").end().san()
        'Qxf7#'
        """
        return self.parent.position().san(self.move)

    def promote(self) -> None:
        """Make this the main move of its parent.

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
        """Take this move, and all that follows it, out of the game.

        >>> from selfmate import Game
        >>> game = Game.from_pgn("1. e4 e5 *")
        >>> game.end().remove()
        >>> str(game).splitlines()[-1]
        '1. e4 *'
        """
        self.parent.variations.remove(self)


class Tree(Node):
    """The root: the start position and all that is played from it. `Game` adds the headers.

    >>> tree = Tree(Position("gardner"))
    >>> tree.add_variation("a2a3").root() is tree
    True
    """

    __slots__ = ("start",)

    start: Position
    parent = None

    def __init__(self, start: Position) -> None:
        super().__init__()
        self.start = start

    def same_moves(self, other: Tree) -> bool:
        """Tell whether two trees have the same start, moves, comments and annotations.

        >>> one, other = Tree(Position("chess")), Tree(Position("chess"))
        >>> _ = one.add_variation("e2e4")
        >>> one.same_moves(other)
        False
        """
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


def one_paragraph(text: str) -> str:
    r"""Make a text fit for a comment: no line breaks, no space around it.

    >>> one_paragraph(" two\nlines ")
    'two lines'
    """
    return text.replace("\r\n", " ").replace("\n", " ").replace("\r", " ").strip()
