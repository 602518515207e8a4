"""Who takes part in a match, and what a move of theirs may cost.

A contestant is a player spec (`selfmate.search.spec`), or `uci:COMMAND`, any UCI engine. What is its own stands behind
a question mark, joined by `&`; `+` is a space and `%XX` any other sign there:

    heuristic-1?visits=400
    uci:stockfish?nodes=1000&option.Skill+Level=3&name=Fish+3
    uci:node --no-experimental-fetch uci.js?movetime=100&dir=/opt/fairy&env.NODE_ENV=production

>>> fish = read_contestant("uci:cat?nodes=1000&option.Skill+Level=3", Limit())
>>> fish.limit, fish.engine.options
(Limit(nodes=1000), (('Skill Level', '3'),))

A net that has visits is searched by us, in one batch with all its other games. A net on a clock is our own engine in a
process, like any other.
"""

from __future__ import annotations

import difflib
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from selfmate.errors import PlayerError, SelfmateError, clip
from selfmate.match.uci_client import EngineSpec
from selfmate.search.limit import Clock, Limit
from selfmate.search.spec import RANDOM, find_player

__all__ = [
    "Contestant",
    "ContestantError",
    "go_command",
    "on_device",
    "read_contestant",
    "split_command",
]


UCI: Final = "uci:"


OURS: Final = ("WeightsFile", "Backend")
"""Options of our own engine that make it no other player: its name says the first, the machine the second."""


USUAL_VISITS: Final = 64


MOST: Final = 1 << 40


class ContestantError(SelfmateError):
    """A contestant that cannot be, or has limits that contradict each other."""


def _check_limit(limit: Limit, whose: str) -> None:
    """Raise `ContestantError` if parts of a limit contradict each other."""
    if limit.seconds is not None and limit.clock is not None:
        raise ContestantError(f"{whose}: movetime and tc contradict each other; give one of them", whose)
    if limit.visits is not None and limit.is_timed:
        what = "movetime" if limit.clock is None else "tc"
        raise ContestantError(f"{whose}: visits and {what} contradict each other; give one of them", whose)
    if limit.visits is not None and limit.nodes is not None:
        raise ContestantError(f"{whose}: visits are for nets and nodes for engines; give one of them", whose)


def go_command(limit: Limit, clocks: tuple[float, float]) -> str:
    """Return UCI's `go` for a limit; `clocks` are the seconds that White and Black have left.

    >>> go_command(Limit(clock=Clock(1.0, 0.02), nodes=9), (0.5, 1.0))
    'go wtime 500 btime 1000 winc 20 binc 20 nodes 9'
    """
    words = ["go"]
    if limit.clock is not None:
        white, black = (max(1, int(1000 * clock)) for clock in clocks)
        added = round(1000 * limit.clock.increment)
        words.append(f"wtime {white} btime {black} winc {added} binc {added}")
    if limit.seconds is not None:
        words.append(f"movetime {round(1000 * limit.seconds)}")
    nodes = limit.nodes if limit.nodes is not None else limit.visits
    if nodes is not None:
        words.append(f"nodes {nodes}")
    if limit.depth is not None:
        words.append(f"depth {limit.depth}")
    return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """Somebody who takes part."""

    spec: str
    """As it was written."""
    player: str
    """The player that we search for; empty for a foreign engine."""
    engine: EngineSpec | None
    """The process that plays; None for a seat among our own games."""
    limit: Limit
    name: str
    """For tables and PGN. That of a foreign engine is only its program's until it has been asked."""
    named: bool = False
    """Whether the name was given, and stays."""

    @property
    def label(self) -> str:
        """The name with what makes it another player: options and limit."""
        if self.named:
            return self.name
        given = self.engine.options if self.engine is not None else ()
        options = [f"{name} {value}" for name, value in given if not (self.player and name in OURS)]
        parts = [part for part in (str(self.limit), *options) if part]
        return f"{self.name} ({', '.join(parts)})" if parts else self.name


def read_contestant(text: str, usual: Limit) -> Contestant:
    """Read who takes part; `usual` are limits for those who bring none of their own.

    >>> read_contestant("heuristic-1", Limit()).label
    'heuristic-1 (64 visits)'
    >>> read_contestant("heuristic-1", Limit(seconds=0.05)).engine.command[1:]
    ('-m', 'selfmate', 'uci')
    >>> read_contestant("heuristic-1?visits=3&tc=1", Limit())
    Traceback (most recent call last):
    ...
    selfmate.match.spec.ContestantError: heuristic-1: visits and tc contradict each other; give one of them
    """
    foreign = text.startswith(UCI)
    who, query = _split(text.removeprefix(UCI))
    own = _Own(who, query, foreign=foreign)
    if not foreign:
        return _net(text, who, own, usual)
    command = split_command(who)
    if own.limit.visits is not None:
        other = f"{UCI}{clip(who)}?nodes={own.limit.visits}"
        raise ContestantError(f"{clip(who)}: visits are for nets that we search; an engine has nodes: {other}", text)
    limit = own.limit if own.limit.is_set else replace(usual, visits=None)
    _check_limit(limit, clip(who))
    if not limit.is_set:
        ways = f"{clip(text)}?nodes=1000, or --nodes, --movetime or --tc for all"
        raise ContestantError(f"{clip(who)}: an engine needs a limit: {ways}", text)
    engine = EngineSpec(
        command=command, options=tuple(own.options), directory=own.directory, environment=own.environment
    )
    engine.program()  # missing ones are refused before anybody starts
    name = own.name or Path(engine.command[0]).name
    return Contestant(spec=text, player="", engine=engine, limit=limit, name=name, named=bool(own.name))


def on_device(contestant: Contestant, device: str) -> Contestant:
    """Let a net on a clock compute elsewhere than on the CPU, where its backend is its own choice."""
    if device == "cpu" or not contestant.player or contestant.engine is None:
        return contestant
    options = (("Backend", device), *contestant.engine.options)
    return replace(contestant, engine=replace(contestant.engine, options=options))


def _ours(where: str | Path, own: _Own) -> EngineSpec:
    weights = where if isinstance(where, str) else str(where.absolute())
    return EngineSpec(
        command=(sys.executable, "-m", "selfmate", "uci"),
        options=(("WeightsFile", weights), *own.options),
        directory=own.directory,
        environment=own.environment,
    )


def _net(text: str, who: str, own: _Own, usual: Limit) -> Contestant:
    """Make a contestant of a player of ours: a seat, or on a clock our engine."""
    name, where = find_player(who, engine=f"{UCI}{text}" if "?" in text else f"{UCI}{text}?nodes=1000")
    usual = replace(usual, nodes=None, depth=None)
    limit = own.limit if own.limit.is_set else usual
    if who == RANDOM and own.limit.is_set:
        raise ContestantError(f"{RANDOM}: it does not search, so it has no limit; write {RANDOM} alone", text)
    if limit.nodes is not None or limit.depth is not None:
        raise ContestantError(f"{clip(who)}: nodes and depth are for engines; a net has visits, movetime or tc", text)
    _check_limit(limit, clip(who))
    engine = None
    if who == RANDOM:
        limit = Limit()
    elif limit.is_timed:
        engine = _ours(where, own)
    elif not limit.is_set:
        limit = Limit(visits=USUAL_VISITS)
    if engine is None and (own.options or own.environment or own.directory):
        raise ContestantError(f"{clip(who)}: option, env and dir are for engines, and for nets on a clock", text)
    if any(option.lower() == OURS[0].lower() for option, _ in own.options):
        raise ContestantError(f"{clip(who)}: its name says which net it is; leave out option.{OURS[0]}", text)
    name = own.name or "".join(letter if letter.isprintable() else "?" for letter in name)
    return Contestant(spec=text, player=who, engine=engine, limit=limit, name=name, named=bool(own.name))


class _Own:
    """What stands behind the question mark."""

    def __init__(self, who: str, query: str, *, foreign: bool) -> None:
        self.name = ""
        self.options: list[tuple[str, str]] = []
        self.environment: dict[str, str] = {}
        self.directory: Path | None = None
        numbers: dict[str, int] = {}
        clock: Clock | None = None
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=200) if query else []
        except ValueError:
            raise ContestantError(f"{clip(who)}: what follows ? is KEY=VALUE&…, not {clip(query)!r}", query) from None
        seen: set[str] = set()
        for key, value in pairs:
            kind, _, rest = key.partition(".")
            once = key.lower() if kind == "option" else key  # engines do not care how an option is written
            if once in seen:
                raise ContestantError(f"{clip(who)}: {clip(key)} is given twice; give it once", key)
            seen.add(once)
            if "\n" in value or "\r" in value or "\0" in value:
                raise ContestantError(f"{clip(who)}: {clip(key)} must stand in one line", value)
            if key in ("visits", "nodes", "depth", "movetime"):
                if not value.isdecimal() or not 1 <= int(value[:20]) <= MOST:
                    raise ContestantError(f"{clip(who)}: {key} is a whole number above 0, not {clip(value)!r}", value)
                numbers[key] = int(value)
            elif key == "tc":
                try:
                    clock = Clock.parse(value.replace(" ", "+"))  # an unescaped + is read as a space
                except PlayerError as error:
                    raise ContestantError(f"{clip(who)}: {error}", value) from None
            elif key in ("name", "dir") and not value.strip():
                raise ContestantError(f"{clip(who)}: {key}= needs something behind it", key)
            elif key == "name":
                self.name = "".join(letter for letter in value.strip() if letter.isprintable())
            elif key == "dir":
                self.directory = Path(value)
            elif kind == "option" and rest:
                self.options.append((rest, value))
            elif kind == "env" and rest:
                self.environment[rest] = value
            else:
                raise ContestantError(f"{clip(who)}: nothing is called {clip(key)!r}; {_hint(key, foreign)}", key)
        self.limit = Limit(
            visits=numbers.get("visits"),
            nodes=numbers.get("nodes"),
            depth=numbers.get("depth"),
            seconds=numbers["movetime"] / 1000 if "movetime" in numbers else None,
            clock=clock,
        )


def _hint(key: str, foreign: bool) -> str:
    """Say which key was meant, or which there are.

    >>> _hint("Node", foreign=True), _hint("threads", foreign=True)
    ('did you mean nodes?', 'there are nodes, depth, movetime, tc, name, option.NAME, env.NAME, dir')
    """
    limits = ("nodes", "depth") if foreign else ("visits",)
    known = (*limits, "movetime", "tc", "name", "option.NAME", "env.NAME", "dir")
    near = difflib.get_close_matches(clip(key).lower(), known, n=1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def _split(text: str) -> tuple[str, str]:
    """Cut at the question mark, unless the whole is a file."""
    if "?" not in text or _exists(text):
        return text, ""
    who, _, query = text.partition("?")
    return who, query


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or cannot be in a path
        return False


def split_command(text: str) -> tuple[str, ...]:
    """Cut a command into words as a shell would; the path of a program may have spaces.

    >>> split_command("node --flag 'my engine.js'")
    ('node', '--flag', 'my engine.js')
    """
    if text.strip() and (_exists(text) or shutil.which(text)):
        return (text,)
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ContestantError(f"{clip(text)}: not a command: {error}", text) from None
    if not words or "\0" in text:
        raise ContestantError("uci: needs a command, such as uci:stockfish?nodes=1000", text)
    return tuple(words)
