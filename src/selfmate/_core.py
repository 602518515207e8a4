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
    from selfmate._core_v3 import *  # noqa: F403
else:
    from selfmate._core_v2 import *  # noqa: F403
