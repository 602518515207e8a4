"""Columns as a DataFrame of pandas or polars, whichever is installed. Neither is needed otherwise."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Final

from selfmate.errors import MissingExtra, SelfmateError, clip_repr

__all__ = ["LIBRARIES", "to_frame"]

LIBRARIES: Final = ("pandas", "polars")
"""Libraries of DataFrames; the first that is installed is the default."""


def to_frame(columns: Mapping[str, Sequence[Any]], library: str | None = None) -> Any:
    """Return columns of equal length as a DataFrame of `library`, or of the first of `LIBRARIES` that is installed.

    Raises `MissingExtra` if it is not installed, `SelfmateError` for another name.

    >>> to_frame({"move": ["e2e4"], "visits": [800]}, "pandas").to_dict("list")
    {'move': ['e2e4'], 'visits': [800]}
    >>> to_frame({}, "excel")
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: unknown DataFrame library 'excel'; use pandas or polars
    """
    given: object = library
    if given is not None and not (isinstance(given, str) and given in LIBRARIES):
        shown = clip_repr(given)
        raise SelfmateError(f"unknown DataFrame library {shown}; use {' or '.join(LIBRARIES)}", shown)
    installed = [name for name in LIBRARIES if importlib.util.find_spec(name) is not None]
    wanted = library or (installed[0] if installed else LIBRARIES[0])
    if wanted not in installed:
        package = "'selfmate[frames]'" if wanted == "pandas" else wanted
        raise MissingExtra(f"{wanted} is not installed; run: pip install {package}", wanted)
    return importlib.import_module(wanted).DataFrame(dict(columns))
