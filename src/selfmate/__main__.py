"""The command `selfmate` (and `python -m selfmate`): starts the UCI engine directly, all else through the CLI."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run `selfmate`. The UCI engine starts without importing the packages of the command line."""
    if sys.argv[1:] in (["uci"], ["uci", "--strict"]):
        from selfmate.uci.server import main as serve

        serve(strict="--strict" in sys.argv)
    else:
        from selfmate.cli.main import main as run

        run()


if __name__ == "__main__":
    main()
