"""What a driver and a worker of self-play send each other: bytes in MessagePack, checked when they are read.

Games travel as the bytes of a shard (`selfmate.rundir.games`), nets as the files of their folder. No object of ours is
pickled: a worker of another version is refused by name, and damaged bytes are refused like a damaged file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.rundir.format import FileName

__all__ = [
    "ClusterError",
    "Count",
    "Orders",
    "Report",
    "Setup",
    "one_line",
    "pack_net",
    "read_message",
    "read_orders",
    "read_report",
    "unpack_net",
]

MAX_MESSAGE: Final = 1 << 30
"""Longest message that is read, in bytes."""

MAX_LINE: Final = 200

T = TypeVar("T", bound=Struct)
Count: TypeAlias = Annotated[int, Meta(ge=0)]


class ClusterError(SelfmateError):
    """A cluster cannot be used as asked, or what it sends cannot be used; the line says what to do."""


def one_line(text: str) -> str:
    """Return a text of another program in one line of at most 200 characters.

    >>> one_line("lost:  the\\n  node"), len(one_line("word " * 100))
    ('lost: the node', 200)
    """
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


class Setup(Struct, frozen=True, kw_only=True):
    """What a worker plays for as long as it lives."""

    recipe: str  # TOML with every key, as in the run directory
    seed: int  # of self-play
    starts: list[str]
    device: str
    continuous: bool
    lanes: Annotated[int, Meta(ge=1)]
    pools: Annotated[int, Meta(ge=1)] = 1  # workers that share the memory of the machine

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)


class Orders(Struct, frozen=True, kw_only=True):
    """What a worker is to do next; games that it has already are not begun again."""

    cycle: Count
    evaluator: str  # of the core; empty: the net
    net: str  # sha256 of its files; empty where the core's evaluator plays
    games: list[int]  # a lease: ids, rising
    begun: bytes = b""  # a shard: those of them that have moves already
    seconds: float  # in which the report is due
    rest: bool = False  # stop, and return the games in flight

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)


class Report(Struct, frozen=True, kw_only=True):
    """What a worker has done since its last report."""

    net: str  # as in the orders; that of all games of the report, unless self-play is continuous
    games: bytes  # a shard of finished games, empty for none
    flight: bytes  # a shard of unfinished games after an order to rest, empty for none
    slots: Count  # games at once
    unfinished: Count  # games that it has
    evaluations: Count  # since the last report

    def to_bytes(self) -> bytes:
        """Return the message."""
        return msgspec.msgpack.encode(self)


def read_orders(data: bytes) -> Orders:
    """Return the orders of a message."""
    return msgspec.msgpack.decode(data, type=Orders)


def read_report(data: object) -> Report:
    """Return the report of a message; raise `ClusterError` for anything else.

    >>> read_report(b"nonsense")
    Traceback (most recent call last):
    ...
    selfmate.cluster.messages.ClusterError: not a report: Expected `object`, got `int`
    """
    return read_message(data, Report, "a report")


def read_message(data: object, kind: type[T], what: str) -> T:
    """Return the message of a worker, which may be anything; raise `ClusterError` if it is not of this kind."""
    if not isinstance(data, bytes) or len(data) > MAX_MESSAGE:
        raise ClusterError(f"not {what}: not bytes, or too many of them")
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClusterError(f"not {what}: {one_line(str(error))}") from None


def pack_net(folder: Path) -> tuple[str, bytes]:
    """Return the files of a net's folder as one block of bytes, after their sha256.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "net.json").write_text("{}")
    ...     name, data = pack_net(Path(folder))
    >>> name[:8], len(data)
    ('6782cc3c', 14)
    """
    files = {file.name: file.read_bytes() for file in sorted(folder.iterdir())}
    data = msgspec.msgpack.encode(files)
    return hashlib.sha256(data).hexdigest(), data


def unpack_net(name: str, data: bytes | memoryview, folder: Path) -> None:
    """Write the files of `pack_net` into a folder; raise `ClusterError` if their sha256 is not `name`."""
    found = hashlib.sha256(data).hexdigest()
    if found != name:
        raise ClusterError(f"a net arrived damaged: its sha256 is {found[:12]}, not {name[:12]}", name)
    for file, content in msgspec.msgpack.decode(data, type=dict[FileName, bytes]).items():
        (folder / file).write_bytes(content)
