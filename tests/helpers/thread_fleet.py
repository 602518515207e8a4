"""A fleet for tests of clusters: workers are threads of this process, with faults between them and the driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from selfmate.cluster.fleet import Reply, Seat
from selfmate.cluster.match_worker import LeasedMatches
from selfmate.cluster.messages import Report, read_report
from selfmate.cluster.worker import LeasedPlay

Fault = Callable[[str, int, Report], object]
"""Of a worker, the number of its call and its report: what the driver gets instead. An exception is the loss of it."""


class ThreadFleet:
    """Seats may be added and removed at any time; `calls` counts the calls of each worker."""

    def __init__(self, seats: int = 1, fault: Fault = lambda worker, call, report: report) -> None:
        self.present = [self.seat(index) for index in range(seats)]
        self.fault = fault
        self.blocks = 0
        self.killed: list[str] = []
        self.calls: dict[str, int] = {}
        self.nets: list[tuple[str, bool]] = []
        self.workers: dict[str, LeasedPlay] = {}
        self._executors: dict[str, ThreadPoolExecutor] = {}
        self._futures: dict[Future[object], str] = {}
        self._lock = threading.Lock()

    @staticmethod
    def seat(index: int) -> Seat:
        return Seat(f"seat{index}", f"machine{index}", 1)

    def seats(self) -> list[Seat]:
        return list(self.present)

    def notices(self) -> list[str]:
        return []

    def put(self, data: bytes) -> bytes:
        self.blocks += 1
        return data

    def start(self, worker: str, seat: Seat, setup: bytes) -> None:
        self.calls[worker] = 0
        self.workers[worker] = LeasedPlay(setup)
        self._executors[worker] = ThreadPoolExecutor(1)

    def call(self, worker: str, orders: bytes, net: bytes | None) -> None:
        self.nets.append((worker, net is not None))
        future = self._executors[worker].submit(self._exchange, worker, orders, net)
        with self._lock:
            self._futures[future] = worker

    def _exchange(self, worker: str, orders: bytes, net: bytes | None) -> object:
        report = read_report(self.workers[worker].exchange(orders, net))
        self.calls[worker] += 1
        answer = self.fault(worker, self.calls[worker], report)
        if isinstance(answer, BaseException):
            raise answer
        return answer.to_bytes() if isinstance(answer, Report) else answer

    def replies(self, seconds: float) -> list[Reply]:
        with self._lock:
            futures = list(self._futures)
        if not futures:
            time.sleep(seconds)
            return []
        done = wait(futures, seconds, FIRST_COMPLETED).done
        found = []
        for future in done:
            with self._lock:
                worker = self._futures.pop(future, None)
            if worker is not None:
                error = future.exception()
                found.append(
                    Reply(worker, future.result(), "") if error is None else Reply(worker, None, str(error) or "?")
                )
        return found

    def kill(self, worker: str) -> None:
        self.killed.append(worker)
        with self._lock:
            self._futures = {future: name for future, name in self._futures.items() if name != worker}
        self._executors[worker].shutdown(wait=False)

    def close(self) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=False)
        for worker in self.workers.values():
            worker._thread.stopping = lambda: True


class MatchFleet(ThreadFleet):
    """Threads with workers of matches; a fault gets the bytes of a report."""

    def __init__(
        self,
        seats: int = 1,
        spoil: Callable[[str, int, bytes], object] | None = None,
        worker: Callable[[bytes], Any] = LeasedMatches,
    ) -> None:
        super().__init__(seats)
        self.worker = worker
        self.spoil = spoil or (lambda worker, call, report: report)

    def start(self, worker: str, seat: Seat, setup: bytes) -> None:
        super_workers: Any = self.workers
        self.calls[worker] = 0
        super_workers[worker] = self.worker(setup)
        self._executors[worker] = ThreadPoolExecutor(1)

    def _exchange(self, worker: str, orders: bytes, net: bytes | None) -> object:
        report = self.workers[worker].exchange(orders, net)
        self.calls[worker] += 1
        answer = self.spoil(worker, self.calls[worker], report)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def close(self) -> None:
        for executor in self._executors.values():
            executor.shutdown(wait=False)
