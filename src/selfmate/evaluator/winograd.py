"""Evaluation by the core itself, on the CPU in f32: as exact as ONNX Runtime, and faster (docs/results/cpu-play.md).

The core computes whole batches from the tensors of a net, with the norms folded in; no other package is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfmate._core import CpuLayer, CpuNet, cpu_kernels
from selfmate.errors import EvaluatorError
from selfmate.evaluator.base import Evaluation, Evaluator, checked, evaluate_pieces
from selfmate.nn.architecture import PADDING_LOGIT, PLIES_UNIT, FoldedLayer, LayerSpec, folded_tensors, layers
from selfmate.nn.checkpoint import NetTensors, net_tensors
from selfmate.nn.config import NetConfig
from selfmate.nn.encodings import encoding_of
from selfmate.nn.leaves import LeafBatch, Leaves
from selfmate.util.cpu import cores
from selfmate.util.text import many

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from selfmate.nn.net import Net

__all__ = ["WinogradEvaluator", "cpu_layer", "cpu_net", "missing_kernel"]

LARGEST_PIECE: Final = 64
SMALLEST_PIECE: Final = 2
LEAST_WORK: Final = 1_200_000
"""A piece with less work than this, in blocks x channels squared x squares, takes less time than to wake a thread."""


class WinogradEvaluator(Evaluator):
    """Evaluates with a net in memory or in a folder; the positions of a batch are divided among threads."""

    def __init__(self, source: Net | NetTensors | str | Path, *, threads: int | None = None) -> None:
        config, tensors, card = net_tensors(source)
        if reason := missing_kernel(config):
            raise EvaluatorError(f"the core's kernels have no {reason}; use onnx or torch", reason)
        self.threads = max(1, cores() if threads is None else threads)
        self.net_id = card.net_id
        self.variant = config.variant
        self._encoding = None if config.is_usual else encoding_of(config)
        self.name = f"winograd ({cpu_kernels()}) on {many(self.threads, 'thread')}"
        self._config = config
        work = max(1, config.blocks) * config.channels**2 * config.ranks * config.files
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


def missing_kernel(config: NetConfig) -> str:
    """Return what a net has that the kernels of the core do not compute, or an empty text.

    >>> from selfmate.nn.config import GARDNER
    >>> missing_kernel(NetConfig.sized(GARDNER, activation="mish"))
    'mish activation'
    """
    if config.activation != "relu":
        return f"{config.activation} activation"
    if config.heads != "conv":
        return "full heads"
    if config.policy == "none":
        return "net without a policy"
    return "" if config.value in ("wdl", "tanh") else f"value {config.value}"


def cpu_net(config: NetConfig, tensors: Mapping[str, NDArray[Any]]) -> CpuNet:
    """Return the net of the core, from the tensors of a net on disk."""
    weights = folded_tensors(config, tensors)
    specs = [_as_computed(layer, weights) for layer in layers(config) if layer.name != "policy.from"]
    return CpuNet(
        ranks=config.ranks,
        files=config.files,
        bitboards=config.bitboards,
        scalars=config.scalars,
        planes=config.planes,
        plies_unit=PLIES_UNIT,
        layers=[cpu_layer(*spec) for spec in specs],
        ones=config.encoder == "full",
    )


def _as_computed(
    layer: LayerSpec, weights: Mapping[str, FoldedLayer]
) -> tuple[LayerSpec, NDArray[np.float32], NDArray[np.float32]]:
    """Return a layer with its weights and bias, in a form that the core computes."""
    weight, bias = weights[layer.name]
    # The logit of a from-square is added to those of all its moves: in the weights.
    if layer.name == "policy.planes" and "policy.from" in weights:
        weight, bias = (one + other for one, other in zip((weight, bias), weights["policy.from"], strict=True))
    # (1 + tanh x) / 2 and (1 - tanh x) / 2 are the softmax of x and -x; a draw has no chance.
    if layer.name == "value.number":
        weight = np.concatenate([weight, 0 * weight, -weight])
        bias = np.concatenate([bias, np.full(1, PADDING_LOGIT, np.float32), -bias])
        layer = layer._replace(outputs=3)
    return layer, np.ascontiguousarray(weight, np.float32), np.ascontiguousarray(bias, np.float32)


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
