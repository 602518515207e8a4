"""What a session refuses before it starts, what it prints, and how it divides its time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command import Run as Command
from selfmate._core import EDGE_BYTES, NODE_BYTES, GameRecord, Pool, Position, Search, SearchConfig
from selfmate.evaluator.winograd import WinogradEvaluator
from selfmate.recipe.reader import RecipeError, change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.format import read_run
from selfmate.search.autotune import tree_bytes
from selfmate.train import selfplay as selfplay_module
from selfmate.train.gate import Matches
from selfmate.train.learner import Losses
from selfmate.train.metrics import is_overfitted
from selfmate.train.selfplay import CycleGames, SelfPlay, check_memory, selfplay_pool
from selfmate.train.session import train
from selfmate.train.session_time import SessionTime
from selfmate.util import memory as memory_module

SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0")


def metrics(directory: Path, stage: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["stage"] == stage]


# -- memory ---------------------------------------------------------------------------------------


def test_trees_that_do_not_fit_are_refused_before_anything_starts(
    tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selfplay_module, "memory_bytes", lambda: 16 << 30)
    settings = ("--set", "selfplay.visits=100000", "--set", "selfplay.slots=1024")
    done = run("train", "gardner-laptop", "--run", tmp_path / "run", *settings)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "selfmate: selfplay.visits: 1,024 search trees of 100,000 visits need about 109.9 GiB of memory, and this "
        "machine has 16.0 GiB; lower selfplay.visits or selfplay.slots\n"
    )
    assert not (tmp_path / "run").exists()
    assert run("train", "gardner-laptop", "--run", tmp_path / "run", "--set", "selfplay.visits=1000000000").code == 2


def test_the_longest_search_of_a_schedule_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = change(load("gardner-laptop"), ["selfplay.slots=10", "selfplay.visits=[[0, 10], [50, 20], [5000, 900]]"])
    needed = 10 * tree_bytes(20)  # the run has 1000 cycles
    monkeypatch.setattr(selfplay_module, "memory_bytes", lambda: int(needed / 0.8) + 1)
    check_memory(recipe)
    monkeypatch.setattr(selfplay_module, "memory_bytes", lambda: int(needed / 0.8) - 1)
    with pytest.raises(RecipeError, match="10 search trees of 20 visits"):
        check_memory(recipe)
    check_memory(change(recipe, ["selfplay.slots=0"]))  # as many games as fit are chosen


def test_the_estimate_covers_a_real_tree() -> None:
    """A search of chess with 2,000 visits: one node for each visit, and fewer edges than are assumed."""
    search = Search(Position("chess"), SearchConfig(), 2000)
    search.run("heuristic-1")
    result = search.result()
    assert result.nodes == 2001  # the root has one, too
    assert NODE_BYTES * result.nodes + EDGE_BYTES * 20 * result.nodes < search.bytes <= tree_bytes(2000)


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory_module, "LIMIT_FILES", (tmp_path / "none", limit))
    machine = memory_module.memory_bytes()
    for text, expected in (("max\n", machine), ("1048576\n", 1 << 20), ("9223372036854771712", machine), ("", machine)):
        limit.write_text(text)
        assert memory_module.memory_bytes() == expected


# -- missing packages -----------------------------------------------------------------------------


@pytest.mark.parametrize(("module", "remedy"), [("torch", "'selfmate[train]'"), ("msgspec", "msgspec")])
def test_a_missing_package_is_named_with_its_remedy(module: str, remedy: str, tmp_path: Path) -> None:
    program = f"import sys; sys.modules[{module!r}] = None; from selfmate.cli.main import main; main()"
    command = [sys.executable, "-c", program, "train", "gardner-laptop", "--run", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (2, f"selfmate: {module} is not installed; run: pip install {remedy}\n")


# -- a resumed run --------------------------------------------------------------------------------


def play_cycle(selfplay: SelfPlay, cycle: int, ids: range) -> tuple[list[int], list[int]]:
    """Play the games of a cycle; return the ids of its games, and of all that ended."""
    games = selfplay.play(cycle, list(ids), stopping=lambda: False, tell=lambda games: None)
    return [record.game_id for record in games.records], [record.game_id for record in games.finished]


@pytest.fixture
def selfplay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SelfPlay:
    """Self-play of a tiny net in which games of later cycles begin early, as on a GPU."""
    train("gardner-laptop", tmp_path / "run", overrides=(*SETTINGS, "selfplay.cycles=1"), smoke=True, device="cpu")
    state = read_run(tmp_path / "run")[1]
    monkeypatch.setitem(selfplay_module.GAMES_AHEAD, "cpu", 40)
    recipe = change(smoke_recipe(load("gardner-laptop")), SETTINGS)
    made = SelfPlay(recipe, 1, "cpu")
    made.prepare(tmp_path / "run" / state.checkpoint(0).name)
    return made


def test_games_that_a_session_did_not_save_begin_at_once(
    selfplay: SelfPlay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game without a move is not saved. The next session begins it beside the games in flight, not cycles later."""
    play_cycle(selfplay, 0, range(8))
    assert max(record.game_id for record in selfplay.in_flight) > 10
    lost = {9, 10}
    selfplay.in_flight = [record for record in selfplay.in_flight if record.game_id not in lost]
    begun: list[int] = []

    class Watched:
        def __init__(self, pool: Pool) -> None:
            self.pool = pool

        def __getattr__(self, name: str) -> Any:
            return getattr(self.pool, name)

        def start(self, first: int, count: int) -> None:
            begun.extend(range(first, first + count))
            self.pool.start(first, count)

    known = {record.game_id for record in selfplay.in_flight}
    monkeypatch.setattr(selfplay_module, "selfplay_pool", lambda *a, **b: Watched(selfplay_pool(*a, **b)))
    selfplay._start(1, [8])
    assert begun[:2] == [9, 10] if 8 in known else [8, 9, 10]
    assert begun[2 if 8 in known else 3] == max(known) + 1
    assert not known & set(begun)


def test_a_game_that_ended_is_counted_once(selfplay: SelfPlay) -> None:
    """Games of later cycles that ended early are saved with a session; the next one does not count them again.

    Most of them are truncated after 12 plies, and have no outcome.
    """
    mine, ended = play_cycle(selfplay, 0, range(8))
    assert mine == list(range(8))
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in selfplay.in_flight]
    early = {game_id for game_id in ended if game_id >= 8}
    assert early, "no game of a later cycle ended early: the test shows nothing"
    assert any(record.outcome is None for record in saved if record.game_id in early), "none was truncated"
    resumed = SelfPlay(selfplay.recipe, 1, "cpu", saved)
    resumed._evaluator, resumed.concurrency = selfplay._evaluator, selfplay.concurrency
    assert isinstance(resumed._evaluator, WinogradEvaluator)
    mine, later = play_cycle(resumed, 1, range(8, 16))
    assert mine == list(range(8, 16))
    assert not early & set(later)
    assert len(later) == len(set(later))


# -- what is printed ------------------------------------------------------------------------------


def test_the_log_prints_the_numbers_of_metrics_jsonl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train("gardner-laptop", tmp_path / "run", overrides=SETTINGS, smoke=True, device="cpu")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("cycle ")]
    played, learned = metrics(tmp_path / "run", "play"), metrics(tmp_path / "run", "learn")
    assert len(lines) == len(played) == len(learned) == 3
    for line, play, learn in zip(lines, played, learned, strict=True):
        assert line.startswith(f"cycle {play['cycle']}: {8 * (play['cycle'] + 1)} games")
        speeds = f"{play['games_per_second']:.1f} games/s {play['positions_per_second']:,.0f} positions/s"
        assert speeds in line
        assert play["games_per_second"] == pytest.approx(8 / play["seconds"])
        for name in ("learned", "held_out"):
            shown = re.search(rf"{name.replace('_', ' ')} policy ([\d.]+)", line)
            assert (shown and shown[1]) == (f"{learn[f'{name}_policy']:.3f}" if f"{name}_policy" in learn else None)
    assert "learned policy" in lines[-1]


# -- time -----------------------------------------------------------------------------------------


def test_final_matches_fit_into_the_time() -> None:
    time = SessionTime(began=1000.0, deadline=1024.0)  # --minutes 0.4
    assert time.cycles_end(200) == pytest.approx(1024 - 0.2 * 24)
    time.game_seconds = 0.02
    assert time.final_games(200, now=1019.0) == 150  # 3 s are left for games of 0.02 s
    assert time.final_games(100, now=1019.0) == 100
    assert time.cycles_end(50) == pytest.approx(1024 - 3)
    assert time.final_games(200, now=1021.7) == 0  # fewer than twenty: not worth it
    assert time.final_games(4, now=1021.7) == 4
    assert time.final_games(200, now=1030.0) == 0
    assert time.final_end() == pytest.approx(1024 + 0.2 * 24)
    endless = SessionTime(began=1000.0, deadline=None, game_seconds=1.0)
    assert (endless.cycles_end(200), endless.final_games(200, now=9999.0), endless.final_end()) == (None, 200, None)


def test_games_of_a_part_of_a_cycle_do_not_tell_how_long_games_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short games end first. Where a session ends within its first cycle, games count as long as they may be."""
    estimates: list[float] = []

    def estimate(self: Matches, plies: float, evaluations_per_second: float) -> float:
        estimates.append(plies)
        return 0.0

    monkeypatch.setattr(Matches, "final_game_seconds", estimate)
    settings = (*SETTINGS, "selfplay.max_plies=40", "selfplay.slots=2", "selfplay.cycles=2")
    real = SelfPlay.play

    def interrupted(self: SelfPlay, cycle: int, missing: Any, **options: Any) -> CycleGames:
        games = real(self, cycle, missing, **options)
        return games._replace(records=games.records[:3]) if not estimates else games

    monkeypatch.setattr(SelfPlay, "play", interrupted)
    train("gardner-laptop", tmp_path / "run", overrides=settings, smoke=True, device="cpu")
    assert estimates[0] == 40
    whole = metrics(tmp_path / "run", "play")[1:]
    assert len(whole) == len(estimates) - 1 > 0
    assert all(plies < 40 for plies in estimates[1:])
    assert estimates[-1] == pytest.approx(whole[-1]["plies"])


# -- overfitting ----------------------------------------------------------------------------------


def losses(value: float) -> Losses:
    return Losses(total=value, policy=0.0, value=value, plies=0.0)


@pytest.mark.parametrize(
    ("held_out", "learned", "alarm"),
    [
        (1.078, 0.856, False),  # chess-35min, cycle 3: the largest gap of a run whose losses all fell
        (0.851, 0.770, False),  # the same run, cycle 23
        (0.941, 0.719, False),  # 256 games of Gardner, each position sampled 4 times
        (1.069, 0.584, True),  # the same games, 8 times: the loss on held-out games has risen from 0.916
    ],
)
def test_the_overfitting_alarm_tells_measured_runs_apart(held_out: float, learned: float, alarm: bool) -> None:
    assert is_overfitted(losses(held_out), losses(learned)) is alarm
