"""What the commands share: options that several of them have, and the bar that shows how far they are."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from selfmate.errors import SelfmateError, clip

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = [
    "INTERRUPTED",
    "WHO",
    "Json",
    "Settings",
    "Threads",
    "Variant",
    "check_device",
    "check_even",
    "flowing",
    "notice",
    "progress_bar",
]


INTERRUPTED: Final = 130


WHO: Final = (
    "heuristic-1, uniform, random, a shipped net (selfmate nets), a net's folder or .onnx file, or a run "
    "(runs/NAME, runs/NAME:untrained)"
)
"""Players, in help texts."""


Variant = Annotated[str, typer.Argument(help="chess, atomic, gardner, … or chess960, atomic960", show_default=False)]


Threads = Annotated[int | None, typer.Option("--threads", min=1, max=1024, help="Threads (default: all).")]


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable.")
]


def flowing(text: str) -> str:
    """Join the lines of each paragraph of a docstring: a terminal is seldom as wide as our source.

    >>> flowing("One\\ntwo.\\n\\n    Three.\\n    ")
    'One two.\\n\\nThree.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def notice(text: str) -> None:
    """Say a line beside the output of a command."""
    print(f"selfmate: {text}", file=sys.stderr, flush=True)


def check_device(device: str) -> None:
    """Refuse a device that there is not; whether there is a GPU shows when a net is loaded."""
    if re.fullmatch(r"cpu|cuda(:\d{1,3})?", device) is None:
        raise SelfmateError(f"--device: no device is called {clip(device)!r}; there are cpu and cuda", device)


def check_even(games: int | None) -> None:
    """Refuse a number of games that cannot be played in pairs."""
    if games is not None and games % 2:
        near = f"{games - 1} or {games + 1}" if games > 1 else "2"
        raise SelfmateError(f"--games: every opening is played twice, so {games} is not possible; {near} is")


@contextlib.contextmanager
def progress_bar(*, hidden: bool = False) -> Iterator[Progress]:
    """Make a bar on standard error, shown only when that is a terminal; what it shows is as wide as that is.

    A task has a field `note`, a text, or several that say the same in fewer and fewer words.
    """
    from rich.console import Console
    from rich.progress import Progress

    from selfmate.util.terminal import QuietTerminal, progress_line

    console = Console(stderr=True)
    bar = Progress(
        progress_line(console),
        console=console,
        transient=True,
        redirect_stdout=False,  # rich would send it to standard error
        disable=hidden or not console.is_terminal,
    )
    with contextlib.nullcontext() if bar.disable else QuietTerminal(console.file), bar:
        yield bar
