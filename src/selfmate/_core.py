"""The native core: the build of it that suits this processor.

`_core_v2` and `_core_v3` are the same C++ sources compiled twice (docs/decisions/0001), and only
one of them is ever loaded. The environment variable `SELFMATE_CORE` (`v2` or `v3`) overrides the
choice, for tests and measurements; `CORE` says which one it was.
"""

import os

from selfmate import _cpu

_name = os.environ.get("SELFMATE_CORE") or _cpu.best()

if _name not in ("v2", "v3"):
    raise ImportError(f"SELFMATE_CORE is {_name!r}; it may be 'v2' or 'v3'")
if not _cpu.can_run(_name):
    raise ImportError(f"this processor cannot run the core {_name!r} (x86-64-{_name})")

if _name == "v3":
    from selfmate._core_v3 import *  # noqa: F403
else:
    from selfmate._core_v2 import *  # noqa: F403
