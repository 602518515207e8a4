"""Nets on disk: a folder with `net.safetensors` (the tensors) and `net.json` (what they are). No pickle anywhere.

The JSON is written last and names the tensors by their hash, so that a net is there whole or not at all. A file
from elsewhere is believed nothing: everything that can be wrong with it is found before memory is taken for it, and
said in one line.

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
from selfmate.util.text import other_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfmate.nn.net import Net

__all__ = [
    "FORMAT",
    "Card",
    "Spec",
    "WeightsError",
    "describe",
    "load",
    "net_id",
    "open_regular",
    "pack_tensors",
    "read_card",
    "read_net_tensors",
    "read_tensors",
    "save",
    "tensors_of",
]


FORMAT: Final = 1
"""Version of the format of a net on disk. Another one is refused."""


JSON_NAME: Final = "net.json"


TENSORS_NAME: Final = "net.safetensors"


MAX_FILE_BYTES: Final = 1 << 30


MAX_HEADER_BYTES: Final = 1 << 20


MAX_JSON_BYTES: Final = 1 << 20


DTYPES: Final[dict[str, str]] = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "|u1", "U64": "<u8"}
"""What a tensor may hold: safetensors' name, and numpy's."""


Spec = tuple[str, tuple[int, ...]]
"""What a tensor must be: safetensors' name of its type, and its shape."""


NetId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class WeightsError(SelfmateError):
    """A net on disk that is wrong, truncated, damaged or hostile."""


class Card(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What `net.json` says of a net."""

    format: int
    net_id: NetId
    """sha256 over the config and the file of tensors: equal ids, equal nets."""
    config: dict[str, Any]
    """The fields of `NetConfig`."""
    step: Annotated[int, Meta(ge=0, le=1 << 60)] = 0
    """Steps of training behind it."""
    parents: Annotated[tuple[NetId, ...], Meta(max_length=64)] = ()
    """Ids of the nets that it came from."""
    created_by: Annotated[str, Meta(max_length=200)] = ""

    @property
    def variant(self) -> str:
        """The variant that the net plays."""
        return str(self.config.get("variant", ""))


# -- writing --------------------------------------------------------------------------------------


def save(net: Net, folder: str | Path, *, step: int = 0, parents: tuple[str, ...] = (), created_by: str = "") -> Card:
    """Write a net into a folder, which is made where it is missing. A net that is there already stays: an error."""
    from selfmate.util.files import write_file

    folder = Path(folder)
    if (folder / JSON_NAME).exists():
        raise WeightsError(f"{_shown(folder)} holds a net already", str(folder))
    card, tensors = _describe(net, step=step, parents=parents, created_by=created_by)
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / TENSORS_NAME, tensors)
    write_file(folder / JSON_NAME, msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n")
    return card


def describe(net: Net, *, step: int = 0, parents: tuple[str, ...] = (), created_by: str = "") -> Card:
    """Make the card of a net, as `save` does."""
    card, _ = _describe(net, step=step, parents=parents, created_by=created_by)
    return card


def net_id(net: Net) -> str:
    """Give the id that the net has on disk: equal weights in an equal net, equal ids."""
    return describe(net).net_id


def _describe(net: Net, *, step: int, parents: tuple[str, ...], created_by: str) -> tuple[Card, bytes]:
    tensors = pack_tensors(tensors_of(net))
    config = net.config.to_dict()
    identity = _identify(net.config, tensors)
    card = Card(format=FORMAT, net_id=identity, config=config, step=step, parents=parents, created_by=created_by)
    return card, tensors


def tensors_of(net: Net) -> dict[str, NDArray[Any]]:
    """Give a net's tensors by name, in main memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in net.state_dict().items()}


def pack_tensors(tensors: Mapping[str, NDArray[Any]]) -> bytes:
    """Write tensors in the format safetensors: the same tensors always give the same bytes.

    >>> len(pack_tensors({"a": np.zeros(3, np.float32)}))
    76
    """
    from safetensors.numpy import save as serialise

    return serialise({name: np.asarray(tensor, order="C") for name, tensor in tensors.items()})


def _identify(config: NetConfig, tensors: bytes | bytearray) -> str:
    """Hash a config and a file of tensors."""
    digest = hashlib.sha256(json.dumps(config.to_dict(), sort_keys=True).encode() + b"\n")
    digest.update(tensors)
    return digest.hexdigest()


# -- reading --------------------------------------------------------------------------------------


def load(folder: str | Path) -> tuple[Net, Card]:
    """Read the net in a folder, on the CPU and in evaluation mode, with its card."""
    import torch

    from selfmate.nn.net import Net

    config, tensors, card = read_net_tensors(folder)
    net = Net(config).eval()
    for name, tensor in net.state_dict().items():
        tensor.copy_(torch.from_numpy(tensors[name]))
    boards = torch.tensor([[0], [-1]]).expand(2, config.bitboards)
    with torch.inference_mode():
        outputs = net(boards, torch.ones(2, config.scalars))
    if not all(bool(output.isfinite().all()) for output in outputs):
        _refuse(Path(folder) / TENSORS_NAME, "the net's answers are not finite")
    return net, card


def read_net_tensors(folder: str | Path) -> tuple[NetConfig, dict[str, NDArray[Any]], Card]:
    """Read the tensors of the net in a folder; needs no torch."""
    # 1. What it claims to be.
    folder = Path(folder)
    card = read_card(folder)
    path = folder / TENSORS_NAME
    try:
        config = NetConfig.from_dict(card.config)
    except NetError as error:
        _refuse(folder / JSON_NAME, str(error))
    # 2. Tensors of just the names, types and shapes of that claim.
    expected: dict[str, Spec] = {name: ("F32", shape) for name, shape in tensor_shapes(config).items()}
    tensors, data = _read(path, expected)
    # 3. The very ones.
    if _identify(config, data) != card.net_id:
        _refuse(path, f"damaged, or not the net that {JSON_NAME} names: another sha256")
    _check_numbers(path, tensors)
    return config, tensors, card


def read_card(folder: str | Path) -> Card:
    """Read and check a net's JSON alone; needs no torch."""
    path = Path(folder) / JSON_NAME
    with open_regular(path, MAX_JSON_BYTES) as file:
        text = file.read(MAX_JSON_BYTES + 1)
    try:
        card = msgspec.json.decode(text, type=Card)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _refuse(path, f"not the JSON of a net: {clip(str(error))}")
    if card.format != FORMAT:
        _refuse(path, other_format(card.format, FORMAT, "use it with the version that wrote it, or train it anew"))
    return card


def read_tensors(path: str | Path, expected: Mapping[str, Spec]) -> dict[str, NDArray[Any]]:
    """Read a file of tensors, which must have just the `expected` names, types and shapes and finite numbers."""
    tensors, _ = _read(Path(path), expected)
    _check_numbers(Path(path), tensors)
    return tensors


def open_regular(path: Path, most_bytes: int) -> BinaryIO:
    """Open a file for reading that is one, not a link, a pipe or a device, and not larger than allowed."""
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


def _read(path: Path, expected: Mapping[str, Spec]) -> tuple[dict[str, NDArray[Any]], bytearray]:
    """Read tensors as views into the file's bytes, and those bytes; the bytes are not read before all else is right."""
    with open_regular(path, MAX_FILE_BYTES) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > MAX_HEADER_BYTES:
            _refuse(path, f"not a file of tensors, or a header of more than {MAX_HEADER_BYTES} bytes")
        if length > size - 8:
            _refuse(path, "truncated in its header")
        places = _check_header(path, file.read(length), expected)
        content = sum(end - begin for begin, end in places.values())
        if size - 8 - length != content:
            _refuse(path, f"{size - 8 - length} bytes of tensors where there should be {content}")
        data = bytearray(size)
        file.seek(0)
        if file.readinto(data) != size:  # type: ignore[attr-defined]  # a BufferedReader
            _refuse(path, "changed while it was read")
    tensors = {}
    for name, (begin, _) in places.items():
        kind, shape = expected[name]
        count = int(np.prod(shape, dtype=np.int64))
        tensors[name] = np.frombuffer(data, DTYPES[kind], count, offset=8 + length + begin).reshape(shape)
    return tensors, data


def _check_header(path: Path, text: bytes, expected: Mapping[str, Spec]) -> dict[str, tuple[int, int]]:
    """Check that a header lists just the expected tensors, one after the other; give where each begins and ends."""
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        _refuse(path, f"its header cannot be read: {clip(str(error))}")
    if not isinstance(header, dict):
        _refuse(path, "its header is not a table")
    if missing := sorted(expected.keys() - header.keys()):
        _refuse(path, f"{len(missing)} tensors are missing, among them {clip(missing[0])!r}", missing[0])
    if unknown := sorted(header.keys() - expected.keys()):
        _refuse(path, f"{len(unknown)} tensors do not belong to it, among them {clip(unknown[0])!r}", unknown[0])
    places: dict[str, tuple[int, int]] = {}
    for name, (kind, shape) in expected.items():
        entry = header[name]
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            _refuse(path, f"{name} is not described as a tensor", name)
        if entry["dtype"] != kind:
            _refuse(path, f"{name} is of type {clip(repr(entry['dtype']))}, not {kind}", name)
        if not _whole(entry["shape"]) or tuple(entry["shape"]) != shape:
            _refuse(path, f"{name} is of shape {clip(repr(entry['shape']))}, not {list(shape)}", name)
        offsets = entry["data_offsets"]
        wanted = int(np.prod(shape, dtype=np.int64)) * np.dtype(DTYPES[kind]).itemsize
        if not _whole(offsets) or len(offsets) != 2 or offsets[1] - offsets[0] != wanted:
            _refuse(path, f"{name} does not have its {wanted} bytes", name)
        places[name] = (offsets[0], offsets[1])
    position = 0
    for name, (begin, end) in sorted(places.items(), key=lambda item: item[1]):
        if begin != position:
            _refuse(path, f"{name} overlaps another tensor or leaves a gap", name)
        position = end
    return places


def _check_numbers(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Refuse numbers with which no net can count."""
    for name, tensor in tensors.items():
        if tensor.dtype.kind == "f" and not np.isfinite(tensor).all():
            _refuse(path, f"{name} has numbers that are not finite", name)
        if name.endswith("running_var") and tensor.size and tensor.min() < 0:
            _refuse(path, f"{name} is a variance, and negative", name)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name stands twice in it")
    return table


def _whole(numbers: object) -> bool:
    """Whether it is a list of whole numbers that a file of tensors may have."""
    return isinstance(numbers, list) and all(type(number) is int and 0 <= number <= 1 << 40 for number in numbers)


def _shown(path: Path) -> str:
    """The path as it is, unless it would break the line."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def _refuse(path: Path, reason: str, part: str = "") -> NoReturn:
    reason = " ".join(reason.split())
    raise WeightsError(f"{_shown(path)}: {reason}", part or str(path))
