"""Strength over training: checkpoints play each other and fixed players, and one scale is fitted to all their games.

The games are kept in the run's folder `progress`, one PGN file for each pairing, named by the keys of its players:
`00010-64` is the checkpoint of cycle 10 with 64 visits, `random` and `heuristic-64` are fixed players. A file is
replaced as a whole when games are added. A game is identified by its players, opening and colours, so the command and
the training loop never play a game twice. A checkpoint never changes, so its games stay valid.

>>> [player.key for player in fixed_players(64)]
['random', 'heuristic-1', 'heuristic-4', 'heuristic-16', 'heuristic-64']
>>> choose_checkpoints([0, 10, 20, 30, 37, 38, 39, 40], champion=38, count=5)
[0, 10, 20, 38, 40]
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from selfmate._core import GameRecord
from selfmate.board.pgn_tags import read_tags
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.ladder.calibration import CalibrationError, read_calibration
from selfmate.ladder.players import VISITS
from selfmate.match.openings import balanced_openings
from selfmate.match.pool_games import PlayPool, PoolGames, play_here
from selfmate.match.record_pgn import as_game
from selfmate.match.schedule import ScheduledGame
from selfmate.rating.elo import Rating, Ratings, Results, fit, tally
from selfmate.search.config import play_config
from selfmate.search.player import Player
from selfmate.search.spec import HEURISTIC, RANDOM, label, net_name
from selfmate.util.files import write_file
from selfmate.util.text import many

__all__ = [
    "FOLDER",
    "CurveGame",
    "CurvePlayer",
    "PlayCost",
    "RatingScale",
    "TooFewGames",
    "checkpoint",
    "choose_checkpoints",
    "fit_scale",
    "fixed_players",
    "full_name",
    "ladder_results",
    "openings_for",
    "pairings",
    "play_missing",
    "player_of_key",
    "read_games_of",
]

FOLDER: Final = "progress"
EVENT: Final = "progress"
SEED: Final = 0
"""Of the openings, which are the same for every pairing, in every run."""
SAVE_SECONDS: Final = 10.0
"""Longest time between two saves: a killed process loses the games since the last one."""
KEY: Final = re.compile(r"(?P<cycle>\d{5})-(?P<visits>\d+)|heuristic-(?P<heuristic>\d+)|(?P<random>random)")

# -- players ----------------------------------------------------------------------------------------------------------


class TooFewGames(SelfmateError):
    """The games do not join the checkpoints to a player of known rating."""


class CurvePlayer(NamedTuple):
    """A player on the scale: a checkpoint of the run, or a fixed player."""

    key: str
    """In file names and in the fit."""
    name: str
    """For tables and pictures."""
    visits: int
    """Per move; 0 for `random`."""
    spec: str = ""
    """How a fixed player is opened (`search.spec`); empty for a checkpoint."""
    cycle: int | None = None
    """Of a checkpoint."""


def checkpoint(cycle: int, visits: int) -> CurvePlayer:
    """Return the player that a run had after `cycle` cycles.

    >>> checkpoint(0, 64).name, checkpoint(12, 64).key
    ('untrained', '00012-64')
    """
    return CurvePlayer(f"{cycle:05}-{visits}", f"cycle {cycle}" if cycle else "untrained", visits, cycle=cycle)


def full_name(player: CurvePlayer, directory: Path) -> str:
    """Return the name of a player of a run as `selfmate arena` writes it, so that all PGN files can be rated together.

    >>> full_name(checkpoint(12, 64), Path("runs/first")), full_name(fixed_players(4)[-1], Path("runs/first"))
    ('first cycle 12 (64 visits)', 'heuristic-1 (4 visits)')
    """
    name = player.spec or player.name if player.cycle is None else net_name(directory, player.cycle)
    return label(name, player.visits)


def fixed_players(visits: int) -> list[CurvePlayer]:
    """Return players of fixed strength, the weakest first; the last searches at least as much as the checkpoints."""
    most = next((each for each in VISITS if each >= visits), VISITS[-1])
    heuristics = [CurvePlayer(f"heuristic-{each}", label(HEURISTIC, each), each, HEURISTIC) for each in VISITS]
    return [CurvePlayer(RANDOM, RANDOM, 0, RANDOM), *(player for player in heuristics if player.visits <= most)]


def player_of_key(key: str) -> CurvePlayer | None:
    """Return the player with a key, or None if it is not a key.

    >>> player_of_key("00012-64") == checkpoint(12, 64), player_of_key("heuristic-4").name, player_of_key("notes")
    (True, 'heuristic-1 (4 visits)', None)
    """
    found = KEY.fullmatch(key)
    if found is None:
        return None
    if found["cycle"]:
        return checkpoint(int(found["cycle"]), int(found["visits"]))
    return next((player for player in fixed_players(VISITS[-1]) if player.key == key), None)


def choose_checkpoints(cycles: Sequence[int], champion: int, count: int) -> list[int]:
    """Return cycles of checkpoints: the first, the last and the champion, then the middles of the widest gaps.

    The spacing becomes about even, and a larger choice contains every smaller one.
    """
    chosen = sorted({min(cycles), max(cycles), champion})
    while len(chosen) < count:
        gaps = [(low, high) for low, high in pairwise(chosen) if any(low < cycle < high for cycle in cycles)]
        if not gaps:
            break
        low, high = max(gaps, key=lambda gap: gap[1] - gap[0])
        inside = [cycle for cycle in cycles if low < cycle < high]
        chosen = sorted([*chosen, min(inside, key=lambda cycle: abs(2 * cycle - low - high))])
    return chosen


def pairings(chosen: Sequence[int], champion: int, visits: int) -> list[tuple[CurvePlayer, CurvePlayer]]:
    """Return the pairings of checkpoints: neighbours, next but one, the champion with all and with itself.

    Every checkpoint also plays `random` and the strongest fixed player. Each fixed player plays the next one, which
    connects the scale.
    """
    players = {cycle: checkpoint(cycle, visits) for cycle in sorted(chosen)}
    ordered, fixed = list(players.values()), fixed_players(visits)
    found = [*pairwise(ordered), *zip(ordered, ordered[2:], strict=False)]
    found += [(players[min(cycle, champion)], players[max(cycle, champion)]) for cycle in chosen if champion in players]
    found += [(player, other) for player in ordered for other in (fixed[0], fixed[-1])]
    return list(dict.fromkeys([*found, *pairwise(fixed)]))


# -- games ------------------------------------------------------------------------------------------------------------


class CurveGame(NamedTuple):
    """A finished game; White and Black are keys of players."""

    white: str
    black: str
    opening: str
    """FEN."""
    result: str
    """A game that was cut off is a draw, as in every match."""


class PlayCost(NamedTuple):
    """What `play_missing` played, and what it took."""

    games: int
    missing: int
    """Games that are still to be played, because it was stopped."""
    evaluations: int
    seconds: float


class _MissingGame(NamedTuple):
    opening: str
    pair: tuple[CurvePlayer, CurvePlayer]
    """As in the file name."""
    sides: tuple[CurvePlayer, CurvePlayer]
    """White and Black."""


def openings_for(variant: str, games: int) -> list[str]:
    """Return the openings of a pairing of `games` games; those of fewer games are the first of them."""
    return list(dict.fromkeys(balanced_openings(variant, games // 2, SEED)))


def read_games_of(folder: Path, variant: str, visits: int | None = None) -> list[CurveGame]:
    """Return all games in a folder; with `visits` only those of fixed players and of checkpoints with these visits."""
    found: list[CurveGame] = []
    for path in sorted(folder.glob("*.pgn")):
        first, second = (player_of_key(key) for key in (*path.stem.split("_"), "", "")[:2])
        if first is None or second is None:
            continue  # not one of our files
        if visits is None or all(each.cycle is None or each.visits == visits for each in (first, second)):
            found += _read(path, first, second, variant)
    return found


def _read(path: Path, first: CurvePlayer, second: CurvePlayer, variant: str) -> list[CurveGame]:
    """Return the games of a pairing; the parity of the tag Round says which player has White."""
    if not path.exists():
        return []
    start, found = Position(variant).fen(), []
    with path.open("rb") as file:
        for tags in read_tags(file, ("Round", "Result", "FEN")):
            sides = (second.key, first.key) if tags.get("Round", "0")[-1] in "13579" else (first.key, second.key)
            result = tags.get("Result", "*")
            found.append(CurveGame(*sides, tags.get("FEN", start), result if result in ("1-0", "0-1") else "1/2-1/2"))
    return found


def play_missing(
    folder: Path,
    variant: str,
    pairs: Sequence[tuple[CurvePlayer, CurvePlayer]],
    openings: Sequence[str],
    player: Callable[[CurvePlayer], Player],
    *,
    lanes: int | None = None,
    play_pool: PlayPool = play_here,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int, int], None] = lambda done, games: None,
) -> PlayCost:
    """Play every opening with both colours for each pair, all in one pool; games that are in the folder are skipped.

    A player that is paired with itself plays each opening once. `player` opens a player; `tell` gets the finished and
    all games. In the PGN players have the names of `full_name`. `play_pool` plays the games.
    """
    began = time.monotonic()
    missing = _missing_games(folder, variant, pairs, openings)
    if not missing:
        return PlayCost(0, 0, 0, 0.0)
    players = list(dict.fromkeys(side for game in missing.values() for side in game.sides))
    index = {each: number for number, each in enumerate(players)}
    writer = _GameWriter(folder, openings)
    done = 0

    def on_finished(records: Sequence[GameRecord]) -> None:
        nonlocal done
        for record in records:
            writer.add(record, missing[record.game_id])
        done += len(records)
        tell(done, len(missing))
        writer.save_if_due()

    folder.mkdir(exist_ok=True)
    match = PoolGames(
        variant=variant,
        players=[player(each) for each in players],
        visits=[each.visits for each in players],
        games=[
            ScheduledGame(number, game.opening, *(index[side] for side in game.sides))
            for number, game in missing.items()
        ],
        searches=[play_config()] * len(players),
        seed=SEED,
        lanes=lanes,
    )
    try:
        evaluated = play_pool(match, on_finished=on_finished, stopping=stopping)
    finally:
        writer.save()
    return PlayCost(done, len(missing) - done, evaluated.leaves, time.monotonic() - began)


def _missing_games(
    folder: Path, variant: str, pairs: Sequence[tuple[CurvePlayer, CurvePlayer]], openings: Sequence[str]
) -> dict[int, _MissingGame]:
    """Return the games that are not in the folder, by game id, opening by opening so that all pairs take turns.

    The moves of `random` depend on the id, which is a hash of the game: it does not depend on when it is played.
    """
    known = {
        pair: {(game.opening, game.white) for game in _read(_path(folder, pair), *pair, variant)} for pair in pairs
    }
    return {
        _game_id(opening, *sides): _MissingGame(opening, pair, sides)
        for opening in openings
        for pair in pairs
        for sides in dict.fromkeys((pair, (pair[1], pair[0])))
        if (opening, sides[0].key) not in known[pair]
    }


class _GameWriter:
    """Collects finished games, and adds them to the files of their pairings."""

    def __init__(self, folder: Path, openings: Sequence[str]) -> None:
        self._folder = folder
        self._place = {opening: index for index, opening in enumerate(openings)}
        self._texts: dict[tuple[CurvePlayer, CurvePlayer], list[str]] = {}
        self._saved = time.monotonic()

    def add(self, record: GameRecord, game: _MissingGame) -> None:
        """Add a game, which is not saved yet."""
        white, black = (full_name(side, self._folder.parent) for side in game.sides)
        text = as_game(record, white, black, EVENT, counts=True)
        text.headers["Round"] = str(2 * self._place[game.opening] + (game.sides[0] != game.pair[0]))
        self._texts.setdefault(game.pair, []).append(str(text))

    def save_if_due(self) -> None:
        """Save, unless that was done within `SAVE_SECONDS`."""
        if time.monotonic() > self._saved + SAVE_SECONDS:
            self.save()

    def save(self) -> None:
        """Write all games to their files."""
        for pair in list(self._texts):
            path = _path(self._folder, pair)
            before = path.read_text("utf-8") if path.exists() else ""
            write_file(path, (before + "".join(f"{game}\n\n" for game in self._texts[pair])).encode())
            del self._texts[pair]
        self._saved = time.monotonic()


def _path(folder: Path, pair: tuple[CurvePlayer, CurvePlayer]) -> Path:
    return folder / f"{pair[0].key}_{pair[1].key}.pgn"


def _game_id(opening: str, white: CurvePlayer, black: CurvePlayer) -> int:
    text = f"{opening}|{white.key}|{black.key}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little")


# -- the scale --------------------------------------------------------------------------------------------------------


class RatingScale(NamedTuple):
    """Ratings by key: `random` is 0, and errors are half the 95 % interval of the distance to `reference`."""

    players: dict[str, Rating]
    reference: CurvePlayer
    ratings: Ratings
    """The fit itself, in which the reference is 0."""


def ladder_results(variant: str) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return the games between the players of the shipped ladder of a variant, engines included; none if there is none.

    No engine is needed for them. The fixed players are ladder players too, and connect the checkpoints to the ladder.

    >>> ("random", "heuristic-1") in ladder_results("gardner"), ladder_results("a variant of tomorrow")
    (True, {})
    """
    try:
        games = read_calibration(variant).games()
    except CalibrationError:
        return {}
    return {(_key(white), _key(black)): counts for (white, black), counts in games.items()}


def _key(name: str) -> str:
    """Return the key of a ladder player; that of an engine is its name."""
    return next((player.key for player in fixed_players(VISITS[-1]) if player.name == name), name)


def fit_scale(games: Sequence[CurveGame], visits: int, ladder: Results | None = None) -> RatingScale:
    """Fit one scale to all games, those of `ladder` included; raises `TooFewGames` if there are too few.

    The strongest fixed player is the anchor of the fit, because it is nearest to trained nets: with `random` as anchor
    the error of a checkpoint would mostly be that of the distance from `random`, which is the same for all of them.
    """
    reference = fixed_players(visits)[-1]
    counts = tally((game.white, game.black, game.result) for game in games)
    if not any(reference.key in pair for pair in counts):
        raise TooFewGames(
            f"too few games to fit a scale: none with {reference.name} and {many(visits, 'visit')} of checkpoints yet; "
            "run the same command without --games 0 to play them"
        )
    for pair, results in (ladder or {}).items():
        counts[pair] = [own + more for own, more in zip(counts.get(pair, (0, 0, 0)), results, strict=True)]
    ratings = fit(counts, anchors={reference.key: 0.0})
    loose = {key for group in ratings.loose for key in group}
    players = {each.player: each for each in ratings.players if each.player not in loose}
    zero = players[RANDOM].elo if RANDOM in players else 0.0
    return RatingScale({key: each._replace(elo=each.elo - zero) for key, each in players.items()}, reference, ratings)
