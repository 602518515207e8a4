"""Nets on disk: what was saved is what is loaded, and nothing else is loaded at all."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file

from selfmate.nn import checkpoint as weights
from selfmate.nn.checkpoint import WeightsError, load, net_id, read_card, save
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net, rounded
from selfmate.nn.tensor_file import TensorSpec, pack_tensors, read_tensors

CONFIG = NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8, policy_channels=8, value_channels=4)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(Net(CONFIG, seed=3), tmp_path / "net", step=7, parents=("ab" * 32,), created_by="test")
    return tmp_path / "net"


def test_round_trip(folder: Path) -> None:
    net, card = load(folder)
    assert net.config == CONFIG
    assert not net.training
    for name, tensor in Net(CONFIG, seed=3).state_dict().items():
        assert torch.equal(tensor, net.state_dict()[name]), name
    assert (card.step, card.parents, card.created_by, card.variant) == (7, ("ab" * 32,), "test", "gardner")
    assert card.net_id == net_id(net)
    assert sorted(path.name for path in folder.iterdir()) == ["net.json", "net.safetensors"]


def test_any_program_reads_the_tensors(folder: Path) -> None:
    tensors = load_file(folder / "net.safetensors")
    assert tensors.keys() == Net(CONFIG).state_dict().keys()


def test_a_compact_net_is_the_same_net_in_half_the_size(tmp_path: Path) -> None:
    net = rounded(Net(CONFIG, seed=3).eval())
    card = save(net, tmp_path / "large", step=7)
    assert save(net, tmp_path / "small", step=7, compact=True) == card
    sizes = [(tmp_path / name / "net.safetensors").stat().st_size for name in ("large", "small")]
    assert sizes[1] < 0.75 * sizes[0]
    again, card_read = load(tmp_path / "small")
    assert (card_read, net_id(again)) == (card, card.net_id)
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name
    # Another net of the same shape is refused, in both forms.
    for name, compact in (("large", False), ("small", True)):
        save(rounded(Net(CONFIG, seed=4).eval()), tmp_path / f"other {name}", compact=compact)
        (tmp_path / f"other {name}" / "net.safetensors").replace(tmp_path / name / "net.safetensors")
        with pytest.raises(WeightsError, match="checksum mismatch"):
            load(tmp_path / name)


def test_numbers_that_bfloat16_cannot_hold_stay_as_they_are(tmp_path: Path) -> None:
    net = Net(CONFIG, seed=3).eval()  # not rounded
    card = save(net, tmp_path / "net", compact=True)
    assert net_id(load(tmp_path / "net")[0]) == card.net_id


def test_tensors_in_bfloat16_are_read_as_float32(tmp_path: Path) -> None:
    """As the learner of a copy by `selfmate pack --half` is."""
    net = rounded(Net(CONFIG, seed=3).eval())
    save(net, tmp_path / "net", compact=True)
    expected = {name: ("F32", tuple(tensor.shape)) for name, tensor in net.state_dict().items()}
    found = read_tensors(tmp_path / "net" / "net.safetensors", expected)
    assert all(torch.equal(torch.tensor(found[name]), tensor) for name, tensor in net.state_dict().items())


def test_id_tells_nets_apart() -> None:
    net = Net(CONFIG, seed=3)
    identity = net_id(net)
    assert net_id(Net(CONFIG, seed=3)) == identity
    assert net_id(Net(NetConfig.from_dict(CONFIG.to_dict() | {"variant": "other"}), seed=3)) != identity
    with torch.no_grad():
        net.get_parameter("value.wdl.bias")[0] += 1e-6
    assert net_id(net) != identity


def test_a_net_is_never_overwritten(folder: Path) -> None:
    with pytest.raises(WeightsError, match="already holds a net"):
        save(Net(CONFIG, seed=4), folder)
    load(folder)


def test_unfinished_save_is_no_net_and_can_be_repeated(folder: Path) -> None:
    (folder / "net.json").unlink()
    with pytest.raises(WeightsError, match=r"net.json: No such file"):
        load(folder)
    save(Net(CONFIG, seed=4), folder)
    load(folder)


# -- damage ---------------------------------------------------------------------------------------


def rewrite(path: Path, change: Callable[[bytearray], Any]) -> None:
    data = bytearray(path.read_bytes())
    changed = change(data)
    path.write_bytes(data if changed is None else changed)


def header_of(data: bytes | bytearray) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), bytes(data[8 + length :])


def with_header(header: object, rest: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


def change_header(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        header, rest = header_of((folder / "net.safetensors").read_bytes())
        change(header)
        (folder / "net.safetensors").write_bytes(with_header(header, rest))

    return damage


def change_tensors(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change the tensors and make a new card, as an attacker would."""

    def damage(folder: Path) -> None:
        path = folder / "net.safetensors"
        tensors = {name: tensor.copy() for name, tensor in load_file(path).items()}
        change(tensors)
        path.write_bytes(pack_tensors(tensors))
        card = json.loads((folder / "net.json").read_text())
        card["net_id"] = weights._identify(CONFIG, path.read_bytes())
        (folder / "net.json").write_text(json.dumps(card))

    return damage


def change_card(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        card = json.loads((folder / "net.json").read_text())
        change(card)
        (folder / "net.json").write_text(json.dumps(card))

    return damage


def replace_with_link(folder: Path) -> None:
    (folder / "net.safetensors").rename(folder / "elsewhere")
    (folder / "net.safetensors").symlink_to(folder / "elsewhere")


def replace_with_pipe(folder: Path) -> None:
    (folder / "net.safetensors").unlink()
    os.mkfifo(folder / "net.safetensors")


def grow(name: str, size: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, size)


def raw(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def exchange(header: dict[str, Any]) -> None:
    """Let two tensors of one size stand at one place."""
    header["blocks.0.first.norm.bias"]["data_offsets"] = header["blocks.0.first.norm.weight"]["data_offsets"]


def shift(header: dict[str, Any]) -> None:
    for entry in header.values():
        entry["data_offsets"] = [offset + 4 for offset in entry["data_offsets"]]


def poison(name: str, number: float) -> Callable[[dict[str, Any]], None]:
    def change(tensors: dict[str, Any]) -> None:
        tensors[name].flat[-1] = number

    return change


BIAS = "value.wdl.bias"
INVALID = "not a valid safetensors file: "  # and what safetensors says
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "json is missing": (lambda folder: (folder / "net.json").unlink(), "No such file"),
    "tensors missing, among them": (lambda folder: (folder / "net.safetensors").unlink(), "No such file"),
    "json is empty": (raw("net.json", b""), "not the JSON of a net"),
    "json is no text": (raw("net.json", b"\xff\xfe\x00"), "not the JSON of a net"),
    "json is deep": (raw("net.json", b"[" * 100_000), "not the JSON of a net"),
    "json is of another kind": (raw("net.json", b"{}"), "not the JSON of a net"),
    "json is huge": (grow("net.json", 2 << 20), "larger than 1048576 bytes"),
    "another format": (
        change_card(lambda card: card.update(format=2)),
        "format 2, newer than format 1 of this version of Selfmate: a newer version reads it",
    ),
    "an unknown key": (change_card(lambda card: card.update(pickle="gASV")), "pickle"),
    "another type": (change_card(lambda card: card.update(step="7")), "Expected `int`"),
    "no id": (change_card(lambda card: card.update(net_id="../../etc/passwd")), "not the JSON of a net"),
    "another id": (change_card(lambda card: card.update(net_id="0" * 64)), "checksum mismatch"),
    "another variant": (change_card(lambda card: card["config"].update(variant="atomic")), "checksum mismatch"),
    "another channel": (change_card(lambda card: card["config"].update(channels=16)), "has shape"),
    "another block": (change_card(lambda card: card["config"].update(blocks=2)), "tensors missing, among them"),
    "huge net": (change_card(lambda card: card["config"].update(channels=1 << 40)), "channels of a net must be"),
    "no channels": (change_card(lambda card: card["config"].pop("channels")), "channels of the net is missing"),
    "unknown config": (change_card(lambda card: card["config"].update(chanels=8)), "did you mean 'channels'"),
    "config of another type": (change_card(lambda card: card.update(config=[1])), "not the JSON of a net"),
    "tensors are empty": (raw("net.safetensors", b""), "not a safetensors file"),
    "tensors are a pickle": (raw("net.safetensors", b"\x80\x04\x95" + bytes(64)), "not a safetensors file"),
    "tensors are huge": (grow("net.safetensors", (1 << 30) + 1), "larger than 1073741824 bytes"),
    "header is huge": (raw("net.safetensors", (1 << 40).to_bytes(8, "little") + bytes(99)), "header has more than"),
    "header is longer than the file": (raw("net.safetensors", (999).to_bytes(8, "little")), "truncated in its header"),
    "header is no JSON": (
        raw("net.safetensors", with_header(b"{]", b"")),
        INVALID,
    ),
    "header is no text": (raw("net.safetensors", with_header(b"\xff\xff", b"")), INVALID),
    "header is deep": (raw("net.safetensors", with_header(b"[" * 100_000, b"")), INVALID),
    "header is a list": (raw("net.safetensors", with_header(b"[]", b"")), INVALID),
    "header repeats itself": (raw("net.safetensors", with_header(b'{"a": 1, "a": 2}', b"")), INVALID),
    "a link": (replace_with_link, "symbolic link"),
    "a pipe": (replace_with_pipe, "not a regular file"),
    "a tensor is missing": (change_header(lambda header: header.pop(BIAS)), INVALID),
    "a tensor too many": (
        change_header(lambda header: header.update(more=header[BIAS])),
        INVALID,
    ),
    "metadata": (change_header(lambda header: header.update(__metadata__={"a": "b"})), "checksum mismatch"),
    "a tensor is a number": (change_header(lambda header: header.update({BIAS: 7})), INVALID),
    "half precision": (change_header(lambda header: header[BIAS].update(dtype="F16")), INVALID),
    "another shape": (
        change_header(lambda header: header[BIAS].update(shape=[1, 3])),
        "has shape [1, 3], expected",
    ),
    "negative shape": (change_header(lambda header: header[BIAS].update(shape=[-3])), INVALID),
    "shape of truth": (
        change_header(lambda header: header[BIAS].update(shape=[3.0])),
        INVALID,
    ),
    "long shape": (change_header(lambda header: header[BIAS].update(shape=[1] * 9999)), INVALID),
    "short offsets": (
        change_header(lambda header: header[BIAS].update(data_offsets=[0, 8])),
        INVALID,
    ),
    "one offset": (change_header(lambda header: header[BIAS].update(data_offsets=[0])), INVALID),
    "offsets overlap": (change_header(exchange), INVALID),
    "offsets leave a gap": (change_header(shift), INVALID),
    "bytes behind": (
        lambda folder: rewrite(folder / "net.safetensors", lambda data: data + b"more"),
        "bytes of tensors, expected",
    ),
    "not a number": (change_tensors(poison(BIAS, np.nan)), "value.wdl.bias has numbers that are not finite"),
    "infinite": (change_tensors(poison("stem.conv.weight", -np.inf)), "not finite"),
    "negative variance": (
        change_tensors(poison("stem.norm.running_var", -1.0)),
        "a variance and has negative",
    ),
    "overflow": (change_tensors(lambda tensors: [tensor.fill(1e30) for tensor in tensors.values()]), "not finite"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_refused_with_one_line(folder: Path, damage: str) -> None:
    do, message = DAMAGES[damage]
    do(folder)
    with pytest.raises(WeightsError) as caught:
        load(folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < len(str(folder)) + 200


def test_every_truncation_is_refused(folder: Path) -> None:
    for name in ("net.safetensors", "net.json"):
        whole = (folder / name).read_bytes()
        for length in [*range(12), *range(12, len(whole) - 1, len(whole) // 50), len(whole) - 2]:
            (folder / name).write_bytes(whole[:length])
            with pytest.raises(WeightsError):
                load(folder)
        (folder / name).write_bytes(whole)
    load(folder)


def test_every_bit_flip_is_refused(folder: Path) -> None:
    path = folder / "net.safetensors"
    whole = path.read_bytes()
    random = np.random.default_rng(1)
    for position in [*range(8), *random.integers(8, len(whole), 150).tolist()]:
        data = bytearray(whole)
        data[position] ^= 1 << int(random.integers(8))
        path.write_bytes(data)
        with pytest.raises(WeightsError):
            load(folder)


def test_nothing_is_read_before_the_size_is_right(folder: Path) -> None:
    """A net that claims a gigabyte and brings it is refused by its size alone."""
    header, _ = header_of((folder / "net.safetensors").read_bytes())
    header["stem.conv.weight"] = {"dtype": "F32", "shape": [1 << 28], "data_offsets": [0, 1 << 30]}
    (folder / "net.safetensors").write_bytes(with_header(header, b""))
    os.truncate(folder / "net.safetensors", 1 << 30)

    tracemalloc.start()
    try:
        with pytest.raises(WeightsError, match=r"has 10737\d* bytes of tensors, expected \d{5}$"):
            load(folder)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_path_with_a_line_break(tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as caught:
        read_card(tmp_path / "two\nlines")
    assert "\n" not in str(caught.value)
    with pytest.raises(WeightsError, match="null"):
        read_card(tmp_path / "nu\0l")


def test_other_tensors(tmp_path: Path) -> None:
    """What a learner keeps beside the net: other types, and no dimension at all."""
    tensors: dict[str, NDArray[Any]] = {
        "step": np.array(7, np.int64),
        "mean": np.ones((2, 3), np.float32),
        "random": np.arange(5, dtype=np.uint8),
    }
    (tmp_path / "state").write_bytes(pack_tensors(tensors))
    expected: dict[str, TensorSpec] = {"step": ("I64", ()), "mean": ("F32", (2, 3)), "random": ("U8", (5,))}
    read = read_tensors(tmp_path / "state", expected)
    assert all(np.array_equal(read[name], tensor) for name, tensor in tensors.items())
    refused: list[tuple[dict[str, TensorSpec], str]] = [
        ({"step": ("F64", ())}, "step is of type I64, expected F64"),
        ({"mean": ("F32", (3, 2))}, r"mean has shape \[2, 3\], expected \[3, 2\]"),
        ({"more": ("F32", (2,))}, "1 tensor missing, among them 'more'"),
    ]
    for change, message in refused:
        with pytest.raises(WeightsError, match=message):
            read_tensors(tmp_path / "state", expected | change)
    (tmp_path / "state").write_bytes(pack_tensors(tensors | {"more": np.zeros(0, np.float32)}))
    with pytest.raises(WeightsError, match="1 unknown tensor, among them 'more'"):
        read_tensors(tmp_path / "state", expected)
