"""The command line, run within the process that tests (the fixture `run`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Answer", "Run"]


class Answer(NamedTuple):
    """What a command left behind."""

    code: object
    out: str
    err: str


Run = Callable[..., Answer]
