"""What was built and what runs it: version, commit, compiler, core, Python."""

from __future__ import annotations

import platform
from dataclasses import dataclass

__all__ = ["Build", "read_build"]


@dataclass(frozen=True)
class Build:
    """The installed build; `str` is the line of `selfmate --version`.

    >>> print(Build("0.1", "12ab", "GNU 12.2.0", "v3", "3.11.7"))
    selfmate 0.1 (commit 12ab, core v3, Python 3.11.7)
    >>> print(Build("0.1", "", "GNU 12.2.0", "v2", "3.12.1"))
    selfmate 0.1 (core v2, Python 3.12.1)
    """

    version: str
    commit: str
    """Shortened, with `-dirty` where files were changed; empty where it was not known."""
    compiler: str
    core: str
    """`v2` or `v3`."""
    python: str

    def __str__(self) -> str:
        commit = f"commit {self.commit}, " if self.commit else ""
        return f"selfmate {self.version} ({commit}core {self.core}, Python {self.python})"


def read_build() -> Build:
    """Return the build that is running."""
    from importlib.metadata import version

    from selfmate import _cpu
    from selfmate._core import CORE

    return Build(version("selfmate"), _cpu.commit(), _cpu.compiler(), CORE, platform.python_version())
