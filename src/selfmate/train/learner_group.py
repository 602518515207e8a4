"""A batch that several processes of one machine learn from together, each with an equal part and a copy of the net.

What a step computes is what one process computes with the whole batch, but for rounding, if these are means over the
processes, and nothing else is:

1. the statistics of every batch norm, mean and variance, and in the backward pass their gradients;
2. the weights by which the losses are divided (`losses.weighted_mean`), and the losses that are shown;
3. the gradients of the parameters, before they are clipped.

Then clipping, optimizer and average do the same in every process. `learner_processes.py` starts the processes and hands
out the parts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import torch
import torch.distributed as dist
from msgspec import Struct
from torch import Tensor, nn

from selfmate.errors import SelfmateError
from selfmate.nn.net import Norm
from selfmate.train.batch import Batch

__all__ = ["LearnerGroup", "LearnerState", "LearnersError", "part_of_batch"]


class LearnersError(SelfmateError):
    """A learner on several devices cannot be had, or has lost a process."""


WAIT: Final = timedelta(minutes=10)
"""After which a process that waits for another one gives up."""


class _MeanOverProcesses(torch.autograd.Function):
    """The mean of a tensor over all processes.

    The loss is the mean of those of the processes: the gradient for what one of them put in is the mean of theirs.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        return _mean(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return _mean(gradient)


def _mean(tensor: Tensor) -> Tensor:
    result = tensor.detach().clone(memory_format=torch.contiguous_format)
    with _exchange():
        dist.all_reduce(result)
    return result.div_(dist.get_world_size())


@contextlib.contextmanager
def _exchange() -> Iterator[None]:
    """Raise `LearnersError` for an exchange that fails, as it does when another process has ended."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise LearnersError(f"a process of the learner is lost ({reason}); run the same command again") from None


class LearnerState(Struct, frozen=True, kw_only=True):
    """What a learner is beside its tensors, for a process that makes the same steps."""

    net: dict[str, Any]  # its config
    part: str  # of the recipe, JSON
    seed: int
    cycle: int
    step: int
    rate_scale: float
    span: tuple[int, int]  # first and last step of the cycle
    cooling: tuple[int, int] | None
    has_moments: bool  # whether the optimizer has made a step


class LearnerGroup:
    """The processes of a learner, as one of them sees them. There is one group in a process.

    `place` is the number of this process, and `device` what it computes on. The processes find each other by a file
    that does not exist yet; on CPUs they speak over the loopback interface alone.
    """

    def __init__(self, place: int, processes: int, device: str, meeting: Path) -> None:
        self.place, self.processes = place, processes
        self.device = torch.device("cpu") if device == "cpu" else torch.device("cuda", place)
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        dist.init_process_group(
            "gloo" if self.device.type == "cpu" else "nccl",
            init_method=f"file://{meeting.absolute()}",
            rank=place,
            world_size=processes,
            timeout=WAIT,
        )

    def close(self) -> None:
        """Leave the group."""
        dist.destroy_process_group()

    def mean(self, tensor: Tensor) -> Tensor:
        """Return the mean of a tensor over all processes; gradients pass through."""
        found: Tensor = _MeanOverProcesses.apply(tensor)  # type: ignore[no-untyped-call]
        return found

    def share_norms(self, module: nn.Module) -> None:
        """Let the batch norms of a module normalise by the statistics of the whole batch."""
        normalise = _shared_norm(self.processes)
        for each in module.modules():
            if isinstance(each, Norm):
                each.shared = normalise

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace the gradients by their means over all processes, in one exchange."""
        gradients = [each.grad for each in parameters if each.grad is not None]
        _unpack(_mean(_packed(gradients)), gradients)

    def broadcast(self, tensors: Mapping[str, Tensor]) -> None:
        """Overwrite tensors, the same names in every process, by those of the first process."""
        ordered = [tensors[name].detach() for name in sorted(tensors)]
        packed = _packed(ordered)
        with _exchange():
            dist.broadcast(packed, 0)
        if self.place:
            _unpack(packed, ordered)

    # -- what only the first process does (`LearnerProcesses`) --------------------------------------------------------

    def begin(self, state: LearnerState, tensors: Mapping[str, Tensor]) -> None:
        """Bring the other processes to the state of a learner that begins to learn."""
        raise NotImplementedError

    def share(self, batch: Batch) -> Batch:
        """Give the other processes their parts of a batch, and return that of this process."""
        raise NotImplementedError


def _packed(tensors: Sequence[Tensor]) -> Tensor:
    """Return the numbers of tensors in one, whatever the order of their dimensions in memory."""
    return torch.cat([each.reshape(-1) for each in tensors])


def _unpack(packed: Tensor, tensors: Sequence[Tensor]) -> None:
    """Overwrite tensors by what `_packed` has made of such ones."""
    end = 0
    for each in tensors:
        begin, end = end, end + each.numel()
        each.copy_(packed[begin:end].view(each.shape))


def _shared_norm(processes: int) -> Callable[[Norm, Tensor], Tensor]:
    """Return a batch norm whose batch is shared by so many processes; running statistics are those of all.

    A function of its own: unlike a bound method it is not copied with a net.
    """

    def normalise(norm: Norm, x: Tensor) -> Tensor:
        assert norm.running_mean is not None
        assert norm.running_var is not None
        assert norm.momentum is not None
        # 1. Statistics of the whole batch, in two passes: a mean of squares would cancel
        values = x.float()
        mean = _MeanOverProcesses.apply(values.mean((0, 2, 3)))  # type: ignore[no-untyped-call]
        centred = values - mean[:, None, None]
        variance = _MeanOverProcesses.apply(centred.square().mean((0, 2, 3)))  # type: ignore[no-untyped-call]
        # 2. Running statistics, with the unbiased variance, as torch has them
        count = processes * values.numel() // values.shape[1]
        with torch.no_grad():
            norm.running_mean.lerp_(mean, norm.momentum)
            norm.running_var.lerp_(variance * (count / (count - 1)), norm.momentum)
        # 3. The norm
        scale = norm.weight * torch.rsqrt(variance + norm.eps)
        found: Tensor = (centred * scale[:, None, None] + norm.bias[:, None, None]).to(x.dtype)
        return found

    return normalise


def part_of_batch(batch: Batch, place: int, processes: int) -> Batch:
    """Return one of equal parts of a batch: rows that no other part has."""
    rows = batch.bits.shape[0] // processes
    return Batch(*(tensor[place * rows : (place + 1) * rows] for tensor in batch))
