"""The learner: batches of the buffer become a better net.

The loss of a position has three parts: the cross-entropy of the policy with what the search found (over the legal
moves), the cross-entropy of win-draw-loss with what became of the game, and a little of the error in plies left.
An average of the weights over the last steps plays; the weights themselves learn.

Everything is a function of the state that `save` writes, the buffer and the run's seed: batch number `step` is drawn
by the counter (seed, step), never by a generator that has to be stored.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec
import numpy as np
import torch
from msgspec import Meta, Struct
from torch import Tensor
from torch.nn import functional

from selfmate._core import Buffer, Samples
from selfmate.errors import SelfmateError
from selfmate.evaluator.cuda import device_errors
from selfmate.nn.checkpoint import open_regular, pack_tensors, read_tensors
from selfmate.nn.net import NO_MOVE, PLIES_UNIT, Net
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import LearnerPart
from selfmate.rundir.format import AVERAGE_PREFIX, LEARNER_JSON, LEARNER_TENSORS, MOMENT_PREFIX
from selfmate.train.batch import Batch, as_tensors
from selfmate.train.cuda_step import GpuSteps
from selfmate.util.files import write_file
from selfmate.util.random_streams import stream

__all__ = ["Diverged", "Learner", "LearnerError", "Losses"]


MOMENTUM: Final = 0.9


BETAS: Final = (0.9, 0.95)  # the gradient's square over the last twenty steps, not thousand: runs here are short


AVERAGE_DELAY: Final = 10  # the average follows quickly at first: decay (1 + step) / (10 + step) until the recipe's


BATCHES_AHEAD: Final = 3


STEPS_AHEAD: Final = 4  # steps that a GPU has to do when the next one is prepared


FORMAT: Final = 1


class LearnerError(SelfmateError):
    """The state of a learner that cannot be read."""


class Diverged(Exception):
    """The loss or the gradient is not finite any more."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss is not finite at step {step}")
        self.step = step


class _Card(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What stands beside the tensors of a learner."""

    format: int
    optimizer: str
    step: Annotated[int, Meta(ge=0)]
    rate_scale: Annotated[float, Meta(gt=0)]
    has_moments: bool = True
    """Whether the optimizer's memory is there too; a copy by `selfmate pack` goes without it."""


class Losses(NamedTuple):
    """Means over positions; `total` is what is minimised."""

    total: float
    policy: float
    value: float
    plies: float


class _Seen(NamedTuple):
    """The numbers that a step ended with: its losses and the length of its gradient."""

    step: int
    numbers: Tensor
    written: torch.cuda.Event | None
    """When the numbers are there, on a GPU."""


class Learner:
    """A net in training, its average, its optimizer and its step.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> from selfmate.recipe.reader import load
    >>> learner = Learner(Net(NetConfig.sized(GARDNER)), load("gardner-laptop").learner, seed=1)
    >>> learner.step
    0
    """

    def __init__(self, net: Net, part: LearnerPart, seed: int, device: str = "cpu", *, compile: bool = False) -> None:
        self.part = part
        self.seed = seed
        self.device = torch.device(device)
        self.gpu = GpuSteps(self.device) if self.device.type == "cuda" else None
        self.step = 0
        self.rate_scale = 1.0
        # Channels last is the layout that the convolutions of CPUs and tensor cores work in.
        self.net = net.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average: Net = copy.deepcopy(self.net).eval().requires_grad_(False)
        self._averages = list(self.average.state_dict().values())
        self._weights = list(self.net.state_dict().values())
        self._parameters = list(self.net.parameters())
        self._forward: Callable[..., Any] = torch.compile(self.net, dynamic=False) if compile else self.net
        matrices = [parameter for parameter in self.net.parameters() if parameter.ndim >= 2]
        vectors = [parameter for parameter in self.net.parameters() if parameter.ndim < 2]
        groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
        # A graph of a GPU reads its learning rate from memory.
        rate = 0.0 if self.gpu is None else torch.zeros((), device=self.device)
        self.optimizer: torch.optim.Optimizer
        if part.optimizer == "adamw":
            capturable = self.gpu is not None
            self.optimizer = torch.optim.AdamW(groups, lr=rate, betas=BETAS, fused=True, capturable=capturable)
        else:
            self.optimizer = torch.optim.SGD(groups, lr=rate, momentum=MOMENTUM, nesterov=True, fused=True)

    # -- learning ---------------------------------------------------------------------------------

    def learn(
        self,
        buffer: Buffer,
        goal: int,
        cycle: int,
        *,
        stopping: Callable[[], bool] = lambda: False,
        tell: Callable[[int, Losses], None] = lambda step, losses: None,
    ) -> Losses | None:
        """Go on to step `goal`, or to the step at which `stopping` says so; give the mean losses of the way.

        `tell` hears of every step. The next batch is drawn while this one is learned from.
        """
        if self.step >= goal:
            return None
        size, mirror = at(self.part.batch, cycle), self.part.mirror
        sums, steps = [0.0] * len(Losses._fields), 0
        seen: list[_Seen] = []  # of steps that a GPU may still be at

        def look(behind: int) -> None:
            """Look at what came of the steps before the last so many."""
            nonlocal steps
            while len(seen) > behind:
                step, numbers, written = seen.pop(0)
                if written is not None:
                    written.synchronize()
                found = numbers.tolist()
                if not np.isfinite(found).all():
                    raise Diverged(step)
                losses = Losses(*found[:-1])
                tell(step + 1, losses)
                sums[:] = [total + loss for total, loss in zip(sums, losses, strict=True)]
                steps += 1

        if self.gpu is not None:
            self.gpu.stream.wait_stream(torch.cuda.current_stream())
        with ThreadPoolExecutor(1) as helper:
            # The helper only samples, outside of Python's lock; if it also brought batches to the device it would wait
            # for the lock at each of many small calls, and the GPU for it.
            coming: deque[Future[Samples]] = deque()
            drawn = self.step
            while self.step < goal and not stopping():
                while drawn < goal and len(coming) < BATCHES_AHEAD:
                    seed = stream(self.seed, "batch", drawn)
                    coming.append(helper.submit(buffer.sample, size, seed, mirror))
                    drawn += 1
                samples = coming.popleft().result()
                if self.gpu is None:
                    seen.append(_Seen(self.step, self._compute_gradient(as_tensors(samples), cycle), None))
                    look(0)
                    self._set_rate(cycle)
                    self.optimizer.step()
                    self._go_on()
                else:
                    # The next steps are prepared while this one is computed, so that its losses are seen later; a
                    # loss that is not finite leads back to the last commit in any case.
                    seen.append(self._step_on_gpu(samples, cycle))
                    look(STEPS_AHEAD)
            for each in coming:
                each.cancel()
            look(0)
        if self.gpu is not None:
            self.gpu.stream.synchronize()
        return Losses(*(total / steps for total in sums)) if steps else None

    def _compute_gradient(self, batch: Batch, cycle: int) -> Tensor:
        """Compute the gradient; give the losses and its length."""
        self.net.train()
        self.optimizer.zero_grad(set_to_none=True)
        losses = self._losses(self._forward, batch, cycle)
        losses[0].backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, at(self.part.clip, cycle))
        return torch.stack([*(loss.detach() for loss in losses), norm])

    def _step_on_gpu(self, samples: Samples, cycle: int) -> _Seen:
        """Make a step; what is to be seen of it comes later."""
        assert self.gpu is not None
        part = self.part
        schedules = (part.clip, part.value_mix, part.value_weight, part.plies_weight, part.weight_decay)

        def compute(batch: Batch) -> Tensor:
            numbers = self._compute_gradient(batch, cycle)
            self.optimizer.step()
            return numbers

        with device_errors(), torch.cuda.stream(self.gpu.stream):
            self._set_rate(cycle)
            numbers, written = self.gpu.step(samples, tuple(at(each, cycle) for each in schedules), compute)
            seen = _Seen(self.step, numbers, written)
            self._go_on()
        return seen

    def _set_rate(self, cycle: int) -> None:
        """Tell the optimizer how far to go."""
        rate = self.rate(cycle)
        for group in self.optimizer.param_groups:
            group["lr"] = rate if self.gpu is None else group["lr"].fill_(rate)
            group["weight_decay"] = at(self.part.weight_decay, cycle) if group["params"][0].ndim >= 2 else 0.0

    def _go_on(self) -> None:
        """The average follows the step that was made."""
        self.step += 1
        decay = min(self.part.ema, (1 + self.step) / (AVERAGE_DELAY + self.step))
        with torch.no_grad():
            torch._foreach_lerp_(self._averages, self._weights, 1.0 - decay)

    def rate(self, cycle: int) -> float:
        """Give the learning rate of the next step."""
        warmth = min(1.0, (self.step + 1) / max(1, self.part.warmup))
        return at(self.part.learning_rate, cycle) * warmth * self.rate_scale

    def _bring(self, samples: Samples) -> Batch:
        """Bring samples to the device."""
        return Batch(*(tensor.to(self.device) for tensor in as_tensors(samples)))

    def _losses(self, net: Callable[..., Any], batch: Batch, cycle: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Give the total loss and its parts: policy, value, plies."""
        part = self.part
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            logits, wdl_logits, plies = net(batch.bits, batch.scalars)

        # 1. Policy: the search's weights against the softmax over the legal moves
        width = batch.legal_index.shape[1]
        real = torch.arange(width, device=self.device) < batch.legal_counts.long()[:, None]
        legal = logits.gather(1, batch.legal_index.long()).masked_fill(~real, NO_MOVE)
        weight = batch.policy_weight
        weighed = (logits.gather(1, batch.policy_index.long()) * weight).sum(1)
        policy = (legal.logsumexp(1) * weight.sum(1) - weighed).mean()

        # 2. Win-draw-loss: the result, mixed with the search's value. A value says nothing of draws; that of a
        #    game without a third result is the mildest reading: v > 0 is v wins and 1 - v draws.
        mix = at(part.value_mix, cycle)
        root = batch.root_value.clamp(-1, 1)
        searched = torch.stack([root.clamp(min=0), 1 - root.abs(), (-root).clamp(min=0)], dim=1)
        target = (1 - mix) * batch.wdl + mix * searched
        known = batch.value_weight
        games = known.sum().clamp(min=1)
        value = ((target * -wdl_logits.log_softmax(1)).sum(1) * known).sum() / games

        # 3. Plies left, in the unit in which the net learns them
        error = functional.huber_loss(plies / PLIES_UNIT, batch.plies / PLIES_UNIT, reduction="none")
        length = (error * known).sum() / games
        total = policy + at(part.value_weight, cycle) * value + at(part.plies_weight, cycle) * length
        return total, policy, value, length

    @torch.no_grad()
    def validate(self, buffer: Buffer, cycle: int, batches: int = 4) -> Losses | None:
        """Measure the averaged net on positions of a buffer, the same ones for the same cycle."""
        if not buffer.positions:
            return None
        size = at(self.part.batch, cycle)
        found = [
            self._losses(
                self.average,
                self._bring(buffer.sample(size, stream(self.seed, "validate", cycle, number), False)),
                cycle,
            )
            for number in range(batches)
        ]
        return Losses(*torch.tensor(found).mean(0).tolist())

    def is_finite(self) -> bool:
        """Whether every weight of the averaged net is a number."""
        return all(bool(tensor.isfinite().all()) for tensor in self.average.state_dict().values())

    # -- state ------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write everything that decides the further course: safetensors and JSON."""
        tensors = {name: tensor.cpu().numpy() for name, tensor in self._tensors().items()}
        write_file(folder / LEARNER_TENSORS, pack_tensors(tensors))
        card = _Card(format=FORMAT, optimizer=self.part.optimizer, step=self.step, rate_scale=self.rate_scale)
        write_file(folder / LEARNER_JSON, msgspec.json.encode(card))

    def restore(self, folder: Path) -> None:
        """Go back, or forward, to the state in a folder; a damaged one is refused and changes nothing."""
        # 1. What was saved?
        path = folder / LEARNER_JSON
        try:
            with open_regular(path, 1 << 16) as file:
                card = msgspec.json.decode(file.read(), type=_Card)
        except msgspec.MsgspecError as error:
            raise LearnerError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from error
        if card.format != FORMAT or card.optimizer != self.part.optimizer:
            raise LearnerError(f"{path}: not the state of this learner ({card.optimizer})", str(path))
        # 2. Exactly the tensors that a learner has at that step
        if self.gpu is not None:
            self.gpu.forget()
        self._prepare_optimizer(card.step > 0)
        own = {
            name: each
            for name, each in self._tensors().items()
            if card.has_moments or not name.startswith(MOMENT_PREFIX)
        }
        read = read_tensors(folder / LEARNER_TENSORS, {name: ("F32", tuple(own[name].shape)) for name in own})
        for name, tensor in own.items():
            tensor.copy_(torch.from_numpy(read[name]))
        self.step, self.rate_scale = card.step, card.rate_scale

    def _tensors(self) -> dict[str, Tensor]:
        """Give every tensor of the learner by name. They are the very ones in use, not copies."""
        found = {f"net.{name}": tensor for name, tensor in self.net.state_dict().items()}
        found |= {f"{AVERAGE_PREFIX}{name}": tensor for name, tensor in self.average.state_dict().items()}
        for name, parameter in self.net.named_parameters():
            for key, tensor in self.optimizer.state.get(parameter, {}).items():
                found[f"{MOMENT_PREFIX}{name}.{key}"] = tensor.view(-1) if tensor.ndim == 0 else tensor
        return found

    def _prepare_optimizer(self, begun: bool) -> None:
        """Make the optimizer's state as empty, or of the shapes it has after a step."""
        self.optimizer.state.clear()
        if begun:
            for parameter in self.net.parameters():
                if self.part.optimizer == "adamw":
                    moments = {key: torch.zeros_like(parameter.detach()) for key in ("exp_avg", "exp_avg_sq")}
                    self.optimizer.state[parameter] = {"step": torch.zeros((), device=self.device), **moments}
                else:
                    self.optimizer.state[parameter] = {"momentum_buffer": torch.zeros_like(parameter.detach())}
