"""The list of mutations fits the code: `make mutate`, which tries them, takes too long to run with every change."""

from __future__ import annotations

import re

import pytest

from mutate import ROOT, Mutation, read_mutations

MUTATIONS = read_mutations()


def test_the_list_is_long_and_names_every_fault_once() -> None:
    assert len(MUTATIONS) >= 48
    assert len({(each.file, each.what) for each in MUTATIONS}) == len(MUTATIONS)
    assert len({(each.file, each.old, each.new) for each in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.what)
def test_a_mutation_applies_to_one_place_and_its_tests_exist(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text("utf-8").count(mutation.old) == 1
    assert mutation.new != mutation.old
    assert mutation.test
    for test in mutation.test.split():
        path, _, name = test.partition("::")
        assert path.startswith("tests/")
        source = (ROOT / path).read_text("utf-8")
        assert not name or re.search(rf"^def {name.partition('[')[0]}\(", source, re.MULTILINE), test
