"""Sessions of training that are stopped after a number of questions whether to stop, from any thread."""

from __future__ import annotations

import threading

import pytest

from selfmate.util.signals import Stop

__all__ = ["ImpatientStop"]


class ImpatientStop:
    """Replaces `Stop`: after `left` questions every session is to stop. Set `left` before each session."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        lock = threading.Lock()

        def ask(stop: Stop) -> bool:
            with lock:
                self.left -= 1
                stop.asked = stop.asked or self.left < 0
            return stop.asked

        monkeypatch.setattr(Stop, "__call__", ask)
