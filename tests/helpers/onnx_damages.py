"""Damaged ONNX files, and the error message for each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import onnx

from selfmate.nn.onnx import CHECKSUM_BYTES, CHECKSUM_ENTRY


def with_new_checksum(content: bytes) -> bytes:
    return content + CHECKSUM_ENTRY + hashlib.sha256(content).hexdigest().encode()


def other_model(change: Callable[[Any], object]) -> Callable[[bytes], bytes]:
    """Change the model and its checksum, as an attacker would."""

    def damage(data: bytes) -> bytes:
        model = onnx.load_from_string(data[:-CHECKSUM_BYTES])
        change(model)
        content: bytes = model.SerializeToString()
        return with_new_checksum(content)

    return damage


def outside(model: Any) -> None:
    tensor = model.graph.initializer[5]
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")


def flip(position: float) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[int(position * (len(data) - 1))] ^= 4
        return bytes(changed)

    return damage


ONNX_DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "not an ONNX file"),
    "text": (lambda data: b"hello " * 100, "not an ONNX file"),
    "truncated": (lambda data: data[:-1], "not an ONNX file"),
    "halved": (lambda data: data[: len(data) // 2], "not an ONNX file"),
    "first bit": (flip(0.0), "checksum mismatch"),
    "a bit of a weight": (flip(0.5), "checksum mismatch"),
    "last bit": (flip(1.0), "checksum mismatch"),
    "garbage with a checksum": (lambda data: with_new_checksum(b"\xff" * 1000), "ONNX Runtime cannot load it"),
    "no card": (other_model(lambda model: model.ClearField("metadata_props")), "no valid description of the net"),
    "no graph": (other_model(lambda model: model.ClearField("graph")), "ONNX Runtime cannot load it"),
    "unknown operation": (
        other_model(lambda model: setattr(model.graph.node[0], "op_type", "Evil")),
        "ONNX Runtime cannot load it",
    ),
    "other outputs": (other_model(lambda model: model.graph.output.pop()), "other inputs or outputs"),
    "numbers elsewhere": (other_model(outside), "in another file"),
}
