"""The lake: Gymnasium's maps, table and random numbers; everything that cannot be played is refused in one line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("gymnasium", reason="needs Gymnasium: pip install 'selfmate[lab]'")

from gymnasium.envs.toy_text.frozen_lake import generate_random_map

from selfmate.errors import LabError, MissingExtra
from selfmate.lab.frozenlake.lake import (
    ACTIONS,
    OLDEST,
    SMALL_MAP,
    Lake,
    _check_version,
    generate_map,
    need,
    read_map,
    seed_map,
)


def test_the_archived_map_is_the_one_that_gymnasium_generates() -> None:
    assert list(seed_map()) == generate_random_map(size=8, seed=48)
    assert generate_map(8, 48) == seed_map()
    assert list(generate_map(8, 48, 0.7)) == generate_random_map(size=8, p=0.7, seed=48) != list(seed_map())
    assert list(generate_map(5, 7, 0.6)) == generate_random_map(size=5, p=0.6, seed=7)
    assert generate_map(2, 0) in {("SF", "FG"), ("SF", "HG"), ("SH", "FG")}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (("SFH", "HHH", "FFG"), "the map has no path from S to G around the holes; change an H to F"),
        (("FFF", "FFF", "FFG"), "the map has no start: one square must be S"),
        (("SFF", "FFF", "FFF"), "the map has no goal: one square must be G"),
        (("SFG", "FFF", "FFG"), "the map has 2 goals: one square must be G"),
        (("SFS", "FFF", "FFG"), "the map has 2 starts: one square must be S"),
        (("S",), "a map has from 2 to 64 rows, not 1"),
        (("SFF", "FF", "FFG"), "row 2 of the map has 2 squares instead of 3: a map is a square"),
        (("SFF", "FXF", "FFG"), "row 2 of the map has an unknown tile 'X'; tiles: S start, F frozen, H hole, G goal"),
    ],
)
def test_maps_that_cannot_be_played(rows: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(LabError) as found:
        Lake(rows)
    assert str(found.value) == message
    (tmp_path / "map.txt").write_text("\n".join(rows))
    with pytest.raises(LabError, match=r"map\.txt: "):
        read_map(tmp_path / "map.txt")


def test_a_map_with_a_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    (tmp_path / "map.txt").write_bytes(b"\xef\xbb\xbfSF\r\nFG\r\n")
    assert read_map(tmp_path / "map.txt") == ("SF", "FG")


def test_numbers_out_of_range() -> None:
    for rate in (-0.1, 1.5, float("nan")):
        with pytest.raises(LabError, match="success_rate: a chance is from 0 to 1"):
            Lake(SMALL_MAP, success_rate=rate)
    with pytest.raises(LabError, match="step_limit must be at least 6, the moves of the shortest path, not 5"):
        Lake(SMALL_MAP, step_limit=5)
    assert Lake(SMALL_MAP, step_limit=6).step_limit == 6
    for size in (1, 65):
        with pytest.raises(LabError, match=f"a map has from 2 to 64 rows, not {size}"):
            generate_map(size, 1)
    with pytest.raises(LabError, match="frozen"):
        generate_map(4, 1, 0.0)
    with pytest.raises(LabError, match=r"no-such-map\.txt: No such file"):
        read_map(Path("no-such-map.txt"))


def test_a_share_of_frozen_squares_with_which_no_map_has_a_path() -> None:
    with pytest.raises(LabError, match=r"with a share of 0\.1 none of 1,000 maps of 8 by 8 squares has a path"):
        generate_map(8, 1, 0.1)
    assert generate_map(8, 1, 0.5) == tuple(generate_random_map(8, 0.5, 1))


@pytest.mark.parametrize("success_rate", [1 / 3, 0.8, 1.0, 0.0])
@pytest.mark.parametrize("slippery", [True, False])
def test_episodes_go_where_gymnasium_goes(success_rate: float, slippery: bool) -> None:
    lake = Lake(seed_map(), slippery=slippery, success_rate=success_rate)
    episode = lake.episode(seed=5)
    draw = np.random.default_rng(1)
    env: Any = lake.env
    assert env.reset(seed=5)[0] == episode.reset()
    for _ in range(300):
        action = int(draw.integers(4))
        after, reward, ends, _, _ = env.step(action)
        found = episode.step(action)
        assert found[:3] == (after, reward, ends)
        if ends or found[3]:
            env.reset()
            episode.reset()


def test_an_episode_is_cut_off_at_the_step_limit() -> None:
    episode = Lake(SMALL_MAP, slippery=False, step_limit=7).episode(1)
    for _ in range(2):
        episode.reset()
        flags = [episode.step(0)[2:] for _ in range(7)]
        assert flags == [(False, False)] * 6 + [(False, True)]


def test_the_goal_at_the_last_move_is_no_cut() -> None:
    episode = Lake(("SF", "FG"), slippery=False, step_limit=2).episode(1)
    episode.reset()
    assert episode.step(2) == (1, -1.0, False, False)
    assert episode.step(1) == (3, 100.0, True, False)


def test_a_move_goes_to_its_sides_by_the_rate() -> None:
    """From the middle of a map, whatever Gymnasium's table looks like."""
    table = Lake(("FSF", "FFF", "FFG"), success_rate=0.7).arrays
    for action, squares in enumerate(((3, 1, 7), (7, 3, 5), (5, 1, 7), (1, 3, 5))):
        chances = dict(zip(table.next[4, action].tolist(), table.probabilities[4, action].tolist(), strict=True))
        assert chances == pytest.approx(dict(zip(squares, (0.7, 0.15, 0.15), strict=True)))


def test_arrays_are_the_table_of_gymnasium() -> None:
    lake = Lake(seed_map(), rewards=(5.0, -3.0, -0.5))
    table = lake.arrays
    for state in range(lake.states):
        for action in range(len(ACTIONS)):
            chances: dict[tuple[int, float, bool], float] = {}
            for chance, after, reward, ends in lake.env.P[state][action]:
                chances[after, reward, ends] = chances.get((after, reward, ends), 0) + chance
            found = {
                (int(table.next[at]), float(table.rewards[at]), bool(table.ends[at])): float(table.probabilities[at])
                for at in ((state, action, outcome) for outcome in range(3))
                if table.probabilities[at]
            }
            assert found == pytest.approx(chances)
            bounds = table.bounds[state, action] / 2**32
            assert bounds == pytest.approx(np.minimum(np.cumsum(table.probabilities[state, action])[:2], 1))
    assert {5.0, -3.0, -0.5} <= set(table.rewards.ravel().tolist())


def test_a_missing_package_is_named_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *rest: Any, **more: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("importlib.import_module", refuse)
    with pytest.raises(MissingExtra) as found:
        need("gymnasium.envs")
    assert str(found.value) == "gymnasium is not installed; run: pip install 'selfmate[lab]'"
    with pytest.raises(MissingExtra, match="pillow is not installed"):
        need("PIL.Image")


def test_a_package_that_is_too_old_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gymnasium 1.2.0 has no chance to slip, and Pillow 10.0 letters of one size only."""
    extra = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    bounds = dict(each.split(">=") for each in extra["project"]["optional-dependencies"]["lab"])
    for package, module, old in (("gymnasium", "gymnasium", "1.2.0"), ("pillow", "PIL.Image", "10.0.1")):
        pytest.importorskip(module)
        assert bounds[package] == ".".join(map(str, OLDEST[package]))
        for version in (old, bounds[package], "99.0a1"):
            _check_version.cache_clear()
            monkeypatch.setattr("importlib.metadata.version", lambda name, version=version: version)
            if version != old:
                assert need(module).__name__ == module
                continue
            with pytest.raises(MissingExtra) as found:
                need(module)
            assert str(found.value) == f"{package} {old} is too old; run: pip install --upgrade 'selfmate[lab]'"
    _check_version.cache_clear()
