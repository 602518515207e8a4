"""What to install when a package is missing, and packages that need a setting before they are imported."""

from __future__ import annotations

import os
import re
from typing import Any

__all__ = ["extra_requirements", "import_onnxruntime", "install_hint", "pip_command"]


def import_onnxruntime() -> Any:
    """Return the module onnxruntime, imported without its telemetry unless `ORT_DISABLE_TELEMETRY` is set otherwise.

    Since 1.31 its import writes an identifier below the home folder, from which it reports over the network, and prints
    a warning where it cannot. The variable is read by the import; `onnxruntime.disable_telemetry_events` is too late.

    >>> import_onnxruntime().__name__
    'onnxruntime'
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def install_hint(module: str | None) -> str:
    """Return one line for a package that is missing: its name, and the command that installs it.

    >>> install_hint("torch")
    "torch is not installed; run: pip install 'selfmate[train]'"
    >>> install_hint("msgspec")
    'msgspec is not installed; run: pip install msgspec'
    """
    name = (module or "a package").partition(".")[0]
    return f"{name} is not installed; run: {pip_command(name)}"


def pip_command(package: str) -> str:
    """Return the command that installs a package.

    A package of an extra (`train`) comes with that extra; any other is installed by its own name. Both are taken from
    the metadata of the installed distribution.

    >>> pip_command("openvino")
    "pip install 'selfmate[openvino]'"
    """
    extra = _extra(package)
    return f"pip install {package}" if extra is None else f"pip install 'selfmate[{extra}]'"


def extra_requirements(extra: str) -> list[str]:
    """Return what an extra requires, without the versions: those are pip's constraints'.

    >>> extra_requirements("train")
    ['onnx', 'torch']
    """
    return sorted(name for name, of in _requirements() if of == extra)


def _extra(package: str) -> str | None:
    """Return the extra of selfmate that requires a package; None if it needs none, or nothing requires it."""
    wanted = package.lower().replace("-", "_")
    return next((extra for name, extra in _requirements() if name.lower().replace("-", "_") == wanted), None)


def _requirements() -> list[tuple[str, str | None]]:
    """Return the packages that selfmate requires, each with its extra; none where it is not installed."""
    from importlib import metadata  # slow to import, and seldom needed

    try:
        lines = metadata.requires("selfmate") or []
    except metadata.PackageNotFoundError:  # imported from a source tree that is not installed
        return []
    found = (re.fullmatch(r"([\w.-]+).*?(?:extra == [\"']([\w-]+)[\"'])?", line) for line in lines)
    return [(each[1], each[2]) for each in found if each is not None]
