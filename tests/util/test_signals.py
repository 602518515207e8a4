"""Stop requests by signals, each in a process of its own: a worker of pytest has other handlers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

WITHIN_A_PRINT = """
import signal, sys, threading
from selfmate.util.signals import Stop, stop_on_signals

number, printing, lines, stop = int(sys.argv[1]), threading.Lock(), [], Stop()

def say(line):
    with printing:
        lines.append(line)

before = signal.getsignal(number)
with stop_on_signals(stop, say, close=lambda: None):
    with printing:  # the main thread is within a print
        signal.raise_signal(number)
        print(stop(), stop.signal == number, lines)
print(lines, signal.getsignal(number) is before)
"""

CLOSED_PIPE = """
import signal, sys
from selfmate.util.signals import Stop, stop_on_signals

def say(line):
    raise BrokenPipeError

stop = Stop()
with stop_on_signals(stop, say, close=lambda: None):
    signal.raise_signal(int(sys.argv[1]))
print(stop.signal)
"""


def run(program: str, number: signal.Signals) -> list[str]:
    command = [sys.executable, "-c", program, str(int(number))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_within_a_print_is_acknowledged_after_it(number: signal.Signals) -> None:
    during, after = run(WITHIN_A_PRINT, number)
    assert during == "True True []"
    assert after == "['Stopping after this step; press Ctrl-C again to quit now.'] True"


def test_a_closed_pipe_does_not_hinder_the_stop() -> None:
    assert run(CLOSED_PIPE, signal.SIGINT) == ["2"]


POOL = """
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
from selfmate.util.signals import end_with_parent

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, initializer=end_with_parent, initargs=(os.getpid(),)) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 60).result()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end a process with its parent")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path: Path, number: int) -> None:
    program = tmp_path / "pool.py"
    program.write_text(POOL)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        os.kill(worker, 0)  # it is there
        parent.send_signal(number)
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.1)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker outlived its parent")
