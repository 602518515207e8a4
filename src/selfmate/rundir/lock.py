"""The lock of a run directory, held by the one trainer at work in it."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import IO

from selfmate.rundir.format import RunError

__all__ = ["lock_directory"]


def lock_directory(directory: Path, *, reading: bool = False) -> IO[str] | None:
    """Lock the directory for this process until the returned file is closed; the system does so when it ends.

    Raises `RunError` when another process holds the lock. With `reading`, a directory that cannot be written to needs
    no lock: None is returned.
    """
    try:
        lock = (directory / "lock").open("a+")
    except OSError as error:
        if reading and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            return None
        raise
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        holder = lock.read(20).strip() or "unknown"
        lock.close()
        raise RunError(
            f"{directory}: in use by another trainer (process {holder}); stop it, or use another directory",
            str(directory),
        ) from error
    # The number is only for the message above: without it, a full disk is found by the first write that matters.
    with contextlib.suppress(OSError):
        lock.truncate(0)
        os.write(lock.fileno(), f"{os.getpid()}\n".encode())
    return lock
