"""Evaluators: a batch of leaves in, priors and win-draw-loss out, whatever computes them.

`open_evaluator` opens one for a net, by backend: the core itself on a CPU (`winograd`), also while training, torch on a
GPU, and for ONNX files ONNX Runtime, or OpenVINO where it is installed. The evaluators without a net (`NATIVE`) run
inside the core as well and are known by their names alone.
"""

from __future__ import annotations

import difflib
import functools
import importlib.util
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from selfmate.errors import SelfmateError, clip

if TYPE_CHECKING:
    from selfmate._core import Pool
    from selfmate.net import Net

__all__ = [
    "BACKENDS",
    "NATIVE",
    "Answer",
    "Desk",
    "Evaluator",
    "EvaluatorError",
    "LeafBatch",
    "Leaves",
    "cores",
    "cpu_flags",
    "f32_onnx",
    "in_pieces",
    "open_evaluator",
    "pieces",
]

NATIVE: Final = ("uniform", "fake", "heuristic-1")
"""Evaluators of the core: `Search.run` and `Pool.run` take these names."""

BACKENDS: Final = ("auto", "winograd", "onnx", "onnx-int8", "openvino", "openvino-bf16", "openvino-int8", "torch")
"""What can compute a net: the core, ONNX Runtime, OpenVINO (an extra), torch (an extra)."""

# Instructions that multiply in bf16 and in eight bits. Without them int8 is no faster, and may overflow (AVX2).
BF16_FLAGS: Final = frozenset({"avx512_bf16", "amx_bf16"})
INT8_FLAGS: Final = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})

SMALL_NET: Final = 1 << 20
"""Bytes of an int8 file up to which ONNX Runtime is the faster one: OpenVINO has more to do around each batch."""

MAX_PLIES: Final = 1000.0
"""What a net says of plies left is cut off here."""


class EvaluatorError(SelfmateError):
    """An evaluator that cannot be opened, leaves that do not fit it, or answers that are not numbers."""


class Leaves(Protocol):
    """What `Search.gather` and `Pool.gather` give."""

    @property
    def size(self) -> int:
        """B, how many leaves there are."""

    @property
    def bits(self) -> NDArray[np.uint64]:
        """[B, P] sets of squares."""

    @property
    def scalars(self) -> NDArray[np.float32]:
        """[B, S]."""

    @property
    def moves(self) -> NDArray[np.uint16]:
        """[B, M] policy indices of the legal moves, padded."""

    @property
    def counts(self) -> NDArray[np.uint16]:
        """[B] how many of the moves are real."""

    @property
    def keys(self) -> NDArray[np.uint64]:
        """[B] hash of what the encoder sees."""


class Answer(NamedTuple):
    """What an evaluator says of B leaves, seen by the side to move."""

    priors: NDArray[np.float32]
    """[B, M], of sum one over the legal moves and zero beyond."""
    wdl: NDArray[np.float32]
    """[B, 3] probabilities of win, draw and loss."""
    plies: NDArray[np.float32]
    """[B] plies left."""


class Evaluator(ABC):
    """One interface for every net on every device. `evaluate` may be called by several threads at a time."""

    name: str
    """What computes: for people and logs."""
    chosen: str = ""
    """Why it computes where `auto` chose it."""
    net_id: str
    """Hash of the net: equal ids, equal answers up to rounding."""
    variant: str

    @abstractmethod
    def evaluate(self, leaves: Leaves) -> Answer:
        """Answer a batch of any size."""

    def desk(self, rows: int) -> Desk:
        """Give a place for one lane of a pool, whose batches have at most `rows` leaves; it is used by one thread."""
        return Desk(self)

    def trial_desk(self, rows: int) -> Desk:
        """The same for a short look at how fast batches of this size are: nothing is compiled for it."""
        return self.desk(rows)


class Desk:
    """Where a lane's leaves are gathered and evaluated. Nothing is special here; a GPU has pinned memory at its own."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator

    def gather(self, pool: Pool, evaluator: int) -> Any:
        """Gather leaves that are for the evaluator of this number; `size` and `ticket` are theirs."""
        return pool.gather(evaluator)

    def evaluate(self, leaves: Any) -> Answer:
        """Answer what `gather` gave; the answer is good until the next one."""
        return self.evaluator.evaluate(leaves)


@dataclass(frozen=True, slots=True)
class LeafBatch:
    """Leaves as plain arrays of one type and shape, each checked.

    >>> rows = LeafBatch(np.zeros((3, 16), np.uint64), np.zeros((3, 4), np.float32), np.zeros((3, 8), np.uint16),
    ...                  np.ones(3, np.uint16), np.arange(3, dtype=np.uint64))
    >>> rows.size, rows.take(np.array([2, 0])).keys.tolist()
    (3, [2, 0])
    """

    bits: NDArray[np.uint64]
    scalars: NDArray[np.float32]
    moves: NDArray[np.uint16]
    counts: NDArray[np.uint16]
    keys: NDArray[np.uint64]

    @property
    def size(self) -> int:
        """B."""
        return len(self.bits)

    @classmethod
    def of(cls, leaves: Leaves, bitboards: int, scalars: int, policy_size: int) -> LeafBatch:
        """Check that leaves fit a net of these sizes."""
        size = leaves.size
        batch = cls(
            np.ascontiguousarray(leaves.bits[:size], np.uint64),
            np.ascontiguousarray(leaves.scalars[:size], np.float32),
            np.ascontiguousarray(leaves.moves[:size], np.uint16),
            np.ascontiguousarray(leaves.counts[:size], np.uint16),
            np.ascontiguousarray(leaves.keys[:size], np.uint64),
        )
        shapes = [array.shape for array in (batch.bits, batch.scalars, batch.moves, batch.counts)]
        width = batch.moves.shape[-1]
        if shapes != [(size, bitboards), (size, scalars), (size, width), (size,)]:
            raise EvaluatorError(f"leaves of shapes {shapes} do not fit a net of {bitboards} and {scalars} inputs")
        if size and (batch.moves.max() >= policy_size or batch.counts.max() > width):
            raise EvaluatorError(f"leaves name moves beyond the {policy_size} of the net, or more than {width}")
        return batch

    def take(self, rows: NDArray[np.int64] | slice) -> LeafBatch:
        """Give some of the rows."""
        return LeafBatch(self.bits[rows], self.scalars[rows], self.moves[rows], self.counts[rows], self.keys[rows])

    def piece(self, begin: int, end: int, padded: int) -> LeafBatch:
        """Give the rows from `begin` to `end`, with empty rows up to a number of `padded`."""
        if padded == end - begin:
            return self.take(slice(begin, end))
        arrays: tuple[NDArray[Any], ...] = (self.bits, self.scalars, self.moves, self.counts, self.keys)
        rows = [np.zeros((padded, *array.shape[1:]), array.dtype) for array in arrays]
        for row, array in zip(rows, arrays, strict=True):
            row[: end - begin] = array[begin:end]
        return LeafBatch(*rows)


def pieces(size: int, largest: int) -> Iterator[tuple[int, int]]:
    """Cut a batch into pieces of nearly equal size, none above `largest`: begin and end of each.

    >>> list(pieces(150, 64))
    [(0, 50), (50, 100), (100, 150)]
    """
    count = -(-size // largest)
    bounds = [size * index // count for index in range(count + 1)] if count else [0]
    return itertools.pairwise(bounds)


def in_pieces(
    batch: LeafBatch,
    smallest: int,
    largest: int,
    threads: int,
    pool: Executor | None,
    evaluate: Callable[[LeafBatch, Answer, int, int], None],
) -> Answer:
    """Let `evaluate` compute pieces of a batch, each into its place in the answer, in the threads of a pool.

    As many pieces as threads, or a multiple of it, unless they would become too small to be worth it.
    """
    size, width = batch.moves.shape
    answer = Answer(np.empty((size, width), np.float32), np.empty((size, 3), np.float32), np.empty(size, np.float32))
    share = max(smallest, -(-size // threads))
    work = list(pieces(size, -(-share // -(-share // largest))))
    if pool is None or len(work) == 1:
        for begin, end in work:
            evaluate(batch, answer, begin, end)
    else:
        for done in [pool.submit(evaluate, batch, answer, begin, end) for begin, end in work]:
            done.result()
    return answer


def checked(answer: Answer, net_id: str) -> Answer:
    """Refuse answers that are not numbers, and bound those that have no bound."""
    for name, array in zip(Answer._fields, answer, strict=True):
        if not np.isfinite(array).all():
            raise EvaluatorError(f"the {name} of net {net_id[:12]} are not finite", net_id)
    return answer._replace(plies=np.clip(answer.plies, 0.0, MAX_PLIES))


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def cpu_flags() -> frozenset[str]:
    """Name what this processor can do, as Linux does (`avx512_vnni`, …); nothing where that is not said."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return frozenset()
    line = next((line for line in text.splitlines() if line.startswith(("flags", "Features"))), "")
    return frozenset(line.partition(":")[2].split())


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
    selfmate.evaluator.EvaluatorError: 'heuristic-1' is computed by the core: give its name to Search.run or Pool.run
    >>> open_evaluator("net.onnx", backend="openvno")
    Traceback (most recent call last):
    ...
    selfmate.evaluator.EvaluatorError: no backend is called 'openvno'; did you mean 'openvino'?
    """
    # 1. What was asked for?
    if source in NATIVE:
        message = f"{source!r} is computed by the core: give its name to Search.run or Pool.run"
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
            from selfmate.evaluator.torch_evaluator import TorchEvaluator

            return TorchEvaluator(source, device=device, threads=threads, compile=compiled)
        if backend == "winograd" or (backend in (None, "auto") and _has_tensors(source)):
            from selfmate.evaluator.winograd_evaluator import WinogradEvaluator

            evaluator = WinogradEvaluator(source, threads=threads)
            evaluator.chosen = "as exact as f32 gets, and fast" if backend == "auto" else ""
            return evaluator
        return _open_onnx(source, shown, threads, backend)
    except ModuleNotFoundError as error:
        extra = "openvino" if error.name == "openvino" else "train"
        raise EvaluatorError(f"{shown}: {error.name} is missing; it comes with selfmate[{extra}]", shown) from None


def _has_tensors(source: Net | str | Path) -> bool:
    """Whether a net is in memory, or in a folder as its tensors."""
    from selfmate.weights import TENSORS_NAME

    return not isinstance(source, str | Path) or (Path(source) / TENSORS_NAME).exists()


def _open_onnx(source: Net | str | Path, shown: str, threads: int | None, backend: str | None) -> Evaluator:
    """Open an ONNX file, one that is in the folder, or one that is made here of the net."""
    from selfmate.export import INT8_NAME, ONNX_NAME, read_net

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
            from selfmate.quantise import quantise

            data = quantise(data)
        found[wanted] = data
    # 4. Open it.
    if backend.startswith("openvino"):
        from selfmate.evaluator.openvino_evaluator import OpenVinoEvaluator

        precision: Literal["bf16", "f32"] = "bf16" if backend == "openvino-bf16" else "f32"
        evaluator: Evaluator = OpenVinoEvaluator(found[wanted], precision=precision, threads=threads, int8=wanted)
    else:
        from selfmate.evaluator.onnx_evaluator import OnnxEvaluator

        evaluator = OnnxEvaluator(found[wanted], threads=threads, int8=wanted)
    evaluator.chosen = chosen
    return evaluator


def f32_onnx(source: Net | str | Path) -> bytes:
    """Give the f32 ONNX file of a net: the one that is there, or one that is made of its tensors."""
    from selfmate.export import ONNX_NAME, read_net, to_onnx

    if isinstance(source, str | Path) and (Path(source).suffix == ".onnx" or (Path(source) / ONNX_NAME).exists()):
        return read_net(source).data
    from selfmate.evaluator.torch_evaluator import net_of

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
