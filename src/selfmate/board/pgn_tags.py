r"""Tag pairs of PGN, `[Name "value"]`: the grammar of one tag, and a fast reader of the tags of large files.

>>> parse_tag('[White "Anna \\"the hammer\\""] [Black "Ben"]')
Tag(name='White', value='Anna "the hammer"', end=30)
>>> import io
>>> text = b'[White "Anna"]\n[Black "Ben"]\n\n1. e4 1-0\n\n[White "Ben"]\n\n1/2-1/2\n'
>>> list(read_tags(io.BytesIO(text), ("White", "Black")))
[{'White': 'Anna', 'Black': 'Ben'}, {'White': 'Ben'}]
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from typing import IO, Final, NamedTuple

from selfmate.errors import PgnError
from selfmate.util.text_lines import check_text, decode

__all__ = ["Tag", "is_tag_name", "parse_broken_tag", "parse_tag", "read_tags"]

NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_+#=:-]*+"
STRICT: Final = rf'\s*+\[\s*+({NAME})\s+"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*+\]\s*+'
LENIENT: Final = rf'\s*+\[\s*+({NAME})\s+"(.*)"\s*+\]\s*+'
"""The only tag of its line, with quotation marks in the value that are not escaped."""
TAG_NAME: Final = re.compile(NAME)
TAG, LENIENT_TAG = re.compile(STRICT), re.compile(LENIENT)
TAG_BYTES, LENIENT_TAG_BYTES = re.compile(STRICT.encode()), re.compile(LENIENT.encode())
BROKEN_TAG: Final = re.compile(rf'\s*+(?:\[\s*+({NAME})\s*+"?|({NAME})\s++")(.*?)"?\s*+\]?\s*+')
"""A tag that fills the rest of its line, with brackets or quotation marks missing."""
ESCAPE: Final = re.compile(r'\\(["\\])')
LONGEST_LINE: Final = 1 << 16
"""A longer line is read in pieces; no tag is that long."""
BYTES_BEFORE_TAGS: Final = 1 << 20
"""A file without a tag in its first MiB is not PGN."""
BLANK: Final = b" \t\xef\xbb\xbf"
"""What may precede a tag: spaces, and the byte order mark of UTF-8 at the start of a file."""


class Tag(NamedTuple):
    """A tag pair."""

    name: str
    value: str
    """Without the escapes of quotation marks and backslashes."""
    end: int
    """Where the text goes on after the tag and the spaces behind it."""


def is_tag_name(name: str) -> bool:
    """Return whether a tag may have this name.

    >>> is_tag_name("WhiteElo"), is_tag_name("White Elo")
    (True, False)
    """
    return TAG_NAME.fullmatch(name) is not None


def parse_tag(line: str, start: int = 0, *, lenient: bool = False) -> Tag | None:
    r"""Return the tag at `start` of a line, or None if there is none.

    `lenient` also takes a tag that fills the line and has unescaped quotation marks in its value.

    >>> parse_tag('[White "The "Hammer""]'), parse_tag('[White "The "Hammer""]', lenient=True).value
    (None, 'The "Hammer"')
    """
    found = TAG.match(line, start)
    if found is None and lenient:
        found = LENIENT_TAG.fullmatch(line, start)
    if found is None:
        return None
    return Tag(found[1], _unescape(found[2]), found.end())


def parse_broken_tag(line: str, start: int = 0) -> Tag | None:
    """Return what a damaged tag at `start` of a line means, or None.

    >>> [parse_broken_tag(line).value for line in ('[White "Anna', 'White "Anna"]', "[White Anna]")]
    ['Anna', 'Anna', 'Anna']
    """
    found = BROKEN_TAG.fullmatch(line, start)
    return None if found is None else Tag(found[1] or found[2], _unescape(found[3]), found.end())


def _unescape(value: str) -> str:
    return ESCAPE.sub(r"\1", value) if "\\" in value else value


def read_tags(source: IO[bytes], names: Collection[str]) -> Iterator[dict[str, str]]:
    """Yield the values of the tags in `names`, by name, for each game of a PGN file.

    Moves are skipped unread, so the rules of the game do not matter, and memory does not grow with the file. A game
    begins with the first tag after moves, or with a tag in `names` that the game already has. Raises `PgnError` for a
    file that is compressed or in UTF-16.
    """
    wanted = {name.encode(): name for name in names}
    prefixes = {name[:2] for name in wanted}
    game: dict[str, str] | None = None
    in_tags = False
    skipped = 0
    first = True
    for line in iter(functools.partial(source.readline, LONGEST_LINE), b""):
        if first:
            check_text(line, PgnError)
            first = False
        # 1. Skip moves.
        if line[:1] != b"[" and line.lstrip(BLANK)[:1] != b"[":
            if game is None:
                skipped += len(line)
                if skipped > BYTES_BEFORE_TAGS:
                    return
            in_tags = in_tags and line.isspace()
            continue
        # 2. Skip tags that are not asked for, without decoding them.
        if in_tags and line[1:2].isalpha() and line[1:3] not in prefixes:
            continue
        line = line.lstrip(BLANK)
        found = TAG_BYTES.match(line) or LENIENT_TAG_BYTES.fullmatch(line)
        if found is None:
            continue
        # 3. A new game
        name = wanted.get(found[1])
        if game is None or not in_tags or (name is not None and name in game):
            if game is not None:
                yield game
            game, in_tags = {}, True
        if name is not None:
            game[name] = _unescape(decode(found[2]))
    if game is not None:
        yield game
