"""Files of efficiently updatable nets (`cpp/search/nnue.h`): safetensors of integers, a few hundred KiB.

`Nnue` is the evaluation of alpha-beta, which judges the moves of games in `selfmate analyse`.

>>> import tempfile
>>> from selfmate import Position
>>> tensors = {name: np.zeros(shape, DTYPES[kind]) for name, (kind, shape) in TENSORS.items()}
>>> tensors["output_bias"][:] = NNUE_ACTIVATION_ONE**2 * NNUE_OUTPUT_ONE  # an output of one
>>> tensors["scale"][:] = 150
>>> with tempfile.TemporaryDirectory() as folder:
...     write_nnue(Path(folder) / "net.safetensors", tensors)
...     read_nnue(Path(folder) / "net.safetensors").evaluate(Position("chess"))
150
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from selfmate._core import NNUE_ACTIVATION_ONE, NNUE_BUCKETS, NNUE_HIDDEN, NNUE_OUTPUT_ONE, Nnue
from selfmate.errors import EvaluatorError
from selfmate.nn.checkpoint import WeightsError
from selfmate.nn.tensor_file import DTYPES, TensorSpec, pack_tensors, read_tensors
from selfmate.util.files import write_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FEATURES", "NNUE_NAME", "TENSORS", "find_nnue", "quantize", "read_nnue", "write_nnue"]

NNUE_NAME: Final = "nnue.safetensors"
"""Name of the file in the folder of a shipped net."""
FEATURES: Final = 2 * 6 * 64
TENSORS: Final[dict[str, TensorSpec]] = {
    "features": ("I16", (FEATURES, NNUE_HIDDEN)),
    "bias": ("I16", (NNUE_HIDDEN,)),
    "output": ("I16", (NNUE_BUCKETS, 2 * NNUE_HIDDEN)),
    "output_bias": ("I32", (NNUE_BUCKETS,)),
    "scale": ("I32", (1,)),
}


def quantize(tensors: Mapping[str, NDArray[Any]], scale: float) -> dict[str, NDArray[Any]]:
    """Return weights in integers: `features`, `bias`, `output` and `output_bias` as floats of the shapes of `TENSORS`.

    `scale`: centipawns for an output of one.
    """
    units = {
        "features": NNUE_ACTIVATION_ONE,
        "bias": NNUE_ACTIVATION_ONE,
        "output": NNUE_OUTPUT_ONE,
        "output_bias": NNUE_ACTIVATION_ONE**2 * NNUE_OUTPUT_ONE,
    }
    integers = {
        name: np.rint(tensors[name] * unit).astype(DTYPES[TENSORS[name][0]]).reshape(TENSORS[name][1])
        for name, unit in units.items()
    }
    return integers | {"scale": np.array([round(scale)], "<i4")}


def write_nnue(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Write the tensors of a net; raise `EvaluatorError` for weights that are too large for its integers."""
    _open(tensors)
    write_file(path, pack_tensors({name: tensors[name] for name in TENSORS}))


def read_nnue(path: Path) -> Nnue:
    """Return the net of a file; raise `WeightsError` if it is not one."""
    try:
        return _open(read_tensors(path, TENSORS))
    except EvaluatorError as error:
        raise WeightsError(f"{path}: {error}", str(path)) from None


@cache
def find_nnue(folder: Path) -> Nnue | None:
    """Return the net in the folder of a shipped net; None if it has none."""
    path = folder / NNUE_NAME
    return read_nnue(path) if path.exists() else None


def _open(tensors: Mapping[str, NDArray[Any]]) -> Nnue:
    return Nnue(
        features=tensors["features"],
        bias=tensors["bias"],
        output=tensors["output"],
        output_bias=tensors["output_bias"],
        scale=int(tensors["scale"][0]),
    )
