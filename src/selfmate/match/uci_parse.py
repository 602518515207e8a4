"""Parses the output of UCI engines: options, scores, and the reply to `go`. Nothing is taken to be true or legal.

>>> reply = parse_info("info depth 12 score cp 31 nodes 900 pv e2e4 e7e5", "e2e4", 0.05, late=False)
>>> reply.depth, str(reply.score), reply.pv
(12, '+0.31', ('e2e4', 'e7e5'))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from selfmate.errors import clip

__all__ = ["EngineMove", "EngineScore", "UciOption", "is_main_line", "line_number", "parse_info", "parse_option"]

MATE_PAWNS: Final = 320.0
"""What a mate counts in pawns, as Lichess counts it: more than any other score."""
MOST_CENTIPAWNS: Final = 1_000_000
"""Scores beyond are ignored."""
LONGEST_NUMBER: Final = 18
"""Digits of a number that fits into 64 bits."""


@dataclass(frozen=True, slots=True)
class EngineScore:
    """An engine's score, for the side to move: centipawns, or moves to mate (negative when it is mated).

    >>> str(EngineScore(cp=31)), str(EngineScore(mate=-2)), EngineScore(mate=3).pawns
    ('+0.31', '-M2', 320.0)
    """

    cp: int | None = None
    mate: int | None = None

    @property
    def pawns(self) -> float:
        """The score in pawns; a mate is `MATE_PAWNS`."""
        if self.mate is not None:
            return MATE_PAWNS if self.mate > 0 else -MATE_PAWNS
        return (self.cp or 0) / 100

    @property
    def centipawns(self) -> int:
        """The score in centipawns."""
        return round(100 * self.pawns)

    def __neg__(self) -> EngineScore:
        return EngineScore(None if self.cp is None else -self.cp, None if self.mate is None else -self.mate)

    def __str__(self) -> str:
        if self.mate is not None:
            return f"{'+' if self.mate > 0 else '-'}M{abs(self.mate)}"
        return f"{self.pawns:+.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMove:
    """An engine's reply to one `go`."""

    move: str
    """As printed; its legality is not checked."""
    seconds: float
    """From `go` to `bestmove`."""
    late: bool = False
    """Whether it came only after `stop`."""
    score: EngineScore | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UciOption:
    """An option that an engine declares in its reply to `uci`."""

    name: str
    kind: str
    """`check`, `spin`, `combo`, `button` or `string`."""
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()

    def problem(self, value: str) -> str | None:
        """Return what is wrong with a value, or None if the option takes it.

        >>> UciOption("Hash", "spin", 1, 4096).problem("lots")
        "a whole number from 1 to 4096, not 'lots'"
        """
        if self.kind == "spin":
            number, low, high = _number(value), self.low, self.high
            if number is None or (low is not None and number < low) or (high is not None and number > high):
                return f"a whole number from {low} to {high}, not {clip(value)!r}"
        if self.kind == "check" and value.lower() not in ("true", "false"):
            return f"true or false, not {clip(value)!r}"
        if self.kind == "combo" and value.lower() not in (choice.lower() for choice in self.choices):
            return f"one of {clip(', '.join(self.choices))}, not {clip(value)!r}"
        return None


def is_main_line(line: str) -> bool:
    """Return whether an `info` line is about the best move, with a score that is not only a bound."""
    return (" multipv " not in line or " multipv 1 " in line) and "bound " not in line


def line_number(line: str) -> int:
    """Return which of several lines (`MultiPV`) an `info` line is about, from 1.

    >>> line_number("info depth 3 multipv 2 score cp 9 pv e2e4"), line_number("info depth 3 score cp 9 pv e2e4")
    (2, 1)
    """
    return max(1, _number(_word_after(line.split(), "multipv")) or 1)


def parse_option(line: str) -> UciOption | None:
    """Return the option that a line declares; None for a malformed line.

    >>> parse_option("option name Skill Level type spin default 20 min 0 max 20")
    UciOption(name='Skill Level', kind='spin', low=0, high=20, choices=())
    >>> parse_option("option name UCI_Variant type combo default chess var atomic var chess").choices
    ('atomic', 'chess')
    """
    name, word, rest = line.removeprefix("option name ").partition(" type ")
    words = rest.split()
    if not word or not words or not name.strip():
        return None
    low, high = (_number(_word_after(words, bound)) for bound in ("min", "max"))
    choices = tuple(" ".join(part.split()) for part in f" {rest} ".split(" var ")[1:])
    return UciOption(name.strip(), words[0], low, high, choices)


def parse_info(line: str, move: str, seconds: float, *, late: bool) -> EngineMove:
    """Return the reply with `move` and the last `info` line before it; malformed parts of the line are left out.

    >>> parse_info("info score cp lots depth -- pv", "e2e4", 0.05, late=False).score
    """
    words = line.split()
    kind = _word_after(words, "score")
    number = _number(_word_after(words, kind)) if kind in ("cp", "mate") else None
    score = None
    if number is not None and abs(number) < MOST_CENTIPAWNS:
        score = EngineScore(cp=number) if kind == "cp" else EngineScore(mate=number)
    pv = words[words.index("pv") + 1 :] if "pv" in words else []
    depth, nodes = (_number(_word_after(words, name)) for name in ("depth", "nodes"))
    return EngineMove(move=move, seconds=seconds, late=late, score=score, depth=depth, nodes=nodes, pv=tuple(pv))


def _word_after(words: Sequence[str], name: str) -> str:
    """Return the word after `name`, or an empty string if there is none."""
    at = words.index(name) + 1 if name in words else len(words)
    return words[at] if at < len(words) else ""


def _number(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= LONGEST_NUMBER else None
