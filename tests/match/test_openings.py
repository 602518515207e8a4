"""Openings: drawn ones that are even, and books."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from selfmate import VARIANTS, Position, SelfmateError
from selfmate._core import Search, SearchConfig
from selfmate.evaluator.base import Evaluation, Evaluator
from selfmate.match.openings import EVEN, EVEN_VISITS, balanced_openings, read_openings
from selfmate.nn.leaves import Leaves


@pytest.mark.parametrize("variant", VARIANTS)
def test_openings_are_even_and_differ(variant: str) -> None:
    openings = balanced_openings(variant, 12, seed=5)
    positions = [Position(variant, fen) for fen in openings]
    assert len({position.key for position in positions}) == 12
    for position in positions:
        assert position.fullmove_number == 3
        search = Search(position, SearchConfig(), EVEN_VISITS)
        search.run("heuristic-1")
        assert abs(search.result().value) <= EVEN
    assert balanced_openings(variant, 12, seed=5) == openings
    assert balanced_openings(variant, 12, seed=6) != openings


def test_few_openings_are_the_first_of_many() -> None:
    assert balanced_openings("atomic", 5, seed=2) == balanced_openings("atomic", 80, seed=2)[:5]


def test_no_position_is_reached_twice_and_small_variants_go_deeper() -> None:
    openings = balanced_openings("gardner", 60, seed=1, plies=2)
    positions = [Position("gardner", fen) for fen in openings]
    assert len({position.key for position in positions}) == 60
    assert {position.fullmove_number for position in positions} == {2, 3}  # two plies have not enough of them


def test_nothing_even_is_the_start() -> None:
    start = Position("gardner").fen()
    assert balanced_openings("gardner", 3, seed=1, even=-1.0) == [start] * 3
    assert balanced_openings("gardner", 0, seed=1) == []


def test_960_has_a_start_of_its_own_for_each_opening() -> None:
    openings = balanced_openings("chess960", 6, seed=1, plies=0)
    ranks = {fen.split("/")[0] for fen in openings}
    assert len(ranks) == 6
    assert all(sorted(rank) == sorted("rnbqkbnr") for rank in ranks)


class WhiteAhead(Evaluator):
    """A net of horde that sees White ahead in every position."""

    name, net_id, variant = "white", "white", "horde"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def evaluate(self, leaves: Leaves) -> Evaluation:
        self.batches.append(leaves.size)
        priors = (np.arange(leaves.moves.shape[1]) < leaves.counts[:, None]) / leaves.counts[:, None]
        black = np.asarray(leaves.scalars)[:, 3:] == 1
        wdl = np.where(black, [[0.0, 0.5, 0.5]], [[0.5, 0.5, 0.0]])
        return Evaluation(priors.astype(np.float32), wdl.astype(np.float32), np.zeros(leaves.size, np.float32))


def test_a_net_judges_in_batches() -> None:
    net = WhiteAhead()
    start = Position("horde").fen()
    assert balanced_openings("horde", 1, seed=1, evaluator=net, visits=2) == [start]  # nothing is even
    assert max(net.batches) == 32  # many positions at once
    assert balanced_openings("horde", 1, seed=1, evaluator=net, visits=2, even=0.6) != [start]


# -- books ----------------------------------------------------------------------------------------

GARDNER = balanced_openings("gardner", 2, seed=3)

PGN = """[Event "a"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 *

[Event "b, the same by another way"]

1. Nf3 Nc6 2. e4 e5 3. Bb5 *

[Event "c"]

1. d4 d5 { a comment } (1... Nf6 2. c4) 2. c4 *
"""


def test_openings_are_read_once_each(tmp_path: Path) -> None:
    path = tmp_path / "openings.epd"
    lines = ["# openings", GARDNER[0], "", GARDNER[1].rsplit(" ", 2)[0] + ' id "one";', GARDNER[0]]
    path.write_text("\n".join(lines), encoding="ascii")
    assert len(read_openings(path, "gardner", 2)) == 2
    assert read_openings(path, "gardner", 1) == [GARDNER[0]]
    with pytest.raises(SelfmateError, match="2 different openings, enough for 4 games, not for 6"):
        read_openings(path, "gardner", 3)
    with pytest.raises(SelfmateError, match=r"openings\.epd: line 2"):
        read_openings(path, "chess", 1)
    with pytest.raises(SelfmateError, match="a file of positions has none"):
        read_openings(path, "gardner", 1, plies=3)
    path.write_text("4k/4Q/4K/5/5 b - - 0 1\n", encoding="ascii")
    with pytest.raises(SelfmateError, match="opening 1: the game is over"):
        read_openings(path, "gardner", 1)


def test_a_book_of_games(tmp_path: Path) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(PGN, encoding="ascii")
    spanish, queens = read_openings(path, "chess", 2)
    assert spanish == "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
    assert queens == "rnbqkbnr/ppp1pppp/8/3p4/2PP4/8/PP2PPPP/RNBQKBNR b KQkq - 0 2"
    short = read_openings(path, "chess", 3, plies=1)
    assert [Position("chess", fen).turn for fen in short] == [False] * 3
    with pytest.raises(SelfmateError, match="1 different opening, enough for 2 games"):
        read_openings(path, "chess", 2, plies=0)
    with pytest.raises(SelfmateError, match="game 1 is chess, not atomic"):
        read_openings(path, "atomic", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1. Ke3 *\n", r"book\.pgn: line 1: .*Ke3"),
        ("1. e4 e4 *\n", r"book\.pgn: no opening in the file"),
        ("1. f3 e5 2. g4 Qh4# 0-1\n", r"book\.pgn: game 1: the game is over"),
        ("", r"book\.pgn: no opening in the file"),
        ("\x7f\x03 ELF \x01", r"book\.pgn: a binary file, not text"),
    ],
)
def test_a_bad_book_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "book.pgn"
    path.write_text(text, encoding="ascii")
    with pytest.raises(SelfmateError, match=message) as raised:
        read_openings(path, "chess", 1)
    assert "\n" not in str(raised.value)


def test_games_of_a_book_that_cannot_be_read_are_left_out_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book.pgn"
    path.write_text("1. e4 e4 *\n\n1. d4 d5 *\n\n1. g1f3 *\n", encoding="ascii")
    boards = [Position("chess", fen).board_fen() for fen in read_openings(path, "chess", 2)]
    assert boards == [
        "rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR",
        "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R",
    ]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "line 1, column 7: 'e4' is not legal" in lines[0]
    assert "line 5, column 4: 'g1f3' read as Nf3" in lines[1]


def test_a_device_is_no_book() -> None:
    with pytest.raises(SelfmateError, match=r"^/dev/zero: not a file$"):
        read_openings("/dev/zero", "chess", 1)


def test_a_choice_that_is_stopped_has_no_opening() -> None:
    asked = 0

    def stopping() -> bool:
        nonlocal asked
        asked += 1
        return asked > 40

    assert balanced_openings("horde", 500, seed=1, stopping=stopping) == []
    assert asked < 100
