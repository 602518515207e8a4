"""The help of the commands, and the commands around recipes."""

from __future__ import annotations

import re

import pytest
import typer

from command import Run as Command
from selfmate.cli.bench import bench_app
from selfmate.cli.main import app
from selfmate.cli.recipe import recipe_app

GROUPS: list[tuple[tuple[str, ...], typer.Typer]] = [((), app), (("bench",), bench_app), (("recipe",), recipe_app)]
NAMES = [
    (*group, command.name or command.callback.__name__)
    for group, commands in GROUPS
    for command in commands.registered_commands
    if command.callback
]


@pytest.mark.parametrize("words", [(), ("bench",), ("recipe",), *NAMES], ids=" ".join)
def test_help_shows_no_type_of_switches_and_no_64_bit_range(words: tuple[str, ...], run: Command) -> None:
    done = run(*words, "--help")
    assert done.code == 0
    assert "--help" in done.out
    assert re.search(r"<[a-z\[\]]+( range)?>", done.out) is None  # placeholders are words such as N, PATH or DEVICE
    assert "Example: selfmate" in done.out
    assert re.search(r"\d{16}", done.out.replace(",", "")) is None


def test_placeholders_of_options_and_arguments(run: Command) -> None:
    text = " ".join(run("train", "--help").out.split())
    assert "[OPTIONS] [RECIPE]" in text
    for option in ("--run PATH", "--minutes N [0.01<=x<=1000000]", "--device DEVICE", "--set KEY=VALUE", "--seed N "):
        assert option in text
    assert "--smoke Shrink" in text


@pytest.mark.parametrize("seed", ["-1", str(2**63 + 1), "x", "1e3"])
def test_a_seed_out_of_range_is_still_refused(seed: str, run: Command) -> None:
    done = run("train", "gardner-laptop", "--seed", seed)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--seed" in done.err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("train", "gardner-laptop", "--smoke", "--run", ""), "--run"),
        (("train", "gardner-laptop", "--smoke", "--run="), "--run"),
        (("train", "gardner-laptop", "--smoke", "--from", ""), "--from"),
        (("pack", "", "copy"), "RUN"),
        (("pack", "runs/none", ""), "FOLDER"),
        (("progress", ""), "RUN"),
    ],
    ids=" ".join,
)
def test_an_empty_path_is_not_the_working_directory(words: tuple[str, ...], name: str, run: Command) -> None:
    done = run(*words)
    assert done == (2, "", f"selfmate: {name}: the path is empty; write . for this folder\n")
    assert "the path is empty" not in run("pack", ".", "copy").err


def test_an_empty_name_of_a_recipe_says_so(run: Command) -> None:
    assert run("train", "") == (2, "", "selfmate: the name of a recipe is empty; selfmate train --list lists them\n")
