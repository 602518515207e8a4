"""Insufficient material in atomic beside an exhaustive helpmate search, with more pieces than `make test` takes.

    python tests/soak/helpmate.py --pieces 6

The search is `cpp/tests/helpmate.cpp`; a material whose draw denies a possible win gives exit code 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

BUILD = Path(__file__).parents[2] / "build" / "dev"


def main() -> int:
    """Run the search with each build of the core that this machine runs; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pieces", type=int, default=5, choices=range(3, 7), help="kings included")
    pieces = parser.parse_args().pieces
    programs = sorted(BUILD.glob("test_helpmate_v*"))
    if not programs:
        print(f"{BUILD} has no test_helpmate: run 'make .venv/installed-dev' first", file=sys.stderr)
        return 2
    return subprocess.run([programs[-1], str(pieces)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
