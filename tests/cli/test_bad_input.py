"""Malformed input: one typed error that names the offending part, nothing half-changed, nothing too large read."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfmate import (
    VARIANTS,
    AmbiguousSan,
    BadCastling,
    BadChecks,
    BadEnPassant,
    EmptyBoard,
    EpdError,
    FenError,
    Game,
    IllegalMove,
    IllegalSan,
    InvalidMove,
    InvalidSan,
    Move,
    NoKing,
    OppositeCheck,
    PawnOnBackRank,
    PerftLine,
    PgnError,
    Position,
    SelfmateError,
    Setup,
    Tactic,
    TooManyKings,
    UnknownVariant,
    parse_epd,
    read_games,
)

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"


def assert_clear(error: SelfmateError) -> None:
    message = str(error)
    assert message
    assert "\n" not in message
    assert "\r" not in message
    assert len(message) < 700
    assert len(error.part) <= 60


@pytest.mark.parametrize(
    ("fen", "kind", "part"),
    [
        ("", FenError, ""),
        ("what?", FenError, "what?"),
        (START, FenError, START),
        (f"{START} x KQkq - 0 1", FenError, "x"),
        (f"{START} w KQxq - 0 1", FenError, "KQxq"),
        (f"{START} w KQkq e9 0 1", FenError, "e9"),
        (f"{START} w KQkq - -1 1", FenError, "-1"),
        (f"{START} w KQkq - 0 1.5", FenError, "1.5"),
        (f"{START} w KQkq - 99999999999999999999 1", FenError, "99999999999999999999"),
        (f"{START} w KQkq - 0 1 more", FenError, "more"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq - 0 1", FenError, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP"),
        ("rnbqkbnr/ppppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", FenError, None),
        ("rnbqkbnr/ppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", FenError, None),
        ("rnbqkbnr/pppp?ppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", FenError, "?"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", EmptyBoard, None),
        ("8/8/8/8/8/8/8/K7 w - - 0 1", NoKing, None),
        ("8/8/8/8/8/8/8/KK1k4 w - - 0 1", TooManyKings, None),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", OppositeCheck, "e8"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", BadCastling, "h1"),
        ("4k3/8/8/8/8/8/8/4K3 w - e6 0 1", BadEnPassant, "e6"),
        (f"{START} w KQkq e3 0 1", BadEnPassant, "e3"),
        ("P3k3/8/8/8/8/8/8/4K3 w - - 0 1", PawnOnBackRank, "a8"),
    ],
)
def test_fen(fen: str, kind: type[SelfmateError], part: str | None) -> None:
    with pytest.raises(kind) as caught:
        Position("chess", fen)
    assert type(caught.value) is kind
    assert_clear(caught.value)
    if part is not None:
        assert caught.value.part == part


def test_remaining_checks() -> None:
    with pytest.raises(BadChecks) as caught:
        Position("3check", f"{START} w KQkq - 4+3 0 1")
    assert caught.value.part == "4+3"


@pytest.mark.parametrize("name", ["", "atomik", "Chess ", "\x00", "x" * 100_000, "\ud800"])
def test_variant(name: str) -> None:
    for make in (Position, Setup):
        with pytest.raises(UnknownVariant) as caught:
            make(name)
        assert_clear(caught.value)


def test_variant_suggests_the_nearest_name() -> None:
    with pytest.raises(UnknownVariant, match="did you mean 'atomic'"):
        Position("atomik")


BAD_UCI = ["", "e2", "e2e", "e2e9", "i2e4", "e2e4k2", "e2-e4", "E2E4", "e2e4 ", "e2e4\n", "♞", "\x00", "\ud800"]


@pytest.mark.parametrize("text", [*BAD_UCI, "e2e4" * 100_000])
def test_not_uci(text: str) -> None:
    position = Position("chess")
    for read in (Move.from_uci, position.parse_uci, position.play):
        with pytest.raises(InvalidMove) as caught:
            read(text)
        assert_clear(caught.value)
    assert position == Position("chess")


@pytest.mark.parametrize("text", ["e2e5", "e7e5", "e4e5", "e2e4q", "e1g1", "a1a8", "b1d2"])
def test_illegal_uci(text: str) -> None:
    position = Position("chess")
    for read in (position.parse_uci, position.play):
        with pytest.raises(IllegalMove) as caught:
            read(text)
        assert caught.value.part == text
        assert_clear(caught.value)
    for use in (position.play, position.san, position.uci):
        with pytest.raises(IllegalMove):
            use(Move.from_uci(text))
    assert position == Position("chess")
    assert position.move_stack == []
    assert position.key == position.recomputed_key()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", InvalidSan),
        ("hello", InvalidSan),
        ("Nf9", InvalidSan),
        ("--", InvalidSan),
        ("Z0", InvalidSan),
        ("@@@@", InvalidSan),
        ("0000", InvalidSan),
        ("e4\n", InvalidSan),
        (" e4", InvalidSan),
        ("O-O-O-O", InvalidSan),
        ("e8=P", InvalidSan),
        ("♘f3", InvalidSan),
        ("\x00", InvalidSan),
        ("\ud800", InvalidSan),
        ("N" * 1_000_000, InvalidSan),
        ("Nd4", IllegalSan),
        ("O-O", IllegalSan),
        ("e5", IllegalSan),
        ("exd5", IllegalSan),
        ("Rd1", AmbiguousSan),
        ("R1d1", AmbiguousSan),
    ],
)
def test_san(text: str, kind: type[SelfmateError]) -> None:
    position = Position(
        "chess", "4k3/8/8/8/8/8/4P3/R4K1R w - - 0 1" if kind is not AmbiguousSan else "4k3/8/8/8/8/8/4K3/R6R w - - 0 1"
    )
    fen = position.fen()
    with pytest.raises(kind) as caught:
        position.parse_san(text)
    assert type(caught.value) is kind
    assert_clear(caught.value)
    if len(text) < 40 and text.isascii():
        assert caught.value.part == text
    assert position.fen() == fen


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("1. e4 e5 2. Ke3 *", 1, "Ke3"),
        ("1. e4\n1... Nd4 *", 2, "Nd4"),
        ("1. e4 -- *", 1, "--"),
        ("1. e4 Z0 *", 1, "Z0"),
        ("1. e4 e5 2. Nonsense *", 1, "Nonsense"),
        ("1. e4 ) *", 1, ")"),
        ("(1. e4) *", 1, "("),
        ("1. e4 ((1. d4)) *", 1, "("),
        ("1. e4 (1. d4\n\n*", 1, "("),
        ("1. e4\n{ open\n\n*", 2, "{"),
        ("1. e4 } *", 1, "}"),
        ("$1 1. e4 *", 1, "$1"),
        ("1. e4 $256 *", 1, "$256"),
        ("1. e4 $99999999999999999999 *", 1, "$99999999999999999999"),
        ("1. e4 <x> *", 1, "<x>"),
        ('1. e4 e5\n1. [x "y"] *', 2, "[x"),
        ("[Event]\n\n*", 1, "[Event]"),
        ('[Event "x]\n\n*', 1, '[Event "x]'),
        ('[Event "a\x00b"]\n\n*', 1, "a\x00b"),
        ('[Variant "Bughouse"]\n\n*', 1, "Bughouse"),
        ('[FEN "8/8"]\n\n*', 1, "8/8"),
        ("", None, ""),
        ("1. e4 * 1. d4 *", None, "1. e4 * 1. d4 *"),
    ],
)
def test_pgn(text: str, line: int | None, part: str) -> None:
    with pytest.raises(PgnError) as caught:
        Game.from_pgn(text)
    assert_clear(caught.value)
    assert (caught.value.line, caught.value.part) == (line, part)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", ""),
        ("8/8/8/8/8/8/8/K1k5 w -", "8/8/8/8/8/8/8/K1k5 w -"),
        ("8/8/8/8/8/8/8/K1k5 x - -", "x"),
        ("8/8/8/8/8/8/8/8 w - -", None),
        ("8/8/8/8/8/8/8/K1k5 w - - bm;", "bm"),
        ("8/8/8/8/8/8/8/K1k5 w - - bm Ka9;", "Ka9"),
        ("8/8/8/8/8/8/8/K1k5 w - - bm Ka2 Kb1;", "Kb1"),
        ("8/8/8/8/8/8/8/K1k5 w - - sm Ka2 Kb2;", "Kb2"),
        ("8/8/8/8/8/8/8/K1k5 w - - pv Ka2 Ka3;", "Ka3"),
        ('8/8/8/8/8/8/8/K1k5 w - - id "open;', '"open;'),
        ('8/8/8/8/8/8/8/K1k5 w - - "id" 1;', "id"),
        ("8/8/8/8/8/8/8/K1k5 w - - 1d 1;", "1d"),
        ("8/8/8/8/8/8/8/K1k5 w - - id 1; id 2;", "id"),
        ("8/8/8/8/8/8/8/K1k5 w - - hmvc x;", "hmvc"),
        ("8/8/8/8/8/8/8/K1k5 w - - fmvn 99999999;", None),
    ],
)
def test_epd(text: str, part: str | None) -> None:
    with pytest.raises(EpdError) as caught:
        parse_epd(text, number=8)
    assert_clear(caught.value)
    assert str(caught.value).startswith("line 8: ")
    if part is not None:
        assert caught.value.part == part


def test_oversized_input_is_refused() -> None:
    huge = "8/" * 5_000_000
    for read in (
        lambda: Position("chess", huge),
        lambda: Setup.from_fen(huge),
        lambda: parse_epd(huge),
        lambda: PerftLine.parse(huge),
        lambda: Tactic.parse(huge),
        lambda: Game.from_pgn(huge),
    ):
        with pytest.raises(SelfmateError) as caught:
            read()
        assert_clear(caught.value)


READERS: list[Callable[[str, str], object]] = [
    Position,
    lambda variant, text: Setup.from_fen(text, variant),
    lambda variant, text: Position(variant).play(text),
    lambda variant, text: Position(variant).parse_san(text),
    lambda variant, text: parse_epd(text, variant),
    lambda variant, text: Tactic.parse(text, variant),
    lambda variant, text: PerftLine.parse(text),
    lambda variant, text: Game.from_pgn(f'[Variant "{variant}"]\n\n{text}'),
    lambda variant, text: Game.from_pgn(text),
    lambda variant, text: list(read_games(io.StringIO(text), on_error="collect")),
]
# Text made of what the formats are made of goes further in than any text.
ALPHABET = st.sampled_from(list('rnbqkpRNBQKP12345678/ wb-KQkq+abcdefgh0=x#O.;"\\{}()[]$!?*%\n\r\t\x00é\ud800'))
GARBAGE = st.one_of(st.text(ALPHABET, max_size=80), st.text(max_size=40))


@settings(max_examples=400)
@given(variant=st.sampled_from(VARIANTS), text=GARBAGE, reader=st.sampled_from(READERS))
def test_garbage_gives_typed_errors_only(variant: str, text: str, reader: Callable[[str, str], object]) -> None:
    with contextlib.suppress(SelfmateError):
        reader(variant, text)
    try:
        reader(variant, text)
    except SelfmateError as error:
        assert_clear(error)


VALID = [
    f"{START} w KQkq - 0 1",
    "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    f"{START} w KQkq - 3+3 0 1",
    "8/8/8/5PpP/1P3k1K/8/8/8 w - g6 0 2",
]


@settings(max_examples=400)
@given(
    variant=st.sampled_from([*VARIANTS, "chess960", "atomic960"]),
    fen=st.sampled_from(VALID),
    place=st.integers(0, 60),
    cut=st.integers(0, 3),
    insert=st.text(ALPHABET, max_size=3),
)
def test_damaged_fen_is_refused_or_sound(variant: str, fen: str, place: int, cut: int, insert: str) -> None:
    damaged = fen[:place] + insert + fen[place + cut :]
    try:
        position = Position(variant, damaged)
    except SelfmateError as error:
        assert_clear(error)
        return
    assert position.key == position.recomputed_key()
    assert Position(variant, position.fen()) == position
    for move in position.legal_moves:
        position.play(move)
        assert position.key == position.recomputed_key()
        position.undo()
