"""Makes the environments known to Gymnasium: importing this module registers `selfmate/VARIANT-v0`.

>>> import gymnasium
>>> env = gymnasium.make("selfmate.envs.registration:selfmate/gardner-v0", opponent="random")
>>> env.reset(seed=1)[0]["action_mask"].shape
(1225,)
"""

from __future__ import annotations

import gymnasium

from selfmate._core import VARIANTS

__all__ = ["ENV_IDS"]

ENV_IDS = tuple(f"selfmate/{variant}-v0" for variant in (*VARIANTS, "chess960", "atomic960"))
"""The names for `gymnasium.make`."""

for _name in ENV_IDS:
    if _name not in gymnasium.registry:
        gymnasium.register(
            _name,
            entry_point="selfmate.envs.single:VariantEnv",
            kwargs={"variant": _name.removeprefix("selfmate/").removesuffix("-v0")},
        )
