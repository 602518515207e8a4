"""A UCI engine as a process: started, asked, watched, and ended by its process id.

>>> import sys
>>> ours = EngineSpec(command=(sys.executable, "-m", "selfmate", "uci"), options=(("Hash", "16"),))
>>> with Engine(ours) as engine:
...     engine.play_variant("gardner")
...     thought = engine.think(None, ["a2a3"], "go nodes 20", seconds=60.0)
>>> engine.name.split()[0], thought.nodes
('Selfmate', 20)

The client is our own since others do not know every variant, and trust the engines' rules; here nothing that an engine
prints is believed before the referee has checked it. Its output may be anything: lines that mean nothing are
passed over, at most one chunk of it is ever kept, and an answer that does not come in time is not waited for.

An engine has a process group of its own, so that Ctrl-C does not reach it and it can be ended with all its children.
Where the system allows (Linux) it dies with the thread that started it; start it in one that lives as long as it must.
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
from selfmate.match.uci_parse import Offer, Thought, is_main, read_info, read_offer

__all__ = ["FIRST_WORD", "PATIENCE", "Engine", "EngineError", "EngineSpec", "Fault", "Interrupted", "close_all"]


PATIENCE: Final = 60.0
"""Seconds that an engine has for an answer that no clock limits."""


FIRST_WORD: Final = 10.0
"""Seconds within which one that is tried for the first time must say something: what is no engine waits for ever.
In the match itself many may start at once, and have the whole patience."""


NOTICE: Final = 1.5
"""Seconds after which somebody at a terminal is told what we wait for."""


STOP_SECONDS: Final = 2.0
"""Seconds that it has to obey `stop`, and to leave after `quit`."""


LOOK_SECONDS: Final = 0.02
"""Between two looks whether it has left."""


SLICE: Final = 0.1
"""Seconds between two looks at whether the match is being stopped."""


CHUNK: Final = 1 << 16
"""Bytes that are read at once."""


LONGEST_LINE: Final = 1 << 16
"""Bytes of a line; one that is longer is dropped."""


FLOOD: Final = 1 << 26
"""Bytes of one answer; an engine that prints more without coming to an end is given up."""


LEAVES: Final = re.compile(r"Nodes searched: *([0-9]{1,18})")
"""The end of an answer to `go perft`."""


LAST_WORDS: Final = 2000
"""Bytes of its error output that are kept, to tell why it died."""


MORE_FOLDERS: Final = "/usr/games"
"""Where Debian puts engines, which not every PATH has."""


# It becomes the engine, and keeps its process id. Done here and not between fork and exec, where Python code could hang
# in a process with threads. 1 is PR_SET_PDEATHSIG; SIGPIPE is what Python itself ignores.
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
    """The process is there, but has closed its output."""
    HANG = "hang"
    """No answer, not even to `stop`, or a flood of other output."""


class EngineError(SelfmateError):
    """An engine that cannot be used, or not any longer."""

    fault: Fault | None
    """What counts against it in a game."""

    def __init__(self, message: str, part: str = "", *, fault: Fault | None = None) -> None:
        super().__init__("".join(letter if letter.isprintable() else "?" for letter in message), part)
        self.fault = fault


class Interrupted(Exception):
    """The match is being stopped; nobody is to blame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """What to start, and how to set it up."""

    command: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()
    directory: Path | None = None
    """Working directory; that of this process when None."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside those of this process."""

    @property
    def threads(self) -> int:
        """How many cores it uses: its option Threads."""
        asked = [value for name, value in self.options if name.lower() == "threads"]
        return max(1, int(asked[-1])) if asked and asked[-1].isdecimal() else 1

    def program(self) -> str:
        """Give the path of the program, or say that there is none."""
        name = self.command[0]
        folders = self.environment.get("PATH", os.environ.get("PATH", os.defpath)) + os.pathsep + MORE_FOLDERS
        found = shutil.which(name, path=folders)
        if found is None:
            there = Path(name).is_file()
            reason = "may not be executed" if there else "there is no such program"
            raise EngineError(f"engine {clip(name)}: {reason}", name)
        return str(Path(found).absolute())


_alive: set[Engine] = set()


@atexit.register
def _end_all() -> None:
    """Leave nobody behind when this process ends in haste."""
    for engine in list(_alive):
        engine.kill()


def close_all(engines: Iterable[Engine]) -> None:
    """Ask engines to leave, all at the same time; those that do not are ended, and all are when this is interrupted."""
    asked = [engine for engine in engines if engine in _alive]
    deadline = time.monotonic() + STOP_SECONDS
    try:
        for engine in asked:
            engine._ask_to_leave()
        left = asked
        while (left := [engine for engine in left if not engine._has_left()]) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
    finally:
        for engine in asked:
            engine.kill()


class Engine:
    """A running engine. Whatever goes wrong with it is an `EngineError`, after which it should be closed.

    `patience` is for answers that no clock limits, `first_word` for the first line that is not an echo (the same as
    `patience` when None); `notice` hears what is being waited for when it takes long; `stopping` is looked at while
    waiting, and raises `Interrupted`.
    """

    def __init__(
        self,
        spec: EngineSpec,
        *,
        patience: float = PATIENCE,
        first_word: float | None = None,
        notice: Callable[[str], None] = lambda text: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.spec = spec
        self.name = Path(spec.command[0]).name
        """What it calls itself, once it has said so."""
        self.offers: dict[str, Offer] = {}
        """Its options, by name in lower case."""
        self._patience = patience
        self._first_word = patience if first_word is None else min(first_word, patience)
        self._notice = notice
        self._stopping = stopping
        self._lines: deque[bytes] = deque()
        self._partial = b""
        self._dropping = False
        self._outbox = b""
        self._last_words = b""
        self._read_at = 0.0
        self._read_bytes = 0
        self._ended = False
        self._thinking = False
        self._start()
        try:
            self._greet()
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # -- commands ---------------------------------------------------------------------------------

    def _greet(self) -> None:
        """Hear its name and its options, and set those that were asked for."""
        for line in self._until("uci", "uciok", self._first_word):
            if line.startswith("id name "):
                self.name = clip("".join(letter for letter in line[8:].strip() if letter.isprintable())) or self.name
            elif line.startswith("option name "):
                offer = read_offer(line)
                if offer is not None:
                    self.offers[offer.name.lower()] = offer
        for name, value in self.spec.options:
            self.set_option(name, value)
        self.is_ready()

    def set_option(self, name: str, value: str) -> None:
        """Set an option that it offers to a value that it allows."""
        offer = self.offers.get(name.lower())
        if offer is None:
            near = difflib.get_close_matches(clip(name).lower(), self.offers, n=1)
            hint = f"; did you mean {self.offers[near[0]].name}?" if near else ""
            raise EngineError(f"{self.name} has no option {clip(name)!r}{hint}", name)
        if (wrong := offer.refuse(value)) is not None:
            raise EngineError(f"{self.name}: option {offer.name} is {wrong}", value)
        self._send(
            f"setoption name {offer.name}" if offer.kind == "button" else f"setoption name {offer.name} value {value}"
        )

    def play_variant(self, variant: str) -> None:
        """Set up a variant (`chess`, `atomic960`, …); one that it does not offer is refused.

        An engine that does not know the word `UCI_Variant` plays chess.
        """
        plain = variant.removesuffix("960")
        offer = self.offers.get("uci_variant")
        if offer is None and plain != "chess":
            raise EngineError(f"{self.name} does not play {plain}: it has no option UCI_Variant", variant)
        if offer is not None:
            choice = next((each for each in offer.choices if each.lower() == plain), None)
            if choice is None and offer.kind == "combo":
                known = clip(", ".join(offer.choices))
                raise EngineError(f"{self.name} does not play {plain}; its UCI_Variant is one of {known}", variant)
            self._send(f"setoption name {offer.name} value {choice or plain}")
        if "uci_chess960" in self.offers:
            self._send(f"setoption name UCI_Chess960 value {'true' if plain != variant else 'false'}")
        elif plain != variant:
            raise EngineError(f"{self.name} does not play {variant}: it has no option UCI_Chess960", variant)
        self.is_ready()

    def is_ready(self) -> None:
        """Wait until it has done everything; what it says before that is of no interest any more."""
        for _ in self._until("isready", "readyok"):
            pass

    def _until(self, command: str, answer: str, first_word: float | None = None) -> Iterator[str]:
        """Send a command and give all lines before its answer; the first one, which an echo is not, may have less time.

        Whoever listens is told once that it takes long.
        """
        self._send(command)
        began = time.monotonic()
        told, spoke = False, first_word is None
        while True:
            wait = first_word if first_word is not None and not spoke else self._patience
            line = self._next(began + (wait if told else min(wait, NOTICE)))
            if line == answer:
                return
            if line is not None and line != command:
                spoke = True
                yield line
            elif line is None and not told and time.monotonic() < began + wait:
                told = True
                self._notice(f"waiting for {self.name} to say {answer}, {wait:g} s at most")
            elif line is None and spoke:
                self._give_up(f"said no {answer} within {wait:g} s{self._said()}")
            elif line is None:
                self._give_up(f"said nothing within {wait:g} s, so it is no UCI engine{self._said()}")

    def new_game(self) -> None:
        """Let it forget the last game."""
        self._send("ucinewgame")
        self.is_ready()

    def think(self, fen: str | None, moves: Sequence[str], go: str, *, seconds: float) -> Thought:
        """Ask for a move in the position after `moves` from `fen` (None: the usual start).

        `go` is the whole command; after `seconds` it is told to stop, and the answer is late.
        """
        start = "startpos" if fen is None else f"fen {fen}"
        self._send(f"position {start} moves {' '.join(moves)}" if moves else f"position {start}")
        self.is_ready()  # and so no earlier answer can be taken for this one
        # 1. The clock runs while our command is on its way, and until we have read the answer.
        began = time.monotonic()
        self._send(go)
        self._thinking = True
        told, line, late = "", self._next(began + seconds), False
        # 2. Listen. Only the last line about its main line is kept.
        while line is None or line.split(maxsplit=1)[:1] != ["bestmove"]:
            if line is None and late:
                self._give_up("did not obey stop")
            elif line is None:
                late = True
                self._send("stop")
            elif line.startswith("info ") and " score " in line and is_main(line):
                told = line
            line = self._next(began + seconds + (STOP_SECONDS if late else 0.0))
        self._thinking = False
        # 3. What it said.
        words = line.split()
        return read_info(told, words[1] if len(words) > 1 else "", self._read_at - began, late=late)

    def perft(self, fen: str | None, depth: int, *, seconds: float) -> int:
        """Let it count the leaves under a position, as Stockfish and its kin do: it shows which rules it plays by."""
        self._send("position startpos" if fen is None else f"position fen {fen}")
        self.is_ready()
        self._send(f"go perft {depth}")
        deadline = time.monotonic() + seconds
        while True:
            line = self._next(deadline)
            if line is None or line.startswith("bestmove"):
                self._give_up(f"does not count leaves: no answer to 'go perft {depth}'")
            if found := LEAVES.fullmatch(line):
                return int(found[1])

    def close(self) -> None:
        """Ask it to leave; if it does not, end it. A second call does nothing."""
        close_all([self])

    def kill(self) -> None:
        """End the process and its children, by its process id, which is its own until somebody waits for it."""
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

    def _ask_to_leave(self) -> None:
        with contextlib.suppress(EngineError):
            self._send(*(["stop"] if self._thinking else []), "quit")

    def _has_left(self) -> bool:
        """Let its last words through, and say whether it is gone; a child of it may keep the pipe open."""
        self._lines.clear()
        self._pump(0.0)
        return self._ended or self._exit() is not None

    @property
    def process_id(self) -> int:
        """The process id, which is also that of its group."""
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
        """Send lines, or as much as fits into the pipe; the rest goes out while we listen."""
        self._outbox += "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        self._read_bytes = 0
        if len(self._outbox) > FLOOD:
            self._give_up("does not read what it is told")
        self._write()

    def _write(self) -> None:
        try:
            while self._outbox:
                self._outbox = self._outbox[os.write(self._in, self._outbox) :]
        except BlockingIOError:
            self._poll.register(self._in, select.POLLOUT)
            return
        except OSError:  # it will not hear this; that it is gone shows at its output
            self._outbox = b""
        with contextlib.suppress(KeyError):
            self._poll.unregister(self._in)

    def _next(self, deadline: float) -> str | None:
        """Give the next line; None when none came in time."""
        while not self._lines:
            if self._ended:
                self._tell_of_the_end()
            if self._stopping():
                raise Interrupted
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            if self._read_bytes > FLOOD:
                self._give_up(f"printed {FLOOD >> 20} MiB and did not come to an end")
            self._pump(min(left, SLICE))
        return self._lines.popleft().decode("utf-8", "replace").strip()

    def _pump(self, seconds: float) -> None:
        """Move bytes in both directions, once there are any, for so long."""
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
                self._last_words = (self._last_words + data)[-LAST_WORDS:]
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

    # -- when it goes wrong -----------------------------------------------------------------------

    def _exit(self) -> os.waitid_result | None:
        """Say how the process ended, if it has, without waiting for it: its id must stay its own until `kill`."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def _said(self) -> str:
        """Give the last line of its error output, as the end of a sentence."""
        words = self._last_words.decode("utf-8", "replace").strip().splitlines()
        return f": {clip(words[-1].strip())}" if words else ""

    def _give_up(self, what: str) -> NoReturn:
        raise EngineError(f"{self.name} {what}", self.name, fault=Fault.HANG)

    def _tell_of_the_end(self) -> NoReturn:
        """Say why there is no more output."""
        deadline = time.monotonic() + STOP_SECONDS
        while (state := self._exit()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        self._pump(0.0)
        said = self._said()
        if state is None:
            raise EngineError(f"{self.name} closed its output{said}", self.name, fault=Fault.DISCONNECT)
        if state.si_code == os.CLD_EXITED:
            how = f"ended by itself with exit code {state.si_status}"
        else:
            how = f"was ended by signal {state.si_status}"
        raise EngineError(f"{self.name} {how}{said}", self.name, fault=Fault.CRASH)
