"""Nets on disk: a folder with `net.safetensors` (the tensors) and `net.json` (their description). No pickle anywhere.

The JSON is written last and holds the hash of the tensors, so that an interrupted save leaves no net. Files are not
trusted: sizes are checked before memory is allocated, then names, types, shapes, hash and numbers. Errors are
`WeightsError` with one line of text.

>>> import tempfile
>>> from selfmate.nn.config import GARDNER, NetConfig
>>> from selfmate.nn.net import Net
>>> net = Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8))
>>> with tempfile.TemporaryDirectory() as folder:
...     card = save(net, folder, step=100)
...     again, card_read = load(folder)
>>> card == card_read, card.net_id == net_id(net) == net_id(again)
(True, True)
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, NoReturn

import msgspec
import numpy as np
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError, clip
from selfmate.nn.architecture import tensor_shapes
from selfmate.nn.config import NetConfig, NetError
from selfmate.nn.encodings import encoding_of
from selfmate.util.text import many, other_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfmate.nn.net import Net

__all__ = [
    "FORMAT",
    "Card",
    "TensorSpec",
    "WeightsError",
    "compact_tensors",
    "describe",
    "load",
    "net_id",
    "open_regular",
    "pack_tensors",
    "read_card",
    "read_net_config",
    "read_net_tensors",
    "read_tensors",
    "save",
    "tensors_of",
    "unpack_tensors",
]


FORMAT: Final = 1
"""Version of the format of a net on disk. Any other one is refused."""
JSON_NAME: Final = "net.json"
TENSORS_NAME: Final = "net.safetensors"

MAX_FILE_BYTES: Final = 1 << 30
MAX_HEADER_BYTES: Final = 1 << 20
MAX_JSON_BYTES: Final = 1 << 20

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
NetId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class WeightsError(SelfmateError):
    """A net on disk that is missing, truncated, damaged or hostile."""


class Card(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of `net.json`."""

    format: int
    net_id: NetId
    """sha256 over the config and the file of tensors in F32: equal ids mean equal nets, also where one is compact."""
    config: dict[str, Any]
    """The fields of `NetConfig`."""
    step: Annotated[int, Meta(ge=0, le=1 << 60)] = 0
    """Training steps so far."""
    parents: Annotated[tuple[NetId, ...], Meta(max_length=64)] = ()
    """Ids of the nets it was trained from."""
    created_by: Annotated[str, Meta(max_length=200)] = ""

    @property
    def variant(self) -> str:
        """The variant that the net plays."""
        return str(self.config.get("variant", ""))


# -- writing --------------------------------------------------------------------------------------


def save(
    net: Net,
    folder: str | Path,
    *,
    step: int = 0,
    parents: tuple[str, ...] = (),
    created_by: str = "",
    compact: bool = False,
) -> Card:
    """Write a net into a folder, which is created if missing; raise `WeightsError` if it already holds a net.

    With `compact`, tensors whose numbers bfloat16 holds exactly are written in it: the same net, about half the size.
    """
    from selfmate.util.files import write_file

    folder = Path(folder)
    if (folder / JSON_NAME).exists():
        raise WeightsError(f"{_shown(folder)} already holds a net", str(folder))
    card, tensors = _describe(net, step=step, parents=parents, created_by=created_by)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / TENSORS_NAME, compact_tensors(tensors_of(net)) if compact else tensors)
    write_file(folder / JSON_NAME, msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n")
    return card


def describe(net: Net, *, step: int = 0, parents: tuple[str, ...] = (), created_by: str = "") -> Card:
    """Return the card of a net, as `save` writes it."""
    card, _ = _describe(net, step=step, parents=parents, created_by=created_by)
    return card


def net_id(net: Net) -> str:
    """Return the id of the net on disk: equal config and equal weights have equal ids."""
    return describe(net).net_id


def _describe(net: Net, *, step: int, parents: tuple[str, ...], created_by: str) -> tuple[Card, bytes]:
    tensors = pack_tensors(tensors_of(net))
    config = net.config.to_dict()
    identity = _identify(net.config, tensors)
    card = Card(format=FORMAT, net_id=identity, config=config, step=step, parents=parents, created_by=created_by)
    return card, tensors


def tensors_of(net: Net) -> dict[str, NDArray[Any]]:
    """Return the tensors of a net by name, as NumPy arrays in main memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in net.state_dict().items()}


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


def _identify(config: NetConfig, tensors: bytes) -> str:
    """Return the sha256 over a config and a file of tensors."""
    digest = hashlib.sha256(json.dumps(config.to_dict(), sort_keys=True).encode() + b"\n")
    digest.update(tensors)
    return digest.hexdigest()


# -- reading --------------------------------------------------------------------------------------


def load(folder: str | Path) -> tuple[Net, Card]:
    """Return the net in a folder, on the CPU and in evaluation mode, and its card."""
    import torch

    from selfmate.nn.net import Net

    config, tensors, card = read_net_tensors(folder)
    net = Net(config).eval()
    for name, tensor in net.state_dict().items():
        tensor.copy_(torch.from_numpy(tensors[name]))
    boards = torch.tensor([[0], [-1]]).expand(2, config.bitboards)
    with torch.inference_mode():
        outputs = net(boards, torch.ones(2, config.scalars))
    if not all(bool(output.isfinite().all()) for output in outputs if output is not None):
        _refuse(Path(folder) / TENSORS_NAME, "the outputs of the net are not finite")
    return net, card


def read_net_tensors(folder: str | Path) -> tuple[NetConfig, dict[str, NDArray[Any]], Card]:
    """Return config, tensors and card of the net in a folder; needs no PyTorch."""
    # 1. The description.
    folder = Path(folder)
    card = read_card(folder)
    path = folder / TENSORS_NAME
    config = _config_of(folder, card)
    # 2. Tensors of exactly the names, types and shapes that it implies.
    expected: dict[str, TensorSpec] = {name: ("F32", shape) for name, shape in tensor_shapes(config).items()}
    tensors, data = _read(path, expected, bfloat16=True)
    # 3. The very tensors that it describes.
    if _identify(config, data) != card.net_id:
        _refuse(path, f"checksum mismatch: damaged, or not the net of {JSON_NAME}")
    _check_numbers(path, tensors)
    return config, tensors, card


def read_net_config(folder: str | Path) -> NetConfig:
    """Return the config of the net in a folder, checked; one that this version does not know raises `WeightsError`."""
    return _config_of(Path(folder), read_card(folder))


def _config_of(folder: Path, card: Card) -> NetConfig:
    try:
        config = NetConfig.from_dict(card.config)
        if not config.is_usual:
            encoding_of(config)  # its sizes are those of its encoder
    except NetError as error:
        _refuse(folder / JSON_NAME, str(error))
    return config


def read_card(folder: str | Path) -> Card:
    """Return the description of the net in a folder, checked; needs no PyTorch."""
    path = Path(folder) / JSON_NAME
    with open_regular(path, MAX_JSON_BYTES) as file:
        text = file.read(MAX_JSON_BYTES + 1)
    try:
        card = msgspec.json.decode(text, type=Card)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _refuse(path, f"not the JSON of a net: {clip(str(error))}")
    if card.format != FORMAT:
        _refuse(path, other_format(card.format, FORMAT, "use the version that wrote it, or train it again"))
    return card


def read_tensors(path: str | Path, expected: Mapping[str, TensorSpec]) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, which must have exactly the `expected` names, types and shapes, and be finite.

    Tensors that are expected in F32 may be in BF16.
    """
    tensors, _ = _read(Path(path), expected, bfloat16=True)
    _check_numbers(Path(path), tensors)
    return tensors


def open_regular(path: Path, most_bytes: int) -> BinaryIO:
    """Open a regular file (no link, pipe or device) of at most `most_bytes` for reading; else raise `WeightsError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        _refuse(path, getattr(error, "strerror", None) or str(error))
    file = os.fdopen(descriptor, "rb")
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        file.close()
        _refuse(path, "not a regular file")
    if facts.st_size > most_bytes:
        file.close()
        _refuse(path, f"larger than {most_bytes} bytes")
    return file


def _read(path: Path, expected: Mapping[str, TensorSpec], *, bfloat16: bool) -> tuple[dict[str, NDArray[Any]], bytes]:
    """Return the tensors of a file, and its bytes. A file that is larger than expected is refused before it is read.

    With `bfloat16`, tensors that are expected in F32 may be in BF16; then the bytes are those of the file in F32.
    """
    from safetensors import SafetensorError, deserialize

    # 1. The size, so that a hostile file cannot take memory.
    most = sum(_bytes_of(spec) for spec in expected.values())
    with open_regular(path, MAX_FILE_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        header = int.from_bytes(file.read(8), "little")
        if size < 8 or header > MAX_HEADER_BYTES:
            _refuse(path, f"not a safetensors file, or its header has more than {MAX_HEADER_BYTES} bytes")
        if header > size - 8:
            _refuse(path, "truncated in its header")
        if size - 8 - header > most:
            _refuse(path, f"has {size - 8 - header} bytes of tensors, expected {most}")
        file.seek(0)
        data = file.read(size)
    # 2. The format; offsets that overlap or leave a gap are errors of it.
    try:
        entries = dict(deserialize(data))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        _refuse(path, f"not a valid safetensors file: {clip(str(error).partition(': ')[2])}")
    # 3. Names, types and shapes.
    if missing := sorted(expected.keys() - entries.keys()):
        _refuse(path, f"{many(len(missing), 'tensor')} missing, among them {clip(missing[0])!r}", missing[0])
    if unknown := sorted(entries.keys() - expected.keys()):
        _refuse(path, f"{many(len(unknown), 'unknown tensor')}, among them {clip(unknown[0])!r}", unknown[0])
    tensors: dict[str, NDArray[Any]] = {}
    is_compact = False
    for name, (kind, shape) in expected.items():
        entry = entries[name]
        is_compact |= (is_half := bfloat16 and kind == "F32" and entry["dtype"] == "BF16")
        if entry["dtype"] != kind and not is_half:
            _refuse(path, f"{name} is of type {entry['dtype']}, expected {kind}", name)
        if tuple(entry["shape"]) != shape:
            _refuse(path, f"{name} has shape {clip(str(entry['shape']))}, expected {list(shape)}", name)
        tensors[name] = _numbers(entry)
    return tensors, pack_tensors(tensors) if is_compact else data


def _bytes_of(spec: TensorSpec) -> int:
    kind, shape = spec
    return math.prod(shape) * np.dtype(DTYPES[kind]).itemsize


def _check_numbers(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Refuse NaN, infinity and negative variances."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            _refuse(path, f"{name} has numbers that are not finite", name)
        if name.endswith("running_var") and tensor.size and tensor.min() < 0:
            _refuse(path, f"{name} is a variance and has negative numbers", name)


def _shown(path: Path) -> str:
    """Return the path, quoted if it has a line break or another unprintable character."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _refuse(path: Path, reason: str, part: str = "") -> NoReturn:
    reason = " ".join(reason.split())
    raise WeightsError(f"{_shown(path)}: {reason}", part or str(path))
