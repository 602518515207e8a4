"""The command `selfmate` (and `python -m selfmate`): the engine at once, everything else through the command line."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run `selfmate`. The UCI engine is on its way before the command line's own packages would be loaded."""
    if sys.argv[1:] == ["uci"]:
        from selfmate.uci.server import main as run
    else:
        from selfmate.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
