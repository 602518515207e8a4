"""The help of the commands: no type beside a switch, and no range that only says what 64 bits can hold."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group"]

LARGEST_SHOWN: Final = 10**12
"""Largest number that the range of an option shows; a seed may be larger."""


def _plain(parameters: list[Any]) -> list[Any]:
    """Return the parameters of a command with the texts of their columns in the help made plain."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif (getattr(parameter, "max", None) or 0) > LARGEST_SHOWN:
            parameter.metavar = parameter.metavar or "<int>"
            parameter._get_number_range_help_str = lambda: None
    return parameters


class Command(TyperCommand):
    """A command of `selfmate`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one of --help included."""
        return _plain(super().get_params(ctx))


class Group(TyperGroup):
    """`selfmate` itself, or a command that has commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one of --help included."""
        return _plain(super().get_params(ctx))
