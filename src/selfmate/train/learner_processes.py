"""The processes of a learner on several devices: started by the run, given their parts of each batch, ended with it.

The process of the run has the first device, the window, the state and the files. It sends the others messages through
their input: a `LearnerState` when it begins to learn, followed by its tensors over the group, then their part of every
batch. They keep nothing from one call of `Learner.learn` to the next, so what happens between (a commit, a restored
state, a net that grows, a session with another number of processes) concerns the first alone.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final

import msgspec
import numpy as np
import torch
from msgspec import Struct
from torch import Tensor

from selfmate.nn.config import NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.schedule import at, start_cycles
from selfmate.recipe.schema import LearnerPart
from selfmate.search.driver import one_thread
from selfmate.train.batch import Batch
from selfmate.train.learner import Learner
from selfmate.train.learner_group import LearnerGroup, LearnersError, LearnerState, part_of_batch
from selfmate.util.text import many

__all__ = ["LearnerProcesses", "check_learners", "learner_processes"]

MODULE: Final = "selfmate.train.learner_processes"
END_SECONDS: Final = 10.0
"""For a process to end by itself."""
LENGTH: Final = struct.Struct("<Q")
"""Before each message: its bytes."""


class _Array(Struct, frozen=True, array_like=True):
    kind: str
    shape: tuple[int, ...]
    data: bytes


class _Message(Struct, frozen=True, kw_only=True):
    state: LearnerState | None = None
    batch: list[_Array] | None = None


def check_learners(learners: int, device: str, part: LearnerPart) -> None:
    """Raise one line if a recipe's batches cannot be shared by so many learners, or the devices are too few."""
    if learners == 1:
        return
    for cycle in start_cycles([part.batch]):
        if (batch := at(part.batch, cycle)) % learners:
            near = batch - batch % learners + learners
            raise LearnersError(
                f"--learners {learners}: a batch of {batch} has no {learners} equal parts; "
                f"--set learner.batch={near} has",
                str(learners),
            )
    if device != "cpu" and learners > (found := torch.cuda.device_count()):
        raise LearnersError(f"--learners {learners}: torch sees {many(found, 'GPU')} here", str(learners))


@contextlib.contextmanager
def learner_processes(learners: int, device: str) -> Iterator[LearnerProcesses | None]:
    """Start the other processes of a learner within a block, and yield the group; None for one learner alone."""
    if learners == 1:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="selfmate-learners-") as folder:
        group = LearnerProcesses(learners, device, Path(folder))
        try:
            yield group
        finally:
            group.close()


class LearnerProcesses(LearnerGroup):
    """The group as its first process has it."""

    def __init__(self, processes: int, device: str, folder: Path) -> None:
        self._folder = folder
        self._others: list[subprocess.Popen[bytes]] = []
        for place in range(1, processes):
            words = [sys.executable, "-m", MODULE, str(place), str(processes), device, str(folder / "meeting")]
            with self._log(place).open("wb") as log:
                self._others.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log))
        try:
            for place, other in enumerate(self._others, 1):
                assert other.stdout is not None
                if not other.stdout.readline():  # it has ended before it was ready
                    raise self._lost(place)
            super().__init__(0, processes, device, folder / "meeting")
        except BaseException:
            self._end()
            raise

    def begin(self, state: LearnerState, tensors: Mapping[str, Tensor]) -> None:
        """Bring the other processes to the state of a learner that begins to learn."""
        for place in range(1, self.processes):
            self._send(place, _Message(state=state))
        self.broadcast(tensors)

    def share(self, batch: Batch) -> Batch:
        """Give the other processes their parts of a batch, and return that of this process."""
        for place in range(1, self.processes):
            arrays = [tensor.contiguous().numpy() for tensor in part_of_batch(batch, place, self.processes)]
            parts = [_Array(each.dtype.str, each.shape, each.tobytes()) for each in arrays]
            self._send(place, _Message(batch=parts))
        return part_of_batch(batch, 0, self.processes)

    def close(self) -> None:
        """End the other processes."""
        self._end()
        super().close()

    def _end(self) -> None:
        for other in self._others:
            assert other.stdin is not None
            with contextlib.suppress(OSError):
                other.stdin.close()
        for other in self._others:
            try:
                other.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                other.kill()
                other.wait()
            assert other.stdout is not None
            other.stdout.close()

    def _send(self, place: int, message: _Message) -> None:
        other = self._others[place - 1]
        assert other.stdin is not None
        data = msgspec.msgpack.encode(message)
        try:
            other.stdin.write(LENGTH.pack(len(data)) + data)
            other.stdin.flush()
        except OSError:
            raise self._lost(place) from None

    def _lost(self, place: int) -> LearnersError:
        lines = self._log(place).read_text(errors="replace").split("\n")
        reason = next((line.strip() for line in reversed(lines) if line.strip()), "no message")
        return LearnersError(f"learner process {place} has ended ({reason}); run the same command again")

    def _log(self, place: int) -> Path:
        return self._folder / f"{place}.log"


# -- the other processes ----------------------------------------------------------------------------------------------


def _read(source: IO[bytes], messages: queue.SimpleQueue[bytes]) -> None:
    """Queue every message; end the process when the run has ended, also while it waits for the group."""
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        messages.put(source.read(LENGTH.unpack(head)[0]))
    os._exit(0)


def _tensor(array: _Array) -> Tensor:
    return torch.from_numpy(np.frombuffer(array.data, array.kind).reshape(array.shape).copy())


def follow(place: int, processes: int, device: str, meeting: Path) -> None:
    """Make the steps of the first process with the parts of its batches, until its end."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the run ends in its own time, and then closes the input
        signal.signal(number, signal.SIG_IGN)
    one_thread()
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, messages), daemon=True).start()
    print("ready", flush=True)
    group = LearnerGroup(place, processes, device, meeting)
    learner: Learner | None = None
    state: LearnerState | None = None
    while True:
        message = msgspec.msgpack.decode(messages.get(), type=_Message)
        if message.state is not None:
            before, state = state, message.state
            if learner is None or before is None or (before.net, before.part) != (state.net, state.part):
                part = LearnerPart.model_validate_json(state.part)
                learner = Learner(Net(NetConfig.from_dict(state.net)), part, state.seed, group=group)
            group.broadcast(learner.take(state))
        elif message.batch is not None:
            assert learner is not None
            assert state is not None
            learner.follow(Batch(*map(_tensor, message.batch)), state.cycle)


if __name__ == "__main__":
    follow(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
