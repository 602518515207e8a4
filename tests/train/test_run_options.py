"""Runs with options of learner, gate and measurement on: exact when stopped and resumed, and each does what it says."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import msgspec
import pytest
import torch

from run_options import EVERY_OPTION
from selfmate import SelfmateError
from selfmate._core import GameRecord
from selfmate.match.match_file import GameEntry
from selfmate.match.report import MatchReport
from selfmate.match.runner import MatchProgress, play_match
from selfmate.nn.checkpoint import read_card
from selfmate.rating.elo import fit
from selfmate.rating.match_stats import Match
from selfmate.recipe.reader import RecipeError
from selfmate.recipe.schema import GatePart
from selfmate.rundir.format import State
from selfmate.train import gate as gate_module
from selfmate.train.engine_match import play_engine, rate_champion
from selfmate.train.gate import Matches
from selfmate.train.gate_rules import GateTest, passes
from selfmate.train.learner import Learner
from selfmate.train.lessons import _StepLog
from selfmate.train.losses import Losses
from selfmate.train.session import Summary, train
from selfmate.train.watchdog import EXIT_CODE, Watchdog
from selfmate.util.signals import Stop
from stopping import ImpatientStop

SHORT: Final = ("selfplay.max_plies=12", "progress.games=0", "gate.games=0", "gate.final_games=0")
HELPERS: Final = Path(__file__).parents[1] / "helpers"
ENGINE: Final = f"uci:{sys.executable} -S {HELPERS / 'fake_engine.py'} none?nodes=1"
"""It plays knights out and back, which is legal in chess only."""


def go(directory: Path, *settings: str, recipe: str = "gardner-laptop", **options: Any) -> Summary:
    return train(recipe, run=directory, overrides=(*SHORT, *settings), smoke=True, device="cpu", **options)


def state_of(directory: Path) -> State:
    return msgspec.json.decode((directory / "state.json").read_bytes(), type=State)


def metrics_of(directory: Path, stage: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["stage"] == stage]


def learned(directory: Path) -> tuple[Any, ...]:
    """Return everything that must not depend on how often a run was stopped."""
    state = state_of(directory)
    assert state.learner is not None
    nets = {each.name: each.files for each in (*state.checkpoints, *state.kept_nets)}
    return state.cycle, state.champion, state.goal, state.first_step, state.games, nets, state.learner.files


# ---- the learner of a run -------------------------------------------------------------------------------------------

MANY: Final = [
    (
        "learner.optimizer=adam", "learner.cosine_end=0.1", "learner.swa=2", "learner.value_loss=huber",
        "learner.policy_loss=all", "learner.target_power=1.5", "learner.smoothing=0.1", "learner.epochs=1.5",
        "learner.window_cycles=2", "learner.draw_target=[[0, -0.15], [2, -0.3]]", "learner.material_nudge=0.1",
        "learner.weigh_by=game", "learner.keep_every=3", "learner.log_every=2", "learner.holdout=0",
        "selfplay.cycles=4",
    ),
    ("learner.optimizer=sgd", "learner.nesterov=false", "learner.momentum=0.5", "learner.recency=1.0", "gate.games=4",
     "gate.rule=sprt", "gate.p1=0.9", "learner.weigh_by=ply", "learner.value_loss=mse"),
    EVERY_OPTION,
    (  # the rest: rules of the search without priors, rewards on the way, noise below the root
        "net.encoder=pieces13", "net.policy=none", "net.value=two", "net.heads=full", "net.value_channels=0",
        "net.activation=leaky", "search.gumbel=false", "search.select=noise",
        "search.solver=false", "search.draw_score=0.1", "selfplay.judge=material", "selfplay.starts=endgames",
        "selfplay.uniform_cycles=1", "learner.value_loss=mse", "learner.shaping=0.05", "learner.step_cost=0.01",
        "learner.shaping_discount=0.99", "learner.recency=1.0", "gate.games=4", "gate.rule=wins", "gate.select=ucb1",
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Uninterrupted runs with many options."""
    folders = [tmp_path_factory.mktemp("options") / "run" for _ in MANY]
    for folder, settings in zip(folders, MANY, strict=True):
        assert go(folder, *settings).reason == "complete"
    return folders


@pytest.mark.parametrize("number", range(len(MANY)))
def test_a_run_with_options_can_be_stopped_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, straight: list[Path], number: int
) -> None:
    stop, sessions = ImpatientStop(monkeypatch), 0
    reason = ""
    while reason != "complete":
        sessions += 1
        stop.left = 20 + 12 * sessions
        reason = go(tmp_path / "run", *MANY[number]).reason
        assert sessions < 100
    assert sessions > 3
    assert learned(tmp_path / "run") == learned(straight[number])


def test_passes_over_the_newest_cycles(straight: list[Path]) -> None:
    """004: of the games of the last cycles, not held out, every position is drawn so often; in whole batches."""
    positions = {shard.cycle: shard.positions for shard in state_of(straight[0]).shards}
    steps = {line["cycle"]: line["step"] for line in metrics_of(straight[0], "learn")}
    wanted, total = {0: 0}, 0
    for cycle in (1, 2, 3):
        window = sum(positions[each] for each in range(max(0, cycle - 2), cycle))
        total += round(1.5 * window) // 16
        wanted[cycle] = total
    assert steps == wanted


def test_nets_and_losses_of_steps_are_kept(straight: list[Path]) -> None:
    state = state_of(straight[0])
    assert state.learner is not None
    last = state.learner.step
    assert [net.step for net in state.kept_nets] == list(range(3, last + 1, 3))
    for net in state.kept_nets:
        assert net.name == f"checkpoints/{net.step:09}-step"
        assert read_card(straight[0] / net.name).step == net.step
    lines = metrics_of(straight[0], "step")
    assert [line["step"] for line in lines] == list(range(2, last + 1, 2))
    whole = [line["loss_total"] for line in metrics_of(straight[0], "learn") if "loss_total" in line]
    assert min(whole) / 2 < lines[0]["loss_total"] < 2 * max(whole)


def test_losses_of_steps_are_means_since_the_line_before() -> None:
    lines: list[dict[str, Any]] = []
    lessons: Any = SimpleNamespace(
        part=SimpleNamespace(log_every=3),
        learner=SimpleNamespace(rate=lambda cycle: 0.25),
        status=SimpleNamespace(),
        log=lambda stage, cycle, **facts: lines.append({"stage": stage, "cycle": cycle, **facts}),
    )
    log = _StepLog(lessons, 4)
    for step in range(2, 11):  # resumed after step 1
        log(step, Losses(total=float(step), policy=2.0 * step, value=0.5, plies=0.0))
    found = [(line["stage"], line["cycle"], line["step"], line["rate"], line["loss_total"]) for line in lines]
    assert found == [("step", 4, 3, 0.25, 2.5), ("step", 4, 6, 0.25, 5.0), ("step", 4, 9, 0.25, 8.0)]
    assert [line["loss_policy"] for line in lines] == [5.0, 10.0, 16.0]


def test_learning_only_plays_nothing(tmp_path: Path) -> None:
    with pytest.raises(SelfmateError, match="--learn-only needs games, and there are none yet"):
        go(tmp_path / "run", learn_only=True)
    assert not (tmp_path / "run").exists()
    go(tmp_path / "run", "selfplay.cycles=2", "learner.holdout=0")
    before = state_of(tmp_path / "run")
    assert before.learner is not None
    go(tmp_path / "run", "selfplay.cycles=4", "learner.holdout=0", learn_only=True, watchdog=20)
    said = (tmp_path / "run" / "console.log").read_text("utf-8").splitlines()[-1]
    assert "Train on: " in said
    assert "--watchdog 20 --learn-only" in said
    after = state_of(tmp_path / "run")
    assert after.learner is not None
    assert (after.games, after.shards, after.first_game) == (before.games, before.shards, before.first_game)
    # Cycle 2 learns from the games of cycle 1; cycle 3, without new games, from the whole window
    owed = before.owed + before.positions
    assert after.cycle == 4
    assert after.learner.step == before.goal + owed // 16
    # Games go on where they were
    go(tmp_path / "run", "selfplay.cycles=5", "learner.holdout=0")
    assert state_of(tmp_path / "run").games == before.games + 8
    assert [shard.cycle for shard in state_of(tmp_path / "run").shards] == [0, 1, 4]


TEACHER: Final = """
import sys
for line in sys.stdin:
    words = line.split()
    if words == ["uci"]:
        print("id name Teacher\\noption name UCI_Variant type combo default gardner var gardner\\nuciok")
    elif words == ["isready"]:
        print("readyok")
    elif words[:2] == ["position", "fen"]:
        score = sum(map(ord, line)) % 400 - 200
    elif words[0] == "go":
        print(f"info depth 1 score cp {score}\\nbestmove a1a1")
    elif words == ["quit"]:
        break
    sys.stdout.flush()
"""


def test_a_run_is_taught_in_its_first_cycles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine.py").write_text(TEACHER)
    engine = f'learner.teacher="uci:{sys.executable} -S {tmp_path / "engine.py"}?nodes=1"'
    taught: dict[int, set[bool]] = {}
    real: Callable[..., Any] = Learner._losses

    def watched(self: Learner, net: Any, batch: Any, cycle: int, *mean: Any) -> Any:
        taught.setdefault(cycle, set()).add(bool((batch.root_draw == 1 - batch.root_value.abs()).all()))
        return real(self, net, batch, cycle, *mean)

    go(tmp_path / "straight", engine, "learner.teacher_cycles=2")
    monkeypatch.setattr(Learner, "_losses", watched)
    go(tmp_path / "run", engine, "learner.teacher_cycles=2", "selfplay.cycles=2")
    go(tmp_path / "run", engine, "learner.teacher_cycles=2", "selfplay.cycles=3")
    assert taught == {1: {True}, 2: {False}}
    assert learned(tmp_path / "run")[4:] == learned(tmp_path / "straight")[4:]


BAD_ENGINES: Final = [
    ("learner.teacher='uci:no-such-engine?nodes=5'", "learner.teacher: "),
    (f"learner.teacher='{ENGINE[:-7]}movetime=5'", "learner.teacher: nodes or depth are limited here, not time"),
    (f"progress.engine='{ENGINE}&option.UCI_Elo=1350'", "has no option 'UCI_Elo'"),
    (f"progress.engine='{ENGINE}'", "progress.engine: "),  # it does not play gardner
    ("progress.engine=stockfish", "progress.engine: an engine is written uci:COMMAND?nodes=N, not 'stockfish'"),
]


@pytest.mark.parametrize(("setting", "reason"), BAD_ENGINES)
def test_an_engine_that_cannot_play_is_refused_in_one_line(tmp_path: Path, setting: str, reason: str) -> None:
    with pytest.raises(RecipeError) as caught:
        go(tmp_path / "run", setting, "learner.teacher_cycles=1" if "teacher" in setting else "gate.games=0")
    assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert not (tmp_path / "run").exists()


# ---- the gate -------------------------------------------------------------------------------------------------------


def test_wins_count_without_draws() -> None:
    """001: three wins of six pass, whatever the draws; a score of one half does not need them."""
    three = Match(wins=(2, 1), draws=(0, 0), losses=(1, 2))
    drawn = Match(wins=(1, 1), draws=(2, 2), losses=(0, 0))
    wins = GatePart(rule="wins", threshold=0.5)
    assert passes(wins, three, 0)
    assert not passes(wins, drawn, 0)
    assert passes(GatePart(threshold=0.6), drawn, 0)
    assert not passes(GatePart(threshold=0.55), three, 0)


class Ended:
    """A record of a match as far as the test looks at it."""

    def __init__(self, number: int, first_wins: bool) -> None:
        self.game_id = number
        self.white_seat = number % 2
        self.result = "1-0" if first_wins == (self.white_seat == 0) else "0-1"


def test_the_sequential_test_is_that_of_the_scores() -> None:
    """Wins and losses in one cell each: the ratio of pairs that are split 1 : 1 is that of the means, by hand."""
    part = GatePart(rule="sprt", p0=0.5, p1=0.75)
    for first_wins, verdict in ((True, "H1"), (False, "H0")):
        test = GateTest(part, 0)
        games: list[Any] = [Ended(number, first_wins) for number in range(60)]
        test.follow(reversed(games))  # in any order
        test.follow(games)  # known already
        assert test.state.verdict == verdict
        assert test.state.pairs is not None
        again = GateTest(part, 0)
        for count in range(2, 60, 2):
            again.follow(games[:count])
            if again.state.verdict is not None:
                break
        assert 2 * test.state.pairs == count


def test_each_error_of_the_sequential_test_has_its_key() -> None:
    """A small `alpha` makes passing hard, a small `beta` refusing; at the cycle of their schedules."""

    def pairs(first_wins: bool, alpha: Any, beta: Any, cycle: int = 0) -> int:
        test = GateTest(GatePart(rule="sprt", p0=0.4, p1=0.6, alpha=alpha, beta=beta), cycle)
        games: list[Any] = [Ended(number, first_wins) for number in range(200)]
        test.follow(games)
        assert test.state.verdict == ("H1" if first_wins else "H0")
        assert test.state.pairs is not None
        return test.state.pairs

    for first_wins in (True, False):
        careful, quick = pairs(first_wins, 0.0001, 0.4), pairs(first_wins, 0.4, 0.0001)
        assert (careful > quick) if first_wins else (careful < quick)
    rising = ((0, 0.4), (3, 0.0001))
    assert (
        pairs(True, rising, 0.4, 2) == pairs(True, 0.4, 0.4) < pairs(True, 0.0001, 0.4) == pairs(True, rising, 0.4, 3)
    )
    assert pairs(False, 0.4, rising, 2) == pairs(False, 0.4, 0.4) < pairs(False, 0.4, rising, 3)


def test_the_gate_stops_when_the_test_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict makes the champion, not the score: H1 passes, H0 and no decision do not."""
    waiting = ["H1", None, "H0"]
    asked: list[bool] = []

    class Tested(GateTest):
        def __init__(self, part: GatePart, cycle: int) -> None:
            super().__init__(part, cycle)
            self.verdict = waiting.pop(0)

        @property
        def state(self) -> Any:
            return super().state._replace(verdict=self.verdict)  # type: ignore[arg-type]

        def result(self) -> tuple[Match, list[GameRecord]]:
            return even, []

    even = Match(wins=(1, 1), draws=(0, 0), losses=(1, 1))

    def play(*sides: Any, stopping: Callable[[], bool], **options: Any) -> tuple[Match, list[GameRecord]] | None:
        asked.append(stopping())
        return None if asked[-1] else (even, [])

    monkeypatch.setattr(gate_module, "GateTest", Tested)
    monkeypatch.setattr(gate_module, "play_match", play)
    go(tmp_path / "run", "gate.games=4", "gate.rule=sprt", "gate.threshold=0.0", "selfplay.cycles=4")
    assert asked == [True, False, True]
    gates = metrics_of(tmp_path / "run", "gate")
    assert [(gate["verdict"], gate["passed"]) for gate in gates] == [("H1", True), (None, False), ("H0", False)]
    assert state_of(tmp_path / "run").champion == 2


def test_a_real_gate_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that few pairs decide counts only them; the others are not waited for."""
    most = 0
    real: Callable[..., Any] = play_match

    def watched(*sides: Any, tell: Callable[[MatchProgress], None], **options: Any) -> Any:
        def note(progress: MatchProgress) -> None:
            nonlocal most
            most = max(most, len(progress.finished))
            tell(progress)

        return real(*sides, tell=note, **options)

    monkeypatch.setattr(gate_module, "play_match", watched)
    loose = ("gate.p0=0.05", "gate.p1=0.3", "gate.alpha=0.4", "gate.beta=0.4")
    go(tmp_path / "run", "gate.games=100", "gate.rule=sprt", "selfplay.cycles=2", "gate.visits=2", *loose)
    (gate,) = metrics_of(tmp_path / "run", "gate")
    assert gate["games"] < 20 <= most
    assert (gate["verdict"], gate["passed"]) == ("H1", True)


def test_the_first_candidates_play_what_explores() -> None:
    """002: until a candidate has passed, its opponent is the explorer that plays the games; then the champion."""
    for explorer, champion, opponent in (
        ("heuristic-1", 0, "heuristic-1"),
        ("heuristic-1", 3, "net of cycle 3"),
        ("net", 0, "net of cycle 0"),
    ):
        matches: Any = SimpleNamespace(
            recipe=SimpleNamespace(selfplay=SimpleNamespace(explorer=explorer)),
            evaluator=lambda cycle: f"net of cycle {cycle}",
        )
        assert Matches._opponent(matches, champion) == opponent


# ---- engines --------------------------------------------------------------------------------------------------------


def test_a_new_champion_plays_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's knight moves are illegal after other moves, so that it loses its games and the rating is above."""
    settings = (
        f"progress.engine='{ENGINE}'",
        "progress.engine_games=2",
        "progress.engine_elo=1350",
        "progress.visits=3",
        "selfplay.cycles=2",
    )
    asked: list[dict[str, Any]] = []
    real: Callable[..., Any] = play_engine

    def play(*sides: Any, **options: Any) -> Any:
        asked.append(options)
        return real(*sides, **options)

    monkeypatch.setattr(gate_module, "play_engine", play)
    go(tmp_path / "run", *settings, recipe="chess-laptop")
    lines = metrics_of(tmp_path / "run", "engine")
    assert [line["champion"] for line in lines] == [1, 2]
    for line in lines:
        assert line["games"] == 2 == line["wins"] + line["draws"] + line["losses"]
        assert line["elo"] >= 1350
        assert line["low"] < line["elo"]
    assert len(list((tmp_path / "run/engine").glob("*.pgn"))) == 2
    assert [(each["engine_elo"], each["visits"], each["max_plies"]) for each in asked] == [(1350, 3, 12)] * 2


def test_the_rating_is_that_of_bayeselo() -> None:
    """The champion has wins 9, draws 4 and losses 7 with both colours alike; the engine is anchored at 1350."""
    results = ["1-0"] * 9 + ["1/2-1/2"] * 4 + ["0-1"] * 7
    entries = []
    for number, result in enumerate(results * 2):
        white = number >= len(results)
        seen = result if not white else {"1-0": "0-1", "0-1": "1-0"}.get(result, result)
        entries.append(
            GameEntry(
                number=number, white=int(white), black=int(not white), result=seen, reason="", fault=None, plies=9
            )
        )
    report = MatchReport(
        variant="chess", contestants=(), labels=("net", "fish"), openings=20, entries=tuple(entries), unavailable={},
        seconds=1.0,
    )  # fmt: skip
    found = rate_champion(report, 1350.0)
    assert (found.games, found.wins, found.draws, found.losses) == (40, 18, 8, 14)
    table = {("net", "fish"): (9, 4, 7), ("fish", "net"): (7, 4, 9)}
    expected = fit(table, anchors={"fish": 1350.0}, model="bayeselo").players[0]
    assert (found.elo, found.low, found.high) == pytest.approx((expected.elo, expected.low, expected.high))
    assert found.elo is not None
    assert 1350 < found.elo < 1450


# ---- the log and the watchdog ---------------------------------------------------------------------------------------


def test_the_console_is_logged_with_the_traceback_of_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    go(tmp_path / "run", "selfplay.cycles=1")
    printed = capsys.readouterr().out.splitlines()
    log = (tmp_path / "run/console.log").read_text().splitlines()
    assert len(printed) > 2
    assert [line[20:] for line in log] == printed
    assert all(line[:2] == "20" and line[10] == " " for line in log)

    def crash(*arguments: Any) -> tuple[torch.Tensor, ...]:
        raise ZeroDivisionError("out of cheese")

    monkeypatch.setattr(Learner, "_losses", crash)
    with pytest.raises(ZeroDivisionError):
        go(tmp_path / "run", "selfplay.cycles=2")
    text = (tmp_path / "run/console.log").read_text()
    assert text.count("Traceback") >= 1
    assert "ZeroDivisionError: out of cheese" in text
    assert "in crash" in text


def test_the_watchdog_names_the_thread_that_stands_still() -> None:
    stop, said, ended = Stop(), list[str](), list[int]()
    closed, release = threading.Event(), threading.Event()
    written: list[str] = []

    def end(code: int) -> None:
        ended.append(code)
        release.set()

    def hang() -> None:
        dog.beat()
        release.wait(10)

    def work(rests: bool) -> None:
        while not release.wait(0.02):
            if rests:
                dog.rest()
            else:
                dog.beat()

    with Watchdog(0.3, stop, say=said.append, write=written.append, close=closed.set, end=end) as dog:
        threads = [
            threading.Thread(target=hang, name="lane 1"),
            threading.Thread(target=work, args=(False,), name="lane 2"),
            threading.Thread(target=work, args=(True,), name="learner"),
        ]
        for thread in threads:
            thread.start()
        assert release.wait(10)
        for thread in threads:
            thread.join()
    assert stop.asked
    assert ended == [EXIT_CODE]
    assert closed.is_set()
    assert len(said) == 1
    assert said[0].startswith("lane 1 has stood still for 0 s in wait (threading.py:")
    assert "Thread lane 1:" in written[0]


def test_the_watchdog_lets_a_run_end_that_comes_back() -> None:
    stop, said, ended = Stop(), list[str](), list[int]()
    with Watchdog(0.2, stop, say=said.append, end=ended.append) as dog:
        dog.beat()
        deadline = time.monotonic() + 10
        while not stop.asked and time.monotonic() < deadline:
            time.sleep(0.01)
    assert stop.asked
    assert not ended
    with Watchdog(0, stop, say=said.append, end=ended.append) as off:
        off.beat()
        time.sleep(0.05)
    assert len(said) == 1


HANGS: Final = """
import sys, time
from selfmate.evaluator import winograd
from selfmate.train.session import train
calls = 0
real = winograd.WinogradEvaluator.evaluate
def hangs(self, *arguments, **options):
    global calls
    calls += 1
    if calls > 20:
        time.sleep(600)
    return real(self, *arguments, **options)
winograd.WinogradEvaluator.evaluate = hangs
train("gardner-laptop", run=sys.argv[1], smoke=True, device="cpu", watchdog=0.01, overrides=sys.argv[2:])
"""


def test_a_run_that_hangs_is_ended_and_goes_on_later(tmp_path: Path) -> None:
    settings = [*SHORT, "selfplay.cycles=1"]
    command = [sys.executable, "-c", HANGS, str(tmp_path / "run"), *settings]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == EXIT_CODE, done.stderr
    assert "lane 0 has stood still" in done.stdout or "lane 1 has stood still" in done.stdout
    assert "in hangs" in done.stdout
    assert "hangs" in (tmp_path / "run/console.log").read_text()
    assert go(tmp_path / "run", "selfplay.cycles=1").reason == "complete"
