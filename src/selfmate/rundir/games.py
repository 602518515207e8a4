"""Shards: files of compressed game records."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Final, TypeVar

import zstandard

from selfmate._core import GameRecord
from selfmate.rundir.format import RunError
from selfmate.util.cpu import cores

__all__ = ["decode_games", "encode_games", "pack_games", "shard_rows", "unpack_games"]

Item = TypeVar("Item")
Result = TypeVar("Result")

GAMES_PER_TASK: Final = 256
"""Games that a thread encodes or decodes at a time; about ten milliseconds, beside which its start is short."""
COMPRESSION: Final = 3
"""Level of zstd: the files are a tenth larger than with level 9, in a small part of its time."""

MAX_SHARD: Final = 1 << 30
"""Most bytes of a shard before compression."""

MAGIC: Final = b"selfmate games\x00\x01"
HEADER: Final = struct.Struct("<16sQII")  # magic, bytes before compression, games, crc32 of the compressed rest
RECORD: Final = struct.Struct("<II")  # length, crc32


def encode_games(records: Sequence[GameRecord]) -> list[bytes]:
    """Return the bytes of game records, on all cores."""
    return _on_all_cores(GameRecord.to_bytes, records)


def shard_rows(records: Sequence[GameRecord]) -> list[tuple[int, int, bytes]]:
    """Return games as `Run.write_shard` takes them: id, number of trained positions, and the encoded record."""
    encoded = zip(records, encode_games(records), strict=True)
    return [(record.game_id, record.positions, data) for record, data in encoded]


def decode_games(data: Sequence[bytes]) -> list[GameRecord]:
    """Return the game records of bytes, on all cores; raise `RecordError` for anything else."""
    return _on_all_cores(GameRecord.from_bytes, data)


def _on_all_cores(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results of a function that releases the GIL, in the order of the items."""
    parts = [items[start : start + GAMES_PER_TASK] for start in range(0, len(items), GAMES_PER_TASK)]
    if len(parts) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(cores()) as pool:
        return list(chain.from_iterable(pool.map(lambda part: [function(item) for item in part], parts)))


def pack_games(records: Sequence[bytes]) -> bytes:
    """Return game records (`GameRecord.to_bytes`) as one compressed file.

    Before compression each record is preceded by its length and crc32.

    >>> unpack_games(pack_games([b"one", b"two"]))
    [b'one', b'two']
    >>> unpack_games(pack_games([b"one"])[:-1], "games/00000")
    Traceback (most recent call last):
    ...
    selfmate.rundir.format.RunError: games/00000: damaged: its checksum is wrong
    """
    body = b"".join(RECORD.pack(len(record), zlib.crc32(record)) + record for record in records)
    packed = zstandard.ZstdCompressor(level=COMPRESSION).compress(body)
    return HEADER.pack(MAGIC, len(body), len(records), zlib.crc32(packed)) + packed


def unpack_games(data: bytes, name: str = "games") -> list[bytes]:
    """Return the records that `pack_games` wrote; raise `RunError` for anything else."""

    def damaged(reason: str) -> RunError:
        return RunError(f"{name}: damaged: {reason}", name)

    if len(data) < HEADER.size:
        raise damaged("too short for a file of games")
    magic, size, count, checksum = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise RunError(f"{name}: not a file of games, or one of another version", name)
    packed = memoryview(data)[HEADER.size :]
    if zlib.crc32(packed) != checksum:
        raise damaged("its checksum is wrong")
    try:
        # Check the size before memory is allocated for it.
        if size > MAX_SHARD or zstandard.get_frame_parameters(packed).content_size != size:
            raise damaged("its size is wrong")
        body = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise damaged("cannot be decompressed") from error
    records: list[bytes] = []
    offset = 0
    while offset < len(body):
        if offset + RECORD.size > len(body):
            raise damaged(f"game {len(records)} is cut off")
        length, checksum = RECORD.unpack_from(body, offset)
        offset += RECORD.size
        record = body[offset : offset + length]
        offset += length
        if len(record) != length or zlib.crc32(record) != checksum:
            raise damaged(f"game {len(records)} has a wrong checksum")
        records.append(record)
    if len(records) != count:
        raise damaged(f"{len(records)} games instead of {count}")
    return records
