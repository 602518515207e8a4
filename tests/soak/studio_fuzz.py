"""Random requests over the studio's WebSocket: made from the schema of the messages, then often damaged.

    PYTHONPATH=tests/helpers python tests/soak/studio_fuzz.py --messages 100000      # `make soakstudio`

The server must answer afterwards, log no exception, and send no traceback and no path of this machine. A part of the
requests is valid and does what it says: games, analyses, matches of two games. Nothing is trained or installed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import random
import tempfile
import threading
import typing
from pathlib import Path
from typing import Any

import msgspec.inspect as schema
from msgspec import NODEFAULT
from websockets.exceptions import ConnectionClosed

from selfmate.studio import messages
from studio_server import StudioServer, studio_server

__all__ = ["Fuzzer", "fuzz"]

REQUESTS = [each for each in typing.get_args(messages.AnyRequest) if each is not messages.InstallTraining]
VARIANTS = ["chess", "atomic", "gardner", "chess960", "3check", "nothing", "CHESS", "../chess"]
PLAYERS = ["heuristic-1", "random", "gardner-laptop", "uniform", "run/x/0", "engine/x", "../../etc/passwd", "uci:cat"]
MOVES = ["e2e4", "e7e5", "g1f3", "a2a3", "e1e8", "0000", "e7e8q", "a1a1", "zzzz", "e2e4x"]
FENS = [
    "",
    "4k/5/5/5/K1Q2 w - - 0 1",
    "8/8/8/8/8/8/8/8 w - - 0 1",
    "startpos",
    "x" * 200,
    "4k3/8/8/8/8/8/8/4K3 b - - 9 9",
]
STRANGE: list[Any] = [None, True, -1, 0, 1e308, 2**63, "", "x" * 5000, [], {}, [[]], "\ud800", "\0", "<script>", "../x"]
LEAKS = ("Traceback", 'File "', "site-packages", "/home/", f"{Path.home()}/")


class Fuzzer:
    """Makes requests; the same seed makes the same ones."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.games: list[str] = []

    def text(self) -> str:
        """Return the text of a frame."""
        rng = self.rng
        request = rng.choice(REQUESTS)
        body = self._struct(schema.type_info(request))
        body["ask"] = rng.randrange(1, 1000)
        self._tame(body)
        if rng.random() < 0.3:  # a field too many, too few, or of another type
            name = rng.choice([*body, "extra"])
            if rng.random() < 0.3:
                body.pop(name, None)
            else:
                body[name] = rng.choice(STRANGE)
        text = json.dumps(body)
        if rng.random() < 0.1:
            at = rng.randrange(len(text))
            text = rng.choice([text[:at], text[:at] + chr(rng.randrange(1, 0x2FF)) + text[at:], text * 2])
        return text

    def _tame(self, body: dict[str, Any]) -> None:
        """Keep what costs time short: what is tested is input, not search."""
        if body["type"] == "run.start":
            body["recipe"] = self.rng.choice(["", "nothing", "../gardner-laptop", "/etc/passwd"])
            body["resume"] = self.rng.choice(["nothing", "../..", "."])
        if "visits" in body:
            body["visits"] = self.rng.choice([1, 4])
        if body["type"] in ("analysis.start", "engine.start"):
            body["seconds"] = 0.05
        if body["type"] == "match.start":
            body |= {"games": 2, "visits": 1}
        if "playouts" in body:
            body["playouts"] = 3

    def _struct(self, info: Any) -> dict[str, Any]:
        made: dict[str, Any] = {} if info.tag is None else {info.tag_field: info.tag}
        for field in info.fields:
            is_optional = field.default is not NODEFAULT or field.default_factory is not NODEFAULT
            if not is_optional or self.rng.random() < 0.7:
                made[field.encode_name] = self._value(field.encode_name, field.type)
        return made

    def _value(self, name: str, info: Any) -> Any:
        rng = self.rng
        known = {"variant": VARIANTS, "player": PLAYERS, "first": PLAYERS, "second": PLAYERS, "engine": PLAYERS}
        known |= {"uci": MOVES, "only": MOVES, "fen": FENS}
        if name in known:
            return rng.choice(known[name])
        if name == "moves":
            return rng.choices(MOVES, k=rng.randrange(4))
        if name == "id":
            return rng.choice([*self.games[-5:], "0" * 16, "../x"])
        if isinstance(info, schema.UnionType):
            return self._value(name, rng.choice(info.types))
        if isinstance(info, schema.StructType):
            return self._struct(info)
        if isinstance(info, schema.ListType):
            return [self._value("", info.item_type) for _ in range(rng.randrange(3))]
        if isinstance(info, schema.DictType):
            return {self._value("", info.key_type): self._value("", info.value_type) for _ in range(rng.randrange(3))}
        if isinstance(info, schema.LiteralType):
            return rng.choice(info.values)
        if isinstance(info, schema.IntType):
            return rng.choice([info.ge or 0, (info.ge or 0) + 1, 4])
        if isinstance(info, schema.FloatType):
            return rng.choice([0.5, 2.0, 60.0])
        if isinstance(info, schema.NoneType):
            return None
        if isinstance(info, schema.BoolType):
            return rng.random() < 0.5
        return rng.choice(["x", "1. e4 e5 (1... c5) *", '[Variant "Atomic"]\n\n1. Nf3 *', "a.b=1", "selfplay.visits=0"])


class Listener(logging.Handler):
    """Collects what the server logs."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record with its traceback."""
        self.lines.append(self.format(record))


def fuzz(server: StudioServer, folder: Path, count: int, seed: int) -> int:
    """Send `count` frames over several connections, and return the number of answers; a fault is an error."""
    fuzzer, listener, answers = Fuzzer(seed), Listener(), 0
    log = logging.getLogger("selfmate.studio")
    log.addHandler(listener)
    try:
        sent = 0
        while sent < count:
            with server.page() as page:
                # Below the burst of the limit of requests, so that no connection is cut off for speed.
                for _ in range(min(count - sent, 100)):
                    page.socket.send(fuzzer.text().encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
                    sent += 1
                with contextlib.suppress(ConnectionClosed):
                    page.ask("game.list", 60)
                for answer in page.heard:
                    answers += 1
                    text = json.dumps(answer)
                    leaks = [word for word in (*LEAKS, str(folder)) if word in text]
                    assert not leaks, (leaks, text[:500])
                    assert "terminal" not in str(answer.get("message", "")), text[:500]
                    if answer["type"] == "game.view":
                        fuzzer.games.append(answer["id"])
        with server.page() as page:
            assert page.ask("hello", 60)["type"] == "welcome"
    finally:
        log.removeHandler(listener)
    assert not [line for line in listener.lines if "Traceback" in line], listener.lines[:3]
    return answers


def rss_mib() -> float:
    """Return the memory of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, studio_server(Path(name)) as server:
        folder = Path(name)
        parts = max(1, given.messages // 2000)
        for part in range(parts):
            answers = fuzz(server, folder, given.messages // parts, given.seed + part)
            print(
                f"{(part + 1) * (given.messages // parts):,} messages, {answers:,} answers to the last part, "
                f"{rss_mib():.0f} MiB, {threading.active_count()} threads",
                flush=True,
            )


if __name__ == "__main__":
    main()
