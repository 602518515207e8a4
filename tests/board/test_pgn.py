"""PGN as people and programs write it, and games as a tree."""

from __future__ import annotations

import io
import itertools
import random
import re
from pathlib import Path
from typing import Any

import chess.pgn
import pytest

from selfmate import Game, IllegalMove, Move, MoveNode, PgnError, Position, read_games
from selfmate.board.pgn_reader import OnError
from selfmate.errors import BadCastling

LICHESS = """\
[Event "Rated Atomic game"]
[Site "https://lichess.org/abcdefgh"]
[Date "2024.01.31"]
[White "anna"]
[Black "ben"]
[Result "1-0"]
[UTCTime "12:00:00"]
[WhiteElo "1850"]
[Variant "Atomic"]
[TimeControl "180+0"]

1. Nf3 { [%eval 0.5] [%clk 0:03:00] } 1... f6 { [%clk 0:02:59] } 2. Nd4 $6 (2. e3 e6 (2... d5 3. Nd4)) \
2... Nh6?? 3. Ne6! { White wins. } 1-0

"""


def sans(game: Game) -> list[str]:
    return [node.san() for node in game.mainline()]


def test_lichess_game() -> None:
    game = Game.from_pgn(LICHESS)
    assert game.variant == "atomic"
    assert game.headers["WhiteElo"] == "1850"
    assert game.headers["Round"] == "?"
    assert game.result == "1-0"
    assert sans(game) == ["Nf3", "f6", "Nd4", "Nh6", "Ne6"]
    nodes = list(game.mainline())
    assert nodes[0].comment == "[%eval 0.5] [%clk 0:03:00]"
    assert [node.nags for node in nodes] == [set(), set(), {6}, {4}, {1}]
    variation = nodes[1].variations[1]
    assert [node.san() for node in [variation, *variation.mainline()]] == ["e3", "e6"]
    assert variation.variations[1].move == Move.from_uci("d7d5")
    assert Game.from_pgn(str(game)) == game


def test_layout_of_export() -> None:
    game = Game.from_pgn(
        "{ before } 1. e4 { a } e5 ({ b } 1... c5 $14 2. Nf3 (2. c3 d5) d6) (1... e6) 2. Nf3 Nc6 (2... Nf6) 3. Bb5 *"
    )
    assert str(game).split("\n\n")[1] == (
        "{ before } 1. e4 { a } 1... e5 ({ b } 1... c5 $14 2. Nf3 (2. c3 d5) 2... d6)\n"
        "(1... e6) 2. Nf3 Nc6 (2... Nf6) 3. Bb5 *"
    )


def test_lines_stay_under_80_columns_and_never_look_like_tags() -> None:
    game = Game()
    node = game.add_line(["e2e4", "e7e5"])
    node.comment = " ".join(["[%clk", "0:00:01]", "%", "[Event", '"x"]'] * 60)
    lines = str(game).split("\n\n")[1].splitlines()
    assert len(lines) > 5
    assert all(len(line) < 100 for line in lines)
    assert not any(line.startswith(("[", "%")) for line in lines)
    assert Game.from_pgn(str(game)) == game


def test_commands_in_comments_are_never_broken() -> None:
    game = Game()
    game.add_line(["g1f3", "g8f6", "f3g1", "f6g8"] * 40)
    for number, node in enumerate(game.mainline()):
        clock = f"0:{number % 60:02}:{number * 7 % 60:02}.{number % 10}"
        node.comment = f"{'+0.17/12 ' * (number % 3)}0.0{number % 7}3s [%eval {(number - 80) / 8:.2f}] [%clk {clock}]"
    text = str(game)
    lines = text.split("\n\n")[1].splitlines()
    assert len(lines) > 100
    assert max(map(len, lines)) < 80
    assert not any(line.startswith(("[", "%")) for line in lines)
    assert sum(line.count("[%eval -") for line in lines) == 80
    assert all(line.count("[%") == len(re.findall(r"\[%\w+ \S+\]", line)) for line in lines)
    assert Game.from_pgn(text) == game
    # Files of before, with breaks within commands, are the same games.
    assert Game.from_pgn(text.replace("[%eval ", "[%eval\n")) == game
    # Others read them too.
    theirs = chess.pgn.read_game(io.StringIO(text))
    assert theirs is not None
    assert not theirs.errors
    for ours, other in zip(game.mainline(), theirs.mainline(), strict=True):
        assert other.comment.replace("\n", " ").strip() == ours.comment
        found = other.eval()
        assert found is not None
        assert f"[%eval {(found.white().score() or 0) / 100:.2f}]" in ours.comment.replace("-0.00", "0.00")
        assert other.clock() is not None


def test_commands_that_fill_more_than_a_line_may_begin_one() -> None:
    game = Game()
    long = f"[%cal {','.join(f'Ga{n}b{n}' for n in range(1, 9)) * 3}]"
    game.add_line(["e2e4"]).comment = " ".join([*(f"[%c{number} {number} {number}]" for number in range(40)), long])
    lines = str(game).split("\n\n")[1].splitlines()
    assert [line for line in lines if len(line) >= 80] == [long]
    assert all(line.count("[") == line.count("]") for line in lines)
    assert Game.from_pgn(str(game)) == game
    # What is never closed is no command.
    game.end().comment = "[%clk " + "0:00:01 " * 60
    assert all(len(line) < 80 for line in str(game).split("\n\n")[1].splitlines())
    assert Game.from_pgn(str(game)) == game


def test_header_values_are_escaped() -> None:
    game = Game()
    game.headers["Event"] = 'a "quoted" \\ name \\"]'
    assert '[Event "a \\"quoted\\" \\\\ name \\\\\\"]"]' in str(game)
    assert Game.from_pgn(str(game)).headers["Event"] == game.headers["Event"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('[Event "The "Big" One"]', 'The "Big" One'),
        ('  [ Event   "x" ]  ', "x"),
        ('[Event ""]', ""),
        ('[Site "a"] [Event "b"]', "b"),
        ('[Event "C:\\games"]', "C:\\games"),
        ('[Event "Ströbeck ♞"]', "Ströbeck ♞"),
    ],
)
def test_headers_in_the_wild(line: str, value: str) -> None:
    assert Game.from_pgn(f"{line}\n\n1. e4 *").headers["Event"] == value


def test_start_tags_are_fixed_and_roster_stays() -> None:
    game = Game("atomic", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1")
    assert game.headers["SetUp"] == "1"
    for name in ("Variant", "SetUp", "FEN"):
        with pytest.raises(PgnError, match=name):
            game.headers[name] = "1"
        with pytest.raises(PgnError, match=name):
            del game.headers[name]
    game.headers["White"] = "Anna"
    del game.headers["White"]
    assert game.headers["White"] == "?"


@pytest.mark.parametrize(
    ("tag", "variant"),
    [
        ("Standard", "chess"),
        ("From Position", "chess"),
        ("chess", "chess"),
        ("Chess960", "chess960"),
        ("Fischerandom", "chess960"),
        ("Atomic", "atomic"),
        ("ATOMIC", "atomic"),
        ("Antichess", "antichess"),
        ("King of the Hill", "kingofthehill"),
        ("kingOfTheHill", "kingofthehill"),
        ("Three-check", "3check"),
        ("3check", "3check"),
        ("3-Check", "3check"),
        ("Racing Kings", "racingkings"),
        ("racingkings", "racingkings"),
        ("Horde", "horde"),
        ("Gardner", "gardner"),
    ],
)
def test_variant_tag(tag: str, variant: str) -> None:
    game = Game.from_pgn(f'[Variant "{tag}"]\n\n*')
    assert game.variant == variant
    assert game.headers["Variant"] == tag
    assert Game.from_pgn(str(Game(variant))).variant == variant


SHUFFLED = "rkrbbnnq/pppppppp/8/8/8/8/PPPPPPPP/RKRBBNNQ w KQkq - 0 1"


@pytest.mark.parametrize(
    ("tags", "variant"),
    [
        ("", "chess960"),
        ('[Variant "Standard"]\n', "chess960"),
        ('[Variant "From Position"]\n', "chess960"),
        ('[Variant "Chess960"]\n', "chess960"),
        ('[Variant "Atomic"]\n', "atomic960"),
        ('[Variant "Atomic960"]\n', "atomic960"),
    ],
)
def test_960_castling_is_read_under_every_variant_tag(tags: str, variant: str) -> None:
    game = Game.from_pgn(f'{tags}[FEN "{SHUFFLED}"]\n\n1. f3 *')
    assert game.variant == variant
    assert game.start.fen() == SHUFFLED
    assert game.headers["Variant"] == ("Atomic" if "Atomic" in tags else "Chess960")
    assert Game.from_pgn(str(game)) == game
    theirs = chess.pgn.read_game(io.StringIO(str(game)))
    assert theirs is not None
    assert theirs.errors == []
    assert theirs.board().chess960
    assert theirs.board().uci_variant == variant.removesuffix("960")
    assert theirs.board().castling_rights == game.start.castling


def test_960_without_castling_rights_is_read_back() -> None:
    for variant in ("chess960", "atomic960"):
        game = Game(variant, "4k3/8/8/8/8/8/PPP5/R3K3 w - - 0 1")
        text = str(game)
        assert "Atomic960" not in text
        assert Game.from_pgn(text).variant == variant
        assert Game.from_pgn(text) == game


@pytest.mark.parametrize(
    ("variant", "fen"),
    [
        # The kings or the rooks of one wing stand on different files: no Chess960 start has that.
        ("chess", "rnbq1rk1/pppn1ppp/4p3/3pP3/1b1P4/2NB1N2/PPP2PPP/R1BQK2R w KQq - 0 1"),
        ("chess", "1r2k3/8/8/8/8/8/8/R3K3 w Qq - 0 1"),
        ("kingofthehill", SHUFFLED),
    ],
)
def test_castling_rights_that_no_960_game_has_are_refused_and_dropped_when_lenient(variant: str, fen: str) -> None:
    text = f'[Variant "{variant}"]\n[FEN "{fen}"]\n\n*'
    with pytest.raises(PgnError, match="castl"):
        Game.from_pgn(text)
    game = Game.from_pgn(text, lenient=True)
    assert (game.variant, game.error, len(game.repairs)) == (variant, None, 1)
    assert game.start.fen() == Position(variant, fen, lenient=True).fen()


def test_error_of_castling_names_the_variant() -> None:
    with pytest.raises(BadCastling, match="only possible in atomic960"):
        Position("atomic", SHUFFLED)
    with pytest.raises(BadCastling, match="not possible in horde"):
        Position("horde", "1k2r3/8/8/8/8/8/8/PPP5 b k - 0 1")


def test_unknown_variant_names_the_nearest() -> None:
    with pytest.raises(PgnError, match="did you mean 'Atomic'") as caught:
        Game.from_pgn('[Variant "Atomik"]\n\n1. e4 *')
    assert caught.value.part == "Atomik"


def test_fen_tag() -> None:
    game = Game.from_pgn('[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 0 30"]\n\n30... Kd7 31. e4 *')
    assert sans(game) == ["Kd7", "e4"]
    assert str(game).endswith("30... Kd7 31. e4 *")
    assert game.headers["FEN"] == "4k3/8/8/8/8/8/4P3/4K3 b - - 0 30"


def test_lichess_fen_of_three_check() -> None:
    fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 +1+0"
    game = Game.from_pgn(f'[Variant "Three-check"]\n[FEN "{fen}"]\n\n1. e4 *')
    assert game.start.checks_left == (2, 3)


def test_comments_escapes_and_byte_order_mark() -> None:
    game = Game.from_pgn(
        '\ufeff% an escaped line\n[White "A"]\n% another\n\n; at the start\n1. e4 {over\n% two lines}'
        " ; to the } end\n% 1. d4\n1... e5 {a} {b} *\n"
    )
    assert game.comment == "at the start"
    assert [node.comment for node in game.mainline()] == ["over % two lines to the } end", "a b"]
    assert Game.from_pgn(str(game)) == game


@pytest.mark.parametrize(
    "text",
    [
        "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 5. d3 O-O",
        "1.e4 e5 2.Nf3 Nc6 3.Bc4 Bc5 4.0-0 Nf6 5.d3 0-0 1-0",
        "1 e4 e5 2 Nf3 Nc6 3 Bc4 Bc5 4 O-O Nf6 5 d3 O-O",
        "e4 e5 Nf3 Nc6 Bc4 Bc5 O-O Nf6 d3 O-O",
        "1. e4 1... e5 2. Ng1f3 Nc6 3. Bc4 Bc5 4. O-O! Nf6 ?! 5. d3 $10 O-O",
        "1. e2-e4 e7-e5 2. Ng1-f3 Nb8-c6 3. Bf1-c4 Bf8-c5 4. O-O Ng8-f6 5. d2-d3 O-O",
        "1. e4 e5\n\n2. Nf3 Nc6 3. Bc4 Bc5\r\n4. O-O Nf6 5. d3 O-O\r\n",
        "1. e4\re5\r2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 5.\nd3\tO-O",
        "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O\u2011O Nf6 5. d3 O\u2013O",
        "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. o-o Nf6 5. d3 0\u20130",
        "[pgn]1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 5. d3 O-O[/pgn]",
        "[pgn]\n1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 5. d3 O-O *\n[/pgn]\n",
    ],
)
def test_ways_to_write_moves(text: str) -> None:
    assert sans(Game.from_pgn(text)) == ["e4", "e5", "Nf3", "Nc6", "Bc4", "Bc5", "O-O", "Nf6", "d3", "O-O"]


@pytest.mark.parametrize(
    "capture", ["exf6", "exf6 e.p.", "exf6e.p.", "exf6ep", "exf6 ep", "exf6e.p.+", "exf6 e.p.+", "exf6e.p.!"]
)
def test_marks_of_en_passant(capture: str) -> None:
    game = Game.from_pgn(f"1. e4 Nc6 2. e5 f5 3. {capture} e6 {{e.p.}} 4. d4 *")
    assert sans(game) == ["e4", "Nc6", "e5", "f5", "exf6", "e6", "d4"]
    nodes = list(game.mainline())
    assert nodes[5].comment == "e.p."
    assert nodes[4].nags == ({1} if "!" in capture else set())


@pytest.mark.parametrize(
    ("glyph", "nag"),
    [
        ("⩱", 15),
        ("⩲", 14),
        ("=", 10),
        ("∞", 13),
        ("±", 16),
        ("∓", 17),
        ("+\u2212", 18),
        ("+-", 18),
        ("-+", 19),
        ("□", 7),
    ],
)
def test_glyphs_are_annotations(glyph: str, nag: int) -> None:
    for space in ("", " "):
        nodes = list(Game.from_pgn(f"1. e4 e5{space}{glyph} 2. Nf3 *").mainline())
        assert [node.nags for node in nodes] == [set(), {nag}, set()]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1\u20130", "1-0"),
        ("0\u20131", "0-1"),
        ("½-½", "1/2-1/2"),
        ("1/2\u20131/2", "1/2-1/2"),
        ("+--", "1-0"),
        ("--+", "0-1"),
    ],
)
def test_other_spellings_of_results(text: str, result: str) -> None:
    games = list(read_games(io.StringIO(f"1. e4 {text} {{over}}\n1. d4 *")))
    assert [game.result for game in games] == [result, "*"]
    assert games[0].end().comment == "over"


def test_indented_tags_after_a_game_without_result_begin_a_game() -> None:
    games = list(read_games(io.StringIO('[White "A"]\n\n1. e4 e5\n\n  [White "B"]\n\n1. d4 *')))
    assert [(game.headers["White"], sans(game)) for game in games] == [("A", ["e4", "e5"]), ("B", ["d4"])]


@pytest.mark.parametrize("word", ["g1f3", "e1g1", "e7e8q", "--", "Z0"])
def test_uci_and_null_moves_are_not_san_for_a_strict_reader(word: str) -> None:
    with pytest.raises(PgnError, match=r"not SAN|not a move like Nf3") as caught:
        Game.from_pgn(f"1. {word} *")
    assert "not legal" not in str(caught.value)
    assert caught.value.part == word


def test_result_comes_from_tag_or_marker() -> None:
    assert Game.from_pgn("1. e4 0-1").result == "0-1"
    assert Game.from_pgn('[Result "1-0"]\n\n1. e4 *').result == "1-0"
    assert Game.from_pgn('[Result "1-0"]\n\n1. e4').result == "1-0"
    assert Game.from_pgn("1. e4 (1. d4 1-0) e5 1/2-1/2 {agreed}").result == "1/2-1/2"
    with pytest.raises(PgnError, match="not a result") as caught:
        Game().result = "2-0"
    assert caught.value.part == "2-0"


def test_a_tag_has_a_result_or_another_spelling_of_one() -> None:
    assert Game.from_pgn('[Result "½-½"]\n\n1. e4').result == "1/2-1/2"
    with pytest.raises(PgnError, match=r"^line 2: not a result: '9-9'; use one of 1-0 0-1 ") as caught:
        Game.from_pgn('[White "Anna"]\n[Result "9-9"]\n\n1. e4 *')
    assert caught.value.part == "9-9"
    with pytest.raises(PgnError, match="not a result"):
        Game().headers["Result"] = "9-9"


def test_comment_after_the_result_belongs_to_the_last_move() -> None:
    games = list(read_games(io.StringIO("1. e4 1-0 {time}\n{over\nhere}\n\n1. d4 0-1 1. c4 *")))
    assert [sans(game) for game in games] == [["e4"], ["d4"], ["c4"]]
    assert games[0].end().comment == "time over here"


def test_empty_variation_keeps_its_comment() -> None:
    game = Game.from_pgn("1. e4 () ({why?}) e5 *")
    assert sans(game) == ["e4", "e5"]
    assert game.variations[0].comment == "why?"


def test_deep_and_long_trees_need_no_recursion() -> None:
    deep = 20_000
    shuffle = ["Nf3", "Nf6", "Ng1", "Ng8"]
    text = " ".join(shuffle[index % 4] for index in range(deep))
    long = Game.from_pgn(text)
    assert sum(1 for _ in long.mainline()) == deep
    assert Game.from_pgn(str(long)) == long
    nested = "1. e4 " + "(1. d4 " * deep + ")" * deep + " *"
    game = Game.from_pgn(nested)
    assert len(game.variations) == deep + 1
    zigzag = "Nf3 " + "".join(f"{shuffle[(index + 1) % 4]} ({shuffle[(index + 1) % 4]} " for index in range(deep))
    game = Game.from_pgn(zigzag + ")" * deep + " *")
    assert Game.from_pgn(str(game)) == game


STREAM = (
    "1. e4 e5 1-0\n\n1. d4 d4 0-1\n\n"
    '[White "C"]\n\n1. c4 {\nno end\n\n'
    '[Event "D"]\n\n1. Nf3 (1. g3 *\n\n'
    '[Event "E"]\n1. b3 *'
)


def test_on_error_raise_stops_with_the_line() -> None:
    games = read_games(io.StringIO(STREAM))
    assert sans(next(games)) == ["e4", "e5"]
    with pytest.raises(PgnError, match="line 3: 'd4' is not legal") as caught:
        next(games)
    assert (caught.value.line, caught.value.part) == (3, "d4")


def test_on_error_skip_leaves_bad_games_out() -> None:
    assert [sans(game) for game in read_games(io.StringIO(STREAM), on_error="skip")] == [["e4", "e5"], ["b3"]]


def test_on_error_collect_gives_what_could_be_read() -> None:
    games = list(read_games(io.StringIO(STREAM), on_error="collect"))
    assert [sans(game) for game in games] == [["e4", "e5"], ["d4"], ["c4"], ["Nf3"], ["b3"]]
    assert [str(game.error) if game.error else None for game in games] == [
        None,
        "line 3: 'd4' is not legal (rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1)",
        "line 7: this comment is not closed",
        "line 12: this variation is not closed",
        None,
    ]
    assert games[2].headers["White"] == "C"


def test_on_error_is_checked_at_once() -> None:
    with pytest.raises(ValueError, match="on_error"):
        read_games(io.StringIO(""), on_error="ignore")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-1, 0, 10**30, pytest.param(10**5000, id="5001 digits"), 1.5, "5", None])
def test_the_limit_on_characters_is_a_number(number: Any) -> None:
    for read in (Game.from_pgn, lambda text, **limit: read_games(io.StringIO(text), **limit)):
        with pytest.raises(PgnError, match=r"^max_chars must be a whole number from 1 to "):
            read("1. e4", max_chars=number)
    assert Game.from_pgn("1. e4", max_chars=1 << 40).result == "*"


@pytest.mark.parametrize("path", ["\0", "\ud800", "nowhere.pgn", "x" * 5000])
def test_a_path_that_cannot_be_opened(path: str) -> None:
    with pytest.raises(OSError, match=r"^\[Errno \d+\] ") as caught:
        list(read_games(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("on_error", ["skip", "collect"])
def test_bad_header_does_not_break_the_next_game(on_error: OnError) -> None:
    text = '[Event "A"\n[Site "x"]\n\n1. e4 *\n\n[Event "B"]\n\n1. d4 *\n'
    games = [game for game in read_games(io.StringIO(text), on_error=on_error) if game.error is None]
    assert [(game.headers["Event"], sans(game)) for game in games] == [("B", ["d4"])]


def test_headers_without_moves() -> None:
    games = list(read_games(io.StringIO('[Event "A"]\n\n[Event "B"]\n[Site "x"]\n\n*\n[Event "C"]\n')))
    assert [game.headers["Event"] for game in games] == ["A", "B", "C"]
    assert list(read_games(io.StringIO("\n\n% nothing\n"))) == []


class Endless(io.TextIOBase):
    """A file that never ends; it counts what was read."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = itertools.cycle(lines)
        self.count = 0

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        self.count += 1
        return next(self.lines)


def test_reading_is_lazy() -> None:
    file = Endless(LICHESS.splitlines(keepends=True))
    games = list(itertools.islice(read_games(file), 5))  # type: ignore[arg-type]
    assert len(games) == 5
    assert file.count <= 5 * len(LICHESS.splitlines()) + 1


def test_a_game_without_end_is_refused() -> None:
    file = Endless(["{ comment\n", "and more\n"])
    with pytest.raises(PgnError, match="longer than 1048576 characters"):
        next(read_games(file))  # type: ignore[arg-type]
    assert file.count < 200_000


def test_a_line_without_end_is_refused_and_passed_over() -> None:
    text = "1. e4 {" + "x" * 5_000_000 + '} *\n\n[Event "B"]\n\n1. d4 *\n'
    for file in (io.StringIO(text), io.BytesIO(text.encode())):
        assert [sans(game) for game in read_games(file, on_error="skip")] == [["d4"]]
    with pytest.raises(PgnError, match="characters") as caught:
        list(read_games(io.StringIO(text)))
    assert caught.value.line == 1
    assert len(caught.value.part) < 100
    assert len(list(read_games(io.StringIO(text), max_chars=6_000_000))) == 2


def test_files_and_encodings(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(
        '\ufeff[White "Ströbeck"]\r\n\r\n1. e4 *\r\n\r\n'.encode() + '[White "Pérez"]\n\n1. d4 *'.encode("latin-1")
    )
    for source in (path, str(path)):
        assert [game.headers["White"] for game in read_games(source)] == ["Ströbeck", "Pérez"]
    with path.open("rb") as file:
        assert len(list(read_games(file))) == 2


def test_tree_editing() -> None:
    game = Game()
    main = game.add_variation("e2e4")
    other = game.add_variation(Move.from_uci("d2d4"), comment=" two\nlines ", nags=[1])
    assert other.comment == "two lines"
    other.starting_comment = "or"
    with pytest.raises(PgnError, match="first move of a variation"):
        main.starting_comment = "no"
    other.promote()
    assert game.next is other
    assert other.starting_comment == ""
    main.remove()
    assert str(game).endswith("1. d4 $1 { two lines } *")
    assert isinstance(game.end(), MoveNode)
    assert other.root() is game
    assert game.parent is None


def test_illegal_moves_do_not_change_the_tree() -> None:
    game = Game()
    with pytest.raises(IllegalMove):
        game.add_variation("e2e5")
    with pytest.raises(IllegalMove):
        game.add_line(["e2e4", "e7e5", "e4e5"])
    assert game.variations == []
    node = game.add_variation("e2e4")
    node.nags.add(256)
    with pytest.raises(PgnError, match=r"\$256"):
        str(game)


def test_games_differ() -> None:
    texts = ["*", "1. e4 *", "1. e4 {a} *", "1. e4 $1 *", "1. e4 (1. d4) *", "1. e4 ({b} 1. d4) *", "{c} *", "1-0"]
    texts += ['[Variant "Atomic"] *', '[FEN "4k3/8/8/8/8/8/8/4K3 w - - 0 1"] *', '[White "x"] *']
    games = [Game.from_pgn(text) for text in texts]
    for one, other in itertools.combinations(games, 2):
        assert one != other
    assert games == [Game.from_pgn(text) for text in texts]
    assert games[0] != "1. e4 *"


def test_from_position_claims_and_counts() -> None:
    position = Position("chess")
    for move in ["g1f3", "g8f6", "f3g1", "f6g8"] * 2:
        position.play(move)
    game = Game.from_position(position)
    assert game.result == "1/2-1/2"
    assert len(position.move_stack) == 8
    assert game.end().position() == position


@pytest.mark.parametrize("variant", ["chess", "atomic", "antichess", "kingofthehill", "3check", "racingkings", "horde"])
def test_python_chess_reads_what_we_write_and_we_read_what_it_writes(variant: str) -> None:
    choose = random.Random(variant)
    for _ in range(5):
        position = Position(variant)
        for _ in range(60):
            moves = position.legal_moves
            if not moves:
                break
            position.play(choose.choice(moves))
        game = Game.from_position(position)
        node = game.next
        assert node is not None
        alternatives = [move for move in game.start.legal_moves if move != node.move]
        game.add_variation(choose.choice(alternatives), comment="or this", nags=[1, 14])
        theirs = chess.pgn.read_game(io.StringIO(str(game)))
        assert theirs is not None
        assert theirs.errors == []
        assert theirs.end().board().fen(en_passant="legal").split()[0] == position.board_fen()
        assert Game.from_pgn(str(theirs)) == game
