"""A net as one ONNX file, which is evaluated without PyTorch.

The graph is written node by node from the description of the layers: milliseconds, no tracing, and the same net gives
the same bytes. Its inputs and outputs are those of an evaluator: `bits` int64[B, P], `scalars` float32[B, S], `moves`
uint16[B, M] and `counts` uint16[B] in; `priors` float32[B, M], `wdl` float32[B, 3] and `plies` float32[B] out.

A file ends with the sha256 of everything before it, as an entry of ONNX's own metadata: any program can read the file,
and damage is detected.

>>> from selfmate.nn.config import GARDNER, NetConfig
>>> from selfmate.nn.net import Net
>>> net = Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8))
>>> data = to_onnx(net)
>>> len(verify_checksum(data)) == len(data)
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from selfmate.nn.checkpoint import (
    FORMAT,
    JSON_NAME,
    Card,
    WeightsError,
    describe,
    read_card,
    tensors_of,
)
from selfmate.nn.config import NetConfig
from selfmate.nn.onnx_graph import evaluator_model
from selfmate.nn.tensor_file import MAX_FILE_BYTES, open_regular
from selfmate.util.text import other_format

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

    from selfmate.nn.net import Net

__all__ = [
    "CARD_KEY",
    "EXACT",
    "INT8_KEY",
    "INT8_NAME",
    "ONNX_NAME",
    "OnnxNet",
    "export_onnx",
    "metadata",
    "onnx_from_tensors",
    "read_card_of",
    "read_net",
    "read_onnx",
    "to_onnx",
    "verify_checksum",
    "with_checksum",
]


ONNX_NAME: Final = "net.onnx"
"""Name of the file in a net's folder."""
INT8_NAME: Final = "net.int8.onnx"
"""Name of the file of the same net in eight bits (see `selfmate.nn.quantize`)."""

CARD_KEY: Final = "selfmate"
"""Key of the metadata under which the file holds the net's card, as JSON."""
INT8_KEY: Final = "selfmate.int8"
"""Key of the metadata under which an int8 file holds how it was made."""
EXACT: Final = "_exact"
"""Suffix of the exact value beside one that an int8 file rounds only for ONNX Runtime."""

METADATA_FIELD: Final = 14
"""Number of the field of a model (protocol buffer) that holds an entry of the metadata."""
CHECKSUM_ENTRY: Final = b"\x72\x4a\x0a\x06sha256\x12\x40"  # the last entry of the metadata: key "sha256", 64 characters
CHECKSUM_BYTES: Final = len(CHECKSUM_ENTRY) + 64
EXTERNAL_DATA: Final = b"\x0a\x08location"  # in a tensor whose numbers are in another file


# -- files ----------------------------------------------------------------------------------------


def export_onnx(net: Net, path: str | Path, card: Card | None = None) -> Card:
    """Write a net to an ONNX file; `card` is the net's, where it was saved before."""
    from selfmate.util.files import write_file

    card = describe(net) if card is None else card
    write_file(Path(path), to_onnx(net, card))
    return card


def to_onnx(net: Net, card: Card | None = None) -> bytes:
    """Return the bytes of the ONNX file of a net; `card` is the net's, where it was saved before."""
    return onnx_from_tensors(net.config, tensors_of(net), describe(net) if card is None else card)


def onnx_from_tensors(config: NetConfig, tensors: Mapping[str, NDArray[Any]], card: Card) -> bytes:
    """Return the bytes of the ONNX file of a net, from its tensors on disk; needs no PyTorch."""
    import onnx

    model = evaluator_model(config, tensors)
    onnx.helper.set_model_props(model, {CARD_KEY: msgspec.json.encode(card).decode()})
    onnx.checker.check_model(model, full_check=True)
    return with_checksum(model)


def read_onnx(path: str | Path) -> bytes:
    """Return the bytes of a file that `export_onnx` wrote; raise `WeightsError` if it is damaged."""
    path = Path(path)
    with open_regular(path, MAX_FILE_BYTES) as file:
        data = file.read()
    try:
        return verify_checksum(data)
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}", str(path)) from None


def verify_checksum(data: bytes) -> bytes:
    """Return the bytes of an ONNX file if it ends with its sha256 and contains all its numbers; else raise.

    >>> verify_checksum(b"something else")
    Traceback (most recent call last):
    ...
    selfmate.nn.tensor_file.WeightsError: not an ONNX file of a Selfmate net, or truncated
    """
    content, checksum = data[:-CHECKSUM_BYTES], data[-CHECKSUM_BYTES:]
    if len(checksum) != CHECKSUM_BYTES or not checksum.startswith(CHECKSUM_ENTRY):
        raise WeightsError("not an ONNX file of a Selfmate net, or truncated")
    if hashlib.sha256(content).hexdigest().encode() != checksum[len(CHECKSUM_ENTRY) :]:
        raise WeightsError("checksum mismatch: the file was changed or is damaged")
    if EXTERNAL_DATA in content:
        raise WeightsError("keeps its numbers in another file")
    return data


def with_checksum(model: onnx.ModelProto) -> bytes:
    """Return the bytes of a model, followed by their sha256."""
    content: bytes = model.SerializeToString(deterministic=True)
    # Concatenated protocol buffers are read as one: this becomes the last entry of the metadata.
    return content + CHECKSUM_ENTRY + hashlib.sha256(content).hexdigest().encode()


class OnnxNet(NamedTuple):
    """The bytes of an ONNX file of ours, with its checksum verified."""

    data: bytes
    where: str
    """Its path, for error messages."""
    is_int8: bool


def read_net(source: str | Path | bytes, *, int8: bool = False) -> OnnxNet:
    """Read the ONNX file of a net: a path, a net's folder (`int8` chooses between its files), or the bytes of one."""
    if isinstance(source, bytes):
        where, data = "the ONNX net", verify_checksum(source)
    else:
        path, where = Path(source), str(source)
        name = INT8_NAME if int8 else ONNX_NAME
        data = read_onnx(path / name if path.is_dir() else path)
        if path.is_dir() and (path / JSON_NAME).exists() and read_card(path).net_id != _id_of(data):
            raise WeightsError(f"{where}: {name} is not the net that {JSON_NAME} names", where)
    return OnnxNet(data, where, INT8_KEY in metadata(data))


def _id_of(data: bytes) -> str | None:
    """Return the net id in the metadata, or None if it cannot be read; opening the file then reports why."""
    try:
        return read_card_of(data, "").net_id
    except WeightsError:
        return None


def read_card_of(data: bytes, where: str) -> Card:
    """Read the net's card in the metadata of an ONNX file."""
    try:
        card = msgspec.json.decode(metadata(data).get(CARD_KEY, ""), type=Card)
    except msgspec.MsgspecError as error:
        raise WeightsError(f"{where}: no valid description of the net in its metadata: {error}", where) from None
    if card.format != FORMAT:
        older = "write it again with selfmate export"
        raise WeightsError(f"{where}: {other_format(card.format, FORMAT, older)}", where)
    return card


def metadata(data: bytes) -> dict[str, str]:
    """Return the metadata of an ONNX file, without any package for ONNX; empty for any other data.

    >>> metadata(b"something else")
    {}
    """
    found: dict[str, str] = {}
    for field, entry in _fields(memoryview(data)):
        if field == METADATA_FIELD:
            parts = {number: bytes(text).decode("utf-8", "replace") for number, text in _fields(entry)}
            found[parts.get(1, "")] = parts.get(2, "")
    return found


def _fields(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield number and content of the fields of a protocol buffer that have a length; stop at invalid data."""

    def number(place: int) -> tuple[int, int]:
        value = shift = 0
        while place < len(data) and shift < 64:
            value |= (data[place] & 0x7F) << shift
            place += 1
            if data[place - 1] < 0x80:
                return value, place
            shift += 7
        return -1, len(data)

    place = 0
    while place < len(data):
        tag, place = number(place)
        kind = tag & 7 if tag >= 0 else 7
        if kind == 0:
            _, place = number(place)
        elif kind == 1 or kind == 5:
            place += 8 if kind == 1 else 4
        elif kind == 2:
            length, place = number(place)
            if length < 0 or place + length > len(data):
                return
            yield tag >> 3, data[place : place + length]
            place += length
        else:
            return
