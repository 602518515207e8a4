"""The command line: what it prints, and one line on standard error with exit code 2 for every bad input."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import Answer, Run
from selfmate import VARIANTS
from selfmate.cli.bench import bench_app
from selfmate.cli.lab import lab_app
from selfmate.cli.main import app
from selfmate.cli.recipe import recipe_app

PERFT = Path(__file__).parents[1] / "perft"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


# -- perft ------------------------------------------------------------------------------------------------------------


def test_perft(run: Run) -> None:
    assert run("perft", "atomic", "4") == Answer(0, "Nodes searched: 197326\n", "")


@pytest.mark.parametrize("variant", [*VARIANTS, "chess960", "atomic960"])
def test_perft_knows_every_variant(run: Run, variant: str) -> None:
    answer = run("perft", variant, "0")
    assert (answer.code, answer.out) == (0, "Nodes searched: 1\n")


def test_perft_divide(run: Run) -> None:
    answer = run("perft", "chess", "2", "--divide", "--threads", "2")
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0] == "a2a3: 20"
    assert lines[-1] == "Nodes searched: 400"
    assert "e2e4: 20" in lines
    assert len(lines) == 20 + 2


def test_perft_fen(run: Run) -> None:
    answer = run("perft", "chess", "3", "--fen", "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1")
    assert answer.out == "Nodes searched: 97862\n"
    answer = run("perft", "chess960", "3", "--fen", "1r3k1r/8/8/8/8/8/8/RK4R1 w GAhb - 0 1")
    assert answer.out == "Nodes searched: 1473\n"


def test_perft_of_a_finished_game_is_zero(run: Run) -> None:
    answer = run("perft", "chess", "3", "--divide", "--fen", "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")
    assert (answer.code, answer.out.strip()) == (0, "Nodes searched: 0")


@pytest.mark.parametrize("path", sorted(PERFT.glob("*.epd")), ids=lambda path: path.stem)
def test_perft_suite(run: Run, path: Path) -> None:
    answer = run("perft", path.stem, "--suite", str(path), "--max-nodes", "100000")
    positions = len(path.read_text(encoding="ascii").splitlines())
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[-1].startswith(f"{positions} positions, ")
    assert answer.out.splitlines()[-1].endswith(" nodes, 0 wrong")


def test_perft_suite_shows_the_first_wrong_line_and_its_divide(run: Run, tmp_path: Path) -> None:
    suite = tmp_path / "wrong.epd"
    suite.write_text(f"{START} ;D1 20 ;D2 400\n{START} ;D1 20 ;D2 401 ;D3 8903\n{START} ;D1 21\n", encoding="ascii")
    answer = run("perft", "chess", "--suite", str(suite))
    lines = answer.out.splitlines()
    assert answer.code == 1
    assert lines[0] == f"{suite}:2: {START} ;D1 20 ;D2 401 ;D3 8903"
    assert lines[1] == "depth 2: expected 401, counted 400"
    assert lines[2] == "a2a3: 20"
    assert len(lines) == 2 + 20 + 1
    assert lines[-1] == "3 positions, 820 nodes, 2 wrong"


def test_perft_suite_says_what_it_leaves_out(run: Run, tmp_path: Path) -> None:
    suite = tmp_path / "deep.epd"
    suite.write_text(f"{START} ;D1 20\n{START} ;D2 400\n", encoding="ascii")
    answer = run("perft", "chess", "--suite", str(suite), "--max-nodes", "100")
    assert (answer.code, answer.out) == (0, "1 position, 20 nodes, 0 wrong\n")
    assert answer.err == "selfmate: 1 position lists no depth within the budget\n"


# -- bad input --------------------------------------------------------------------------------------------------------


def test_bench_prints_what_openbench_reads(run: Run) -> None:
    answers = [run("bench") for _ in range(2)]
    found = [re.fullmatch(r"(\d+) nodes (\d+) nps\n", answer.out) for answer in answers]
    assert found[0]
    assert found[1]
    assert found[0][1] == found[1][1]  # the nodes never change
    assert int(found[0][2]) > 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("perft", "atomik", "3"), "did you mean 'atomic'?"),
        (("perft", "", "3"), "''"),
        (("perft", "chess"), "DEPTH"),
        (("perft", "chess", "--", "-1"), "DEPTH"),
        (("perft", "chess", "101"), "DEPTH"),
        (("perft", "chess", "three"), "DEPTH"),
        (("perft", "chess", "99999999999999999999"), "DEPTH"),
        (("perft", "chess", "3", "--fen", "what"), "FEN"),
        (("perft", "chess", "3", "--fen", ""), "FEN"),
        (("perft", "chess", "3", "--fen", "8/8/8/8/8/8/8/K7 w - - 0 1"), "no king"),
        (("perft", "chess", "3", "--fen", "x" * 100_000), "FEN"),
        (("perft", "gardner", "3", "--fen", START), "rank"),
        (("perft", "chess", "3", "--threads", "0"), "threads"),
        (("perft", "chess", "3", "--max-nodes", "10"), "--suite"),
        (("perft", "chess", "--suite", "/no/such/file.epd"), "/no/such/file.epd"),
        (("perft", "chess", "--suite", "/"), "not a file"),
        (("perft", "chess", "--suite", os.devnull), "not a file"),
        (("perft", "chess", "3", "--suite", "x.epd"), "--suite"),
        (("perft", "chess", "3", "4"), "4"),
        (("perft", "chess", "3", "--nonsense"), "--nonsense"),
        (("bench", "everything"), "everything"),
        (("bench", "movegen", "--repeats", "0"), "repeats"),
        (("train", "gardner-laptop", "--set", "selfplay.visits=abc"), "a whole number from 1 to 100,000 or a schedule"),
        (("train", "gardner-laptop", "--set", "selfplay.visits=abc"), "'abc'"),
        (("demo", "xiangqi"), "xiangqi"),
        (("demo", "atomic", "--seed", "-1"), "seed"),
        (("demo", "atomic", "--seed", "9" * 30), "is not a whole number from 0 to 2^63"),
        (("demo", "atomic", "--delay", "nan"), "delay"),
        (("nonsense",), "nonsense"),
        (("--nonsense",), "--nonsense"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_exit_code_2(run: Run, arguments: tuple[str, ...], part: str) -> None:
    answer = run(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("selfmate: ")
    assert answer.err.count("\n") == 1
    assert len(answer.err) < 400
    assert part in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("perft", "chess", "101"), "DEPTH: expected a whole number from 0 to 100, not '101'"),
        (("train", "gardner", "--minutes", "nan"), "--minutes: expected a number from 0.01 to 1,000,000, not 'nan'"),
        (("arena", "a", "b", "--games", "1e5"), "--games: expected a whole number from 2 to 1,000,000, not '1e5'"),
        (("rate", "x", "--min-games", "0"), "--min-games: expected a whole number of at least 1, not '0'"),
        (("play", "--seed", "x"), "--seed: 'x' is not a whole number from 0 to 2^63"),
    ],
)
def test_numbers_are_refused_with_their_range(run: Run, arguments: tuple[str, ...], message: str) -> None:
    assert run(*arguments) == Answer(2, "", f"selfmate: {message}\n")


def test_a_terminal_without_the_characters_of_a_board_is_no_traceback() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(selfmate("demo", "chess", "--seed", "3"), capture_output=True, env=environment, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.splitlines()[-1] == b"Repeat it: selfmate demo chess --seed 3"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "no position"),
        ("# only a remark\n", "no position"),
        (f"{START}\n", "line 1"),
        (f"{START} ;D1 20\n{START} ;D1 twenty\n", "line 2"),
        (f"{START} ;D1 20\nnonsense ;D1 20\n", "line 2"),
        (f"{START} ;D1 {'9' * 40}\n", "line 1"),
        ("x" * 1_000_000, "line 1"),
        ("8/8/8/8/8/8/8/8 w - - 0 1 ;D1 0\n", "line 1"),
    ],
)
def test_bad_suites(run: Run, tmp_path: Path, text: str, part: str) -> None:
    suite = tmp_path / "bad.epd"
    suite.write_text(text, encoding="ascii")
    answer = run("perft", "chess", "--suite", str(suite))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert part in answer.err
    assert str(suite) in answer.err


# -- bench, demo, help ------------------------------------------------------------------------------------------------


def test_bench_signature(run: Run) -> None:
    committed = (Path(__file__).parents[2] / "bench" / "signature.txt").read_text(encoding="ascii")
    assert run("bench", "--signature") == Answer(0, committed, "")


@pytest.mark.parametrize("variant", ["atomic", "gardner", "chess960", "antichess"])
def test_demo_is_a_game_with_an_end(run: Run, variant: str) -> None:
    answer = run("demo", variant, "--seed", "7")
    assert (answer.code, answer.err) == (0, "")
    assert f"{variant}, game 7" in answer.out
    assert any(answer.out.splitlines()[-2].startswith(words) for words in ("White wins: ", "Black wins: ", "Draw: "))
    assert answer.out.splitlines()[-1] == f"Repeat it: selfmate demo {variant} --seed 7"
    assert run("demo", variant, "--seed", "7") == answer


def test_train_says_its_exit_codes(run: Run) -> None:
    text = " ".join(run("train", "--help").out.split())
    assert "exits with code 130 or 143" in text


def commands() -> list[tuple[str, ...]]:
    """List every command there is."""
    groups = {(): app, ("bench",): bench_app, ("recipe",): recipe_app, ("lab",): lab_app}
    found = list(groups)
    for prefix, group in groups.items():
        found += [
            (*prefix, each.name or (each.callback and each.callback.__name__) or "")
            for each in group.registered_commands
        ]
    return found


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_help_has_an_example(run: Run, command: tuple[str, ...]) -> None:
    answer = run(*command, "--help")
    assert answer.code == 0
    assert "Usage: selfmate" in answer.out
    assert "Example: selfmate " in answer.out
    assert "so many" not in " ".join(answer.out.replace("│", " ").split())  # "this many": the number that is given


def test_paragraphs_of_help_are_filled_by_the_terminal() -> None:
    for each in (*app.registered_commands, *bench_app.registered_commands):
        assert each.help
        assert not any("\n" in paragraph for paragraph in each.help.split("\n\n"))


# -- as a process -----------------------------------------------------------------------------------------------------


def selfmate(*arguments: str) -> list[str]:
    """The command as another program would start it."""
    return [sys.executable, "-c", "from selfmate.cli.main import main; main()", *arguments]


def test_control_c_ends_a_long_count_at_once() -> None:
    process = subprocess.Popen(
        selfmate("perft", "chess", "12"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        time.sleep(3)  # a slow machine has started counting by then
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # the count itself would take months
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, "", "selfmate: interrupted\n")


def test_control_c_in_the_last_steps_of_the_interpreter_is_no_traceback() -> None:
    """As an impatient second or third Ctrl-C, after everything is saved."""
    code = "import atexit, time; from selfmate.__main__ import main; atexit.register(time.sleep, 60); main()"
    with subprocess.Popen(
        [sys.executable, "-u", "-c", code, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(1)  # what follows the line takes milliseconds
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (-signal.SIGINT, "")


def test_closed_pipe_is_no_traceback() -> None:
    process = subprocess.Popen(
        selfmate("perft", "chess", "4", "--divide"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=20)
    assert "Traceback" not in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device that is always full")
def test_a_full_disk_behind_standard_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            selfmate("perft", "chess", "1"), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (done.returncode, done.stderr) == (2, "selfmate: No space left on device\n")


def test_a_line_break_in_the_name_of_a_file_is_one_line(run: Run) -> None:
    answer = run("analyse", "a\nb.pgn")
    assert (answer.code, answer.err) == (2, "selfmate: a\\nb.pgn: neither a file nor a FEN\n")


def test_a_needed_package_that_is_missing_is_named_by_every_command() -> None:
    program = "import sys; sys.modules['starlette'] = None; from selfmate.cli.main import main; main()"
    command = [sys.executable, "-c", program, "studio", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "selfmate: starlette is not installed; run: pip install starlette\n")
