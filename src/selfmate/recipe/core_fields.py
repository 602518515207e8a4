"""Temporary: the fields of the core's structs."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["SEARCH_FIELDS", "SELFPLAY_FIELDS", "ConfigField"]


class ConfigField(NamedTuple):
    name: str
    type: type
    default: Any
    minimum: Any
    maximum: Any
    is_above_minimum: bool
    help: str
    in_recipe: bool = True


SEARCH_FIELDS = [
    ConfigField("gumbel", bool, False, None, None, False, "Gumbel root (true) or PUCT with Dirichlet noise (false)"),
    ConfigField("considered", int, 16, 1, 256, False, "root moves that a Gumbel search considers"),
    ConfigField("gumbel_scale", float, 1.0, 0.0, 10.0, False, "scale of the Gumbel noise"),
    ConfigField("cpuct", float, 1.25, 0.0, 100.0, True, "exploration constant of PUCT"),
    ConfigField(
        "fpu_reduction", float, 0.33, 0.0, 10.0, False, "how much less than its parent an unvisited move is worth"
    ),
    ConfigField("noise_alpha", float, 0.3, 0.0, 100.0, True, "concentration of the Dirichlet noise (PUCT root)"),
    ConfigField("noise_epsilon", float, 0.0, 0.0, 1.0, False, "share of Dirichlet noise in the priors (PUCT root)"),
    ConfigField(
        "draw_score", float, 0.0, -1.0, 1.0, False, "value of a draw inside the search, for the side at the root"
    ),
]
SELFPLAY_FIELDS = [
    ConfigField("visits", int, ..., 1, 100_000, False, "visits of a full search; its position is trained on"),
    ConfigField("fast_visits", int, 1, 1, 100_000, False, "visits of a fast search, which only chooses a move"),
    ConfigField("full_probability", float, 0.25, 0.0, 1.0, False, "share of full searches (playout cap randomisation)"),
    ConfigField("random_plies", int, 4, 0, 10_000, False, "a game begins with 0 to this many random plies"),
    ConfigField("temperature", float, 1.0, 0.0, 10.0, False, "temperature of the choice of moves in the opening"),
    ConfigField("temperature_plies", int, 10, 0, 10_000, False, "plies for which the temperature lasts"),
    ConfigField("max_plies", int, 512, 1, 10_000, False, "longer games are truncated and have no value target"),
]
