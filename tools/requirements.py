"""Prints what the package requires, and its extras, as arguments of pip; from pyproject.toml, before it is installed.

python tools/requirements.py train
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
print(*project["dependencies"], *(each for extra in sys.argv[1:] for each in project["optional-dependencies"][extra]))
