"""The command `selfmate`. Heavy imports stand inside the commands, so that `--help` answers at once.

Bad input ends with exit code 2 and one line on standard error, a wrong perft count with 1, Ctrl-C with 130, and
SIGTERM with 143: 128 and the number of the signal, as shells count.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from selfmate.cli.ab import ab
from selfmate.cli.analyse import analyse
from selfmate.cli.bench import bench_app
from selfmate.cli.common import INTERRUPTED, flowing, unquoted_fen
from selfmate.cli.doctor import doctor
from selfmate.cli.help import Command, Group, describe_number
from selfmate.cli.lab import lab_app
from selfmate.cli.matches import arena, ladder, progress, rate
from selfmate.cli.nets import export, nets
from selfmate.cli.perft import perft
from selfmate.cli.programs import demo, play, uci
from selfmate.cli.recipe import recipe_app
from selfmate.cli.records import records
from selfmate.cli.starts import starts
from selfmate.cli.studio import studio
from selfmate.cli.training import cooldown, nnue, pack, train
from selfmate.cli.tune import tune
from selfmate.errors import SelfmateError, clip
from selfmate.util.packages import install_hint

__all__ = ["app", "main"]


BAD_INPUT = 2

app = typer.Typer(
    name="selfmate",
    cls=Group,
    help="An engine for chess and its variants that learns from nothing but the rules.\n\n"
    "Example: selfmate train gardner-laptop --minutes 10",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bench_app, name="bench", cls=Group)
app.add_typer(recipe_app, name="recipe")
app.add_typer(lab_app, name="lab")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    _replace_what_cannot_be_coded()
    try:
        code = app(args=arguments, prog_name="selfmate", standalone_mode=False)
        sys.stdout.flush()
    except SelfmateError as error:
        _refuse(str(error))
    except BrokenPipeError:  # the reader (`head`, say) has seen enough
        _discard_output()
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:  # a full disk behind it: else Python flushes again at the end, and exits with 120
            _discard_output()
        _refuse(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
    except ModuleNotFoundError as error:
        if (error.name or "selfmate").partition(".")[0] == "selfmate":
            raise
        _refuse(install_hint(error.name))
    except Exception as error:
        # Usage errors come from click, which newer versions of typer carry inside: known by their method.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        message = describe_number(error) or _shortened(" ".join(format_message().split()))
        if not message:  # help was shown, for want of arguments
            sys.exit(BAD_INPUT)
        if (fen := unquoted_fen(sys.argv[1:] if arguments is None else arguments)) is not None:
            message = f"a FEN has spaces: put it in quotes, as in '{clip(fen)}'"
        _refuse(message)
    if code == INTERRUPTED:  # newer versions of typer turn Ctrl-C into this code themselves
        print("selfmate: interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _replace_what_cannot_be_coded() -> None:
    """Let characters that the encoding of a terminal or pipe does not have be `?`, where Python would raise."""
    for stream in (sys.stdin, sys.stdout):
        is_utf8 = getattr(stream, "encoding", None) in ("utf-8", "UTF-8")
        if isinstance(stream, io.TextIOWrapper) and (stream.errors == "strict" or not is_utf8):
            stream.reconfigure(errors="replace")


def _shortened(message: str) -> str:
    """Return the message of a usage error with the name of the option first, as other messages have it.

    >>> _shortened("Invalid value for '--seed': 'x' is not a whole number.")
    "--seed: 'x' is not a whole number"
    """
    found = re.fullmatch(r"Invalid value for '([^']+)': (.+?)\.?", message)
    return f"{found[1]}: {found[2]}" if found else message


def _refuse(message: str) -> NoReturn:
    """Print in one line what is wrong with the input, and exit; the name of a file may have a line break."""
    print(f"selfmate: {message}".replace("\n", "\\n"), file=sys.stderr)
    sys.exit(BAD_INPUT)


def _discard_output() -> None:
    """Drop what standard output still holds and cannot write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(wanted: bool) -> None:
    if wanted:
        from selfmate.cli.build_info import read_build

        print(read_build())
        raise typer.Exit


@app.callback()
def _selfmate(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and the build, and exit."
        ),
    ] = False,
) -> None:
    """Keep `selfmate` a group of commands."""


COMMANDS = (
    perft, train, starts, records, arena, ab, tune, ladder, rate, progress, pack, cooldown, nnue,
    play, studio, uci, analyse, nets, export, demo, doctor,
)  # fmt: skip
for command in COMMANDS:
    app.command()(command)
GROUPS = (app, bench_app, recipe_app, lab_app)
for each in (command for group in GROUPS for command in group.registered_commands):
    each.cls = Command
    each.help = flowing((each.callback and each.callback.__doc__) or "")
