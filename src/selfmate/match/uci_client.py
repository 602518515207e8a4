"""A UCI engine as a child process: started, asked for moves, watched, and ended by its process id.

>>> import sys
>>> spec = EngineSpec(command=(sys.executable, "-m", "selfmate", "uci"), options=(("Hash", "16"),))
>>> with UciClient(spec) as engine:
...     engine.set_variant("gardner")
...     reply = engine.search(None, ["a2a3"], "go nodes 20", seconds=60.0)
>>> engine.name.split()[0], reply.nodes
('Selfmate', 20)

Other clients do not know every variant, and trust the moves that engines print. Here the referee checks every move.
Engine output may be anything: unknown lines are ignored, lines longer than `LONGEST_LINE` are dropped, and every
reply has a deadline.

Each engine has a process group of its own, so that Ctrl-C does not reach it and its children end with it. On Linux an
engine dies with the thread that started it: start it in a thread that lives as long as the engine must.

This module is long because the client is one state machine over three pipes.
"""

from __future__ import annotations

import atexit
import contextlib
import difflib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, NoReturn

from selfmate.errors import SelfmateError, clip
from selfmate.match.uci_parse import EngineMove, UciOption, is_main_line, parse_info, parse_option

__all__ = ["FIRST_REPLY", "PATIENCE", "EngineError", "EngineSpec", "Fault", "Interrupted", "UciClient", "close_all"]

PATIENCE: Final = 60.0
"""Seconds that an engine has for a reply that no clock limits."""
FIRST_REPLY: Final = 10.0
"""Seconds for the first line of output when an engine is checked before a match: a program that is no engine would be
waited for until `PATIENCE` is over. In the match itself many may start at once, and have the whole patience."""
NOTICE: Final = 1.5
"""Seconds of waiting after which the user is told."""
STOP_SECONDS: Final = 2.0
"""Seconds to reply to `stop`, and to exit after `quit`."""
POLL_EXIT: Final = 0.02
"""Seconds between two checks whether a process has exited."""
POLL_STOP: Final = 0.1
"""Seconds between two checks whether the match is being stopped."""
CHUNK: Final = 1 << 16
"""Bytes per read."""
LONGEST_LINE: Final = 1 << 16
"""Bytes; a longer line is dropped."""
FLOOD: Final = 1 << 26
"""Bytes of output for one reply, after which the engine counts as hanging."""
PERFT_TOTAL: Final = re.compile(r"Nodes searched: *([0-9]{1,18})")
"""The last line of the reply to `go perft`."""
STDERR_BYTES: Final = 2000
"""Bytes of standard error that are kept, to say why a process ended."""
MORE_FOLDERS: Final = "/usr/games"
"""Where Debian installs engines; not every PATH has it."""

# Runs in the child and then becomes the engine, with the same process id. A `preexec_fn` would run Python between fork
# and exec, which can deadlock in a process with threads. 1 is PR_SET_PDEATHSIG; Python itself ignores SIGPIPE.
LAUNCHER: Final = """
import os, signal, sys
try:
    import ctypes
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
except Exception:
    pass
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
try:
    os.execv(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.stderr.write(error.strerror)
    sys.stderr.flush()
    os._exit(127)
"""


class Fault(StrEnum):
    """What an engine did wrong."""

    ILLEGAL_MOVE = "illegal move"
    TIME_LOSS = "time loss"
    CRASH = "crash"
    """The process ended."""
    DISCONNECT = "disconnect"
    """The process runs, but has closed its output."""
    HANG = "hang"
    """No reply, not even to `stop`, or `FLOOD` bytes of other output."""


class EngineError(SelfmateError):
    """An engine cannot be used, or no longer."""

    fault: Fault | None
    """The fault with which it loses a game; None if no game was going on."""

    def __init__(self, message: str, part: str = "", *, fault: Fault | None = None) -> None:
        super().__init__("".join(letter if letter.isprintable() else "?" for letter in message), part)
        self.fault = fault


class Interrupted(Exception):
    """The match is being stopped; the engine is not at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """A command line and the UCI options to set."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    directory: Path | None = None
    """Working directory; that of this process when None."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables in addition to those of this process."""

    @property
    def threads(self) -> int:
        """Cores that the engine uses: its option Threads."""
        asked = [value for name, value in self.options if name.lower() == "threads"]
        return max(1, int(asked[-1])) if asked and asked[-1].isdecimal() else 1

    def program(self) -> str:
        """Return the path of the program; raises `EngineError` if there is none."""
        name = self.command[0]
        folders = self.environment.get("PATH", os.environ.get("PATH", os.defpath)) + os.pathsep + MORE_FOLDERS
        found = shutil.which(name, path=folders)
        if found is None:
            there = Path(name).is_file()
            reason = "not executable" if there else "there is no such program"
            raise EngineError(f"engine {clip(name)}: {reason}", name)
        return str(Path(found).absolute())


_alive: set[UciClient] = set()


@atexit.register
def _kill_all() -> None:
    """End every engine when this process exits."""
    for engine in list(_alive):
        engine.kill()


def close_all(engines: Iterable[UciClient]) -> None:
    """Send `quit` to engines, all at the same time, and kill those that still run after `STOP_SECONDS`.

    An interrupted call kills all of them at once.
    """
    asked = [engine for engine in engines if engine in _alive]
    deadline = time.monotonic() + STOP_SECONDS
    try:
        for engine in asked:
            engine._send_quit()
        left = asked
        while (left := [engine for engine in left if not engine._has_exited()]) and time.monotonic() < deadline:
            time.sleep(POLL_EXIT)
    finally:
        for engine in asked:
            engine.kill()


class UciClient:
    """A running engine. Every failure is an `EngineError`, after which it should be closed.

    `patience` is for replies that no clock limits, `first_reply` for the first line that is not an echo (`patience`
    when None), both in seconds. `notice` is called with a line when a reply takes long. `stopping` is called while
    waiting; when it returns True, `Interrupted` is raised.
    """

    def __init__(
        self,
        spec: EngineSpec,
        *,
        patience: float = PATIENCE,
        first_reply: float | None = None,
        notice: Callable[[str], None] = lambda text: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.spec = spec
        self.name = Path(spec.command[0]).name
        """The name that the engine reports; that of the program before."""
        self.options: dict[str, UciOption] = {}
        """Options that the engine declares, by name in lower case."""
        self._patience = patience
        self._first_reply = patience if first_reply is None else min(first_reply, patience)
        self._notice = notice
        self._stopping = stopping
        self._lines: deque[bytes] = deque()
        self._partial = b""
        self._dropping = False
        self._unsent = b""
        self._stderr_tail = b""
        self._read_at = 0.0
        self._read_bytes = 0
        self._ended = False
        self._searching = False
        self._start()
        try:
            self._handshake()
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> UciClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- commands ---------------------------------------------------------------------------------

    def _handshake(self) -> None:
        """Send `uci`, read name and options, and set the options of the spec."""
        for line in self._lines_until("uci", "uciok", self._first_reply):
            if line.startswith("id name "):
                self.name = clip("".join(letter for letter in line[8:].strip() if letter.isprintable())) or self.name
            elif line.startswith("option name "):
                option = parse_option(line)
                if option is not None:
                    self.options[option.name.lower()] = option
        for name, value in self.spec.options:
            self.set_option(name, value)
        self.wait_until_ready()

    def set_option(self, name: str, value: str) -> None:
        """Set an option; raises `EngineError` if the engine does not declare it, or not this value."""
        option = self.options.get(name.lower())
        if option is None:
            near = difflib.get_close_matches(clip(name).lower(), self.options, n=1)
            hint = f"; did you mean {self.options[near[0]].name}?" if near else ""
            raise EngineError(f"{self.name} has no option {clip(name)!r}{hint}", name)
        if (problem := option.problem(value)) is not None:
            raise EngineError(f"{self.name}: option {option.name} is {problem}", value)
        self._send(f"setoption name {option.name}" + ("" if option.kind == "button" else f" value {value}"))

    def set_variant(self, variant: str) -> None:
        """Set up a variant (`chess`, `atomic960`, …); raises `EngineError` if the engine does not declare it.

        An engine without the option `UCI_Variant` plays chess.
        """
        plain = variant.removesuffix("960")
        option = self.options.get("uci_variant")
        if option is None and plain != "chess":
            raise EngineError(f"{self.name} does not play {plain}: it has no option UCI_Variant", variant)
        if option is not None:
            choice = next((each for each in option.choices if each.lower() == plain), None)
            if choice is None and option.kind == "combo":
                known = clip(", ".join(option.choices))
                raise EngineError(f"{self.name} does not play {plain}; its UCI_Variant is one of {known}", variant)
            self._send(f"setoption name {option.name} value {choice or plain}")
        if "uci_chess960" in self.options:
            self._send(f"setoption name UCI_Chess960 value {'true' if plain != variant else 'false'}")
        elif plain != variant:
            raise EngineError(f"{self.name} does not play {variant}: it has no option UCI_Chess960", variant)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait for `readyok`; output before it is ignored."""
        for _ in self._lines_until("isready", "readyok"):
            pass

    def _lines_until(self, command: str, reply: str, first_reply: float | None = None) -> Iterator[str]:
        """Send a command and yield the lines before `reply`. The first line, echoes apart, has `first_reply` seconds.

        After `NOTICE` seconds the user is told, once.
        """
        self._send(command)
        began = time.monotonic()
        told, has_output = False, first_reply is None
        while True:
            wait = first_reply if first_reply is not None and not has_output else self._patience
            line = self._next(began + (wait if told else min(wait, NOTICE)))
            if line == reply:
                return
            if line is not None and line != command:
                has_output = True
                yield line
            elif line is None and not told and time.monotonic() < began + wait:
                told = True
                self._notice(f"waiting for {reply} from {self.name}, up to {wait:g} s")
            elif line is None and has_output:
                self._fail_hanging(f"did not send {reply} within {wait:g} s{self._stderr_line()}")
            elif line is None:
                self._fail_hanging(f"sent nothing within {wait:g} s: not a UCI engine{self._stderr_line()}")

    def new_game(self) -> None:
        """Send `ucinewgame`."""
        self._send("ucinewgame")
        self.wait_until_ready()

    def search(self, fen: str | None, moves: Sequence[str], go: str, *, seconds: float) -> EngineMove:
        """Return the engine's move in the position after `moves` (UCI) from `fen` (None: the usual start).

        `go` is the whole command. After `seconds` the engine is sent `stop`, and its reply is late.
        """
        self._set_position(fen, moves)
        # 1. The clock runs from before the command is written until the reply is read.
        began = time.monotonic()
        self._send(go)
        self._searching = True
        info, line, late = "", self._next(began + seconds), False
        # 2. Keep the last `info` line of the main line.
        while line is None or line.split(maxsplit=1)[:1] != ["bestmove"]:
            if line is None and late:
                self._fail_hanging("did not obey stop")
            elif line is None:
                late = True
                self._send("stop")
            elif line.startswith("info ") and " score " in line and is_main_line(line):
                info = line
            line = self._next(began + seconds + (STOP_SECONDS if late else 0.0))
        self._searching = False
        # 3. The reply
        words = line.split()
        return parse_info(info, words[1] if len(words) > 1 else "", self._read_at - began, late=late)

    def analyse(
        self, fen: str | None, moves: Sequence[str], *, seconds: float, stopped: Callable[[], bool]
    ) -> Iterator[str]:
        """Yield the `info` lines of `go infinite`, which ends after `seconds`, or when `stopped` returns True.

        The iterator must be read to its end, or the engine closed.
        """
        self._set_position(fen, moves)
        end, stop_sent = time.monotonic() + seconds, 0.0
        self._send("go infinite")
        self._searching = True
        while True:
            line = self._next(stop_sent + STOP_SECONDS if stop_sent else min(end, time.monotonic() + POLL_STOP))
            if line is None and stop_sent:
                self._fail_hanging("did not obey stop")
            if not stop_sent and (stopped() or time.monotonic() >= end):
                stop_sent = time.monotonic()
                self._send("stop")
            if line is not None and line.split(maxsplit=1)[:1] == ["bestmove"]:
                self._searching = False
                return
            if line is not None and line.startswith("info ") and not stop_sent:
                yield line

    def _set_position(self, fen: str | None, moves: Sequence[str]) -> None:
        start = "startpos" if fen is None else f"fen {fen}"
        self._send(f"position {start} moves {' '.join(moves)}" if moves else f"position {start}")
        self.wait_until_ready()  # the reply to an earlier `go` cannot be taken for the next one

    def perft(self, fen: str | None, depth: int, *, seconds: float) -> int:
        """Return the leaves at `depth` by `go perft`, which Stockfish and its derivatives know."""
        self._send("position startpos" if fen is None else f"position fen {fen}")
        self.wait_until_ready()
        self._send(f"go perft {depth}")
        deadline = time.monotonic() + seconds
        while True:
            line = self._next(deadline)
            if line is None or line.startswith("bestmove"):
                self._fail_hanging(f"does not count leaves: no reply to 'go perft {depth}'")
            if found := PERFT_TOTAL.fullmatch(line):
                return int(found[1])

    def close(self) -> None:
        """Send `quit`, and kill the process if it does not exit. A second call does nothing."""
        close_all([self])

    def kill(self) -> None:
        """Kill the process group. Its id is not reused before `wait`, so no other process can be hit."""
        if self not in _alive:
            return
        _alive.discard(self)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):
                pipe.close()

    def _send_quit(self) -> None:
        with contextlib.suppress(EngineError):
            self._send(*(["stop"] if self._searching else []), "quit")

    def _has_exited(self) -> bool:
        """Read pending output, and return whether the process is gone; a child of it may keep the pipe open."""
        self._lines.clear()
        self._pump(0.0)
        return self._ended or self._exit_status() is not None

    @property
    def is_running(self) -> bool:
        """Whether it was not closed, and its process has not exited."""
        return self in _alive and not self._ended and self._exit_status() is None

    @property
    def process_id(self) -> int:
        """The id of the process and of its group."""
        return self._process.pid

    # -- the process and its pipes ----------------------------------------------------------------

    def _start(self) -> None:
        program = self.spec.program()
        directory = self.spec.directory
        if directory is not None and not directory.is_dir():
            raise EngineError(f"engine {self.name}: there is no folder {clip(str(directory))}", str(directory))
        launcher = (sys.executable, "-I", "-S", "-c", LAUNCHER, str(os.getpid()))
        try:
            self._process = subprocess.Popen(
                [*launcher, program, *self.spec.command[1:]],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                env={**os.environ, **self.spec.environment},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise EngineError(f"engine {self.name} cannot be started: {error}", self.spec.command[0]) from None
        _alive.add(self)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._in, self._out, self._errors = (
            pipe.fileno() for pipe in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._poll = select.poll()
        for descriptor in (self._out, self._errors):
            self._poll.register(descriptor, select.POLLIN)
        for descriptor in (self._in, self._out, self._errors):
            os.set_blocking(descriptor, False)

    def _send(self, *lines: str) -> None:
        """Send lines, or as much as fits into the pipe; the rest is written while output is read."""
        self._unsent += "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        self._read_bytes = 0
        if len(self._unsent) > FLOOD:
            self._fail_hanging("does not read its input")
        self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._in, self._unsent) :]
        except BlockingIOError:
            self._poll.register(self._in, select.POLLOUT)
            return
        except OSError:  # the process is gone, which shows at its output
            self._unsent = b""
        with contextlib.suppress(KeyError):
            self._poll.unregister(self._in)

    def _next(self, deadline: float) -> str | None:
        """Return the next line of output; None if there is none before `deadline` (`time.monotonic`)."""
        while not self._lines:
            if self._ended:
                self._fail_ended()
            if self._stopping():
                raise Interrupted
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if self._read_bytes > FLOOD:
                self._fail_hanging(f"printed {FLOOD >> 20} MiB without a reply")
            self._pump(min(left, POLL_STOP))
        return self._lines.popleft().decode("utf-8", "replace").strip()

    def _pump(self, seconds: float) -> None:
        """Wait up to `seconds` for the pipes, and move the bytes that are ready in both directions."""
        for descriptor, _ in self._poll.poll(max(0.0, 1000 * seconds)):
            if descriptor == self._in:
                self._write()
                continue
            try:
                data = os.read(descriptor, CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            if not data:
                self._poll.unregister(descriptor)
            if descriptor == self._errors:
                self._stderr_tail = (self._stderr_tail + data)[-STDERR_BYTES:]
                continue
            self._read_at = time.monotonic()
            self._read_bytes += len(data)
            self._ended = not data
            *lines, self._partial = (self._partial + data).split(b"\n")
            if lines and self._dropping:
                del lines[0]
                self._dropping = False
            self._lines.extend(lines)
            if len(self._partial) > LONGEST_LINE:
                self._partial, self._dropping = b"", True

    # -- failures ---------------------------------------------------------------------------------

    def _exit_status(self) -> os.waitid_result | None:
        """Return how the process ended, if it has, without reaping it: its id must not be reused before `kill`."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def _stderr_line(self) -> str:
        """Return the last line of standard error, as the end of a sentence."""
        lines = self._stderr_tail.decode("utf-8", "replace").strip().splitlines()
        return f": {clip(lines[-1].strip())}" if lines else ""

    def _fail_hanging(self, what: str) -> NoReturn:
        raise EngineError(f"{self.name} {what}", self.name, fault=Fault.HANG)

    def _fail_ended(self) -> NoReturn:
        """Raise the error that says why there is no more output."""
        deadline = time.monotonic() + STOP_SECONDS
        while (status := self._exit_status()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        self._pump(0.0)
        stderr = self._stderr_line()
        if status is None:
            raise EngineError(f"{self.name} closed its output{stderr}", self.name, fault=Fault.DISCONNECT)
        how = (
            f"exited with code {status.si_status}"
            if status.si_code == os.CLD_EXITED
            else f"was ended by signal {status.si_status}"
        )
        raise EngineError(f"{self.name} {how}{stderr}", self.name, fault=Fault.CRASH)
