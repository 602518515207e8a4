"""A stand-in for `selfmate train`: it makes the directory of a run and waits, without PyTorch."""

from __future__ import annotations

from selfmate.rundir.format import FORMAT

__all__ = ["MANIFEST", "TRAINER"]

TRAINER = """
import fcntl, json, os, pathlib, signal, sys
directory, manifest = pathlib.Path(sys.argv[1]), sys.argv[2]
directory.mkdir(exist_ok=True)
with open(directory / "lock", "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    lock.write(str(os.getpid()))
    lock.flush()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    (directory / "manifest.json").write_text(manifest)
    signal.pause()
"""
"""Makes the directory of a run, holds its lock and ends by SIGTERM, as `selfmate train` does."""
MANIFEST = {
    "format": FORMAT, "variant": "gardner", "recipe": "gardner-laptop", "seed": 0, "smoke": False, "settings": [],
    "recipe_stamp": {"bytes": 0, "sha256": ""}, "created": "", "versions": {}, "commit": None, "hardware": {},
}  # fmt: skip
