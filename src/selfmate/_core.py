"""The native core, in the build for this processor.

`_core_v2` and `_core_v3` are the same C++ sources compiled for x86-64-v2 and v3 (docs/decisions/0001); only one of them
is loaded. The environment variable `SELFMATE_CORE` (`v2` or `v3`) overrides the choice, for tests and measurements;
`CORE` is the name of the loaded build.
"""

import os

from selfmate import _cpu

_name = os.environ.get("SELFMATE_CORE") or _cpu.best()

if _name not in ("v2", "v3"):
    raise ImportError(f"SELFMATE_CORE is {_name!r}; it may be 'v2' or 'v3'")
if not _cpu.can_run(_name):
    raise ImportError(f"this processor cannot run the core {_name!r} (x86-64-{_name})")

if _name == "v3":
    from selfmate import _core_v3 as _native
    from selfmate._core_v3 import *  # noqa: F403
else:
    from selfmate import _core_v2 as _native
    from selfmate._core_v2 import *  # noqa: F403


def _field_repr(field: _native.ConfigField) -> str:
    """Return a field of a config in one line: name, type, default, range and help."""
    default = "required" if field.is_required else f"default {field.default!r}"
    within = ""
    if field.choices:
        within = f", one of {', '.join(field.choices)}"
    elif field.minimum is not None:
        within = f", {'above' if field.is_above_minimum else 'from'} {field.minimum:,.15g} to {field.maximum:,.15g}"
    return f"<ConfigField {field.name}: {field.type.__name__}, {default}{within}; {field.help}>"


def _record_repr(record: _native.GameRecord) -> str:
    """Return a game in one line: id, variant, result, reason and length."""
    name = f"{record.variant}960" if record.chess960 else record.variant
    why = f", {record.reason}" if record.reason else ""
    return f"<GameRecord {record.game_id}: {name} {record.result}{why}, {len(record.moves)} plies>"


def _buffer_repr(buffer: _native.Buffer) -> str:
    """Return the sizes of a buffer in one line."""
    return f"<Buffer: {buffer.games} games, {buffer.positions} positions>"


_native.ConfigField.__repr__ = _field_repr
_native.GameRecord.__repr__ = _record_repr
_native.Buffer.__repr__ = _buffer_repr
