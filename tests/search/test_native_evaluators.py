"""heuristic-1 is a yardstick: what it says of fixed positions never changes. A better judge gets a new name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from selfmate import VARIANTS, Position, SearchError, _core
from selfmate.board.epd import read_perft_suite

FROZEN = Path(__file__).parents[1] / "golden" / "heuristic-1.json"
SUITES = Path(__file__).parents[1] / "perft"


def said(variant: str) -> dict[str, list[float]]:
    """Win, draw, loss and the largest prior, for every position of the variant's perft suite."""
    words = {}
    for line in read_perft_suite(SUITES / f"{variant}.epd"):
        position = Position(variant, line.fen, lenient=True)
        priors, wdl = _core.evaluate(position, "heuristic-1")
        assert priors.sum() == pytest.approx(1, abs=1e-4)
        assert wdl.sum() == pytest.approx(1, abs=1e-5)
        words[line.fen] = [round(float(each), 5) for each in (*wdl, priors.max())]
    return words


@pytest.mark.parametrize("variant", VARIANTS)
def test_heuristic_1_is_frozen(variant: str) -> None:
    frozen = json.loads(FROZEN.read_text())[variant]
    assert said(variant).keys() == frozen.keys()
    for fen, words in said(variant).items():
        assert words == pytest.approx(frozen[fen], abs=2e-5), fen


def test_it_takes_a_king_when_it_can() -> None:
    position = Position("atomic", "rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3")
    priors, _ = _core.evaluate(position, "heuristic-1")
    best = position.legal_moves[int(priors.argmax())]
    assert position.san(best) in ("Nxd7#", "Nxf7#")


def test_an_unknown_evaluator_is_one_line() -> None:
    with pytest.raises(SearchError, match="heuristic-1"):
        _core.evaluate(Position("chess"), "heuristic-2")


if __name__ == "__main__":
    print(json.dumps({variant: said(variant) for variant in VARIANTS}, indent=1))
