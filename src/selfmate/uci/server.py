"""`selfmate uci`: the UCI engine on standard input and output.

One thread reads commands and answers at once, also while another one searches. Slow imports wait until they are needed:
`uci` is answered with what this module imports, the net is loaded with `isready` or the first `go`.

An error in a command is one `info string`, and the engine continues.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import select
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, NoReturn

from selfmate import _core
from selfmate.errors import BadCastling, BadEnPassant, SelfmateError, clip
from selfmate.uci.go import SearchJob, parse_go
from selfmate.uci.options import CLEAR_HASH, OPTIONS, Settings, StrictError, has_960, option_lines, set_option

if TYPE_CHECKING:
    from selfmate.uci.search import SearchWorker

__all__ = ["UciServer", "main"]

LONGEST_INPUT: Final = 1 << 22
"""Bytes of a line; a longer one is dropped."""
QUIT_SECONDS: Final = 3.0
"""Seconds after `quit` for the `bestmove` of a search and the `readyok` of an `isready`; milliseconds are enough unless
the net is still being loaded."""
REFUSED: Final = 2
"""Exit code for a net that cannot be loaded in strict mode, as of the commands for bad input."""


def main(*, strict: bool = False) -> None:
    """Run the engine on standard input and output until `quit` or the end of the input.

    `strict` sets `StrictWeights` from the start.
    """
    try:
        UciServer(Settings(strict_weights=strict)).run()
    except KeyboardInterrupt:
        os._exit(130)
    except BrokenPipeError:
        os._exit(1)


class UciServer:
    """Reads commands, answers at once what needs no search, and queues the rest for the searching thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = self._first_settings = settings
        self.position = _core.Position(self.settings.position_variant)
        self.debug = False
        self._job: SearchJob | None = None
        self._is_ready_answered = threading.Event()
        self._is_ready_answered.set()
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._worker: SearchWorker | None = None
        self._writing = threading.Lock()
        self._commands: dict[str, Callable[[str], None]] = {
            "uci": self._uci,
            "isready": self._is_ready,
            "ucinewgame": self._new_game,
            "setoption": self._set_option,
            "position": self._set_position,
            "go": self._start,
            "stop": self._stop,
            "ponderhit": self._ponder_hit,
            "debug": self._set_debug,
            "register": lambda _: self.say("Selfmate needs no registration"),
        }

    # -- reading and writing ------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `quit` or the end of the input; then end the process, whatever is being computed."""
        threading.Thread(target=self._work_on, name="search", daemon=True).start()
        for line in _lines(0, 1):
            if line is None:
                self.say(f"a line of more than {LONGEST_INPUT} bytes: ignored")
                continue
            command, rest = (*line.split(None, 1), "", "")[:2]
            if command == "quit":
                break
            if not command:
                continue
            run = self._commands.get(command)
            if run is None:
                self.say(f"unknown command {clip(command)!r}: ignored")
                continue
            try:
                run(rest)
            except SelfmateError as error:
                self.say(str(error))
        self._finish()
        os._exit(0)

    def _finish(self) -> None:
        """Stop the search and wait for its `bestmove`, and for the `readyok` that is still to come."""
        job, end = self._job, time.monotonic() + QUIT_SECONDS
        if job is not None and not job.finished.is_set():
            if job.command.perft is not None:  # it cannot be stopped
                return
            job.stop()
            job.finished.wait(QUIT_SECONDS)
        self._is_ready_answered.wait(max(0.0, end - time.monotonic()))

    def write(self, *lines: str) -> None:
        """Send lines, whole and in order; end the process if the output is closed."""
        data = "".join(f"{line}\n" for line in lines).replace("…", "...").encode("ascii", "replace")
        with self._writing:
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:
                os._exit(1)

    def say(self, text: str) -> None:
        """Send one `info string`."""
        self.write("info string " + "".join(letter if letter.isprintable() else "?" for letter in text))

    # -- commands -----------------------------------------------------------------------------------------------------

    def _uci(self, _: str) -> None:
        self.write(
            f"id name Selfmate {_version()}",
            "id author the Selfmate developers",
            *option_lines(self._first_settings),
            "uciok",
        )

    def _is_ready(self, _: str) -> None:
        if self._is_searching():
            self.write("readyok")
            return
        settings = self.settings
        answered = self._is_ready_answered = threading.Event()

        def prepare() -> None:
            try:
                self._search_worker().prepare(settings)
            except StrictError as error:
                if not error.is_other_variant:
                    self._end_refused(error)
                self.say(str(error))
            finally:
                self.write("readyok")
                answered.set()

        self._work.put(prepare)

    def _new_game(self, _: str) -> None:
        self._end_search()
        self._work.put(lambda: self._search_worker().forget())

    def _set_option(self, rest: str) -> None:
        words = re.fullmatch(r"name\s+(.*?)(?:\s+value(?:\s+(.*))?)?", rest.strip(), re.DOTALL)
        if words is None:
            raise SelfmateError("setoption is written: setoption name NAME value VALUE", rest)
        name, value = " ".join(words[1].split()), (words[2] or "").strip()
        settings = set_option(self.settings, name, value)
        is_other_variant = settings.position_variant != self.settings.position_variant
        self.settings = settings
        if self._is_searching():
            self.say(f"{OPTIONS[name.lower()].name} set; takes effect with the next search")
        if is_other_variant:
            self.position = _core.Position(settings.position_variant)
        if settings.chess960 and not has_960(settings.variant):
            self.say(f"{settings.variant} is not played from 960 starting positions: UCI_Chess960 changes nothing")
        if name.lower() == CLEAR_HASH.name.lower():
            self._work.put(lambda: self._search_worker().forget())

    def _set_position(self, rest: str) -> None:
        words = rest.split()
        at = words.index("moves") if "moves" in words else len(words)
        if words[:1] == ["startpos"] and at == 1:
            fen = None
        elif words[:1] == ["fen"] and at > 1:
            fen = " ".join(words[1:at])
        else:
            raise SelfmateError("position is written: position startpos|fen FEN [moves MOVE …]", rest)
        try:
            position = self._position(fen)
            for move in words[at + 1 :]:
                position.play(move)
        except SelfmateError as error:
            raise SelfmateError(f"{error}; the position stays as it was", error.part) from None
        self.position = position

    def _position(self, fen: str | None) -> _core.Position:
        """Return a position; impossible castling rights and en passant squares are dropped, with an `info string`."""
        try:
            return _core.Position(self.settings.position_variant, fen)
        except (BadCastling, BadEnPassant) as error:
            position = _core.Position(self.settings.position_variant, fen, lenient=True)
            position = _core.Position(self.settings.position_variant, position.fen())  # any other error is raised
            self.say(f"{error}; dropped")
            return position

    def _start(self, rest: str) -> None:
        began = time.perf_counter()
        self._end_search()
        command, refused = parse_go(rest, self.position)
        if refused:
            self.say(f"go: {refused}")
        self._job = job = SearchJob(_core.Position(self.position), self.settings, command, began)
        debug = self.debug

        def search() -> None:
            try:
                worker = self._search_worker()
                if command.perft is not None:
                    worker.perft(job)
                else:
                    worker.search(job, debug=debug)
            except StrictError as error:
                self._end_refused(error)  # before `finished` is set, for which `quit` waits to exit with code 0
            finally:
                job.finished.set()

        self._work.put(search)

    def _stop(self, _: str) -> None:
        if self._is_searching() and self._job is not None:
            self._job.stop()

    def _ponder_hit(self, _: str) -> None:
        if self._is_searching() and self._job is not None and self._job.command.ponder:
            self._job.hit()
        else:
            self.say("ponderhit: nothing is being pondered")

    def _set_debug(self, rest: str) -> None:
        if rest.strip() not in ("on", "off"):
            raise SelfmateError("debug is written: debug on|off", rest)
        self.debug = rest.strip() == "on"

    # -- the searching thread -----------------------------------------------------------------------------------------

    def _work_on(self) -> None:
        while True:
            work = self._work.get()
            try:
                work()
            except StrictError as error:
                self._end_refused(error)
            except SelfmateError as error:
                self.say(str(error))
            except Exception as error:  # a bug must not cost the game
                import traceback  # needed for bugs only

                traceback.print_exc()
                self.say(f"internal error: {type(error).__name__}: {error}")

    def _end_refused(self, error: StrictError) -> NoReturn:
        """End the process: for the GUI as an `info string`, for the operator as one line on standard error."""
        self.say(f"{error}; the engine ends")
        with contextlib.suppress(OSError):
            os.write(2, f"selfmate: {error}\n".encode("utf-8", "replace"))
        os._exit(REFUSED)

    def _search_worker(self) -> SearchWorker:
        """Return the worker; it is made, with its slow imports, when it is first needed."""
        if self._worker is None:
            from selfmate.uci.search import SearchWorker

            self._worker = SearchWorker(self.write, self.say)
        return self._worker

    def _is_searching(self) -> bool:
        return self._job is not None and not self._job.answered and not self._job.finished.is_set()

    def _end_search(self) -> None:
        """Ask a search that is still running for its `bestmove`."""
        if self._job is not None:
            self._job.stop()


def _version() -> str:
    import importlib.metadata

    return importlib.metadata.version("selfmate")


def _lines(source: int, output: int) -> Iterator[str | None]:
    """Yield lines as they are read, None for one that is too long; end with the input, or when the output is closed."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(output, 0)  # no event but those that are always reported: errors, and a closed pipe
    rest = b""
    dropping = False
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == output:
                return
        try:
            data = os.read(source, 1 << 16)
        except OSError:  # closed before the start
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if not dropping:
                yield line.decode("utf-8", "replace").strip()
            dropping = False
        if not data:
            if rest and not dropping:
                yield rest.decode("utf-8", "replace").strip()
            return
        if len(rest) > LONGEST_INPUT:
            if not dropping:
                yield None
            rest, dropping = b"", True
