"""`selfmate export`: write a net as an ONNX file, after checking that the file evaluates positions as the net does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from selfmate.errors import EvaluatorError, SelfmateError, clip
from selfmate.evaluator.agreement import difference, leaves_of
from selfmate.evaluator.backends import Precision
from selfmate.evaluator.base import Evaluator
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.nn.calibration import game_positions
from selfmate.nn.checkpoint import TENSORS_NAME
from selfmate.nn.onnx import ONNX_NAME, read_net, to_onnx
from selfmate.nn.onnx_graph import OPSET
from selfmate.nn.quantize import quantize
from selfmate.search.spec import find_net
from selfmate.util.packages import install_hint
from selfmate.util.text import percent

__all__ = ["ExportReport", "export"]

CHECKED_POSITIONS: Final = 128
"""Positions of games that a file is checked on."""
MAX_MEAN_DIFFERENCE: Final[dict[Precision, float]] = {"f32": 1e-4, "int8": 0.05}
"""Largest mean difference of value and policy with which a file is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """The file that was written, and how far it differs from the net."""

    path: Path
    variant: str
    net_id: str
    size: int
    """Bytes."""
    precision: Precision
    reference: str
    """The evaluator it was compared with."""
    differences: dict[str, float]
    """See `selfmate.evaluator.agreement.difference`."""

    @property
    def agrees(self) -> bool:
        """Whether it evaluates positions as the net does; if not, nothing was written."""
        mean = max(self.differences["value_mean"], self.differences["policy_mean"])
        return mean <= MAX_MEAN_DIFFERENCE[self.precision]

    def as_json(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return {
            "file": str(self.path),
            "written": self.agrees,
            "variant": self.variant,
            "net": self.net_id,
            "bytes": self.size,
            "opset": OPSET,
            "precision": self.precision,
            "reference": self.reference,
            "positions": CHECKED_POSITIONS,
            **self.differences,
        }

    def __str__(self) -> str:
        found = self.differences
        what = f"{self.variant}, {self.precision}, {self.size / 1024:,.0f} KiB, net {self.net_id[:12]}"
        near = (
            f"difference from {self.reference} on {CHECKED_POSITIONS} positions: value {found['value_mean']:.2g} mean, "
            f"{found['value_max']:.2g} max; policy {found['policy_mean']:.2g} mean, {found['policy_max']:.2g} max; "
            f"same first move in {percent(found['same_first_prior'])}"
        )
        return f"{self.path}: {'' if self.agrees else 'NOT WRITTEN, it differs from the net: '}{what}\n{near}"


def export(spec: str, out: Path, *, int8: bool = False, force: bool = False) -> ExportReport:
    """Write the net of a spec as an ONNX file, unless it differs from the net too much (`ExportReport.agrees`)."""
    from selfmate.util.files import check_target, write_output

    # 1. Check the target before any work.
    if out.suffix != ".onnx":
        raise SelfmateError(f"{clip(str(out))}: the name of an ONNX file must end in .onnx", str(out))
    check_target(out)
    if out.exists() and not force:
        raise SelfmateError(f"{out} already exists; --force overwrites it", str(out))
    # 2. The file, and the evaluator that it must agree with.
    source = find_net(spec)
    try:
        data, reference = _f32(source)
        plain = OnnxEvaluator(data)
        if int8:
            data, reference = quantize(data), plain
    except ModuleNotFoundError as error:
        raise EvaluatorError(f"{clip(spec)}: {install_hint(error.name)}", spec) from None
    # 3. Compare, and write.
    leaves = leaves_of(game_positions(plain.variant, CHECKED_POSITIONS), plain.encoding)
    found = difference(reference.evaluate(leaves), OnnxEvaluator(data).evaluate(leaves))
    report = ExportReport(
        path=out,
        variant=plain.variant,
        net_id=plain.net_id,
        size=len(data),
        precision="int8" if int8 else "f32",
        reference=reference.name,
        differences=found,
    )
    if report.agrees:
        write_output(out, data)
    return report


def _f32(source: Path) -> tuple[bytes, Evaluator]:
    """Return the f32 file of a net, and the evaluator that it must agree with: PyTorch, if there are tensors."""
    if source.is_file() or ((source / ONNX_NAME).is_file() and not (source / TENSORS_NAME).is_file()):
        net = read_net(source)
        if net.is_int8:
            raise SelfmateError(f"{source} is an int8 file; export the net itself", str(source))
        return net.data, OnnxEvaluator(source)
    from selfmate.evaluator.torch import TorchEvaluator, net_of

    return to_onnx(*net_of(source)), TorchEvaluator(source)
