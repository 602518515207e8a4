"""The bench signature: a change of behaviour is a deliberate line in a diff.

If this test fails and the change is meant: `selfmate bench --signature > bench/signature.txt`, and the commit says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from selfmate import _core, _cpu

SIGNATURE = Path(__file__).parents[2] / "bench" / "signature.txt"


def test_signature_is_the_committed_one() -> None:
    rules_and_search, selfplay = SIGNATURE.read_text(encoding="ascii").splitlines()
    assert str(_core.signature()) == rules_and_search
    assert f"selfplay {_core.selfplay_signature()}" == selfplay


@pytest.mark.parametrize("core", ["v2", "v3"])
def test_both_cores_have_the_same_signature(core: str) -> None:
    if not _cpu.can_run(core):
        pytest.skip(f"this processor cannot run {core}")
    process = subprocess.run(
        [
            sys.executable,
            "-c",
            "from selfmate import _core as c; print(c.CORE, c.signature(), 'selfplay', c.selfplay_signature())",
        ],
        env=os.environ | {"SELFMATE_CORE": core},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert process.stdout.split() == [core, *SIGNATURE.read_text(encoding="ascii").split()]
