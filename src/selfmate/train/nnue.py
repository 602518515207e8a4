"""`selfmate nnue`: train an efficiently updatable net (`cpp/search/nnue.h`) from the games of a run.

Alpha-beta evaluates a million positions a second, so its net must be tiny. It learns what the run's large net and its
searches found: for a quiet position, the expected score, a mean of the search's value and of the game's result.
A position is quiet if the move with the largest weight takes nothing and promotes nothing: where something hangs,
alpha-beta searches on.

    output = w . clamp(W own + b, 0, 1)^2 + w' . clamp(W other + b, 0, 1)^2 + c      (w, w', c by number of pieces)
    loss   = mean of (sigmoid(output) - score)^2
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from msgspec import Struct
from numpy.typing import NDArray
from torch import Tensor, nn

from selfmate._core import NNUE_BUCKETS, NNUE_HIDDEN, Buffer, Samples, encoding
from selfmate.nn.nnue import FEATURES, quantize, write_nnue
from selfmate.rundir.format import RunError, read_committed, read_run
from selfmate.rundir.games import decode_games, unpack_games
from selfmate.train.session import find_device
from selfmate.util.cpu import cores
from selfmate.util.files import check_target

__all__ = ["NnueNet", "NnueTraining", "Positions", "quiet_rows", "read_positions", "train_nnue"]

PIECE_BITBOARDS: Final = 12
STEP: Final = re.compile(r"-?\d+,-?\d+")
"""Names of the policy planes that are a step of files and ranks; the others are underpromotions."""
ROWS_PER_READ: Final = 1 << 16
MOST_POSITIONS: Final = 50_000_000
"""Quiet positions that are learned from, the newest of a run, in whole files of games: 5 GB of memory."""
HELD_OUT: Final = 64
"""One game of so many only validates."""
RESULT_SHARE: Final = 0.3
"""Share of the game's result in the target; the rest is the value of the search."""
RATE: Final = 1e-3
"""Of AdamW; it falls to zero along half a cosine."""
WEIGHT_DECAY: Final = 1e-6
MOST_FEATURE, MOST_OUTPUT = 2.7, 0.98
"""Largest weights, so that no sum overflows its integers (`nnue_fits`)."""
PIECE_PAWNS: Final = (1.0, 3.0, 3.25, 5.0, 9.0, 0.0)
SCALED_PAWNS: Final = 4.0
"""The scale is fitted to positions whose material differs by at most so many pawns."""


class Positions(NamedTuple):
    """Quiet positions and their expected scores."""

    bits: NDArray[np.uint64]
    """[N, 12]: own pawns to king, then the opponent's, seen by the side to move."""
    scores: NDArray[np.float32]
    """[N]: 0 to 1 for the side to move."""


class NnueTraining(Struct, frozen=True, kw_only=True):
    """What a training has reached."""

    positions: int
    """Quiet positions that were learned from."""
    held_out: int
    loss: float
    """Mean squared error of the expected score on held-out positions."""
    constant_loss: float
    """The same for the mean score of all positions."""
    scale: int
    """Centipawns for an output of one."""


# -- positions ------------------------------------------------------------------------------------


def quiet_rows(variant: str, samples: Samples) -> NDArray[np.bool_]:
    """Return which rows of a batch are quiet, bool[B]."""
    targets = _target_squares(variant)[_first_choices(samples)]
    occupied = np.bitwise_or.reduce(samples.bits[:, 6:PIECE_BITBOARDS], axis=1)
    on_board = targets >= 0
    taken = (occupied >> np.maximum(targets, 0).astype(np.uint64)) & np.uint64(1)
    pawns = samples.bits[:, 0] >> _origin_squares(variant)[_first_choices(samples)].astype(np.uint64) & np.uint64(1)
    promotes = (pawns == 1) & (targets // 8 == encoding(variant).ranks - 1)
    quiet: NDArray[np.bool_] = on_board & (taken == 0) & ~promotes
    return quiet


def _first_choices(samples: Samples) -> NDArray[np.int64]:
    """Return the policy index with the largest weight of each row."""
    best = np.argmax(samples.policy_weight, axis=1)
    chosen: NDArray[np.int64] = samples.policy_index[np.arange(len(best)), best].astype(np.int64)
    return chosen


def _origin_squares(variant: str) -> NDArray[np.int64]:
    """Return the square of the bitboards (rank * 8 + file) that each policy index moves from."""
    files, ranks = encoding(variant).files, encoding(variant).ranks
    squares = np.arange(encoding(variant).policy_size) % (files * ranks)
    origins: NDArray[np.int64] = squares // files * 8 + squares % files
    return origins


def _target_squares(variant: str) -> NDArray[np.int64]:
    """Return the square that each policy index moves to, as seen by the side to move; -1 for underpromotions."""
    origins = _origin_squares(variant)
    targets = np.full(len(origins), -1)
    names = encoding(variant).plane_names()
    squares = len(origins) // len(names)
    for plane, name in enumerate(names):
        if STEP.fullmatch(name) is None:
            continue
        files, ranks = map(int, name.split(","))
        rows = slice(plane * squares, (plane + 1) * squares)
        targets[rows] = np.clip(origins[rows] + 8 * ranks + files, 0, 63)  # indices beyond the board are not used
    return targets


def read_positions(run: Path, tell: Callable[[str], None] = lambda text: None) -> tuple[Positions, Positions]:
    """Return the quiet positions of a run's newest games: those to learn from, and those of held-out games."""
    manifest, state = read_run(run)
    parts: tuple[list[Positions], list[Positions]] = ([], [])
    for shard in sorted(state.shards, key=lambda each: each.first, reverse=True):
        if sum(len(part.scores) for part in parts[0]) >= MOST_POSITIONS:
            break
        buffer = Buffer(manifest.variant, 1 << 62, cores())
        for record in decode_games(unpack_games(read_committed(run, shard.name, shard.stamp), str(run / shard.name))):
            buffer.add(record)
        for start in range(0, buffer.positions, ROWS_PER_READ):
            rows = list(range(start, min(start + ROWS_PER_READ, buffer.positions)))
            samples = buffer.sample_at(rows, 0, mirror=False)
            quiet = quiet_rows(manifest.variant, samples)
            held_out = samples.game_ids % HELD_OUT == 0
            for part, chosen in zip(parts, (quiet & ~held_out, quiet & held_out), strict=True):
                part.append(Positions(samples.bits[chosen, :PIECE_BITBOARDS], expected_scores(samples)[chosen]))
        tell(f"{sum(len(part.scores) for part in parts[0]):,} positions")
    if not any(len(part.scores) for part in parts[0]):
        raise RunError(f"{run}: this run has no games to learn from", str(run))
    learned, validated = (
        Positions(
            np.concatenate([each.bits for each in part] or [np.zeros((0, PIECE_BITBOARDS), np.uint64)]),
            np.concatenate([each.scores for each in part] or [np.zeros(0, np.float32)]),
        )
        for part in parts
    )
    return learned, validated


def expected_scores(samples: Samples) -> NDArray[np.float32]:
    """Return the targets of a batch, float32[B]: 0 to 1 for the side to move."""
    share = RESULT_SHARE * samples.value_weight
    value = (1 - share) * samples.root_value + share * (samples.wdl[:, 0] - samples.wdl[:, 2])
    scores: NDArray[np.float32] = np.clip((1 + value) / 2, 0, 1).astype(np.float32)
    return scores


# -- the net --------------------------------------------------------------------------------------


class NnueNet(nn.Module):
    """The net in floats. `forward`: bits int64[B, 12] seen by the side to move -> outputs float32[B]."""

    def __init__(self, ranks: int = 8) -> None:
        super().__init__()
        self.ranks = ranks
        self.features = nn.Parameter(torch.randn(FEATURES, NNUE_HIDDEN) * 0.05)
        self.bias = nn.Parameter(torch.full((NNUE_HIDDEN,), 0.2))
        self.output = nn.Parameter(torch.randn(NNUE_BUCKETS, 2 * NNUE_HIDDEN) * 0.05)
        self.output_bias = nn.Parameter(torch.zeros(NNUE_BUCKETS))
        self.register_buffer("shifts", torch.arange(64), persistent=False)

    def forward(self, bits: Tensor, *, mirrored: bool = False) -> Tensor:
        """Return the outputs; `mirrored`: with left and right of the board exchanged."""
        shifts: Tensor = self.shifts  # type: ignore[assignment]
        own = (bits.unsqueeze(2) >> shifts & 1).to(self.features.dtype).view(-1, 2, 6, 8, 8)
        if mirrored:
            own = own.flip(4)
        buckets = ((own.sum((1, 2, 3, 4)).long() - 2).clamp(min=0) // 4).clamp(max=NNUE_BUCKETS - 1)
        other = own.flip(1)[:, :, :, : self.ranks].flip(3)
        other = nn.functional.pad(other, (0, 0, 0, 8 - self.ranks))
        hidden = torch.cat([view.reshape(-1, FEATURES) @ self.features + self.bias for view in (own, other)], 1)
        return (hidden.clamp(0, 1).square() * self.output[buckets]).sum(1) + self.output_bias[buckets]

    @torch.no_grad()
    def clip(self) -> None:
        """Hold the weights in the range of the integers."""
        self.features.clamp_(-MOST_FEATURE, MOST_FEATURE)
        self.output.clamp_(-MOST_OUTPUT, MOST_OUTPUT)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the weights as arrays."""
        return {name: tensor.detach().float().cpu().numpy() for name, tensor in self.state_dict().items()}


def train_nnue(
    run: Path,
    to: Path,
    *,
    steps: int = 20_000,
    batch: int = 16_384,
    seed: int = 1,
    device: str = "auto",
    stopping: Callable[[], bool] = lambda: False,
    tell: Callable[[int, str], None] = lambda step, note: None,
) -> NnueTraining | None:
    """Write a net that was trained from the games of a run to a new file; return None, without one, when stopped."""
    if to.exists():
        raise RunError(f"{to} already exists; choose a new file", str(to))
    check_target(to)
    # 1. The positions, where they are learned from
    chosen = torch.device(find_device(device))
    learned, held_out = read_positions(run, lambda text: tell(0, text))
    manifest, _ = read_run(run)
    bits, scores = (_tensor(each, chosen) for each in learned)
    # 2. Learn
    torch.manual_seed(seed)
    net = NnueNet(encoding(manifest.variant).ranks).to(chosen)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator(chosen).manual_seed(seed)
    for step in range(1, steps + 1):
        rows = torch.randint(len(scores), (batch,), generator=generator, device=chosen)
        loss = (net(bits[rows], mirrored=step % 2 == 0).sigmoid() - scores[rows]).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        net.clip()
        if step % 100 == 0 or step == steps:
            if stopping():
                return None
            tell(step, f"step {step:,} of {steps:,}, loss {loss.item():.5f}")
    # 3. Round and write it
    scale = _centipawns(net, bits)
    write_nnue(to, quantize(net.tensors(), scale))
    valid_bits, valid_scores = (_tensor(each, chosen) for each in held_out)
    return NnueTraining(
        positions=len(scores),
        held_out=len(valid_scores),
        loss=_loss(net, valid_bits, valid_scores) if len(valid_scores) else float("nan"),
        constant_loss=float((valid_scores - scores.mean()).square().mean()) if len(valid_scores) else float("nan"),
        scale=round(scale),
    )


def _tensor(numbers: NDArray[Any], device: torch.device) -> Tensor:
    return torch.from_numpy(numbers.view(np.int64) if numbers.dtype == np.uint64 else numbers).to(device)


@torch.no_grad()
def _loss(net: NnueNet, bits: Tensor, scores: Tensor) -> float:
    total = 0.0
    for start in range(0, len(scores), ROWS_PER_READ):
        rows = slice(start, start + ROWS_PER_READ)
        total += float((net(bits[rows]).sigmoid() - scores[rows]).square().sum())
    return total / len(scores)


@torch.no_grad()
def _centipawns(net: NnueNet, bits: Tensor) -> float:
    """Return the centipawns of an output of one, fitted to the material of positions that are not decided."""
    some = bits[:ROWS_PER_READ]
    shifts: Tensor = net.shifts  # type: ignore[assignment]
    counts = (some.unsqueeze(2) >> shifts & 1).sum(2).view(-1, 2, 6).float()
    pawns = ((counts[:, 0] - counts[:, 1]) * torch.tensor(PIECE_PAWNS, device=bits.device)).sum(1)
    near = pawns.abs() <= SCALED_PAWNS
    outputs, pawns = net(some)[near], pawns[near]
    slope = float((outputs * pawns).sum() / pawns.square().sum().clamp(min=1e-6))
    return max(1.0, min(10_000.0, 100 / max(slope, 0.01)))
