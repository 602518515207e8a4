"""The lenient reader of PGN: what it repairs, what it leaves out, and that no game of a damaged file is lost."""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

import pytest

from selfmate import Game, Move, PgnError, read_games
from selfmate.board.pgn import read_and_report
from selfmate.board.pgn_reader import MAX_REPAIRS


def lenient(text: str) -> list[Game]:
    return list(read_games(io.StringIO(text), lenient=True))


def one(text: str) -> Game:
    return Game.from_pgn(text, lenient=True)


def sans(game: Game) -> list[str]:
    return [node.san() for node in game.mainline()]


def notes(game: Game) -> list[str]:
    return [str(repair) for repair in game.repairs]


# -- repairs ----------------------------------------------------------------------------------------------------------


def test_a_correct_game_needs_no_repair() -> None:
    text = (
        "{ before } 1. e4 { a } e5 ({ b } 1... c5 $14 2. Nf3 (2. c3 d5) d6) (1... e6) 2. Nf3 Nc6 (2... Nf6) 3. Bb5 1-0"
    )
    game = one(text)
    assert (game.error, game.repairs) == (None, ())
    assert game == Game.from_pgn(text)


def test_each_repair_has_line_and_column() -> None:
    game = one('[White "A"]\n\n1. e4 e7e5\n2. g1f3 what nc6 $999 3. Bb5 *\n')
    assert sans(game) == ["e4", "e5", "Nf3", "Nc6", "Bb5"]
    assert game.error is None
    assert notes(game) == [
        "line 4, column 4: 'g1f3' read as Nf3",
        "line 4, column 9: not a move, comment or other PGN token: 'what'; left out",
        "line 4, column 14: 'nc6' read as Nc6",
        "line 4, column 18: annotation '$999' is beyond $255; left out",
    ]


def test_columns_count_from_the_start_of_a_line_with_two_games() -> None:
    games = lenient("1. e4 1-0 1. nf3 *")
    assert [notes(game) for game in games] == [[], ["line 1, column 14: 'nf3' read as Nf3"]]


@pytest.mark.parametrize(
    ("fen", "word", "san"),
    [
        (None, "E2E4", "e4"),
        (None, "G1-F3", "Nf3"),
        (None, "nf3", "Nf3"),
        (None, "NF3", "Nf3"),
        (None, "♘f3", "Nf3"),
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "EXD5", "exd5"),
        ("7k/P7/8/8/8/8/8/4K3 w - - 0 1", "a8", "a8=Q+"),
        ("7k/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8n", "a8=N"),
        ("7k/P7/8/8/8/8/8/4K3 w - - 0 1", "a8q", "a8=Q+"),
        ("4k3/8/8/8/2p5/8/1B6/4K3 w - - 0 1", "bd4", "Bd4"),
        ("r3k3/8/8/8/8/8/8/4K2R w Kq - 0 1", "e1g1", "O-O"),
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "Rh8ch", "Rh8+"),
    ],
)
def test_moves_that_can_be_understood(fen: str | None, word: str, san: str) -> None:
    tag = f'[FEN "{fen}"]\n\n' if fen else ""
    game = one(f"{tag}1. {word} *")
    assert sans(game) == [san]
    assert len(game.repairs) == 1
    assert f"{word!r} read as {san}" in game.repairs[0].message


@pytest.mark.parametrize(
    ("fen", "word"),
    [
        ("4k3/8/8/8/2p5/1P6/8/4K3 w - - 0 1", "Bc4"),  # not bxc4
        ("4k3/8/8/3p4/4P3/8/8/4K3 w - - 0 1", "d5"),  # not exd5
        ("4k3/8/8/8/2p5/1P6/4B3/4K3 w - - 0 1", "BXC4"),  # bxc4 or Bxc4
        ("4k3/8/8/8/8/8/8/1N2KN2 w - - 0 1", "nd2"),  # two knights
    ],
)
def test_moves_that_might_be_others_are_not_guessed(fen: str, word: str) -> None:
    game = one(f'[FEN "{fen}"]\n\n1. {word} Kd7 *')
    assert sans(game) == []
    assert game.error is not None


@pytest.mark.parametrize(
    "text",
    ["1. O\u2013O 1\u20130", "1. O\u2011O", "1\u20130", "0\u20141", "+--", "0:1", "½", "1. 0-0 +:-", "{ . } 1_0"],
)
def test_what_a_strict_reader_reads_needs_no_repair(text: str) -> None:
    game = Game.from_pgn(f'[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]\n\n{text}\n', lenient=True)
    assert game.repairs == ()
    assert game == Game.from_pgn(f'[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]\n\n{text}\n')
    assert (game.result, sans(game)) != ("*", [])


@pytest.mark.parametrize("on_error", ["skip", "collect"])
@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("tags", [("", ""), ('[White "a"]\n\n', '[White "b"]\n[Black "c"]\n\n')])
def test_the_game_after_a_line_that_is_too_long_is_read(
    tags: tuple[str, str], lenient: bool, on_error: Literal["skip", "collect"]
) -> None:
    text = f"{tags[0]}1. e4 {{ {'x' * 200} }} e5 *\n\n{tags[1]}1. d4 d5 1-0\n"
    games = list(read_games(io.StringIO(text), max_chars=100, lenient=lenient, on_error=on_error))
    assert (len(games), sans(games[-1]), games[-1].result) == (1 if on_error == "skip" else 2, ["d4", "d5"], "1-0")


def test_a_tag_that_is_too_long_belongs_to_the_game_below_it() -> None:
    text = f'[White "{"x" * 200}"]\n[Black "b"]\n\n1. e4 e5 *\n\n1. d4 d5 1-0\n'
    games = list(read_games(io.StringIO(text), max_chars=100, lenient=True))
    assert [game.error is None for game in games] == [False, True]
    assert sans(games[1]) == ["d4", "d5"]


@pytest.mark.parametrize("word", ["Z0", "@@@@"])
def test_a_line_with_a_null_move_alone_is_movetext(word: str) -> None:
    assert sans(one(f"1. {word}\n1... e5 *")) == ["--", "e5"]


@pytest.mark.parametrize("word", ["--", "Z0", "null", "pass", "@@@@"])
def test_null_moves(word: str) -> None:
    game = one(f"1. e4 {word} 2. d4 (2. {word} e5) e5 *")
    assert [node.move for node in game.mainline()] == [*map(Move.from_uci, ["e2e4", "0000", "d2d4", "e7e5"])]
    assert sans(game) == ["e4", "--", "d4", "e5"]
    assert len(game.repairs) == 2
    assert game.end().position().fen() == "rnbqkbnr/pppp1ppp/8/4p3/3PP3/8/PPP2PPP/RNBQKBNR w KQkq - 0 3"
    # What is written is read again.
    assert "1. e4 -- 2. d4 (2. -- e5) 2... e5 *" in str(game)
    assert one(str(game)) == game


def test_a_null_move_in_check_ends_the_line() -> None:
    game = one("1. e4 f6 2. Qh5+ -- 3. d4 *")
    assert sans(game) == ["e4", "f6", "Qh5+"]
    assert game.error is not None
    assert "pass" in str(game.error)


def test_a_game_ends_at_its_first_illegal_move_and_keeps_its_result() -> None:
    games = lenient('[White "A"]\n\n1. e4 e5 2. Ke3 Nf6\n3. Nf3 0-1\n\n1. d4 d4 1-0 1. c4 *')
    assert [sans(game) for game in games] == [["e4", "e5"], ["d4"], ["c4"]]
    assert [game.result for game in games] == ["0-1", "1-0", "*"]
    assert [game.error and game.error.line for game in games] == [3, 6, None]
    assert notes(games[0]) == [
        "line 3, column 13: 'Ke3' is not legal (rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2);"
        " the rest of the game is left out"
    ]


def test_a_variation_ends_at_its_first_illegal_move_and_the_game_goes_on() -> None:
    game = one("1. e4 e5 (1... c5 2. Ke3 (2. Nf3 { ) } (2. d4)) Nc6) 2. Nf3 (2. Bc4 Bc5) Nc6 *")
    assert sans(game) == ["e4", "e5", "Nf3", "Nc6"]
    assert game.error is None
    assert str(game).splitlines()[-1] == "1. e4 e5 (1... c5) 2. Nf3 (2. Bc4 Bc5) 2... Nc6 *"
    assert len(game.repairs) == 1


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("1. e4 (1. d4 e5 {open\n", "1. e4 (1. d4 e5 { open }) *"),
        ("1. e4 e5) 2. Nf3 *", "1. e4 e5 2. Nf3 *"),
        ("(1. d4 d5 (1... f5)) 1. e4 *", "1. e4 *"),
        ("$4 1. e4 *", "1. e4 *"),
        ("1. e4 | e5 # *", "1. e4 e5 *"),
    ],
)
def test_brackets_and_tokens_out_of_place(text: str, moves: str) -> None:
    game = one(text)
    assert str(game).splitlines()[-1] == moves
    assert game.repairs
    with pytest.raises(PgnError):
        Game.from_pgn(text)


@pytest.mark.parametrize(
    ("line", "value"),
    [('[White "Anna', "Anna"), ('[White "Anna"', "Anna"), ("[White Anna]", "Anna"), ('White "Anna"]', "Anna")],
)
def test_damaged_tags(line: str, value: str) -> None:
    game = one(f'[Event "x"]\n{line}\n[Black "Ben"]\n\n1. e4 *')
    assert (game.headers["White"], game.headers["Black"], game.headers["Event"]) == (value, "Ben", "x")
    assert [repair.line for repair in game.repairs] == [2]


@pytest.mark.parametrize(("marker", "result"), [("*", "*"), ("1-0", "1-0")])
def test_a_tag_that_is_no_result_leaves_that_of_the_moves(marker: str, result: str) -> None:
    game = one(f'[Event "x"]\n[Result "9-9"]\n\n1. e4 {marker}')
    assert (game.result, sans(game)) == (result, ["e4"])
    assert [str(repair) for repair in game.repairs] == [
        "line 2, column 1: not a result: '9-9'; use one of 1-0 0-1 1/2-1/2 *; read as *"
    ]


@pytest.mark.parametrize("results", ["1-0 1-0", "+-- 1-0", "1-0 {so} 0-1", "1-0 ½-½ *", "1-0\n1-0"])
def test_a_second_result_is_no_game(results: str) -> None:
    games = lenient(f'1. e4 e5 {results}\n\n[White "B"]\n\n1. d4 *\n\n0-1\n')
    assert [(sans(game), game.result) for game in games] == [(["e4", "e5"], "1-0"), (["d4"], "*"), ([], "0-1")]
    assert all(note.endswith("; left out") and "a second result" in note for note in notes(games[0]))
    assert len(games[0].repairs) == len(results.replace("{so}", "").split()) - 1
    assert str(one("1. e4 1-0 *").repairs[0]) == "line 1, column 11: a second result: '*'; left out"


def test_text_between_tags_and_after_them_is_left_out() -> None:
    game = one('Games of the club\n[Event "x"] y\nround one\n[White "A\x01B"]\n\n1. e4 *')
    assert (game.headers["Event"], game.headers["White"], sans(game)) == ("x", "AB", ["e4"])
    assert [repair.line for repair in game.repairs] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("fen", "start"),
    [
        ("7r/4k3/8/8/8/8/8/4K3 b kq - 0 1", "7r/4k3/8/8/8/8/8/4K3 b - - 0 1"),
        ("4k3/8/8/8/8/8/8/4K2R w KQkq e6 0 1", "4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
        ("4k3/8/8/8/8/8/8/4K2R b", "4k3/8/8/8/8/8/8/4K2R b - - 0 1"),
        ("4k3/8/8/8/8/8/8/4K2R", "4k3/8/8/8/8/8/8/4K2R w - - 0 1"),
    ],
)
def test_a_fen_is_read_as_far_as_possible(fen: str, start: str) -> None:
    game = one(f'[White "A"]\n [FEN "{fen}"]\n\n*')
    assert game.start.fen() == start
    assert [(repair.line, repair.column) for repair in game.repairs] == [(2, 1)]
    with pytest.raises(PgnError):
        Game.from_pgn(f'[FEN "{fen}"]\n\n*')


@pytest.mark.parametrize("tag", ['[FEN "what?"]', '[Variant "Crazyhouse"]'])
def test_a_start_that_cannot_be_understood_leaves_the_tags(tag: str) -> None:
    games = lenient(f'[White "A"]\n{tag}\n\n1. e4 e5 1-0\n\n[White "B"]\n\n1. d4 *')
    assert [(game.headers["White"], sans(game)) for game in games] == [("A", []), ("B", ["d4"])]
    assert games[0].error is not None
    assert games[0].error.line == 2
    assert notes(games[0])[0].startswith("line 2, column 1: ")
    assert notes(games[0])[0].endswith("; the rest of the game is left out")


def test_garbage_is_no_game_and_repairs_are_bounded() -> None:
    assert lenient("\x00\x01 \ud800 ÿÿ\n" * 50) == []
    game = one("1. e4 " + "| " * 1000 + "e5 *")
    assert sans(game) == ["e4", "e5"]
    assert len(game.repairs) == MAX_REPAIRS


def test_the_api_chooses() -> None:
    text = "1. e4 e4 *\n\n1. d4 *"
    with pytest.raises(PgnError):
        list(read_games(io.StringIO(text)))
    with pytest.raises(PgnError):
        list(read_games(io.StringIO(text), lenient=True, on_error="raise"))
    assert [sans(game) for game in read_games(io.StringIO(text), lenient=True, on_error="skip")] == [["d4"]]


# -- a file of damaged games ------------------------------------------------------------------------------------------

Damage = Callable[[random.Random, str], str]


def _change(old: str, new: str) -> Damage:
    return lambda chance, text: text.replace(old, new, 1)


def _illegal(chance: random.Random, text: str) -> str:
    tags, _, moves = text.partition("\n\n")
    words = moves.split(" ")
    place = chance.randrange(len(words))
    return f"{tags}\n\n{' '.join([*words[:place], 'Kh9', *words[place:]])}"


def _cut(chance: random.Random, text: str) -> str:
    begin = text.index("\n\n") + 2
    return text[: chance.randrange(begin, len(text))] + "\n\n"


def _swap(chance: random.Random, text: str) -> str:
    """Exchange two characters of the moves."""
    place = chance.randrange(text.index("\n\n") + 2, len(text) - 4)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def _noise(chance: random.Random, text: str) -> str:
    place = chance.randrange(text.index("\n\n") + 2, len(text) - 2)
    return text[:place] + "".join(chance.choice("\x00\x7f€ßü~^|<>&\u2028\ud800") for _ in range(5)) + text[place:]


DAMAGES_BESIDE_THE_MOVES: list[Damage] = [
    lambda chance, text: text,
    _change("]", ""),
    _change('"]\n', "]\n"),
    _change("{", "{ {"),
    _change(" 1/2-1/2", ""),
    _change(" 1/2-1/2", " 1/2-1/2 1/2-1/2"),
    _change("[Result", "Result"),
    _change("\n\n", "\n"),
    _change("\n\n", "\n\n\n\n"),
    lambda chance, text: text.replace("[", "  ["),
    lambda chance, text: text.replace("\n", "\r\n"),
]
WITHOUT_END_OF_COMMENT = _change("}", "")
DAMAGES: list[Damage] = [
    *DAMAGES_BESIDE_THE_MOVES,
    _illegal,
    _cut,
    _swap,
    _noise,
    WITHOUT_END_OF_COMMENT,
    _change("(", "(("),
    _change(")", ""),
    _change("(", ""),
    _change("1.", "1. --"),
]


def _games(chance: random.Random, count: int) -> Iterator[str]:
    variants = ("chess", "atomic", "gardner", "horde", "3check", "atomic960")
    for number in range(count):
        game = Game(variants[number % len(variants)])
        position = game.start.copy()
        node: Game | None = game
        for _ in range(chance.randrange(4, 24)):
            if not (moves := position.legal_moves):
                break
            node = node.add_variation(position.play(chance.choice(moves)))  # type: ignore[union-attr,assignment]
            if chance.random() < 0.2:
                node.comment = "a comment of some words"  # type: ignore[union-attr]
            if chance.random() < 0.2:
                before = position.copy()
                before.undo()
                node.parent.add_variation(chance.choice(before.legal_moves))  # type: ignore[union-attr]
        game.headers["Event"] = f"game {number}"
        game.headers["White"] = f"player {number}"
        game.result = "1/2-1/2"
        yield f"{game}\n\n"


def test_all_games_of_a_file_of_1000_damaged_ones_are_accounted_for() -> None:
    chance = random.Random(15)
    written = list(_games(chance, 1000))
    damaged = [DAMAGES[number % len(DAMAGES)](chance, text) for number, text in enumerate(written)]
    file = "".join(damaged)
    games = lenient(file)
    # 1. Each game is there once, in order, known by one of its tags.
    found = [game.headers["White"] for game in games]
    assert found == [f"player {number}" for number in range(1000)]
    # 2. A game that is not complete says so by an error or a repair, unless its text does not tell: one that was cut
    #    between two moves, and a comment that goes on to the end of the next one.
    # 3. Moves that were read are those of the game that was written, from its start on, unless a repair says otherwise.
    whole = Counter[Damage]()
    for number, (game, text) in enumerate(zip(games, written, strict=True)):
        damage = DAMAGES[number % len(DAMAGES)]
        moves = [node.move for node in game.mainline()]
        original = [node.move for node in Game.from_pgn(text).mainline()]
        whole[damage] += moves == original
        assert game.error is None or game.repairs
        if not game.repairs and damage is not WITHOUT_END_OF_COMMENT:
            assert moves == original[: len(moves)]
            assert moves == original or damage is _cut
    # 4. Damage that leaves the moves as they were costs none.
    for damage in DAMAGES_BESIDE_THE_MOVES:
        assert whole[damage] == len(range(DAMAGES.index(damage), 1000, len(DAMAGES)))
    # 5. The strict reader passes over what it does not read, and finds no fewer good games than are undamaged.
    strict = sum(1 for _ in read_games(io.StringIO(file), on_error="skip"))
    assert 1000 // len(DAMAGES) < strict < 1000


def test_random_damage_never_raises_and_never_hangs() -> None:
    chance = random.Random(7)
    texts = list(_games(chance, 30))
    for _ in range(300):
        text = "".join(chance.sample(texts, 3))
        for _ in range(chance.randrange(1, 12)):
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice('[]{}()";%$*\n\r 1-0exQ\\') + text[place + chance.randrange(2) :]
        for game in lenient(text):
            assert game.error is None or game.repairs
            again = one(str(game))
            assert again == game
            assert str(again) == str(game)


@pytest.mark.parametrize("text", ["{ words } $ $ )", "%a\n) (e4) {b}\n*\n\n) $ *\n"])
def test_a_text_of_which_only_comments_can_be_read_is_one_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Random text looks like this: a list of its repairs is of no use."""
    with pytest.raises(PgnError, match=r"line \d+"):
        list(read_and_report(io.StringIO(text), "random.pgn"))
    assert capsys.readouterr().err == ""


def test_repairs_of_a_game_without_moves_are_reported_where_it_has_tags(capsys: pytest.CaptureFixture[str]) -> None:
    [game] = read_and_report(io.StringIO('[Event "x"]\n\n) *\n'), "games.pgn")
    assert game.headers["Event"] == "x"
    assert capsys.readouterr().err == "games.pgn: line 3, column 1: ')' without '('; left out\n"


def test_a_byte_order_mark_before_a_line_in_latin_1_costs_no_tag() -> None:
    text = b'\xef\xbb\xbf[White "M\xfcller"]\r\n\r\n1. e4 *\r\n'
    [game] = read_games(io.BytesIO(text), lenient=True)
    assert (game.headers["White"], game.repairs) == ("Müller", ())
