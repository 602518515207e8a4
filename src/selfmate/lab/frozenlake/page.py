"""The picture of the search as one page: play, pause, step, speed; by mouse and keyboard; nothing is loaded.

The page is `page.html` of this folder with the trace in it; the script there draws what `scene.py` draws.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Final

__all__ = ["make_page"]

PLACE: Final = "/*TRACE*/null"


def make_page(trace: dict[str, Any]) -> str:
    """Return the page of a trace as HTML.

    >>> from selfmate.lab.frozenlake.settings import LakeSettings
    >>> from selfmate.lab.frozenlake.trace import DEMO, record
    >>> text = make_page(record(LakeSettings.model_validate(DEMO), seed=2))
    >>> len(text.encode()) < 300_000, "http" in text.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    template = (resources.files("selfmate.lab.frozenlake") / "page.html").read_text("utf-8")
    # "</" would end the script.
    return template.replace(PLACE, json.dumps(trace, separators=(",", ":")).replace("</", "<\\/"))
