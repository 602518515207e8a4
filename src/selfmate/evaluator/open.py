"""Evaluators: a batch of leaves in, priors and win-draw-loss out, whatever computes them.

`open_evaluator` opens one for a net, by backend: the core itself on a CPU (`winograd`), also while training, torch on a
GPU, and for ONNX files ONNX Runtime, or OpenVINO where it is installed. The evaluators without a net (`NATIVE`) run
inside the core as well and are known by their names alone.
"""

from __future__ import annotations

import difflib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from selfmate.errors import clip

if TYPE_CHECKING:
    from selfmate.nn.net import Net
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import NATIVE, Evaluator
from selfmate.util.cpu import cpu_flags

__all__ = ["BACKENDS", "f32_onnx", "open_evaluator"]


BACKENDS: Final = ("auto", "winograd", "onnx", "onnx-int8", "openvino", "openvino-bf16", "openvino-int8", "torch")
"""What can compute a net: the core, ONNX Runtime, OpenVINO (an extra), torch (an extra)."""


# Instructions that multiply in bf16 and in eight bits. Without them int8 is no faster, and may overflow (AVX2).
BF16_FLAGS: Final = frozenset({"avx512_bf16", "amx_bf16"})


INT8_FLAGS: Final = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})


SMALL_NET: Final = 1 << 20
"""Bytes of an int8 file up to which ONNX Runtime is the faster one: OpenVINO has more to do around each batch."""


def open_evaluator(
    source: Net | str | Path,
    *,
    device: str = "cpu",
    threads: int | None = None,
    backend: str | None = None,
    compiled: bool = False,
) -> Evaluator:
    """Open an evaluator of a net: a net in memory, its folder, or an ONNX file.

    Without a `backend` it is the one that training uses: f32 on a CPU, whose answers do not depend on the batch by a
    bit, and torch on a GPU. `auto` is for play: the same, but for an ONNX file the fastest of those that are installed.

    `compiled`, on a GPU: fuse the net for the large batches of self-play, which takes a minute.

    >>> open_evaluator("heuristic-1")
    Traceback (most recent call last):
    ...
    selfmate.errors.EvaluatorError: 'heuristic-1' is computed by the core; pass its name to Search.run or Pool.run
    >>> open_evaluator("net.onnx", backend="openvno")
    Traceback (most recent call last):
    ...
    selfmate.errors.EvaluatorError: no backend is called 'openvno'; did you mean 'openvino'?
    """
    # 1. What was asked for?
    if source in NATIVE:
        message = f"{source!r} is computed by the core; pass its name to Search.run or Pool.run"
        raise EvaluatorError(message, str(source))
    if backend is not None and backend not in BACKENDS:
        near = difflib.get_close_matches(clip(backend), BACKENDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(BACKENDS)}"
        raise EvaluatorError(f"no backend is called {clip(backend)!r}; {hint}", backend)
    if device != "cpu" and backend not in (None, "auto", "torch"):
        raise EvaluatorError(f"the backend {backend} computes on the CPU, not on {clip(device)!r}", device)
    shown = str(source) if isinstance(source, str | Path) else "the net"
    if (device != "cpu" or backend in ("torch", "winograd")) and shown.endswith(".onnx"):
        which = "torch" if backend != "winograd" else backend
        raise EvaluatorError(f"{shown}: {which} computes no ONNX file; give the folder of the net", shown)
    # 2. Open it.
    try:
        if device != "cpu" or backend == "torch":
            from selfmate.evaluator.torch import TorchEvaluator

            return TorchEvaluator(source, device=device, threads=threads, compile=compiled)
        if backend == "winograd" or (backend in (None, "auto") and _has_tensors(source)):
            from selfmate.evaluator.winograd import WinogradEvaluator

            evaluator = WinogradEvaluator(source, threads=threads)
            evaluator.chosen = "as exact as f32 gets, and fast" if backend == "auto" else ""
            return evaluator
        return _open_onnx(source, shown, threads, backend)
    except ModuleNotFoundError as error:
        extra = "openvino" if error.name == "openvino" else "train"
        raise EvaluatorError(f"{shown}: {error.name} is missing; it comes with selfmate[{extra}]", shown) from None


def _has_tensors(source: Net | str | Path) -> bool:
    """Whether a net is in memory, or in a folder as its tensors."""
    from selfmate.nn.checkpoint import TENSORS_NAME

    return not isinstance(source, str | Path) or (Path(source) / TENSORS_NAME).exists()


def _open_onnx(source: Net | str | Path, shown: str, threads: int | None, backend: str | None) -> Evaluator:
    """Open an ONNX file, one that is in the folder, or one that is made here of the net."""
    from selfmate.nn.onnx import INT8_NAME, ONNX_NAME, read_net

    # 1. The file that there is, if there is one; it may be int8 by itself.
    path = Path(source) if isinstance(source, str | Path) else None
    found: dict[bool, Path | bytes] = {}  # by whether it is int8
    if path is not None and path.is_dir():
        found |= {int8: path for int8, name in ((False, ONNX_NAME), (True, INT8_NAME)) if (path / name).exists()}
    elif path is not None and path.suffix == ".onnx":
        net = read_net(path)
        found[net.is_int8] = path
    # 2. What to open it with.
    if backend is None:
        backend = "onnx-int8" if list(found) == [True] and path is not None and path.is_file() else "onnx"
    chosen = ""
    if backend == "auto":
        int8_file = path / INT8_NAME if path is not None and path.is_dir() else path
        size = int8_file.stat().st_size if True in found and int8_file is not None else None
        backend, chosen = _fastest(int8_bytes=size, has_f32=list(found) != [True])
    wanted = backend.endswith("-int8")
    # 3. Make what is missing.
    if wanted not in found:
        if found and path is not None and path.is_file() and not wanted:
            raise EvaluatorError(f"{shown} is an int8 file; open it with onnx-int8 or openvino-int8", shown)
        data = f32_onnx(source)
        if wanted:
            from selfmate.nn.quantize import quantize

            data = quantize(data)
        found[wanted] = data
    # 4. Open it.
    if backend.startswith("openvino"):
        from selfmate.evaluator.openvino import OpenVinoEvaluator

        precision: Literal["bf16", "f32"] = "bf16" if backend == "openvino-bf16" else "f32"
        evaluator: Evaluator = OpenVinoEvaluator(found[wanted], precision=precision, threads=threads, int8=wanted)
    else:
        from selfmate.evaluator.onnx import OnnxEvaluator

        evaluator = OnnxEvaluator(found[wanted], threads=threads, int8=wanted)
    evaluator.chosen = chosen
    return evaluator


def f32_onnx(source: Net | str | Path) -> bytes:
    """Give the f32 ONNX file of a net: the one that is there, or one that is made of its tensors."""
    from selfmate.nn.onnx import ONNX_NAME, read_net, to_onnx

    if isinstance(source, str | Path) and (Path(source).suffix == ".onnx" or (Path(source) / ONNX_NAME).exists()):
        return read_net(source).data
    from selfmate.evaluator.torch import net_of

    return to_onnx(*net_of(source))


def _fastest(*, int8_bytes: int | None, has_f32: bool) -> tuple[str, str]:
    """Choose by the net, by what the processor can do and what is installed (docs/results/cpu-play.md), and say why.

    Nothing is timed: the same net on the same machine always has the same backend, and so plays the same moves.
    """
    openvino = importlib.util.find_spec("openvino") is not None
    if int8_bytes is not None and (not has_f32 or cpu_flags() & INT8_FLAGS):
        if not openvino:
            return "onnx-int8", "int8, and OpenVINO is not installed"
        if int8_bytes <= SMALL_NET:
            return "onnx-int8", "int8, and the net is small"
        return "openvino-int8", "int8, and the net is large"
    if openvino and cpu_flags() & BF16_FLAGS:
        return "openvino-bf16", "no int8 file, but the processor has bf16"
    return "onnx", "neither int8 nor bf16 is faster here"
