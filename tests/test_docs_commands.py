"""Commands, modules and files that the documentation names exist, with the options that it gives them."""

from __future__ import annotations

import functools
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from selfmate.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
HISTORY = {ROOT / "docs" / "log.md"}
"""Pages that tell of commands and modules as they were then."""
SHELL = re.compile(r"^ *```sh.*?\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]+)`")
MODULE = re.compile(r"\bselfmate(?:\.\w+)+")
FILE = re.compile(r"(?:src|cpp|tests|tools|bench|examples)/[\w/.-]+\.(?:py|h|cpp|c|toml|md|sh|json|txt|epd|ipynb|pat)")
OPERATORS = "|&;<>"


def words_of(line: str) -> list[str]:
    """Return the words of a shell line; operators are words, comments are left out."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=OPERATORS)
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quotation mark of the text around it
        return []


def commands_of(text: str) -> Iterator[list[str]]:
    """Yield the words after `selfmate` of every such command in shell text.

    >>> list(commands_of("nohup selfmate nets --json | head  # all\\nls selfmate\\n.venv/bin/selfmate play 'a b'"))
    [['nets', '--json'], ['play', 'a b']]
    """
    for line in text.replace("\\\n", " ").splitlines():
        words: list[str] | None = None
        before = ""
        for word in [*words_of(line), ";"]:
            if set(word) <= set(OPERATORS):
                if words is not None:
                    yield words
                words, before = None, ""
            elif words is not None:
                words.append(word)
            elif word.split("/")[-1] == "selfmate" and before in ("", "nohup"):
                words = []
            else:
                before = word


@functools.cache
def the_program() -> Any:
    """Return the command line as an object of click."""
    return typer.main.get_command(app)


def problems(words: list[str]) -> Iterator[str]:
    """Yield what is wrong with the command and the names of the options of `selfmate WORDS`."""
    command: Any = the_program()
    given = list(words)
    while hasattr(command, "commands") and given and not given[0].startswith("-"):
        if given[0] not in command.commands:
            if given[0].islower():  # else a placeholder such as COMMAND
                yield f"no command {given[0]}"
            return
        command = command.commands[given.pop(0)]
    with typer.Context(command) as context:
        known = {name for option in command.get_params(context) for name in (*option.opts, *option.secondary_opts)}
    for word in given:
        if (option := re.match(r"--?[a-z][\w-]*", word)) and option[0] not in known:
            yield f"no option {option[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_and_their_options_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    inline = INLINE.findall(FENCE.sub("", text))
    found = [words for part in (*SHELL.findall(text), *inline) for words in commands_of(part)]
    wrong = [f"selfmate {shlex.join(words)}: {problem}" for words in found for problem in problems(words)]
    assert not wrong


@pytest.mark.parametrize("page", [page for page in PAGES if page not in HISTORY], ids=lambda page: page.name)
def test_modules_and_files_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for name in set(MODULE.findall(text)):
        assert exists(name), name
    for path in set(FILE.findall(FENCE.sub("", text))):
        is_placeholder = re.search(r"\b(NAME|VARIANT)\b", path)
        assert is_placeholder or (ROOT / path).exists(), path


def exists(name: str) -> bool:
    """Return whether a dotted name is a module, or something in one.

    >>> exists("selfmate.board.pgn"), exists("selfmate.board.pgn.Game"), exists("selfmate.player")
    (True, True, False)
    """
    module, _, rest = name.partition(".")
    found: Any = importlib.import_module(module)
    for part in rest.split("."):
        module += f".{part}"
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
    return True


def test_the_check_finds_wrong_commands() -> None:
    assert list(problems(["train", "gardner-laptop", "--minute", "2"])) == ["no option --minute"]
    assert list(problems(["bench", "movegn"])) == ["no command movegn"]
    assert not list(problems(["bench", "movegen", "--json"]))
    assert sum(1 for page in PAGES for part in SHELL.findall(page.read_text("utf-8")) for _ in commands_of(part)) > 80
