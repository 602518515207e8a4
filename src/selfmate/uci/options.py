"""The options of the UCI engine: what there is, what each may be, and what it is now.

>>> settings = changed(Settings(), "uci_variant", "atomic")
>>> settings.variant, settings.hash
('atomic', 256)
>>> changed(settings, "Hash", "lots")
Traceback (most recent call last):
...
selfmate.uci.options.OptionError: Hash is a whole number from 1 to 1048576, not 'lots'
"""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from typing import Final

from selfmate._core import VARIANTS, Position
from selfmate.errors import SelfmateError, UnknownVariant, clip
from selfmate.evaluator.backends import BACKEND_CHOICES

__all__ = ["OPTIONS", "Option", "OptionError", "Settings", "changed", "has_960"]


EMPTY: Final = "<empty>"


class OptionError(SelfmateError):
    """An option that does not exist, or cannot have this value."""


@functools.cache
def has_960(variant: str) -> bool:
    """Say whether a variant is also played from the 960 starting positions.

    >>> has_960("atomic"), has_960("gardner")
    (True, False)
    """
    try:
        Position(f"{variant}960")
    except UnknownVariant:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say. A search keeps those it began with."""

    variant: str = "chess"
    chess960: bool = False
    weights: str = ""
    backend: str = "auto"
    threads: int = 1
    hash: int = 256
    """Megabytes of tree and cache."""
    move_overhead: int = 30
    """Milliseconds."""
    ponder: bool = False
    multipv: int = 1
    show_wdl: bool = False
    analyse: bool = False
    limit_strength: bool = False
    elo: int = 1500
    contempt: int = 0
    """Percent of a win that a draw costs."""
    final_choice: str = "lcb"
    least_gain: str = "0"
    verbose: bool = False
    live: bool = False

    @property
    def game(self) -> str:
        """The variant as `Position` knows it."""
        return f"{self.variant}960" if self.chess960 and has_960(self.variant) else self.variant


@dataclass(frozen=True, slots=True)
class Option:
    """One option as UCI shows it, and the field of `Settings` that holds it."""

    name: str
    kind: str
    """check, spin, combo, string or button."""
    field: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()

    def line(self) -> str:
        """Give the line that `uci` is answered with.

        >>> OPTIONS["hash"].line()
        'option name Hash type spin default 256 min 1 max 1048576'
        """
        parts = [f"option name {self.name} type {self.kind}"]
        if self.kind != "button":
            default = getattr(Settings(), self.field)
            shown = {True: "true", False: "false", "": EMPTY}.get(default, default) if self.kind != "spin" else default
            parts.append(f"default {shown}")
        if self.kind == "spin":
            parts.append(f"min {self.low} max {self.high}")
        parts += [f"var {choice}" for choice in self.choices]
        return " ".join(parts)

    def read(self, text: str) -> bool | int | str:
        """Read a value; an impossible one is an error that says what would be right."""
        if self.kind == "check":
            if text.lower() not in ("true", "false"):
                raise OptionError(f"{self.name} is true or false, not {clip(text)!r}", text)
            return text.lower() == "true"
        if self.kind == "spin":
            if not re.fullmatch(r"[+-]?[0-9]{1,9}", text) or not self.low <= int(text) <= self.high:
                message = f"{self.name} is a whole number from {self.low} to {self.high}, not {clip(text)!r}"
                raise OptionError(message, text)
            return int(text)
        if self.kind == "combo":
            for choice in self.choices:
                if choice.lower() == text.lower():
                    return choice
            raise OptionError(f"{self.name} is one of {', '.join(self.choices)}, not {clip(text)!r}", text)
        return "" if text == EMPTY else text


_LIST: Final = (
    Option("UCI_Variant", "combo", "variant", choices=VARIANTS),
    Option("UCI_Chess960", "check", "chess960"),
    Option("WeightsFile", "string", "weights"),
    Option("Backend", "combo", "backend", choices=BACKEND_CHOICES),
    Option("Threads", "spin", "threads", 1, 1024),
    Option("Hash", "spin", "hash", 1, 1 << 20),
    Option("Clear Hash", "button", ""),
    Option("Move Overhead", "spin", "move_overhead", 0, 60_000),
    Option("Ponder", "check", "ponder"),
    Option("MultiPV", "spin", "multipv", 1, 500),
    Option("UCI_ShowWDL", "check", "show_wdl"),
    Option("UCI_AnalyseMode", "check", "analyse"),
    Option("UCI_LimitStrength", "check", "limit_strength"),
    Option("UCI_Elo", "spin", "elo", 0, 3500),
    Option("Contempt", "spin", "contempt", -100, 100),
    Option("FinalChoice", "combo", "final_choice", choices=("lcb", "visits")),
    Option("MinimumKLDGainPerNode", "string", "least_gain"),
    Option("VerboseMoveStats", "check", "verbose"),
    Option("LogLiveStats", "check", "live"),
)


OPTIONS: Final = {option.name.lower(): option for option in _LIST}
"""By name in lower case: UCI does not mind case."""


def changed(settings: Settings, name: str, value: str) -> Settings:
    """Give the settings with one option changed. A button changes none."""
    option = OPTIONS.get(name.lower())
    if option is None:
        raise OptionError(f"no option is called {clip(name)!r}{_hint(name)}", name)
    if option.kind == "button":
        return settings
    read = option.read(value)
    if option.field == "least_gain":
        read = _number(option.name, value)
    return replace(settings, **{option.field: read})  # type: ignore[arg-type]  # `read` knows the kind


def _number(name: str, text: str) -> str:
    """Check a decimal number; it is kept as it was written."""
    try:
        number = float(text) if len(text) < 40 else math.nan
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise OptionError(f"{name} is a number from 0 up, such as 0.000005, not {clip(text)!r}", text)
    return text


def _hint(name: str) -> str:
    import difflib  # not needed until something is wrong

    near = difflib.get_close_matches(clip(name).lower(), OPTIONS, n=1)
    return f"; did you mean {OPTIONS[near[0]].name}?" if near else ""
