"""Outside UCI engines that were named when the server was started: `--engine NAME=COMMAND`.

The page knows an engine by its id, `engine/NAME`, and never by its command. The command is written as in the arena
without `uci:` (`selfmate.match.spec`): `stockfish?option.Hash=64`.

>>> split_name("Fish=stockfish?option.Hash=64")
('Fish', 'stockfish?option.Hash=64')
>>> split_name("stockfish")
Traceback (most recent call last):
...
selfmate.studio.outside_engine.OutsideEngineError: --engine is NAME=COMMAND, such as fish=stockfish, not 'stockfish'
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from selfmate.errors import SelfmateError, clip
from selfmate.match.spec import read_contestant
from selfmate.match.uci_client import FIRST_REPLY, EngineSpec, UciClient
from selfmate.search.limit import Limit

__all__ = [
    "ENGINE_PREFIX",
    "OutsideEngine",
    "OutsideEngineError",
    "count_open",
    "open_engine",
    "read_engines",
    "split_name",
]

ENGINE_PREFIX: Final = "engine/"
MOST_PROCESSES: Final = 16
"""Processes of engines at a time, of all games and pages."""
_processes: set[UciClient] = set()
_lock = threading.Lock()
_starters = ThreadPoolExecutor(MOST_PROCESSES, "engine starter")
"""Threads that start processes and stay: Linux ends an engine with the thread that started it (PR_SET_PDEATHSIG)."""


class OutsideEngineError(SelfmateError):
    """An engine of the command line cannot be used."""


@dataclass(frozen=True, slots=True)
class OutsideEngine:
    """An engine that has answered to `uci`."""

    name: str
    spec: EngineSpec
    title: str
    """As it calls itself."""
    only_chess: bool
    """Whether it has no option for variants."""
    elo_range: tuple[int, int] | None
    """Of its option UCI_Elo; None if its strength cannot be limited."""

    @property
    def id(self) -> str:
        """What the page calls it."""
        return f"{ENGINE_PREFIX}{self.name}"


def split_name(text: str) -> tuple[str, str]:
    """Return name and command of `NAME=COMMAND`, or raise `OutsideEngineError`."""
    name, equals, command = text.partition("=")
    if not equals or not command.strip() or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}", name) is None:
        raise OutsideEngineError(f"--engine is NAME=COMMAND, such as fish=stockfish, not {clip(text)!r}", text)
    return name, command


def read_engines(texts: Sequence[str]) -> list[OutsideEngine]:
    """Start every engine of a command line once, and return what it is; one that fails raises a `SelfmateError`."""
    engines: list[OutsideEngine] = []
    for text in texts:
        name, command = split_name(text)
        if any(each.name == name for each in engines):
            raise OutsideEngineError(f"two engines are named {name}", text)
        spec = read_contestant(f"uci:{command}", Limit(nodes=1)).engine  # a limit must be given; it is not used
        assert spec is not None
        with UciClient(spec, first_reply=FIRST_REPLY) as client:
            strength = client.options.get("uci_elo") if "uci_limitstrength" in client.options else None
            has_range = strength is not None and strength.low is not None and strength.high is not None
            engines.append(
                OutsideEngine(
                    name=name,
                    spec=spec,
                    title=client.name,
                    only_chess="uci_variant" not in client.options,
                    elo_range=(strength.low or 0, strength.high or 0) if strength is not None and has_range else None,
                )
            )
    return engines


def open_engine(engine: OutsideEngine, stopping: Callable[[], bool] = lambda: False) -> UciClient:
    """Start a process of an engine; raises a `SelfmateError` if it does not answer, or if there are too many."""
    if count_open() >= MOST_PROCESSES:
        raise OutsideEngineError(f"{MOST_PROCESSES} engines are running already: end a game or an analysis of one")
    client = _starters.submit(UciClient, engine.spec, first_reply=FIRST_REPLY, stopping=stopping).result()
    with _lock:
        _processes.add(client)
    return client


def count_open() -> int:
    """Return how many processes of engines run."""
    with _lock:
        _processes.difference_update([each for each in _processes if not each.is_running])
        return len(_processes)
