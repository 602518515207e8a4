"""Why a training that the studio started has failed: the last line of its output, which is kept beside the games.

`selfmate train` ends a failure (a full disk, say) with one line that begins with `selfmate: `. A process that could not
write it, because the system killed it or by a fault of the program, gets such a line when its end is noticed.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path
from typing import Final

__all__ = ["failure_of", "wait_for_end"]

PREFIX: Final = "selfmate: "
MOST_TAIL_BYTES: Final = 4096
MOST_CHARACTERS: Final = 300
CLOCK_SECONDS: Final = 1.0
"""By how much the times of two files may differ that were written at once."""
ENDED_AS_ASKED: Final = (0, 130, 143, -signal.SIGINT, -signal.SIGTERM)
"""Exit codes of a training that was complete, or was asked to end by Ctrl-C or SIGTERM."""


def failure_of(log: Path, directory: Path) -> str:
    """Return why the training with this output failed, in one sentence; empty if it did not.

    The output of a run that was trained further by another command since is out of date, and is not read.
    """
    state = directory / "state.json"
    try:
        if state.exists() and log.stat().st_mtime < state.stat().st_mtime - CLOCK_SECONDS:
            return ""
    except OSError:  # there is no output: it was not started here
        return ""
    lines = _tail(log)
    if not lines or not lines[-1].startswith(PREFIX):
        return ""
    return lines[-1].removeprefix(PREFIX).replace(f"{directory}/", "")[:MOST_CHARACTERS]


def wait_for_end(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for a training, and note in its output why it failed, if that is not its last line already."""
    code = process.wait()
    if code in ENDED_AS_ASKED:
        return
    lines = _tail(log)
    if lines and lines[-1].startswith(PREFIX):
        return
    said = next((line for line in reversed(lines) if line.startswith(PREFIX)), None)
    if said is None and code == -signal.SIGKILL:
        said = f"{PREFIX}the training was killed, perhaps for want of memory"
    elif said is None and code < 0:
        said = f"{PREFIX}the training was ended by signal {-code}"
    elif said is None:
        said = f"{PREFIX}the training failed: {lines[-1] if lines else f'exit code {code}'}"
    with contextlib.suppress(OSError), log.open("a", encoding="utf-8") as file:
        file.write(f"\n{said}\n")


def _tail(log: Path) -> list[str]:
    """Return the last lines of a file that are not empty; none if it cannot be read."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - MOST_TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]
