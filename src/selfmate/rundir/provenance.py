"""Where a run comes from: versions, commit, hardware."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["describe_hardware", "now", "package_versions", "source_commit"]


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def package_versions() -> dict[str, str]:
    """Return the versions of Python, of the native core, and of the packages that a run depends on."""
    from selfmate._core import CORE

    found = {"python": platform.python_version(), "core": CORE}
    for package in ("selfmate", "torch", "numpy", "msgspec", "pydantic", "zstandard"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def source_commit() -> str | None:
    """Return the git commit of the source tree, with a plus when files of it were changed; None without one."""
    here = Path(__file__).parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)  # else it is the repository of another project
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def describe_hardware() -> dict[str, Any]:
    """Return processor, cores, memory, GPUs and operating system."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        model = found[1] if found else model
    import torch

    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "system": platform.platform(),
    }
