"""Starts the studio by a command, plays a move in it, and ends it: what a newcomer has after `make run`.

    python3 tools/check_studio.py make run          # in a fresh clone: seconds to a playable board

The command is started with its input closed and must print the address of the studio. Then the page is asked for over
HTTP, a game over the WebSocket, with the Python of `.venv`; a move must be answered. At the end the command gets
Ctrl-C, as from a terminal, and must end within ten seconds. The exit code is 1 if something of this fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

END_SECONDS = 10
PYTHON = Path(__file__).resolve().parents[1] / ".venv" / "bin" / "python"


def play(address: str, began: float) -> None:
    """Ask for the page and a game, and play a move."""
    from websockets.sync.client import connect  # installed in .venv alone
    from websockets.typing import Origin

    with urllib.request.urlopen(address, timeout=20) as answer:
        cookie = answer.headers["set-cookie"].partition(";")[0]
        if b"<script" not in answer.read():
            raise SystemExit("the first page has no script")
    site = address.rstrip("/")
    headers = {"cookie": cookie}
    with connect(f"{site.replace('http', 'ws', 1)}/ws", origin=Origin(site), additional_headers=headers) as page:
        page.send(json.dumps({"type": "game.new", "ask": 1, "variant": "atomic", "color": "white", "visits": 32}))
        view = json.loads(page.recv(timeout=30))
        if view["type"] != "game.view" or not view["board"]["legal"]:
            raise SystemExit(f"no board: {view}")
        print(f"A playable board after {time.time() - began:.1f} s", flush=True)
        page.send(json.dumps({"type": "game.move", "ask": 2, "id": view["id"], "ply": 0, "uci": "g1f3"}))
        while len(view.get("moves", ())) < 2:
            view = json.loads(page.recv(timeout=30))
            if view["type"] == "failure":
                raise SystemExit(f"the move was refused: {view['message']}")
        print(f"The answer to 1. Nf3 is {view['moves'][1]['san']}", flush=True)


def start_and_play(command: list[str]) -> int:
    """Start a command, play in the studio whose address it prints, end it; return an exit code."""
    began = time.time()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    code = 1
    for line in process.stdout:
        print(line, end="", flush=True)
        if found := re.search(r"http://\S+/", line):
            code = subprocess.run([PYTHON, __file__, "--address", found[0], "--began", str(began)]).returncode
            break
    else:
        print(f"{' '.join(command)} ended without an address", flush=True)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    try:
        process.communicate(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"Ctrl-C has not ended it within {END_SECONDS} s", flush=True)
        os.killpg(process.pid, signal.SIGKILL)
        return 1
    return code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="play in a studio that runs already")
    parser.add_argument("--began", type=float, default=time.time(), help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.address:
        play(given.address, given.began)
    else:
        sys.exit(start_and_play(given.command or ["make", "run"]))


if __name__ == "__main__":
    main()
