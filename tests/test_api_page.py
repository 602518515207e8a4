"""The code of docs/api.md prints what stands there."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_api_page() -> None:
    for package in ("gymnasium", "pandas"):
        pytest.importorskip(package, reason=f"needs {package}: pip install 'selfmate[envs,frames]'")
    page = ROOT / "docs" / "api.md"
    examples = doctest.DocTestParser().get_doctest(page.read_text("utf-8"), {}, page.name, str(page), 0)
    assert len(examples.examples) > 30
    output: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=output.append)
    assert not output, "".join(output)


def test_every_public_function_is_on_the_api_page() -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    import selfmate.envs

    functions = ("encode_planes", "action_masks", "dense_planes", "evaluate", "selfplay_games", "play_match", "Run")
    for name in {*selfmate.envs.__all__, *functions} - {"StepArrays"}:
        assert name in page, name
