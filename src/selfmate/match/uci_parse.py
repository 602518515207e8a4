"""What a UCI engine says, read with care: options, scores, and the answer to `go`. Nothing here is believed to be true.

>>> thought = read_info("info depth 12 score cp 31 nodes 900 pv e2e4 e7e5", "e2e4", 0.05, late=False)
>>> thought.depth, str(thought.score), thought.pv
(12, '+0.31', ('e2e4', 'e7e5'))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from selfmate.errors import clip

__all__ = ["Offer", "Score", "Thought", "is_main", "read_info", "read_offer"]


@dataclass(frozen=True, slots=True)
class Score:
    """What an engine thinks of its own position: centipawns, or moves to a mate (negative when it is mated).

    >>> str(Score(cp=31)), str(Score(mate=-2)), Score(mate=3).pawns
    ('+0.31', '-M2', 320.0)
    """

    cp: int | None = None
    mate: int | None = None

    @property
    def pawns(self) -> float:
        """The score in pawns; a mate is far beyond any of them, as lichess counts it."""
        if self.mate is not None:
            return 320.0 if self.mate > 0 else -320.0
        return (self.cp or 0) / 100

    @property
    def centipawns(self) -> int:
        """The same as a whole number."""
        return round(100 * self.pawns)

    def __neg__(self) -> Score:
        return Score(None if self.cp is None else -self.cp, None if self.mate is None else -self.mate)

    def __str__(self) -> str:
        if self.mate is not None:
            return f"{'+' if self.mate > 0 else '-'}M{abs(self.mate)}"
        return f"{self.pawns:+.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought:
    """An engine's answer to one `go`."""

    move: str
    """As it was printed; nobody has checked it."""
    seconds: float
    """From `go` to `bestmove`."""
    late: bool = False
    """Whether it came only after `stop`."""
    score: Score | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Offer:
    """An option as the engine offers it."""

    name: str
    kind: str
    low: int | None = None
    high: int | None = None
    choices: tuple[str, ...] = ()

    def refuse(self, value: str) -> str | None:
        """Say what is wrong with a value, or None.

        >>> Offer("Hash", "spin", 1, 4096).refuse("lots")
        "a whole number from 1 to 4096, not 'lots'"
        """
        if self.kind == "spin":
            whole = value.removeprefix("-").isdecimal() and len(value) < 19
            low, high = self.low, self.high
            if not whole or (low is not None and int(value) < low) or (high is not None and int(value) > high):
                return f"a whole number from {low} to {high}, not {clip(value)!r}"
        if self.kind == "check" and value.lower() not in ("true", "false"):
            return f"true or false, not {clip(value)!r}"
        if self.kind == "combo" and value.lower() not in (choice.lower() for choice in self.choices):
            return f"one of {clip(', '.join(self.choices))}, not {clip(value)!r}"
        return None


def is_main(line: str) -> bool:
    """Say whether an `info` line is about the best line, and with a score that is one."""
    return (" multipv " not in line or " multipv 1 " in line) and "bound " not in line


def read_offer(line: str) -> Offer | None:
    """Read an option; None when the line makes no sense.

    >>> read_offer("option name Skill Level type spin default 20 min 0 max 20")
    Offer(name='Skill Level', kind='spin', low=0, high=20, choices=())
    >>> read_offer("option name UCI_Variant type combo default chess var atomic var chess").choices
    ('atomic', 'chess')
    """
    name, word, rest = line.removeprefix("option name ").partition(" type ")
    words = rest.split()
    if not word or not words or not name.strip():
        return None
    low, high = (_number(_after(words, bound)) for bound in ("min", "max"))
    choices = tuple(" ".join(part.split()) for part in f" {rest} ".split(" var ")[1:])
    return Offer(name.strip(), words[0], low, high, choices)


def read_info(line: str, move: str, seconds: float, *, late: bool) -> Thought:
    """Read what an engine found; parts that make no sense are left out.

    >>> read_info("info score cp lots depth -- pv", "e2e4", 0.05, late=False).score
    """
    words = line.split()
    kind = _after(words, "score")
    number = _number(_after(words, kind)) if kind in ("cp", "mate") else None
    score = None
    if number is not None and abs(number) < 1_000_000:
        score = Score(cp=number) if kind == "cp" else Score(mate=number)
    pv = words[words.index("pv") + 1 :] if "pv" in words else []
    depth, nodes = (_number(_after(words, name)) for name in ("depth", "nodes"))
    return Thought(move=move, seconds=seconds, late=late, score=score, depth=depth, nodes=nodes, pv=tuple(pv))


def _after(words: Sequence[str], name: str) -> str:
    """Give the word behind another one; nothing where there is none."""
    at = words.index(name) + 1 if name in words else len(words)
    return words[at] if at < len(words) else ""


def _number(text: str) -> int | None:
    """Read a whole number."""
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 19 else None
