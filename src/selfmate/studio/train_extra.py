"""What training needs beyond the default install: whether it is there, and its installation from a source checkout.

Playing needs no PyTorch, so it is installed when the first training is asked for. In the environment of a source
checkout (`make run`) the server does it, with the versions of its constraints; elsewhere it says which command does.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from selfmate.errors import MissingExtra, SelfmateError
from selfmate.studio.messages import InstallProgress
from selfmate.util.packages import extra_requirements, pip_command

__all__ = ["TrainExtra"]

EXTRA: Final = "train"
MODULE: Final = "torch"
LONGEST_LINE: Final = 160
Send = Callable[[InstallProgress], None]
log = logging.getLogger("selfmate.studio")


class TrainExtra:
    """The extra `train` of this environment. `log_file` gets what an installation prints."""

    def __init__(self, log_file: Path, *, package: Path = Path(__file__).parents[1]) -> None:
        self._log_file = log_file
        self._constraints = package.parents[1] / "constraints.txt"
        self._lock = threading.Lock()
        self._followers: set[Send] = set()
        self._began = 0.0
        self._progress: InstallProgress | None = None

    @property
    def is_installed(self) -> bool:
        """Whether a training can be started."""
        return importlib.util.find_spec(MODULE) is not None

    @property
    def can_install(self) -> bool:
        """Whether `install` may be called: this is the virtual environment of a source checkout."""
        return not self.is_installed and self._constraints.is_file() and sys.prefix != sys.base_prefix

    @property
    def hint(self) -> str:
        """What to do before a training, in one sentence; empty if there is nothing to do."""
        if self.is_installed:
            return ""
        if self.can_install:
            return "Training needs PyTorch, which is not installed yet (several hundred MB)."
        return f"Training needs PyTorch: run {pip_command(MODULE)}, then start the studio again."

    def check(self) -> None:
        """Raise `MissingExtra` with the hint if training is not possible."""
        if not self.is_installed:
            raise MissingExtra(self.hint)

    def command(self) -> list[str]:
        """Return the command that `install` runs."""
        pip = [sys.executable, "-m", "pip", "install", "--no-compile", "--progress-bar=off", "--no-color"]
        return [*pip, "--constraint", str(self._constraints), *extra_requirements(EXTRA)]

    def install(self, send: Send) -> None:
        """Begin the installation, or follow the one that runs; `send` is called from a thread with its progress."""
        with self._lock:
            self._followers.add(send)
            if self._progress is not None and self._progress.status == "running":
                send(self._progress)
                return
            if not self.can_install:
                raise SelfmateError(self.hint or "PyTorch is installed already")
            self._began = time.monotonic()
            self._tell("running", "Looking for PyTorch")
        threading.Thread(target=self._run, name="install", daemon=True).start()

    def unfollow(self, send: Send) -> None:
        """Send nothing more to a page."""
        self._followers.discard(send)

    def _run(self) -> None:
        last = ""
        try:
            self._log_file.parent.mkdir(parents=True, exist_ok=True)
            with (
                self._log_file.open("w", encoding="utf-8") as kept,
                subprocess.Popen(
                    self.command(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                ) as process,
            ):
                assert process.stdout is not None
                for line in process.stdout:
                    kept.write(line)
                    if line := line.strip():
                        last = line[:LONGEST_LINE]
                        self._tell("running", last)
            code = process.returncode
        except OSError as error:
            code, last = 1, error.strerror or str(error)
        importlib.invalidate_caches()
        if code == 0 and self.is_installed:
            self._tell("done", "PyTorch is installed")
        else:
            log.warning("PyTorch could not be installed: %s (the whole output: %s)", last, self._log_file)
            self._tell("failed", f"PyTorch could not be installed: {last}")

    def _tell(self, status: Literal["running", "done", "failed"], line: str) -> None:
        self._progress = InstallProgress(status=status, line=line, seconds=round(time.monotonic() - self._began, 1))
        for send in list(self._followers):
            send(self._progress)
