"""Shares of time in which processors and a GPU were busy."""

from __future__ import annotations

import time

from selfmate.util.cpu import cores
from selfmate.util.processor_use import ProcessorUse


def test_the_gpu_is_the_mean_of_its_samples_without_failed_ones() -> None:
    samples = iter([0.5, float("nan"), 1.0])
    use = ProcessorUse(gpu=lambda: next(samples))
    for _ in range(3):
        use.sample()
    assert use.shares()["gpu_use"] == 0.75
    assert "gpu_use" not in ProcessorUse(gpu=None).shares()


def test_one_busy_thread_is_at_most_one_core() -> None:
    use = ProcessorUse(gpu=None)
    began = time.process_time()
    while time.process_time() - began < 0.1:
        pass
    assert 0 < use.shares()["cpu_use"] <= 1.0 / cores() + 0.2
