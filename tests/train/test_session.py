"""What a session refuses before it starts, what it prints, and how it divides its time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from command import Run as Command
from selfmate._core import EDGE_BYTES, NODE_BYTES, GameRecord, Pool, Position, Search, SearchConfig
from selfmate.errors import EvaluatorError
from selfmate.evaluator.torch import TorchEvaluator
from selfmate.nn.net import Net
from selfmate.recipe.reader import RecipeError, change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.rundir.format import RunError, read_run
from selfmate.rundir.reader import RunReader
from selfmate.search.autotune import tree_bytes
from selfmate.train import memory as train_memory
from selfmate.train import selfplay as selfplay_module
from selfmate.train.gate import Matches
from selfmate.train.learner import Losses
from selfmate.train.memory import check_net, check_trees
from selfmate.train.metrics import is_overfitted
from selfmate.train.selfplay import Concurrency, CycleGames, SelfPlay, selfplay_pool
from selfmate.train.session import train
from selfmate.train.session_time import SessionTime
from selfmate.util import memory as memory_module

SLOW = ("selfplay.max_plies=30", "selfplay.visits=16", "selfplay.fast_visits=16")
"""Games that last longer than what a trainer does between two cycles."""
SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0")


def metrics(directory: Path, stage: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["stage"] == stage]


# -- memory ---------------------------------------------------------------------------------------


def test_trees_that_do_not_fit_are_refused_before_anything_starts(
    tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train_memory, "memory_bytes", lambda: 16 << 30)
    settings = ("--set", "selfplay.visits=100000", "--set", "selfplay.slots=1024")
    done = run("train", "gardner-laptop", "--run", tmp_path / "run", *settings)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "selfmate: selfplay.visits: 1,024 search trees of 100,000 visits need about 149.5 GiB of memory, and this "
        "machine has 16.0 GiB; lower selfplay.visits or selfplay.slots\n"
    )
    assert not (tmp_path / "run").exists()
    assert run("train", "gardner-laptop", "--run", tmp_path / "run", "--set", "selfplay.visits=1000000000").code == 2


def test_the_longest_search_of_a_schedule_decides() -> None:
    recipe = change(load("gardner-laptop"), ["selfplay.slots=10", "selfplay.visits=[[0, 10], [50, 20], [5000, 900]]"])
    needed = 10 * tree_bytes(20)  # the run has 1000 cycles
    check_trees(recipe, int(needed / 0.8) + 1)
    with pytest.raises(RecipeError, match="10 search trees of 20 visits"):
        check_trees(recipe, int(needed / 0.8) - 1)
    check_trees(change(recipe, ["selfplay.slots=0"]), int(needed / 0.8) - 1)  # as many games as fit are chosen


def test_a_net_that_cannot_be_trained_in_memory_is_refused(
    tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    grown = change(load("gardner-laptop"), ["net.blocks=[[0, 4], [20, 40]]"])
    last = sum(each.numel() for each in Net(grown.net_config(20), seed=None).parameters())
    monkeypatch.setattr(train_memory, "memory_bytes", lambda: 20 * last + 1)
    check_net(grown)
    monkeypatch.setattr(train_memory, "memory_bytes", lambda: 20 * last - 1)
    with pytest.raises(RecipeError, match=f"a net of {last:,} parameters needs "):
        check_net(grown)
    huge = ("--set", "net.blocks=80", "--set", "net.channels=1024")
    done = run("train", "gardner-laptop", "--run", tmp_path / "run", *huge)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "; lower net.blocks or net.channels" in done.err
    assert not (tmp_path / "run").exists()


def test_the_name_of_a_run_is_utf8(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="must be UTF-8"):
        train("gardner-laptop", tmp_path / "\udcff", smoke=True)
    assert not list(tmp_path.iterdir())


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
def selfplay(tmp_path: Path) -> Iterator[SelfPlay]:
    """Self-play of a tiny net that goes on from cycle to cycle, as on a GPU."""
    train("gardner-laptop", tmp_path / "run", overrides=(*SETTINGS, "selfplay.cycles=1"), smoke=True, device="cpu")
    state = read_run(tmp_path / "run")[1]
    recipe = change(smoke_recipe(load("gardner-laptop")), SETTINGS)
    made = SelfPlay(recipe, 1, "cpu", continuous=True)
    made.prepare(tmp_path / "run" / state.checkpoint(0).name)
    yield made
    made.pause()


def resume(selfplay: SelfPlay, records: Sequence[GameRecord]) -> SelfPlay:
    """Return the self-play of another session, with the same evaluator."""
    resumed = SelfPlay(selfplay.recipe, 1, "cpu", records, continuous=True)
    resumed._evaluator, resumed.concurrency = selfplay._evaluator, selfplay.concurrency
    return resumed


def test_continuous_self_play_follows_the_schedules_of_the_recipe(selfplay: SelfPlay) -> None:
    """Games go on from cycle to cycle; their next searches are those of the new cycle."""
    selfplay.recipe = change(selfplay.recipe, ["selfplay.visits=[[0, 4], [1, 12]]", "selfplay.full_probability=1.0"])
    selfplay.concurrency = Concurrency(2, 0, "")  # games that are begun ahead have the search of the cycle before
    most = []
    for cycle in range(4):
        games = selfplay.play(
            cycle, list(range(8 * cycle, 8 * cycle + 8)), stopping=lambda: False, tell=lambda games: None
        )
        found = [sum(entry["visits"].values()) for record in games.records for entry in record.trained()]
        most.append(max(found))
    assert (most[0], most[-1]) == (4, 12)


def test_games_that_a_session_did_not_save_begin_at_once(
    selfplay: SelfPlay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game without a move is not saved. The next session begins it beside the games in flight, not cycles later."""
    play_cycle(selfplay, 0, range(8))
    flight = selfplay.in_flight()
    assert max(record.game_id for record in flight) > 10
    resumed = resume(selfplay, [record for record in flight if record.game_id not in {9, 10}])
    begun: list[int] = []

    class Watched:
        def __init__(self, pool: Pool) -> None:
            self.pool = pool

        def __getattr__(self, name: str) -> Any:
            return getattr(self.pool, name)

        def start(self, first: int, count: int) -> None:
            begun.extend(range(first, first + count))
            self.pool.start(first, count)

    known = {record.game_id for record in resumed.in_flight()}
    monkeypatch.setattr(selfplay_module, "selfplay_pool", lambda *a, **b: Watched(selfplay_pool(*a, **b)))
    resumed._start(1, [8])
    resumed.pause()
    assert begun[:2] == [9, 10] if 8 in known else [8, 9, 10]
    assert begun[2 if 8 in known else 3] == max(known) + 1
    assert not known & set(begun)


def test_a_game_that_ended_is_counted_once(selfplay: SelfPlay) -> None:
    """Games of later cycles that ended early are saved with a session; the next one does not count them again.

    Most of them are truncated after 12 plies, and have no outcome.
    """
    early: set[int] = set()
    for cycle in range(20):  # until a game of a later cycle has ended before the last of its own
        mine, ended = play_cycle(selfplay, cycle, range(8 * cycle, 8 * cycle + 8))
        assert mine == list(range(8 * cycle, 8 * cycle + 8))
        early |= set(ended)
        early -= set(range(8 * cycle + 8))
        if early:
            break
    saved = [GameRecord.from_bytes(record.to_bytes()) for record in selfplay.in_flight()]
    assert early <= {record.game_id for record in saved}
    assert any(record.outcome is None for record in saved if record.game_id in early), "none was truncated"
    resumed = resume(selfplay, saved)
    following = range(8 * cycle + 8, 8 * cycle + 16)
    mine, later = play_cycle(resumed, cycle + 1, following)
    resumed.pause()
    assert mine == list(following)
    assert not early & set(later)
    assert len(later) == len(set(later))


def test_self_play_goes_on_between_cycles_and_rests_when_it_is_told(
    selfplay: SelfPlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every game comes once, those that end between two calls too; nothing is played during a rest."""
    monkeypatch.setattr(selfplay_module, "DRAIN_SECONDS", 0.001)
    selfplay.recipe = change(selfplay.recipe, SLOW)
    seen: list[int] = []
    ended: list[int] = []
    for cycle in range(4):
        mine, finished = play_cycle(selfplay, cycle, range(8 * cycle, 8 * cycle + 8))
        assert mine == list(range(8 * cycle, 8 * cycle + 8))
        seen += mine
        ended += finished
        before = selfplay._thread.evaluations
        deadline = time.monotonic() + 20
        while cycle < 2 and selfplay._thread.evaluations == before:
            assert time.monotonic() < deadline, "self-play stands still between two cycles"
            time.sleep(0.01)
        if cycle == 2:
            selfplay.pause()
            before = selfplay._thread.evaluations
            time.sleep(0.2)
            assert selfplay._thread.evaluations == before
    left = selfplay.in_flight()
    assert not {record.game_id for record in left} & set(seen)
    assert len(ended) == len(set(ended))
    assert set(seen) <= set(ended)


def test_a_new_cycle_changes_the_visits_and_the_net_of_games_that_go_on(
    selfplay: SelfPlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Pool.configure` is called with the schedules of the cycle, and one pool plays all cycles."""
    pools: list[Pool] = []

    def make_pool(*arguments: Any, **options: Any) -> Pool:
        pools.append(selfplay_pool(*arguments, **options))
        return pools[-1]

    monkeypatch.setattr(selfplay_module, "selfplay_pool", make_pool)
    changed = change(selfplay.recipe, ["selfplay.visits=[[0, 4], [1, 9]]", "selfplay.max_plies=12"])
    selfplay.recipe = changed
    play_cycle(selfplay, 0, range(8))
    games = selfplay.play(1, range(8, 40), stopping=lambda: False, tell=lambda games: None)
    assert len(pools) == 1
    visits = [
        {sum(entry["visits"].values()) for entry in record.trained() if len(entry["visits"]) > 1}
        for record in games.records[-8:]  # begun after the change
    ]
    assert all(max(each) >= 8 for each in visits if each)
    assert any(visits)


def test_a_failure_between_cycles_is_raised_by_the_next_one(
    selfplay: SelfPlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selfplay_module, "DRAIN_SECONDS", 0.001)
    selfplay.recipe = change(selfplay.recipe, SLOW)
    play_cycle(selfplay, 0, range(8))
    assert not selfplay._thread.wait(0)

    def broken(*arguments: Any) -> None:
        raise EvaluatorError("the GPU failed: device lost")

    monkeypatch.setattr(TorchEvaluator, "evaluate", broken)
    assert selfplay._thread.wait(20)
    with pytest.raises(EvaluatorError, match="device lost"):
        play_cycle(selfplay, 1, range(8, 16))


def test_first_cycles_without_the_net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their games are those of equal priors and draws, all are there, and no net is loaded for them."""
    loaded: list[int] = []
    prepare = SelfPlay.prepare

    def watched(self: SelfPlay, champion: Path) -> None:
        loaded.append(read_run(tmp_path / "run")[1].cycle)
        prepare(self, champion)

    monkeypatch.setattr(SelfPlay, "prepare", watched)
    monkeypatch.setattr(selfplay_module, "UNIFORM_GAMES", 5)
    settings = (*SETTINGS, "selfplay.uniform_cycles=2", "selfplay.cycles=3")
    train("gardner-laptop", tmp_path / "run", overrides=settings, smoke=True, device="cpu")
    run = RunReader.open(tmp_path / "run")
    by_cycle: dict[int, list[GameRecord]] = {0: [], 1: [], 2: []}
    for record in run.games():
        by_cycle[record.game_id // 8].append(record)
    assert [len(records) for records in by_cycle.values()] == [8, 8, 8]
    values = [{entry["net_value"] for record in records for entry in record.trained()} for records in by_cycle.values()]
    by_rules = {-1.0, 0.0, 1.0}
    assert values[0] | values[1] <= by_rules
    assert values[2] - by_rules
    assert set(loaded) == {2}


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
