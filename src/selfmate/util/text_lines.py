"""Numbered lines of a text file of any size, read with a limit on their length."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from selfmate.errors import clip

__all__ = ["Source", "decode", "numbered_lines"]

Source = str | os.PathLike[str] | IO[str] | IO[bytes]
"""A file: its path, or the file itself, opened for text or bytes."""


def numbered_lines(source: Source, limit: int) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of `source`, without their ends, with their numbers from 1.

    A line longer than `limit` is cut to `limit + 1` characters, so that the caller can refuse it. Bytes are read as
    UTF-8, or line by line as Latin-1, the encoding of the PGN standard, where they are not UTF-8. Raises `TypeError`
    for what is neither a path nor a file, and `OSError` for a path that cannot be opened.

    >>> import io
    >>> list(numbered_lines(io.BytesIO(b"\xc3\xa9\r\n\xe9\nabcdefgh\n"), 4))
    [(1, 'é'), (2, 'é'), (3, 'abcde')]
    """
    if isinstance(source, (str, os.PathLike)):
        try:
            opened = Path(source).open("rb")  # noqa: SIM115 (closed below)
        except ValueError as error:  # a NUL, or characters that no file name has
            raise OSError(errno.EINVAL, f"not a path: {error}", clip(str(source))) from None
        with opened as file:
            yield from numbered_lines(file, limit)
        return
    if not hasattr(source, "readline"):
        raise TypeError(f"a path or an open file is needed, not {type(source).__name__}")
    number = 0
    most = limit + 3  # a line of `limit` characters with its end, and one more
    while raw := source.readline(most):
        number += 1
        line = decode(raw)
        if len(raw) == most and line[-1] != "\n":
            rest = raw
            while rest and decode(rest)[-1] != "\n":
                rest = source.readline(most)
            yield number, line[: limit + 1]
            continue
        line = line.rstrip("\r\n")
        if "\r" in line:  # line ends of the classic Mac OS, or a stray one
            for part in line.split("\r"):
                yield number, part
        else:
            yield number, line


def decode(raw: str | bytes) -> str:
    r"""Return bytes decoded as UTF-8 or, where they are not UTF-8, as Latin-1.

    >>> decode(b"\xc3\xa9"), decode(b"\xe9")
    ('é', 'é')
    """
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
