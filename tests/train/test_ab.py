"""`selfmate ab`: nets from the same games or from forks of one run, matches fixed beforehand, one table."""

from __future__ import annotations

import io
import itertools
import json
import math
import random
import statistics
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from selfmate.cli.main import main
from selfmate.nn.checkpoint import load
from selfmate.rating.match_stats import Match, SideResult, count_games
from selfmate.rating.seeds import compare_settings, seed_variance, standard_error
from selfmate.rundir.format import read_run, read_state
from selfmate.rundir.pack import pack
from selfmate.train import ab as ab_module
from selfmate.train.ab import compare
from selfmate.train.ab_plan import AbError, AbPlan, Arm, read_arm
from selfmate.train.ab_report import as_json, show
from selfmate.train.session import train
from selfmate.train.warm_start import averaged_net

pytestmark = pytest.mark.usefixtures("one_thread")
SETTINGS = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed run of three tiny cycles."""
    folder = tmp_path_factory.mktemp("ab")
    train("gardner-laptop", folder / "run", overrides=SETTINGS, smoke=True, device="cpu")
    pack(folder / "run", folder / "packed", 8)
    return folder / "packed"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "lock"}


def plan_of(source: Path, **changes: Any) -> AbPlan:
    values: dict[str, Any] = {
        "source": str(source),
        "source_cycle": read_state(source).cycle,
        "variant": "gardner",
        "kind": "data",
        "steps": 4,
        "arms": (Arm("base"), read_arm("wide net.channels=12 match.visits=3")),
        "seeds": (1, 2),
        "games": 4,
        "visits": 2,
    }
    return AbPlan(**(values | changes))


# -- statistics of seeds ------------------------------------------------------------------------------------------


def games_of(chance: random.Random, elo: float, pairs: int) -> Match:
    """Return a match in which every game is won or lost with the chance of an Elo difference."""
    win = 1 / (1 + 10 ** (-elo / 400))
    results = []
    for pair in range(pairs):
        for white in (True, False):
            is_won = chance.random() < win
            results.append(SideResult(pair, white, "1-0" if is_won == white else "0-1"))
    return count_games(results)


def test_the_standard_error_of_a_match_is_the_spread_of_its_repetitions() -> None:
    chance = random.Random(1)
    matches = [games_of(chance, 100, 200) for _ in range(400)]
    spread = statistics.stdev(match.elo for match in matches)
    assert statistics.mean(map(standard_error, matches)) == pytest.approx(spread, rel=0.12)


def test_intervals_with_seeds_cover_the_difference_of_settings_and_those_of_matches_do_not() -> None:
    """Nets of a setting spread by 40 Elo, so that a difference of two nets spreads by 57."""
    chance = random.Random(2)
    covered = narrow = 0
    variances = []
    for _ in range(300):
        arms = []
        base = [chance.gauss(0, 40) for _ in range(3)]
        for true in (0.0, 30.0, -50.0):
            arms.append([games_of(chance, true + chance.gauss(0, 40) - own, 300) for own in base])
        own = [games_of(chance, after - before, 300) for before, after in itertools.pairwise(base)]
        variances.append(seed_variance(arms, own) or 0.0)
        first = compare_settings(arms, own)[1]
        assert first.error is not None
        covered += abs(first.elo - 30) <= first.error
        narrow += abs(first.elo - 30) <= first.match_error
    assert math.sqrt(statistics.mean(variances)) == pytest.approx(math.sqrt(2) * 40, rel=0.1)
    assert 0.90 <= covered / 300 <= 0.99
    assert narrow / 300 < 0.6


def test_one_seed_says_nothing_about_seeds() -> None:
    even = Match(wins=(5, 5), draws=(0, 0), losses=(5, 5))
    assert compare_settings([[even]])[0].error is None
    assert seed_variance([[even, even]]) == 0.0


# -- fixed data ---------------------------------------------------------------------------------------------------


def test_nets_learn_from_the_games_of_a_packed_run_and_play_the_games_of_the_plan(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(source)
    found = compare(tmp_path / "ab", plan_of(source), device="cpu")
    assert contents(source) == before
    assert found.is_complete
    assert set(found.results) == {("base", 1), ("base", 2), ("wide", 1), ("wide", 2)}
    assert {result.steps for result in found.results.values()} == {4}
    assert all(result.held_out is not None for result in found.results.values())
    assert [(pairing.first, pairing.second, match.games) for pairing, match in found.matches] == [
        (("wide", 1), ("base", 1), 4),
        (("wide", 2), ("base", 2), 4),
        (("base", 2), ("base", 1), 4),
    ]
    assert load(tmp_path / "ab/nets/wide-1")[0].config.channels == 12
    assert load(tmp_path / "ab/nets/base-1")[0].config.channels == 8
    assert "wide-1 (3 visits)" in (tmp_path / "ab/matches/wide-1--base-1.pgn").read_text()
    # The table fits a terminal; settings may be long and stand below it.
    console = Console(file=io.StringIO(), width=80)
    show(found, console)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "…" not in shown
    assert "│ wide " in shown
    assert "wide: net.channels=12 match.visits=3" in shown.splitlines()
    # Called again it does nothing again, and finds the same.
    monkeypatch.setattr(ab_module, "_learn", None)
    assert compare(tmp_path / "ab", plan_of(source), device="cpu") == found
    # The same plan elsewhere gives the same nets: they depend on games, settings and seed alone.
    monkeypatch.undo()
    again = compare(tmp_path / "again", plan_of(source), device="cpu")
    nets = [load(tmp_path / folder / "nets/wide-2")[1].net_id for folder in ("ab", "again")]
    assert nets[0] == nets[1]
    assert as_json(again)["arms"][1]["elo"] == as_json(found)["arms"][1]["elo"]
    assert load(tmp_path / "ab/nets/wide-1")[1].net_id != nets[0]


def test_weights_of_the_run_are_kept_where_they_fit(source: Path, tmp_path: Path) -> None:
    arms = (Arm("base"), read_arm("still learner.learning_rate=1e-12"))
    compare(tmp_path, plan_of(source, weights="run", arms=arms, seeds=(1,), steps=1), device="cpu")
    learned, kept = load(tmp_path / "nets/still-1")[0], averaged_net(source)
    bits, scalars = torch.tensor([[5] * learned.config.bitboards]), torch.ones(1, learned.config.scalars)
    ours, theirs = learned.eval()(bits, scalars)[1], kept.eval()(bits, scalars)[1]
    assert torch.allclose(ours, theirs, atol=0.05)


def test_it_stops_at_once_and_is_resumed(source: Path, tmp_path: Path) -> None:
    calls = 0

    def stopping() -> bool:
        nonlocal calls
        calls += 1
        return calls > 12

    plan = plan_of(source)
    first = compare(tmp_path / "ab", plan, device="cpu", stopping=stopping)
    assert not first.is_complete
    whole = compare(tmp_path / "ab", plan, device="cpu")
    assert whole.is_complete
    fresh = compare(tmp_path / "fresh", plan, device="cpu")
    assert [match for _, match in whole.matches] == [match for _, match in fresh.matches]


def test_seconds_count_from_the_first_step(source: Path, tmp_path: Path) -> None:
    plan = plan_of(source, steps=None, seconds=0.3, seeds=(1,))
    found = compare(tmp_path, plan, device="cpu")
    assert all(0.3 <= result.seconds < 5 and result.steps > 1 for result in found.results.values())


# -- forks --------------------------------------------------------------------------------------------------------


def test_forks_train_on_with_their_own_settings_and_seeds(source: Path, tmp_path: Path) -> None:
    before = contents(source)
    arms = (Arm("base"), read_arm("more learner.reuse=4.0 selfplay.max_plies=10 learner.optimizer=sgd"))
    plan = plan_of(source, kind="forks", steps=None, seconds=4.0, arms=arms)
    found = compare(tmp_path / "ab", plan, device="cpu")
    assert contents(source) == before
    assert found.is_complete
    for result in found.results.values():
        assert result.games > 0
        assert result.positions > 0
        assert 3 <= result.seconds < 30
    assert not any((tmp_path / "ab/arms").iterdir())
    metrics = [json.loads(line) for line in (tmp_path / "ab/nets/more-1/metrics.jsonl").read_text().splitlines()]
    assert min(line["cycle"] for line in metrics) == read_state(source).cycle
    nets = {load(tmp_path / f"ab/nets/{name}")[1].net_id for name in ("base-1", "base-2", "more-1", "more-2")}
    assert len(nets) == 4
    _, state = read_run(source)
    assert state.learner is not None


def test_a_fork_of_another_net_is_refused_before_anything_is_written(source: Path, tmp_path: Path) -> None:
    plan = plan_of(source, kind="forks", steps=None, seconds=4.0)
    with pytest.raises(AbError, match="--arm wide: another net than the run's cannot go on with it; use --steps"):
        compare(tmp_path / "ab", plan, device="cpu")
    assert not (tmp_path / "ab").exists()


# -- one net with different searches, and the command -------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["ab", *words])
    output = capsys.readouterr()
    return int(exit_.value.code or 0), output.out, output.err


def test_one_player_with_different_searches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["heuristic-1", "--variant", "gardner", "--to", str(tmp_path / "ab"), "--games", "20", "--visits", "4"]
    words += ["--arm", "base", "--arm", "deep match.visits=64", "--json"]
    code, out, _ = run(capsys, *words)
    found = json.loads(out)
    assert code == 0
    assert found["complete"]
    assert found["arms"][1]["elo"] > 100  # sixteen times the visits
    assert found["matches"][0]["games"] == 20
    code, again, _ = run(capsys, *words)
    assert (code, json.loads(again)) == (0, found)
    code, out, _ = run(capsys, *words[:-1])
    assert code == 0
    assert "deep-1 against base-1" in out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--arm", "base"], "give two arms or more"),
        (["--arm", "base", "--arm", "base"], "--arm base: given twice"),
        (["--arm", "base", "--arm", "B x=1"], "begin with a name of small letters"),
        (["--arm", "base", "--arm", "b net.blocks"], "--arm b: write section.key=value, not 'net.blocks'"),
        (["--arm", "base", "--arm", "b net.blocks=2"], "needs --steps, --seconds or --minutes"),
        (["--arm", "base", "--arm", "b match.cpuctt=2"], "match.cpuctt: unknown; valid keys: visits"),
        (["--arm", "base", "--arm", "b match.cpuct=-2"], "--arm b: match.cpuct: "),
        (["--arm", "base", "--arm", "b match.visits=0"], "match.visits: a whole number"),
        (["--arm", "base", "--arm", "b match.reuse=true match.draw_score=0.5"], "match.draw_score: a kept tree"),
        (["--arm", "base", "--arm", "b", "--games", "3"], "so 3 is not possible"),
        (["--arm", "base", "--arm", "b", "--steps", "3", "--minutes", "1"], "cannot be combined"),
        (["--arm", "base", "--arm", "b", "--seeds", "2"], "--seeds is for nets that are trained"),
        (["--arm", "base", "--arm", "b", "--steps", "3"], "not a run directory"),
    ],
)
def test_bad_input_is_one_line(words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "heuristic-1", "--to", str(tmp_path / "ab"), *words)
    assert code == 2
    assert line in err
    assert err.count("\n") == 1
    assert not (tmp_path / "ab").exists()


def test_a_plan_is_fixed_beforehand(source: Path, tmp_path: Path) -> None:
    compare(tmp_path / "ab", plan_of(source, seeds=(1,)), device="cpu")
    with pytest.raises(AbError, match="with other games, which are fixed beforehand"):
        compare(tmp_path / "ab", plan_of(source, seeds=(1,), games=6), device="cpu")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(AbError, match="not an empty folder"):
        compare(tmp_path / "full", plan_of(source), device="cpu")
