"""The notebooks: valid nbformat 4 without outputs; their code runs in a process of its own, without Jupyter."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
PRINTED = {
    "positions_and_search": ("king exploded", "horde destroyed", "('Nxf7#', 1, 1.0)"),
    "training_run": ("gardner 4 1", ", (64, 3))", "champion: value"),
    "environments": ("rewards of ten games: [", "games were won", "((256, 20, 8, 8), (256, 4672))"),
}
"""Texts that each notebook prints, or shows as the value of a cell."""


def read(name: str) -> dict[str, Any]:
    found = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def program(notebook: dict[str, Any]) -> str:
    """Return the code cells as one program that shows the value of each cell, as a notebook would.

    >>> program({"cells": [{"cell_type": "code", "source": ["a = 1\\n", "a + 1"]}, {"cell_type": "markdown"}]})
    'from sys import displayhook\\na = 1\\ndisplayhook(a + 1)'
    """
    statements: list[ast.stmt] = ast.parse("from sys import displayhook").body
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            if body and isinstance(last := body[-1], ast.Expr):
                body[-1] = ast.Expr(ast.Call(ast.Name("displayhook", ast.Load()), [last.value], []))
            statements += body
    return ast.unparse(ast.fix_missing_locations(ast.Module(statements, [])))


def test_every_notebook_is_tested() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_a_notebook_is_a_valid_file_without_outputs(name: str) -> None:
    notebook = read(name)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["language"] == "python"
    cells = notebook["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    assert cells[0]["cell_type"] == "markdown"
    assert cells[0]["source"][0].startswith("# ")
    for cell in cells:
        code = {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        assert set(cell) == {"cell_type", "id", "metadata", "source"} | code
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert "".join(cell["source"]).strip()


@pytest.mark.parametrize("name", PRINTED)
def test_the_code_of_a_notebook_runs(name: str, tmp_path: Path) -> None:
    variables = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-c", program(read(name))],
        cwd=tmp_path, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for text in PRINTED[name]:
        assert text in done.stdout
    drawn = {path.name for path in tmp_path.glob("*.png")}
    assert drawn == ({"policy_loss.png"} if name == "training_run" else set())
