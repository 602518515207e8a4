"""Random lines, incomplete commands and bad timing for the UCI engine: it must not crash, hang or answer wrongly.

    python tests/soak/uci_fuzz.py --lines 100000 --seed 1

Every `go` must get exactly one `bestmove`, in order, that is legal in the position of that `go`; a `position` with an
error in it must change nothing. With --stage, the engine runs from a folder with another build of the core (see
`make soakuci`).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from selfmate import VARIANTS, Position, SelfmateError
from selfmate.uci.options import OPTIONS, Settings, set_option

PATIENCE = 120.0
GARBAGE = [
    "",
    " ",
    "\t",
    "uci uci",
    "joho",
    "UCI",
    "stop stop",
    "quit now?".replace("quit", "quiet"),
    "info depth 3",
    "bestmove e2e4",
    "setoption",
    "setoption name",
    "setoption name Hash",
    "setoption name Hash value",
    "setoption value 3 name Hash",
    "setoption name name value value",
    "position",
    "position startpos moves",
    "position startpos moves e2e5",
    "position startpos moves e2e4 e7e5 e1e3",
    "position startpos e2e4",
    "position fen",
    "position fen moves e2e4",
    "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
    "position fen k7/8/8/8/8/8/8/8 w - - 0 1",
    "position fen kkkkkkkk/8/8/8/8/8/8/KKKKKKKK w - - 0 1",
    "position fen 4k3/8/8/8/8/8/4R3/4K3 w - - 0 1",
    "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 99999999999999999999",
    "position fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - -1 -1",
    "position fen " + "8/" * 1000,
    "position startpos moves " + "e2e4 " * 3000,
    "ponderhit",
    "debug",
    "debug on",
    "debug off",
    "register later",
    "perft 3",
    "d",
    "eval",
    "é ü 棋 ♞",
]
BAD_LIMITS = ["nodes", "wtime x", "sideways", "movetime -5 nodes 3", "nodes 1e9", "perft x", "infinite depth x", "winc"]
POSITIONS = {
    "chess": [
        "7k/5QQ1/6K1/8/8/8/8/8 b - - 0 1",
        "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
        "8/8/4k3/8/8/3K4/3P4/8 w - - 149 180",
        "8/8/4k3/8/8/3K4/8/8 w - - 0 1",
        "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
        "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1",
    ],
    "atomic": ["rnbqkbnr/ppp1pppp/8/3pN3/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3", "8/8/8/8/8/8/4k3/4K3 w - - 0 1"],
    "gardner": ["5/1P3/2KN1/5/k4 w - - 1 29", "4k/2r1P/p2QB/PpP2/4K w - - 0 16"],
    "antichess": ["8/PPP4k/8/8/8/8/4Kppp/8 w - - 0 1", "8/8/8/8/8/8/8/k7 w - - 0 1"],
}
OPTION_VALUES = {
    "Hash": ["1", "2", "16", "0", "-1", "1e3", "99999999999", ""],
    "Threads": ["1", "2", "3", "0", "5000", "x"],
    "MultiPV": ["1", "2", "500", "501"],
    "Move Overhead": ["0", "1", "30", "-3"],
    "UCI_Elo": ["0", "3500", "600", "-1"],
    "UCI_LimitStrength": ["true", "false", "false"],
    "UCI_Chess960": ["true", "false", "false", "yes"],
    "UCI_ShowWDL": ["true", "false"],
    "UCI_AnalyseMode": ["true", "false"],
    "VerboseMoveStats": ["true", "false", "false"],
    "LogLiveStats": ["false"],
    "Ponder": ["true", "false"],
    "Contempt": ["-100", "0", "100", "101"],
    "FinalChoice": ["visits", "lcb", "dice"],
    "MinimumKLDGainPerNode": ["0", "0.5", "nan", "-1", "x" * 100],
    "WeightsFile": ["<empty>", "heuristic-1", "uniform", "fake", "random", "/no/such/file", "\0", "x" * 300],
    "Backend": ["auto", "onnx", "abacus"],
    "UCI_Variant": [*VARIANTS, "shogi"],
    "Clear Hash": [""],
    "Nonsense": ["1"],
}


class Script:
    """Makes lines, and keeps what the engine must answer."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.settings = Settings()
        self.position = Position("chess")
        self.expected: list[frozenset[str]] = []
        """For each `go`: the legal moves."""

    def line(self) -> bytes:
        """Return the next line, without its end."""
        kind = self.dice.random()
        if kind < 0.25:
            return self._garbage()
        if kind < 0.5:
            return self._position()
        if kind < 0.65:
            return self._option()
        if kind < 0.85:
            return self._go()
        return self.dice.choice([b"stop", b"isready", b"ponderhit", b"ucinewgame", b"uci", b"stop", b"isready"])

    def _garbage(self) -> bytes:
        kind = self.dice.random()
        if kind < 0.002:
            return self.dice.choice([b"x", b"go", b"position startpos moves e2e4 ", b"\0"]) * (1 << 18)
        if kind < 0.3:
            size = self.dice.randrange(80)
            noise = bytes(self.dice.randrange(256) for _ in range(size)).replace(b"\n", b" ").replace(b"\r", b" ")
            return b"!" + noise  # never a valid command
        line = self.dice.choice(GARBAGE)
        if line.startswith("position "):
            self._take(line.split()[1:])
        return line.encode()

    def _take(self, words: list[str]) -> None:
        """Follow a `position` command if it is valid: some of the random lines are, in some variant."""
        at = words.index("moves") if "moves" in words else len(words)
        if words[:at] != ["startpos"] and (words[:1] != ["fen"] or at < 2):
            return
        try:
            position = Position(
                self.settings.position_variant, None if words[0] == "startpos" else " ".join(words[1:at])
            )
            for move in words[at + 1 :]:
                position.play(move)
        except SelfmateError:
            return
        self.position = position

    def _position(self) -> bytes:
        game = self.settings.position_variant
        fen = None
        if self.dice.random() < 0.3:
            fen = self.dice.choice(POSITIONS.get(self.settings.variant, ["nonsense"]))
        try:
            position = Position(game, fen)
        except SelfmateError:
            return f"position fen {fen}".encode()
        moves = []
        for _ in range(self.dice.randrange(30)):
            legal = position.legal_moves
            if not legal:
                break
            move = self.dice.choice(legal)
            moves.append(position.uci(move))
            position.play(move)
        if moves and self.dice.random() < 0.2:
            moves.insert(self.dice.randrange(len(moves) + 1), self.dice.choice(["a1a1", "a0a0", "e2e4q", "x", "h9h8"]))
        else:
            self.position = position
        where = "startpos" if fen is None else f"fen {fen}"
        return f"position {where} moves {' '.join(moves)}".encode() if moves else f"position {where}".encode()

    def _option(self) -> bytes:
        name = self.dice.choice(list(OPTION_VALUES))
        value = self.dice.choice(OPTION_VALUES[name])
        line = f"setoption name {self.dice.choice([name, name.lower()])} value {value}"
        if name.lower() in OPTIONS:
            try:
                settings = set_option(self.settings, name, value)
            except SelfmateError:
                return line.encode()
            if settings.position_variant != self.settings.position_variant:
                self.position = Position(settings.position_variant)
            self.settings = settings
        return line.encode()

    def _go(self) -> bytes:
        legal = frozenset(map(self.position.uci, self.position.legal_moves))
        words = ["go"]
        kind = self.dice.randrange(9)
        if kind == 0:
            words.append(f"nodes {self.dice.choice([1, 2, 50, 300])}")
        elif kind == 1:
            words.append(f"movetime {self.dice.randrange(10)}")
        elif kind == 2:
            words.append(f"depth {self.dice.randrange(3)}")
        elif kind == 3:
            words.append(f"wtime {self.dice.randrange(-50, 200)} btime {self.dice.randrange(-50, 200)}")
        elif kind == 4:
            words.append("infinite")
        elif kind == 5:
            words.append("ponder wtime 100 btime 100")
        elif kind == 6:
            words.append("nodes 20 mate 1")
        elif kind == 7:
            words.append(self.dice.choice([*BAD_LIMITS, ""]))
        elif self.dice.random() < 0.3:
            return b"go perft 2"  # answered without `bestmove`
        if legal and self.dice.random() < 0.2:
            some = self.dice.sample(sorted(legal), min(len(legal), 2))
            words.append(f"searchmoves {' '.join(some)}")
            self.expected.append(frozenset(some))
        else:
            self.expected.append(legal or frozenset(["(none)"]))
        return " ".join(words).encode()


def run(lines: int, seed: int, stage: Path | None = None) -> list[str]:
    """Send the lines; return the errors."""
    script = Script(seed)
    command = [sys.executable, "-m", "selfmate", "uci"]
    env = dict(os.environ)
    if stage is not None:
        # Without `site` the editable install is not used, but its packages are needed.
        command.insert(1, "-S")
        packages = [path for path in sys.path if path.endswith("site-packages")]
        env["PYTHONPATH"] = os.pathsep.join([str(stage), *packages])
        env |= _sanitizer(stage)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    answers: list[str] = []
    ready = 0
    others: list[str] = []
    errors: list[bytes] = []
    wrong: list[str] = []

    def listen() -> None:
        nonlocal ready
        assert process.stdout is not None
        for line in process.stdout:
            text = line.decode("utf-8", "replace").rstrip("\n")
            if text.startswith("bestmove "):
                answers.append(text.split()[1])
            elif text == "readyok":
                ready += 1
            elif (
                not text.startswith(("info ", "id ", "option ", "uciok", "Nodes searched"))
                and ": " not in text
                and text
            ):
                others.append(text)
            elif "a fault inside" in text:
                wrong.append(text)

    listeners = [threading.Thread(target=listen), threading.Thread(target=lambda: errors.extend(process.stderr or ()))]
    for listener in listeners:
        listener.start()

    def has_caught_up(asked: int) -> bool:
        return ready >= asked - 1 and len(answers) > len(script.expected) - 30

    asked = 0
    try:
        for number in range(lines):
            line = script.line()
            asked += line == b"isready"
            process.stdin.write(line + script.dice.choice([b"\n", b"\n", b"\r\n"]))
            process.stdin.flush()
            if number % 50 == 49:  # wait for the engine to catch up
                _wait(process, functools.partial(has_caught_up, asked))
        process.stdin.write(b"stop\nisready\n")
        process.stdin.flush()
        _wait(process, lambda: ready == asked + 1 and len(answers) == len(script.expected))
        process.stdin.write(b"quit\n")
        process.stdin.flush()
        process.wait(30)
    except (BrokenPipeError, TimeoutError, subprocess.TimeoutExpired) as error:
        wrong.append(f"{type(error).__name__}: {error}")
    finally:
        process.kill()
        code = process.wait()
        for listener in listeners:
            listener.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    if code != 0:
        wrong.append(f"exit code {code}")
    if errors:
        wrong.append(b"".join(errors).decode("utf-8", "replace")[-3000:])
    if others:
        wrong.append(f"not UCI: {others[:3]}")
    if len(answers) != len(script.expected):
        wrong.append(f"{len(script.expected)} go, {len(answers)} bestmove")
    for number, (answer, legal) in enumerate(zip(answers, script.expected, strict=False)):
        if answer not in legal:
            wrong.append(f"go number {number}: {answer} is none of {sorted(legal)[:5]} …")
    print(f"{lines} lines, {len(script.expected)} go, {len(answers)} bestmove, {ready} readyok, {len(wrong)} wrong")
    return wrong


def _sanitizer(stage: Path) -> dict[str, str]:
    """Return the environment for loading a core that was built with sanitizers."""
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python frees much of its memory only at exit
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def _wait(process: subprocess.Popen[bytes], is_so: Callable[[], bool]) -> None:
    """Wait until `is_so()`; now and then send `stop`, which each endless search needs: several may be queued."""
    end = time.monotonic() + PATIENCE
    assert process.stdin is not None
    next_stop = time.monotonic() + 0.2
    while not is_so():
        if process.poll() is not None:
            raise BrokenPipeError(f"the engine exited with code {process.returncode}")
        if time.monotonic() > end:
            raise TimeoutError("no answer")
        if time.monotonic() > next_stop:
            process.stdin.write(b"stop\n")  # an endless search blocks the commands after it
            process.stdin.flush()
            next_stop += 1
        time.sleep(0.002)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stage", type=Path, help="folder with the package and a core built with sanitizers")
    arguments = parser.parse_args()
    found = run(arguments.lines, arguments.seed, arguments.stage)
    for each in found[:20]:
        print(each)
    sys.exit(1 if found else 0)
