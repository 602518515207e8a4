"""A net as one ONNX file, so that playing needs no torch.

The graph is written node by node from the folded net: milliseconds, no tracing, and the same net gives the same
bytes. Its inputs and outputs are an evaluator's: `bits` int64[B, P], `scalars` float32[B, S], `moves` uint16[B, M] and
`counts` uint16[B] in, `priors` float32[B, M], `wdl` float32[B, 3] and `plies` float32[B] out.

A file ends with the sha256 of all that stands before it, as an entry of ONNX's own metadata: any program reads the
file, and ours sees when it was damaged.

>>> from selfmate.nn.config import GARDNER, NetConfig
>>> from selfmate.nn.net import Net
>>> net = Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8))
>>> sealed = to_onnx(net)
>>> len(check_seal(sealed)) == len(sealed)
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from selfmate.nn.checkpoint import (
    FORMAT,
    JSON_NAME,
    MAX_FILE_BYTES,
    Card,
    WeightsError,
    describe,
    open_regular,
    read_card,
)
from selfmate.util.text import other_format

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray
    from torch import nn

    from selfmate.nn.net import Net

__all__ = [
    "CARD_KEY",
    "EXACT",
    "INT8_KEY",
    "INT8_NAME",
    "ONNX_NAME",
    "OnnxNet",
    "check_seal",
    "export_onnx",
    "metadata",
    "read_card_of",
    "read_net",
    "read_onnx",
    "seal",
    "to_onnx",
]


ONNX_NAME: Final = "net.onnx"
"""Name of the file in a net's folder."""


INT8_NAME: Final = "net.int8.onnx"
"""Name of the same net in eight bits (see `selfmate.nn.quantize`)."""


CARD_KEY: Final = "selfmate"
"""Where the metadata of the file hold the net's card, as JSON."""


INT8_KEY: Final = "selfmate.int8"
"""Where those of an int8 file say how it was made."""


EXACT: Final = "_exact"
"""Ends the name of what an int8 file rounds for ONNX Runtime's sake alone; without this ending it is rounded."""


OPSET: Final = 18  # the first with BitwiseAnd


IR_VERSION: Final = 10  # read by onnxruntime 1.18 and later


SEAL: Final = b"\x72\x4a\x0a\x06sha256\x12\x40"  # field 14 of a model, metadata: the key "sha256" and 64 characters


SEAL_BYTES: Final = len(SEAL) + 64


METADATA_FIELD: Final = 14


ELSEWHERE: Final = b"\x0a\x08location"  # how a tensor says that its numbers are in another file


# -- files ----------------------------------------------------------------------------------------


def export_onnx(net: Net, path: str | Path, card: Card | None = None) -> Card:
    """Write a net to an ONNX file; `card` is the net's, where it was saved before."""
    from selfmate.util.files import write_file

    card = describe(net) if card is None else card
    write_file(Path(path), to_onnx(net, card))
    return card


def read_onnx(path: str | Path) -> bytes:
    """Read a file that `export_onnx` wrote, and check that it is whole."""
    path = Path(path)
    with open_regular(path, MAX_FILE_BYTES) as file:
        data = file.read()
    try:
        return check_seal(data)
    except WeightsError as error:
        raise WeightsError(f"{path}: {error}", str(path)) from None


def check_seal(data: bytes) -> bytes:
    """Give back the bytes of an ONNX file that ends with its sha256 and has all its numbers inside.

    >>> check_seal(b"something else")
    Traceback (most recent call last):
    ...
    selfmate.nn.checkpoint.WeightsError: not an ONNX file of a Selfmate net, or truncated
    """
    content, seal = data[:-SEAL_BYTES], data[-SEAL_BYTES:]
    if len(seal) != SEAL_BYTES or not seal.startswith(SEAL):
        raise WeightsError("not an ONNX file of a Selfmate net, or truncated")
    if hashlib.sha256(content).hexdigest().encode() != seal[len(SEAL) :]:
        raise WeightsError("damaged: another sha256")
    if ELSEWHERE in content:
        raise WeightsError("keeps its numbers in another file")
    return data


def seal(model: onnx.ModelProto) -> bytes:
    """Give the bytes of a model with their sha256 at the end."""
    content: bytes = model.SerializeToString(deterministic=True)
    # Protocol buffers that stand one after the other are read as one: this is a last entry of the metadata.
    return content + SEAL + hashlib.sha256(content).hexdigest().encode()


class OnnxNet(NamedTuple):
    """The bytes of an ONNX file of ours, whole and sealed."""

    data: bytes
    where: str
    """Where it comes from, for errors."""
    is_int8: bool


def read_net(source: str | Path | bytes, *, int8: bool = False) -> OnnxNet:
    """Read the ONNX file of a net: a path, a net's folder (`int8` chooses between its files), or the bytes of one."""
    if isinstance(source, bytes):
        where, data = "the ONNX net", check_seal(source)
    else:
        path, where = Path(source), str(source)
        name = INT8_NAME if int8 else ONNX_NAME
        data = read_onnx(path / name if path.is_dir() else path)
        if path.is_dir() and (path / JSON_NAME).exists() and read_card(path).net_id != _id_of(data):
            raise WeightsError(f"{where}: {name} is not the net that {JSON_NAME} names", where)
    return OnnxNet(data, where, INT8_KEY in metadata(data))


def _id_of(data: bytes) -> str | None:
    """Give the net's id that a file claims, if it can be read; else the reader of the file says what is wrong."""
    try:
        return read_card_of(data, "").net_id
    except WeightsError:
        return None


def read_card_of(data: bytes, where: str) -> Card:
    """Read the net's card in the metadata of an ONNX file."""
    try:
        card = msgspec.json.decode(metadata(data).get(CARD_KEY, ""), type=Card)
    except msgspec.MsgspecError as error:
        raise WeightsError(f"{where}: its metadata do not say what net it is: {error}", where) from None
    if card.format != FORMAT:
        older = "write it anew with selfmate export"
        raise WeightsError(f"{where}: {other_format(card.format, FORMAT, older)}", where)
    return card


def metadata(data: bytes) -> dict[str, str]:
    """Read the metadata of an ONNX file without any package for ONNX; what is no such file has none.

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
    """Walk over the fields of a protocol buffer that have a length; stop where it is none."""

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


# -- the graph ------------------------------------------------------------------------------------


class Graph:
    """ONNX nodes in the order in which they are computed; a value is called by its name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: NDArray[Any] | np.generic) -> str:
        """Add numbers."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def integers(self, *numbers: int) -> str:
        """Add a list of int64, as shapes and axes are given."""
        return self.constant(np.array(numbers, np.int64))

    def add(self, operation: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node and give the name of its output."""
        from onnx import helper

        output = output or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [output], **attributes))
        return output

    def conv(self, conv: nn.Conv2d, x: str) -> str:
        """Add a convolution that keeps the board's size."""
        assert conv.bias is not None
        pad = conv.kernel_size[0] // 2
        weight, bias = self.constant(conv.weight.numpy()), self.constant(conv.bias.numpy())
        return self.add("Conv", x, weight, bias, pads=[pad] * 4, kernel_shape=list(conv.kernel_size))

    def linear(self, linear: nn.Linear, x: str, rows: slice = slice(None)) -> str:
        """Add a full layer, or only some of its outputs."""
        weight, bias = self.constant(linear.weight.numpy()[rows]), self.constant(linear.bias.numpy()[rows])
        return self.add("Gemm", x, weight, bias, transB=1)


def to_onnx(net: Net, card: Card | None = None) -> bytes:
    """Give the bytes of the ONNX file of a net."""
    import onnx
    from onnx import TensorProto, helper

    from selfmate.nn.net import fold

    config = net.config
    graph = Graph()
    _evaluate(graph, fold(net).float().cpu())
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "selfmate",
            inputs=[
                helper.make_tensor_value_info("bits", TensorProto.INT64, ["B", config.bitboards]),
                helper.make_tensor_value_info("scalars", TensorProto.FLOAT, ["B", config.scalars]),
                helper.make_tensor_value_info("moves", TensorProto.UINT16, ["B", "M"]),
                helper.make_tensor_value_info("counts", TensorProto.UINT16, ["B"]),
            ],
            outputs=[
                helper.make_tensor_value_info("priors", TensorProto.FLOAT, ["B", "M"]),
                helper.make_tensor_value_info("wdl", TensorProto.FLOAT, ["B", 3]),
                helper.make_tensor_value_info("plies", TensorProto.FLOAT, ["B"]),
            ],
            initializer=graph.constants,
        ),
        producer_name="selfmate",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    card = describe(net) if card is None else card
    helper.set_model_props(model, {CARD_KEY: msgspec.json.encode(card).decode()})
    onnx.checker.check_model(model, full_check=True)
    return seal(model)


def _evaluate(graph: Graph, net: Net) -> None:
    """Write down `Net.evaluate` of a folded net."""
    from onnx import TensorProto

    from selfmate.nn.net import NO_MOVE, PLIES_UNIT

    # 1. Unpack the bits; scalars and a one become planes.
    config = net.config
    boards = graph.add(
        "BitwiseAnd", graph.add("Unsqueeze", "bits", graph.integers(2)), graph.constant(net.masks.numpy())
    )
    boards = graph.add("Not", graph.add("Equal", boards, graph.integers(0)))
    boards = graph.add("Cast", boards, to=TensorProto.FLOAT)
    boards = graph.add("Reshape", boards, graph.integers(-1, config.bitboards, config.ranks, config.files))
    flat = graph.add("Pad", "scalars", graph.integers(0, 0, 0, 1), graph.constant(np.float32(1)))
    flat = graph.add("Unsqueeze", flat, graph.integers(2, 3))
    flat = graph.add("Expand", flat, graph.integers(1, 1, config.ranks, config.files))
    # 2. The tower.
    x = graph.add("Concat", boards, flat, axis=1)
    x = graph.add("Relu", graph.conv(net.stem.conv, x))
    for block in net.blocks:
        x = _block(graph, block, x)
    # 3. The logits of the legal moves, and their softmax.
    logits = graph.conv(net.policy.planes, graph.add("Relu", graph.conv(net.policy.reduce.conv, x)))
    logits = graph.add("Reshape", logits, graph.integers(-1, config.policy_size))
    logits = graph.add("GatherElements", logits, graph.add("Cast", "moves", to=TensorProto.INT32), axis=1)
    number = graph.add(
        "Range",
        graph.constant(np.int64(0)),
        graph.add("Squeeze", graph.add("Shape", "moves", start=1)),
        graph.constant(np.int64(1)),
    )
    counts = graph.add("Unsqueeze", graph.add("Cast", "counts", to=TensorProto.INT64), graph.integers(1))
    real = graph.add("Less", number, counts)
    logits = graph.add("Where", real, logits, graph.constant(np.float32(NO_MOVE)))
    graph.add("Where", real, graph.add("Softmax", logits, axis=1), graph.constant(np.float32(0)), output="priors")
    # 4. Win, draw, loss and plies left from the pooled board.
    value = graph.add("Relu", graph.conv(net.value.reduce.conv, x))
    value = graph.add("Relu", graph.linear(net.value.hidden, _pooled(graph, value)))
    graph.add("Softmax", graph.linear(net.value.wdl, value), axis=1, output="wdl")
    plies = graph.add("Softplus", graph.linear(net.value.plies, value))
    plies = graph.add("Mul", plies, graph.constant(np.float32(PLIES_UNIT)))
    graph.add("Squeeze", plies, graph.integers(1), output="plies")


def _block(graph: Graph, block: nn.Module, x: str) -> str:
    """Write down `Block.forward`."""
    from selfmate.nn.net import Block, PooledBias, SqueezeExcite

    assert isinstance(block, Block)
    y = graph.add("Relu", graph.conv(block.first.conv, x))
    y = graph.conv(block.second.conv, y)
    if isinstance(context := block.context, SqueezeExcite):
        squeezed = graph.add("Flatten", graph.add("GlobalAveragePool", y))
        squeezed = graph.add("Relu", graph.linear(context.squeeze, squeezed))
        half = context.excite.out_features // 2
        scale = graph.add("Sigmoid", graph.linear(context.excite, squeezed, slice(half)))
        shift = graph.linear(context.excite, squeezed, slice(half, None))
        y = graph.add("Mul", y, graph.add("Unsqueeze", scale, graph.integers(2, 3)))
        y = graph.add("Add", y, graph.add("Unsqueeze", shift, graph.integers(2, 3)))
    elif isinstance(context, PooledBias):
        bias = graph.linear(context.bias, _pooled(graph, y))
        y = graph.add("Add", y, graph.add("Unsqueeze", bias, graph.integers(2, 3)))
    return graph.add("Relu", graph.add("Add", y, x))


def _pooled(graph: Graph, x: str) -> str:
    """Write down `pooled`."""
    mean, most = graph.add("GlobalAveragePool", x), graph.add("GlobalMaxPool", x)
    return graph.add("Flatten", graph.add("Concat", mean, most, axis=1))
