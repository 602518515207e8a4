"""Reading a run: its games, metrics and training samples, also as DataFrames. Nothing is locked or changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from selfmate._core import Buffer, GameRecord, Move, Samples
from selfmate.board.position import Position
from selfmate.errors import RecordError, clip, clip_repr
from selfmate.rundir.format import Manifest, RunError, Shard, State, read_committed, read_metrics, read_run
from selfmate.rundir.games import unpack_games
from selfmate.util.frames import to_frame
from selfmate.util.numbers import whole_number

__all__ = ["RunReader", "RunSample"]

MAX_BATCH: Final = 1_000_000
MAX_SEED: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSample:
    """A position that the learner trains on, with its targets."""

    game_id: int
    cycle: int
    ply: int
    position: Position
    policy: dict[Move, float]
    """Target of the policy: weights of the moves, of sum one."""
    visits: dict[Move, int]
    value: float
    """What the improved policy of the search expects, for the side to move, -1 to 1."""
    draw: float
    """Share of draws that it expects."""
    net_value: float
    """Of the evaluator."""
    result: float | None
    """Result of the game for the side to move, 1, 0 or -1; None for a game that was truncated."""
    plies: int
    """Plies to the end of the game."""


class RunReader:
    """A run directory that is read only; a trainer may be at work in it. `selfmate.Run` is this class.

    `Run.open` reads the last commit; games and metrics that are written later are not seen. Every method raises
    `RunError` for files that are missing or damaged, `RecordError` for games that are not what they were.

    >>> from selfmate import Run
    >>> Run.open("runs/nowhere")
    Traceback (most recent call last):
    ...
    selfmate.rundir.format.RunError: runs/nowhere: not a run directory: it has no manifest.json
    """

    def __init__(self, directory: Path, manifest: Manifest, state: State) -> None:
        self.directory = directory
        self.manifest = manifest
        """Where the run comes from: recipe, seed, versions, hardware."""
        self.state = state
        """The commit that is read."""

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """Return a reader of the run in a directory; raise `RunError` if there is none."""
        try:
            path = Path(directory)
            return cls(path, *read_run(path))
        except (OSError, TypeError, ValueError) as error:
            if isinstance(error, RunError):
                if str(error).isprintable():
                    raise
                shown = "".join(letter if letter.isprintable() else "?" for letter in str(error))
                raise RunError(shown, shown) from None
            shown = clip_repr(directory)
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())  # an OSError repeats the path
            given: object = directory
            if isinstance(given, str | Path) and str(given).isprintable():
                shown = clip(str(given))
            raise RunError(f"{shown}: not a run directory: {reason}", shown) from None

    def __repr__(self) -> str:
        return f"Run({str(self.directory)!r}, {self.variant}, cycle {self.cycle}, {self.state.games} games)"

    @property
    def variant(self) -> str:
        """The variant of its games."""
        return self.manifest.variant

    @property
    def cycle(self) -> int:
        """Cycles that are complete."""
        return self.state.cycle

    # -- games --------------------------------------------------------------------------------------------------------

    def games(self, *, newest: int | None = None, cycle: int | None = None) -> Iterator[GameRecord]:
        """Yield the games that the run keeps, oldest first; with `newest` only that many, the last ones.

        With `cycle` only those of that cycle, from which `newest` takes. One file of games is in memory at a time.
        """
        for _, record in self._records(newest, cycle):
            yield record

    def games_frame(self, *, newest: int | None = None, library: str | None = None) -> Any:
        """Return the games as a DataFrame of pandas or polars (`selfmate.util.frames`), a row for each.

        Columns: `game_id`, `cycle`, `net` (the cycle whose net played), `variant`, `start_fen`, `moves` (UCI),
        `plies`, `random_plies`, `result`, `reason`, `positions` (number of trained ones).
        """
        rows = [
            {
                "game_id": record.game_id,
                "cycle": shard.cycle,
                "net": shard.net,
                "variant": f"{record.variant}960" if record.chess960 else record.variant,
                "start_fen": record.start_fen,
                "moves": " ".join(move.uci() for move in record.moves),
                "plies": len(record.moves),
                "random_plies": record.random_plies,
                "result": record.result,
                "reason": record.reason,
                "positions": record.positions,
            }
            for shard, record in self._records(newest)
        ]
        names = [
            "game_id",
            "cycle",
            "net",
            "variant",
            "start_fen",
            "moves",
            "plies",
            "random_plies",
            "result",
            "reason",
            "positions",
        ]
        return to_frame({name: [row[name] for row in rows] for name in names}, library)

    def _records(self, newest: int | None, cycle: int | None = None) -> Iterator[tuple[Shard, GameRecord]]:
        shards = sorted(self.state.shards, key=lambda shard: shard.first)
        if cycle is not None:
            wanted = whole_number("cycle", cycle, 0, MAX_SEED, RunError)
            shards = [shard for shard in shards if shard.cycle == wanted]
        skipped = (
            0
            if newest is None
            else max(0, sum(shard.games for shard in shards) - whole_number("newest", newest, 1, MAX_SEED, RunError))
        )
        for shard in shards:
            if skipped >= shard.games:
                skipped -= shard.games
                continue
            path = str(self.directory / shard.name)
            for record in unpack_games(read_committed(self.directory, shard.name, shard.stamp), path)[skipped:]:
                yield shard, GameRecord.from_bytes(record)
            skipped = 0

    # -- metrics ------------------------------------------------------------------------------------------------------

    def metrics(self, stage: str | None = None) -> list[dict[str, Any]]:
        """Return the lines of metrics.jsonl, oldest first; with `stage` only those of that step of the loop.

        The stages of a training are `play`, `learn` (a cycle each), `step` (every few steps of the learner), `gate`,
        `progress`, `engine` and `final` (matches), `grow`, `rollback` and `study`. A stage that the run does not have
        has no lines.
        """
        given: object = stage
        if given is not None and not isinstance(given, str):
            shown = clip_repr(given)
            raise RunError(f"stage must be the name of a step of the loop, such as 'learn', not {shown}", shown)
        try:
            lines = read_metrics(self.directory, self.state)
        except OSError as error:
            path = self.directory / "metrics.jsonl"
            raise RunError(f"{path}: {error.strerror or error}", str(path)) from error
        return [line for line in lines if stage is None or line.get("stage") == stage]

    def metrics_frame(self, stage: str | None = None, *, library: str | None = None) -> Any:
        """Return the metrics as a DataFrame, a row for each line; what a line does not have is missing."""
        lines = self.metrics(stage)
        names = dict.fromkeys(name for line in lines for name in line)
        return to_frame({name: [line.get(name) for line in lines] for name in names}, library)

    # -- samples ------------------------------------------------------------------------------------------------------

    def samples(self, *, newest: int | None = None) -> Iterator[RunSample]:
        """Yield the positions that the learner trains on, game by game, oldest first (`newest` counts games)."""
        for shard, record in self._records(newest):
            yield from _samples_of(record, shard.cycle)

    def samples_frame(self, *, newest: int | None = None, library: str | None = None) -> Any:
        """Return the samples as a DataFrame, a row for each.

        Columns: `game_id`, `cycle`, `ply`, `fen`, `moves` and `weights` (lists: the policy target), `visits` (their
        sum), `value`, `draw`, `net_value`, `result`, `plies`.
        """
        names = [
            "game_id",
            "cycle",
            "ply",
            "fen",
            "moves",
            "weights",
            "visits",
            "value",
            "draw",
            "net_value",
            "result",
            "plies",
        ]
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for sample in self.samples(newest=newest):
            columns["fen"].append(sample.position.fen())
            columns["moves"].append([move.uci() for move in sample.policy])
            columns["weights"].append(list(sample.policy.values()))
            columns["visits"].append(sum(sample.visits.values()))
            for name in ("game_id", "cycle", "ply", "value", "draw", "net_value", "result", "plies"):
                columns[name].append(getattr(sample, name))
        return to_frame(columns, library)

    def batch(self, size: int, *, seed: int = 0, mirror: bool = True, newest: int | None = None) -> Samples:
        """Return a batch as the learner draws it: arrays of inputs and targets of `size` positions.

        Positions are drawn uniformly from the games, or from the `newest` of them; `mirror` exchanges left and right in
        half of those without castling rights. The result is a function of `seed` and the games.
        """
        wanted = whole_number("size", size, 1, MAX_BATCH, RunError)
        drawn_by = whole_number("seed", seed, 0, MAX_SEED, RunError)
        buffer = Buffer(self.variant, 1 << 62, 1)
        for record in self.games(newest=newest):
            buffer.add(record)
        if not buffer.positions:
            raise RecordError("the run has no trained positions yet", str(self.directory))
        return buffer.sample(wanted, drawn_by, mirror)


def _samples_of(record: GameRecord, cycle: int) -> Iterator[RunSample]:
    """Replay a game, and yield its trained positions."""
    position = Position(f"{record.variant}960" if record.chess960 else record.variant, record.start_fen)
    trained = {entry["ply"]: entry for entry in record.trained()}
    moves = record.moves
    for ply in range(len(moves) + 1):
        if ply in trained:
            entry = trained[ply]
            total = sum(entry["weights"].values()) or 1.0
            result = None
            if record.outcome is not None:
                winner = record.outcome.winner
                result = 0.0 if winner is None else 1.0 if winner == position.turn else -1.0
            yield RunSample(
                game_id=record.game_id,
                cycle=cycle,
                ply=ply,
                position=position.copy(),
                policy={Move.from_uci(move): weight / total for move, weight in entry["weights"].items()},
                visits={Move.from_uci(move): visits for move, visits in entry["visits"].items()},
                value=entry["value"],
                draw=entry["draw"],
                net_value=entry["net_value"],
                result=result,
                plies=len(moves) - ply,
            )
        if ply < len(moves):
            position.play(moves[ply])
