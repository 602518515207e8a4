"""The options of the UCI engine: one declaration for the protocol, the parser and the documentation."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from selfmate.evaluator.backends import BACKEND_CHOICES
from selfmate.uci.options import CLEAR_HASH, OPTIONS, OptionError, Settings, markdown_table, set_option

DOCUMENT = Path(__file__).parents[2] / "docs/uci.md"


def test_the_documentation_has_the_table_of_the_code() -> None:
    assert markdown_table() in DOCUMENT.read_text(), "paste the output of `python -m selfmate.uci.options`"


def test_every_field_is_an_option() -> None:
    assert [each.field for each in OPTIONS.values() if each is not CLEAR_HASH] == [
        each.name for each in fields(Settings)
    ]


@pytest.mark.parametrize("name", OPTIONS)
def test_a_default_can_be_set_and_every_option_has_a_help(name: str) -> None:
    option = OPTIONS[name]
    assert option.help
    assert set_option(Settings(), name.upper(), option.default_text) == Settings()


def test_the_backends_are_those_of_the_evaluators() -> None:
    assert OPTIONS["backend"].choices == BACKEND_CHOICES


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "1e999", "", "x", "1" * 50 + "x"])
def test_a_number_that_cannot_be_is_refused(value: str) -> None:
    with pytest.raises(OptionError, match="MinimumKLDGainPerNode is a number from 0 up") as refused:
        set_option(Settings(), "MinimumKLDGainPerNode", value)
    assert "\n" not in str(refused.value)
    assert set_option(Settings(), "MinimumKLDGainPerNode", "5e-6").min_kld_gain == 5e-6
