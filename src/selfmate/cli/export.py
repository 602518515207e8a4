"""`selfmate export`: write a net as an ONNX file, but only one that was seen to answer as the net does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from selfmate.errors import EvaluatorError, SelfmateError, clip
from selfmate.evaluator.agreement import difference, leaves_of
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.nn.calibration import game_positions
from selfmate.nn.checkpoint import TENSORS_NAME
from selfmate.nn.onnx import ONNX_NAME, read_net, to_onnx
from selfmate.nn.onnx_graph import OPSET
from selfmate.nn.quantize import quantize
from selfmate.search.spec import find_net
from selfmate.util.text import percent

__all__ = ["ExportReport", "export"]


CHECKED: Final = 128
"""Positions of games that a file is checked on."""


MOST: Final = {False: 1e-4, True: 0.05}
"""Largest mean difference of value and policy with which a file is believed: f32, which rounds, and int8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What was written, and how near it comes."""

    path: Path
    variant: str
    net_id: str
    size: int
    """Bytes."""
    int8: bool
    reference: str
    """What it was compared with."""
    differences: dict[str, float]

    @property
    def agrees(self) -> bool:
        """Whether it answers as the net does; else nothing was written."""
        return max(self.differences["value_mean"], self.differences["policy_mean"]) <= MOST[self.int8]

    def as_json(self) -> dict[str, Any]:
        """Give what a program would read."""
        return {
            "file": str(self.path),
            "written": self.agrees,
            "variant": self.variant,
            "net": self.net_id,
            "bytes": self.size,
            "opset": OPSET,
            "precision": "int8" if self.int8 else "f32",
            "reference": self.reference,
            "positions": CHECKED,
            **self.differences,
        }

    def __str__(self) -> str:
        found = self.differences
        what = f"{self.variant}, {'int8' if self.int8 else 'f32'}, {self.size / 1024:,.0f} KiB, net {self.net_id[:12]}"
        near = (
            f"against {self.reference} on {CHECKED} positions: value {found['value_mean']:.2g} off in the mean and "
            f"{found['value_max']:.2g} at most, policy {found['policy_mean']:.2g} and {found['policy_max']:.2g}, "
            f"first move equal in {percent(found['same_first_prior'])}"
        )
        return f"{self.path}: {'' if self.agrees else 'NOT WRITTEN, it does not agree: '}{what}\n{near}"


def export(spec: str, out: Path, *, int8: bool = False, force: bool = False) -> ExportReport:
    """Write the net that `spec` names; a file that does not answer as the net does is not written."""
    from selfmate.util.files import check_target, write_output

    # 1. Everything that can be wrong is found first.
    if out.suffix != ".onnx":
        raise SelfmateError(f"{clip(str(out))}: the name of an ONNX file ends in .onnx", str(out))
    check_target(out)
    if out.exists() and not force:
        raise SelfmateError(f"{out}: there is such a file already; --force writes over it", str(out))
    # 2. The file in f32, and what it must agree with.
    source = find_net(spec)
    try:
        data, reference = _f32(source)
        plain = OnnxEvaluator(data)
        if int8:
            data, reference = quantize(data), plain
    except ModuleNotFoundError as error:
        raise EvaluatorError(f"{clip(spec)}: {error.name} is missing; it comes with selfmate[train]", spec) from None
    # 3. Does it?
    leaves = leaves_of(game_positions(plain.variant, CHECKED))
    found = difference(reference.evaluate(leaves), OnnxEvaluator(data).evaluate(leaves))
    report = ExportReport(
        path=out,
        variant=plain.variant,
        net_id=plain.net_id,
        size=len(data),
        int8=int8,
        reference=reference.name,
        differences=found,
    )
    if report.agrees:
        write_output(out, data)
    return report


def _f32(source: Path) -> tuple[bytes, Evaluator]:
    """Give the f32 file of a net and an evaluator that it must agree with: torch, where there are tensors."""
    if source.is_file() or ((source / ONNX_NAME).is_file() and not (source / TENSORS_NAME).is_file()):
        net = read_net(source)
        if net.is_int8:
            raise SelfmateError(f"{source}: an int8 file already; export the net itself", str(source))
        return net.data, OnnxEvaluator(source)
    from selfmate.evaluator.torch import TorchEvaluator, net_of

    return to_onnx(*net_of(source)), TorchEvaluator(source)
