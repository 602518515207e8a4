"""Shared by the commands: common options, parameters from a dataclass, checks, and the progress bar."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import re
import sys
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from selfmate.cli.complete import complete_variant
from selfmate.errors import FenError, SelfmateError, SetupError, clip

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from selfmate.board.position import Position
    from selfmate.match.games import GamePlay
    from selfmate.match.uci_client import EngineSpec

__all__ = [
    "INTERRUPTED",
    "Json",
    "Settings",
    "Threads",
    "Variant",
    "check_device",
    "flowing",
    "match_games",
    "notice",
    "pip_line",
    "progress_bar",
    "read_fen",
    "takes_options",
    "unquoted_fen",
]

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C: 128 and the number of the signal."""
Variant = Annotated[
    str,
    typer.Argument(
        help="chess, atomic, gardner, … or chess960, atomic960", show_default=False, autocompletion=complete_variant
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, max=1024, help="Threads (default: all).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe; repeatable.")
]
Options = TypeVar("Options")


def takes_options(options: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Make a typer command of a function that takes one dataclass: each field becomes a parameter.

    The types of the fields are annotated with `typer.Option` or `typer.Argument`; their defaults are the parameters'.

    >>> @dataclasses.dataclass
    ... class Greeting:
    ...     name: Annotated[str, typer.Option("--name")] = "you"
    >>> @takes_options(Greeting)
    ... def greet(options: Greeting) -> None:
    ...     print("hello", options.name)
    >>> greet(name="Anna"), list(inspect.signature(greet).parameters)
    hello Anna
    (None, ['name'])
    """
    hints = typing.get_type_hints(options, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(options)  # type: ignore[arg-type]
    ]

    def decorate(function: Callable[[Options], None]) -> Callable[..., None]:
        def command(**values: Any) -> None:
            function(options(**values))

        command.__name__, command.__doc__ = function.__name__, function.__doc__
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        vars(command)["__signature__"] = inspect.Signature(parameters)
        return command

    return decorate


def flowing(text: str) -> str:
    """Join the lines of each paragraph of a docstring, so that the terminal can fill them to its width.

    >>> flowing("One\\ntwo.\\n\\n    Three.\\n    ")
    'One two.\\n\\nThree.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))


def notice(text: str) -> None:
    """Print a line to standard error, beside the output of a command."""
    print(f"selfmate: {text}", file=sys.stderr, flush=True)


def pip_line(extra: str) -> str:
    """Return the command that installs an extra.

    >>> pip_line("train")
    "pip install 'selfmate[train]'"
    """
    return f"pip install 'selfmate[{extra}]'"


def check_device(device: str) -> None:
    """Raise `SelfmateError` for an unknown device; whether there is a GPU shows when a net is loaded."""
    from selfmate.evaluator.backends import is_device

    if not is_device(device):
        raise SelfmateError(f"--device: unknown device {clip(device)!r}; use cpu or cuda", device)


def read_fen(variant: str, fen: str | None, *, hint: bool) -> Position:
    """Return a position of a variant; None is its start. `hint` adds to an error the variants that read the FEN.

    >>> read_fen("chess", "4k/P4/5/5/4K w - - 0 1", hint=True)
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: rank 8 of the board has 5 squares instead of 8; for gardner, add --variant gardner
    """
    from selfmate.app.notation import variant_hint
    from selfmate.board.position import Position

    try:
        return Position(variant, fen)
    except (FenError, SetupError) as error:
        if not hint:
            raise
        raise SelfmateError(f"{error}{variant_hint(variant, lambda other: Position(other, fen))}", error.part) from None


def unquoted_fen(arguments: Sequence[str]) -> str | None:
    """Return the FEN that a shell has split into several arguments, None if there is none.

    >>> unquoted_fen(["play", "--fen", "4k/P4/5/5/4K", "w", "-", "-", "0", "1"])
    '4k/P4/5/5/4K w - - 0 1'
    >>> unquoted_fen(["play", "--fen", "4k/P4/5/5/4K w - - 0 1"]), unquoted_fen(["analyse", "a/b/c/d/e", "w"])
    (None, None)
    """
    for at, word in enumerate(arguments[:-1]):
        ranks = word.split("/")
        is_board = len(ranks) >= 5 and all(re.fullmatch("[1-8pnbrqkPNBRQK]+", rank) for rank in ranks)
        if is_board and arguments[at + 1] in ("w", "b"):
            rest = itertools.takewhile(lambda each: not each.startswith("--"), arguments[at:])
            return " ".join(list(rest)[:7])
    return None


@contextlib.contextmanager
def match_games(ray: str | None, device: str, engines: Sequence[EngineSpec] = ()) -> Iterator[GamePlay]:
    """Yield what plays the games of matches within a block: this machine, or the cluster at an address.

    Every machine of a cluster must have these `engines`.
    """
    from selfmate.match.games import games_here
    from selfmate.util.packages import install_hint

    if ray is None:
        yield games_here()
        return
    try:
        from selfmate.cluster.session import match_cluster
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from error
    with match_cluster(ray, device, notice, engines) as games:
        yield games


@contextlib.contextmanager
def progress_bar(*, hidden: bool = False, output: Console | None = None) -> Iterator[Progress]:
    """Show a progress bar on standard error, if that is a terminal.

    A task has a field `note`: a text, or several from the longest to the shortest, of which the first that fits is
    shown. `output` is the console that a command prints to while the bar is shown; if it is a terminal, the bar stands
    below its lines.
    """
    from rich.console import Console
    from rich.progress import Progress

    from selfmate.util.terminal import QuietTerminal, progress_line

    console = Console(stderr=True)
    disable = hidden or not console.is_terminal
    if output is not None and output.is_terminal:
        console = output
    bar = Progress(
        progress_line(console),
        console=console,
        transient=True,
        redirect_stdout=False,  # rich would send it to standard error
        disable=disable,
    )
    with contextlib.nullcontext() if bar.disable else QuietTerminal(console.file), bar:
        yield bar
