"""The backends that compute a net: one table for `open_evaluator`, the UCI option, the command line and the benches.

Importing it is cheap: the module of a backend is imported when a net is opened. A new backend is a row here, and a
branch of `open_evaluator` that calls the constructor of its evaluator.

>>> find_backend("openvino-int8").precision
'int8'
"""

from __future__ import annotations

import importlib.util
import re
from typing import Final, Literal, NamedTuple

from selfmate.errors import EvaluatorError, clip

__all__ = ["AUTO", "BACKENDS", "BACKEND_CHOICES", "CPU_BACKENDS", "Backend", "Precision", "find_backend", "is_device"]

Precision = Literal["f32", "bf16", "int8"]


class Backend(NamedTuple):
    """A way to compute a net."""

    name: str
    module: Literal["winograd", "onnx", "openvino", "torch"]
    """The module of `selfmate.evaluator` that computes."""
    device: Literal["cpu", "cuda"]
    precision: Precision
    reads: Literal["tensors", "onnx"]
    """The file it opens. An ONNX file is made from the tensors where there is none; the reverse is not possible."""
    package: str = ""
    """The package it needs beyond the default install."""

    @property
    def is_installed(self) -> bool:
        """Whether the package it needs is installed."""
        return not self.package or importlib.util.find_spec(self.package) is not None


BACKENDS: Final[dict[str, Backend]] = {
    backend.name: backend
    for backend in (
        Backend("winograd", "winograd", "cpu", "f32", "tensors"),
        Backend("onnx", "onnx", "cpu", "f32", "onnx"),
        Backend("onnx-int8", "onnx", "cpu", "int8", "onnx"),
        Backend("openvino", "openvino", "cpu", "f32", "onnx", "openvino"),
        Backend("openvino-bf16", "openvino", "cpu", "bf16", "onnx", "openvino"),
        Backend("openvino-int8", "openvino", "cpu", "int8", "onnx", "openvino"),
        Backend("torch", "torch", "cpu", "f32", "tensors", "torch"),
        Backend("cuda", "torch", "cuda", "bf16", "tensors", "torch"),
    )
}
AUTO: Final = "auto"
"""The backend that suits the net and the machine (see `open_evaluator`)."""
BACKEND_CHOICES: Final = (AUTO, *BACKENDS)
CPU_BACKENDS: Final = tuple(backend.name for backend in BACKENDS.values() if backend.device == "cpu")


def is_device(name: str) -> bool:
    """Return whether `name` is that of a device: `cpu`, or a GPU as PyTorch names it. The GPU may be missing.

    >>> is_device("cpu"), is_device("cuda:1"), is_device("tpu")
    (True, True, False)
    """
    return re.fullmatch(r"cpu|cuda(:\d{1,3})?", name) is not None


def find_backend(name: str) -> Backend:
    """Return the backend of this name; an unknown one raises `EvaluatorError` with a suggestion.

    >>> find_backend("openvno")
    Traceback (most recent call last):
    ...
    selfmate.errors.EvaluatorError: unknown backend 'openvno'; did you mean 'openvino'?
    """
    if name in BACKENDS:
        return BACKENDS[name]
    import difflib  # only for the error

    near = difflib.get_close_matches(clip(name), BACKEND_CHOICES, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"valid backends: {', '.join(BACKEND_CHOICES)}"
    raise EvaluatorError(f"unknown backend {clip(name)!r}; {hint}", name)
