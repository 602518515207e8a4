"""Every kind of net learns, plays a cycle of a run, and plays in the UCI engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from named_nets import KINDS, named_net
from selfmate import Position
from selfmate._core import Buffer, GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.nn.checkpoint import read_net_config, save
from selfmate.nn.encodings import encoding_of
from selfmate.recipe.reader import change, load, smoke
from selfmate.recipe.schema import LearnerPart
from selfmate.search.evaluate import evaluate
from selfmate.train.learner import Learner, Losses
from selfmate.train.session import train
from uci_process import Uci

pytestmark = pytest.mark.usefixtures("one_thread")


def settings(kind: str) -> list[str]:
    """Return the settings of a recipe for a kind of net, with learning that is fast enough to be seen."""
    found = [
        f"net.{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in KINDS[kind].items()
    ]
    found += ["learner.learning_rate=0.005", "learner.warmup=0", "learner.batch=64"]
    found += ["search.gumbel=false"] if KINDS[kind].get("policy") == "none" else []
    if "value_loss" in LearnerPart.model_fields and KINDS[kind].get("value", "wdl") != "wdl":
        found.append("learner.value_loss=mse")
    return found


@pytest.fixture(scope="module")
def games() -> list[bytes]:
    """Play some games of heuristic-1."""
    selfplay = SelfPlayConfig(visits=8, full_probability=1, random_plies=4, temperature=1.0, max_plies=80)
    pool = Pool("gardner", SearchConfig(gumbel=True), selfplay, seed=1, threads=1)
    pool.start(0, 12)
    pool.run("heuristic-1")
    return [record.to_bytes() for record in pool.drain()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_steps_lower_the_losses(kind: str, games: list[bytes]) -> None:
    made = smoke(change(load("gardner-laptop"), settings(kind)))
    net = named_net(kind).train()
    buffer = Buffer("gardner", 1 << 20, 1, encoding_of(net.config))
    for game in games:
        buffer.add(GameRecord.from_bytes(game))
    learner = Learner(net, made.learner, seed=5)
    batch = learner._bring(buffer.sample(128, 9, True))

    def losses() -> Losses:
        with torch.no_grad():
            return Losses(*(float(loss) for loss in learner._losses(learner.net, batch, 0)))

    before = losses()
    learner.learn(buffer, 8, cycle=0)
    after = losses()
    assert after.total < before.total
    assert after.value < before.value
    assert after.policy < before.policy or (net.config.policy == "none" and after.policy == before.policy == 0)


def test_a_run_is_trained(tmp_path: Path) -> None:
    """Self-play, learning, gate and final matches with a history, seen by White, and a policy in two parts."""
    train("gardner-laptop", smoke=True, run=tmp_path / "run", overrides=settings("counters"), device="cpu", seed=3)
    folders = sorted(path.parent for path in (tmp_path / "run").glob("**/net.json"))
    config = read_net_config(folders[-1])
    assert (config.encoder, config.history, config.policy, config.value) == ("planes21", 2, "factored", "tanh")
    found = evaluate(str(folders[-1]), [Position("gardner")])[0]
    assert found.wdl[1] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_uci_plays(kind: str, tmp_path: Path) -> None:
    save(named_net(kind), tmp_path / "net")
    with Uci() as engine:
        engine.send("setoption name UCI_Variant value gardner", f"setoption name WeightsFile value {tmp_path / 'net'}")
        said = " ".join(engine.ready())
        assert "net plays gardner" in said
        engine.send("position startpos moves a2a3 b4a3")
        best = engine.ask("go nodes 60")[-1].split()[1]
    position = Position("gardner")
    for uci in ("a2a3", "b4a3", best):
        position.play(position.parse_uci(uci))
