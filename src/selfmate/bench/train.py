"""`selfmate bench train`: samples per second of the learner, beside a plain loop over a batch on the device."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from selfmate._core import Buffer, Encoding, Pool, Samples, SearchConfig, SelfPlayConfig
from selfmate.bench.report import BenchReport, BenchTable, Tell, load_note
from selfmate.bench.untrained import untrained_net
from selfmate.errors import SelfmateError
from selfmate.recipe.reader import change, load
from selfmate.recipe.schedule import at
from selfmate.util.cpu import cores, processor_name
from selfmate.util.packages import install_hint
from selfmate.util.text import many

if TYPE_CHECKING:
    from selfmate.train.learner import Learner

__all__ = ["train_speed"]

WARMUP_STEPS: Final = 5


def train_speed(
    *,
    recipe: str = "gardner-laptop",
    seconds: float = 10.0,
    device: str = "cpu",
    compile: bool = False,
    overrides: Sequence[str] = (),
    tell: Tell = lambda *_: None,
) -> BenchReport:
    """Learn from games of heuristic-1 for some seconds, then run a plain loop over one batch for as long."""
    try:
        import torch

        from selfmate.train.learner import Learner
    except ModuleNotFoundError as error:
        raise SelfmateError(install_hint(error.name)) from None
    wanted = change(load(recipe), overrides)
    variant, batch = wanted.variant.name, at(wanted.learner.batch, 0)

    def now() -> float:
        if device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter()

    # 1. Games to learn from
    tell(0, 3, "games")
    buffer = _games(variant, wanted.encoding())
    seeds = itertools.count()
    sampling = _rate(lambda: buffer.sample(batch, next(seeds)), 1.0, now) * batch
    # 2. The learner
    tell(1, 3, "the learner")
    net = untrained_net(variant, wanted.net.size, **wanted.net.changes())
    learner = Learner(net, wanted.learner, 1, device, compile=compile)
    learner.learn(buffer, WARMUP_STEPS, 0)
    began, steps = now(), learner.step
    learner.learn(buffer, 1 << 40, 0, stopping=lambda: time.perf_counter() - began >= seconds)
    speed = (learner.step - steps) * batch / (now() - began)
    # 3. The plain loop
    tell(2, 3, "a plain loop")
    plain = _plain_step(learner, buffer.sample(batch, 1))
    for _ in range(WARMUP_STEPS):
        plain()
    top = _rate(plain, seconds, now) * batch
    return _report(
        {
            "recipe": recipe,
            "settings": list(overrides),
            "device": device,
            "compiled": compile,
            "batch": batch,
            "samples_per_second": round(speed),
            "plain_loop": round(top),
            "of_plain_loop": round(speed / top, 4),
            "sampling": round(sampling),
        }
    )


def _report(values: dict[str, Any]) -> BenchReport:
    rows = (
        ("the learner, samples/s", f"{values['samples_per_second']:,}"),
        ("a plain loop, samples/s", f"{values['plain_loop']:,} ({values['of_plain_loop']:.1%} of it reached)"),
        ("sampling alone, samples/s", f"{values['sampling']:,}"),
    )
    title = f"Learning, {values['recipe']}, {values['device']}, batch {values['batch']}"
    table = BenchTable(title, ("figure", "measured"), rows)
    return BenchReport((table,), (f"{processor_name()}, {many(cores(), 'core')}, {load_note()}",), values)


def _plain_step(learner: Learner, samples: Samples) -> Callable[[], None]:
    """Return a training step with the net, loss and optimizer of `learner` and nothing else, over one batch."""
    held = learner._bring(samples)

    def step() -> None:
        learner.optimizer.zero_grad(set_to_none=True)
        learner._losses(learner._forward, held, 0)[0].backward()  # type: ignore[no-untyped-call]
        learner.optimizer.step()

    return step


def _games(variant: str, encoding: Encoding) -> Buffer:
    """Return a buffer of games that heuristic-1 plays against itself."""
    pool = Pool(
        variant,
        SearchConfig(gumbel=True),
        SelfPlayConfig(visits=8, full_probability=1, random_plies=8, temperature=0),
        seed=1,
        slots=256,
    )
    pool.start(0, 512)
    pool.run("heuristic-1")
    buffer = Buffer(variant, 10_000_000, 0, encoding)
    for record in pool.drain():
        buffer.add(record)
    return buffer


def _rate(call: Callable[[], object], seconds: float, now: Callable[[], float]) -> float:
    """Return calls per second; `now` waits for the device, every twenty calls."""
    began, done = now(), 0
    while time.perf_counter() - began < seconds:
        call()
        done += 1
        if done % 20 == 0:
            now()
    return done / (now() - began)
