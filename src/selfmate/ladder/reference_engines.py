"""Engines that strength is measured with: found, and checked to play by the rules, and as the one that was measured.

Debian's Fairy-Stockfish 11.1 silently plays chess when it is asked for atomic. So nobody is believed: an engine counts
the leaves under a few positions (`go perft`), in which the variant differs from chess, and is refused if it is wrong.

Of Gardner 11.1 knows the rules, but with the same nodes it is another player than the one that a ladder was measured
with. An engine's name says nothing (that of our own build is the day of the build), so it answers a few questions: with
one thread and a limit of nodes Fairy-Stockfish finds the same move, score and nodes whoever compiled it, and wherever.

>>> [(depth, nodes) for _, depth, nodes in known_counts("atomic")][0]
(4, 197326)
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from selfmate.errors import SelfmateError, clip
from selfmate.match.spec import split_command
from selfmate.match.uci_client import FIRST_WORD, MORE_FOLDERS, Engine, EngineError, EngineSpec
from selfmate.util.text import many

__all__ = [
    "Answer",
    "Yardstick",
    "YardstickError",
    "build_fairy",
    "cache_folder",
    "check",
    "find_fairy",
    "find_stockfish",
    "interview",
]


FAIRY: Final = "fairy-stockfish"


STOCKFISH: Final = "stockfish"


NAMED: Final = "SELFMATE_FAIRY_STOCKFISH"
"""The environment variable that names a Fairy-Stockfish, as for `selfmate bench movegen`."""


WASM: Final = Path("node_modules", "fairy-stockfish-nnue.wasm", "uci.js")
"""Where npm puts the build for Node."""


NODE: Final = ("node", "--no-experimental-fetch")
"""With its own `fetch` Node 18 and later take the file of the engine for an address."""


COUNT_SECONDS: Final = 60.0


QUESTION_NODES: Final = (1, 1000)
"""Nodes for a question: the first shows how positions are judged, the second how they are searched. With more of them
builds for larger boards, whose hash keys are others, come to another result now and then (once at 10,000)."""


RIGHT_ONE: Final = (
    "selfmate ladder --build-engine builds the right one, --measure measures a ladder with another (docs/ladder.md)"
)


HOW: Final = (
    "selfmate ladder --build-engine builds one, --engine COMMAND names one, --without-engine climbs our own rungs "
    "(docs/ladder.md)"
)


class YardstickError(SelfmateError):
    """No engine that could be measured with."""


class Misfit(YardstickError):
    """An engine that plays otherwise than the one that a ladder was measured with."""


class Answer(NamedTuple):
    """What an engine finds in a position, fresh and with a limit of nodes."""

    fen: Annotated[str, Meta(pattern="^[ -~]{1,200}$")]
    limit: Annotated[int, Meta(ge=1, le=1_000_000)]
    move: str
    score: str
    """As we write it: `+0.31`, `-M2`; nothing where it gave none."""
    nodes: int
    """Those that it counted at the end; -1 where it did not say."""

    def __str__(self) -> str:
        return f"{clip(self.move)} ({self.score or 'no score'}, {self.nodes:,} nodes)"


class Yardstick(NamedTuple):
    """An engine that was checked."""

    command: tuple[str, ...]
    name: str
    """As it calls itself."""
    answers: tuple[Answer, ...] = ()
    """By which it can be told from one that plays otherwise."""


@cache
def _all_counts() -> dict[str, list[tuple[str, int, int]]]:
    text = (resources.files("selfmate") / "ladder/data" / "perft.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[tuple[str, int, int]]])


def known_counts(variant: str) -> list[tuple[str, int, int]]:
    """Give positions of a variant, and how many leaves they have at which depth; confirmed by several generators."""
    return _all_counts().get(variant, [])


def check(engine: Engine, variant: str) -> None:
    """Refuse an engine that does not play a variant by our rules."""
    engine.play_variant(variant)
    counts = known_counts(variant)
    if not counts:
        raise YardstickError(f"there are no known counts of {variant} to check an engine with", variant)
    for fen, depth, nodes in counts:
        found = engine.perft(fen, depth, seconds=COUNT_SECONDS)
        if found != nodes:
            raise YardstickError(
                f"{engine.name} does not play {variant} by its rules: {found:,} leaves at depth {depth} "
                f"of {fen}, which has {nodes:,}",
                variant,
            )


def interview(engine: Engine, variant: str, known: Sequence[Answer] = ()) -> tuple[Answer, ...]:
    """Ask an engine the questions of known answers, or ours; with the options that it has as a rung."""
    engine.play_variant(variant)
    questions = [each[:2] for each in known] or [
        (fen, limit) for fen, _, _ in known_counts(variant) for limit in QUESTION_NODES
    ]
    answers = []
    for fen, limit in questions:
        engine.new_game()
        thought = engine.think(fen, [], f"go nodes {limit}", seconds=COUNT_SECONDS)
        score = "" if thought.score is None else str(thought.score)
        answers.append(Answer(fen, limit, thought.move, score, -1 if thought.nodes is None else thought.nodes))
    return tuple(answers)


def find_fairy(
    variant: str,
    command: str | None = None,
    notice: Callable[[str], None] = lambda text: None,
    *,
    known: Sequence[Answer] = (),
) -> Yardstick:
    """Find a Fairy-Stockfish that plays a variant: the one that was named, or on the PATH, or in the cache folder.

    Who does not give the `known` answers is refused. `notice` hears whom we wait for when it takes long, and whom we
    passed over.
    """
    if command is not None:
        try:
            return _try(split_command(command), variant, notice, known)
        except Misfit as error:
            raise YardstickError(f"{error}; {RIGHT_ONE}", error.part) from None
    refused = []
    for words in _fairies():
        try:
            found = _try(words, variant, notice, known)
        except (EngineError, YardstickError) as error:
            refused.append(f"{shlex.join(words)}: {error}")
            continue
        for reason in refused:
            notice(f"passed over {reason}")
        return found
    reason = f": {'; '.join(refused)}" if refused else ""
    raise YardstickError(f"no Fairy-Stockfish for {variant} was found{reason}; {HOW}", variant)


def find_stockfish(notice: Callable[[str], None] = lambda text: None) -> Yardstick | None:
    """Find Stockfish for chess, which the system has or has not; its rungs are limited by time, so nothing is asked."""
    try:
        with _started((STOCKFISH,), notice) as engine:
            check(engine, "chess")
            return Yardstick((STOCKFISH,), engine.name)
    except (EngineError, YardstickError):
        return None


def _try(command: tuple[str, ...], variant: str, notice: Callable[[str], None], known: Sequence[Answer]) -> Yardstick:
    with _started(command, notice) as engine:
        check(engine, variant)
        answers = interview(engine, variant, known)
        for has, had in zip(answers, known, strict=False):
            if has != had:
                raise Misfit(
                    f"{engine.name} is another player than the one that the ladder was measured with: with "
                    f"{many(had.limit, 'node')} in {had.fen} it finds {has}, that one found {had}",
                    engine.name,
                )
        return Yardstick(command, engine.name, answers)


def _started(command: tuple[str, ...], notice: Callable[[str], None]) -> Engine:
    return Engine(EngineSpec(command=command), first_word=FIRST_WORD, notice=notice)


def _fairies() -> Iterator[tuple[str, ...]]:
    """Where one may be, in the order in which they are tried."""
    if named := os.environ.get(NAMED):
        yield split_command(named)
    if found := shutil.which(FAIRY, path=os.environ.get("PATH", os.defpath) + os.pathsep + MORE_FOLDERS):
        yield (found,)
    folder = cache_folder()
    if (folder / FAIRY).is_file():
        yield (str(folder / FAIRY),)
    if (folder / WASM).is_file() and shutil.which(NODE[0]):
        yield (*NODE, str(folder / WASM))


def cache_folder() -> Path:
    """Where engines lie that we built: `selfmate/engines` among the caches of the user."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(caches) / "selfmate" / "engines"


def build_fairy() -> Path:
    """Build Fairy-Stockfish into the cache folder, from the source distribution of pyffish (a minute or two)."""
    folder = cache_folder()
    for program in ("bash", os.environ.get("CXX", "g++")):
        if shutil.which(program) is None:
            raise YardstickError(f"building Fairy-Stockfish needs {clip(program)}, which is not there", program)
    with resources.as_file(resources.files("selfmate") / "ladder/data" / "build_fairy_stockfish.sh") as script:
        done = subprocess.run(
            ["bash", str(script), str(folder), "--plain"],
            env={"PYTHON": sys.executable, **os.environ},
            stdout=sys.stderr,
            check=False,
        )
    if done.returncode:
        raise YardstickError(f"building Fairy-Stockfish failed with exit code {done.returncode}; it says why above")
    return folder / FAIRY
