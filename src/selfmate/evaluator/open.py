"""Opening an evaluator for a net: a batch of leaves in, priors and win-draw-loss out, by any backend.

The backends are listed in `selfmate.evaluator.backends`. The evaluators without a net (`NATIVE`) run inside the core
and are known by their names alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from selfmate.errors import EvaluatorError, clip_repr
from selfmate.evaluator.backends import AUTO, BACKENDS, Backend, find_backend, is_device
from selfmate.evaluator.base import NATIVE, Evaluator
from selfmate.util.cpu import cpu_flags
from selfmate.util.numbers import whole_number
from selfmate.util.packages import install_hint

if TYPE_CHECKING:
    from selfmate.nn.checkpoint import NetTensors
    from selfmate.nn.net import Net

__all__ = ["BF16_FLAGS", "INT8_FLAGS", "check_options", "f32_onnx", "open_evaluator"]

# Instructions that multiply in bf16 and in eight bits. Without them int8 is no faster, and may overflow (AVX2).
BF16_FLAGS: Final = frozenset({"avx512_bf16", "amx_bf16"})
INT8_FLAGS: Final = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})
SMALL_NET: Final = 1 << 20
"""Bytes of an int8 file up to which ONNX Runtime is the faster one: OpenVINO has more to do around each batch."""
MAX_THREADS: Final = 1024


def check_options(device: str, threads: int | None, backend: str | None) -> None:
    """Raise `EvaluatorError` for a device, a number of threads or a backend that no net could have.

    >>> check_options("tpu", None, None)
    Traceback (most recent call last):
    ...
    selfmate.errors.EvaluatorError: unknown device 'tpu'; use cpu or cuda
    """
    given: object = device
    if not isinstance(given, str) or not is_device(device):
        raise EvaluatorError(f"unknown device {clip_repr(device)}; use cpu or cuda", clip_repr(device))
    if threads is not None:
        whole_number("threads", threads, 1, MAX_THREADS, EvaluatorError)
    if backend is None:
        return
    if not isinstance(backend, str):
        raise EvaluatorError(f"unknown backend {clip_repr(backend)}; a backend has a name", clip_repr(backend))
    if backend != AUTO:
        find_backend(backend)


def open_evaluator(
    source: Net | NetTensors | str | Path,
    *,
    device: str = "cpu",
    threads: int | None = None,
    backend: str | None = None,
    compiled: bool = False,
) -> Evaluator:
    """Open an evaluator of a net: a net or its tensors in memory, its folder, or an ONNX file.

    Without a `backend` it is the one that training uses: f32 on a CPU, whose results do not depend on the batch by a
    bit, and PyTorch on a GPU. `auto` is for play: the same, but for an ONNX file the fastest installed backend.
    `device` is `cpu` or a GPU as PyTorch names it (`cuda`, `cuda:1`). `compiled`, on a GPU, fuses the net for the large
    batches of self-play, which takes a minute.

    Raises `EvaluatorError` for a choice that is not possible or not installed, `WeightsError` for a damaged net.

    >>> open_evaluator("heuristic-1")
    Traceback (most recent call last):
    ...
    selfmate.errors.EvaluatorError: 'heuristic-1' is computed by the core; pass its name to Search.run or Pool.run
    """
    # 1. Is the choice possible?
    if isinstance(source, str) and source in NATIVE:
        message = f"{source!r} is computed by the core; pass its name to Search.run or Pool.run"
        raise EvaluatorError(message, source)
    check_options(device, threads, backend)
    threads = None if threads is None else int(threads)
    shown = str(source) if isinstance(source, str | Path) else "the net"
    chosen, why = _choose(source, device, backend)
    if chosen is not None and device != "cpu" and chosen.module != "torch":
        raise EvaluatorError(f"the backend {chosen.name} computes on the CPU, not on {clip_repr(device)}", device)
    if chosen is not None and chosen.reads == "tensors" and shown.endswith(".onnx"):
        raise EvaluatorError(f"{shown}: {chosen.module} does not read ONNX files; give the folder of the net", shown)
    # 2. Open it.
    try:
        if chosen is None or chosen.reads == "onnx":
            opened = _open_onnx(source, shown, threads, chosen, auto=backend == AUTO)
            opened.choice_reason = opened.choice_reason or why
            return opened
        if chosen.module == "torch":
            from selfmate.evaluator.torch import TorchEvaluator

            where = device if device != "cpu" else chosen.device
            return TorchEvaluator(source, device=where, threads=threads, compile=compiled)
        from selfmate.evaluator.winograd import WinogradEvaluator

        evaluator = WinogradEvaluator(source, threads=threads)
        evaluator.choice_reason = "exact f32, and fast" if backend == AUTO else ""
        return evaluator
    except ModuleNotFoundError as error:
        raise EvaluatorError(f"{shown}: {install_hint(error.name)}", shown) from None


def _choose(source: Net | NetTensors | str | Path, device: str, backend: str | None) -> tuple[Backend | None, str]:
    """Return the backend, or None where it depends on the ONNX files that there are, and why it is not the usual one.

    The usual one of a net with tensors is the core itself; ONNX Runtime has also the layers that the core has not.
    """
    if backend not in (None, AUTO):
        return find_backend(str(backend)), ""
    if device != "cpu":
        return BACKENDS["cuda"], ""
    from selfmate.nn.checkpoint import TENSORS_NAME, read_net_config

    if isinstance(source, str | Path) and not (Path(source) / TENSORS_NAME).exists():
        return None, ""
    from selfmate.evaluator.winograd import missing_kernel

    missing = missing_kernel(read_net_config(source) if isinstance(source, str | Path) else source.config)
    return (BACKENDS["onnx"], f"the core's kernels have no {missing}") if missing else (BACKENDS["winograd"], "")


def _open_onnx(
    source: Net | NetTensors | str | Path, shown: str, threads: int | None, backend: Backend | None, *, auto: bool
) -> Evaluator:
    """Open an ONNX file, one that is in the folder, or one that is made here from the net."""
    # 1. Which backend?
    path = Path(source) if isinstance(source, str | Path) else None
    files = _onnx_files(path)
    reason = ""
    if backend is None and auto:
        int8_bytes = files[True].stat().st_size if True in files else None
        computed = path is None or not files or is_computed_by_openvino(path)  # without files one is made here
        name, reason = _fastest(int8_bytes=int8_bytes, has_f32=list(files) != [True], openvino=computed)
        backend = BACKENDS[name]
    elif backend is None:
        is_int8_file = list(files) == [True] and path is not None and path.is_file()
        backend = BACKENDS["onnx-int8" if is_int8_file else "onnx"]
    # 2. The file, or its bytes where they are made here.
    int8 = backend.precision == "int8"
    net: Path | bytes
    if int8 in files and path is not None:
        net = path
    elif files and path is not None and path.is_file() and not int8:
        raise EvaluatorError(f"{shown} is an int8 file; open it with onnx-int8 or openvino-int8", shown)
    else:
        net = f32_onnx(source)
        if int8:
            from selfmate.nn.quantize import quantize

            net = quantize(net)
    # 3. Open it.
    evaluator: Evaluator
    if backend.module == "openvino":
        from selfmate.evaluator.openvino import OpenVinoEvaluator

        evaluator = OpenVinoEvaluator(net, precision=backend.precision, threads=threads)
    else:
        from selfmate.evaluator.onnx import OnnxEvaluator

        evaluator = OnnxEvaluator(net, threads=threads, int8=int8)
    evaluator.choice_reason = reason
    return evaluator


def _onnx_files(path: Path | None) -> dict[bool, Path]:
    """Return the ONNX files of a net, by whether they are int8: those of its folder, or the file itself."""
    from selfmate.nn.onnx import INT8_NAME, ONNX_NAME, read_net

    if path is not None and path.is_dir():
        files = {False: path / ONNX_NAME, True: path / INT8_NAME}
        return {int8: file for int8, file in files.items() if file.exists()}
    if path is not None and path.suffix == ".onnx":
        return {read_net(path).is_int8: path}
    return {}


def f32_onnx(source: Net | NetTensors | str | Path) -> bytes:
    """Return the f32 ONNX file of a net: the one in its folder, or one made from its tensors."""
    from selfmate.nn.checkpoint import net_tensors
    from selfmate.nn.onnx import ONNX_NAME, onnx_from_tensors, read_net

    if isinstance(source, str | Path) and (Path(source).suffix == ".onnx" or (Path(source) / ONNX_NAME).exists()):
        return read_net(source).data
    return onnx_from_tensors(*net_tensors(source))


def is_computed_by_openvino(path: Path) -> bool:
    """Return whether OpenVINO is installed and computes the parts of the net in an ONNX file or in a folder of one."""
    if not BACKENDS["openvino"].is_installed:
        return False
    from selfmate.evaluator.openvino import is_computed
    from selfmate.nn.onnx import read_card_of, read_net

    int8 = path.is_dir() and list(_onnx_files(path)) == [True]
    return is_computed(read_card_of(read_net(path, int8=int8).data, str(path)).config)


def _fastest(*, int8_bytes: int | None, has_f32: bool, openvino: bool | None = None) -> tuple[str, str]:
    """Return the backend for ONNX files by net, processor and installed packages, and the reason.

    Nothing is timed: the same net on the same machine always has the same backend, and so plays the same moves
    (measured in docs/results/cpu-play.md).
    """
    is_installed = BACKENDS["openvino"].is_installed
    has_openvino = is_installed if openvino is None else openvino
    other = "does not compute such a net" if is_installed else "is not installed"
    if int8_bytes is not None and (not has_f32 or cpu_flags() & INT8_FLAGS):
        if not has_openvino:
            return "onnx-int8", f"int8, and OpenVINO {other}"
        if int8_bytes <= SMALL_NET:
            return "onnx-int8", "int8, and the net is small"
        return "openvino-int8", "int8, and the net is large"
    if has_openvino and cpu_flags() & BF16_FLAGS:
        return "openvino-bf16", "no int8 file, but the processor has bf16"
    if is_installed and not has_openvino:
        return "onnx", f"OpenVINO {other}"
    return "onnx", "neither int8 nor bf16 is faster here"
