"""Games of matches on a cluster: the same as on one machine, each once, whatever happens to the workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from selfmate._core import GameRecord, ScoreRules
from selfmate.cli.main import main
from selfmate.cluster import pool_match as module
from selfmate.cluster.match_games import MatchDispatcher
from selfmate.cluster.match_worker import PlayedGames, read_played
from selfmate.cluster.messages import ClusterError
from selfmate.cluster.pool_match import PoolMatch
from selfmate.cluster.states import Times
from selfmate.ladder import curve
from selfmate.match.openings import balanced_openings
from selfmate.match.pool_games import PlayPool, PoolGames, play_here
from selfmate.match.runner import EvaluationCount
from selfmate.match.schedule import schedule
from selfmate.nn import checkpoint
from selfmate.nn.encodings import sized_for
from selfmate.nn.net import Net, rounded
from selfmate.rundir.games import encode_games, pack_games
from selfmate.search.config import play_config
from selfmate.search.player import Player
from thread_fleet import MatchFleet

QUICK = Times(report=0.02, silence=-29.6, loss=2, start=60, seats=0.05, retry=0.01)
PATIENT = QUICK._replace(silence=0, loss=60)
"""Where no worker is to be given up, however busy the machine is."""
"""Silent after three leases of ten seconds and minus 29.6 s, which is 0.4 s."""


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> PoolGames:
    """Forty-eight short games of a net, heuristic-1 and random, with a rule for resignation."""
    folder = tmp_path_factory.mktemp("match") / "net"
    folder.mkdir()
    net = Net(sized_for("gardner", blocks=1, channels=8, policy_channels=8, value_channels=8), seed=3)
    checkpoint.save(rounded(net), folder)
    players = [Player(str(folder), threads=1), Player("heuristic-1"), Player("random")]
    games = list(schedule(3, balanced_openings("gardner", 8, 0)))
    return PoolGames(
        variant="gardner",
        players=players,
        visits=[8, 16, 0],
        games=games,
        searches=[play_config(), play_config().replace(cpuct=2.0), play_config()],
        seed=5,
        max_plies=40,
        rules=ScoreRules(resign=(900, 3, 0)),
        lanes=1,
    )


def contents(record: GameRecord) -> tuple[Any, ...]:
    return (record.to_bytes(), list(record.scores))


@pytest.fixture(scope="module")
def expected(match: PoolGames) -> dict[int, tuple[Any, ...]]:
    found: list[GameRecord] = []
    play_here(match, on_finished=found.extend, stopping=lambda: False)
    return {record.game_id: contents(record) for record in found}


def play(
    match: PoolGames,
    fleet: MatchFleet,
    *,
    stopping: Callable[[int], bool] = lambda games: False,
    times: Times = QUICK,
) -> tuple[dict[int, tuple[Any, ...]], list[str]]:
    """Return the games by number, and what was said; fail for a game that came twice."""
    found: list[GameRecord] = []
    lines: list[str] = []
    dispatcher = MatchDispatcher(fleet, PoolMatch(match, "cpu"), say=lines.append, times=times)
    counted = dispatcher.play(on_finished=found.extend, stopping=lambda: stopping(len(found)))
    assert len({record.game_id for record in found}) == len(found)
    assert counted.leaves > 0 or not found
    return {record.game_id: contents(record) for record in found}, lines


@pytest.mark.parametrize("seats", [1, 3])
def test_the_games_are_those_of_one_machine(seats: int, match: PoolGames, expected: dict[int, Any]) -> None:
    fleet = MatchFleet(seats)
    found, lines = play(match, fleet, times=PATIENT)
    assert len(expected) == 48
    assert found == expected
    assert any(any(score is not None for score in scores) for _, scores in found.values())
    assert lines == []
    assert fleet.blocks == 1
    # Every worker got the nets once, with its first games.
    for worker in fleet.workers:
        assert [has for name, has in fleet.nets if name == worker][:1] == [True]
        assert sum(has for name, has in fleet.nets if name == worker) == 1


def test_players_of_a_match_with_engines_play_each_other(match: PoolGames, expected: dict[int, Any]) -> None:
    """The third player is an engine, whose games are played elsewhere (`engine_match`)."""
    games = [game for game in match.games if 2 not in (game.white, game.black)]
    without = replace(match, players=[*match.players[:2], None], games=games)
    found, _ = play(without, MatchFleet(2), times=PATIENT)
    assert 0 < len(found) < len(expected)
    assert found == {number: expected[number] for number in found}


def test_games_of_lost_workers_are_given_out_again(match: PoolGames, expected: dict[int, Any]) -> None:
    def spoil(worker: str, call: int, report: bytes) -> object:
        return RuntimeError("its process has ended") if worker.endswith(("-1", "-3")) else report

    found, lines = play(match, MatchFleet(2, spoil))
    assert found == expected
    assert [line for line in lines if "given out again" in line]


def test_a_silent_worker_is_heard_when_it_comes_back(
    match: PoolGames, expected: dict[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoil(worker: str, call: int, report: bytes) -> object:
        if worker.endswith("-1") and call == 2:
            time.sleep(4.0)
        return report

    monkeypatch.setattr(module, "FIRST_GAMES", 4)
    found, lines = play(match, MatchFleet(2, spoil), times=QUICK._replace(silence=-28, loss=60))
    assert found == expected
    assert [line.split(";")[0] for line in lines] == ["machine0-1 is silent"]


@pytest.mark.parametrize("fault", ["garbage", "twice", "foreign", "missing", "unfinished", "seats", "scores"])
def test_a_report_that_cannot_be_is_refused(fault: str, match: PoolGames, expected: dict[int, Any]) -> None:
    """Nothing of it is taken but games that are right, and its worker is ended."""

    def spoil(worker: str, call: int, report: bytes) -> object:
        if not worker.endswith("-1"):
            return report
        played = read_played(report)
        records = played.records()
        if fault == "garbage":
            return b"garbage"
        if fault == "scores":
            return msgspec.structs.replace(played, scores=played.scores[1:]).to_bytes()
        if fault == "twice":
            records = [*records, records[0]]
        if fault == "foreign":  # a game of the match that another worker has
            records.append(GameRecord.from_bytes(expected[47][0]))
        if fault == "missing":
            records = records[1:]
        if fault == "unfinished":
            records[-1] = cut_off(records[-1])
        if fault == "seats":
            data = bytearray(records[0].to_bytes())
            records[0] = GameRecord.from_bytes(bytes(swap_seats(data)))
        scores: list[list[int | None]] = [[None] * len(record.moves) for record in records]
        return PlayedGames(games=pack_games(encode_games(records)), scores=scores, evaluations=1, batches=1).to_bytes()

    found, lines = play(match, MatchFleet(2, spoil))
    if fault == "twice":  # the second is not taken, and the report is right otherwise
        assert set(found) == set(expected)
        return
    assert set(found) == set(expected)
    assert [line for line in lines if "its report was refused" in line], lines


def swap_seats(data: bytearray) -> bytearray:
    """Exchange the players in a record: id, variant, chess960, opening and random plies stand before them."""
    place = 12
    place += 2 + int.from_bytes(data[place : place + 2], "little") + 1
    place += 2 + int.from_bytes(data[place : place + 2], "little") + 2
    data[place], data[place + 1] = data[place + 1], data[place]
    return data


def cut_off(record: GameRecord) -> GameRecord:
    """Return a record without an outcome: a game that is not over."""
    data = bytearray(record.to_bytes())
    place = 12
    place += 2 + int.from_bytes(data[place : place + 2], "little") + 1
    place += 2 + int.from_bytes(data[place : place + 2], "little") + 2 + 2
    place += 2 + int.from_bytes(data[place : place + 2], "little")
    data[place] = data[place + 1] = 255
    return GameRecord.from_bytes(bytes(data))


def test_a_match_that_is_stopped_keeps_what_came(match: PoolGames, expected: dict[int, Any]) -> None:
    few = replace(match, games=match.games[:16])
    found, _ = play(match, MatchFleet(1), stopping=lambda games: games >= 8)
    assert 8 <= len(found) < 48
    assert all(expected[number] == game for number, game in found.items())
    assert len(play(few, MatchFleet(1))[0]) == 16


def test_no_machine_that_can_play_is_an_error(match: PoolGames) -> None:
    with pytest.raises(ClusterError, match="no machine of the cluster can play: each has failed 5 times"):
        play(match, MatchFleet(1, lambda worker, call, report: RuntimeError("no")))


@pytest.mark.ray
def test_an_arena_on_ray_writes_the_games_of_one_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    words = ["arena", "gardner-laptop", "heuristic-1", "--variant", "gardner", "--games", "12", "--visits", "8"]
    for name, more in (("here", []), ("there", ["--ray"])):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--pgn", str(tmp_path / name), *more])
        assert ended.value.code == 0, capsys.readouterr().err
    games = [sorted((tmp_path / name).read_text().splitlines()) for name in ("here", "there")]
    assert games[0] == games[1]


def test_the_progress_of_a_run_is_the_same_on_a_cluster(match: PoolGames, tmp_path: Path) -> None:
    net = match.players[0]
    champion, fixed = curve.checkpoint(3, 8), curve.fixed_players(8)

    def player(each: curve.CurvePlayer) -> Player:
        assert net is not None
        assert net.path is not None
        return Player(each.spec or net.path, threads=1)

    def on_cluster(match: PoolGames, **options: Any) -> EvaluationCount:
        return MatchDispatcher(MatchFleet(2), PoolMatch(match, "cpu"), say=print, times=QUICK).play(**options)

    folders: dict[str, PlayPool] = {"here": play_here, "there": on_cluster}
    for name, play_pool in folders.items():
        pairs = [(champion, each) for each in fixed[:3]]
        cost = curve.play_missing(
            tmp_path / name, "gardner", pairs, curve.openings_for("gardner", 6), player, play_pool=play_pool
        )
        assert (cost.games, cost.missing) == (18, 0)
    here, there = (
        {path.name: sorted(path.read_text().replace(name, "").splitlines()) for path in (tmp_path / name).iterdir()}
        for name in folders
    )
    assert here == there
    assert len(here) == 3
