"""What must hold of the source itself: imports go one way, and nothing can run code from a file of weights."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "selfmate"
FILES = sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """Modules of the package that a file imports when it is loaded (not for types, not later)."""
    known = {module_name(each) for each in FILES}
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return (found & known) - {"selfmate", module_name(path)}


def test_imports_go_one_way() -> None:
    graph = {module_name(path): imported(path) for path in FILES}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError with the cycle
    assert order.index("selfmate.errors") < order.index("selfmate.game") < order.index("selfmate.player")
    assert not {"selfmate.loop", "selfmate.learner"} & graph["selfmate.player"]


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
