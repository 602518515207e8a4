"""Atomic writes that survive a loss of power, checksums of files, and one clear error when the disk is full."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from selfmate.errors import SelfmateError

__all__ = [
    "OUTPUT_ADVICE",
    "FileError",
    "Stamp",
    "append_output",
    "check_apart",
    "check_target",
    "explain_full_disk",
    "new_folder",
    "remove",
    "stamp_folder",
    "stamp_of",
    "write_file",
    "write_output",
]

FREE_FLOOR: Final = 64 << 20
"""Bytes that are left free: a write that would leave less is refused before the disk is full."""
FULL_DISK_ADVICE: Final = "nothing committed is lost: free some space and run the same command again"
"""Of files of a run."""
OUTPUT_ADVICE: Final = "nothing was written there: free some space, or name a file on another disk"
"""Of a file that a user named."""


class FileError(SelfmateError):
    """A file cannot be written."""


class Stamp(Struct, frozen=True):
    """Size and checksum of a committed file."""

    bytes: int
    sha256: str


def check_target(path: Path | None) -> None:
    """Raise `FileError` if `path` cannot be written later: no such folder, a folder itself, not writable, a full disk.

    >>> check_target(Path("/no/such/folder/games.pgn"))
    Traceback (most recent call last):
    ...
    selfmate.util.files.FileError: /no/such/folder/games.pgn: there is no such folder
    """
    if path is None:
        return
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileError(f"{path}: there is no such folder", str(path))
    if path.is_dir():
        raise FileError(f"{path}: a folder, not a file", str(path))
    if not os.access(path if path.exists() else folder, os.W_OK):
        is_read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
        reason = "the disk is read-only" if is_read_only else "permission denied"
        raise FileError(f"{path}: cannot be written: {reason}", str(path))
    if not path.exists() or path.is_file():
        _check_free(path.absolute(), 0, OUTPUT_ADVICE)


def check_apart(path: Path | None, source: Path | None, option: str) -> None:
    """Raise `FileError` if writing `path` would change what is read: the file `source`, or a file in that folder.

    >>> check_apart(Path("games.pgn"), Path("games.pgn"), "--output")
    Traceback (most recent call last):
    ...
    selfmate.util.files.FileError: games.pgn: this file is being read; choose another for --output
    >>> check_apart(Path("run/metrics.jsonl"), Path("run"), "-o")
    Traceback (most recent call last):
    ...
    selfmate.util.files.FileError: run/metrics.jsonl: lies in run, which is being read; choose another place for -o
    """
    if path is None or source is None:
        return
    target, read = path.resolve(), source.resolve()
    if target == read or (path.exists() and source.exists() and path.samefile(source)):
        raise FileError(f"{path}: this file is being read; choose another for {option}", str(path))
    if read in target.parents:
        reason = f"lies in {source}, which is being read; choose another place for {option}"
        raise FileError(f"{path}: {reason}", str(path))


def write_file(path: Path, data: bytes, advice: str = FULL_DISK_ADVICE) -> Stamp:
    """Write a file atomically, also across a loss of power, and return its stamp; `advice` is that on a full disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stamp = write_file(Path(folder) / "a", b"abc")
    ...     stamp.bytes, sorted(entry.name for entry in Path(folder).iterdir())
    (3, ['a'])
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with explain_full_disk(path, len(data), advice):
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
        except OSError as error:
            _name_target(error, temporary, path)
            temporary.unlink(missing_ok=True)
            raise
    return stamp_of(data)


def write_output(path: Path, data: bytes) -> None:
    """Write to a path that a user named: a link is followed, a device or a pipe is written to directly.

    >>> write_output(Path("/dev/null"), b"abc")
    >>> Path("/dev/null").is_char_device()
    True
    """
    if not path.exists() or path.is_file():
        write_file(path.resolve(), data, OUTPUT_ADVICE)
        return
    try:
        with path.open("wb") as file:
            file.write(data)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", str(path)) from error


def append_output(path: Path, data: bytes) -> None:
    """Append to a path that a user named; a file to which not all of it can be written is as it was before.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append_output(Path(folder) / "a", b"abc")
    ...     append_output(Path(folder) / "a", b"def")
    ...     (Path(folder) / "a").read_bytes()
    b'abcdef'
    """
    existed = path.exists()
    with path.open("ab", buffering=0) as file:
        size = file.tell() if path.is_file() else None  # None: a device or a pipe
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            if size is not None:
                file.truncate(size)
            if not existed:
                path.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def new_folder(path: Path, size: int = 0) -> Iterator[Path]:
    """Yield a temporary folder to write files into; at the end sync them and rename the folder to `path`.

    `size` is the number of bytes that will be written, for the check of free space. Whatever is at `path` already was
    never committed and is removed.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with explain_full_disk(path, size):
        try:
            remove(temporary)
            temporary.mkdir()
            yield temporary
            for entry in (temporary, *sorted(temporary.rglob("*"))):
                (_sync_folder if entry.is_dir() else _sync_file)(entry)
            remove(path)
            temporary.rename(path)
            _sync_folder(path.parent)
        except BaseException as error:
            _name_target(error, temporary, path)
            remove(temporary)
            raise


def stamp_folder(path: Path) -> dict[str, Stamp]:
    """Return the stamp of every file of a folder, by file name."""
    return {file.name: stamp_of(file.read_bytes()) for file in sorted(path.iterdir())}


@contextlib.contextmanager
def explain_full_disk(path: Path, size: int, advice: str = FULL_DISK_ADVICE) -> Iterator[None]:
    """Raise `FileError` with `advice` if the disk is full within the block, or before it if `size` bytes do not fit."""
    _check_free(path, size, advice)
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise FileError(f"{path}: {error.strerror}; {advice}", str(path)) from error
        raise


def _check_free(path: Path, size: int, advice: str) -> None:
    """Raise `FileError` if `size` bytes and `FREE_FLOOR` are not free in the folder of `path`."""
    free = shutil.disk_usage(path.parent).free
    if free < size + FREE_FLOOR:
        needed = -(-(size + FREE_FLOOR) >> 20)
        reason = f"the disk is nearly full ({free >> 20} MiB free, {needed} MiB needed)"
        raise FileError(f"{path.parent}: {reason}; {advice}", str(path))


def _name_target(error: BaseException, temporary: Path, path: Path) -> None:
    """Let an error name the path that was asked for, not the temporary one."""
    if isinstance(error, OSError) and error.filename == str(temporary):
        error.filename = str(path)


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file or a folder with its contents, if it exists; links are removed, not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def stamp_of(data: bytes) -> Stamp:
    """Return the stamp of a file with these contents."""
    return Stamp(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
