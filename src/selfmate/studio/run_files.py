"""What the files of a training run tell: its card, curves, newest games and events. Nothing is locked or changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from selfmate.errors import SelfmateError
from selfmate.rundir.format import Manifest, read_json, read_state
from selfmate.studio.messages import ChartSeries, RunCard, RunGame
from selfmate.studio.run_games import newest_games

__all__ = ["RunFiles", "charts_of", "log_of", "trainer_of"]

MOST_METRICS_BYTES: Final = 64 << 20
SHOWN_GAMES: Final = 12
SHOWN_EVENTS: Final = 8
MOST_POINTS: Final = 1500
"""Points of a curve; a longer one is thinned evenly, with its last point kept."""


def trainer_of(directory: Path) -> int | None:
    """Return the process that trains in a directory, None if there is none.

    The lock is not touched: the kernel lists it, and the file has the number of the process.
    """
    path = directory / "lock"
    try:
        inode = path.stat().st_ino
        process = int(path.read_text(encoding="ascii", errors="replace")[:20].strip() or 0)
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except (OSError, ValueError):
        return None
    for line in locks.splitlines():
        words = line.split()
        if len(words) >= 6 and "FLOCK" in words and any(word.endswith(f":{inode}") for word in words):
            return process if process > 0 and Path(f"/proc/{process}").exists() else None
    return None


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of one run."""

    directory: Path

    @property
    def id(self) -> str:
        """The id of the run: the name of its directory."""
        return self.directory.name

    def stamp(self) -> tuple[object, ...]:
        """Return a value that changes when the run does."""
        found: list[object] = [trainer_of(self.directory)]
        for name in ("state.json", "metrics.jsonl"):
            try:
                status = (self.directory / name).stat()
                found += [status.st_mtime_ns, status.st_size]
            except OSError:
                found.append(None)
        return tuple(found)

    def card(self) -> RunCard:
        """Return the run for a list; one that cannot be read has the status `broken` and says why."""
        try:
            manifest = read_json(self.directory / "manifest.json", Manifest)
            state = read_state(self.directory)
        except (SelfmateError, OSError) as error:
            reason = str(error) if isinstance(error, SelfmateError) else (error.strerror or str(error))
            return RunCard(
                id=self.id, name=self.id, variant="", recipe="", status="broken", cycle=0, games=0, seconds=0.0,
                message=reason.replace(f"{self.directory}/", "").replace(f"{self.directory}: ", ""),
            )  # fmt: skip
        return RunCard(
            id=self.id,
            name=manifest.name or self.id,
            variant=manifest.variant,
            recipe=manifest.recipe,
            status="running" if trainer_of(self.directory) is not None else "stopped",
            cycle=state.cycle,
            games=state.games,
            seconds=round(state.seconds, 1),
            message="",
            champion=state.champion,
            settings=list(manifest.settings),
        )

    def command(self) -> list[str]:
        """Return the arguments of `selfmate train` that resume the run."""
        manifest = read_json(self.directory / "manifest.json", Manifest)
        words = [manifest.recipe, "--run", str(self.directory)]
        words += [word for setting in manifest.settings for word in ("--set", setting)]
        return [*words, *(["--smoke"] if manifest.smoke else [])]

    def metrics(self) -> list[dict[str, Any]]:
        """Return the lines of metrics.jsonl, also those after the last commit; a line that is not whole ends it."""
        try:
            with (self.directory / "metrics.jsonl").open("rb") as file:
                data = file.read(MOST_METRICS_BYTES)
        except OSError:
            return []
        lines: list[dict[str, Any]] = []
        for line in data.splitlines():
            try:
                lines.append(msgspec.json.decode(line, type=dict[str, Any]))
            except msgspec.MsgspecError:
                break
        return lines

    def games(self) -> list[RunGame]:
        """Return the newest finished games that can be read."""
        return newest_games(self.directory, SHOWN_GAMES)

    def checkpoints(self) -> list[int]:
        """Return the cycles whose nets are kept, the newest first; none of a run that cannot be read."""
        try:
            return sorted((each.cycle for each in read_state(self.directory).checkpoints), reverse=True)
        except (SelfmateError, OSError):
            return []


TRUNCATED: Final = "truncated"
"""Share of the games that reached the most plies; few recipes have any."""
CHARTS: Final[dict[str, tuple[tuple[str, str, str], ...]]] = {
    "policy": (("held out", "learn", "held_out_policy"), ("learned", "learn", "learned_policy")),
    "value": (("held out", "learn", "held_out_value"), ("learned", "learn", "learned_value")),
    "results": (
        ("White", "play", "white"),
        ("drawn", "play", "draws"),
        ("Black", "play", "black"),
        ("cut off", "play", TRUNCATED),
    ),
    "plies": (("plies", "play", "plies"),),
    "games": (("games", "play", "games_per_second"),),
    "evaluations": (("evaluations", "play", "evaluations_per_second"),),
    "elo": (("Elo", "progress", "elo"),),
    "positions": (("positions", "play", "positions"),),
    "use": (("GPU", "play", "gpu_use"), ("processors", "play", "cpu_use")),
    "entropy": (("targets", "play", "entropy"),),
}
"""By chart: name, stage and key of each curve in metrics.jsonl."""


def charts_of(lines: list[dict[str, Any]]) -> dict[str, list[ChartSeries]]:
    """Return the curves of all charts over the cycle; those without a point are left out.

    >>> charts_of([{"stage": "play", "cycle": 0, "plies": 40.0}])["plies"][0].y
    [40.0]
    """
    charts: dict[str, list[ChartSeries]] = {}
    for chart, curves in CHARTS.items():
        found = []
        for name, stage, key in curves:
            points = [line for line in lines if line.get("stage") == stage and _is_number(line.get(key))]
            points = _thinned([line for line in points if _is_number(line.get("cycle"))])
            if key == TRUNCATED and not any(line[key] for line in points):
                continue
            if points:
                has_error = chart == "elo" and all(_is_number(line.get("error")) for line in points)
                found.append(
                    ChartSeries(
                        name=name,
                        x=[float(line["cycle"]) for line in points],
                        y=[float(line[key]) for line in points],
                        error=[float(line["error"]) for line in points] if has_error else None,
                    )
                )
        if found:
            charts[chart] = found
    return charts


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _thinned(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    step = -(-len(points) // MOST_POINTS)
    return points if step <= 1 else [*points[:-1:step], points[-1]]


def _opponent(name: str) -> str:
    return "its untrained net" if name == "untrained" else name


SENTENCES: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "play": lambda line: f"cycle {line['cycle']}: {line['games']:,} games, {line['positions']:,} positions",
    "progress": lambda line: f"Elo {line['elo']:.0f} ± {line['error']:.0f} on the ladder of this run".replace(
        "-", "\N{MINUS SIGN}"
    ),
    "gate": lambda line: f"candidate of cycle {line['cycle']} {'is the champion' if line['passed'] else 'was refused'}",
    "rollback": lambda line: f"learning went wrong at step {line['step']:,} and was taken back",
    "final": lambda line: (
        f"cycle {line['champion']} against {_opponent(line['opponent'])}: "
        f"{100 * line['score']:.0f} % [{100 * line['score_low']:.0f}, {100 * line['score_high']:.0f}] "
        f"of {line['games']:,} games"
    ),
}


def log_of(lines: list[dict[str, Any]]) -> list[tuple[float, str]]:
    """Return the newest events with their seconds of training, the newest first."""
    events: list[tuple[float, str]] = []
    for line in reversed(lines):
        sentence = SENTENCES.get(str(line.get("stage")))
        if sentence is not None:
            try:
                events.append((float(line.get("time", 0.0)), sentence(line)))
            except (KeyError, TypeError, ValueError):  # a line of another version
                continue
        if len(events) >= SHOWN_EVENTS:
            break
    return events
