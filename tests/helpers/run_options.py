"""Settings of a run with every option on that can go together, for tests that stop and kill it."""

from __future__ import annotations

from typing import Final

__all__ = ["EVERY_OPTION"]

EVERY_OPTION: Final = (
    "net.encoder=planes21", "net.history=2", "net.policy=factored", "net.underpromotions=false", "net.heads=full",
    "net.value=tanh", "net.value_hidden=8", "net.activation=mish", "net.context=se", "net.context_blocks=1-1",
    "search.gumbel=false", "search.cpuct_base=19652", "search.noise_epsilon=[[0, 0.3], [1, 0.2]]",
    "search.virtual_loss=3", "search.top_k=6", "search.tail=0.001", "search.widening=2.0",
    "search.repetition_penalty=0.05", "search.stop_share=0.6", "search.stop_min_visits=4",
    "search.budget_moves=10", "search.opening_plies=4", "search.reuse=true", "search.choose=value",
    "selfplay.leaves=2", "selfplay.visits=8", "selfplay.explorer=heuristic-1", "selfplay.judge=search",
    "selfplay.temperature_by_move=[[0, 1.2], [2, 0.5]]", "selfplay.starts=generated", "selfplay.starts_even=true",
    "selfplay.policy_plies=1", "selfplay.policy_games=0.2", "selfplay.resign=0.3", "selfplay.resign_from=2",
    "selfplay.resign_moves=1", "selfplay.quickdraw=8", "gate.games=4", "gate.cpuct=2.0", "gate.threshold=0.0",
    "learner.alternate=true", "learner.value_loss=huber", "learner.epochs=2.0", "learner.cosine_end=0.1",
    "learner.smoothing=0.1",
    "learner.target_power=0.8", "learner.material_nudge=0.05", "learner.draw_target=-0.05",
)  # fmt: skip
"""For `gardner-laptop` with `--smoke`. Trees are kept from move to move; heuristic-1 explores in the first cycle."""
