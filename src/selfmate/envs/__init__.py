"""Environments for reinforcement learning: Gymnasium, PettingZoo, and many games at once without either.

>>> from selfmate.envs import BatchedGames
>>> BatchedGames("atomic", 16).masks.shape
(16, 4672)

`BatchedGames` needs numpy only. `VariantEnv`, `VariantAECEnv` and `GamesVectorEnv` need `selfmate[envs]`; without it
they raise `MissingExtra` when they are first used. Importing `selfmate.envs.registration` makes them known to
`gymnasium.make`.
"""

from typing import TYPE_CHECKING

from selfmate.errors import MissingExtra

if TYPE_CHECKING:
    from selfmate.envs.aec import VariantAECEnv
    from selfmate.envs.batched import BatchedGames, StepArrays
    from selfmate.envs.single import VariantEnv
    from selfmate.envs.vector import GamesVectorEnv

__all__ = ["BatchedGames", "GamesVectorEnv", "StepArrays", "VariantAECEnv", "VariantEnv"]

_LATER = {
    "BatchedGames": "batched",
    "GamesVectorEnv": "vector",
    "StepArrays": "batched",
    "VariantAECEnv": "aec",
    "VariantEnv": "single",
}

if not TYPE_CHECKING:  # a type checker would accept every name otherwise

    def __getattr__(name: str) -> object:
        import importlib

        if name not in _LATER:
            raise AttributeError(f"module 'selfmate.envs' has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module(f"selfmate.envs.{_LATER[name]}"), name)
        except ModuleNotFoundError as error:
            if error.name not in ("gymnasium", "pettingzoo"):
                raise
            missing = f"{error.name} is not installed; run: pip install 'selfmate[envs]'"
            raise MissingExtra(missing, error.name) from None
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
