"""Folders of the shipped nets that tests read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import selfmate

GARDNER_NET: Final = Path(selfmate.__file__).parent / "nets_data" / "gardner-laptop"
