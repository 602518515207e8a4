"""Options of the learner against arithmetic of the tests' own: targets by replaying games, losses in plain Python."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
import torch

from oracles import chi_square_z
from selfmate._core import Buffer, GameRecord, Samples
from selfmate.board.position import Position
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net
from selfmate.recipe.reader import load, smoke
from selfmate.recipe.schema import LearnerPart
from selfmate.train.learner import Learner
from selfmate.train.losses import compute_losses, shaped_value
from selfmate.train.sampling import Sampler, draw_recent
from selfmate.train.teacher import Teacher
from selfmate.util.random_streams import stream

SURE: Final = 4.5
RECIPE: Final = smoke(load("gardner-laptop"))
CONFIG: Final = NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8)
WORTH: Final = {"p": 1, "n": 3, "b": 3, "r": 5, "q": 9}
Array = npt.NDArray[np.float64]

pytestmark = pytest.mark.usefixtures("one_thread")


def part(**settings: Any) -> LearnerPart:
    """Return the part of a recipe with these keys, also those that only go with other nets than the recipe's."""
    return LearnerPart.model_validate(RECIPE.learner.model_dump() | settings)


def make(**settings: Any) -> Learner:
    return Learner(Net(CONFIG, seed=3), part(**settings), seed=5)


# ---- what a replay of the game says ---------------------------------------------------------------------------------


def material(position: Position, white: bool) -> int:
    """Count the pieces in the FEN: those of one side minus those of the other."""
    board = position.fen().split()[0]
    balance = sum(
        WORTH.get(letter.lower(), 0) * (1 if letter.isupper() else -1) for letter in board if letter.isalpha()
    )
    return balance if white else -balance


def positions_of(record: GameRecord) -> list[Position]:
    """Return every position of a game, the first and the last included."""
    position = Position(record.variant, record.start_fen)
    found = [position.copy()]
    for move in record.moves:
        position.play(move)
        found.append(position.copy())
    return found


def is_white(position: Position) -> bool:
    return position.fen().split()[1] == "w"


@pytest.fixture(scope="module")
def replayed(games: list[GameRecord]) -> dict[int, list[Position]]:
    return {game.game_id: positions_of(game) for game in games}


def test_samples_know_the_material_and_their_ply(buffer: Buffer, replayed: dict[int, list[Position]]) -> None:
    unequal: Counter[tuple[bool, bool]] = Counter()
    for endings in (True, False):
        samples = buffer.sample(150, 3, True, endings)
        for row in range(samples.size):
            line, ply = replayed[int(samples.game_ids[row])], int(samples.played[row])
            mover = is_white(line[ply])
            assert ply + int(samples.plies[row]) == len(line) - 1
            assert samples.material[row] == material(line[ply], mover)
            assert samples.final_material[row] == (material(line[-1], mover) if endings else 0)
            unequal[mover, is_white(line[-1]) == mover] += bool(samples.final_material[row])
    assert len(unequal) == 4
    assert min(unequal.values()) > 3


# ---- losses ---------------------------------------------------------------------------------------------------------

OPTIONS: Final[list[dict[str, Any]]] = [
    {"policy_loss": "all"},
    {"target_power": 1.5},
    {"target_power": 0.5, "policy_loss": "all", "smoothing": 0.2},
    {"smoothing": 0.1},
    {"value_loss": "mse", "value_mix": 0.25},
    {"value_loss": "huber", "value_mix": 0.25},
    {"draw_target": -0.3},
    {"draw_target": 0.25, "value_mix": 0.5},
    {"draw_target": -0.15, "material_nudge": 0.1, "value_loss": "mse"},
    {"material_nudge": 0.2},
    {"weigh_by": "game"},
    {"weigh_by": "ply", "value_loss": "huber", "draw_target": -0.9, "material_nudge": 0.9},
]


def plain(number: Any) -> float:
    """Return a number of a recipe that is no schedule."""
    return float(number)


def target_of(samples: Samples, row: int, lines: dict[int, list[Position]], keys: LearnerPart) -> Array:
    """Return win, draw and loss that a position is to be valued at, from a replay of its game."""
    line = lines[int(samples.game_ids[row])]
    mover = is_white(line[int(samples.played[row])])
    win, draw, loss = samples.wdl[row].tolist()
    if draw:
        more = material(line[-1], mover)
        nudge = plain(keys.material_nudge)
        value = plain(keys.draw_target) + (nudge if more > 0 else -nudge if more < 0 else 0.0)
        value = max(-1.0, min(1.0, value))
        win, loss = (value, 0.0) if value > 0 else (0.0, -value)
        draw = 1 - win - loss
    root, drawn = float(samples.root_value[row]), float(samples.root_draw[row])
    searched = np.array([(1 - drawn + root) / 2, drawn, (1 - drawn - root) / 2])
    mix = plain(keys.value_mix)
    return (1 - mix) * np.array([win, draw, loss]) + mix * searched


def policy_of(samples: Samples, row: int, logits: Array, keys: LearnerPart) -> float:
    """Return the cross-entropy of the policy of a position."""
    legal = samples.legal_index[row, : samples.legal_counts[row]].tolist()
    pairs = zip(samples.policy_index[row].tolist(), samples.policy_weight[row].tolist(), strict=True)
    power, even = plain(keys.target_power), plain(keys.smoothing)
    powers = {index: weight**power for index, weight in pairs if weight > 0}
    wanted = {index: even / len(legal) for index in legal}
    for index, weight in powers.items():
        wanted[index] += (1 - even) * weight / sum(powers.values())
    counted = legal if keys.policy_loss == "legal" else range(logits.shape[1])
    total = math.log(sum(math.exp(logits[row, index]) for index in counted))
    return -sum(weight * (float(logits[row, index]) - total) for index, weight in wanted.items())


def value_of(target: Array, output: Array, keys: LearnerPart) -> float:
    """Return the value loss of a position with a win-draw-loss head (three logits) or a scalar one."""
    shares = np.exp(output) / np.exp(output).sum()
    if keys.value_loss == "ce":
        return -float((target * np.log(shares)).sum())
    error = float((shares[0] - shares[2] if output.ndim else output) - (target[0] - target[2]))
    if keys.value_loss == "mse":
        return error**2
    return error**2 / 2 if abs(error) <= 1 else abs(error) - 0.5


def losses_of(
    samples: Samples, outputs: Sequence[Array], lines: dict[int, list[Position]], keys: LearnerPart
) -> tuple[float, float, float]:
    """Return policy, value and plies loss of a batch, each as a weighted mean over positions."""
    logits, values, plies = outputs
    found: list[tuple[float, float, float]] = []
    weights, known = [], []
    for row in range(samples.size):
        played, length = int(samples.played[row]), len(lines[int(samples.game_ids[row])]) - 1
        weights.append({"none": 1.0, "game": float(length), "ply": played + 1.0}[keys.weigh_by])
        known.append(weights[-1] * float(samples.value_weight[row]))
        error = abs(plies[row] - float(samples.plies[row])) / 32
        found.append(
            (
                policy_of(samples, row, logits, keys),
                value_of(target_of(samples, row, lines, keys), values[row], keys),
                error * error / 2 if error <= 1 else error - 0.5,
            )
        )
    policy, value, left = (np.array(column) for column in zip(*found, strict=True))
    return (
        float(np.average(policy, weights=weights)),
        float(np.average(value, weights=known)),
        float(np.average(left, weights=known)),
    )


@pytest.mark.parametrize("settings", OPTIONS, ids=str)
@pytest.mark.parametrize("scalar", [False, True])
def test_losses_with_options(
    buffer: Buffer, replayed: dict[int, list[Position]], settings: dict[str, Any], scalar: bool
) -> None:
    keys = part(**{"value_weight": 0.5, "plies_weight": 0.1, "value_mix": 0.0} | settings)
    if scalar and keys.value_loss == "ce":
        keys = part(**keys.model_dump() | {"value_loss": "mse"})
    learner = make(**keys.model_dump())
    chance = np.random.default_rng(4)
    samples = buffer.sample(40, 7, True, True)
    assert samples.wdl[:, 1].sum() > 0
    outputs: list[Array] = [
        chance.normal(size=(40, CONFIG.policy_size)),
        chance.uniform(-1, 1, size=40) if scalar else chance.normal(size=(40, 3)),
        chance.integers(0, 90, size=40).astype(np.float64),
    ]
    tensors = [torch.from_numpy(array) for array in outputs]
    found = [float(loss) for loss in learner._losses(lambda bits, scalars: tensors, learner._bring(samples), 0)]
    policy, value, plies = losses_of(samples, outputs, replayed, keys)
    assert found == pytest.approx([policy + 0.5 * value + 0.1 * plies, policy, value, plies], rel=1e-5)
    ordinary = make(value_weight=0.5, plies_weight=0.1, value_mix=0.0, value_loss="mse" if scalar else "ce")
    other = ordinary._losses(lambda bits, scalars: tensors, learner._bring(samples), 0)
    assert found != [float(loss) for loss in other]


def test_a_hundred_visits_to_ten_are_sharpened_to_1000_to_32() -> None:
    """004: the power 1.5 makes 100 : 10 visits about 31.6 : 1."""
    from selfmate.train.losses import policy_target

    rows = policy_target(torch.tensor([[100 / 110, 10 / 110, 0.0], [0.0, 0.0, 0.0]]), 1.5)
    assert float(rows[0, 0] / rows[0, 1]) == pytest.approx(1000 / 31.6227766, rel=1e-5)
    assert rows.sum(1).tolist() == pytest.approx([1.0, 0.0])


def test_a_net_without_policy_has_no_policy_loss(buffer: Buffer) -> None:
    learner = make(value_loss="mse")
    batch = learner._bring(buffer.sample(8, 1))
    total, policy, value, plies = compute_losses((None, torch.zeros(8), None), batch, learner.part, 0)
    assert (float(policy), float(plies)) == (0.0, 0.0)
    assert float(total) == float(value) > 0


def test_the_value_of_a_draw_follows_its_schedule(buffer: Buffer) -> None:
    """004: -0.15, from iteration 10 on -0.25, from 20 on -0.30."""
    learner = make(draw_target=((0, -0.15), (10, -0.25), (20, -0.3)), value_loss="mse", value_mix=0.0)
    samples = buffer.sample(30, 2)
    drawn = torch.from_numpy(samples.wdl[:, 1] == 1)
    batch = learner._bring(samples)
    assert drawn.any()
    for cycle, value in ((0, -0.15), (9, -0.15), (10, -0.25), (19, -0.25), (20, -0.3), (90, -0.3)):
        guess = torch.where(drawn, value, batch.wdl[:, 0] - batch.wdl[:, 2])
        assert float(compute_losses((None, guess, None), batch, learner.part, cycle)[2]) == pytest.approx(0, abs=1e-12)


# ---- rewards on the way ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alpha", "gamma", "cost"), [(0.1, 1.0, 0.0), (0.05, 0.9, 0.01), (0.0, 0.95, 0.02)])
def test_shaped_values_are_sums_of_rewards(
    buffer: Buffer, replayed: dict[int, list[Position]], alpha: float, gamma: float, cost: float
) -> None:
    """003: the mover earns a (g φ(s') - φ(s)) - cost, the other side the opposite of the first term; all discounted."""
    keys = part(shaping=alpha, shaping_discount=gamma, step_cost=cost)
    samples = buffer.sample(60, 11, False, True)
    result = torch.from_numpy(samples.wdl[:, 0] - samples.wdl[:, 2])
    found = shaped_value(result, make()._bring(samples), keys, 0).tolist()
    for row in range(samples.size):
        line, ply = replayed[int(samples.game_ids[row])], int(samples.played[row])
        side, total, discount = is_white(line[ply]), 0.0, 1.0
        for before, after in pairwise(line[ply:]):
            mover = is_white(before)
            gain = alpha * (gamma * material(after, mover) - material(before, mover))
            total += discount * (gain - cost if mover == side else -gain)
            discount *= gamma
        assert found[row] == pytest.approx(total + discount * float(result[row]), abs=1e-5)


@pytest.mark.parametrize("key", ["shaping", "material_nudge"])
@pytest.mark.parametrize("also", [{}, {"epochs": 1.0}, {"recency": 1.0}], ids=str)
def test_batches_know_the_final_material_where_a_target_needs_it(
    buffer: Buffer, replayed: dict[int, list[Position]], key: str, also: dict[str, Any]
) -> None:
    """It costs time to reach, so that it is left out elsewhere; with a schedule from the cycle on that needs it."""
    keys = part(**{key: ((0, 0.0), (2, 0.1)), "batch": 60, **also})
    for cycle in (1, 2):
        samples = Sampler(buffer, keys, seed=5, cycle=cycle, first=0).sample(0)
        for row in range(samples.size):
            line = replayed[int(samples.game_ids[row])]
            mover = is_white(line[int(samples.played[row])])
            assert samples.final_material[row] == (material(line[-1], mover) if cycle == 2 else 0)
        assert cycle == 1 or samples.final_material.any()


def test_a_validation_has_the_targets_of_the_steps(buffer: Buffer) -> None:
    keys: dict[str, Any] = {"shaping": 0.1, "value_loss": "mse", "value_mix": 0.0}
    found, without = (make(**keys | {"shaping": weight}).validate(buffer, 0, batches=1) for weight in (0.1, 1e-9))
    learner = make(**keys)
    samples = buffer.sample(learner.part.batch, stream(5, "validate", 0, 0), False, True)  # type: ignore[arg-type]
    with torch.no_grad():
        wanted = learner._losses(learner.average, learner._bring(samples), 0)
    assert found is not None
    assert without is not None
    assert found.value == pytest.approx(float(wanted[2]), rel=1e-6)
    assert found.value != pytest.approx(without.value, rel=1e-3)


# ---- rates and averages ---------------------------------------------------------------------------------------------


def test_the_rate_falls_along_a_cosine_in_each_cycle(buffer: Buffer) -> None:
    learner = make(cosine_end=0.2, learning_rate=0.01, warmup=0, batch=8)
    used: list[float] = []

    def note(step: int, losses: Any) -> None:
        used.append(learner.rate(0))

    learner.learn(buffer, 5, cycle=0, tell=note)
    learner.learn(buffer, 12, cycle=1, stopping=lambda: learner.step == 8, tell=note)
    learner.learn(buffer, 12, cycle=1, first=5, tell=note)  # resumed
    expected = [0.01 * (0.6 + 0.4 * math.cos(math.pi * step / 5)) for step in range(5)]
    expected += [0.01 * (0.6 + 0.4 * math.cos(math.pi * step / 7)) for step in range(7)]
    assert used == pytest.approx(expected)
    used.clear()
    learner = make(cosine_end=((0, 1.0), (2, 0.2)), learning_rate=((0, 0.01), (2, 0.02)), warmup=0, batch=8)
    learner.learn(buffer, 3, 1, tell=lambda step, losses: used.append(learner.rate(1)))
    learner.learn(buffer, 6, 2, tell=lambda step, losses: used.append(learner.rate(2)))
    expected = [0.02 * (0.6 + 0.4 * math.cos(math.pi * step / 3)) for step in range(3)]
    assert used == pytest.approx([0.01, 0.01, 0.01, *expected])


def test_the_stochastic_average_is_the_mean_of_the_snapshots(buffer: Buffer) -> None:
    """Three snapshots, of steps 3, 6 and 9, count alike; then, of at most three, a new one counts a third."""
    learner = make(swa=3, swa_snapshots=3, learning_rate=0.01, batch=8)
    start = learner.average.get_parameter("policy.planes.weight").clone()
    snapshots = []
    for step in range(1, 13):
        learner.learn(buffer, step, cycle=0)
        if step % 3 == 0:
            snapshots.append(learner.net.get_parameter("policy.planes.weight").detach().clone())
        average = learner.average.get_parameter("policy.planes.weight")
        if step < 3:
            assert torch.equal(average, start)
        elif step < 12:
            assert torch.allclose(average, torch.stack(snapshots).mean(0), atol=1e-6)
    expected = 2 / 3 * torch.stack(snapshots[:3]).mean(0) + snapshots[3] / 3
    assert torch.allclose(average, expected, atol=1e-6)
    assert not torch.allclose(average, snapshots[-1], atol=1e-5)


# ---- which positions ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recency", [0.5, 3.0])
def test_newer_positions_are_drawn_by_their_density(buffer: Buffer, recency: float) -> None:
    """A position between shares a and b of the window has the probability b^(1+r) - a^(1+r)."""
    total = 40
    counts = Counter(number for seed in range(10) for number in draw_recent(total, 2000, recency, seed).tolist())
    chances = [((each + 1) / total) ** (1 + recency) - (each / total) ** (1 + recency) for each in range(total)]
    # Cells with few expected draws are joined
    cells = [slice(0, 10), slice(10, 20), *(slice(each, each + 1) for each in range(20, total))]
    observed = [sum(counts[each] for each in range(total)[cell]) for cell in cells]
    assert abs(chi_square_z(observed, [20_000 * sum(chances[cell]) for cell in cells])) < SURE
    # The learner draws so, too: the mean place of a position is (1 + r) / (2 + r) of the window
    sampler = Sampler(buffer, part(recency=recency, batch=400), seed=5, cycle=0, first=0)
    order = {game: number for number, game in enumerate(buffer.game_ids)}
    places = [order[int(game)] for step in range(4) for game in sampler.sample(step).game_ids]
    assert np.mean(places) / len(order) == pytest.approx((1 + recency) / (2 + recency), abs=0.04)
    # From the cycle of its schedule on
    scheduled, usual = (part(recency=each, batch=64) for each in (((0, 0.0), (2, recency)), 0.0))
    for cycle, keys in ((1, usual), (2, part(recency=recency, batch=64))):
        drawn = [Sampler(buffer, each, seed=5, cycle=cycle, first=0).sample(7) for each in (scheduled, keys)]
        assert [each.game_ids.tolist() for each in drawn[:1]] == [each.game_ids.tolist() for each in drawn[1:]]


def test_every_position_is_drawn_once_in_a_pass(buffer: Buffer) -> None:
    """With two epochs each position comes twice, in another order, whatever the size of a batch."""
    keys = part(epochs=2.0, batch=48)
    steps = 2 * buffer.positions // 48
    sampler = Sampler(buffer, keys, seed=5, cycle=3, first=100)
    drawn: list[tuple[int, int]] = []
    for step in range(100, 100 + steps):
        samples = sampler.sample(step)
        drawn += zip(samples.game_ids.tolist(), samples.played.tolist(), strict=True)
    one = buffer.positions
    assert len(set(drawn[:one])) == one
    assert drawn[:one] != drawn[one : 2 * one]
    assert max(Counter(drawn).values()) == 2
    # Any step alone is the same, as after a restart; another cycle has another order
    again = Sampler(buffer, keys, seed=5, cycle=3, first=100).sample(100 + steps - 1)
    assert list(zip(again.game_ids.tolist(), again.played.tolist(), strict=True)) == drawn[-48:]
    other = Sampler(buffer, keys, seed=5, cycle=4, first=100).sample(100)
    assert list(zip(other.game_ids.tolist(), other.played.tolist(), strict=True)) != drawn[:48]


def test_passes_begin_at_the_cycle_of_their_schedule(buffer: Buffer) -> None:
    keys = part(epochs=((0, 0.0), (2, 1.0)), batch=48)
    for cycle, wanted in ((1, part(epochs=0.0, batch=48)), (2, part(epochs=1.0, batch=48))):
        found, expected = (Sampler(buffer, each, 5, cycle, 0).sample(0) for each in (keys, wanted))
        assert found.game_ids.tolist() == expected.game_ids.tolist()
        assert found.played.tolist() == expected.played.tolist()


def test_the_oldest_games_are_forgotten_by_their_ids(games: list[GameRecord]) -> None:
    window = Buffer("gardner", 100_000, 1)
    for game in games:
        window.add(game)
    window.forget_before(games[7].game_id)
    assert window.game_ids == [game.game_id for game in games[7:]]
    assert window.positions == sum(game.positions for game in games[7:])
    assert set(window.sample(300, 1).game_ids.tolist()) <= {game.game_id for game in games[7:]}
    with pytest.raises(Exception, match="beyond"):
        window.sample_at([window.positions], 1)
    window.forget_before(10**9)
    assert (window.games, window.positions) == (0, 0)


# ---- a teacher ------------------------------------------------------------------------------------------------------

ENGINE: Final = """
import sys
for line in sys.stdin:
    words = line.split()
    if words == ["uci"]:
        print("id name Teacher\\noption name UCI_Variant type combo default gardner var gardner\\nuciok")
    elif words == ["isready"]:
        print("readyok")
    elif words[:2] == ["position", "fen"]:
        board, turn = words[2], words[3]
        balance = sum(letter.isupper() - letter.islower() for letter in board)
        score = balance if turn == "w" else -balance
    elif words[0] == "go":
        print(f"info depth 1 score {'mate 1' if score > 1 else f'cp {100 * score}'}\\nbestmove a1a1")
    elif words == ["quit"]:
        break
    sys.stdout.flush()
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A program that scores a position by the number of pieces of the side to move."""
    script = tmp_path_factory.mktemp("teacher") / "engine.py"
    script.write_text(ENGINE)
    return f"uci:{sys.executable} {script}?nodes=1"


def test_a_teacher_gives_the_values(
    games: list[GameRecord], buffer: Buffer, replayed: dict[int, list[Position]], engine: str
) -> None:
    teacher = Teacher(engine, "gardner", engines=2)
    teacher.add(games)
    learner = make(teacher=engine, teacher_cycles=2, value_loss="mse", value_mix=0.0)
    try:
        samples = buffer.sample(80, 3)
        results = samples.wdl.copy()
        assert (results.sum(1) == 0).any()
        teacher.adjust(samples)
        for row in range(samples.size):
            line = replayed[int(samples.game_ids[row])][int(samples.played[row])]
            pieces = [letter for letter in line.fen().split()[0] if letter.isalpha()]
            own = sum(letter.isupper() == is_white(line) for letter in pieces)
            more = own - (len(pieces) - own)
            expected = 1.0 if more > 1 else math.atan(100 * more / 90) / 1.5637541897  # as lc0 counts centipawns
            assert samples.root_value[row] == pytest.approx(expected, abs=1e-6)
        assert (samples.root_value == 1).any()
        assert (samples.value_weight == 1).all()
        assert (samples.wdl == results).all()
        # Its values alone are learned in its cycles, the results of the games afterwards
        batch = learner._bring(samples)
        for cycle, wanted in ((1, batch.root_value), (2, batch.wdl[:, 0] - batch.wdl[:, 2])):
            _, _, value, plies = compute_losses((None, wanted, batch.plies + 32), batch, learner.part, cycle)
            assert float(value) == pytest.approx(0, abs=1e-9)
            assert float(plies) == pytest.approx(0.5)
        # The teacher's value is that of the position: rewards on the way begin after its cycles
        keys = part(**learner.part.model_dump() | {"shaping": 0.1, "shaping_discount": 0.9, "step_cost": 0.01})
        taught, shaped = (compute_losses((None, batch.root_value, None), batch, keys, cycle)[2] for cycle in (1, 2))
        assert float(taught) == pytest.approx(0, abs=1e-9)
        assert float(shaped) > 0.01
    finally:
        teacher.close()


def test_truncated_games_teach_no_plies_left(games: list[GameRecord], buffer: Buffer, engine: str) -> None:
    learner = make(teacher=engine, teacher_cycles=1)
    samples = buffer.sample(80, 3)
    truncated = torch.from_numpy(samples.value_weight == 0)
    assert truncated.any()
    samples.value_weight[:] = 1
    batch = learner._bring(samples)
    plies = torch.where(truncated, 500.0, batch.plies)
    assert float(compute_losses((None, torch.zeros(80, 3), plies), batch, learner.part, 0)[3]) == 0.0


def test_a_captured_step_is_not_that_of_a_cycle_with_other_targets() -> None:
    """On a GPU a step is captured with the numbers of its cycle; the teacher's cycles have none that changes."""
    learner = make(teacher="uci:teacher?nodes=1", teacher_cycles=2, draw_target=((0, 0.0), (5, -0.1)))
    constants = [learner._constants(cycle) for cycle in range(7)]
    assert constants[0] == constants[1] != constants[2] == constants[4] != constants[5] == constants[6]
