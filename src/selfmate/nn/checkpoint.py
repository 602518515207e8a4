"""Nets on disk: a folder with `net.safetensors` (the tensors) and `net.json` (their description). No pickle anywhere.

The JSON is written last and holds the hash of the tensors, so that an interrupted save leaves no net. Files are not
trusted (`nn/tensor_file.py`). Errors are `WeightsError` with one line of text.

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
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import clip
from selfmate.nn.architecture import tensor_shapes
from selfmate.nn.config import NetConfig, NetError
from selfmate.nn.encodings import encoding_of
from selfmate.nn.tensor_file import (
    TensorSpec,
    WeightsError,
    check_numbers,
    compact_tensors,
    open_regular,
    pack_tensors,
    read_tensors_and_bytes,
    refuse,
    shown,
)
from selfmate.util.text import other_format

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfmate.nn.net import Net

__all__ = [
    "FORMAT",
    "Card",
    "NetTensors",
    "WeightsError",
    "describe",
    "load",
    "net_from_tensors",
    "net_id",
    "net_tensors",
    "read_card",
    "read_net_config",
    "read_net_tensors",
    "save",
    "tensors_of",
    "with_card",
]


FORMAT: Final = 1
"""Version of the format of a net on disk. Any other one is refused."""
JSON_NAME: Final = "net.json"
TENSORS_NAME: Final = "net.safetensors"

MAX_JSON_BYTES: Final = 1 << 20

NetId = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


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


class NetTensors(NamedTuple):
    """A net without PyTorch: what a folder holds, or what would be written into one."""

    config: NetConfig
    tensors: Mapping[str, NDArray[Any]]
    """By the names of `tensor_shapes`."""
    card: Card


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
        raise WeightsError(f"{shown(folder)} already holds a net", str(folder))
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


def with_card(config: NetConfig, tensors: Mapping[str, NDArray[Any]], *, created_by: str = "") -> NetTensors:
    """Return tensors as a net, with the card that `save` would write."""
    card = _card(config, pack_tensors(tensors), step=0, parents=(), created_by=created_by)
    return NetTensors(config, tensors, card)


def _describe(net: Net, *, step: int, parents: tuple[str, ...], created_by: str) -> tuple[Card, bytes]:
    tensors = pack_tensors(tensors_of(net))
    return _card(net.config, tensors, step=step, parents=parents, created_by=created_by), tensors


def _card(config: NetConfig, tensors: bytes, *, step: int, parents: tuple[str, ...], created_by: str) -> Card:
    return Card(
        format=FORMAT,
        net_id=_identify(config, tensors),
        config=config.to_dict(),
        step=step,
        parents=parents,
        created_by=created_by,
    )


def tensors_of(net: Net) -> dict[str, NDArray[Any]]:
    """Return the tensors of a net by name, as NumPy arrays in main memory."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in net.state_dict().items()}


def _identify(config: NetConfig, tensors: bytes) -> str:
    """Return the sha256 over a config and a file of tensors."""
    digest = hashlib.sha256(json.dumps(config.to_dict(), sort_keys=True).encode() + b"\n")
    digest.update(tensors)
    return digest.hexdigest()


# -- reading --------------------------------------------------------------------------------------


def load(folder: str | Path) -> tuple[Net, Card]:
    """Return the net in a folder, on the CPU and in evaluation mode, and its card."""
    import torch

    found = read_net_tensors(folder)
    net = net_from_tensors(found)
    boards = torch.tensor([[0], [-1]]).expand(2, net.config.bitboards)
    with torch.inference_mode():
        outputs = net(boards, torch.ones(2, net.config.scalars))
    if not all(bool(output.isfinite().all()) for output in outputs if output is not None):
        refuse(Path(folder) / TENSORS_NAME, "the outputs of the net are not finite")
    return net, found.card


def net_from_tensors(source: NetTensors) -> Net:
    """Return the PyTorch module of a net, on the CPU and in evaluation mode."""
    import torch

    from selfmate.nn.net import Net

    net = Net(source.config).eval()
    for name, tensor in net.state_dict().items():
        tensor.copy_(torch.from_numpy(source.tensors[name]))
    return net


def net_tensors(source: Net | NetTensors | str | Path) -> NetTensors:
    """Return a net as tensors: one in memory, or the one in a folder."""
    if isinstance(source, str | Path):
        return read_net_tensors(source)
    if isinstance(source, NetTensors):
        return source
    return NetTensors(source.config, tensors_of(source), describe(source))


def read_net_tensors(folder: str | Path) -> NetTensors:
    """Return the net in a folder; needs no PyTorch."""
    # 1. The description.
    folder = Path(folder)
    card = read_card(folder)
    path = folder / TENSORS_NAME
    config = _config_of(folder, card)
    # 2. Tensors of exactly the names, types and shapes that it implies.
    expected: dict[str, TensorSpec] = {name: ("F32", shape) for name, shape in tensor_shapes(config).items()}
    tensors, data = read_tensors_and_bytes(path, expected)
    # 3. The very tensors that it describes.
    if _identify(config, data) != card.net_id:
        refuse(path, f"checksum mismatch: damaged, or not the net of {JSON_NAME}")
    check_numbers(path, tensors)
    return NetTensors(config, tensors, card)


def read_net_config(folder: str | Path) -> NetConfig:
    """Return the config of the net in a folder, checked; one that this version does not know raises `WeightsError`."""
    return _config_of(Path(folder), read_card(folder))


def _config_of(folder: Path, card: Card) -> NetConfig:
    try:
        config = NetConfig.from_dict(card.config)
        if not config.is_usual:
            encoding_of(config)  # its sizes are those of its encoder
    except NetError as error:
        refuse(folder / JSON_NAME, str(error))
    return config


def read_card(folder: str | Path) -> Card:
    """Return the description of the net in a folder, checked; needs no PyTorch."""
    path = Path(folder) / JSON_NAME
    with open_regular(path, MAX_JSON_BYTES) as file:
        text = file.read(MAX_JSON_BYTES + 1)
    try:
        card = msgspec.json.decode(text, type=Card)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        refuse(path, f"not the JSON of a net: {clip(str(error))}")
    if card.format != FORMAT:
        refuse(path, other_format(card.format, FORMAT, "use the version that wrote it, or train it again"))
    return card
