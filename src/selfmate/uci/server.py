"""`selfmate uci`: the engine for every program that speaks UCI.

One thread reads and answers at once, also while another one searches. Nothing heavy is loaded before it is needed:
`uci` is answered by this file alone, the net comes with `isready` or the first `go`.

What is wrong in a command is said in one `info string`, and the engine goes on.
"""

from __future__ import annotations

import os
import queue
import re
import select
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from selfmate import _core
from selfmate._core import Move
from selfmate.errors import BadCastling, BadEnPassant, SelfmateError, clip
from selfmate.uci.options import OPTIONS, Settings, changed, has_960

if TYPE_CHECKING:
    from selfmate.uci.search import Searcher
from selfmate.uci.limits import DIGITS, MOST, Go, Limits

__all__ = ["main"]


LONGEST_INPUT: Final = 1 << 22
"""Bytes of a line; what is longer is dropped."""


LAST_WORD: Final = 0.5
"""Seconds that a search has for its `bestmove` when the engine is told to leave."""


def main() -> None:
    """Run the engine on standard input and output until it is told to leave."""
    try:
        Engine().run()
    except KeyboardInterrupt:
        os._exit(130)
    except BrokenPipeError:
        os._exit(1)


class Engine:
    """Reads commands, answers what can be answered at once, and hands the rest to the searching thread."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.position = _core.Position(self.settings.game)
        self.debug = False
        self._go: Go | None = None
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._searcher: Searcher | None = None
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
        """Obey until `quit` or the end of the input; then the process is gone at once, whatever is being computed."""
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
            obey = self._commands.get(command)
            if obey is None:
                self.say(f"no command is called {clip(command)!r}: ignored")
                continue
            try:
                obey(rest)
            except SelfmateError as error:
                self.say(str(error))
        go = self._go
        if go is not None and go.limits.perft is None:
            go.stop()
            go.finished.wait(LAST_WORD)
        os._exit(0)

    def write(self, *lines: str) -> None:
        """Send lines, whole and in order. When nobody listens any more, there is nothing left to do."""
        data = "".join(f"{line}\n" for line in lines).encode("ascii", "replace")
        with self._writing:
            try:
                while data:
                    data = data[os.write(1, data) :]
            except OSError:
                os._exit(1)

    def say(self, text: str) -> None:
        """Send one line for people."""
        self.write("info string " + "".join(letter if letter.isprintable() else "?" for letter in text))

    # -- commands -----------------------------------------------------------------------------------------------------

    def _uci(self, _: str) -> None:
        self.write(
            f"id name Selfmate {_version()}",
            "id author the Selfmate developers",
            *(option.line() for option in OPTIONS.values()),
            "uciok",
        )

    def _is_ready(self, _: str) -> None:
        if self._is_searching():
            self.write("readyok")
            return
        settings = self.settings

        def prepare() -> None:
            try:
                self._search_with().prepare(settings)
            finally:
                self.write("readyok")

        self._work.put(prepare)

    def _new_game(self, _: str) -> None:
        self._end_search()
        self._work.put(lambda: self._search_with().forget())

    def _set_option(self, rest: str) -> None:
        words = re.fullmatch(r"name\s+(.*?)(?:\s+value(?:\s+(.*))?)?", rest.strip(), re.DOTALL)
        if words is None:
            raise SelfmateError("setoption is written: setoption name NAME value VALUE", rest)
        name, value = " ".join(words[1].split()), (words[2] or "").strip()
        settings = changed(self.settings, name, value)
        game_changes = settings.game != self.settings.game
        self.settings = settings
        if self._is_searching():
            self.say(f"{OPTIONS[name.lower()].name}: heard; it holds from the next search on")
        if game_changes:
            self.position = _core.Position(settings.game)
        if settings.chess960 and not has_960(settings.variant):
            self.say(f"{settings.variant} is not played from 960 starting positions: UCI_Chess960 changes nothing")
        if name.lower() == "clear hash":
            self._work.put(lambda: self._search_with().forget())

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
        """Set up a position; castling rights and en passant squares that cannot be are dropped, with a word."""
        try:
            return _core.Position(self.settings.game, fen)
        except (BadCastling, BadEnPassant) as error:
            position = _core.Position(self.settings.game, fen, lenient=True)
            position = _core.Position(self.settings.game, position.fen())  # nothing else may be wrong with it
            self.say(f"{error}; dropped")
            return position

    def _start(self, rest: str) -> None:
        began = time.perf_counter()
        self._end_search()
        limits = self._read_limits(rest.split())
        go = Go(_core.Position(self.position), self.settings, limits, began)
        self._go = go
        debug = self.debug

        def search() -> None:
            try:
                searcher = self._search_with()
                if limits.perft is not None:
                    searcher.perft(go)
                else:
                    searcher.search(go, debug=debug)
            finally:
                go.finished.set()

        self._work.put(search)

    def _stop(self, _: str) -> None:
        if self._is_searching() and self._go is not None:
            self._go.stop()

    def _ponder_hit(self, _: str) -> None:
        if self._is_searching() and self._go is not None and self._go.limits.ponder:
            self._go.hit()
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
            except SelfmateError as error:
                self.say(str(error))
            except Exception as error:  # a fault of ours must not cost the game
                traceback.print_exc()
                self.say(f"a fault inside: {type(error).__name__}: {error}")

    def _search_with(self) -> Searcher:
        """Give what searches; it is made, with all that it imports, when it is first needed."""
        if self._searcher is None:
            from selfmate.uci.search import Searcher

            self._searcher = Searcher(self.write, self.say)
        return self._searcher

    def _is_searching(self) -> bool:
        return self._go is not None and not self._go.answered and not self._go.finished.is_set()

    def _end_search(self) -> None:
        """Let a search that is still running give its `bestmove`."""
        if self._go is not None:
            self._go.stop()

    # -- `go` ---------------------------------------------------------------------------------------------------------

    def _read_limits(self, words: Sequence[str]) -> Limits:
        """Read what follows `go`. What cannot be is left out, with one word about it.

        Who asked for an end that we did not understand does not want a search without one: if nothing else ends it, the
        answer comes at once.
        """
        limits = Limits()
        refused: list[str] = []
        at = 0
        while at < len(words):
            word = words[at]
            at += 1
            if word == "infinite":
                limits = replace(limits, infinite=True)
            elif word == "ponder":
                limits = replace(limits, ponder=True)
            elif word == "searchmoves":
                moves: list[Move] = []
                while at < len(words) and words[at] not in _WORDS:
                    try:
                        moves.append(self.position.parse_uci(words[at]))
                    except SelfmateError as error:
                        refused.append(f"searchmoves: {error}")
                    at += 1
                limits = replace(limits, moves=tuple(dict.fromkeys(moves)))
            elif word in _NUMBERS:
                name, low = _NUMBERS[word]
                given = words[at] if at < len(words) and words[at] not in _WORDS else ""
                at += bool(given)
                if not re.fullmatch(r"[+-]?[0-9]+", given):
                    refused.append(f"{word}: a whole number follows, not {clip(given)!r}")
                elif (number := int(given[:DIGITS])) < low and word not in _CLOCKS:
                    refused.append(f"{word} is {low} or more, not {clip(given)}")
                else:
                    number = min(max(number, low), MOST)
                    limits = replace(limits, **{name: number})  # type: ignore[arg-type]  # fields that are numbers
            else:
                refused.append(f"no limit is called {clip(word)!r}")
        if refused:
            more = f" (and {len(refused) - 1} more)" if len(refused) > 1 else ""
            hint = ""
            if limits.is_endless and not limits.infinite and limits.perft is None:
                limits = replace(limits, move_time=0)
                hint = "; nothing else ends the search: the answer comes at once"
            self.say(f"go: {refused[0]}{more}{hint}")
        return limits


_NUMBERS: Final = {
    "wtime": ("white_time", 0),
    "btime": ("black_time", 0),
    "winc": ("white_increment", 0),
    "binc": ("black_increment", 0),
    "movestogo": ("moves_to_go", 1),
    "movetime": ("move_time", 0),
    "nodes": ("nodes", 1),
    "depth": ("depth", 1),
    "mate": ("mate", 1),
    "perft": ("perft", 0),
}
"""Limits that are numbers: the field of each, and the least that makes sense."""


_CLOCKS: Final = ("wtime", "btime")
"""GUIs send a clock that is overstepped as a number below 0: there is nearly no time then."""


_WORDS: Final = {*_NUMBERS, "searchmoves", "infinite", "ponder"}


def _version() -> str:
    import importlib.metadata

    return importlib.metadata.version("selfmate")


def _lines(source: int, output: int) -> Iterator[str | None]:
    """Yield lines as they come, None for one that is too long; end with the input, or when nobody reads the output."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(output, 0)  # only what is never asked for: errors, and the other end gone
    rest = b""
    dropping = False
    while True:
        for descriptor, _ in poll.poll():
            if descriptor == output:
                return
        try:
            data = os.read(source, 1 << 16)
        except OSError:  # closed before we began
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
