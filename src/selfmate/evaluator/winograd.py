"""Evaluation by the core itself, on the CPU in f32: as exact as ONNX Runtime, and faster (docs/results/cpu-play.md).

The core computes whole batches from the tensors of a net, with the norms folded in; no other package is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate._core import CpuLayer, CpuNet, cpu_kernels
from selfmate.evaluator.base import Evaluation, Evaluator, checked, evaluate_pieces
from selfmate.nn.architecture import PLIES_UNIT, LayerSpec, folded_tensors, layers
from selfmate.nn.checkpoint import Card, describe, read_net_tensors, tensors_of
from selfmate.nn.config import NetConfig
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.util.cpu import cores
from selfmate.util.text import many

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from selfmate.nn.net import Net

__all__ = ["WinogradEvaluator", "cpu_layer", "cpu_net"]

LARGEST_PIECE: Final = 64
SMALLEST_PIECE: Final = 2
LEAST_WORK: Final = 1_200_000
"""A piece with less work than this, in blocks x channels squared x squares, takes less time than to wake a thread."""


class WinogradEvaluator(Evaluator):
    """Evaluates with a net in memory or in a folder; the positions of a batch are divided among threads."""

    def __init__(self, source: Net | str | Path, *, threads: int | None = None) -> None:
        config, tensors, card = _read(source)
        self.threads = max(1, cores() if threads is None else threads)
        self.net_id = card.net_id
        self.variant = config.variant
        self.name = f"winograd ({cpu_kernels()}) on {many(self.threads, 'thread')}"
        self._config = config
        work = config.blocks * config.channels**2 * config.ranks * config.files
        self._smallest = min(LARGEST_PIECE, max(SMALLEST_PIECE, LEAST_WORK // work))
        self._net = cpu_net(config, tensors)
        self._executor = ThreadPoolExecutor(self.threads, "winograd") if self.threads > 1 else None

    def evaluate(self, leaves: Leaves) -> Evaluation:
        """Evaluate a batch of any size."""
        config = self._config
        batch = LeafBatch.of(leaves, config.bitboards, config.scalars, config.policy_size)
        found = evaluate_pieces(
            batch,
            self._evaluate_piece,
            smallest=self._smallest,
            largest=LARGEST_PIECE,
            threads=self.threads,
            executor=self._executor,
        )
        return checked(found, self.net_id)

    def _evaluate_piece(self, batch: LeafBatch, out: Evaluation) -> None:
        assert out.plies is not None
        self._net.evaluate(batch.bits, batch.scalars, batch.moves, batch.counts, out.priors, out.wdl, out.plies)


def _read(source: Net | str | Path) -> tuple[NetConfig, Mapping[str, NDArray[Any]], Card]:
    if isinstance(source, str | Path):
        return read_net_tensors(source)
    return source.config, tensors_of(source), describe(source)


def cpu_net(config: NetConfig, tensors: Mapping[str, NDArray[Any]]) -> CpuNet:
    """Return the net of the core, from the tensors of a net on disk."""
    weights = folded_tensors(config, tensors)
    return CpuNet(
        ranks=config.ranks,
        files=config.files,
        bitboards=config.bitboards,
        scalars=config.scalars,
        planes=config.planes,
        plies_unit=PLIES_UNIT,
        layers=[cpu_layer(layer, *weights[layer.name]) for layer in layers(config)],
    )


def cpu_layer(layer: LayerSpec, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> CpuLayer:
    """Return a layer of a `CpuNet`."""
    return CpuLayer(
        name=layer.name,
        kind=layer.kind,
        inputs=layer.inputs,
        outputs=layer.outputs,
        kernel=layer.kernel,
        reads=layer.reads,
        writes=layer.writes,
        pooling=layer.pooling,
        onto=layer.onto,
        residual=layer.residual,
        activation=layer.activation,
        weight=weight,
        bias=bias,
    )
