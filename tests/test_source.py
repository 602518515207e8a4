"""What must hold of the source itself: no file can run code that it reads. Layers of imports: `make check`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "selfmate"
FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_can_run_code_that_it_reads(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
