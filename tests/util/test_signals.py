"""Stop requests by signals."""

from __future__ import annotations

import signal
import threading

import pytest

from selfmate.util.signals import Stop, stop_on_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_within_a_print_is_acknowledged_after_it(number: signal.Signals) -> None:
    printing = threading.Lock()
    lines: list[str] = []

    def say(line: str) -> None:
        assert threading.current_thread() is not threading.main_thread()
        with printing:
            lines.append(line)

    stop = Stop()
    before = signal.getsignal(number)
    close = lambda: pytest.fail("the first signal does not exit")  # noqa: E731
    with stop_on_signals(stop, say, close), printing:  # the main thread is within a print
        signal.raise_signal(number)
        assert stop()
        assert lines == []
    assert lines == ["Stopping after this step; press Ctrl-C again to quit now."]
    assert stop.signal == number
    assert signal.getsignal(number) is before


def test_a_closed_pipe_does_not_hinder_the_stop() -> None:
    def say(line: str) -> None:
        raise BrokenPipeError

    stop = Stop()
    with stop_on_signals(stop, say, close=lambda: None):
        signal.raise_signal(signal.SIGINT)
    assert stop.signal == signal.SIGINT
