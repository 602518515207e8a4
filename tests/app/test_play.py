"""Playing in the terminal: moves, commands, bad input, and the ways a game ends, without a terminal."""

from __future__ import annotations

import io
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from command import Answer, Run
from selfmate import BLACK, VARIANTS, WHITE, Position, read_games
from selfmate.app.demo import play_demo
from selfmate.app.notation import describe, numbered_moves
from selfmate.app.play import COMMANDS, PlaySession
from selfmate.app.terminal_board import draw_board, flipped
from selfmate.errors import PlayerError
from selfmate.search.limit import Limit
from selfmate.search.player import Player


def play(
    lines: Iterable[str],
    variant: str = "chess",
    fen: str | None = None,
    *,
    spec: str = "random",
    color: bool = WHITE,
    pgn: Path | None = None,
    visits: int = 20,
) -> tuple[PlaySession, str]:
    """Return a session that has read these lines, and its output."""
    answers = iter(lines)

    def read(prompt: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None

    text = io.StringIO()
    console = Console(file=text, width=100)
    session = PlaySession(
        Player(spec), Position(variant, fen), Limit(visits=visits), console, read, color=color, pgn=pgn, seed=1
    )
    session.run()
    return session, text.getvalue()


def test_moves_are_answered() -> None:
    session, text = play(["e4", "g1f3", "nc3"])
    assert [move.uci() for move in session.position.move_stack][::2] == ["e2e4", "g1f3", "b1c3"]
    assert len(session.position.move_stack) == 6
    assert text.count("random plays") == 3
    assert session.result == "*"


def test_the_engine_begins_when_the_person_has_black() -> None:
    session, text = play([], color=BLACK)
    assert len(session.position.move_stack) == 1
    assert session.flipped
    assert text.index("1  ♖") < text.index("8  ♜")


@pytest.mark.parametrize(
    "line", ["Ke2", "e5", "e2e5", "hello", "Nf3 Nf6", "0000", "ö", "x" * 5000, "\x1b[2J", "-1", "[/red]"]
)
def test_a_wrong_move_changes_nothing(line: str) -> None:
    session, text = play([line])
    assert session.position.move_stack == []
    assert "`moves` lists the legal ones" in text
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("variant", "fen", "line", "answer"),
    [
        ("gardner", None, "hello", "'hello' is not a move like Na3 or b1a3"),
        ("gardner", None, "O-O", "'O-O' is not legal here"),
        ("gardner", None, "e2e4", "'e2e4' is not legal: that piece cannot go there now"),
        ("gardner", None, "e7e5", "'e7e5' is not legal: it leaves the board"),
        ("gardner", None, "d4d3", "'d4d3' is not legal: the piece on d4 belongs to the other side"),
        ("gardner", "4k/P4/5/5/4K w - - 0 1", "a5", "'a5': say what the pawn becomes, as in a5=Q"),
        ("gardner", "4k/P4/5/5/4K w - - 0 1", "a4a5", "'a4a5': say what the pawn becomes, as in a5=Q"),
        ("gardner", "4k/P4/5/5/4K w - - 0 1", "a5=K", "'a5=K' is not legal: no piece can become that"),
        ("chess", "4k3/8/8/8/8/8/8/1N2KN2 w - - 0 1", "nd2", "'Nd2' could be b1d2 or f1d2"),
        ("chess960", None, "Ke3", "'Ke3' is not legal here"),
        ("antichess", None, "x" * 5000, "…' is not a move like Na3 or b1a3"),
        ("horde", "4k3/8/8/8/8/8/8/PPPP4 w - - 0 1", "?", "'?' is not a move like a2 or a1a2"),
    ],
)
def test_a_wrong_move_is_told_in_one_line_that_fits_the_board(
    variant: str, fen: str | None, line: str, answer: str
) -> None:
    session, text = play([line], variant, fen)
    (told,) = [each for each in text.splitlines() if "`moves` lists the legal ones" in each]
    assert told.endswith(f"{answer}. `moves` lists the legal ones.")
    assert len(told) < 130
    assert session.position.fen().split()[0] not in told


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_greeting_shows_moves_that_can_be_played(variant: str) -> None:
    _, text = play([], variant)
    position = Position(variant)
    found = re.search(r"Moves as (\S+) or (\S+); `help` for more\.", text)
    assert found is not None
    assert position.parse_san(found[1]) == position.parse_uci(found[2])


def test_commands() -> None:
    _, text = play(["help", "", "moves", "fen", "board", "HINT", "eval", "pgn"], spec="heuristic-1")
    for name in COMMANDS:
        assert f"  {name}" in text
    assert "A move, or `help`." in text
    assert "Na3 Nc3 Nf3 Nh3 a3 a4" in text
    assert Position("chess").fen() in text
    assert "value +0." in text
    assert "20 visits in" in text
    assert '[White "You"]' in text
    assert '[Black "heuristic-1 (20 visits)"]' in text


def test_undo() -> None:
    session, text = play(["undo", "e4", "d4", "undo", "undo"])
    assert session.position.move_stack == []
    assert text.count("There is nothing to take back.") == 1
    session, _ = play(["undo", "e5", "undo"], color=BLACK)
    assert len(session.position.move_stack) == 1


def test_undo_after_the_end() -> None:
    session, _ = play(["Qd5#", "undo"], "gardner", "4k/2r1P/p2QB/PpP2/4K w - - 0 16")
    assert (session.result, session.position.move_stack) == ("*", [])
    session, _ = play(["e4", "resign", "undo"])
    assert (session.result, len(session.position.move_stack)) == ("*", 2)


def test_a_win_is_announced_once_and_moves_are_refused_after_it() -> None:
    _, text = play(["Qd5#", "Ke2", "hint", "eval", "resign", "moves"], "gardner", "4k/2r1P/p2QB/PpP2/4K w - - 0 16")
    assert text.count("White wins: checkmate. 1-0 after 1 ply.") == 1
    assert "The game is over: `new`, `undo`, `pgn FILE` or `quit`." in text
    assert text.count("The game is over.\n") == 3


def test_the_engine_wins() -> None:
    _, text = play(["a3"], "atomic", "4k3/8/8/8/7q/8/P4P2/4K3 w - - 0 1", spec="heuristic-1")
    assert "Black wins: king exploded. 0-1" in text


def test_draws_are_claimed() -> None:
    session, text = play(["Kb1"], "chess", "7k/8/8/8/8/8/6R1/K7 w - - 99 80")
    assert session.result == "1/2-1/2"
    assert "Draw: " in text
    assert "fifty-move rule" in text


def test_resign_and_new() -> None:
    session, text = play(["e4", "resign", "new", "e5"])
    assert "Black wins: White resigns. 0-1 after 2 plies." in text
    assert session.color == BLACK
    assert session.flipped
    assert len(session.position.move_stack) in (1, 3)


def test_quit_leaves_the_rest_unread() -> None:
    session, _ = play(["quit", "e4"])
    assert session.position.move_stack == []


# -- saving -----------------------------------------------------------------------------------------------------------


def test_pgn_is_added_on_request_and_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "my games.pgn"
    play([f"pgn {path}", "Qd5#", f"pgn {path}"], "gardner", "4k/2r1P/p2QB/PpP2/4K w - - 0 16", pgn=tmp_path / "all.pgn")
    games = list(read_games(path))
    assert [game.result for game in games] == ["*", "1-0"]
    assert [game.headers["Termination"] for game in games] == ["unterminated", "normal"]
    (kept,) = read_games(tmp_path / "all.pgn")
    assert kept == games[1]
    assert kept.end().comment == "checkmate"
    assert kept.headers["FEN"] == "4k/2r1P/p2QB/PpP2/4K w - - 0 16"


def test_a_game_that_was_left_is_kept_too(tmp_path: Path) -> None:
    play(["e4"], pgn=tmp_path / "all.pgn")
    (game,) = read_games(tmp_path / "all.pgn")
    assert (game.result, game.headers["Termination"]) == ("*", "unterminated")
    play([], pgn=tmp_path / "none.pgn")
    assert not (tmp_path / "none.pgn").exists()


def test_control_c_keeps_the_game_and_goes_on_up(tmp_path: Path) -> None:
    lines = iter(["e4"])

    def read(prompt: str) -> str:
        for line in lines:
            return line
        raise KeyboardInterrupt

    console = Console(file=io.StringIO())
    start, limit = Position("chess"), Limit(visits=1)
    session = PlaySession(Player("random"), start, limit, console, read, pgn=tmp_path / "all.pgn")
    with pytest.raises(KeyboardInterrupt):
        session.run()
    assert isinstance(console.file, io.StringIO)
    assert "╯\n\nAdded to" in console.file.getvalue()  # the line of the prompt was ended
    assert len(list(read_games(tmp_path / "all.pgn"))) == 1


@pytest.mark.parametrize("path", ["/no/such/folder/x.pgn", "/", "nul\0"])
def test_a_file_that_cannot_be_written_is_told(path: str) -> None:
    _, text = play(["e4", f"pgn {path}"])
    assert "Not saved: " in text


def test_a_file_on_a_full_disk_is_as_it_was(tmp_path: Path) -> None:
    old, new = tmp_path / "old.pgn", tmp_path / "new.pgn"
    text = "1. e4 *\n\n"
    old.write_text(text)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))  # a part of the game can be written
    try:
        session, said = play(["e4", f"pgn {new}"], pgn=old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said.count("Not saved: ") == 2
    assert session.unsaved
    assert old.read_text() == text
    assert not new.exists()


# -- everything else --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [*VARIANTS, "chess960", "atomic960"])
def test_every_variant_can_be_played(variant: str) -> None:
    position = Position(variant)
    first = position.san(position.legal_moves[0])
    session, text = play([first, "hint", "flip"], variant, spec="heuristic-1")
    assert len(session.position.move_stack) == 2
    assert "heuristic-1 plays" in text


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from([*sorted(set(COMMANDS) - {"pgn"}), "e4", "Nf3", "a2a3", "e7e5"]),
            st.text(max_size=12).filter(lambda text: not text.strip().lower().startswith("pgn")),
        ),
        max_size=12,
    )
)
def test_no_input_breaks_a_session(lines: list[str]) -> None:
    play(lines, visits=2)


def test_a_player_of_another_variant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Player, "variant", property(lambda self: "gardner"))
    with pytest.raises(PlayerError, match="plays gardner, not chess"):
        play([])


def test_the_board_is_turned_square_by_square() -> None:
    position = Position("gardner", "r3k/5/5/5/K1B2 w - - 0 1")
    drawn = flipped(draw_board(position, False, None, frozenset()))
    assert drawn.plain.splitlines() == [
        "1  .  .  ♗  .  ♔ ",
        "2  .  .  .  .  . ",
        "3  .  .  .  .  . ",
        "4  .  .  .  .  . ",
        "5  ♚  .  .  .  ♜ ",
        "   e  d  c  b  a",
    ]


@pytest.mark.parametrize(("no_color", "kings"), [(False, "♚♚"), (True, "♚♔")])
def test_without_colours_the_pieces_themselves_tell_the_sides_apart(
    monkeypatch: pytest.MonkeyPatch, no_color: bool, kings: str
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    text = io.StringIO()
    console = Console(file=text, width=100, force_terminal=True, color_system="truecolor")
    start = Position("chess", "4k3/8/8/8/8/8/8/4K3 w - - 0 1")
    PlaySession(Player("random"), start, Limit(visits=1), console, lambda prompt: "quit").run()
    assert "".join(letter for letter in text.getvalue() if letter in "♚♔") == kings
    assert ("\x1b[38;2" in text.getvalue()) != no_color
    text.truncate(0)
    play_demo("chess", 1, console)
    assert ("♙" in text.getvalue()) == no_color


def test_the_frame_counts_the_checks_of_three_check() -> None:
    _, text = play([], "3check", "4k3/8/8/8/8/8/4Q3/4K3 b - - 2+3 0 1", color=BLACK)
    assert "checks to win: White 2, Black 3" in text
    assert "checks to win" not in play([], "chess")[1]


@pytest.mark.parametrize("castling", ["O-O", "o-o", "0-0", "e1g1", "E1G1"])
def test_castling_and_capitals_are_read(castling: str) -> None:
    session, _ = play([castling], fen="4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    assert session.position.move_stack[0].uci() in ("e1h1", "e1g1")
    session, _ = play(["o-o-o"], fen="4k3/8/8/8/8/8/8/R3K3 w Q - 0 1")
    assert session.position.piece_at(3) == "R"
    session, _ = play(["E2E4", "B1C3"])
    assert [move.uci() for move in session.position.move_stack][::2] == ["e2e4", "b1c3"]


def test_a_capital_b_is_a_bishop_and_a_promotion_may_be_in_capitals() -> None:
    session, _ = play(["Bc4"], fen="4k3/8/8/8/8/1P6/2P5/4KB2 w - - 0 1")
    assert session.position.piece_at(26) == "B"
    session, _ = play(["A7A8N"], fen="4k3/P7/8/8/8/8/8/4K3 w - - 0 1")
    assert session.position.piece_at(56) == "N"


def test_moves_are_numbered_from_where_the_game_began() -> None:
    position = Position("chess", "4k3/8/8/8/8/8/4P3/4K3 b - - 0 40")
    for move in ("e8e7", "e2e4"):
        position.play(move)
    assert numbered_moves(position) == [" 40. …       Ke7", " 41. e4"]


def test_what_is_proven_is_described() -> None:
    player = Player("heuristic-1")
    lost = player.search(Position("chess", "k7/7R/1K6/8/8/8/8/8 b - - 0 1"), Limit(visits=200))
    assert describe(lost) == "loses in 1 move"
    drawn = player.search(Position("chess", "7k/8/8/8/8/8/1q6/K7 w - - 0 1"), Limit(visits=200))
    assert describe(drawn) == "drawn"


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero, a line without an end")
def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    """It was read into memory, gigabytes of it."""
    with Path("/dev/zero").open("rb") as endless:
        command = [sys.executable, "-m", "selfmate", "play", "random"]
        done = subprocess.run(command, stdin=endless, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        "selfmate: standard input: a line is longer than 100,000 characters\n",
    )


def test_bytes_that_are_no_text_are_no_move() -> None:
    command = [sys.executable, "-m", "selfmate", "play", "random"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}  # as in a terminal of most languages
    done = subprocess.run(command, input=b"\x85\xff\nquit\n", capture_output=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"is not a move like Na3 or b1a3" in done.stdout


@pytest.fixture
def run_play(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line with a text as standard input."""

    def run_command(text: str, *arguments: str) -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        return run(*arguments)

    return run_command


def test_command(run_play: Run, tmp_path: Path) -> None:
    pgn = tmp_path / "games.pgn"
    arguments = ("heuristic-1", "--variant", "gardner", "--level", "1", "--pgn", str(pgn))
    code, out, err = run_play("d3\nresign\n", "play", *arguments)
    assert (code, err) == (0, "")
    assert "You play White against heuristic-1." in out
    assert "Black wins: White resigns" in out
    assert next(read_games(pgn)).headers["Black"] == "heuristic-1 (1 visit)"
    assert run_play("", "play", "random", "--variant", "chess960", "--color", "black")[0] == 0
    assert run_play("quit\n", "play", "random", "--color", "random", "--seconds", "0.05")[0] == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_game_that_cannot_be_kept_is_exit_code_2(run_play: Run) -> None:
    code, out, _ = run_play("e4\nquit\n", "play", "random", "--pgn", "/dev/full")
    assert (code, "Not saved: /dev/full: No space left on device." in out) == (2, True)


@pytest.mark.parametrize(
    ("variant", "name"),
    [("gardner", "gardner-laptop"), ("atomic960", "atomic-gpu"), ("racingkings", "racingkings-gpu")],
)
def test_the_shipped_net_of_the_variant_plays_by_default(run_play: Run, variant: str, name: str) -> None:
    code, out, _ = run_play("", "play", "--variant", variant, "--visits", "1")
    assert (code, f"You play White against {name}." in out) == (0, True)


@pytest.mark.parametrize(("limit", "name"), [(("--level", "1"), "horde-gpu"), (("--seconds", "1"), "heuristic-1")])
def test_a_net_that_is_weaker_in_equal_time_plays_unless_time_is_limited(
    run_play: Run, limit: tuple[str, str], name: str
) -> None:
    code, out, _ = run_play("", "play", "--variant", "horde", *limit)
    assert (code, f"You play White against {name}." in out) == (0, True)


def test_a_disk_that_cannot_be_written_is_refused_at_the_start(
    run_play: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def refuse_writing(path: Path, mode: int) -> bool:
        if mode == os.W_OK:
            asked.append(path)
        return mode != os.W_OK

    monkeypatch.setattr(os, "access", refuse_writing)
    (tmp_path / "old.pgn").touch()
    for name, checked in (("new.pgn", tmp_path), ("old.pgn", tmp_path / "old.pgn")):
        code, out, err = run_play("", "play", "random", "--pgn", str(tmp_path / name))
        assert (code, out) == (2, "")
        assert err == f"selfmate: {tmp_path / name}: cannot be written: permission denied\n"
        assert asked.pop() == checked


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("nobody",), "unknown player 'nobody'"),
        (("--variant", "atomik"), "did you mean 'atomic'?"),
        (("--color", "green"), "green"),
        (("--level", "0"), "level"),
        (("--level", "3", "--visits", "5"), "--level"),
        (("--fen", "x"), "FEN"),
        (("--seconds", "0"), "seconds"),
        (("--seed", "-1"), "'-1' is not a whole number from 0 to 2^63"),
        (("--seed", "9" * 30), "is not a whole number from 0 to 2^63"),
        (("--pgn", "/no/such/folder/mine.pgn"), "there is no such folder"),
        (("--pgn", "."), "a folder, not a file"),
        (("--fen", "4k/P4/5/5/4K w - - 0 1"), "5 squares instead of 8; for gardner, add --variant gardner"),
        (("--fen", "4k/P4/5/5/4K w - - 0 1", "--variant", "atomic"), "5 squares instead of 8"),
        (("--fen", "4k3/8/8/8/8/8/8/4K3", "w", "-", "-", "0", "1"), "in quotes, as in '4k3/8/8/8/8/8/8/4K3 w - - 0 1'"),
    ],
)
def test_bad_input_is_one_line(run_play: Run, arguments: tuple[str, ...], part: str) -> None:
    code, out, err = run_play("", "play", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err
