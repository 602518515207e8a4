"""What a machine of a cluster has to be like: the same Python, the same Selfmate, memory and GPUs for its workers.

A driver asks every machine (`make_probe`) before it starts anything there.
"""

from __future__ import annotations

import functools
import hashlib
import platform
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import selfmate
from selfmate.cluster.engine_builds import EngineBuild, EngineQuestion, build_of, check_builds
from selfmate.cluster.messages import ClusterError, one_line
from selfmate.recipe.schema import Recipe
from selfmate.train.memory import check_trees
from selfmate.util.memory import memory_bytes

__all__ = ["MachineFacts", "check_machine", "describe_machine", "make_probe", "read_facts"]


class MachineFacts(Struct, frozen=True, kw_only=True):
    """What a machine says about itself."""

    python: str
    problem: str = ""  # why Selfmate cannot be imported there
    selfmate: str = ""  # version
    sources: str = ""  # digest of the package's sources
    memory: int = 0  # bytes
    gpus: int = 0  # that torch sees
    engines: tuple[EngineBuild, ...] = ()  # those that were asked for


def describe_machine(engines: Sequence[EngineQuestion] = ()) -> dict[str, Any]:
    """Return the facts of this machine (`MachineFacts`), with those of engines."""
    import torch

    return {
        "python": platform.python_version(),
        "selfmate": metadata.version("selfmate"),
        "sources": _source_digest(),
        "memory": memory_bytes(),
        "gpus": torch.cuda.device_count(),
        "engines": [msgspec.to_builtins(build_of(each)) for each in engines],
    }


@functools.cache
def _source_digest() -> str:
    """Return a digest of the package's Python sources and of the stub of its core.

    The version alone does not tell two development builds apart. The core itself is compiled for each machine.
    """
    package = Path(selfmate.__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), package / "_core.pyi"]):
        digest.update(f"{path.relative_to(package).as_posix()}\0".encode())
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()[:12]


def make_probe(engines: Sequence[EngineQuestion] = ()) -> Callable[[], str]:
    """Return a function that runs on a machine and returns its facts, with those of engines, as JSON.

    It is sent by value, as a function within a function, so that it also runs where Selfmate is missing or another one.
    """
    asked = msgspec.json.encode(engines).decode()

    def probe() -> str:
        import json
        import platform

        python = platform.python_version()
        try:
            import msgspec

            from selfmate.cluster.engine_builds import EngineQuestion
            from selfmate.cluster.identity import describe_machine

            return json.dumps(describe_machine(msgspec.json.decode(asked, type=list[EngineQuestion])))
        except Exception as error:
            return json.dumps({"python": python, "problem": f"{type(error).__name__}: {error}"})

    return probe


def read_facts(answer: object) -> MachineFacts:
    """Return the facts of a probe's answer; raise `ClusterError` for anything else."""
    try:
        return msgspec.json.decode(answer if isinstance(answer, str) else b"", type=MachineFacts)
    except msgspec.DecodeError as error:
        raise ClusterError(f"the answer of a probe cannot be read: {error}") from None


def check_machine(
    name: str, facts: MachineFacts, ours: MachineFacts, recipe: Recipe | None, *, device: str, pools: int
) -> None:
    """Raise one line if so many workers cannot play a recipe on a machine as they would on this one (`ours`).

    Without a recipe its memory does not matter.

    >>> from selfmate.recipe.reader import load
    >>> ours = MachineFacts(python="3.11.7", selfmate="0.1.0", sources="5b", memory=1 << 33)
    >>> theirs = msgspec.structs.replace(ours, selfmate="0.2.0")
    >>> check_machine("node2", theirs, ours, load("gardner-laptop"), device="cpu", pools=1)
    Traceback (most recent call last):
    ...
    selfmate.cluster.messages.ClusterError: node2 has Selfmate 0.2.0, this machine 0.1.0; install the same on both
    """
    if facts.python != ours.python:
        raise ClusterError(f"{name} has Python {facts.python}, this machine {ours.python}; use the same on both", name)
    if facts.problem:
        raise ClusterError(
            f"{name} cannot use Selfmate ({one_line(facts.problem)}); install selfmate[ray,train] there, "
            f"version {ours.selfmate}",
            name,
        )
    if facts.selfmate != ours.selfmate:
        raise ClusterError(
            f"{name} has Selfmate {facts.selfmate}, this machine {ours.selfmate}; install the same on both", name
        )
    if facts.sources != ours.sources:
        raise ClusterError(
            f"{name} has other sources of Selfmate {ours.selfmate} ({facts.sources}, here {ours.sources}); "
            f"install the same on both",
            name,
        )
    if device != "cpu" and facts.gpus < 1:
        raise ClusterError(
            f"{name}: Ray counts a GPU there, and torch sees none; install a torch with CUDA, or give --device cpu",
            name,
        )
    check_builds(name, facts.engines, ours.engines)
    if recipe is not None:
        check_trees(recipe, facts.memory, name, pools)
