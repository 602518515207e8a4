"""Engines that strength is measured with: found, and checked to play the rules that they claim to play.

Debian's Fairy-Stockfish 11.1 silently plays chess when it is asked for atomic. So nobody is believed: an engine counts
the leaves under a few positions (`go perft`), in which the variant differs from chess, and is refused if it is wrong.

>>> [(depth, nodes) for _, depth, nodes in known_counts("atomic")][0]
(4, 197326)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from selfmate.contestant import split_command
from selfmate.engine import FIRST_WORD, MORE_FOLDERS, Engine, EngineError, EngineSpec
from selfmate.errors import SelfmateError, clip

__all__ = ["Yardstick", "YardstickError", "build_fairy", "cache_folder", "check", "find_fairy", "find_stockfish"]

FAIRY: Final = "fairy-stockfish"
STOCKFISH: Final = "stockfish"
NAMED: Final = "SELFMATE_FAIRY_STOCKFISH"
"""The environment variable that names a Fairy-Stockfish, as for `selfmate bench movegen`."""
WASM: Final = Path("node_modules", "fairy-stockfish-nnue.wasm", "uci.js")
"""Where npm puts the build for Node."""
NODE: Final = ("node", "--no-experimental-fetch")
"""With its own `fetch` Node 18 and later take the file of the engine for an address."""
COUNT_SECONDS: Final = 60.0
HOW: Final = (
    "selfmate ladder --build-engine builds one, --engine COMMAND names one, --without-engine climbs our own rungs "
    "(docs/ladder.md)"
)


class YardstickError(SelfmateError):
    """No engine that could be measured with."""


class Yardstick(NamedTuple):
    """An engine that was checked."""

    command: tuple[str, ...]
    name: str
    """As it calls itself."""


@cache
def _all_counts() -> dict[str, list[tuple[str, int, int]]]:
    text = (resources.files("selfmate") / "ladders" / "perft.json").read_bytes()
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


def find_fairy(
    variant: str, command: str | None = None, notice: Callable[[str], None] = lambda text: None
) -> Yardstick:
    """Find a Fairy-Stockfish that plays a variant: the one that was named, or on the PATH, or in the cache folder.

    `notice` hears whom we wait for when it takes long.
    """
    if command is not None:
        return _try(split_command(command), variant, notice)
    refused = []
    for words in _fairies():
        try:
            return _try(words, variant, notice)
        except EngineError as error:
            refused.append(str(error))
        except YardstickError as error:
            refused.append(str(error))
    reason = f": {'; '.join(refused)}" if refused else ""
    raise YardstickError(f"no Fairy-Stockfish that plays {variant} was found{reason}; {HOW}", variant)


def find_stockfish(notice: Callable[[str], None] = lambda text: None) -> Yardstick | None:
    """Find Stockfish for chess, which the system has or has not."""
    try:
        return _try((STOCKFISH,), "chess", notice)
    except (EngineError, YardstickError):
        return None


def _try(command: tuple[str, ...], variant: str, notice: Callable[[str], None]) -> Yardstick:
    with Engine(EngineSpec(command=command), first_word=FIRST_WORD, notice=notice) as engine:
        check(engine, variant)
        return Yardstick(command, engine.name)


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
    with resources.as_file(resources.files("selfmate") / "ladders" / "build_fairy_stockfish.sh") as script:
        done = subprocess.run(
            ["bash", str(script), str(folder), "--plain"],
            env={"PYTHON": sys.executable, **os.environ},
            stdout=sys.stderr,
            check=False,
        )
    if done.returncode:
        raise YardstickError(f"building Fairy-Stockfish failed with exit code {done.returncode}; it says why above")
    return folder / FAIRY
