"""A player: a position and a limit in, what the search found out.

>>> from selfmate.game import Position
>>> position = Position("atomic", "r1b1kb2/1ppq2p1/4ppN1/p7/3p3P/4P1P1/PP1P1P2/R3K2R w KQq - 2 10")
>>> result = Player("heuristic-1").search(position, Limit(visits=100))
>>> position.san(result.best), result.proven, result.value
('Nxf8#', 1, 1.0)

Who plays is said by one word, its spec: an evaluator of the core (`heuristic-1`, `uniform`, `fake`), `random`, the
folder or the ONNX file of a net, the name of one that `selfmate nets` lists, or the directory of a run, which stands
for its champion; `runs/NAME:untrained`, `runs/NAME:newest` and `runs/NAME:12` are other nets of a run.
"""

from __future__ import annotations

import contextlib
import math
import random
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate import _core
from selfmate._core import Move, Search, SearchConfig, SearchResult
from selfmate.errors import SearchError, SelfmateError, clip
from selfmate.evaluator import NATIVE, Evaluator, open_evaluator

if TYPE_CHECKING:
    from selfmate.net import Net

__all__ = [
    "RANDOM",
    "Limit",
    "MoveResult",
    "Player",
    "PlayerError",
    "Result",
    "batch_size",
    "find_player",
    "label",
    "net_name",
    "net_of_run",
    "play_config",
    "result_of",
    "run_name",
]

RANDOM: Final = "random"
"""The player that plays any legal move."""

FAKE: Final = "fake"
"""An evaluator of the core for tests, which nobody needs to be told of."""

# Leaves of one tree that are evaluated at once are chosen without knowing of each other. Batches against single leaves
# (heuristic-1, atomic, 800 visits; docs/log.md): 50 ± 6 % with 8 leaves, 45 ± 6 % with 16, 33 ± 9 % with 64. So a batch
# grows with the tree, from as many as a net does in about the time of one.
SMALLEST_BATCH: Final = 8
LARGEST_BATCH: Final = 64
VISITS_PER_LEAF: Final = 64

NATIVE_VISITS: Final = 2000
"""Visits between two looks at the clock, with an evaluator of the core: some milliseconds."""

ENDLESS: Final = (1 << 32) - 1
"""Visits of a search that only something else ends."""

NOISE: Final = 0.25
"""Share of Dirichlet noise in the priors of the root, as AlphaZero has it."""

MAX_TREE_BYTES: Final = 1 << 30
"""A tree of this size gives up its least visited half."""

MAX_STATE_BYTES: Final = 64 << 20


class PlayerError(SelfmateError):
    """A player that does not exist, or cannot play what it is asked to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these. Seconds are looked at between batches of leaves.

    >>> Limit(visits=800)
    Limit(visits=800, seconds=None, nodes=None)
    >>> Limit()
    Traceback (most recent call last):
    ...
    selfmate.player.PlayerError: a limit needs visits, seconds or nodes
    """

    visits: int | None = None
    """Playouts."""
    seconds: float | None = None
    nodes: int | None = None
    """Positions in the tree."""

    def __post_init__(self) -> None:
        if self.visits is None and self.seconds is None and self.nodes is None:
            raise PlayerError("a limit needs visits, seconds or nodes")
        for name, number in (("visits", self.visits), ("nodes", self.nodes)):
            if number is not None and not 1 <= number <= ENDLESS:
                raise PlayerError(f"{name} of a limit go from 1 to {ENDLESS}, not {number}", str(number))
        if self.seconds is not None and not (self.seconds > 0 and math.isfinite(self.seconds)):
            raise PlayerError(f"seconds of a limit are more than nothing, not {self.seconds}", str(self.seconds))


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveResult:
    """What a search found out about one move."""

    move: Move
    visits: int
    value: float
    """For the side to move at the root, -1 to 1."""
    draw: float
    """Probability of a draw."""
    prior: float
    proven: int | None
    pv: tuple[Move, ...]
    """The line that is expected, with this move first."""
    net_value: float | None = None
    """What the evaluator alone says of the position behind it, seen as `value` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a search found; value and wdl are those of the side to move."""

    best: Move
    value: float
    """Win minus loss, -1 to 1."""
    wdl: tuple[float, float, float]
    """Probabilities of win, draw and loss."""
    proven: int | None
    """Plies to a forced win (positive) or loss (negative), 0 for a draw, None while nothing is proven."""
    pv: tuple[Move, ...]
    moves: tuple[MoveResult, ...]
    """Every legal move, the best first."""
    visits: int
    nodes: int
    """Positions in the tree."""
    seconds: float
    depth: float
    """Mean length of the playouts."""
    seldepth: int
    """The longest one."""
    net_value: float | None = None
    """What the evaluator alone says of the position."""

    @property
    def nodes_per_second(self) -> float:
        """How fast the tree grew."""
        return self.nodes / self.seconds if self.seconds else 0.0


class Player:
    """Somebody who plays: a net, or an evaluator of the core, behind a search; or `random`.

    `source` is a spec (see above), an evaluator, or a net in memory. `threads`, `device` and `backend` are those of the
    net (see `open_evaluator`).

    >>> Player("heuristik-1")
    Traceback (most recent call last):
    ...
    selfmate.player.PlayerError: no player is called 'heuristik-1'; did you mean 'heuristic-1'?
    """

    def __init__(
        self,
        source: str | Path | Evaluator | Net,
        *,
        device: str = "cpu",
        threads: int | None = None,
        backend: str | None = None,
    ) -> None:
        self.evaluator: Evaluator | str
        """What judges positions: an evaluator, or the name of one of the core, or `random`."""
        self.name: str
        """Printable, for tables and PGN."""
        self.path: Path | None = None
        """Where its net lies, if it comes from a file: a folder, or an ONNX file."""
        options: dict[str, Any] = {"device": device, "threads": threads}
        if backend is not None:
            options["backend"] = backend
        if isinstance(source, Evaluator):
            self.name, self.evaluator = source.net_id[:12], source
        elif isinstance(source, str | Path):
            name, where = find_player(str(source))
            self.name = "".join(letter if letter.isprintable() else "?" for letter in name)
            self.path = where if isinstance(where, Path) else None
            self.evaluator = where if isinstance(where, str) else open_evaluator(where, **options)
        else:
            self.evaluator = open_evaluator(source, **options)
            self.name = self.evaluator.net_id[:12]

    @property
    def variant(self) -> str | None:
        """The variant that it can play; None when it plays all of them."""
        return None if isinstance(self.evaluator, str) else self.evaluator.variant

    def check(self, variant: str) -> None:
        """Refuse a variant that it cannot play (`chess960` is chess here)."""
        if self.variant is not None and variant.removesuffix("960") != self.variant.removesuffix("960"):
            raise PlayerError(f"{self.name} plays {self.variant}, not {clip(variant)}", variant)

    def search(self, position: _core.Position, limit: Limit, *, noise: bool = False, seed: int = 0) -> Result:
        """Search a position that is not over. `noise` (drawn from `seed`) makes the player try other moves too.

        >>> from selfmate.game import Position
        >>> result = Player("uniform").search(Position("gardner"), Limit(visits=50))
        >>> result.visits, sum(each.visits for each in result.moves), result.best == result.pv[0]
        (50, 50, True)
        """
        self.check(position.variant)
        if position.outcome() is not None:
            raise SearchError("there is no move to search for: the game is over", position.fen())
        began = time.perf_counter()
        if self.evaluator == RANDOM:
            return _random_result(position, seed, began)
        search = Search(position, play_config(noise=noise), limit.visits or ENDLESS, seed)
        room = ENDLESS if limit.nodes is None else limit.nodes
        while not search.done() and room > 0:
            self._search_on(search, room)
            if limit.seconds is not None and time.perf_counter() - began >= limit.seconds:
                break
            if limit.nodes is not None:
                room = limit.nodes - search.result().nodes
        return result_of(search.result(), time.perf_counter() - began)

    def _search_on(self, search: Search, room: int) -> None:
        """Go on with a search for a short time, and for `room` positions at most."""
        if isinstance(self.evaluator, str):
            search.run(self.evaluator, min(NATIVE_VISITS, room))
            return
        leaves = search.gather(min(batch_size(search.visits), room))
        if leaves.size:  # else every playout ended by the rules
            priors, wdl, _ = self.evaluator.evaluate(leaves)
            search.apply(leaves.ticket, priors, wdl)


def play_config(
    *,
    lcb: bool = True,
    noise: bool = False,
    gumbel: bool = False,
    draw_score: float = 0.0,
    max_bytes: int = MAX_TREE_BYTES,
) -> SearchConfig:
    """Give the search of everybody who plays to win, the choice of the move included; training has one of its own.

    `lcb` plays the move whose value is surely the highest, and otherwise it is the most visited one: 50 to 58 % for it
    in matches (docs/log.md). `noise` is for other moves than the surest, so the visits choose; a `gumbel` root,
    which has no noise here, has a choice of its own.
    """
    return SearchConfig(
        stop_when_proven=False,  # a proven win is searched on: a shorter one may be there
        lcb=lcb and not noise and not gumbel,
        gumbel=gumbel,
        gumbel_scale=0.0,
        noise_epsilon=NOISE if noise else 0.0,
        draw_score=draw_score,
        max_bytes=max_bytes,
    )


def batch_size(visits: int) -> int:
    """Say how many leaves to evaluate at once in a tree of so many visits.

    >>> [batch_size(visits) for visits in (0, 800, 100_000)]
    [8, 12, 64]
    """
    return max(SMALLEST_BATCH, min(LARGEST_BATCH, visits // VISITS_PER_LEAF))


def result_of(found: SearchResult, seconds: float) -> Result:
    """Give what a search of the core found."""
    moves = tuple(
        MoveResult(
            move=stats.move,
            visits=stats.visits,
            value=stats.value,
            draw=stats.draw,
            prior=stats.prior,
            proven=stats.proven,
            pv=tuple(stats.pv),
            net_value=stats.net_value,
        )
        for stats in found.moves
    )
    return Result(
        best=found.best,
        value=found.value,
        wdl=found.wdl,
        proven=found.proven,
        pv=tuple(found.pv),
        moves=moves,
        visits=found.visits,
        nodes=found.nodes,
        seconds=seconds,
        depth=found.depth,
        seldepth=found.seldepth,
        net_value=found.net_value,
    )


def _random_result(position: _core.Position, seed: int, began: float) -> Result:
    """Choose any move; the same one for the same seed, position and number of moves played."""
    legal = position.legal_moves
    random.Random(f"{seed} {len(position.move_stack)} {position.key}").shuffle(legal)
    share = 1 / len(legal)
    moves = tuple(
        MoveResult(move=move, visits=0, value=0.0, draw=1 / 3, prior=share, proven=None, pv=(move,)) for move in legal
    )
    return Result(
        best=legal[0],
        value=0.0,
        wdl=(1 / 3, 1 / 3, 1 / 3),
        proven=None,
        pv=(legal[0],),
        moves=moves,
        visits=0,
        nodes=0,
        seconds=time.perf_counter() - began,
        depth=0.0,
        seldepth=0,
    )


# -- who a spec means -----------------------------------------------------------------------------


def find_player(spec: str, *, engine: str = "") -> tuple[str, str | Path]:
    """Give the name of a player, and the evaluator of the core or the net that it plays with.

    `engine` is how an engine of that name is written, where engines can play; for a hint.
    """
    from selfmate import nets
    from selfmate.export import ONNX_NAME
    from selfmate.weights import JSON_NAME, TENSORS_NAME

    if spec in (*NATIVE, RANDOM):
        return spec, spec
    try:
        path, which = (Path(spec), "") if Path(spec).exists() else _split(spec)
        if path.name in (JSON_NAME, TENSORS_NAME):  # a file of a net's folder
            path = path.parent
        if (path / "manifest.json").is_file():
            return net_of_run(path, which)
        if not which and path.is_file() and path.suffix == ".onnx":
            return path.resolve().stem, path
        if not which and any((path / name).is_file() for name in (JSON_NAME, ONNX_NAME)):
            return _name_of_folder(path.resolve()), path
        exists = path.exists()
        if not exists and (shipped := nets.named(spec)) is not None:
            return spec, shipped
    except SelfmateError:
        raise
    except (OSError, ValueError):  # what is too long or cannot be in a path
        exists = False
    if spec.strip() and exists and not which:
        meant = f"; did you mean {engine!r}?" if engine and shutil.which(spec) else ""
        raise PlayerError(f"{clip(spec)}: neither a net ({JSON_NAME} or .onnx) nor a run{meant}", spec)
    raise PlayerError(f"no player is called {clip(spec)!r}; {_hint(spec, engine)}", spec)


def _name_of_folder(path: Path) -> str:
    """Name the net of a folder; a checkpoint of a run is what it is called everywhere."""
    run = path.parent.parent
    if path.parent.name == "checkpoints" and path.name.isdecimal() and (run / "manifest.json").is_file():
        return net_name(run, int(path.name))
    return path.name


def _split(spec: str) -> tuple[Path, str]:
    """Cut `runs/NAME:which` in two."""
    path, colon, which = spec.rpartition(":")
    return (Path(path), which) if colon else (Path(spec), "")


def _hint(spec: str, engine: str) -> str:
    """Say what the spec might have been."""
    import difflib  # not needed until something is wrong

    from selfmate import nets

    who, question, _ = spec.partition("?")
    if who.startswith("uci:"):
        return "engines play in selfmate arena and selfmate ladder"
    here = [str(path.parent) for path in sorted(Path("runs").glob("*/manifest.json"))]
    names = (*(name for name in NATIVE if name != FAKE), RANDOM, *(net.name for net in nets.shipped()))
    if question and who in names:
        return f"what stands behind ? is for selfmate arena and selfmate ladder; here write {who} and options"
    known = {name: name for name in names} | {Path(path).name: path for path in here}
    if engine and shutil.which(spec):
        return f"did you mean {engine!r}?"
    near = difflib.get_close_matches(clip(Path(spec).name), known, n=1)
    if near:
        return f"did you mean {known[near[0]]!r}?"
    more = "; a UCI engine is written uci:COMMAND?nodes=1000" if engine else ""
    return f"there are {', '.join(names)}, the folder or .onnx file of a net, and run directories{more}"


def net_of_run(directory: Path, which: str = "") -> tuple[str, Path]:
    """Give name and folder of a net of a run: its champion, `untrained`, `newest`, or that of a cycle by its number.

    The run may be at work: its commits are whole at every instant.
    """
    import msgspec

    from selfmate.run import FORMAT, Format, State, describe_format

    try:
        data = _read(directory / "state.json")
        found = msgspec.json.decode(data, type=Format).format
        if found != FORMAT:
            raise PlayerError(describe_format(directory, found), str(directory))
        state = msgspec.json.decode(data, type=State)
    except FileNotFoundError:
        raise PlayerError(f"{directory}: this run has no net yet", str(directory)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise PlayerError(f"{directory}: not a run, or damaged: {clip(reason)}", str(directory)) from None
    cycles = sorted(checkpoint.cycle for checkpoint in state.checkpoints)
    if not cycles:
        raise PlayerError(f"{directory}: this run has no net yet", str(directory))
    words = {"": state.champion, "champion": state.champion, "untrained": 0, "newest": cycles[-1]}
    cycle = int(which) if which.isdecimal() and len(which) < 10 else words.get(which)
    if cycle not in cycles:
        there = f"champion, untrained, newest, and the cycles {', '.join(map(str, cycles))}"
        raise PlayerError(f"{directory} has no net {clip(which)!r}; there are {there}", which)
    return net_name(directory, cycle), directory / state.checkpoint(cycle).name


def run_name(directory: Path) -> str:
    """Name a run, by its first directory: recipes have many runs, and a copy is still the same one.

    >>> run_name(Path("runs/first"))
    'first'
    """
    import msgspec

    found = None
    with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        found = msgspec.json.decode(_read(directory / "manifest.json"), type=dict[str, Any]).get("name")
    return found if found and isinstance(found, str) else directory.resolve().name


def net_name(directory: Path, cycle: int) -> str:
    """Name a net of a run, the same in every table and PGN.

    >>> net_name(Path("runs/first"), 0), net_name(Path("runs/first/"), 12)
    ('first untrained', 'first cycle 12')
    """
    return f"{run_name(directory)} {f'cycle {cycle}' if cycle else 'untrained'}"


def label(name: str, visits: int) -> str:
    """Name a player with what makes it another one: its visits, of which `random` has none.

    >>> label("first cycle 12", 64), label("heuristic-1", 1), label("random", 0)
    ('first cycle 12 (64 visits)', 'heuristic-1 (1 visit)', 'random')
    """
    return f"{name} ({visits} visit{'' if visits == 1 else 's'})" if visits else name


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_STATE_BYTES)
