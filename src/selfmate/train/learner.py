"""The learner: batches of the window's positions become a better net.

The weights learn, by the losses of train/losses.py on the positions that train/sampling.py draws; their average plays.

To add a loss term, declare its weight in `LearnerPart` (recipe/schema.py), add a field to `Losses`, and compute it in
`compute_losses` (train/losses.py), which adds it to the total with the weight of the cycle. A new output of the net
belongs to nn/architecture.py. Metrics, TensorBoard, the captured steps of a GPU and the reference of recipe keys follow
from these declarations.

Everything is a function of the state that `save` writes, the window and the run's seed: batch number `step` is drawn
by the counter (seed, step), never by a generator whose state would have to be stored.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import Tensor

from selfmate._core import Buffer, Samples
from selfmate.evaluator.cuda import device_errors
from selfmate.nn.net import Net
from selfmate.nn.tensor_file import pack_tensors, read_tensors
from selfmate.recipe.schedule import at, values_at
from selfmate.recipe.schema import LearnerPart
from selfmate.rundir.format import AVERAGE_PREFIX, LEARNER_JSON, LEARNER_TENSORS, MOMENT_PREFIX
from selfmate.train.batch import Batch, as_tensors
from selfmate.train.cuda_step import CudaSteps
from selfmate.train.formulas import cooldown, cosine, ema_decay, learning_rate, swa_share
from selfmate.train.heads import TrainingHeads, TrainingNet, heads_of
from selfmate.train.learner_card import FORMAT, LearnerCard, LearnerError, read_learner_card
from selfmate.train.learner_group import LearnerGroup, LearnerState
from selfmate.train.loss_means import Diverged, LossMeans, StepResult
from selfmate.train.losses import Losses, Mean, alone, compute_losses, is_taught, losses_with_heads
from selfmate.train.optimizer import empty_state, make_optimizer
from selfmate.train.sampling import Sampler, needs_endings
from selfmate.util.files import write_file
from selfmate.util.random_streams import stream

__all__ = ["Diverged", "Learner", "LearnerError", "Losses"]

BATCHES_AHEAD: Final = 3
"""Batches that are sampled before they are needed."""

STEPS_AHEAD: Final = 4
"""Steps that are launched on a GPU before the losses of the first are read."""


class Learner:
    """A net in training, its average, its optimizer and its step.

    >>> from selfmate.nn.config import GARDNER, NetConfig
    >>> from selfmate.recipe.reader import load
    >>> learner = Learner(Net(NetConfig.sized(GARDNER)), load("gardner-laptop").learner, seed=1)
    >>> learner.step
    0
    """

    def __init__(
        self,
        net: Net,
        part: LearnerPart,
        seed: int,
        device: str = "cpu",
        *,
        compile: bool = False,
        group: LearnerGroup | None = None,
    ) -> None:
        self.part = part
        self.seed = seed
        self.group = group
        """The processes that share every batch; None: this one has it all."""
        self.device = torch.device(device) if group is None else group.device
        # Steps that wait for other processes are not captured as graphs.
        self.gpu = CudaSteps(self.device) if self.device.type == "cuda" and group is None else None
        self.step = 0
        self.rate_scale = 1.0
        self.adjust: Callable[[Samples], None] = lambda samples: None
        """Called with each batch before it is learned from: a teacher replaces values."""
        self.cooling: tuple[int, int] | None = None
        """First and last step of a cooldown, in which the rate falls to zero (train/cooldown.py)."""
        # Channels last is the layout that the convolutions of CPUs and tensor cores work in.
        self.net = net.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.average: Net = copy.deepcopy(self.net).eval().requires_grad_(False)
        self._averages = list(self.average.state_dict().values())
        self._weights = list(self.net.state_dict().values())
        names = heads_of(part)
        self.heads = TrainingHeads(net.config, names, stream(seed, "heads") >> 1) if names else None
        whole: torch.nn.Module = self.net
        if self.heads is not None:
            self.heads.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
            whole = TrainingNet(self.net, self.heads)
        self._parameters = list(whole.parameters())
        if group is not None:
            group.share_norms(whole)
        is_compiled = compile and group is None
        self._forward: Callable[..., Any] = torch.compile(whole, dynamic=False) if is_compiled else whole
        # A CUDA graph reads the learning rate from memory.
        rate = 0.0 if self.gpu is None else torch.zeros((), device=self.device)
        self.optimizer = make_optimizer(part, self._named_parameters(), rate)
        self._span = (0, 0)  # first and last step of the cycle that was learned last

    # -- learning ---------------------------------------------------------------------------------

    def learn(
        self,
        buffer: Buffer,
        goal: int,
        cycle: int,
        *,
        first: int | None = None,
        stopping: Callable[[], bool] = lambda: False,
        tell: Callable[[int, Losses], None] = lambda step, losses: None,
        keep: Callable[[], None] = lambda: None,
    ) -> Losses | None:
        """Train up to step `goal`, or until `stopping` is true; return the mean losses of these steps.

        The cycle began at step `first`, the present one when None. `tell` is called with the number and losses of every
        step, and `keep` every `keep_every` steps. Returns None when no step was made; raises `Diverged` when a loss is
        not finite.
        """
        means = LossMeans(tell)
        self._span = (self.step if first is None else first, goal)
        if self.group is not None:
            self.group.begin(self._description(cycle), self._tensors())
        if self.gpu is not None:
            self.gpu.stream.wait_stream(torch.cuda.current_stream())
        with closing(self._sample_batches(buffer, goal, cycle, stopping)) as batches:
            for samples in batches:
                self.adjust(samples)
                if self.gpu is None:
                    numbers = self._compute_gradient(self._own_part(samples), cycle)
                    means.add(StepResult(self.step, numbers, None), ahead=0)
                    self._set_rate(cycle)
                    self.optimizer.step()
                    self._finish_step()
                else:
                    # The next steps are launched while this one is computed, so its losses are read later; one that
                    # is not finite leads back to the last commit in any case.
                    means.add(self._step_on_gpu(samples, cycle), ahead=STEPS_AHEAD)
                if self.part.keep_every and self.step % self.part.keep_every == 0:
                    means.read()
                    if self.gpu is not None:
                        self.gpu.stream.synchronize()
                    keep()
        means.read()
        if self.gpu is not None:
            self.gpu.stream.synchronize()
        return means.mean()

    def _sample_batches(
        self, buffer: Buffer, goal: int, cycle: int, stopping: Callable[[], bool]
    ) -> Generator[Samples]:
        """Yield the batch of each step up to `goal`; the next batches are sampled while one is learned from.

        The helper thread only samples, without the GIL. If it also copied batches to the device it would wait for the
        GIL at each of many small calls, and the GPU for it.
        """
        sampler = Sampler(buffer, self.part, self.seed, cycle, self._span[0])
        with ThreadPoolExecutor(1) as helper:
            coming: deque[Future[Samples]] = deque()
            drawn = self.step
            try:
                while self.step < goal and not stopping():
                    while drawn < goal and len(coming) < BATCHES_AHEAD:
                        coming.append(helper.submit(sampler.sample, drawn))
                        drawn += 1
                    yield coming.popleft().result()
            finally:
                for each in coming:
                    each.cancel()

    def follow(self, batch: Batch, cycle: int) -> None:
        """Make a step with this process's part of a batch, while the first process of the group learns."""
        self._compute_gradient(Batch(*(tensor.to(self.device) for tensor in batch)), cycle)
        self._set_rate(cycle)
        self.optimizer.step()
        self._finish_step()

    def _compute_gradient(self, batch: Batch, cycle: int) -> Tensor:
        """Compute the clipped gradient; return the losses and the norm before clipping as one tensor."""
        self.net.train()
        if self.heads is not None:
            self.heads.train()
        self.optimizer.zero_grad(set_to_none=True)
        losses = self._losses(self._forward, batch, cycle, alone if self.group is None else self.group.mean)
        losses[0].backward()  # type: ignore[no-untyped-call]
        shown = torch.stack([loss.detach() for loss in losses])
        if self.group is not None:
            self.group.average_gradients(self._parameters)
            shown = self.group.mean(shown)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, at(self.part.clip, cycle))
        return torch.cat([shown, norm[None]])

    def _step_on_gpu(self, samples: Samples, cycle: int) -> StepResult:
        """Launch a step and return its result, which is valid later."""
        assert self.gpu is not None

        def compute(batch: Batch) -> Tensor:
            numbers = self._compute_gradient(batch, cycle)
            self.optimizer.step()
            return numbers

        with device_errors(), torch.cuda.stream(self.gpu.stream):
            self._set_rate(cycle)
            numbers, written = self.gpu.step(samples, self._constants(cycle), compute)
            result = StepResult(self.step, numbers, written)
            self._finish_step()
        return result

    def _constants(self, cycle: int) -> Hashable:
        """Return what a step depends on beside the batch, the weights and the rate, which is in memory.

        A graph that was captured with the same constants may be launched.
        """
        numbers = values_at(self.part, cycle).items()
        return is_taught(self.part, cycle), *(value for key, value in numbers if key != "learning_rate")

    def _set_rate(self, cycle: int) -> None:
        """Set learning rate and weight decay of the next step."""
        rate = self.rate(cycle)
        for group in self.optimizer.param_groups:
            group["lr"] = rate if self.gpu is None else group["lr"].fill_(rate)
            group["weight_decay"] = at(self.part.weight_decay, cycle) if group["params"][0].ndim >= 2 else 0.0

    def _finish_step(self) -> None:
        """Count the step, and update the averaged weights."""
        self.step += 1
        part = self.part
        share = swa_share(self.step, part.swa, part.swa_snapshots) if part.swa else 1.0 - ema_decay(part.ema, self.step)
        if share:
            with torch.no_grad():
                torch._foreach_lerp_(self._averages, self._weights, share)

    def rate(self, cycle: int) -> float:
        """Return the learning rate of the next step; rollbacks scale it down."""
        part = self.part
        falling = cosine(self.step, *self._span, at(part.cosine_end, cycle))
        falling *= 1.0 if self.cooling is None else cooldown(self.step, *self.cooling)
        return learning_rate(at(part.learning_rate, cycle), self.step, part.warmup) * falling * self.rate_scale

    def _bring(self, samples: Samples) -> Batch:
        """Return samples as tensors on the device."""
        return Batch(*(tensor.to(self.device) for tensor in as_tensors(samples)))

    def _own_part(self, samples: Samples) -> Batch:
        """Return what this process learns from: all samples, or its part after the others have got theirs."""
        if self.group is None:
            return self._bring(samples)
        return Batch(*(tensor.to(self.device) for tensor in self.group.share(as_tensors(samples))))

    def _losses(self, net: Callable[..., Any], batch: Batch, cycle: int, mean: Mean = alone) -> tuple[Tensor, ...]:
        """Return the total loss and its terms, in the order of `Losses`; each is the mean over the batch."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            outputs = net(batch.bits, batch.scalars)
        if len(outputs) > 3:
            return losses_with_heads(outputs[:3], outputs[3], batch, self.part, cycle, mean)
        return compute_losses(outputs, batch, self.part, cycle, mean)

    @torch.no_grad()
    def validate(self, buffer: Buffer, cycle: int, batches: int = 4) -> Losses | None:
        """Return the losses of the averaged net on positions of a buffer; None when it is empty.

        The positions depend on seed and cycle alone.
        """
        if not buffer.positions:
            return None
        size, endings, found = at(self.part.batch, cycle), needs_endings(self.part, cycle), []
        for number in range(batches):
            samples = buffer.sample(size, stream(self.seed, "validate", cycle, number), False, endings)
            self.adjust(samples)
            found.append(self._losses(self.average, self._bring(samples), cycle))
        return Losses(*torch.tensor(found).mean(0).tolist())

    def is_finite(self) -> bool:
        """Return whether every weight of the averaged net is finite."""
        return all(bool(tensor.isfinite().all()) for tensor in self.average.state_dict().values())

    # -- state ------------------------------------------------------------------------------------

    def _description(self, cycle: int) -> LearnerState:
        """Return what another process needs beside the tensors to make the same steps."""
        return LearnerState(
            net=self.net.config.to_dict(),
            part=self.part.model_dump_json(),
            seed=self.seed,
            cycle=cycle,
            step=self.step,
            rate_scale=self.rate_scale,
            span=self._span,
            cooling=self.cooling,
            has_moments=bool(self.optimizer.state),
        )

    def take(self, state: LearnerState) -> dict[str, Tensor]:
        """Become the learner of a description; return the tensors that its own ones are to be copied to."""
        self.step, self.rate_scale, self._span, self.cooling = state.step, state.rate_scale, state.span, state.cooling
        self._prepare_optimizer(state.has_moments)
        return self._tensors()

    def save(self, folder: Path) -> None:
        """Write everything that decides how training continues, as safetensors and JSON."""
        tensors = {name: tensor.cpu().numpy() for name, tensor in self._tensors().items()}
        write_file(folder / LEARNER_TENSORS, pack_tensors(tensors))
        card = LearnerCard(
            format=FORMAT,
            optimizer=self.part.optimizer,
            step=self.step,
            rate_scale=self.rate_scale,
            net=self.net.config.to_dict(),
            heads=() if self.heads is None else self.heads.names,
        )
        write_file(folder / LEARNER_JSON, msgspec.json.encode(card))

    def restore(self, folder: Path) -> None:
        """Load the state in a folder; a damaged one raises and leaves the weights unchanged."""
        # 1. What was saved
        path, card = folder / LEARNER_JSON, read_learner_card(folder)
        if card.format != FORMAT or card.optimizer != self.part.optimizer:
            raise LearnerError(
                f"{path}: saved by another version or optimizer ({card.optimizer}); use another --run", str(path)
            )
        own_heads = () if self.heads is None else self.heads.names
        if others := [name for name in card.heads if name not in own_heads]:
            raise LearnerError(f"{path}: saved with the head {others[0]}, which the recipe does not have", str(path))
        new_heads = tuple(f"heads.{name}." for name in own_heads if name not in card.heads)
        # 2. Exactly the tensors that a learner has at its step
        if self.gpu is not None:
            self.gpu.forget()
        self._prepare_optimizer(card.step > 0)
        own = {
            name: each
            for name, each in self._tensors().items()
            if card.has_moments or not name.startswith(MOMENT_PREFIX)
            if not name.removeprefix(MOMENT_PREFIX).startswith(new_heads)
        }
        read = read_tensors(folder / LEARNER_TENSORS, {name: ("F32", tuple(own[name].shape)) for name in own})
        for name, tensor in own.items():
            tensor.copy_(torch.from_numpy(read[name]))
        self.step, self.rate_scale = card.step, card.rate_scale

    def _tensors(self) -> dict[str, Tensor]:
        """Return every tensor of the learner by name: those in use, not copies."""
        found = {f"net.{name}": tensor for name, tensor in self.net.state_dict().items()}
        found |= {f"{AVERAGE_PREFIX}{name}": tensor for name, tensor in self.average.state_dict().items()}
        if self.heads is not None:
            found |= {f"heads.{name}": tensor for name, tensor in self.heads.state_dict().items()}
        for name, parameter in self._named_parameters().items():
            for key, tensor in self.optimizer.state.get(parameter, {}).items():
                found[f"{MOMENT_PREFIX}{name}.{key}"] = tensor.view(-1) if tensor.ndim == 0 else tensor
        return found

    def _named_parameters(self) -> dict[str, torch.nn.Parameter]:
        """Return every parameter that learns; those of heads that only train have names with `heads.` before them."""
        heads = {} if self.heads is None else dict(self.heads.named_parameters(prefix="heads"))
        return dict(self.net.named_parameters()) | heads

    def _prepare_optimizer(self, begun: bool) -> None:
        """Reset the optimizer's state: to empty, or once a step was made to zeros of the shapes that it has then."""
        self.optimizer.state.clear()
        if begun:
            for name, parameter in self._named_parameters().items():
                self.optimizer.state[parameter] = empty_state(self.part, name, parameter)
