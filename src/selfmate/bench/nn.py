"""`selfmate bench nn`: evaluations per second of a net, by backend and batch."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from selfmate._core import Pool, SearchConfig, SelfPlayConfig
from selfmate.bench.report import BenchReport, BenchTable, Tell, load_note
from selfmate.bench.untrained import untrained_net
from selfmate.errors import SelfmateError
from selfmate.evaluator.backends import CPU_BACKENDS
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.evaluator.open import BF16_FLAGS, INT8_FLAGS, f32_onnx, open_evaluator
from selfmate.nn.leaves import Leaves
from selfmate.util.cpu import cores, cpu_flags, processor_name
from selfmate.util.packages import import_onnxruntime, install_hint
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.nn.net import Net

__all__ = ["PLAIN", "nn"]

CPU_BATCHES: Final = (1, 8, 16, 32, 64, 256)
"""A search gathers 8 to 64 leaves; self-play more."""
GPU_BATCHES: Final = (1, 8, 32, 128, 512, 2048, 8192)
SECONDS: Final = 0.3
"""Of one measurement of one backend at one batch."""
PLAIN: Final = "plain ONNX Runtime"
PLAIN_GPU: Final = "torch, cuda"

Speeds = dict[str, dict[int, float]]
"""By backend and batch."""


def nn(
    *,
    net: str | Path | None = None,
    variant: str = "gardner",
    size: str = "tiny",
    device: str = "cpu",
    backends: Sequence[str] | None = None,
    batches: Sequence[int] | None = None,
    repeats: int = 3,
    seconds: float = SECONDS,
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Measure evaluations per second of a net on disk, or of an untrained one of a size, by backend and batch.

    The peer is ONNX Runtime used directly: f32, the whole batch at once, all cores on each layer.
    """
    source = untrained_net(variant, size) if net is None else Path(net)
    batches = batches or (CPU_BATCHES if device == "cpu" else GPU_BATCHES)
    refused: tuple[str, ...] = ()
    if device == "cpu":
        plain = PLAIN
        evaluators, refused = _backends(source, backends)
    else:
        plain = PLAIN_GPU
        evaluators = {plain: open_evaluator(source, device=device)}
    variant = evaluators[plain].variant
    inputs = {batch: _leaves(evaluators[plain], batch) for batch in batches}
    speeds: Speeds = {name: dict.fromkeys(batches, 0.0) for name in evaluators}
    by_processor: Speeds = {name: dict.fromkeys(batches, 0.0) for name in evaluators}
    rounds = [(name, batch) for _ in range(repeats) for batch in batches for name in evaluators]
    for step, (name, batch) in enumerate(rounds):
        tell(step, len(rounds), f"{name}, batch {batch}")
        speed, of_processor = _evaluations_per_second(evaluators[name], inputs[batch], seconds)
        speeds[name][batch] = max(speed, speeds[name][batch])
        by_processor[name][batch] = max(of_processor, by_processor[name][batch])
    what = f"untrained {size} net" if net is None else str(net)
    ratios: Speeds = {
        name: {batch: speed / speeds[plain][batch] for batch, speed in found.items()} for name, found in speeds.items()
    }
    tables = (
        _table(f"Evaluations/s, {what}, {variant}", batches, speeds, ",.0f"),
        _table(f"As a ratio to {plain}", batches, {name: ratios[name] for name in ratios if name != plain}, ".2f"),
        _table(
            "Evaluations per second of processor time, which the load hardly changes", batches, by_processor, ",.0f"
        ),
    )
    machine = f"{processor_name()} ({', '.join(_fast_flags()) or 'neither bf16 nor VNNI'}), {many(cores(), 'core')}, "
    values = {
        "net": what,
        "variant": variant,
        "flags": _fast_flags(),
        "evaluations_per_second": _rounded(speeds, 0),
        "ratio": _rounded(ratios, 3),
        "evaluations_per_processor_second": _rounded(by_processor, 0),
        "refused": list(refused),
    }
    return BenchReport(tables, (*refused, f"{machine}best of {repeats}, {load_note()}"), values)


def _table(title: str, batches: Sequence[int], speeds: Mapping[str, Mapping[int, float]], form: str) -> BenchTable:
    columns = ("backend", *(f"batch {batch}" for batch in batches))
    return BenchTable(
        title,
        columns,
        tuple((name, *(f"{found[batch]:{form}}" for batch in batches)) for name, found in speeds.items()),
    )


def _rounded(speeds: Speeds, digits: int) -> dict[str, dict[str, float]]:
    return {
        name: {str(batch): round(speed, digits) if digits else round(speed) for batch, speed in found.items()}
        for name, found in speeds.items()
    }


def _fast_flags() -> list[str]:
    """Return the instruction sets of this processor that make bf16 and int8 fast."""
    return sorted(cpu_flags() & (BF16_FLAGS | INT8_FLAGS))


def _backends(source: Net | Path, wanted: Sequence[str] | None) -> tuple[dict[str, Evaluator], tuple[str, ...]]:
    """Return evaluators for the wanted backends, or for all that are installed, and why a backend is left out."""
    try:
        evaluators: dict[str, Evaluator] = {PLAIN: _PlainOnnx(f32_onnx(source))}
    except ModuleNotFoundError as error:
        raise SelfmateError(f"{source}: {install_hint(error.name)}") from None
    refused = []
    for name in wanted or CPU_BACKENDS:
        # Torch on one thread: several wait for each other longer than they compute as soon as another program uses a
        # core. Our own kernels (winograd) on one thread too, as a lane of self-play uses them.
        for threads in sorted({1, cores()}) if name == "winograd" else [1 if name == "torch" else cores()]:
            try:
                evaluators[f"{name}, threads: {threads}"] = open_evaluator(source, threads=threads, backend=name)
            except SelfmateError as error:
                if wanted is not None:
                    raise
                refused.append(f"{name}: {error}")
    if wanted is None and "torch" in sys.modules:
        if sys.modules["torch"].cuda.is_available():
            evaluators[PLAIN_GPU] = open_evaluator(source, device="cuda")
        else:
            refused.append("cuda: torch sees no GPU")
    return evaluators, tuple(refused)


class _PlainOnnx(Evaluator):
    """ONNX Runtime used directly, with nothing of ours but the file."""

    def __init__(self, data: bytes) -> None:
        from selfmate.evaluator.onnx import card_encoding
        from selfmate.nn.onnx import read_card_of

        card = read_card_of(data, PLAIN)
        self._encoding = card_encoding(card, PLAIN)
        self.name, self.net_id, self.variant = PLAIN, card.net_id, card.variant
        onnxruntime = import_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cores()
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate the whole batch at once."""
        size = leaves.size
        inputs = {
            "bits": leaves.bits[:size].view(np.int64),
            "scalars": leaves.scalars[:size],
            "moves": leaves.moves[:size],
            "counts": leaves.counts[:size],
        }
        return Evaluation(*self._session.run(list(Evaluation._fields), inputs))


def _leaves(evaluator: Evaluator, size: int) -> Leaves:
    """Return one leaf from each of `size` random games, as an evaluator reads them."""
    pool = Pool(
        evaluator.variant,
        SearchConfig(),
        SelfPlayConfig(visits=64, full_probability=1, random_plies=16, temperature=0),
        seed=1,
        slots=size,
        threads=1,
        encoding=evaluator.encoding,
    )
    pool.start(0, size)
    return pool.gather()


def _evaluations_per_second(evaluator: Evaluator, leaves: Leaves, seconds: float) -> tuple[float, float]:
    """Return evaluations per second of the clock, and per second of processor time."""
    evaluator.evaluate(leaves)  # the first call with a shape takes longer
    began = now = time.perf_counter()
    worked = time.process_time()
    done = 0
    while now - began < seconds:
        evaluator.evaluate(leaves)
        done += leaves.size
        now = time.perf_counter()
    return done / (now - began), done / (time.process_time() - worked)
