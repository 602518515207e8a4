"""The documentation: every linked file exists, the glossary is complete and in order, tables name every make target."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")

# The words of the design, which code and documentation must share.
WORDS = """
    position, move, move index, prior, visits, value, wdl, outcome, leaf, batch, lane, game, sample, buffer, checkpoint,
    candidate, champion, recipe, run, net, evaluator, limit, result
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_linked_file_exists(page: Path) -> None:
    links = LINK.findall(re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    for link in links:
        if "://" not in link:
            assert (page.parent / link).exists(), link


def test_the_walk_names_functions_that_stand_in_the_linked_files() -> None:
    walk = (ROOT / "docs" / "walk.md").read_text(encoding="utf-8")
    links = re.findall(r"\[`([\w.:]+)`\]\(\.\./((?:src|cpp)/[^)]+\.(?:py|cpp))\)", walk)
    assert len(links) > 50
    for name, path in links:
        source = (ROOT / path).read_text(encoding="utf-8")
        if path.endswith(".cpp"):
            assert re.search(rf"\b{re.escape(name)}\(", source), f"{name} is not in {path}"
            continue
        for part in name.split("."):
            assert re.search(rf"^ *(def|class) {part}\b", source, re.MULTILINE), f"{name} is not in {path}"


def test_every_term_of_the_glossary_has_an_owner() -> None:
    entries = GLOSSARY.split("\n\n**")[1:]
    terms = [entry.partition("**")[0] for entry in entries]
    assert terms == sorted(terms, key=str.lower)
    assert len(set(terms)) == len(terms)
    for term, entry in zip(terms, entries, strict=True):
        assert LINK.search(entry), term
    assert {word.strip() for word in WORDS.split(",")} <= set(terms)


def test_every_make_target_is_in_the_tables() -> None:
    targets = set(re.findall(r"^([a-z0-9]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert targets - {"help"} == set(re.findall(r"^\| `make ([a-z0-9]+)", contributing, re.MULTILINE))
