"""The help of the commands: placeholders as argparse has them, no type beside a switch, no range of 64 bits.

The placeholder of a value is N for a number, PATH for a file or folder, and the name of the option for a text:
`--games N`, `--run PATH`, `--device DEVICE`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from selfmate.errors import SelfmateError, clip

__all__ = ["Command", "Group", "describe_number"]

LARGEST_SHOWN: Final = 10**12
"""Largest number that the range of an option shows; a seed may be larger."""
PLACEHOLDERS: Final = {"int": "N", "integer": "N", "float": "N", "path": "PATH"}
"""Of types, by the names that versions of typer give them."""


def _plain(parameters: list[Any]) -> list[Any]:
    """Return the parameters of a command with the texts of their columns in the help made plain."""
    for parameter in parameters:
        name = str(parameter.name).upper()
        if parameter.param_type_name == "argument":
            if hasattr(parameter, "display_type_rich"):  # older versions of typer would show it as required
                parameter.metavar = parameter.metavar or name
                parameter.display_type_rich = lambda ctx: None
        elif getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.metavar is None:
            parameter.metavar = PLACEHOLDERS.get(_type_name(parameter), name)
        if (getattr(parameter, "max", None) or 0) > LARGEST_SHOWN:
            parameter._get_number_range_help_str = lambda: None
    return parameters


def _type_name(parameter: Any) -> str:
    """Return the name of the type of an option: a method in newer versions of typer, an attribute in older ones."""
    if hasattr(parameter, "bare_type"):
        return str(parameter.bare_type()).lower()
    return str(parameter.type.name).removesuffix(" range")


def describe_number(error: Exception) -> str | None:
    """Return what an option of numbers takes, worded as for the keys of recipes; None for any other usage error."""
    parameter: Any = getattr(error, "param", None)
    cause = error.__cause__
    if cause is None or not hasattr(cause, "errors") or not hasattr(parameter, "max"):  # older versions of typer
        return None
    kind = {"int": "a whole number", "integer": "a whole number", "float": "a number"}.get(_type_name(parameter))
    if kind is None:
        return None
    low, high, value = parameter.min, parameter.max, cause.errors()[0]["input"]
    if high is not None:
        bounds = f" from {0 if low is None else low:,} to {high:,}"
    else:
        bounds = "" if low is None else f" of at least {low:,}"
    name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar or parameter.name.upper()
    return f"{name}: expected {kind}{bounds}, not {clip(str(value))!r}"


def with_address(arguments: list[str]) -> list[str]:
    """Return arguments in which `--ray` has a value: `local` where no address follows it.

    typer has no options with an optional value. An address is `local`, `auto` or HOST:PORT; a player may have a colon,
    too.

    >>> with_address(["gardner", "--ray"]), with_address(["--ray", "gardner"]), with_address(["--ray", "head:6379"])
    (['gardner', '--ray', 'local'], ['--ray', 'local', 'gardner'], ['--ray', 'head:6379'])
    """
    words: list[str] = []
    for index, word in enumerate(arguments):
        words.append(word)
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if word == "--ray" and not _is_address(following):
            words.append("local")
    return words


def _is_address(word: str) -> bool:
    """Return whether a word is meant as the address of a cluster, rather than as a player; its port may be missing.

    >>> [_is_address(word) for word in ("head:6379", "auto", "10.0.0.1", "uci:fish?nodes=1", "runs/mine:untrained")]
    [True, True, True, False, False]
    """
    if word in ("local", "auto") or "://" in word or re.fullmatch(r"\d+(\.\d+){3}", word):
        return True
    return ":" in word and "/" not in word and not word.startswith("uci:")


class Command(TyperCommand):
    """A command of `selfmate`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; a path that is empty, such as that of an unset variable, raises `SelfmateError`.

        An empty path would be the working directory.
        """
        given = list(args)
        rest = super().parse_args(ctx, with_address(args))
        if any(word == "" or re.fullmatch(r"-[^=]*=", word) for word in given) and "." not in given:
            for parameter in self.get_params(ctx):
                value = ctx.params.get(parameter.name)
                paths = value if isinstance(value, list | tuple) else [value]
                if any(isinstance(path, Path) and path == Path() for path in paths):
                    is_option = parameter.param_type_name == "option"
                    name = parameter.opts[0] if is_option else parameter.metavar or parameter.name.upper()
                    raise SelfmateError(f"{name}: the path is empty; write . for this folder", name)
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one of --help included."""
        return _plain(super().get_params(ctx))


class Group(TyperGroup):
    """`selfmate` itself, or a command that has commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one of --help included."""
        return _plain(super().get_params(ctx))
