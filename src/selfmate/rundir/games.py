"""Shards: files of compressed game records."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Final

import zstandard

from selfmate.rundir.format import RunError

__all__ = ["pack_games", "unpack_games"]


MAX_SHARD: Final = 1 << 30
"""Most bytes of a shard before compression."""

MAGIC: Final = b"selfmate games\x00\x01"
HEADER: Final = struct.Struct("<16sQII")  # magic, bytes before compression, games, crc32 of the compressed rest
RECORD: Final = struct.Struct("<II")  # length, crc32


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
    packed = zstandard.ZstdCompressor(level=9).compress(body)
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
