"""Calibration of a ladder: the ratings of its players and their games, measured once per variant and shipped.

>>> weakest = read_calibration("gardner").players[0]
>>> weakest.name, weakest.elo, weakest.error
('random', 0.0, 0.0)

The scale is our own: `random` is 0, and 400 points are odds of ten to one. It is not comparable with ratings of people,
of Lichess or of another variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.ladder.players import FAIRY
from selfmate.ladder.reference_engines import Fingerprint, ReferenceEngine
from selfmate.rating.elo import Results, fit
from selfmate.search.spec import RANDOM, current_name
from selfmate.util.files import write_output
from selfmate.util.text import other_format

__all__ = [
    "Calibration",
    "CalibrationError",
    "PlayerCalibration",
    "calibrate",
    "read_calibration",
    "write_calibration",
]

MAX_BYTES: Final = 1 << 20
FORMAT: Final = 1


class CalibrationError(SelfmateError):
    """There is no calibration, or its file is not valid."""


class PlayerCalibration(Struct, frozen=True, forbid_unknown_fields=True):
    """The measured rating of a ladder player."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    elo: Annotated[float, Meta(ge=-10_000, le=10_000)]
    error: Annotated[float, Meta(ge=0, le=10_000)]
    """Half the 95 % interval of its distance to `random`."""
    games: Annotated[int, Meta(ge=0)]


class Calibration(
    Struct,
    frozen=True,
    forbid_unknown_fields=True,
    kw_only=True,
    rename={"fingerprints": "answers", "players": "rungs"},  # keys of format 1
):
    """A calibrated ladder: its players from the weakest to the strongest, and the games between them."""

    format: int = FORMAT
    variant: str
    measured: str
    """Date, ISO 8601."""
    command: str
    """Command line that made the file."""
    engines: dict[str, str]
    """Names of the engines, by kind."""
    note: str
    """Machine and engine build: players limited by time depend on them."""
    fingerprints: tuple[Fingerprint, ...] = ()
    """Those of the Fairy-Stockfish that played: an engine with others is another player."""
    players: tuple[PlayerCalibration, ...]
    results: tuple[tuple[str, str, int, int, int], ...]
    """White, Black, and White's wins, draws and losses."""

    @property
    def elo(self) -> dict[str, float]:
        """Ratings by name."""
        return {player.name: player.elo for player in self.players}

    def games(self) -> dict[tuple[str, str], tuple[int, int, int]]:
        """Return the results as `rating.elo.fit` takes them."""
        return {(white, black): (wins, draws, losses) for white, black, wins, draws, losses in self.results}


def calibrate(
    results: Results, *, variant: str, measured: str, command: str, engines: Mapping[str, ReferenceEngine], note: str
) -> Calibration:
    """Return the calibration that games between ladder players give; `engines` are those that played, by kind.

    Players that no games connect with `random` are left out.
    """
    ratings = fit(results, anchors={RANDOM: 0.0})
    loose = {name for group in ratings.loose for name in group}
    players = [
        PlayerCalibration(each.player, round(each.elo, 1), round(each.error, 1), each.games)
        for each in reversed(ratings.players)
        if each.player not in loose
    ]
    return Calibration(
        variant=variant,
        measured=measured,
        command=command,
        engines={kind: engine.name for kind, engine in engines.items()},
        note=note,
        fingerprints=engines[FAIRY].fingerprints if FAIRY in engines else (),
        players=tuple(sorted(players, key=lambda player: (player.elo, player.name))),
        results=tuple(
            (white, black, wins, draws, losses)
            for (white, black), (wins, draws, losses) in sorted(results.items())
            if not loose & {white, black}
        ),
    )


def read_calibration(variant: str, path: Path | None = None) -> Calibration:
    """Return the calibration in a file, or the shipped one of a variant; raises `CalibrationError`."""
    try:
        if path is not None:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES)
        else:
            data = (resources.files("selfmate") / "ladder/data" / f"{variant}.json").read_bytes()
        calibration = msgspec.json.decode(data, type=Calibration)
    except FileNotFoundError:
        if path is not None:
            raise
        way = f"selfmate ladder --measure {variant} --spacing {variant}.json measures one"
        raise CalibrationError(f"no ladder of {variant} is shipped; {way}", variant) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CalibrationError(f"{path or variant}: not a measured ladder: {' '.join(str(error).split())}") from None
    if calibration.format != FORMAT:
        older = f"measure it again with selfmate ladder --measure {variant}"
        raise CalibrationError(f"{path or variant}: a ladder of {other_format(calibration.format, FORMAT, older)}")
    if calibration.variant != variant:
        raise CalibrationError(f"{path}: a ladder of {calibration.variant}, not of {variant}", variant)
    calibration = _with_current_names(calibration)
    named = {name for white, black, *_ in calibration.results for name in (white, black)}
    if named != {player.name for player in calibration.players} or RANDOM not in named:
        raise CalibrationError(f"{path or variant}: not a measured ladder: games and players do not match")
    return calibration


def _with_current_names(calibration: Calibration) -> Calibration:
    """Return a calibration in which players have their present names."""
    return msgspec.structs.replace(
        calibration,
        players=tuple(msgspec.structs.replace(each, name=current_name(each.name)) for each in calibration.players),
        results=tuple(
            (current_name(white), current_name(black), *counts) for white, black, *counts in calibration.results
        ),
    )


def write_calibration(path: Path, calibration: Calibration) -> None:
    """Write a calibration as readable JSON: one line for each fingerprint, player and pairing."""
    values = msgspec.to_builtins(calibration)
    encode = msgspec.json.encode
    lists = {
        name: ",\n".join(f"    {encode(each).decode()}" for each in values.pop(name))
        for name in ("answers", "rungs", "results")
    }
    head = msgspec.json.format(encode(values), indent=2).decode().rstrip().removesuffix("}").rstrip()
    tail = ",\n".join(f'  "{name}": [\n{lines}\n  ]' if lines else f'  "{name}": []' for name, lines in lists.items())
    write_output(path, f"{head},\n{tail}\n}}\n".encode())
