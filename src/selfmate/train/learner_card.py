"""learner.json: the description beside the tensors of a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.nn.config import NetConfig, NetError
from selfmate.nn.tensor_file import open_regular
from selfmate.rundir.format import LEARNER_JSON

__all__ = ["FORMAT", "LearnerCard", "LearnerError", "read_learner_card", "read_learner_config"]

FORMAT: Final = 1


class LearnerError(SelfmateError):
    """The saved state of a learner cannot be read."""


class LearnerCard(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """learner.json, beside the tensors of a learner."""

    format: int
    optimizer: str
    step: Annotated[int, Meta(ge=0)]
    rate_scale: Annotated[float, Meta(gt=0)]
    has_moments: bool = True
    """Whether the optimizer's state is saved too; a copy by `selfmate pack` is without it."""
    net: dict[str, Any] | None = None
    """The config of the net; None where an earlier version saved it, whose nets did not grow."""
    heads: tuple[str, ...] = ()
    """Heads that only train, which are saved too; those that a fork has in addition begin anew."""


def read_learner_card(folder: Path) -> LearnerCard:
    """Return learner.json of a folder; raise `LearnerError` where it cannot be read."""
    path = folder / LEARNER_JSON
    try:
        with open_regular(path, 1 << 16) as file:
            return msgspec.json.decode(file.read(), type=LearnerCard)
    except msgspec.MsgspecError as error:
        raise LearnerError(f"{path}: cannot be read: {' '.join(str(error).split())}", str(path)) from error


def read_learner_config(folder: Path) -> NetConfig | None:
    """Return the config of the net whose state is in a folder; None where an earlier version saved it.

    Raises `LearnerError` for a net that this version does not know.
    """
    config, path = read_learner_card(folder).net, folder / LEARNER_JSON
    try:
        return None if config is None else NetConfig.from_dict(config)
    except NetError as error:
        raise LearnerError(f"{path}: {error}", str(path)) from error
