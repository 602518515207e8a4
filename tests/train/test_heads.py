"""Heads that only train: targets against the records, losses by hand, gradients, and that no net has them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from oracles import move_index
from selfmate._core import WHITE, Buffer, GameRecord, Move
from selfmate.board.position import Position
from selfmate.nn.checkpoint import load as load_net
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.reader import change, load
from selfmate.recipe.schema import TRAINING_HEADS, LearnerPart
from selfmate.rundir.archive import current_recipe
from selfmate.rundir.fork import fork
from selfmate.rundir.format import LEARNER_TENSORS, read_run, read_state
from selfmate.rundir.pack import pack
from selfmate.rundir.reader import RunReader
from selfmate.train.batch import as_tensors
from selfmate.train.heads import TrainingHeads, heads_of
from selfmate.train.learner import Learner, LearnerError
from selfmate.train.losses import compute_losses, losses_with_heads
from selfmate.train.session import train

ON = ("learner.soft_weight=8.0", "learner.reply_weight=0.15", "learner.ahead_weight=[[0, 0.0], [1, 0.6]]")
SETTINGS = ("selfplay.max_plies=20", "progress.games=0", "gate.final_games=0", "gate.games=0")

pytestmark = pytest.mark.usefixtures("one_thread")


def part_of(*settings: str) -> LearnerPart:
    return change(load("gardner-laptop"), ["learner.batch=16", *settings]).learner


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run of three tiny cycles with all heads."""
    directory = tmp_path_factory.mktemp("heads") / "run"
    train("gardner-laptop", directory, overrides=(*SETTINGS, *ON), smoke=True, device="cpu")
    return directory


def buffer_of(games: list[GameRecord]) -> Buffer:
    buffer = Buffer("gardner", 100_000, 1)
    for game in games:
        buffer.add(game)
    return buffer


# -- targets ------------------------------------------------------------------------------------------------------


def flipped(position: Position, move: Move) -> int:
    """Return the index of a move of the other side on the board as the side to move sees it."""
    squares = [move.uci()[:2], move.uci()[2:4]]
    if position.turn != WHITE:
        squares = [f"{square[0]}{6 - int(square[1])}" for square in squares]
    same = Position("gardner")  # White to move: its index is that of the board as White sees it
    return move_index(same, Move.from_uci("".join(squares) + move.uci()[4:]))


def test_replies_and_values_ahead_are_those_of_the_records(games: list[GameRecord]) -> None:
    buffer, seen = buffer_of(games), {"reply": 0, "none": 0, "result": 0}
    samples = buffer.sample_at(list(range(buffer.positions)), 1, False, False, True)
    row = 0
    for game in games:
        entries = game.trained()
        for entry in entries:
            ply, moves = entry["ply"], game.moves
            position = Position("gardner", game.start_fen)
            for move in moves[:ply]:
                position.play(move)
            # 1. The reply: the move after the one that was played here
            has_reply = ply + 1 < len(moves)
            assert samples.reply_weight[row] == has_reply
            seen["reply" if has_reply else "none"] += 1
            if has_reply:
                assert samples.reply_index[row] == flipped(position, moves[ply + 1])
            # 2. The values ahead, by the definition
            result = None
            if game.outcome is not None:
                winner = game.outcome.winner
                result = 0.0 if winner is None else 1.0 if winner == position.turn else -1.0
                seen["result"] += 1
            for column, horizon in enumerate((6, 16)):
                keep = 1 - 1 / horizon
                pairs = [
                    (keep ** (later["ply"] - ply - 1) / horizon, (-1) ** (later["ply"] - ply) * later["value"])
                    for later in entries
                    if later["ply"] > ply
                ]
                if result is not None:
                    pairs.append((keep ** (len(moves) - ply - 1), result))
                total = sum(weight for weight, _ in pairs)
                assert samples.ahead_weight[row] == (total > 0)
                if total:
                    wanted = sum(weight * value for weight, value in pairs) / total
                    assert samples.value_ahead[row, column] == pytest.approx(wanted, abs=1e-5)
            row += 1
    assert row == buffer.positions
    assert seen["reply"] > 20
    assert not buffer.sample(8, 1).reply_weight.any()  # nothing unless asked for


def test_a_mirrored_position_has_the_mirrored_reply(games: list[GameRecord]) -> None:
    buffer = buffer_of(games)
    plain, both = (buffer.sample(256, 3, mirror, False, True) for mirror in (False, True))
    changed = (plain.bits != both.bits).any(1)
    assert changed.any()
    # Legal moves are in one order in both, so they say which index is the mirror image of which.
    image: dict[int, int] = {}
    for row in np.flatnonzero(changed):
        count = plain.legal_counts[row]
        image |= dict(zip(plain.legal_index[row, :count].tolist(), both.legal_index[row, :count].tolist(), strict=True))
    checked = 0
    for row in np.flatnonzero(changed & (plain.reply_weight > 0)):
        if (reply := int(plain.reply_index[row])) in image:
            assert both.reply_index[row] == image[reply]
            checked += 1
    assert np.array_equal(plain.value_ahead, both.value_ahead)
    assert checked > 20


# -- losses -------------------------------------------------------------------------------------------------------


def test_losses_are_those_of_the_definitions(games: list[GameRecord]) -> None:
    part = part_of(*ON)
    samples = buffer_of(games).sample(64, 1, True, False, True)
    batch = as_tensors(samples)
    generator = torch.Generator().manual_seed(1)
    outputs = (
        torch.randn(64, 1225, generator=generator),
        torch.randn(64, 3, generator=generator),
        torch.rand(64, generator=generator),
    )
    extra = {
        "soft": torch.randn(64, 1225, generator=generator),
        "reply": torch.randn(64, 1225, generator=generator),
        "ahead": torch.tanh(torch.randn(64, 2, generator=generator)),
    }
    plain = compute_losses(outputs, batch, part, 1)
    total, policy, value, plies, soft, reply, ahead = losses_with_heads(outputs, extra, batch, part, 1)
    assert [policy, value, plies] == [*plain[1:]]
    # 1. Soft policy: weights to the power of a quarter, against the softmax over the legal moves
    rows = []
    for row in range(64):
        logits = extra["soft"][row].double()
        legal = samples.legal_index[row, : samples.legal_counts[row]].astype(int)
        target = samples.policy_weight[row].astype(float) ** 0.25
        target /= max(target.sum(), 1e-30)
        logs = {int(i): float(logits[i]) - math.log(sum(math.exp(float(logits[j])) for j in legal)) for i in legal}
        pairs = zip(samples.policy_index[row].astype(int), target, strict=True)
        rows.append(-sum(weight * logs[int(i)] for i, weight in pairs if weight))
    assert float(soft) == pytest.approx(sum(rows) / 64, rel=1e-5)
    # 2. Reply: cross-entropy over all moves
    over_all = extra["reply"].double().log_softmax(1).numpy()
    known = np.flatnonzero(samples.reply_weight)
    wanted = -np.mean([over_all[row, int(samples.reply_index[row])] for row in known])
    assert float(reply) == pytest.approx(wanted, rel=1e-5)
    # 3. Values ahead: squared errors
    known = np.flatnonzero(samples.ahead_weight)
    errors = (extra["ahead"].numpy()[known] - samples.value_ahead[known]) ** 2
    assert float(ahead) == pytest.approx(float(errors.mean()), rel=1e-5)
    assert float(total) == pytest.approx(float(plain[0] + 8 * soft + 0.15 * reply + 0.6 * ahead), rel=1e-6)
    # The weight of cycle 0 is 0 for the values ahead.
    assert float(losses_with_heads(outputs, extra, batch, part, 0)[0]) == pytest.approx(
        float(plain[0] + 8 * soft + 0.15 * reply), rel=1e-6
    )


@pytest.mark.parametrize("name", TRAINING_HEADS)
def test_each_head_reaches_the_tower_and_learns(name: str, games: list[GameRecord]) -> None:
    weights = [f"learner.{each}_weight={1.0 if each == name else 0.0}" for each in TRAINING_HEADS]
    part = part_of(*weights, "learner.batch=64", "learner.learning_rate=0.01")
    assert heads_of(part) == (name,)
    learner = Learner(Net(NetConfig.sized(GARDNER, blocks=1, channels=8), seed=1), part, seed=1)
    buffer = buffer_of(games)
    batch = as_tensors(buffer.sample(64, 1, True, False, True))

    def loss() -> torch.Tensor:
        """Return the loss of this head alone."""
        outputs = learner._forward(batch.bits, batch.scalars)
        return dict(zip(TRAINING_HEADS, losses_with_heads(outputs[:3], outputs[3], batch, part, 0)[4:], strict=True))[
            name
        ]

    before = loss()
    before.backward()  # type: ignore[no-untyped-call]
    gradient = learner.net.get_parameter("stem.conv.weight").grad  # a new block is the identity
    assert gradient is not None
    assert gradient.abs().max() > 0
    assert learner.heads is not None
    assert all(parameter.grad is not None for parameter in learner.heads.parameters())
    losses = learner.learn(buffer, 40, 0)
    assert losses is not None
    assert all((getattr(losses, other) > 0) == (other == name) for other in TRAINING_HEADS)
    assert loss().detach().item() < 0.99 * before.detach().item()


# -- runs ---------------------------------------------------------------------------------------------------------


def test_no_net_has_them_and_the_learner_resumes_bit_for_bit(
    run: Path, games: list[GameRecord], tmp_path: Path
) -> None:
    state = read_state(run)
    net = load_net(run / state.newest().name)[0]
    assert not any("soft" in name or "reply" in name or "ahead" in name for name in net.state_dict())
    window, config = buffer_of(games), NetConfig.sized(GARDNER, blocks=1, channels=8)

    def fresh(*settings: str) -> Learner:
        return Learner(Net(config, seed=1), part_of(*settings), seed=1)

    whole = fresh(*ON)
    whole.learn(window, 12, 1)
    part = fresh(*ON)
    part.learn(window, 5, 1)
    part.save(tmp_path)
    resumed = fresh(*ON)
    resumed.restore(tmp_path)
    resumed.learn(window, 12, 1)
    ours, theirs = whole._tensors(), resumed._tensors()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    with pytest.raises(LearnerError, match="saved with the head soft, which the recipe does not have"):
        fresh().restore(tmp_path)


def test_without_weights_a_learner_is_what_it_was(games: list[GameRecord]) -> None:
    learner = Learner(Net(NetConfig.sized(GARDNER, blocks=1, channels=8), seed=1), part_of(), seed=1)
    assert learner.heads is None
    assert learner._forward is learner.net
    losses = learner.learn(buffer_of(games), 2, 0)
    assert losses is not None
    assert losses[4:] == (0.0, 0.0, 0.0)


def test_metrics_have_the_losses_and_packed_copies_and_forks_go_on(run: Path, tmp_path: Path) -> None:
    lines = [line for line in RunReader.open(run).metrics("learn") if line["cycle"] == 2]
    assert {"loss_soft", "loss_reply", "loss_ahead"} <= lines[0].keys()
    assert "held_out_soft" not in lines[0]
    pack(run, tmp_path / "packed", 8)
    options: dict[str, Any] = {"smoke": True, "device": "cpu"}
    summary = train("gardner-laptop", tmp_path / "packed", overrides=(*SETTINGS, *ON, "selfplay.cycles=4"), **options)
    assert summary.cycle == 4
    # A fork without heads, and one with another: heads begin anew.
    recipe = change(current_recipe(run, read_run(run)[0]), ["learner.soft_weight=0.0", "selfplay.cycles=4"])
    fork(run, tmp_path / "fork", recipe, 2)
    learner = read_state(tmp_path / "fork").learner
    assert learner is not None
    assert b"heads." not in (tmp_path / "fork" / learner.name / LEARNER_TENSORS).read_bytes()[:4000]
    assert train(tmp_path / "fork" / "recipe.toml", tmp_path / "fork", device="cpu").cycle == 4


def test_heads_depend_on_their_seed_alone() -> None:
    config = NetConfig.sized(GARDNER, blocks=1, channels=8)
    first, same, other = (TrainingHeads(config, TRAINING_HEADS, seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["soft.last.weight"], other["soft.last.weight"])
