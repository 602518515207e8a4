"""A little of what `make soakuci` does: fuzz, ends and games of the UCI engine. Speed is measured there, not here."""

from __future__ import annotations

import uci_end
import uci_fuzz
import uci_games
from selfmate import VARIANTS


def test_five_thousand_lines_of_garbage() -> None:
    assert not uci_fuzz.run(5000, 1)


def test_every_way_to_leave_in_mid_search() -> None:
    assert uci_end.run(len(uci_end.WAYS) * len(uci_end.SEARCHES), patience=30.0) == 0


def test_a_game_of_every_variant_under_another_referee() -> None:
    control = uci_games.Control(base=0.8, increment=0.02, overhead=30, ponder=True)
    tally = uci_games.run(len(VARIANTS), control, concurrency=2)
    assert not [each for each in tally.wrong if " took " not in each]  # a busy machine may stop an engine for seconds
    assert tally.plies > 100
