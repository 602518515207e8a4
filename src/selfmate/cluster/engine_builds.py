"""Is an engine the same program on every machine? Its files have the same bytes there, and it gives the same name."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from selfmate.cluster.messages import ClusterError, one_line
from selfmate.errors import SelfmateError, clip
from selfmate.match.uci_client import EngineSpec, UciClient

__all__ = ["EngineBuild", "EngineQuestion", "ask_about", "build_of", "check_builds"]


class EngineQuestion(Struct, frozen=True, kw_only=True):
    """An engine, and the files that are compared."""

    command: list[str]
    directory: str | None
    environment: dict[str, str]
    files: list[str]  # words of the command and values of options that are files on the driver; the program is apart

    def spec(self) -> EngineSpec:
        """Return the engine without options."""
        directory = None if self.directory is None else Path(self.directory)
        return EngineSpec(command=tuple(self.command), directory=directory, environment=self.environment)


class EngineBuild(Struct, frozen=True, kw_only=True):
    """What a machine has of an engine."""

    name: str = ""  # as it reports it
    digests: dict[str, str] = {}  # sha256 by file, the program first
    problem: str = ""  # why there is none


def ask_about(engine: EngineSpec) -> EngineQuestion:
    """Return the question for an engine of this machine."""
    words = [*engine.command[1:], *(value for _, value in engine.options)]
    return EngineQuestion(
        command=list(engine.command),
        directory=None if engine.directory is None else str(engine.directory),
        environment=dict(engine.environment),
        files=[word for word in dict.fromkeys(words) if _is_file(_path(word, engine.directory))],
    )


def build_of(question: EngineQuestion) -> EngineBuild:
    """Return what this machine has of an engine; it is started once for its name."""
    spec = question.spec()
    try:
        digests = {question.command[0]: _digest(Path(spec.program()))}
        for file in question.files:
            path = _path(file, spec.directory)
            if not _is_file(path):
                return EngineBuild(problem=f"there is no file {file}")
            digests[file] = _digest(path)
        with UciClient(spec) as engine:
            return EngineBuild(name=engine.name, digests=digests)
    except (SelfmateError, OSError) as error:
        return EngineBuild(problem=one_line(str(error)))


def check_builds(machine: str, theirs: Sequence[EngineBuild], ours: Sequence[EngineBuild]) -> None:
    """Raise one line for the first engine that is another one on a machine than here.

    >>> here = EngineBuild(name="Fish 16", digests={"fish": "5b" * 32})
    >>> check_builds("node2", [EngineBuild(name="Fish 17", digests={"fish": "77" * 32})], [here])
    Traceback (most recent call last):
    ...
    selfmate.cluster.messages.ClusterError: node2 has another fish (Fish 17, sha256 777777777777) than this machine \
(Fish 16, sha256 5b5b5b5b5b5b); install the same build on both
    """
    for their, our in zip(theirs, ours, strict=True):
        program = next(iter(our.digests))
        if their.problem:
            raise ClusterError(
                f"{machine} cannot use {clip(Path(program).name)}: {their.problem}; install it there", machine
            )
        for file, digest in our.digests.items():
            if their.digests.get(file) != digest or their.name != our.name:
                found = their.digests.get(file, "none")
                raise ClusterError(
                    f"{machine} has another {clip(Path(file).name)} ({clip(their.name)}, sha256 {found[:12]}) than "
                    f"this machine ({clip(our.name)}, sha256 {digest[:12]}); install the same build on both",
                    machine,
                )


def _path(word: str, directory: Path | None) -> Path:
    return Path(directory or "", word)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long, or not a path
        return False


def _digest(path: Path) -> str:
    status = path.stat()
    return _file_digest(path.resolve(), status.st_size, status.st_mtime_ns)


@functools.cache
def _file_digest(path: Path, size: int, changed: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
