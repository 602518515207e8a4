"""Tensors on disk, in the safetensors format. No pickle anywhere.

Files are not trusted: sizes are checked before memory is allocated, then names, types, shapes and numbers. Errors are
`WeightsError` with one line of text.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

import numpy as np

from selfmate.errors import SelfmateError, clip
from selfmate.util.text import many

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DTYPES",
    "MAX_FILE_BYTES",
    "TensorSpec",
    "WeightsError",
    "check_numbers",
    "compact_tensors",
    "open_regular",
    "pack_tensors",
    "read_tensors",
    "read_tensors_and_bytes",
    "refuse",
    "shown",
    "unpack_tensors",
]

MAX_FILE_BYTES: Final = 1 << 30
MAX_HEADER_BYTES: Final = 1 << 20

DTYPES: Final[dict[str, str]] = {
    "F32": "<f4",
    "F64": "<f8",
    "I16": "<i2",
    "I32": "<i4",
    "I64": "<i8",
    "U8": "|u1",
    "U64": "<u8",
}
"""The types of tensors: safetensors' name and NumPy's."""
TensorSpec = tuple[str, tuple[int, ...]]
"""The expected type (safetensors' name) and shape of a tensor."""


class WeightsError(SelfmateError):
    """A net on disk that is missing, truncated, damaged or hostile."""


# -- writing --------------------------------------------------------------------------------------


def pack_tensors(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Return tensors in the safetensors format: the same tensors always give the same bytes.

    >>> len(pack_tensors({"a": np.zeros(3, np.float32)}))
    76
    """
    from safetensors.numpy import save as serialise

    return serialise({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()})


def compact_tensors(tensors: Mapping[str, NDArray[Any]], *, exact: bool = True) -> bytes:
    """Return tensors of float32 in the safetensors format, in bfloat16 where that is exact, else in F32.

    Without `exact` all of them are rounded to bfloat16, to nearest, ties to even.

    >>> third = {"a": np.full(2, 1 / 3, np.float32), "b": np.full(2, 0.5, np.float32)}
    >>> [float(unpack_tensors(compact_tensors(third, exact=each))["a"][0]) for each in (True, False)]
    [0.3333333432674408, 0.333984375]
    """
    rows: list[tuple[bool, str, tuple[int, ...], bytes]] = []
    for name, tensor in tensors.items():
        bits = np.ascontiguousarray(tensor, "<f4").view("<u4")
        half = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype("<u2")
        is_half = not exact or bool(((half.astype("<u4") << 16) == bits).all())
        rows.append((is_half, name, tensor.shape, (half if is_half else bits).tobytes()))
    rows.sort()  # those of four bytes first, so that all are aligned
    header: dict[str, Any] = {}
    end = 0
    for is_half, name, shape, data in rows:
        begin, end = end, end + len(data)
        header[name] = {"dtype": "BF16" if is_half else "F32", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(data for *_, data in rows)


def unpack_tensors(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file in the safetensors format; those in bfloat16 become float32.

    The bytes are trusted: a stamp has been compared, or they were written just now. `read_tensors` reads any others.
    """
    from safetensors import deserialize

    return {name: _numbers(entry) for name, entry in deserialize(data)}  # type: ignore[no-untyped-call]


def _numbers(entry: Mapping[str, Any]) -> NDArray[Any]:
    """Return the numbers of an entry of safetensors."""
    is_half = entry["dtype"] == "BF16"
    numbers = np.frombuffer(entry["data"], "<u2" if is_half else DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return (numbers.astype("<u4") << 16).view("<f4") if is_half else numbers


# -- reading --------------------------------------------------------------------------------------


def read_tensors(path: str | Path, expected: Mapping[str, TensorSpec]) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, which must have exactly the `expected` names, types and shapes, and be finite.

    Tensors that are expected in F32 may be in BF16.
    """
    tensors, _ = read_tensors_and_bytes(Path(path), expected)
    check_numbers(Path(path), tensors)
    return tensors


def open_regular(path: Path, most_bytes: int) -> BinaryIO:
    """Open a regular file (no link, pipe or device) of at most `most_bytes` for reading; else raise `WeightsError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        refuse(path, getattr(error, "strerror", None) or str(error))
    file = os.fdopen(descriptor, "rb")
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        file.close()
        refuse(path, "not a regular file")
    if facts.st_size > most_bytes:
        file.close()
        refuse(path, f"larger than {most_bytes} bytes")
    return file


def read_tensors_and_bytes(path: Path, expected: Mapping[str, TensorSpec]) -> tuple[dict[str, NDArray[Any]], bytes]:
    """Return the tensors of a file, and its bytes. A file that is larger than expected is refused before it is read.

    Tensors that are expected in F32 may be in BF16; then the bytes are those of the file in F32. The numbers are not
    checked.
    """
    from safetensors import SafetensorError, deserialize

    # 1. The size, so that a hostile file cannot take memory.
    most = sum(_bytes_of(spec) for spec in expected.values())
    with open_regular(path, MAX_FILE_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        header = int.from_bytes(file.read(8), "little")
        if size < 8 or header > MAX_HEADER_BYTES:
            refuse(path, f"not a safetensors file, or its header has more than {MAX_HEADER_BYTES} bytes")
        if header > size - 8:
            refuse(path, "truncated in its header")
        if size - 8 - header > most:
            refuse(path, f"has {size - 8 - header} bytes of tensors, expected {most}")
        file.seek(0)
        data = file.read(size)
    # 2. The format; offsets that overlap or leave a gap are errors of it.
    try:
        entries = dict(deserialize(data))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        refuse(path, f"not a valid safetensors file: {clip(str(error).partition(': ')[2])}")
    # 3. Names, types and shapes.
    if missing := sorted(expected.keys() - entries.keys()):
        refuse(path, f"{many(len(missing), 'tensor')} missing, among them {clip(missing[0])!r}", missing[0])
    if unknown := sorted(entries.keys() - expected.keys()):
        refuse(path, f"{many(len(unknown), 'unknown tensor')}, among them {clip(unknown[0])!r}", unknown[0])
    tensors: dict[str, NDArray[Any]] = {}
    is_compact = False
    for name, (kind, shape) in expected.items():
        entry = entries[name]
        is_compact |= (is_half := kind == "F32" and entry["dtype"] == "BF16")
        if entry["dtype"] != kind and not is_half:
            refuse(path, f"{name} is of type {entry['dtype']}, expected {kind}", name)
        if tuple(entry["shape"]) != shape:
            refuse(path, f"{name} has shape {clip(str(entry['shape']))}, expected {list(shape)}", name)
        tensors[name] = _numbers(entry)
    return tensors, pack_tensors(tensors) if is_compact else data


def _bytes_of(spec: TensorSpec) -> int:
    kind, shape = spec
    return math.prod(shape) * np.dtype(DTYPES[kind]).itemsize


def check_numbers(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Refuse NaN, infinity and negative variances."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            refuse(path, f"{name} has numbers that are not finite", name)
        if name.endswith("running_var") and tensor.size and tensor.min() < 0:
            refuse(path, f"{name} is a variance and has negative numbers", name)


def shown(path: Path) -> str:
    """Return the path, quoted if it has a line break or another unprintable character."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def refuse(path: Path, reason: str, part: str = "") -> NoReturn:
    reason = " ".join(reason.split())
    raise WeightsError(f"{shown(path)}: {reason}", part or str(path))
