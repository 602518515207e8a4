"""How busy processor and GPU are over a stretch of work.

>>> use = ProcessorUse(gpu=None)
>>> 0 <= use.shares()["cpu_use"]
True
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable

from selfmate.util.cpu import cores

__all__ = ["ProcessorUse", "gpu_sensor"]


class _Utilization(ctypes.Structure):
    """`nvmlUtilization_t`: percent of the last sample period in which a kernel ran, and in which memory was used."""

    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


@functools.cache
def gpu_sensor(index: int = 0) -> Callable[[], float] | None:
    """Return a function that reads the share of time in which a GPU was busy, 0 to 1; None where NVML is missing.

    NVML comes with NVIDIA's driver. A GPU's index is NVML's, which is CUDA's unless CUDA_VISIBLE_DEVICES says else.
    """
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        handle = ctypes.c_void_p()
        if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)):
            return None
    except (OSError, AttributeError):
        return None

    def read() -> float:
        found = _Utilization()
        failed = library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(found))
        return float("nan") if failed else found.gpu / 100

    return read


class ProcessorUse:
    """Use since it was made: of the processors by this process, and of a GPU by all, as the mean of its samples."""

    def __init__(self, gpu: Callable[[], float] | None) -> None:
        self._gpu = gpu
        self._samples: list[float] = []
        self._wall, self._processor = time.monotonic(), time.process_time()

    def sample(self) -> None:
        """Read the GPU's sensor, if there is one."""
        if self._gpu is not None and (share := self._gpu()) == share:
            self._samples.append(share)

    def shares(self) -> dict[str, float]:
        """Return `cpu_use`, and `gpu_use` where samples were taken, both from 0 to 1."""
        wall = max(time.monotonic() - self._wall, 1e-6)
        shares = {"cpu_use": min(1.0, (time.process_time() - self._processor) / wall / cores())}
        if self._samples:
            shares["gpu_use"] = sum(self._samples) / len(self._samples)
        return {name: round(share, 4) for name, share in shares.items()}
