"""What this machine can do: processor, memory, GPU, backends, packages, engines, nets and folders.

Everything is tried, not guessed: a backend is ready when it has evaluated a position with a shipped net, a folder is
writable when a file was made in it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import re
import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from selfmate import _cpu
from selfmate._core import cpu_kernels
from selfmate.board.position import Position
from selfmate.cli.build_info import Build, read_build
from selfmate.cli.common import pip_line
from selfmate.errors import SelfmateError
from selfmate.evaluator.backends import BACKENDS, Backend
from selfmate.ladder.reference_engines import STOCKFISH, installed_fairies
from selfmate.match.uci_client import FIRST_REPLY, MORE_FOLDERS, EngineError, EngineSpec, UciClient
from selfmate.nn import shipped
from selfmate.util.cpu import cores, processor_name
from selfmate.util.packages import pip_command

__all__ = ["Diagnosis", "Engine", "Folder", "Package", "diagnose"]

State = Literal["ready", "missing", "broken"]
"""`missing` can be installed; `broken` is there and does not work."""

NOT_FOR_USERS: Final = {"dev", "docs"}
"""Extras of pyproject.toml that are of no use without the source tree."""
REQUIREMENT: Final = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(?:>=\s*([0-9.]+))?[^;]*(?:;(.*))?")
"""Name, least version and marker of a line of the package's metadata."""


class Machine(Struct, frozen=True):
    """Processor and memory."""

    system: str
    processor: str
    cores: int
    """Logical processors that this process may use."""
    runs_cores: tuple[str, ...]
    """Builds of the core that this processor can run."""
    kernels: str
    """Instruction set of the kernels that compute nets: `base`, `avx2` or `avx512`."""
    memory_bytes: int
    """Of the machine, or the limit of its container; 0 where the system does not tell."""
    available_bytes: int
    """Free without swapping; 0 where the system does not tell."""


class Gpu(Struct, frozen=True):
    """A GPU that PyTorch can use."""

    name: str
    memory_bytes: int


class Graphics(Struct, frozen=True):
    """GPUs, or the reason why there is none."""

    gpus: tuple[Gpu, ...]
    reason: str
    """Why no GPU can be used; empty where one can."""


class BackendReport(Struct, frozen=True):
    """A backend, after it has evaluated a position."""

    name: str
    state: State
    note: str
    """Why it is missing or broken; empty where it is ready."""


class Package(Struct, frozen=True):
    """A package that Selfmate needs, or that an extra adds."""

    name: str
    extra: str
    """Empty for a package that is always needed."""
    state: State
    version: str
    """The installed version; empty where there is none."""
    needed: str
    """The least version; empty where any will do."""


class Engine(Struct, frozen=True):
    """A UCI engine of another project."""

    command: tuple[str, ...]
    state: State
    name: str
    """As it reports it; of a broken engine, what is wrong with it."""


class NetReport(Struct, frozen=True):
    """A shipped net, after its files were compared with their checksums."""

    name: str
    variant: str
    state: State


class Folder(Struct, frozen=True):
    """A folder that Selfmate writes to."""

    path: str
    writable: bool
    free_bytes: int
    reason: str
    """Why it is not writable."""


class Diagnosis(Struct, frozen=True):
    """Everything that `selfmate doctor` reports."""

    build: Build
    machine: Machine
    graphics: Graphics
    backends: tuple[BackendReport, ...]
    packages: tuple[Package, ...]
    stockfish: Engine | None
    fairy_stockfish: tuple[Engine, ...]
    nets: tuple[NetReport, ...]
    runs: Folder
    problems: tuple[str, ...]
    """Needed things that are broken, a line each."""

    @property
    def missing_extras(self) -> list[str]:
        """Extras with a package that is missing or too old."""
        return sorted({each.extra for each in self.packages if each.extra and each.state != "ready"})


def diagnose(runs: Path = Path("runs")) -> Diagnosis:
    """Return what this machine can do; `runs` is the folder that runs are written to. Takes some seconds."""
    packages, graphics = _packages(), _graphics()
    problems = [_package_problem(each) for each in packages if not each.extra and each.state != "ready"]
    nets: tuple[NetReport, ...] = ()
    try:
        nets = _nets()
    except SelfmateError as error:
        problems.append(str(error))
    problems += [
        f"the shipped net {each.name} is damaged; install Selfmate again" for each in nets if each.state != "ready"
    ]
    backends = _backends(nets, graphics)
    # A backend of the default install is needed; one of an extra may be broken.
    needed = {name for name, backend in BACKENDS.items() if not backend.package}
    problems += [
        f"the backend {each.name} does not work: {each.note}"
        for each in backends
        if each.name in needed and each.state == "broken"
    ]
    return Diagnosis(
        build=read_build(),
        machine=_machine(),
        graphics=graphics,
        backends=backends,
        packages=packages,
        stockfish=_stockfish(),
        fairy_stockfish=tuple(_start(command) for command in installed_fairies()),
        nets=nets,
        runs=_folder(runs),
        problems=tuple(problems),
    )


# -- the parts --------------------------------------------------------------------------------------------------------


def _machine() -> Machine:
    total = available = 0
    with contextlib.suppress(OSError, ValueError, AttributeError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError):
        found = re.search(r"^MemAvailable:\s*(\d+) kB$", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
        available = 1024 * int(found[1]) if found else 0
    with contextlib.suppress(OSError, ValueError):  # the limit of a container; `max` where there is none
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))
        total, available = min(total or limit, limit), min(available, limit)
    return Machine(
        system=platform.platform(),
        processor=processor_name(),
        cores=cores(),
        runs_cores=tuple(name for name in ("v2", "v3") if _cpu.can_run(name) and _has_core(name)),
        kernels=cpu_kernels(),
        memory_bytes=total,
        available_bytes=available,
    )


def _has_core(name: str) -> bool:
    return importlib.util.find_spec(f"selfmate._core_{name}") is not None


def _graphics() -> Graphics:
    has_driver = Path("/proc/driver/nvidia/version").exists()
    if importlib.util.find_spec("torch") is None:
        there = "there is an NVIDIA driver, but " if has_driver else ""
        return Graphics((), f"{there}PyTorch is not installed: {pip_line('train')}")
    try:
        import torch

        if not torch.cuda.is_available():
            built = torch.version.cuda
            why = f"PyTorch {torch.__version__} has no CUDA" if built is None else "PyTorch finds no GPU"
            return Graphics((), f"{why}; there is {'an' if has_driver else 'no'} NVIDIA driver")
        properties = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
        return Graphics(tuple(Gpu(each.name, each.total_memory) for each in properties), "")
    except Exception as error:  # an installation may be broken in any way
        return Graphics((), f"PyTorch does not load: {_one_line(error)}")


def _packages() -> tuple[Package, ...]:
    found = []
    for line in metadata.requires("selfmate") or []:
        matched = REQUIREMENT.fullmatch(line)
        if matched is None:
            continue
        name, least, marker = matched[1], matched[2] or "", matched[3] or ""
        named = re.search(r"""extra\s*==\s*["']([^"']+)["']""", marker)
        extra = named[1] if named else ""
        if extra in NOT_FOR_USERS:
            continue
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            found.append(Package(name, extra, "missing", "", least))
            continue
        state: State = "ready" if _numbers(version) >= _numbers(least) else "missing"
        found.append(Package(name, extra, state, version, least))
    return tuple(sorted(found, key=lambda each: (each.extra, each.name)))


def _package_problem(package: Package) -> str:
    wrong = f"{package.version} is too old" if package.version else "is not installed"
    least = f">={package.needed}" if package.needed else ""
    return f"{package.name} {wrong}; run: pip install '{package.name}{least}'"


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, to compare: those before the first part that is no number."""
    matched = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    return tuple(int(part) for part in matched[0].split(".")) if matched else ()


def _backends(nets: tuple[NetReport, ...], graphics: Graphics) -> tuple[BackendReport, ...]:
    """Evaluate the start position with each backend and the smallest of the nets; nothing without a net."""
    folders = {net.name: net.folder for net in shipped.shipped()} if nets else {}
    usable = [net for net in nets if net.state == "ready"]
    if not usable:
        return ()
    net = min(usable, key=lambda each: sum(file.stat().st_size for file in folders[each.name].iterdir()))
    return tuple(_try_backend(backend, net, graphics) for backend in BACKENDS.values())


def _try_backend(backend: Backend, net: NetReport, graphics: Graphics) -> BackendReport:
    if not backend.is_installed:
        return BackendReport(backend.name, "missing", pip_command(backend.package))
    if backend.device == "cuda" and not graphics.gpus:
        return BackendReport(backend.name, "missing", graphics.reason)
    from selfmate.search.limit import Limit
    from selfmate.search.player import Player

    try:
        Player(net.name, backend=backend.name).search(Position(net.variant), Limit(visits=2))
    except Exception as error:  # an installation may be broken in any way
        return BackendReport(backend.name, "broken", _one_line(error))
    return BackendReport(backend.name, "ready", "")


def _stockfish() -> Engine | None:
    path = shutil.which(STOCKFISH, path=os.environ.get("PATH", os.defpath) + os.pathsep + MORE_FOLDERS)
    return None if path is None else _start((path,))


def _start(command: tuple[str, ...]) -> Engine:
    """Start an engine once, for its name."""
    try:
        with UciClient(EngineSpec(command=command), first_reply=FIRST_REPLY) as engine:
            return Engine(command, "ready", engine.name)
    except (EngineError, OSError) as error:
        return Engine(command, "broken", _one_line(error))


def _nets() -> tuple[NetReport, ...]:
    found = []
    for net in shipped.shipped():
        state: State = "ready"
        try:
            shipped.check(net)
        except (SelfmateError, OSError):
            state = "broken"
        found.append(NetReport(net.name, net.variant, state))
    return tuple(found)


def _folder(path: Path) -> Folder:
    """Try to write into a folder, or into the nearest one above it that exists."""
    here = path.absolute()
    existing = next(each for each in (here, *here.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"x")
        return Folder(str(here), True, shutil.disk_usage(existing).free, "")
    except OSError as error:
        return Folder(str(here), False, 0, error.strerror or str(error))


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
