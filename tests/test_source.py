"""Rules for the source itself: no file can run code that it reads, nothing is too long, one meaning per class name.

Layers of imports are checked by `make check`. CONTRIBUTING.md explains the limits.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "selfmate"
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = [path.relative_to(PACKAGE).as_posix() for path in FILES]
EVERY_FILE = pytest.mark.parametrize("name", NAMES)

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
"""Without the docstring."""
REASON = "long because"
"""A longer module gives this reason in its docstring, a longer function in its docstring or first comment."""
PERSONS = re.compile(r"\b(somebody|nobody|everyone|everybody|anybody|whoever)\b", re.IGNORECASE)

REPLACED_WORDINGS = re.compile(
    r"goes on where it was|goes on with it|once more to leave|and leave\.|is there already|there already, and"
    r"|not what was committed|[Ll]et players play|where most is learnt|[Gg]oing on with|[Ss]ince cycle \{"
    r"|nothing is called|\bgoes without --|heard; it holds|moves without progress|[Ff]irst the move to play"
    r"|that is at rest|says it of itself|\bThen stop\b"
)
"""What new users did not understand; the words that replaced it are the program's everywhere."""


def parsed(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


@EVERY_FILE
def test_no_file_can_run_code_that_it_reads(name: str) -> None:
    for node in ast.walk(parsed(name)):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & {"pickle", "marshal", "shelve", "dill"}
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in {"pickle", "marshal", "shelve", "dill"}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {("torch", "load"), ("torch", "save"), ("yaml", "load")}
        if isinstance(node, ast.keyword):
            assert node.arg != "allow_pickle"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec"}


# -- length -----------------------------------------------------------------------------------------------------------


@EVERY_FILE
def test_a_long_module_has_a_reason(name: str) -> None:
    lines = len((PACKAGE / name).read_text(encoding="utf-8").splitlines())
    if lines > MAX_MODULE_LINES:
        reason = ast.get_docstring(parsed(name)) or ""
        assert REASON in reason, f"{name} has {lines} lines: split it, or write '{REASON} …' into its docstring"


def long_functions(source: str) -> Iterator[tuple[str, int]]:
    """Yield the functions of a source that are too long and give no reason, with their lines."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        assert node.end_lineno is not None
        docstring = node.body[0] if ast.get_docstring(node) is not None else None
        size = node.end_lineno - node.lineno + 1
        begin = node.body[0].lineno
        if docstring is not None and docstring.end_lineno is not None:
            size -= docstring.end_lineno - docstring.lineno + 1
            begin = node.body[1].lineno if len(node.body) > 1 else docstring.end_lineno
        if size > MAX_FUNCTION_LINES and REASON not in "\n".join(lines[node.lineno - 1 : begin - 1]):
            yield node.name, size


@EVERY_FILE
def test_a_long_function_has_a_reason(name: str) -> None:
    found = list(long_functions((PACKAGE / name).read_text(encoding="utf-8")))
    assert not found, f"{name}: split {found}, or write '# {REASON} …' at the top of each"


def test_lengths_are_counted_without_docstrings() -> None:
    body = "    x = 1\n" * MAX_FUNCTION_LINES
    assert list(long_functions(f"def f():\n{body}")) == [("f", MAX_FUNCTION_LINES + 1)]
    assert list(long_functions(f'def f():\n    """D.\n\n    E.\n    """\n{body[10:]}')) == []
    for reason in ('    """A table."""\n    # long because it is a table\n', '    """Long, long because …"""\n'):
        assert list(long_functions(f"def f():\n{reason}{body}")) == []


# -- names and words --------------------------------------------------------------------------------------------------


def test_every_class_name_has_one_meaning() -> None:
    counts = Counter(node.name for name in NAMES for node in ast.walk(parsed(name)) if isinstance(node, ast.ClassDef))
    assert [name for name, count in counts.items() if count > 1] == []


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yield the comments and docstrings of a source with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


@EVERY_FILE
def test_no_persons_in_comments_and_docstrings(name: str) -> None:
    found = [(line, text) for line, text in prose((PACKAGE / name).read_text("utf-8")) if PERSONS.search(text)]
    assert not found, f"{name}: {found}"


@EVERY_FILE
def test_messages_and_help_have_no_wording_that_was_replaced(name: str) -> None:
    texts = [node.value for node in ast.walk(parsed(name)) if isinstance(node, ast.Constant)]
    assert not [text for text in texts if isinstance(text, str) and REPLACED_WORDINGS.search(text)]
