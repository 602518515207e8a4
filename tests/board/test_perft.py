"""Every position of tests/perft/ counted to a budget; `selfmate perft VARIANT --suite FILE` counts them all the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from playthrough import NAMES
from selfmate import Position
from selfmate.board.epd import PerftLine, read_perft_suite
from selfmate.board.perft import check_line, check_suite, deepest_depth, divide
from selfmate.errors import EpdError
from selfmate.util.cpu import cores

SUITES = Path(__file__).parents[1] / "perft"
MAX_NODES = 50_000_000
"""About ten seconds in all on one core."""
LINES = [(path.stem, line) for path in sorted(SUITES.glob("*.epd")) for line in read_perft_suite(path)]


def test_no_suite_is_missing() -> None:
    assert {variant for variant, _ in LINES} == set(NAMES)
    assert len(LINES) >= 131


@pytest.mark.parametrize(("variant", "line"), [pytest.param(*case, id=f"{case[0]}-{case[1].number}") for case in LINES])
def test_counts_are_those_of_the_suite(variant: str, line: PerftLine) -> None:
    depth = deepest_depth(line, MAX_NODES)
    assert depth is not None
    result = check_line(variant, line, depth)
    assert (result.depth, result.counted) == (depth, result.expected)


@pytest.mark.parametrize("variant", sorted({variant for variant, _ in LINES}))
def test_threads_and_divide_do_not_change_the_count(variant: str) -> None:
    line = next(line for name, line in LINES if name == variant)
    depth = deepest_depth(line, 500_000)
    assert depth is not None
    position = Position(variant, line.fen, lenient=True)
    expected = dict(line.nodes)[depth]
    for threads in (1, 2, 3, cores()):
        assert position.perft(depth, threads) == expected
        assert sum(nodes for _, nodes in position.divide(depth, threads)) == expected
    assert sum(nodes for _, nodes in divide(position, depth, 2)) == expected
    assert position.fen() == Position(variant, line.fen, lenient=True).fen()


def test_divide_goes_by_alphabet_and_writes_castling_as_uci_does() -> None:
    position = Position("chess", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    lines = list(divide(position, 2))
    assert [uci for uci, _ in lines] == sorted(uci for uci, _ in lines)
    assert {"e1g1", "e1c1"} < {uci for uci, _ in lines}


def test_depth_zero_is_one_leaf() -> None:
    assert Position("chess").perft(0) == 1


def test_a_wrong_line_names_its_first_wrong_depth() -> None:
    line = PerftLine(Position("chess").fen(), ((1, 20), (2, 401), (3, 8902), (4, 197_282)), 3, "")
    (result,) = check_suite("chess", [line])
    assert (result.depth, result.expected, result.counted, result.is_right) == (2, 401, 400, False)


def test_the_budget_chooses_the_depth() -> None:
    line = PerftLine(Position("chess").fen(), ((1, 20), (2, 400), (3, 8902)), 1, "")
    assert [result.depth for result in check_suite("chess", [line], max_nodes=8901)] == [2]
    assert list(check_suite("chess", [line], max_nodes=19)) == []


def test_a_bad_position_is_named_by_its_line() -> None:
    line = PerftLine("8/8/8/8/8/8/8/4K3 w - - 0 1", ((1, 5),), 12, "")
    with pytest.raises(EpdError, match=r"^line 12: "):
        list(check_suite("chess", [line]))
