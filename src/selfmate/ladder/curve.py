"""How strong a run became: checkpoints play each other and fixed rungs, and one scale is fitted to all their games.

The games are kept in the run's folder `progress`, a PGN file for every two players, named by their keys: `00010-64`
is the checkpoint of cycle 10 with 64 visits, `random` and `heuristic-64` are rungs. A file is replaced whole when games
are added to it. A game is known by its players, its opening and its colours, so whoever plays what is missing (the
command, or the training loop by itself) plays it once, and games that were saved stay true whatever happens later: a
checkpoint never changes once it is committed.

>>> [rung.key for rung in rungs(64)]
['random', 'heuristic-1', 'heuristic-4', 'heuristic-16', 'heuristic-64']
>>> choose([0, 10, 20, 30, 37, 38, 39, 40], champion=38, count=5)
[0, 10, 20, 38, 40]
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from selfmate._core import GameRecord
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.ladder.players import SpacingError, read_spacing
from selfmate.match.openings import balanced_openings
from selfmate.match.record_pgn import as_game
from selfmate.match.runner import Fixture, play_seats
from selfmate.rating.elo import Rating, Ratings, Results, fit, tally
from selfmate.rundir.format import State
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM, label, net_name
from selfmate.util.files import write_file
from selfmate.util.text import many

__all__ = [
    "FOLDER",
    "Cost",
    "Entrant",
    "Moment",
    "Played",
    "Scale",
    "checkpoint",
    "choose",
    "fit_scale",
    "full_name",
    "ladder_results",
    "moments",
    "openings_for",
    "pairings",
    "play_missing",
    "read_games_of",
    "rungs",
]


FOLDER: Final = "progress"


EVENT: Final = "progress"


SEED: Final = 0
"""Of the openings: the same ones for every two players, in every run."""


HEURISTIC: Final = "heuristic-1"


RUNG_VISITS: Final = (1, 4, 16, 64, 256, 1024)


SAVE_SECONDS: Final = 10.0
"""Games that a killed process may lose, in seconds."""


KEY: Final = re.compile(r"(?P<cycle>\d{5})-(?P<visits>\d+)|heuristic-(?P<heuristic>\d+)|(?P<random>random)")


TAG: Final = re.compile(r'^\[(Round|Result|FEN) "(.*)"\]$', re.MULTILINE)


GAME: Final = re.compile(r"^(?=\[Event )", re.MULTILINE)


# -- who plays --------------------------------------------------------------------------------------------------------


class Entrant(NamedTuple):
    """Somebody on the scale: a checkpoint of the run, or a rung."""

    key: str
    """In names of files, and as a player of the fit."""
    name: str
    """For people."""
    visits: int
    """0 for `random`."""
    spec: str = ""
    """By which a rung is found as a `Player`; that of a checkpoint is its folder."""
    cycle: int | None = None
    """Of a checkpoint."""


def checkpoint(cycle: int, visits: int) -> Entrant:
    """Give the net that a run had after so many cycles.

    >>> checkpoint(0, 64).name, checkpoint(12, 64).key
    ('untrained', '00012-64')
    """
    return Entrant(f"{cycle:05}-{visits}", f"cycle {cycle}" if cycle else "untrained", visits, cycle=cycle)


def full_name(entrant: Entrant, directory: Path) -> str:
    """Name an entrant of a run as `selfmate arena` does, so that all PGN files can be rated together.

    >>> full_name(checkpoint(12, 64), Path("runs/first")), full_name(rungs(4)[-1], Path("runs/first"))
    ('first cycle 12 (64 visits)', 'heuristic-1 (4 visits)')
    """
    name = entrant.spec or entrant.name if entrant.cycle is None else net_name(directory, entrant.cycle)
    return label(name, entrant.visits)


def rungs(visits: int) -> list[Entrant]:
    """Give our own players of fixed strength, the weakest first; the last one searches as much as the checkpoints."""
    most = next((each for each in RUNG_VISITS if each >= visits), RUNG_VISITS[-1])
    heuristics = [Entrant(f"heuristic-{each}", f"heuristic {each}", each, HEURISTIC) for each in RUNG_VISITS]
    return [Entrant(RANDOM, RANDOM, 0, RANDOM), *(rung for rung in heuristics if rung.visits <= most)]


def find(key: str) -> Entrant | None:
    """Give the entrant of a key.

    >>> find("00012-64") == checkpoint(12, 64), find("heuristic-4").name, find("notes")
    (True, 'heuristic 4', None)
    """
    found = KEY.fullmatch(key)
    if found is None:
        return None
    if found["cycle"]:
        return checkpoint(int(found["cycle"]), int(found["visits"]))
    return next((rung for rung in rungs(RUNG_VISITS[-1]) if rung.key == key), None)


def choose(cycles: Sequence[int], champion: int, count: int) -> list[int]:
    """Choose checkpoints by their cycles: the first, the last and the champion, then those in the middle of wide gaps.

    So the spacing becomes even, and a larger choice holds every smaller one.
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


def pairings(chosen: Sequence[int], champion: int, visits: int) -> list[tuple[Entrant, Entrant]]:
    """Say who plays whom: neighbours, neighbours but one, the champion everybody and itself, all of them two rungs.

    The rungs are `random` and the strongest; each rung also plays the next one, which holds the scale together.
    """
    entrants = {cycle: checkpoint(cycle, visits) for cycle in sorted(chosen)}
    ordered, ladder = list(entrants.values()), rungs(visits)
    found = [*pairwise(ordered), *zip(ordered, ordered[2:], strict=False)]
    found += [
        (entrants[min(cycle, champion)], entrants[max(cycle, champion)]) for cycle in chosen if champion in entrants
    ]
    found += [(entrant, rung) for entrant in ordered for rung in (ladder[0], ladder[-1])]
    return list(dict.fromkeys([*found, *pairwise(ladder)]))


# -- games ------------------------------------------------------------------------------------------------------------


class Played(NamedTuple):
    """A game that was played; White and Black by their keys."""

    white: str
    black: str
    opening: str
    result: str
    """A game that was cut off is a draw, as in every match of ours."""


class Cost(NamedTuple):
    """What playing took."""

    games: int
    missing: int
    """Games that are still to be played: it was stopped."""
    evaluations: int
    seconds: float


def openings_for(variant: str, games: int) -> list[str]:
    """Give the openings of a pairing of so many games. Those of fewer games are the first of them."""
    return list(dict.fromkeys(balanced_openings(variant, games // 2, SEED)))


def read_games_of(folder: Path, variant: str, visits: int | None = None) -> list[Played]:
    """Read all games of a folder; with `visits` only those of rungs and of checkpoints with so many visits."""
    found: list[Played] = []
    for path in sorted(folder.glob("*.pgn")):
        first, second = (find(key) for key in (*path.stem.split("_"), "", "")[:2])
        if first is None or second is None:
            continue  # somebody's own file
        if visits is None or all(each.cycle is None or each.visits == visits for each in (first, second)):
            found += _read(path, first, second, variant)
    return found


def _read(path: Path, first: Entrant, second: Entrant, variant: str) -> list[Played]:
    if not path.exists():
        return []
    start, found = Position(variant).fen(), []
    for text in GAME.split(path.read_text("utf-8"))[1:]:
        tags = dict(TAG.findall(text))
        sides = (second.key, first.key) if tags.get("Round", "0")[-1] in "13579" else (first.key, second.key)
        result = tags.get("Result", "*")
        found.append(Played(*sides, tags.get("FEN", start), result if result in ("1-0", "0-1") else "1/2-1/2"))
    return found


def play_missing(
    folder: Path,
    variant: str,
    pairs: Sequence[tuple[Entrant, Entrant]],
    openings: Sequence[str],
    player: Callable[[Entrant], Player],
    *,
    lanes: int | None = None,
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int, int], None] = lambda done, games: None,
) -> Cost:
    """Let every pair play every opening with either colour, all in one pool; only games that are not in the folder.

    An entrant that plays itself does so once for each opening. `player` opens an entrant; `tell` hears how many games
    are over. In the PGN everybody has the name that `selfmate arena` gives them.
    """
    # 1. What is missing, opening by opening, so that all pairs take turns
    known = {
        pair: {(game.opening, game.white) for game in _read(_path(folder, pair), *pair, variant)} for pair in pairs
    }
    wanted = [
        (opening, pair, sides)
        for opening in openings
        for pair in pairs
        for sides in dict.fromkeys((pair, pair[::-1]))
        if (opening, sides[0].key) not in known[pair]
    ]
    if not wanted:
        return Cost(0, 0, 0, 0.0)
    # 2. A game's id, on which only the moves of `random` depend, says what game it is and not when it was played.
    which = {_game_id(opening, *sides): (opening, pair, sides) for opening, pair, sides in wanted}
    entrants = list(dict.fromkeys(entrant for _, _, sides in wanted for entrant in sides))
    number = {entrant: index for index, entrant in enumerate(entrants)}
    names = {entrant: full_name(entrant, folder.parent) for entrant in entrants}
    places = {opening: index for index, opening in enumerate(openings)}
    fresh: dict[tuple[Entrant, Entrant], list[str]] = {}
    done, began = 0, time.monotonic()
    saved = began

    def hear(records: Sequence[GameRecord]) -> None:
        nonlocal done, saved
        for record in records:
            opening, pair, (white, black) = which[record.game_id]
            game = as_game(record, names[white], names[black], EVENT, counts=True)
            game.headers["Round"] = str(2 * places[opening] + (white != pair[0]))
            fresh.setdefault(pair, []).append(str(game))
        done += len(records)
        tell(done, len(wanted))
        if time.monotonic() > saved + SAVE_SECONDS:
            save()
            saved = time.monotonic()

    def save() -> None:
        for pair in list(fresh):
            path = _path(folder, pair)
            before = path.read_text("utf-8") if path.exists() else ""
            write_file(path, (before + "".join(f"{game}\n\n" for game in fresh[pair])).encode())
            del fresh[pair]

    folder.mkdir(exist_ok=True)
    try:
        evaluated = play_seats(
            variant,
            [player(entrant) for entrant in entrants],
            [entrant.visits for entrant in entrants],
            [
                Fixture(game_id, opening, number[white], number[black])
                for game_id, (opening, _, (white, black)) in which.items()
            ],
            seed=SEED,
            lanes=lanes,
            stopping=stopping,
            done=hear,
        )
    finally:
        save()
    return Cost(done, len(wanted) - done, evaluated.leaves, time.monotonic() - began)


def _path(folder: Path, pair: tuple[Entrant, Entrant]) -> Path:
    return folder / f"{pair[0].key}_{pair[1].key}.pgn"


def _game_id(opening: str, white: Entrant, black: Entrant) -> int:
    text = f"{opening}|{white.key}|{black.key}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "little")


# -- the scale --------------------------------------------------------------------------------------------------------


class Scale(NamedTuple):
    """Ratings by key: `random` is 0, and errors are half the 95 % interval of the distance to `reference`."""

    players: dict[str, Rating]
    reference: Entrant
    ratings: Ratings
    """The fit itself, in which the reference is 0."""


def ladder_results(variant: str) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Give the games of the rungs of a measured ladder among themselves, engines included, where one is shipped.

    They need no engine here: our own rungs are rungs of the ladder too, and tie the checkpoints to all of it.

    >>> ("random", "heuristic-1") in ladder_results("gardner"), ladder_results("a variant of tomorrow")
    (True, {})
    """
    try:
        games = read_spacing(variant).games()
    except SpacingError:
        return {}
    return {(_key(white), _key(black)): counts for (white, black), counts in games.items()}


def _key(name: str) -> str:
    """Give the key of a rung of a ladder; an engine is known by its name."""
    return next((rung.key for rung in rungs(RUNG_VISITS[-1]) if rung.name == name), name)


def fit_scale(games: Sequence[Played], visits: int, ladder: Results | None = None) -> Scale:
    """Fit one scale to all games, those of a ladder's rungs included.

    The strongest rung is the anchor of the fit, because it is nearest to nets that have learned something: the band of
    a checkpoint would else be mostly the distance from `random` to anybody, which is the same for all of them.
    """
    reference = rungs(visits)[-1]
    counts = tally((game.white, game.black, game.result) for game in games)
    if not any(reference.key in pair for pair in counts):
        raise SelfmateError(
            f"too few games to fit a scale: none with {reference.name} and {many(visits, 'visit')} of checkpoints yet; "
            "the same command without --games 0 plays them"
        )
    for pair, results in (ladder or {}).items():
        counts[pair] = [own + more for own, more in zip(counts.get(pair, (0, 0, 0)), results, strict=True)]
    ratings = fit(counts, anchors={reference.key: 0.0})
    loose = {key for group in ratings.loose for key in group}
    players = {each.player: each for each in ratings.players if each.player not in loose}
    zero = players[RANDOM].elo if RANDOM in players else 0.0
    return Scale({key: each._replace(elo=each.elo - zero) for key, each in players.items()}, reference, ratings)


class Moment(NamedTuple):
    """How far a run was when a checkpoint was made."""

    cycle: int
    games: int
    positions: int
    steps: int
    minutes: float


def moments(state: State, metrics: Sequence[dict[str, Any]]) -> dict[int, Moment]:
    """Say for every cycle how far the run was after it."""
    found = {0: Moment(0, 0, 0, 0, 0.0)}
    for line in metrics:
        if line.get("stage") != "learn":
            continue
        cycle = line["cycle"] + 1
        shards = [shard for shard in state.shards if shard.cycle < cycle]
        games, positions = sum(shard.games for shard in shards), sum(shard.positions for shard in shards)
        found[cycle] = Moment(cycle, games, positions, line["step"], line["time"] / 60)
    return found
