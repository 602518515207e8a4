"""The options of the UCI engine, each declared once as a field of `Settings`.

To add an option, add a field here: name, default, help and range give its UCI line, its parser and its row in the
documentation. Then read the field where it acts, from the `settings` of a search (`uci/search.py`, `uci/load.py`).
Last, run `python -m selfmate.uci.options` and paste its table into docs/uci.md; a test compares the two.

>>> settings = set_option(Settings(), "uci_variant", "atomic")
>>> settings.variant, settings.hash_mib
('atomic', 256)
>>> set_option(settings, "Hash", "lots")
Traceback (most recent call last):
...
selfmate.uci.options.OptionError: Hash is a whole number from 1 to 1048576, not 'lots'
"""

from __future__ import annotations

import contextlib
import functools
import math
import re
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeVar

from selfmate._core import VARIANTS, Position
from selfmate.errors import SelfmateError, UnknownVariant, clip
from selfmate.evaluator.backends import BACKEND_CHOICES

__all__ = [
    "CLEAR_HASH",
    "OPTIONS",
    "Option",
    "OptionError",
    "Settings",
    "StrictError",
    "has_960",
    "option_lines",
    "set_option",
]

T = TypeVar("T", bool, int, float, str)

EMPTY: Final = "<empty>"
"""How UCI writes an empty string."""


class OptionError(SelfmateError):
    """An option that does not exist, or a value that it does not take."""


class StrictError(SelfmateError):
    """A net or a backend that cannot be loaded in strict mode: the engine ends with exit code 2.

    `is_other_variant` says that the net is in order and plays another variant. Only `go` ends the engine for that:
    lichess-bot asks `isready` before it sets `UCI_Variant`.
    """

    def __init__(self, message: str, part: str = "", *, is_other_variant: bool = False) -> None:
        super().__init__(message, part)
        self.is_other_variant = is_other_variant


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its UCI line, its parser, its documentation."""

    name: str
    field: str
    """The field of `Settings` that it sets; empty for a button."""
    default: bool | int | float | str
    help: str
    low: int = 0
    high: int = 0
    choices: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """UCI's type: check, spin, combo, string or button. UCI has no type for decimal numbers: they are strings."""
        if not self.field:
            return "button"
        if isinstance(self.default, bool):
            return "check"
        return "spin" if isinstance(self.default, int) else "combo" if self.choices else "string"

    @property
    def default_text(self) -> str:
        """The default as UCI writes it."""
        if isinstance(self.default, bool):
            return "true" if self.default else "false"
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default) or EMPTY

    def line(self) -> str:
        """Return the line of the answer to `uci`.

        >>> OPTIONS["hash"].line()
        'option name Hash type spin default 256 min 1 max 1048576'
        """
        parts = [f"option name {self.name} type {self.kind}"]
        if self.kind != "button":
            parts.append(f"default {self.default_text}")
        if self.kind == "spin":
            parts.append(f"min {self.low} max {self.high}")
        return " ".join([*parts, *(f"var {choice}" for choice in self.choices)])

    def parse(self, text: str) -> bool | int | float | str:
        """Return the value that a text stands for; `OptionError` says what the option takes."""
        takes = "true or false"
        if self.kind == "check":
            if text.lower() in ("true", "false"):
                return text.lower() == "true"
        elif self.kind == "spin":
            takes = f"a whole number from {self.low} to {self.high}"
            if re.fullmatch(r"[+-]?[0-9]{1,9}", text) and self.low <= int(text) <= self.high:
                return int(text)
        elif self.kind == "combo":
            takes = f"one of {', '.join(self.choices)}"
            for choice in self.choices:
                if choice.lower() == text.lower():
                    return choice
        elif isinstance(self.default, float):
            takes = "a number from 0 up, such as 0.000005"
            with contextlib.suppress(ValueError):
                if len(text) <= 40 and 0 <= (number := float(text)) < math.inf:
                    return number
        else:
            return "" if text == EMPTY else text
        raise OptionError(f"{self.name} is {takes}, not {clip(text)!r}", text)


def option(name: str, default: T, help: str, *, low: int = 0, high: int = 0, choices: tuple[str, ...] = ()) -> T:
    """Declare an option as a field of `Settings`; `low` and `high` are the range of a whole number."""
    metadata: dict[str, Any] = {"name": name, "help": help, "low": low, "high": high, "choices": choices}
    declared: Any = field(default=default, metadata=metadata)
    return declared  # type: ignore[no-any-return]  # the dataclass makes the field a value of type T


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of all options. A search keeps those it began with."""

    variant: str = option(
        "UCI_Variant", "chess", f"{', '.join(VARIANTS)}; FENs of gardner have five ranks", choices=VARIANTS
    )
    chess960: bool = option("UCI_Chess960", False, "castling is written as king takes rook (chess and atomic)")
    weights_file: str = option("WeightsFile", "", "the net that plays; see above")
    strict_weights: bool = option(
        "StrictWeights",
        False,
        "a net or a `Backend` that cannot be loaded ends the engine with one line and exit code 2, where otherwise "
        "heuristic-1 or another backend plays instead; for bots. `selfmate uci --strict` sets it from the start",
    )
    backend: str = option(
        "Backend",
        "auto",
        "what computes a net: `winograd` (the core itself), `onnx`, `openvino`, … or `cuda`. `auto` is the core for a "
        "net's folder and depends on the processor for an ONNX file ([which](results/cpu-play.md)); an `info string` "
        "names it",
        choices=BACKEND_CHOICES,
    )
    threads: int = option(
        "Threads",
        1,
        "threads on one tree; for a net, batches that are evaluated side by side. With one thread `go nodes N` always "
        "has the same answer",
        low=1,
        high=1024,
    )
    hash_mib: int = option(
        "Hash",
        256,
        "MiB of tree and evaluation cache together. A full tree is pruned to its more visited half, and the search "
        "continues",
        low=1,
        high=1 << 20,
    )
    move_overhead_ms: int = option("Move Overhead", 30, "milliseconds that are lost with every move", high=60_000)
    ponder: bool = option("Ponder", False, "the GUI may let it ponder; it then plans a little more time for a move")
    multipv: int = option("MultiPV", 1, "number of best moves that are shown", low=1, high=500)
    show_wdl: bool = option("UCI_ShowWDL", False, "adds win, draw and loss in thousandths")
    analyse_mode: bool = option("UCI_AnalyseMode", False, "no contempt, no limit of strength")
    limit_strength: bool = option("UCI_LimitStrength", False, "plays at the rating `UCI_Elo`")
    elo: int = option(
        "UCI_Elo",
        1500,
        "a weaker player: fewer visits, and at low ratings the move is drawn by its visits. An estimate unless the "
        "net's strength was [measured](#strength); an `info string` says which",
        high=3500,
    )
    contempt: int = option("Contempt", 0, "percent of a win that a draw costs", low=-100, high=100)
    final_choice: str = option(
        "FinalChoice",
        "lcb",
        "`lcb`: of the moves with many visits, the one with the highest lower confidence bound of its value; "
        "`visits`: the most visited move",
        choices=("lcb", "visits"),
    )
    min_kld_gain: float = option(
        "MinimumKLDGainPerNode",
        0.0,
        "ends a search on a clock when new visits change the policy less than this (lc0's option; 0: never). Off, for "
        "it [gained nothing](results/uci.md#stopping-when-the-policy-has-settled)",
    )
    verbose_move_stats: bool = option(
        "VerboseMoveStats", False, "statistics of every move at the end of a search, in lc0's form, which Nibbler reads"
    )
    log_live_stats: bool = option("LogLiveStats", False, "the same with every `info`")

    @property
    def position_variant(self) -> str:
        """The variant as `Position` takes it: `chess960` for chess with `UCI_Chess960`."""
        return f"{self.variant}960" if self.chess960 and has_960(self.variant) else self.variant


@functools.cache
def has_960(variant: str) -> bool:
    """Return whether a variant is also played from the 960 starting positions.

    >>> has_960("atomic"), has_960("gardner")
    (True, False)
    """
    try:
        Position(f"{variant}960")
    except UnknownVariant:
        return False
    return True


CLEAR_HASH: Final = Option("Clear Hash", "", "", "drops the tree")

OPTIONS: Final = {
    each.name.lower(): each
    for each in (
        *(Option(field=at.name, default=getattr(Settings(), at.name), **at.metadata) for at in fields(Settings)),
        CLEAR_HASH,
    )
}
"""By name in lower case: names of UCI options are not case-sensitive."""


def option_lines(settings: Settings) -> list[str]:
    """Return the lines of the answer to `uci`; `settings` are those of the start, whose values are the defaults.

    >>> [line for line in option_lines(Settings(strict_weights=True)) if "Strict" in line]
    ['option name StrictWeights type check default true']
    """
    given = {each.name: getattr(settings, each.name) for each in fields(settings)}
    return [replace(each, default=given.get(each.field, each.default)).line() for each in OPTIONS.values()]


def set_option(settings: Settings, name: str, value: str) -> Settings:
    """Return the settings with one option changed; a button changes nothing. `OptionError` refuses name or value."""
    found = OPTIONS.get(name.lower())
    if found is None:
        raise OptionError(f"unknown option {clip(name)!r}{_hint(name)}", name)
    if found is CLEAR_HASH:
        return settings
    return replace(settings, **{found.field: found.parse(value)})  # type: ignore[arg-type]  # `parse` knows the type


def _hint(name: str) -> str:
    import difflib  # needed for errors only

    near = difflib.get_close_matches(clip(name).lower(), OPTIONS, n=1)
    return f"; did you mean {OPTIONS[near[0]].name}?" if near else ""


def markdown_table() -> str:
    """Return the table of options in docs/uci.md."""
    rows = ["| option | default | |", "|---|---|---|"]
    for each in OPTIONS.values():
        default = "" if each.kind == "button" else "empty" if each.default == "" else each.default_text
        rows.append(f"| `{each.name}` | {default} | {each.help} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(markdown_table())
