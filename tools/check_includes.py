"""Check that C++ folders depend one way: print one line per `#include` of a folder that is not below the file's own.

    util <- board <- data <- search <- bench <- bindings;  util <- nn <- bindings;  util <- lab <- bindings

Includes name their folder (`#include "board/position.h"`). Exit status: 0 if all includes are allowed, else 1.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CPP = Path(__file__).resolve().parents[1] / "cpp"
CORE = {"util", "board", "data", "search", "nn", "lab", "bench"}
BELOW = {
    "util": set[str](),
    "board": {"util"},
    "data": {"util", "board"},
    "search": {"util", "board", "data"},
    "nn": {"util"},
    "lab": {"util"},
    "bench": {"util", "board", "data", "search"},
    "bindings": CORE,
    "tests": CORE,
    "fuzz": CORE,
    "tools": {"util", "board"},  # of board only magics.h, which the tool generates and checks
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def offences() -> list[str]:
    """Return one line `file: reason` per include that is not allowed, in order of the files' names."""
    found = []
    for path in sorted(path for path in CPP.rglob("*") if path.suffix in {".h", ".c", ".cpp"}):
        name = path.relative_to(CPP).as_posix()
        folder = name.split("/")[0]
        if folder not in BELOW:
            found.append(f"cpp/{name}: is not in one of the folders {', '.join(BELOW)}")
            continue
        for include in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = include.split("/")[0]
            if "/" not in include or target == "..":
                found.append(f'cpp/{name}: include "{include}" does not begin with its folder')
            elif target != folder and target not in BELOW[folder]:
                found.append(f'cpp/{name}: include "{include}" is not below {folder}')
            elif not (CPP / include).is_file():
                found.append(f'cpp/{name}: include "{include}" does not exist')
    return found


if __name__ == "__main__":
    lines = offences()
    print("\n".join(lines), end="\n" if lines else "", file=sys.stderr)
    sys.exit(bool(lines))
