"""Matches with engines on a fleet: the games of one machine, whatever is lost, and none that cannot be."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from selfmate.cli.main import main
from selfmate.cluster.engine_builds import ask_about, build_of, check_builds
from selfmate.cluster.engine_match import EngineMatch
from selfmate.cluster.engine_worker import LeasedEngineGames, RefereedMoves, read_engine_games
from selfmate.cluster.identity import MachineFacts, check_machine, describe_machine
from selfmate.cluster.match_games import MatchDispatcher
from selfmate.cluster.messages import ClusterError
from selfmate.cluster.states import Times
from selfmate.match.engine_match import EngineGames, PlayedGame, play_engines_here
from selfmate.match.match_file import MatchFile
from selfmate.match.options import MatchOptions
from selfmate.match.plan import make_plan
from selfmate.match.referee import Verdict
from selfmate.match.runner import EvaluationCount
from selfmate.match.schedule import schedule
from selfmate.match.spec import other_engines
from selfmate.match.tournament import play
from selfmate.match.uci_client import EngineSpec
from thread_fleet import MatchFleet

QUICK = Times(report=0.02, silence=60, loss=60, start=60, seats=0.05, retry=0.01)
OURS = f"uci:{sys.executable} -m selfmate uci"
FAKE = Path(__file__).parents[1] / "helpers" / "fake_engine.py"


@pytest.fixture(scope="module")
def match() -> EngineGames:
    """Twelve games of a player of the core and an engine at two strengths, with a rule for resignation."""
    engines = [f"{OURS}?nodes={nodes}&option.WeightsFile=heuristic-1&name=e{nodes}" for nodes in (20, 60)]
    options = MatchOptions(
        players=["heuristic-1?visits=16", *engines],
        variant="gardner",
        pairs=2,
        max_plies=60,
        resign="700,3",
        concurrency=2,
    )
    plan, players = make_plan(options)
    return EngineGames(plan=plan, players=players, games=schedule(3, plan.openings))


def contents(played: PlayedGame) -> tuple[Any, ...]:
    _, game = played
    moves = [str(move) for move in game.moves]
    return game.start, moves, [info.score for info in game.infos], game.verdict, game.limits


@pytest.fixture(scope="module")
def expected(match: EngineGames) -> dict[int, tuple[Any, ...]]:
    """With one game at a time: engines keep their hash tables from game to game."""
    found: list[PlayedGame] = []
    play_engines_here(match, on_finished=found.extend, stopping=lambda: False, unavailable={})
    return {game.number: contents((game, played)) for game, played in found}


def play_on(
    fleet: MatchFleet, match: EngineGames, times: Times = QUICK
) -> tuple[dict[int, tuple[Any, ...]], list[str], EvaluationCount]:
    leased, found, lines = EngineMatch(match, "cpu"), list[RefereedMoves](), list[str]()
    dispatcher = MatchDispatcher(fleet, leased, say=lines.append, times=times)
    count = dispatcher.play(on_finished=found.extend, stopping=lambda: False)
    assert len({game.number for game in found}) == len(found)
    return {game.number: contents(leased.finished(game)) for game in found}, lines, count


def test_the_games_are_those_of_one_machine(match: EngineGames, expected: dict[int, Any]) -> None:
    found, lines, count = play_on(MatchFleet(2, worker=LeasedEngineGames), match)
    assert len(expected) == 12
    assert found == expected
    assert count.leaves > 0
    assert lines == []
    assert {verdict.termination for *_, verdict, _ in found.values()} >= {"normal", "adjudication"}


def test_games_of_lost_workers_are_given_out_again(match: EngineGames, expected: dict[int, Any]) -> None:
    def spoil(worker: str, call: int, report: bytes) -> object:
        return RuntimeError("its process has ended") if worker.endswith("-1") else report

    found, lines, _ = play_on(MatchFleet(2, spoil, LeasedEngineGames), match)
    assert set(found) == set(expected)
    assert "its process has ended; 2 games are given out again" in lines[0]


def changed(game: RefereedMoves, **changes: Any) -> RefereedMoves:
    return msgspec.structs.replace(game, **changes)


FAULTS: dict[str, tuple[Callable[[RefereedMoves], RefereedMoves], str]] = {
    "another result": (
        lambda game: changed(
            game, verdict=replace(game.verdict, result="0-1" if game.verdict.result == "1-0" else "1-0")
        ),
        "has another result",
    ),
    "illegal": (lambda game: changed(game, moves=[*game.moves[:-1], "a1a1"]), "has a move that is not legal"),
    "too long": (
        lambda game: changed(game, moves=[*game.moves, "a2a3"], infos=[*game.infos, game.infos[-1]]),
        "goes on after its end",
    ),
    "not over": (lambda game: changed(game, moves=game.moves[:-1], infos=game.infos[:-1]), "is not over"),
    "no infos": (lambda game: changed(game, infos=game.infos[:-1]), "has not as many infos as moves"),
    "foreign": (lambda game: changed(game, number=999), "is not of this match"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_game_that_cannot_be_is_refused(fault: str, match: EngineGames, expected: dict[int, Any]) -> None:
    """Of the two games between engines at the end; its worker is ended, and another one plays them."""
    change, reason = FAULTS[fault]
    by_rules = [number for number, game in expected.items() if game[3].termination == "normal"]
    game = next(each for each in match.games if each.number == by_rules[0])
    few = replace(match, games=[game])

    def spoil(worker: str, call: int, report: bytes) -> object:
        if not worker.endswith("-1"):
            return report
        played = read_engine_games(report)
        return msgspec.structs.replace(played, games=[change(played.games[0])]).to_bytes()

    found, lines, _ = play_on(MatchFleet(1, spoil, LeasedEngineGames), few)
    assert set(found) == {game.number}
    assert reason in lines[0], lines


def test_a_verdict_without_a_rule_for_it_is_refused(match: EngineGames) -> None:
    leased = EngineMatch(
        replace(match, plan=replace(match.plan, referee=replace(match.plan.referee, resign=None))), "cpu"
    )
    game = match.games[0]
    resigned = Verdict(result="1-0", reason="Black resigns", termination="adjudication")
    empty = RefereedMoves(number=game.number, moves=[], infos=[], verdict=resigned)
    assert leased.problem(game, empty) == "is not over"
    assert EngineMatch(match, "cpu").problem(game, empty) == ""


def test_an_engine_that_does_not_start_ends_the_match_in_one_line(
    match: EngineGames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfmate.match.engine_games.RESTART_SECONDS", 0.0)
    contestants, lines = list(match.plan.contestants), list[str]()
    contestants[1] = replace(contestants[1], engine=EngineSpec(command=(sys.executable, "-S", str(FAKE), "dies")))
    broken = replace(match, plan=replace(match.plan, contestants=tuple(contestants)), games=match.games[:2])
    fleet = MatchFleet(1, worker=LeasedEngineGames)
    dispatcher = MatchDispatcher(fleet, EngineMatch(broken, "cpu"), say=lines.append, times=QUICK)
    with pytest.raises(ClusterError, match="each has failed 5 times"):
        dispatcher.play(on_finished=lambda games: None, stopping=lambda: False)
    assert "e20: python exited with code 7: cannot find my weights" in lines[0]


def test_a_match_resumes_from_one_file(match: EngineGames, expected: dict[int, Any], tmp_path: Path) -> None:
    """Games that are in the file are not played again, here or there."""
    path, plan, leases = tmp_path / "games.pgn", match.plan, list[int]()

    def play_engines(match: EngineGames, **options: Any) -> EvaluationCount:
        leases.append(len(match.games))
        leased = EngineMatch(match, "cpu")
        dispatcher = MatchDispatcher(MatchFleet(1, worker=LeasedEngineGames), leased, say=print, times=QUICK)
        finish = options["on_finished"]
        return dispatcher.play(
            on_finished=lambda games: finish([leased.finished(game) for game in games]), stopping=options["stopping"]
        )

    with MatchFile(path, plan.settings) as file:
        play(plan, match.players, file, games=match.games[:4])
    with MatchFile(path, plan.settings) as file:
        report = play(plan, match.players, file, games=match.games, play_engines=play_engines)
    assert leases == [8]
    assert {entry.number: entry.result for entry in report.entries} == {
        number: game[3].result for number, game in expected.items()
    }
    assert path.read_text().count("[Round ") == 12


# -- the same build ---------------------------------------------------------------------------------------------------


def test_another_build_of_an_engine_is_refused(tmp_path: Path) -> None:
    """By the bytes of its program, of files in its command and of files in its options, and by its name."""
    net = tmp_path / "net.bin"
    net.write_bytes(b"weights")
    script = tmp_path / "engine.py"
    shutil.copy(FAKE, script)
    spec = EngineSpec(command=(sys.executable, "-S", str(script)), options=(("EvalFile", str(net)), ("Hash", "16")))
    question = ask_about(spec)
    assert question.files == [str(script), str(net)]
    ours = build_of(question)
    assert ours.name
    assert list(ours.digests) == [sys.executable, str(script), str(net)]
    check_builds("node2", [build_of(question)], [ours])
    net.write_bytes(b"other weights")
    with pytest.raises(ClusterError, match=r"node2 has another .*net.bin .* install the same build on both"):
        check_builds("node2", [build_of(question)], [ours])
    net.unlink()
    with pytest.raises(ClusterError, match=r"node2 cannot use .*: there is no file .*net.bin; install it there"):
        check_builds("node2", [build_of(question)], [ours])
    net.write_bytes(b"weights")
    with script.open("a") as file:
        file.write("\n# another build\n")
    with pytest.raises(ClusterError, match=r"node2 has another .*engine.py"):
        check_builds("node2", [build_of(question)], [ours])
    named = msgspec.structs.replace(ours, name="Another 2")
    with pytest.raises(ClusterError, match=r"\(Another 2, sha256"):
        check_builds("node2", [named], [ours])
    missing = build_of(ask_about(EngineSpec(command=("no-such-engine",))))
    assert missing.problem == "engine no-such-engine: there is no such program"


def test_a_machine_is_asked_about_engines() -> None:
    question = ask_about(EngineSpec(command=(sys.executable, "-S", str(FAKE))))
    ours = msgspec.convert(describe_machine([question]), MachineFacts)
    assert len(ours.engines) == 1
    check_machine("node2", ours, ours, None, device="cpu", pools=1)
    other = msgspec.structs.replace(ours, engines=(msgspec.structs.replace(ours.engines[0], name="Other"),))
    with pytest.raises(ClusterError, match="node2 has another"):
        check_machine("node2", other, ours, None, device="cpu", pools=1)


def test_engines_of_ours_need_no_program_on_other_machines() -> None:
    plan, _ = make_plan(
        MatchOptions(players=["heuristic-1?movetime=10", f"{OURS}?nodes=1"], variant="gardner", pairs=1)
    )
    assert [spec.command[1:] for spec in other_engines(plan.contestants)] == [("-m", "selfmate", "uci")]
    seats = EngineMatch(EngineGames(plan=plan, players=[None, None], games=[]), "cpu")._setup.seats
    assert [seat.command == [] for seat in seats] == [True, False]


@pytest.mark.ray
def test_an_arena_with_an_engine_on_ray(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="Ray is not installed; run: make testray")
    engine = f"{OURS}?nodes=16&option.WeightsFile=heuristic-1&name=engine"
    words = ["arena", "heuristic-1", engine, "--variant", "gardner", "--games", "4", "--visits", "8"]
    for name, more in (("here", []), ("there", ["--ray"])):
        with pytest.raises(SystemExit) as ended:
            main([*words, "--max-plies", "30", "--pgn", str(tmp_path / name), *more])
        assert ended.value.code == 0, capsys.readouterr().err
    moves = [
        sorted(line.partition(" {")[0] for line in (tmp_path / name).read_text().splitlines() if line.startswith("["))
        for name in ("here", "there")
    ]
    assert moves[0] == moves[1]
