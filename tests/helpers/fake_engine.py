"""A small UCI engine with a fault, for tests: `python -S fake_engine.py FAULT [FILE]`.

It plays four moves in turn: a knight of each side out and back, so that a game from the start of chess is drawn by
repetition after eight plies. The fault occurs at its second move, or at the start where the code below says so.
"""

import os
import signal
import sys
import time

FAULT = sys.argv[1] if len(sys.argv) > 1 else "none"
MOVES = ("g1f3", "g8f6", "f3g1", "f6g8")


def say(*lines: str) -> None:
    """Print."""
    for line in lines:
        print(line, flush=True)


def flood() -> None:
    """Print until the pipe is closed."""
    line = "info string " + 1000 * "x" + "\n"
    while True:
        sys.stdout.write(line)


def fail(played: int) -> str | None:
    """Commit the fault; return a move to be played all the same, or None for no answer."""
    move = MOVES[played % 4]
    if FAULT == "illegal":
        return "e2e5"
    if FAULT == "nothing":
        return "(none)"
    if FAULT == "noise":
        sys.stdout.buffer.write(b"\xff\xfe\0garbage\n\n  bestmoves\ninfo depth x score cp\nreadyok\nuciok\n")
        sys.stdout.buffer.write(300_000 * b"z" + b"\n")
        sys.stdout.buffer.flush()
        return move
    if FAULT == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if FAULT == "exit":
        sys.stderr.write("out of cheese\n")
        sys.stderr.flush()
        os._exit(3)
    if FAULT == "disconnect":
        os.close(1)
        time.sleep(600)
    if FAULT == "flood":
        flood()
    if FAULT == "slow":
        time.sleep(0.2)
        return move
    if FAULT == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(600)
    return None if FAULT == "waits" else move


def main() -> None:
    """Speak UCI."""
    # Faults at the start.
    if FAULT == "dies":
        sys.stderr.write("cannot find my weights\n")
        sys.exit(7)
    if FAULT == "floods-at-start":
        flood()
    if FAULT == "fails-later":  # the length of the file is the number of starts that are left
        with open(sys.argv[2], "r+") as file:  # noqa: PTH123  # fewer imports, quicker start
            left = len(file.read())
            if not left:
                sys.exit(9)
            file.truncate(left - 1)
    if FAULT == "child":
        child = os.fork()
        if child == 0:
            time.sleep(600)
        with open(sys.argv[2], "w") as file:  # noqa: PTH123
            file.write(str(child))
    played = 0
    while line := sys.stdin.readline():
        words = line.split()
        if words[:1] == ["uci"] and FAULT == "plays-chess":
            say("option name UCI_Variant type combo default chess var chess var atomic")
        if words[:1] == ["uci"] and FAULT != "silent":
            say("id name Fake " + FAULT)
            time.sleep(3.2 if FAULT == "loads" else 0)
            say("option name Hash type spin default 16 min 1 max 64")
            say("option name Style type combo default calm var calm var wild", "option name Ponder type check")
            say("option without sense", "uciok")
        elif words[:1] == ["isready"] and FAULT != "never-ready":
            say("readyok")
        elif words[:1] == ["position"]:
            played = len(words) - words.index("moves") - 1 if "moves" in words else 0
        elif words[:2] == ["go", "perft"] and FAULT == "plays-chess":
            say("a2a3: 8457", "", "Nodes searched: 197281")
        elif words[:1] == ["go"]:
            move = fail(played) if played in (2, 3) else MOVES[played % 4]
            score = 900 if played % 2 == 0 else -900
            say("info depth 1 score cp 1", f"info depth 2 seldepth 3 multipv 1 score cp {score} nodes 7 pv {move}")
            if move is not None:
                say(f"bestmove {move} ponder a7a6")
        elif words[:1] == ["stop"] and FAULT == "waits":
            say(f"bestmove {MOVES[played % 4]}")
        elif words[:1] == ["quit"] and FAULT != "stays":
            return
    while FAULT == "stays":
        time.sleep(600)


if __name__ == "__main__":
    main()
