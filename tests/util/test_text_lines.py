"""Files that are no text: compressed files and UTF-16 are named, by every reader, before anything of them is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from selfmate.app.analysis_input import read_input
from selfmate.board.epd import read_epd, read_perft_suite, read_tactics
from selfmate.board.pgn import read_and_report, read_games
from selfmate.board.puzzles import read_puzzles
from selfmate.errors import EpdError, PgnError, SelfmateError
from selfmate.rating.pgn_results import read_all

PGN = '[White "Anna"]\n[Black "Ben"]\n[Result "1-0"]\n\n1. e4 e5 1-0\n'
PACKED = {
    "gunzip": gzip.compress(PGN.encode()),
    "unzstd": zstandard.compress(PGN.encode()),
    "bunzip2": bz2.compress(PGN.encode()),
    "unxz": lzma.compress(PGN.encode()),
    "unzip": b"PK\x03\x04\x14\x00",
    "iconv": PGN.encode("utf-16"),
}


def _read_all_games(path: Path) -> None:
    games = read_input(str(path), "chess").games
    assert games is not None
    list(games())


@pytest.mark.parametrize("remedy", PACKED)
def test_a_packed_file_is_refused_with_the_remedy(remedy: str, tmp_path: Path) -> None:
    """The reader of games raises its own error at once, and commands name the file, whatever it is called."""
    with pytest.raises(PgnError, match=remedy):
        list(read_games(io.BytesIO(PACKED[remedy]), lenient=True))
    with pytest.raises(EpdError, match=remedy):
        list(read_epd(io.BytesIO(PACKED[remedy])))
    with pytest.raises(SelfmateError, match=remedy):
        read_puzzles(io.BytesIO(PACKED[remedy]), "chess")
    for name in ("games.pgn", "games.epd", "games.pgn.zst"):
        path = tmp_path / name
        path.write_bytes(PACKED[remedy])
        with pytest.raises(SelfmateError, match=rf"{name}: .*{remedy}"):
            _read_all_games(path)
        with pytest.raises(PgnError, match=rf"{name}: .*{remedy}"):
            read_all([str(path)])


@pytest.mark.parametrize("seed", range(20))
def test_a_binary_file_is_refused_in_one_line(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Random bytes have what looks like comments, tags and moves; none of it is reported as a repair."""
    path = tmp_path / "games.pgn"
    path.write_bytes(random.Random(seed).randbytes(20_000))
    with pytest.raises(PgnError, match="a binary file, not text"):
        list(read_and_report(path, "games.pgn"))
    assert capsys.readouterr().err == ""


def test_stray_control_characters_do_not_make_a_text_binary(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(PGN.encode() + b"\0\x02")
    assert len(list(read_games(path, lenient=True))) == 1


def test_standard_input_may_not_be_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PACKED["gunzip"])))
    with pytest.raises(SelfmateError, match=r"standard input: compressed by gzip"):
        read_input("-", "chess")


@pytest.mark.parametrize("open_again", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_plain_text_is_read(open_again: Callable[[str], io.StringIO]) -> None:
    assert len(list(read_games(open_again(PGN)))) == 1


def test_a_fen_may_have_underscores_for_spaces_and_a_bare_board_is_told_what_it_lacks() -> None:
    """As in the addresses of web pages."""
    fen = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
    found = read_input(fen.replace(" ", "_"), "chess").positions
    assert found is not None
    assert [epd.position.fen() for epd in found()] == [fen]
    with pytest.raises(SelfmateError, match="a FEN has a board, a turn"):
        read_input(fen.split()[0], "chess")


class _Endless(io.BytesIO):
    """A file of one line that has no end, such as a device; nothing may read far into it."""

    def readline(self, size: int | None = -1, /) -> bytes:
        assert size is not None
        assert size > 0
        self.read_bytes = getattr(self, "read_bytes", 0) + size
        assert self.read_bytes < 10_000_000
        return b"x" * size


@pytest.mark.parametrize(
    ("reader", "kind"),
    [(read_games, PgnError), (read_epd, EpdError), (read_perft_suite, EpdError), (read_tactics, EpdError)],
)
def test_the_end_of_a_line_that_is_too_long_is_not_waited_for(
    reader: Callable[[io.BytesIO], Iterator[object]], kind: type[SelfmateError]
) -> None:
    with pytest.raises(kind, match=r"line 1: the .* is longer than"):
        list(reader(_Endless()))
