"""Plans that are fixed before the first step: a folder has one as JSON, and is resumed with the same one only."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from selfmate.errors import SelfmateError
from selfmate.util.files import write_file

__all__ = ["keep_plan"]


def keep_plan(path: Path, plan: Struct, what: str, error: type[SelfmateError]) -> None:
    """Write a plan to a file in a new folder, or check that the folder has this very plan; raise `error` if not.

    `what` names the folder's content in messages, as in "a study".
    """
    folder = path.parent
    if path.is_file():
        try:
            kept = msgspec.json.decode(path.read_bytes(), type=type(plan))
        except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
            raise error(f"{path}: cannot be read: {' '.join(str(fault).split())}", str(path)) from fault
        different = [name for name in plan.__struct_fields__ if getattr(kept, name) != getattr(plan, name)]
        if different:
            reason = f"a {what} with other {', '.join(different)}, which are fixed beforehand"
            raise error(f"{folder}: {reason}; use another folder (--to)", str(folder))
        return
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise error(f"{folder}: not an empty folder, and no {what}; use another folder (--to)", str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    write_file(path, msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
