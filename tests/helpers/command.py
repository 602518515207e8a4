"""The command line, run in the process of the tests (the fixture `run`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Answer", "Run"]


class Answer(NamedTuple):
    """Exit code and output of a command."""

    code: object
    out: str
    err: str


Run = Callable[..., Answer]
