"""Numbered lines of a text file of any size, read with a limit on their length."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from selfmate.errors import SelfmateError, clip

__all__ = ["Source", "check_text", "decode", "numbered_lines"]

Source = str | os.PathLike[str] | IO[str] | IO[bytes]
"""A file: its path, or the file itself, opened for text or bytes."""

NO_TEXT: Final = {
    b"\x1f\x8b": "compressed by gzip: unpack it first (gunzip)",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard: unpack it first (unzstd)",
    b"BZh91AY&SY": "compressed by bzip2: unpack it first (bunzip2)",
    b"\xfd7zXZ\x00": "compressed by xz: unpack it first (unxz)",
    b"PK\x03\x04": "a ZIP archive: unpack it first (unzip)",
    b"\xff\xfe": "text in UTF-16: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)",
    b"\xfe\xff": "text in UTF-16: convert it to UTF-8 first (iconv -f UTF-16 -t UTF-8)",
}
"""First bytes of files that are often taken for text, and what to do with them."""
SNIFFED_BYTES: Final = 4096
"""First bytes of a file that decide whether it is text."""
CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a\x1b"))
"""Characters that text does not have; a tenth of random bytes."""
MOST_CONTROL: Final = 0.05
"""Share of them in a text; a few stray ones are left to the parsers."""


def numbered_lines(
    source: Source, limit: int, refuse: type[SelfmateError] = SelfmateError
) -> Iterator[tuple[int, str]]:
    r"""Yield the lines of `source`, without their ends, with their numbers from 1.

    A line longer than `limit` is cut to `limit + 1` characters, so that the caller can refuse it. Bytes are read as
    UTF-8, or line by line as Latin-1, the encoding of the PGN standard, where they are not UTF-8. Raises `TypeError`
    for what is neither a path nor a file, `OSError` for a path that cannot be opened, and `refuse` for a file that is
    binary, compressed or in UTF-16.

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
            head = file.peek()[:SNIFFED_BYTES]
            check_text(head, refuse)
            if _is_binary(head):
                raise refuse("a binary file, not text", "")
            yield from numbered_lines(file, limit, refuse)
        return
    if not hasattr(source, "readline"):
        raise TypeError(f"a path or an open file is needed, not {type(source).__name__}")
    number = 0
    most = limit + 3  # a line of `limit` characters with its end, and one more
    while raw := source.readline(most):
        number += 1
        if number == 1 and isinstance(raw, bytes):
            check_text(raw, refuse)
        line = decode(raw)
        if len(raw) == most and line[-1] != "\n":
            yield number, line[: limit + 1]
            rest = raw  # passed over after it was yielded: a caller that refuses such a line never waits for its end
            while rest and decode(rest)[-1] != "\n":
                rest = source.readline(most)
            continue
        line = line.rstrip("\r\n")
        if "\r" in line:  # line ends of the classic Mac OS, or a stray one
            for part in line.split("\r"):
                yield number, part
        else:
            yield number, line


def check_text(head: bytes, refuse: type[SelfmateError] = SelfmateError) -> None:
    r"""Raise `refuse` if the first bytes of a file are those of compressed files or of UTF-16.

    >>> check_text(b"[Event]")
    >>> check_text(b"\x1f\x8b\x08\x08")
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: compressed by gzip: unpack it first (gunzip)
    """
    for magic, remedy in NO_TEXT.items():
        if head.startswith(magic):
            raise refuse(remedy, clip(repr(head)))


def _is_binary(head: bytes) -> bool:
    r"""Return whether the first bytes of a file have many control characters; NULs may fill it up at the end.

    >>> _is_binary(b"1. e4 e5 {caf\xe9\x00} 2. Nf3 Nc6 3. Bb5 a6"), _is_binary(b"\x7fELF\x02\x01\x01")
    (False, True)
    """
    head = head.rstrip(b"\0")
    return len(head) - len(head.translate(None, CONTROL)) > MOST_CONTROL * len(head)


def decode(raw: str | bytes) -> str:
    r"""Return bytes decoded as UTF-8 or, where they are not UTF-8, as Latin-1.

    >>> decode(b"\xc3\xa9"), decode(b"\xe9"), decode(b"\xef\xbb\xbf\xe9")
    ('é', 'é', '\ufeffé')
    """
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "\ufeff" * raw.startswith(codecs.BOM_UTF8) + raw.removeprefix(codecs.BOM_UTF8).decode("latin-1")
