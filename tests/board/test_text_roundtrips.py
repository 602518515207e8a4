"""What is written comes back the same: FEN, UCI, SAN, EPD and PGN, in every variant."""

from __future__ import annotations

import io
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfmate import VARIANTS, Epd, Game, Move, Position, Setup, chess960_fen, parse_epd, read_games
from selfmate.board.game_tree import Node

EVERY_VARIANT = pytest.mark.parametrize("variant", [*VARIANTS, "chess960", "atomic960"])
FEW = settings(max_examples=40, deadline=None)  # for each of ten variants

# Letters, blanks, all that PGN and EPD give a meaning to, and a little of the rest of Unicode.
TEXT = st.text(st.one_of(st.sampled_from(" \t\\\"'{}()[];%$*!?#-0123abcé♞\u00a0\u2028"), st.characters(codec="utf-8")))
CHOICES = st.lists(st.integers(0, 1_000_000), max_size=60)


def start(variant: str, number: int) -> Position:
    return Position(variant, chess960_fen(number % 960) if variant.endswith("960") else None)


def play(position: Position, choices: list[int]) -> Position:
    """Play a game in which each number chooses a legal move."""
    for choice in choices:
        moves = position.legal_moves
        if not moves:
            break
        position.play(moves[choice % len(moves)])
    return position


@EVERY_VARIANT
@FEW
@given(number=st.integers(0, 959), choices=CHOICES)
def test_fen(variant: str, number: int, choices: list[int]) -> None:
    position = play(start(variant, number), choices)
    for shredder in (False, True):
        fen = position.fen(shredder=shredder)
        again = Position(variant, fen, lenient=True)
        assert again == position
        assert again.key == position.key
        assert again.fen(shredder=shredder) == fen
        assert again.legal_moves == position.legal_moves


@EVERY_VARIANT
@FEW
@given(number=st.integers(0, 959), choices=CHOICES)
def test_setup(variant: str, number: int, choices: list[int]) -> None:
    position = play(start(variant, number), choices)
    setup = position.setup()
    assert Position.from_setup(setup, lenient=True) == position
    assert Setup.from_fen(position.fen(), variant).fen() == setup.fen()


@EVERY_VARIANT
@FEW
@given(number=st.integers(0, 959), choices=CHOICES)
def test_moves(variant: str, number: int, choices: list[int]) -> None:
    position = play(start(variant, number), choices)
    fen = position.fen()
    sans = set()
    for move in position.legal_moves:
        san = position.san(move)
        sans.add(san)
        assert position.parse_san(san) == move
        assert position.parse_san(san.rstrip("+#") + "!?") == move
        assert position.parse_uci(position.uci(move)) == move
        assert Move.from_uci(move.uci()) == move
    assert len(sans) == len(position.legal_moves)
    assert position.fen() == fen


@EVERY_VARIANT
@FEW
@given(number=st.integers(0, 959), choices=CHOICES)
def test_pickle(variant: str, number: int, choices: list[int]) -> None:
    position = play(start(variant, number), choices)
    again: Position = pickle.loads(pickle.dumps(position))
    assert again == position
    assert again.move_stack == position.move_stack
    assert again.repetitions() == position.repetitions()


OPCODES = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,7}", fullmatch=True).filter(
    lambda opcode: opcode not in ("bm", "am", "pm", "sm", "pv", "hmvc", "fmvn")
)
OPERANDS = st.one_of(TEXT, st.integers(-(10**18), 10**18))
VALUES = st.one_of(st.none(), OPERANDS, st.lists(OPERANDS, min_size=2, max_size=4).map(tuple))


@EVERY_VARIANT
@FEW
@given(
    number=st.integers(0, 959),
    choices=CHOICES,
    operations=st.dictionaries(OPCODES, VALUES, max_size=5),
    line=CHOICES,
)
def test_epd(variant: str, number: int, choices: list[int], operations: dict[str, object], line: list[int]) -> None:
    position = play(start(variant, number), choices)
    epd = Epd(position, {})
    epd.operations.update(operations)  # type: ignore[arg-type]
    if moves := position.legal_moves:
        epd.operations |= {"bm": tuple(moves[:3]), "am": (moves[-1],), "sm": moves[0], "pm": moves[-1]}
        played = len(position.move_stack)
        if variation := tuple(play(position.copy(), line[:6]).move_stack[played:]):
            epd.operations["pv"] = variation
    again = parse_epd(str(epd), variant)
    assert again == epd
    assert list(again.operations) == list(epd.operations)
    assert str(again) == str(epd)


TAG_NAMES = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_+#=:-]{0,9}", fullmatch=True).filter(
    lambda name: name not in ("Variant", "SetUp", "FEN")
)
TAG_VALUES = TEXT.filter(lambda text: not any(c != "\t" and (c < " " or c == "\x7f") for c in text))
# Where to grow the tree, which move, and what to say about it.
BRANCHES = st.lists(
    st.tuples(st.integers(0, 1_000), st.integers(0, 1_000), st.sets(st.integers(0, 255), max_size=2), TEXT, TEXT),
    max_size=25,
)


@EVERY_VARIANT
@FEW
@given(
    number=st.integers(0, 959),
    choices=CHOICES,
    tags=st.dictionaries(TAG_NAMES, TAG_VALUES, max_size=3),
    branches=BRANCHES,
    result=st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"]),
    comment=TEXT,
)
def test_pgn(
    variant: str,
    number: int,
    choices: list[int],
    tags: dict[str, str],
    branches: list[tuple[int, int, set[int], str, str]],
    result: str,
    comment: str,
) -> None:
    game = Game(variant, play(start(variant, number), choices[:10]).fen())
    game.headers.update(tags)
    game.result = result
    game.comment = comment
    nodes: list[Node] = [game]
    for place, choice, nags, after, before in branches:
        parent = nodes[-1] if place % 3 else nodes[place % len(nodes)]
        moves = parent.position().legal_moves
        if moves:
            node = parent.add_variation(moves[choice % len(moves)], comment=after, nags=nags)
            if node.starts_variation():
                node.starting_comment = before
            nodes.append(node)
    text = str(game)
    again = Game.from_pgn(text)
    assert again == game
    assert str(again) == text
    assert all(len(line) < 80 for line in str(Game.from_position(play(start(variant, number), choices))).splitlines())
    # In a stream with others, as text and as bytes.
    stream = f"{text}\n\n{text}\n\n{Game()}\n"
    assert list(read_games(io.StringIO(stream))) == [game, game, Game()]
    assert list(read_games(io.BytesIO(stream.encode()))) == [game, game, Game()]
