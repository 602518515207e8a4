"""Settings and fixtures of all tests."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from command import Answer, Run
from selfmate.cli.main import main

# A shell starts background jobs with SIGINT ignored, and children inherit that; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a test must not fail because the machine is busy.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, 200 columns wide; return its exit code and output."""
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*arguments: str | Path) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main([str(argument) for argument in arguments])
        return Answer(leaving.value.code, *capsys.readouterr())

    return run_command
