"""The UCI engine, command by command."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfmate import VARIANTS, Position
from selfmate.search.strength import strength_at
from selfmate.uci.options import OPTIONS
from uci_process import Uci, best_move, field, infos, pv, said

MATE_IN_TWO = "5/1P3/2KN1/5/k4 w - - 1 29"  # Gardner
ATOMIC_MATE_IN_ONE = "rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3"
CASTLING = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"


@pytest.fixture(scope="module")
def shared() -> Iterator[Uci]:
    """Start one engine for all tests that leave it as they found it."""
    with Uci() as uci:
        yield uci


@pytest.fixture
def engine(shared: Uci) -> Uci:
    """Return an engine with default options but the player, heuristic-1, on a new game."""
    shared.send("stop")
    for option in OPTIONS.values():
        if option.kind != "button":
            default = option.line().split(" default ")[1].split(" min ")[0].split(" var ")[0]
            shared.send(f"setoption name {option.name} value {default}")
    shared.send("setoption name WeightsFile value heuristic-1", "debug off", "ucinewgame", "position startpos")
    shared.ready()
    shared.heard.clear()
    return shared


def check_lines(lines: list[str], position: Position) -> None:
    """Check what must hold of everything that a search says."""
    assert best_move(lines) in {position.uci(move) for move in position.legal_moves}
    assert infos(lines)
    for line in infos(lines):
        for name in ("depth", "seldepth", "nodes", "nps", "hashfull", "time", "multipv"):
            assert int(field(line, name)) >= 0
        assert field(line, "score") in ("cp", "mate")
        assert int(field(line, "depth")) <= int(field(line, "seldepth"))
        walk = position.copy()
        assert pv(line)
        for move in pv(line):
            walk.play(move)  # raises where it is not legal
    words = lines[-1].split()
    if len(words) > 2:
        assert words[2] == "ponder"
        after = position.copy()
        after.play(words[1])
        after.play(words[3])


# -- beginning --------------------------------------------------------------------------------------------------------


def test_uci_names_every_option_of_the_contract(engine: Uci) -> None:
    lines = engine.ask("uci", until="uciok")
    assert lines[0].startswith("id name Selfmate")
    assert lines[1].startswith("id author ")
    names = {line.removeprefix("option name ").split(" type ")[0] for line in lines[2:-1]}
    assert names >= {
        *("UCI_Variant", "MultiPV", "UCI_ShowWDL", "UCI_AnalyseMode", "UCI_Chess960", "Ponder", "Move Overhead"),
        *("Threads", "Hash", "Backend", "WeightsFile", "VerboseMoveStats", "LogLiveStats", "UCI_LimitStrength"),
        *("UCI_Elo", "Contempt"),
    }
    variants = next(line for line in lines if "UCI_Variant" in line)
    assert {word for word in variants.split() if word in VARIANTS} == set(VARIANTS)


def test_nothing_heavy_is_loaded_before_it_is_needed() -> None:
    heavy = "{'numpy', 'typer', 'rich', 'click', 'onnxruntime', 'torch', 'msgspec', 'pydantic', 'safetensors'}"
    for what in ("import selfmate.uci.server", "sys.argv = ['selfmate', 'uci']; import selfmate.__main__"):
        code = f"import sys; {what}; assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_it_says_who_plays() -> None:
    with Uci() as uci:
        (text,) = said(uci.ready())
        assert "shipped net" in text
        assert "chess-gpu" in text
        uci.send("setoption name UCI_Variant value racingkings")
        (text,) = said(uci.ready())
        assert text.startswith(
            "heuristic-1 plays racingkings: in equal time it is stronger than the net racingkings-gpu"
        )
        uci.send("setoption name WeightsFile value racingkings-gpu")
        assert any(text.startswith("racingkings-gpu plays racingkings (") for text in said(uci.ready()))
        uci.send("setoption name WeightsFile value <empty>")
        assert any("heuristic-1 plays racingkings" in text for text in said(uci.ready()))
        assert not said(uci.ready())  # and only once
        uci.send("setoption name UCI_Variant value gardner")
        assert any("shipped net" in text and "auto: " in text for text in said(uci.ready()))


# -- searching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_played(engine: Uci, variant: str) -> None:
    engine.send(f"setoption name UCI_Variant value {variant}")
    position = Position(variant)
    for _ in range(6):
        lines = engine.ask(f"position fen {position.fen()}", "go nodes 300")
        check_lines(lines, position)
        assert int(field(infos(lines)[-1], "nodes")) == 300 or "mate" in infos(lines)[-1]
        position.play(best_move(lines))


def test_the_same_search_gives_the_same_answer(engine: Uci) -> None:
    def answer() -> tuple[str, str]:
        lines = engine.ask("ucinewgame", "position startpos moves e2e4 c7c5", "go nodes 5000")
        return re.sub(r" (nps|time) \d+", "", infos(lines)[-1]), lines[-1]

    assert answer() == answer()


def test_two_threads_share_a_tree(engine: Uci) -> None:
    lines = engine.ask("setoption name Threads value 2", "go nodes 5000")
    check_lines(lines, Position("chess"))
    assert int(field(infos(lines)[-1], "nodes")) == 5000


def test_isready_is_answered_in_mid_search_and_stop_ends_it(engine: Uci) -> None:
    engine.send("go infinite")
    engine.until("info depth")
    assert not any(line.startswith("bestmove") for line in engine.ask("isready", until="readyok"))
    check_lines([*engine.ask("stop")], Position("chess"))
    engine.send("stop", "stop")
    assert engine.is_silent(0.2)


@pytest.mark.parametrize(
    ("variant", "fen", "score"),
    [
        ("chess", "7k/5QQ1/6K1/8/8/8/8/8 b - - 0 1", "mate 0"),
        ("chess", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"),
        ("atomic", "rnbq3r/ppp1pppp/8/3p4/8/8/PPPPPPPP/RNBQKB1R b KQ - 0 3", "mate 0"),
        ("kingofthehill", "rnbq1bnr/pppp1ppp/8/4k3/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1", "mate 0"),
        ("antichess", "8/8/8/8/8/8/8/k7 w - - 0 1", "cp 12780"),  # a side without pieces has won
        ("3check", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 3+0 0 1", "mate 0"),
        ("gardner", "1r2k/5/5/2r2/K4 w - - 0 1", "cp 0"),
    ],
)
def test_a_finished_game_has_no_move(engine: Uci, variant: str, fen: str, score: str) -> None:
    position = Position(variant, fen)
    assert not position.legal_moves
    engine.send(f"setoption name UCI_Variant value {variant}", f"position fen {fen}")
    lines = engine.ask("go movetime 50")
    assert lines[-1] == "bestmove (none)"
    assert infos(lines) == [f"info depth 0 score {score}"]
    assert len([text for text in said(lines) if "over" in text]) == 1
    engine.send("go infinite")
    assert engine.is_silent(0.2)
    assert engine.ask("stop")[-1] == "bestmove (none)"


def test_infinite_waits_for_stop_also_when_everything_is_proven(engine: Uci) -> None:
    engine.send("setoption name UCI_Variant value atomic", f"position fen {ATOMIC_MATE_IN_ONE}", "go infinite")
    assert engine.is_silent(0.3)
    lines = engine.ask("stop")
    assert best_move(lines) in ("e5d7", "e5f7")
    assert "score mate 1" in infos(lines)[-1]


def test_go_mate(engine: Uci) -> None:
    engine.send("setoption name UCI_Variant value gardner", f"position fen {MATE_IN_TWO}")
    lines = engine.ask("go mate 2")
    assert "score mate 2" in infos(lines)[-1]
    assert best_move(lines) == "b4b5q"
    engine.send(f"position fen {MATE_IN_TWO} moves b4b5q")
    assert "score mate -1" in infos(engine.ask("go nodes 3000"))[-1]


def test_go_depth_nodes_and_movetime(engine: Uci) -> None:
    assert int(field(infos(engine.ask("go depth 3"))[-1], "depth")) >= 3
    assert field(infos(engine.ask("go nodes 777"))[-1], "nodes") == "777"
    assert int(field(infos(engine.ask("go movetime 100"))[-1], "time")) >= 80
    assert engine.ask("go movetime 0")[-1].startswith("bestmove")
    assert engine.ask("go nodes 1")[-1].startswith("bestmove")


def test_go_perft(engine: Uci) -> None:
    lines = engine.ask("setoption name UCI_Variant value atomic", "go perft 4", until="Nodes searched")
    counts = {line.split(": ")[0]: int(line.split(": ")[1]) for line in lines if re.match(r"[a-h]", line)}
    assert len(counts) == 20
    assert lines[-1] == "Nodes searched: 197326"
    assert sum(counts.values()) == 197326
    assert engine.ask("go perft 0", until="Nodes")[-1] == "Nodes searched: 1"
    engine.send("go perft 9")
    engine.send("stop")
    assert not any(line.startswith(("Nodes", "bestmove")) for line in engine.ready())


def test_searchmoves(engine: Uci) -> None:
    lines = engine.ask("setoption name MultiPV value 5", "go nodes 500 searchmoves a2a3 h2h3")
    assert best_move(lines) in ("a2a3", "h2h3")
    assert {pv(line)[0] for line in infos(lines)} == {"a2a3", "h2h3"}
    lines = engine.ask("go searchmoves b1c3 e2e5 nodes 100")
    assert best_move(lines) == "b1c3"
    assert any("e2e5" in text for text in said(lines))
    assert best_move(engine.ask("go nodes 300")) not in ("a2a3", "h2h3")  # and forgotten again


def test_multipv_and_wdl(engine: Uci) -> None:
    lines = infos(
        engine.ask("setoption name MultiPV value 4", "setoption name UCI_ShowWDL value true", "go nodes 2000")
    )
    last = lines[-4:]
    assert [field(line, "multipv") for line in last] == ["1", "2", "3", "4"]
    assert len({pv(line)[0] for line in last}) == 4
    for line in last:
        words = line.split()
        at = words.index("wdl")
        assert sum(int(word) for word in words[at + 1 : at + 4]) == 1000


def test_the_statistics_are_those_that_nibbler_reads(engine: Uci) -> None:
    lines = said(engine.ask("setoption name VerboseMoveStats value true", "go nodes 1000"))
    number = r"\s*-?\d+\.\d+"
    form = re.compile(
        rf"(\S+)\s+\(\s*\d+\s*\) N:\s+(\d+) \(\+\s*\d+\) \(P:{number}%\) \(WL:{number}\) \(D:{number}\) \(M:\s+\S+\) "
        rf"\(Q:{number}\) \(U:{number}\) \(S:{number}\) \(V:\s*-?[\d.-]+\)$"
    )
    found = [form.match(line) for line in lines]
    assert all(found)
    visits = {match[1]: int(match[2]) for match in found if match}
    assert list(visits)[-1] == "node"
    assert visits.pop("node") == 1000 == sum(visits.values())
    assert set(visits) == {str(move) for move in Position("chess").legal_moves}
    engine.send("setoption name VerboseMoveStats value false", "setoption name LogLiveStats value true", "go infinite")
    engine.until("info string node")
    engine.ask("stop")


def test_castling_is_written_as_the_mode_wants(engine: Uci) -> None:
    lines = engine.ask(f"position fen {CASTLING}", "go nodes 50 searchmoves e1g1")
    assert best_move(lines) == "e1g1"
    lines = engine.ask(
        "setoption name UCI_Chess960 value true", f"position fen {CASTLING}", "go nodes 9 searchmoves e1h1"
    )
    assert best_move(lines) == "e1h1"
    assert engine.ask(f"position fen {CASTLING} moves e1h1", "go nodes 9")[-1].startswith("bestmove")
    assert said(engine.ask("setoption name UCI_Variant value horde", "isready", until="readyok"))


def test_limited_strength_is_called_an_estimate(engine: Uci) -> None:
    engine.send("setoption name UCI_LimitStrength value true", "setoption name UCI_Elo value 900")
    assert any("estimate" in text for text in said(engine.ready()))
    lines = engine.ask("go movetime 1000")
    assert int(field(infos(lines)[-1], "nodes")) == strength_at(900).visits == 24
    engine.send("setoption name UCI_Elo value 100")
    assert "plays like about 600, by an estimate that no match has confirmed yet" in said(engine.ready())
    lines = engine.ask("setoption name UCI_AnalyseMode value true", "go nodes 500")
    assert int(field(infos(lines)[-1], "nodes")) == 500


@pytest.mark.parametrize(("contempt", "wants_the_draw"), [(-90, True), (90, False)])
def test_contempt_is_what_a_draw_costs(engine: Uci, contempt: int, wants_the_draw: bool) -> None:
    # Every king move is a draw by the fifty-move rule; pawn moves are not.
    engine.send(f"setoption name Contempt value {contempt}", "position fen 8/8/4k3/8/8/3K4/P7/8 w - - 99 80")
    assert best_move(engine.ask("go nodes 300")).startswith("d3") == wants_the_draw


@pytest.mark.parametrize("choice", ["visits", "lcb"])
def test_final_choice(engine: Uci, choice: str) -> None:
    check_lines(engine.ask(f"setoption name FinalChoice value {choice}", "go nodes 3000"), Position("chess"))


def test_hashfull_does_not_fall_while_the_nodes_grow(engine: Uci) -> None:
    engine.send("setoption name Hash value 1")
    lines = infos(engine.ask("go nodes 60000"))
    full = [int(field(line, "hashfull")) for line in lines]
    assert full == sorted(full)
    assert full[-1] == 1000  # it was pruned
    assert int(field(lines[-1], "nodes")) == 60000


def test_a_small_hash_holds_a_long_search(engine: Uci) -> None:
    lines = engine.ask("setoption name Hash value 1", "go nodes 30000")
    assert field(infos(lines)[-1], "nodes") == "30000"
    assert all(int(field(line, "hashfull")) <= 1000 for line in infos(lines))
    check_lines(lines, Position("chess"))


def test_a_settled_policy_ends_a_search_on_a_clock(engine: Uci) -> None:
    clock = "go wtime 600000 btime 600000"
    lines = engine.ask("setoption name MinimumKLDGainPerNode value 0.1", clock)
    assert int(field(infos(lines)[-1], "time")) < 10_000


# -- from move to move ------------------------------------------------------------------------------------------------


def test_the_tree_is_kept_from_move_to_move(engine: Uci) -> None:
    engine.send("debug on")
    lines = engine.ask("go nodes 3000")
    assert any(text.startswith("no tree") for text in said(lines))
    best, reply = lines[-1].split()[1::2]
    lines = engine.ask(f"position startpos moves {best} {reply}", "go nodes 10")
    assert any(text.startswith("kept tree") for text in said(lines))
    # The same position by its FEN alone.
    position = Position("chess")
    position.play(best)
    position.play(reply)
    assert any(
        text.startswith("kept tree") for text in said(engine.ask(f"position fen {position.fen()}", "go nodes 1"))
    )
    lines = engine.ask("ucinewgame", f"position startpos moves {best} {reply}", "go nodes 10")
    assert any(text.startswith("no tree") for text in said(lines))


CLOCK = "wtime 60000 btime 60000 winc 1000 binc 1000"


@pytest.mark.parametrize("hit", [True, False])
def test_pondering_keeps_the_tree_on_hit_and_miss(engine: Uci, hit: bool) -> None:
    engine.send("debug on", "setoption name Ponder value true")
    best, reply = engine.ask("go nodes 3000")[-1].split()[1::2]
    engine.send(f"position startpos moves {best} {reply}", f"go ponder {CLOCK}")
    assert engine.is_silent(0.3)
    position = Position("chess")
    position.play(best)
    other = next(move for move in map(position.uci, position.legal_moves) if move != reply)
    position.play(reply)
    if hit:
        lines = engine.ask("ponderhit")
        check_lines(lines, position)
    else:
        lines = engine.ask("stop")
        assert best_move(lines) in {position.uci(move) for move in position.legal_moves}
        position.undo()
        position.play(other)
        lines = engine.ask(f"position startpos moves {best} {other}", f"go {CLOCK}")
        check_lines(lines, position)
        assert any(text.startswith("kept tree") for text in said(lines))
    for line in infos(engine.heard):
        if "multipv" in line:
            assert pv(line)


def test_pondering_on_the_first_move(engine: Uci) -> None:
    engine.send(f"go ponder {CLOCK}")  # nothing was expected: the position itself is pondered
    assert engine.is_silent(0.2)
    check_lines(engine.ask("ponderhit"), Position("chess"))
    engine.send("ponderhit")
    assert said(engine.ready())


def test_pondering_waits_also_when_the_game_is_decided(engine: Uci) -> None:
    engine.send("setoption name UCI_Variant value atomic")
    # The expected move gives the king away; then it loses the king.
    before = "rnbqkbnr/pppppppp/8/4N3/8/8/PPPPPPPP/RNBQKB1R b KQkq - 0 2"
    engine.send(f"position fen {before} moves d7d5", f"go ponder {CLOCK}")
    assert engine.is_silent(0.3)
    assert best_move(engine.ask("ponderhit")) in ("e5d7", "e5f7")
    mate = "rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3"
    engine.send(f"position fen {mate} moves e5f7", f"go ponder {CLOCK}")
    assert engine.is_silent(0.2)
    assert engine.ask("ponderhit")[-1] == "bestmove (none)"


def test_pondering_with_several_threads_ends_by_stop_where_the_only_move_wins(engine: Uci) -> None:
    """The position before the expected move has one move, which wins: no playout reaches a leaf."""
    engine.send("setoption name UCI_Variant value antichess", "setoption name Threads value 2")
    engine.send("position fen 8/5R2/8/5p2/8/P7/3NK1N1/5B2 b - - 0 25 moves f5f4", f"go ponder {CLOCK}")
    assert engine.is_silent(0.2)
    assert best_move(engine.ask("stop")) == "g2f4"


def test_a_clock_is_kept(engine: Uci) -> None:
    for clock in ("wtime 300 btime 300", "wtime 100 winc 100", "wtime 1000 movestogo 1", "wtime 0 btime 0", "btime 90"):
        lines = engine.ask(f"go {clock}")
        check_lines(lines, Position("chess"))
        assert int(field(infos(lines)[-1], "time")) < 10_000  # how well it is kept is measured, not tested here


def test_an_only_move_is_played_at_once(engine: Uci) -> None:
    engine.send("position fen 7k/8/6KQ/8/8/8/8/8 b - - 0 1")
    assert len(Position("chess", "7k/8/6KQ/8/8/8/8/8 b - - 0 1").legal_moves) == 1
    lines = engine.ask("go wtime 3600000 btime 3600000")
    assert int(field(infos(lines)[-1], "time")) < 5000


# -- at any time ------------------------------------------------------------------------------------------------------


def test_go_twice_gives_two_answers(engine: Uci) -> None:
    engine.send("go infinite", "go nodes 100", "go infinite", "position startpos moves e2e4", "go nodes 10")
    for _ in range(4):
        engine.until("bestmove")
    assert engine.is_silent(0.2)
    after = Position("chess")
    after.play("e2e4")
    answers = [line.split()[1] for line in engine.heard if line.startswith("bestmove")]
    assert answers[3] in {after.uci(move) for move in after.legal_moves}


def test_options_in_mid_search_hold_from_the_next(engine: Uci) -> None:
    engine.send("go infinite", "setoption name MultiPV value 3", "setoption name UCI_Variant value atomic")
    texts = said(engine.ready())
    assert len([text for text in texts if "next search" in text]) == 2
    engine.ask("stop")
    lines = engine.ask("position startpos", "go nodes 500")
    assert {field(line, "multipv") for line in infos(lines)} == {"1", "2", "3"}


def test_newgame_in_mid_search_ends_it(engine: Uci) -> None:
    engine.send("go infinite")
    assert engine.ask("ucinewgame")[-1].startswith("bestmove")


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("position startpos moves e2e4 e7e4", "e7e4"),
        ("position startpos moves e2e4 hello", "hello"),
        ("position fen 8/8/8/8/8/8/8/8 w - - 0 1", "empty"),
        ("position fen hello", "stays as it was"),
        ("position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 moves e2e5", "e2e5"),
        ("position", "position startpos|fen"),
        ("position nonsense", "position startpos|fen"),
        ("position fen 4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "stays as it was"),
        ("setoption name Hash value -5", "1 to 1048576"),
        ("setoption name Hash value 99999999999999999999", "1 to 1048576"),
        ("setoption name Hash value", "1 to 1048576"),
        ("setoption name Threads value two", "'two'"),
        ("setoption name UCI_Variant value shogi", "atomic"),
        ("setoption name Ponder value maybe", "true or false"),
        ("setoption name Hsah value 16", "did you mean Hash?"),
        ("setoption name Backend value abacus", "onnx"),
        ("setoption name MinimumKLDGainPerNode value inf", "number"),
        ("setoption Hash 16", "setoption name NAME"),
        ("setoption", "setoption name NAME"),
        ("frobnicate the board", "'frobnicate'"),
        ("debug perhaps", "debug on|off"),
        ("ponderhit", "nothing"),
        ("register later", "registration"),
        ("\0\0\0", "unknown command"),
        ("go\0 infinite", "unknown command"),
    ],
)
def test_bad_input_is_one_line_and_the_engine_goes_on(engine: Uci, command: str, part: str) -> None:
    engine.send(command)
    texts = said(engine.ready())
    assert len(texts) == 1
    assert part in texts[0]
    assert len(texts[0]) < 300
    check_lines(engine.ask("go nodes 50"), Position("chess"))


@pytest.mark.parametrize(
    ("go", "part"),
    [
        ("go nodes many", "'many'"),
        ("go sideways", "'sideways'"),
        ("go movetime", "whole number"),
        ("go wtime 1e9", "1e9"),
    ],
)
def test_a_bad_limit_is_said_and_left_out(engine: Uci, go: str, part: str) -> None:
    lines = engine.ask(f"{go} depth 1")
    assert any(part in text for text in said(lines))
    check_lines(lines, Position("chess"))


@pytest.mark.parametrize("bad", ["depth x", "nodes 1e9", "wtime", "perft many", "dept 5", "searchmoves e2e5", "winc ?"])
def test_a_bad_limit_alone_is_answered_at_once(engine: Uci, bad: str) -> None:
    lines = engine.ask(f"go {bad}")  # no `stop` is sent
    assert len(said(lines)) == 1
    assert "at once" in said(lines)[0]
    check_lines(lines, Position("chess"))
    lines = engine.ask(f"go {bad} wtime 300 btime 300")
    assert len(said(lines)) == 1
    assert "at once" not in said(lines)[0]
    # `go infinite` and `go ponder` are not answered before `stop` or `ponderhit`.
    for kind, word in (("infinite", "stop"), ("ponder", "ponderhit")):
        engine.send(f"go {kind} {bad}")
        assert engine.is_silent(0.1)
        check_lines(engine.ask(word), Position("chess"))
    assert engine.is_silent(0.1)


@pytest.mark.parametrize(
    ("bad", "right"),
    [
        ("nodes -5", "nodes is 1 or more, not -5"),
        ("nodes 0", "nodes is 1 or more, not 0"),
        ("depth -1", "depth is 1 or more, not -1"),
        ("depth 0", "depth is 1 or more"),
        ("mate -2", "mate is 1 or more"),
        ("movetime -100", "movetime is 0 or more, not -100"),
        ("perft -1", "perft is 0 or more"),
        ("perft 101", "perft is 100 or less, not 101"),
        (f"nodes -{'9' * 40}", "nodes is 1 or more, not -999"),
        ("movestogo -3", "movestogo is 1 or more, not -3"),
        ("movestogo 0", "movestogo is 1 or more, not 0"),
        ("winc -3 binc 0", "winc is 0 or more, not -3"),
    ],
)
def test_a_limit_that_cannot_be_is_no_limit(engine: Uci, bad: str, right: str) -> None:
    lines = engine.ask(f"go {bad}")  # no `stop` is sent
    assert len(said(lines)) == 1
    assert right in said(lines)[0]
    assert "at once" in said(lines)[0]
    check_lines(lines, Position("chess"))
    lines = engine.ask(f"go {bad} nodes 77" if "nodes" not in bad else f"go {bad} depth 2")
    assert right in said(lines)[0]
    check_lines(lines, Position("chess"))
    if "nodes" not in bad:
        assert field(infos(lines)[-1], "nodes") == "77"  # what else was asked for counts
    assert not any(line.startswith("bestmove") for line in engine.ready())


@pytest.mark.parametrize(
    "clocks", ["wtime -250 btime 5000", "wtime 0 btime 0", "wtime -1 btime -1 winc 0 binc 0 movestogo 1"]
)
def test_a_clock_that_is_overstepped_is_nearly_no_time(engine: Uci, clocks: str) -> None:
    lines = engine.ask(f"go {clocks}")
    assert not said(lines)  # programs do send it
    check_lines(lines, Position("chess"))
    assert int(field(infos(lines)[-1], "nodes")) < 100_000
    assert not any(line.startswith("bestmove") for line in engine.ready())


def test_a_number_beyond_all_measure_is_a_large_one(engine: Uci) -> None:
    lines = engine.ask(f"go nodes {'9' * 5000} depth 2")
    assert not said(lines)
    check_lines(lines, Position("chess"))


def test_castling_rights_that_cannot_be_are_dropped(engine: Uci) -> None:
    engine.send("position fen 4k3/8/8/8/8/8/8/4K3 w KQkq - 0 1")
    assert any("dropped" in text for text in said(engine.ready()))
    check_lines(engine.ask("go nodes 50"), Position("chess", "4k3/8/8/8/8/8/8/4K3 w - - 0 1"))


@pytest.mark.parametrize("weights", ["/no/such/net", "random", "two  words", __file__, "x" * 5000, "uniform"])
def test_wrong_weights_are_said_and_the_engine_goes_on(engine: Uci, weights: str) -> None:
    engine.send(f"setoption name WeightsFile value {weights}")
    texts = said(engine.ready())
    assert len(texts) == 1
    assert ("instead" in texts[0]) == (weights != "uniform")
    check_lines(engine.ask("go nodes 50"), Position("chess"))


@pytest.mark.parametrize(
    ("commands", "part"),
    [
        (("setoption name WeightsFile value /no/such/net", "isready"), "'/no/such/net': no such file or folder"),
        (("setoption name WeightsFile value /no/such/net", "go nodes 10"), "'/no/such/net': no such file or folder"),
        (("setoption name WeightsFile value gardner-laptop", "go nodes 1"), "gardner-laptop plays gardner, not chess"),
        (("setoption name WeightsFile value random", "isready"), "random does not search"),
        (("setoption name Backend value onnx", "setoption name WeightsFile value {empty}", "isready"), "{empty}"),
    ],
)
@pytest.mark.parametrize("way", ["option", "command line"])
def test_in_strict_mode_wrong_weights_end_the_engine(
    tmp_path: Path, way: str, commands: tuple[str, ...], part: str
) -> None:
    (tmp_path / "net.json").write_text("{}")
    strict = ("--strict",) if way == "command line" else ()
    with Uci(command=("-m", "selfmate", "uci", *strict)) as uci:
        if not strict:
            uci.send("setoption name StrictWeights value true")
        uci.send(*(command.format(empty=tmp_path) for command in commands))
        assert uci.process.wait(60) == 2
        lines = uci.until("info string StrictWeights: ")
        with pytest.raises(EOFError):
            uci.read()
        assert all(line.startswith("info string ") for line in lines)
        assert lines[-1].endswith("; the engine ends")
        expected = part.format(empty=tmp_path)
        assert expected in lines[-1]
    told = b"".join(uci.errors).decode()
    assert told.startswith("selfmate: StrictWeights: ")
    assert told.count("\n") == 1
    assert expected in told


def test_in_strict_mode_a_net_may_wait_for_its_variant() -> None:
    """lichess-bot sends `isready` before it knows which variant will be played."""
    with Uci(command=("-m", "selfmate", "uci", "--strict")) as uci:
        uci.send("setoption name WeightsFile value gardner-laptop")
        assert said(uci.ready()) == ["StrictWeights: gardner-laptop plays gardner, not chess"]
        uci.send("setoption name UCI_Variant value gardner", "position startpos")
        assert uci.ask("go nodes 20")[-1].startswith("bestmove ")
        assert uci.quit() == 0


def test_strict_mode_plays_with_weights_that_are_right() -> None:
    with Uci(command=("-m", "selfmate", "uci", "--strict")) as uci:
        assert "option name StrictWeights type check default true" in uci.ask("uci", until="uciok")
        for variant, weights in (("gardner", "<empty>"), ("racingkings", "<empty>"), ("chess", "heuristic-1")):
            uci.send(f"setoption name UCI_Variant value {variant}", f"setoption name WeightsFile value {weights}")
            assert uci.ask("position startpos", "go nodes 20")[-1].startswith("bestmove ")
        uci.send("setoption name StrictWeights value false", "setoption name WeightsFile value /no/such/net")
        assert any("heuristic-1 plays instead" in text for text in said(uci.ready()))
        assert uci.quit() == 0


def test_a_line_beyond_all_measure_is_dropped(engine: Uci) -> None:
    engine.send_bytes(b"position startpos moves " + b"e2e4 " * 300_000 + b"\n")
    engine.send_bytes(b"x" * (6 << 20) + b"\n")
    texts = said(engine.ready())
    assert len(texts) == 2
    assert "bytes" in texts[1]
    check_lines(engine.ask("go nodes 50"), Position("chess"))


# -- leaving ----------------------------------------------------------------------------------------------------------


def test_the_end_of_the_input_ends_a_search_with_its_move() -> None:
    with Uci() as uci:
        uci.ready()
        uci.send("go infinite")
        uci.until("info depth")
        assert uci.process.stdin is not None
        uci.process.stdin.close()
        assert uci.until("bestmove")
        assert uci.process.wait(60) == 0
        assert not uci.errors


@pytest.mark.parametrize("last", ["quit", "stop"])
def test_a_search_that_is_ended_at_once_still_has_the_move_of_the_net(last: str) -> None:
    with Uci() as uci:
        uci.send("setoption name UCI_Variant value gardner", "position startpos", "go infinite", last)
        lines = uci.until("bestmove")
        assert any("the shipped net gardner-laptop" in text for text in said(lines))
        assert not any("heuristic-1" in text for text in said(lines))
        assert infos(lines)


def test_quit_needs_no_search() -> None:
    with Uci() as uci:
        uci.ask("uci", until="uciok")
        assert uci.quit() == 0


@pytest.mark.parametrize(("weights", "code"), [("heuristic-1", 0), ("/nowhere", 2)])
def test_isready_is_answered_before_quit(weights: str, code: int) -> None:
    with Uci(command=("-m", "selfmate", "uci", "--strict")) as uci:
        uci.send(f"setoption name WeightsFile value {weights}", "isready", "quit")
        lines = uci.until("info string StrictWeights: " if code else "readyok")
        assert uci.process.wait(60) == code
    assert ("readyok" in lines) == (code == 0)


def test_in_strict_mode_quit_after_go_does_not_hide_the_exit_code() -> None:
    with Uci(command=("-m", "selfmate", "uci", "--strict")) as uci:
        uci.send("setoption name WeightsFile value gardner-laptop", "isready", "go nodes 1", "quit")
        assert uci.process.wait(60) == 2


SELFMATE_UCI = "import sys; sys.argv[0] = 'selfmate-uci'; from selfmate.__main__ import uci; uci()"


def test_selfmate_uci_needs_no_argument() -> None:
    with Uci(command=("-c", SELFMATE_UCI)) as uci:
        assert uci.ask("uci", until="uciok")[-1] == "uciok"


def test_selfmate_uci_has_the_options_of_selfmate_uci_and_refuses_others() -> None:
    with Uci(command=("-c", SELFMATE_UCI, "--strict")) as uci:
        assert "option name StrictWeights type check default true" in uci.ask("uci", until="uciok")
    for wrong in ("--strickt", "atomic-gpu"):
        with Uci(command=("-c", SELFMATE_UCI, wrong)) as uci:
            assert uci.process.wait(60) == 2


def test_texts_are_shortened_with_dots_that_ascii_has(engine: Uci) -> None:
    engine.send("position", "x" * 100)
    written, unknown = said(engine.ready())
    assert written.endswith("[moves MOVE ...]")
    assert unknown.endswith("...': ignored")


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a tiny Gardner net as an ONNX file."""
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    from selfmate.nn.checkpoint import save
    from selfmate.nn.config import GARDNER, NetConfig
    from selfmate.nn.net import Net
    from selfmate.nn.onnx import export_onnx

    folder = tmp_path_factory.mktemp("net")
    net = Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8), seed=1)
    export_onnx(net, folder / "net.onnx", save(net, folder / "saved"))
    return folder / "net.onnx"


def test_a_backend_that_is_not_there_costs_no_net(engine: Uci) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    if torch.cuda.is_available():
        pytest.skip("torch sees a GPU: tests/evaluator/test_cuda.py")
    engine.send("setoption name WeightsFile value <empty>", "setoption name UCI_Variant value gardner")
    engine.send("setoption name Backend value cuda")
    texts = said(engine.ready())
    assert len(texts) == 2
    assert texts[0] == "PyTorch finds no GPU; use the device cpu; Backend auto instead"
    assert "shipped net" in texts[1]
    check_lines(engine.ask("go nodes 200"), Position("gardner"))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_net_plays(engine: Uci, net: Path, threads: int) -> None:
    engine.send(f"setoption name WeightsFile value {net}", "setoption name UCI_Variant value gardner")
    engine.send(f"setoption name Threads value {threads}")
    position = Position("gardner")
    answers: set[str] = set()
    for _ in range(2):
        engine.send("ucinewgame", "position startpos")
        assert "net plays gardner" in "".join(said(engine.ready())) or answers
        lines = engine.ask("go nodes 500")
        check_lines(lines, position)
        assert field(infos(lines)[-1], "nodes") == "500"
        answers.add(re.sub(r" (nps|time) \d+", "", infos(lines)[-1]))
    assert len(answers) == 1 or threads > 1
    engine.send("go infinite")
    engine.until("info depth")
    check_lines(engine.ask("stop"), position)
    engine.send("setoption name UCI_Variant value chess")
    assert any("plays gardner, not chess" in text for text in said(engine.ready()))
