"""The space of a search for settings: what it means, and bad files in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfmate.recipe.reader import change, load
from selfmate.tune.space import Choice, Range, SpaceError, own_values, read_space, read_space_file

RECIPE = load("gardner-laptop")


def test_ranges_and_lists() -> None:
    space = read_space(
        """
        [learner]
        learning_rate = { low = 0.0005, high = 0.01, log = true }
        batch = { low = 64, high = 256, step = 64 }
        optimizer = ["adamw", "sgd"]
        [search]
        gumbel = [true, false]
        [selfplay]
        visits = [32, [[0, 16], [20, 32]]]
        """,
        RECIPE,
    )
    assert space == (
        Range("learner.learning_rate", 0.0005, 0.01, is_whole=False, log=True),
        Range("learner.batch", 64, 256, is_whole=True, step=64),
        Choice("learner.optimizer", ('"adamw"', '"sgd"')),
        Choice("search.gumbel", ("true", "false")),
        Choice("selfplay.visits", ("32", "[[0, 16], [20, 32]]")),
    )
    settings = [
        space[0].setting(1e-5),
        space[1].setting(128),
        space[2].setting('"sgd"'),
        space[4].setting(space[4].values[1]),
    ]
    assert settings[0] == "learner.learning_rate=1e-05"
    changed = change(RECIPE, [f"learner.learning_rate={0.001!r}", *settings[1:]])
    assert (changed.learner.batch, changed.learner.optimizer) == (128, "sgd")
    assert changed.selfplay.visits == ((0, 16), (20, 32))


def test_the_own_values_of_a_recipe_are_in_the_space_or_not() -> None:
    recipe = change(RECIPE, ["learner.batch=128", "learner.reuse=4", "search.gumbel=true"])
    text = "[learner]\nbatch = {{ low = {}, high = 256, step = {} }}\nreuse = [{}]\n[search]\ngumbel = [true, false]"
    assert own_values(read_space(text.format(64, 64, "4.0, 5.0"), recipe), recipe) == (
        {"learner.batch": 128, "learner.reuse": "4.0", "search.gumbel": "true"},
        [],
    )
    assert own_values(read_space(text.format(56, 50, "5.0, 6.0"), recipe), recipe)[1] == [
        "learner.batch",
        "learner.reuse",
    ]
    later = change(recipe, ["learner.batch=[[0, 128], [5, 64]]"])
    assert own_values(read_space(text.format(64, 64, "4.0, 5.0"), later), later)[1] == ["learner.batch"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no key in it"),
        ("[learner", "not TOML"),
        ("learner = 3", "learner: expected a section [learner], not 3"),
        ("[learner]\nbach = [1, 2]", "learner.bach: unknown key; did you mean 'learner.batch'?"),
        ("[lerner]\nbatch = [1, 2]", "lerner.batch: unknown key"),
        ("[learner]\nbatch = 3", "learner.batch: expected a range { low = …, high = … } or a list of values, not 3"),
        ("[learner]\nbatch = [64]", "learner.batch: a list has 2 to 64 values, not 1"),
        ("[learner]\nbatch = [64, 64]", "learner.batch: a value is listed twice"),
        ("[learner]\nbatch = [64, 0]", "learner.batch: expected a whole number from 1"),
        ("[learner]\nbatch = [64, {a = 1}]", "learner.batch: cannot read the value"),
        ("[learner]\nbatch = { low = 64 }", "learner.batch: a range has low and high, and high is missing"),
        ("[learner]\nbatch = { low = 64, high = 32 }", "learner.batch: low is not below high: 64 and 32"),
        ("[learner]\nbatch = { low = 64, high = 128, steps = 2 }", "unknown key 'steps' of a range"),
        ("[learner]\nbatch = { low = 64, high = 128, step = 2.5 }", "low, high and step are whole numbers"),
        ("[learner]\nbatch = { low = 64, high = 128, step = 48 }", "high is not a whole number of steps above low"),
        ("[learner]\nbatch = { low = 64, high = 128, step = 0 }", "step is above 0 and at most 64, not 0"),
        ("[learner]\nreuse = { low = 1.0, high = inf }", "learner.reuse: expected a number"),
        ("[learner]\nreuse = { low = 1.0, high = 2.0, step = nan }", "learner.reuse: step is above 0"),
        (
            "[learner]\nweight_decay = { low = 0.0, high = 0.1, log = true }",
            "a range by ratio begins above 0, not at 0.0",
        ),
        ("[learner]\nreuse = { low = 1.0, high = 8.0, log = 1 }", "learner.reuse: log is true or false, not 1"),
        ("[learner]\nreuse = { low = 1.0, high = 8.0, log = true, step = 1.0 }", "leave out log or step"),
        ("[learner]\nreuse = { low = [[0, 1.0]], high = 8.0 }", "low, high and step are numbers, no schedules"),
        ("[search]\ngumbel = { low = 0, high = 1 }", "search.gumbel: not a number: list its values"),
        ("[variant]\nname = ['gardner', 'atomic']", "variant.name: cannot be searched: other games have other ratings"),
        ("[selfplay]\ncycles = [5, 6]", "selfplay.cycles: cannot be searched"),
        ("[progress]\ngames = [2, 4]", "progress.games: cannot be searched"),
        ("[a]\nb = 1\n[c]\nd = 2", "2 errors: (1) a.b: unknown key"),
    ],
)
def test_bad_spaces_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(SpaceError) as caught:
        read_space(text, RECIPE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    with pytest.raises(SpaceError, match=r"space\.toml: there is no such file"):
        read_space_file(path, RECIPE)
    with pytest.raises(SpaceError, match="Is a directory"):
        read_space_file(tmp_path, RECIPE)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SpaceError, match=r"space\.toml: not UTF-8 text"):
        read_space_file(path, RECIPE)
    path.write_bytes(b"#" * (65 << 10))
    with pytest.raises(SpaceError, match=r"space\.toml: a space is shorter than 64 KiB"):
        read_space_file(path, RECIPE)
    with pytest.raises(SpaceError, match="/dev/zero: a space is shorter than 64 KiB"):
        read_space_file(Path("/dev/zero"), RECIPE)  # without an end
    path.write_text("[learner]\nbatch = [64, 32]")
    assert read_space_file(path, RECIPE) == (Choice("learner.batch", ("64", "32")),)
