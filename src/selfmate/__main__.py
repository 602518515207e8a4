"""The command `selfmate` (and `python -m selfmate`): starts the UCI engine directly, all else through the CLI."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

__all__ = ["main", "uci"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `selfmate`. The UCI engine starts without importing the packages of the command line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["uci"], ["uci", "--strict"]):
        from selfmate.uci.server import main as serve

        serve(strict="--strict" in words)
    else:
        from selfmate.cli.main import main as run

        try:
            run(words)
        finally:
            # The interpreter is left: another Ctrl-C would print a traceback out of its last steps.
            if arguments is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)


def uci() -> None:
    """Run `selfmate-uci`: `selfmate uci`, with its options."""
    main(["uci", *sys.argv[1:]])


if __name__ == "__main__":
    main()
