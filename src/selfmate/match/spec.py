"""Contestants of a match: how they are written, and their limits per move.

A contestant is a player spec (`selfmate.search.spec`), or `uci:COMMAND` for any UCI engine. Its own settings follow a
question mark, joined by `&`; there `+` is a space and `%XX` any other character:

    heuristic-1?visits=400
    uci:stockfish?nodes=1000&option.Skill+Level=3&name=Fish+3
    uci:node --no-experimental-fetch uci.js?movetime=100&dir=/opt/fairy&env.NODE_ENV=production

>>> fish = read_contestant("uci:cat?nodes=1000&option.Skill+Level=3", Limit())
>>> fish.limit, fish.engine.options
(Limit(nodes=1000), (('Skill Level', '3'),))

A net with visits is searched in this process, in one batch with its other games. A net with a time limit plays as
`selfmate uci`, in a process like any other engine.
"""

from __future__ import annotations

import difflib
import shlex
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from selfmate.errors import PlayerError, SelfmateError, clip
from selfmate.match.uci_client import EngineSpec
from selfmate.search.limit import Clock, Limit
from selfmate.search.spec import RANDOM, find_player

__all__ = [
    "WEIGHTS",
    "Contestant",
    "ContestantError",
    "go_command",
    "on_device",
    "other_engines",
    "read_contestant",
    "split_command",
]

UCI: Final = "uci:"
WEIGHTS, BACKEND = "WeightsFile", "Backend"
"""Options of `selfmate uci` that are not part of a label: the name says the first, the second does not change moves."""
DEFAULT_VISITS: Final = 64
MOST: Final = 1 << 40


class ContestantError(SelfmateError):
    """The text of a contestant is not valid, or its limits contradict each other."""


def _check_limit(limit: Limit, whose: str) -> None:
    """Raise `ContestantError` if parts of a limit contradict each other."""
    if limit.seconds is not None and limit.clock is not None:
        raise ContestantError(f"{whose}: movetime and tc cannot be combined", whose)
    if limit.visits is not None and limit.is_timed:
        what = "movetime" if limit.clock is None else "tc"
        raise ContestantError(f"{whose}: visits and {what} cannot be combined", whose)
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
    """A player of a match, with its limit."""

    spec: str
    """As written."""
    player: str
    """Spec of a net or native player; empty for an engine of another program."""
    engine: EngineSpec | None
    """The engine process; None for a player that is searched in a pool."""
    limit: Limit
    name: str
    """For tables and PGN; the name of the program until the engine has reported its own."""
    named: bool = False
    """Whether the name was given with `name=`, and is the whole label."""

    @property
    def label(self) -> str:
        """The name with limit and options, which distinguish players in tables and PGN."""
        if self.named:
            return self.name
        given = self.engine.options if self.engine is not None else ()
        options = [f"{name} {value}" for name, value in given if not (self.player and name in (WEIGHTS, BACKEND))]
        parts = [part for part in (str(self.limit), *options) if part]
        return f"{self.name} ({', '.join(parts)})" if parts else self.name


def read_contestant(text: str, default: Limit) -> Contestant:
    """Return the contestant that a text describes; `default` is for one without a limit. Raises `ContestantError`.

    >>> read_contestant("heuristic-1", Limit()).label
    'heuristic-1 (64 visits)'
    >>> read_contestant("heuristic-1", Limit(seconds=0.05)).engine.command[1:]
    ('-m', 'selfmate', 'uci')
    >>> read_contestant("heuristic-1?visits=3&tc=1", Limit())
    Traceback (most recent call last):
    ...
    selfmate.match.spec.ContestantError: heuristic-1: visits and tc cannot be combined
    """
    is_engine = text.startswith(UCI)
    player, query = _split_query(text.removeprefix(UCI))
    own = _OwnSettings(player, query, is_engine=is_engine)
    if not is_engine:
        return _net(text, player, own, default)
    command, shown = split_command(player), clip(player)
    if own.limit.visits is not None:
        other = f"{UCI}{shown}?nodes={own.limit.visits}"
        raise ContestantError(f"{shown}: visits are for nets; an engine has nodes: {other}", text)
    limit = own.limit if own.limit.is_set else replace(default, visits=None)
    _check_limit(limit, shown)
    if not limit.is_set:
        ways = f"{clip(text)}{'&' if query else '?'}nodes=1000, or --nodes, --movetime or --tc for all"
        raise ContestantError(f"{shown}: an engine needs a limit: {ways}", text)
    engine = EngineSpec(
        command=command, options=tuple(own.options), directory=own.directory, environment=own.environment
    )
    engine.program()  # raises if there is no such program
    name = own.name or Path(engine.command[0]).name
    return Contestant(spec=text, player="", engine=engine, limit=limit, name=name, named=bool(own.name))


def other_engines(contestants: Iterable[Contestant]) -> list[EngineSpec]:
    """Return the engines of other programs, which a machine must have to play."""
    return [each.engine for each in contestants if each.engine is not None and not each.player]


def on_device(contestant: Contestant, device: str) -> Contestant:
    """Return the contestant with the backend of a device; on a CPU `selfmate uci` chooses the backend itself."""
    if device == "cpu" or not contestant.player or contestant.engine is None:
        return contestant
    options = (("Backend", device), *contestant.engine.options)
    return replace(contestant, engine=replace(contestant.engine, options=options))


def _selfmate_uci(weights: str | Path, own: _OwnSettings) -> EngineSpec:
    return EngineSpec(
        command=(sys.executable, "-m", "selfmate", "uci"),
        options=((WEIGHTS, weights if isinstance(weights, str) else str(weights.absolute())), *own.options),
        directory=own.directory,
        environment=own.environment,
    )


def _net(text: str, player: str, own: _OwnSettings, default: Limit) -> Contestant:
    """Return a net or native player: in a pool, or as `selfmate uci` if its time is limited."""
    name, where = find_player(player, engine=f"{UCI}{text}" if "?" in text else f"{UCI}{text}?nodes=1000")
    shown = clip(player)
    limit = own.limit if own.limit.is_set else replace(default, nodes=None, depth=None)
    if player == RANDOM and own.limit.is_set:
        raise ContestantError(f"{RANDOM}: it does not search, so it has no limit; write {RANDOM} alone", text)
    if limit.nodes is not None or limit.depth is not None:
        raise ContestantError(f"{shown}: nodes and depth are for engines; a net has visits, movetime or tc", text)
    _check_limit(limit, shown)
    engine = None
    if player == RANDOM:
        limit = Limit()
    elif limit.is_timed:
        engine = _selfmate_uci(where if isinstance(where, str | Path) else player, own)
    elif not limit.is_set:
        limit = Limit(visits=DEFAULT_VISITS)
    if engine is None and (own.options or own.environment or own.directory):
        raise ContestantError(f"{shown}: option, env and dir are for engines, and for nets on a clock", text)
    if any(option.lower() == WEIGHTS.lower() for option, _ in own.options):
        raise ContestantError(f"{shown}: its name says which net it is; leave out option.{WEIGHTS}", text)
    name = own.name or "".join(letter if letter.isprintable() else "?" for letter in name)
    return Contestant(spec=text, player=player, engine=engine, limit=limit, name=name, named=bool(own.name))


class _OwnSettings:
    """The settings after the question mark."""

    def __init__(self, player: str, query: str, *, is_engine: bool) -> None:
        self.name = ""
        self.options: list[tuple[str, str]] = []
        self.environment: dict[str, str] = {}
        self.directory: Path | None = None
        shown = clip(player)
        numbers: dict[str, int] = {}
        clock: Clock | None = None
        try:
            pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True, max_num_fields=200) if query else []
        except ValueError:
            raise ContestantError(f"{shown}: what follows ? is KEY=VALUE&…, not {clip(query)!r}", query) from None
        seen: set[str] = set()
        for key, value in pairs:
            kind, _, rest = key.partition(".")
            once = key.lower() if kind == "option" else key  # names of UCI options are not case-sensitive
            if once in seen:
                raise ContestantError(f"{shown}: {clip(key)} is given twice; give it once", key)
            seen.add(once)
            if "\n" in value or "\r" in value or "\0" in value:
                raise ContestantError(f"{shown}: {clip(key)} must be one line", value)
            if key in ("visits", "nodes", "depth", "movetime"):
                if not value.isdecimal() or not 1 <= int(value[:20]) <= MOST:
                    raise ContestantError(f"{shown}: {key} is a whole number above 0, not {clip(value)!r}", value)
                numbers[key] = int(value)
            elif key == "tc":
                try:
                    clock = Clock.parse(value.replace(" ", "+"))  # an unescaped + is read as a space
                except PlayerError as error:
                    raise ContestantError(f"{shown}: {error}", value) from None
            elif key in ("name", "dir") and not value.strip():
                raise ContestantError(f"{shown}: {key}= needs a value", key)
            elif key == "name":
                self.name = "".join(letter for letter in value.strip() if letter.isprintable())
            elif key == "dir":
                self.directory = Path(value)
            elif kind == "option" and rest:
                self.options.append((rest, value))
            elif kind == "env" and rest:
                self.environment[rest] = value
            else:
                raise ContestantError(f"{shown}: unknown key {clip(key)!r}; {_hint(key, is_engine)}", key)
        self.limit = Limit(
            visits=numbers.get("visits"),
            nodes=numbers.get("nodes"),
            depth=numbers.get("depth"),
            seconds=numbers["movetime"] / 1000 if "movetime" in numbers else None,
            clock=clock,
        )


def _hint(key: str, is_engine: bool) -> str:
    """Return the key that was probably meant, or the valid keys.

    >>> _hint("Node", is_engine=True), _hint("threads", is_engine=True)
    ('did you mean nodes?', 'valid keys: nodes, depth, movetime, tc, name, option.NAME, env.NAME, dir')
    """
    limits = ("nodes", "depth") if is_engine else ("visits",)
    known = (*limits, "movetime", "tc", "name", "option.NAME", "env.NAME", "dir")
    near = difflib.get_close_matches(clip(key).lower(), known, n=1)
    return f"did you mean {near[0]}?" if near else f"valid keys: {', '.join(known)}"


def _split_query(text: str) -> tuple[str, str]:
    """Split at the question mark, unless the whole text is the path of a file."""
    if "?" not in text or _exists(text):
        return text, ""
    player, _, query = text.partition("?")
    return player, query


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or not a path
        return False


def split_command(text: str) -> tuple[str, ...]:
    """Split a command into words as a shell would; the path of a program may contain spaces.

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
