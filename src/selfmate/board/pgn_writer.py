"""Writing PGN: names of variants in tags, the headers of a game, and movetext in lines of fewer than 80 columns.

>>> from selfmate import Game
>>> print(movetext(Game.from_pgn("1. e4 e5 (1... c5) 2. Nf3 *"), "*"))
1. e4 e5 (1... c5) 2. Nf3 *
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence

from selfmate import _core
from selfmate.board.game_tree import MAX_NAG, GameTree, MoveNode
from selfmate.board.pgn_tags import is_tag_name
from selfmate.board.position import Position
from selfmate.errors import PgnError, UnknownVariant, clip

__all__ = ["Headers"]

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")

# The Seven Tag Roster of the PGN standard with its values for "unknown".
ROSTER = {
    "Event": "?",
    "Site": "?",
    "Date": "????.??.??",
    "Round": "?",
    "White": "?",
    "Black": "?",
    "Result": "*",
}

START_TAGS = ("Variant", "Chess960", "SetUp", "FEN")
CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
COMMAND = re.compile(r"\[%[^\[\]]*\]")
"""A command inside a comment, such as `[%clk 0:00:59]`."""
WIDTH = 79
"""Longest line in columns; the PGN standard asks for fewer than 80."""

# The value of the tag `Variant`; as Lichess writes it for the variants that Lichess has, else the name of the variant.
# There is no name for atomic with Chess960 castling: as in python-chess, the castling rights tell it.
TAG_OF_VARIANT = {name: name for name in _core.VARIANTS} | {
    "chess": "Standard",
    "chess960": "Chess960",
    "atomic": "Atomic",
    "atomic960": "Atomic",
    "gardner": "Gardner",
    "antichess": "Antichess",
    "kingofthehill": "King of the Hill",
    "3check": "Three-check",
    "racingkings": "Racing Kings",
    "horde": "Horde",
}

# Other values in use, in lower case, letters and digits only.
VARIANT_OF_TAG = {re.sub(r"[^a-z0-9]", "", tag.lower()): name for name, tag in TAG_OF_VARIANT.items()} | {
    "atomic": "atomic",
    "atomic960": "atomic960",
    "chess": "chess",
    "normal": "chess",
    "classical": "chess",
    "fromposition": "chess",
    "fischerandom": "chess960",
    "fischerrandom": "chess960",
    "freestyle": "chess960",
    "atomicchess": "atomic",
    "gardnerminichess": "gardner",
    "koth": "kingofthehill",
    "3check": "3check",
    "threecheckchess": "3check",
    "hordechess": "horde",
}


def variant_name(position: _core.Position) -> str:
    """Return the variant's name as `Position` takes it, with `960` where it applies.

    >>> variant_name(Position("atomic960"))
    'atomic960'
    """
    return f"{position.variant}960" if position.chess960 else position.variant


def variant_of_tag(tag: str) -> str:
    """Return the variant for the value of a `Variant` tag, as written by Lichess, Fairy-Stockfish or us.

    Raises `UnknownVariant` with a suggestion.

    >>> variant_of_tag("Three-check"), variant_of_tag("ATOMIC"), variant_of_tag("From Position")
    ('3check', 'atomic', 'chess')
    """
    variant = VARIANT_OF_TAG.get(re.sub(r"[^a-z0-9]", "", tag.lower()))
    if variant is None:
        raise UnknownVariant.named(tag, dict.fromkeys(TAG_OF_VARIANT.values()))
    return variant


@functools.cache
def _usual_start(variant: str) -> str:
    return Position(variant).fen()


def start_tags(start: Position) -> dict[str, str]:
    """Return the tags that describe the start position; none for the usual start of chess.

    `Chess960` marks 960 castling where the tag `Variant` does not, for starts without castling rights.

    >>> start_tags(Position("horde"))
    {'Variant': 'Horde'}
    >>> start_tags(Position.chess960_start(0, "atomic"))["Chess960"]
    '1'
    """
    variant = variant_name(start)
    tags = {} if variant == "chess" else {"Variant": TAG_OF_VARIANT[variant]}
    if start.chess960 and variant != "chess960":
        tags["Chess960"] = "1"
    fen = start.fen()
    if start.chess960 or fen != _usual_start(variant):
        tags |= {"SetUp": "1", "FEN": fen}
    return tags


def check_tag(name: str, value: str) -> None:
    """Raise `PgnError` for a tag that cannot be written: a bad name, no result, or control characters in the value.

    >>> check_tag("White Elo", "2000")
    Traceback (most recent call last):
    ...
    selfmate.errors.PgnError: not a tag name: 'White Elo'
    """
    if not is_tag_name(name):
        raise PgnError(f"not a tag name: {clip(name)!r}", name)
    if name == "Result" and value not in RESULTS:
        raise PgnError(f"not a result: {clip(value)!r}; use one of {' '.join(RESULTS)}", value)
    if CONTROL.search(value):
        raise PgnError(f"tag {name}: no control characters allowed: {clip(value)!r}", value)


class Headers(MutableMapping[str, str]):
    r"""The tag pairs of a game. The Seven Tag Roster (Event to Result) is always present.

    `Variant`, `Chess960`, `SetUp` and `FEN` follow from the start position and cannot be changed.

    >>> from selfmate import Game
    >>> headers = Game("atomic").headers
    >>> headers["White"] = 'Anna "the hammer"'
    >>> headers["Date"], headers["Variant"]
    ('????.??.??', 'Atomic')
    >>> headers["White"] = "two\nlines"
    Traceback (most recent call last):
    ...
    selfmate.errors.PgnError: tag White: no control characters allowed: 'two\nlines'
    """

    def __init__(self, start_tags: Mapping[str, str]) -> None:
        self._tags = {**ROSTER, **start_tags}

    def __getitem__(self, name: str) -> str:
        return self._tags[name]

    def __setitem__(self, name: str, value: str) -> None:
        if name in START_TAGS:
            raise PgnError(f"tag {name} follows from the start position; make a new Game for another", name)
        check_tag(name, value)
        self._tags[name] = value

    def __delitem__(self, name: str) -> None:
        if name in START_TAGS:
            raise PgnError(f"tag {name} follows from the start position; make a new Game for another", name)
        if name in ROSTER:
            self._tags[name] = ROSTER[name]
        else:
            del self._tags[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tags)

    def __len__(self) -> int:
        return len(self._tags)

    def free(self) -> dict[str, str]:
        """Return the tags that do not follow from the start position.

        >>> from selfmate import Game
        >>> "Variant" in Game("atomic").headers.free()
        False
        """
        return {name: value for name, value in self._tags.items() if name not in START_TAGS}

    def pgn(self) -> str:
        """Return the tags as PGN, one per line: the Seven Tag Roster, others, the start position.

        >>> from selfmate import Game
        >>> Game("horde").headers.pgn().splitlines()[-1]
        '[Variant "Horde"]'
        """
        order = sorted(self._tags, key=lambda name: (name not in ROSTER, name in START_TAGS))
        return "".join(f'[{name} "{_escape(self._tags[name])}"]\n' for name in order)

    def __repr__(self) -> str:
        return f"Headers({self._tags!r})"


def movetext(tree: GameTree, result: str) -> str:
    """Return the moves of a game with variations, comments, annotations and the result, in lines below 80 columns.

    >>> print(movetext(GameTree(Position("chess")), "1-0"))
    1-0
    """
    marker = result if result in RESULTS else "*"
    return _wrap([*_words(tree), marker])


def _words(tree: GameTree) -> list[str]:
    """Return the movetext as words between which a line may break. One position is played forward and undone."""
    words = _comment_words(tree._comment)
    position = tree.start.copy()
    depth = 0  # moves played on `position`
    # A stack of what is still to be written: a node of a main line (its parent's move is played first), the first node
    # of a variation, or None, which closes a variation. With each: the depth of the position before it, and whether a
    # move of Black's needs its number.
    todo: list[tuple[MoveNode | None, int, bool]] = [(tree.variations[0], 0, True)] if tree.variations else []
    while todo:
        # 1. Bring the position to the parent of the node.
        node, base, numbered = todo.pop()
        if node is None:
            _close_bracket(words)
            continue
        while depth > base:
            position.undo()
            depth -= 1
        is_main = not node.starts_variation()
        parent = node.parent
        if is_main and isinstance(parent, MoveNode):
            position.play(parent.move)
            depth += 1
        # 2. The move with its comments and annotations.
        begin = len(words)
        if node._starting_comment and not is_main:
            words += _comment_words(node._starting_comment)
        if position.turn or numbered:
            words.append(f"{position.fullmove_number}{'.' if position.turn else '...'}")
        words.append(position.san(node.move))
        if not is_main:
            words[begin] = "(" + words[begin]
        if node._nags:
            words += [f"${_check_nag(nag)}" for nag in sorted(node._nags)]
        if node._comment:
            words += _comment_words(node._comment)
        # 3. Push the continuation first, so that the alternatives to this move are written before it.
        alternatives = parent.variations[1:] if is_main else []
        if node.variations:
            todo.append((node.variations[0], depth, bool(alternatives or node._comment)))
        for alternative in reversed(alternatives):
            todo += [(None, 0, False), (alternative, depth, True)]
    return words


def _close_bracket(words: list[str]) -> None:
    if words[-1].endswith("\n"):
        words.append(")")
    else:
        words[-1] += ")"


def _comment_words(text: str) -> list[str]:
    if not text:
        return []
    if "}" in text:  # only possible in a comment that ends with its line
        return [f"; {text}\n"]
    kept = COMMAND.sub(lambda command: command[0].replace(" ", "\n"), text)  # a comment has no other line breaks
    return ["{", *(word.replace("\n", " ") for word in kept.split(" ")), "}"]


def _wrap(words: Sequence[str]) -> str:
    """Return words joined to lines, none of which begins like a tag (`[`) or an escape (`%`).

    Such words stay on the line of the word before them. Only where that line would be too long, a line may begin with a
    command (`[%…]`).
    """
    # 1. The length of each word with those that must stay with it.
    stays = [not word or not before or word[0] in "[%" for before, word in itertools.pairwise(["", *words])]
    lengths = [len(word) for word in words]
    for index in range(len(words) - 1, 0, -1):
        if stays[index]:
            lengths[index - 1] += 1 + lengths[index]
    # 2. Join.
    parts: list[str] = []
    column = 0
    for index, word in enumerate(words):
        if column:
            breaks = not stays[index] and column + 1 + lengths[index] > WIDTH
            if breaks or (COMMAND.match(word) and words[index - 1] and column + 1 + len(word) > WIDTH):
                parts.append("\n")
                column = 0
            else:
                parts.append(" ")
                column += 1
        parts.append(word)
        column = 0 if word.endswith("\n") else column + len(word)
    return "".join(parts)


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def _check_nag(nag: int) -> int:
    if not 0 <= nag <= MAX_NAG:
        raise PgnError(f"annotation ${nag} is not between $0 and ${MAX_NAG}", f"${nag}")
    return nag
