"""Efficiently updatable nets: integers against plain floats, every variant and both colours; files and bad input."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from selfmate import Position
from selfmate._core import NNUE_ACTIVATION_ONE, NNUE_BUCKETS, NNUE_HIDDEN, NNUE_OUTPUT_ONE, Nnue, alpha_beta
from selfmate.errors import EvaluatorError
from selfmate.nn.checkpoint import WeightsError
from selfmate.nn.nnue import NNUE_NAME, TENSORS, find_nnue, quantize, read_nnue, write_nnue
from selfmate.nn.tensor_file import pack_tensors

VARIANTS = ("chess", "atomic", "gardner", "horde", "3check", "antichess", "kingofthehill", "racingkings")
PIECES = "pnbrqk"


def random_tensors(seed: int = 1) -> dict[str, NDArray[Any]]:
    numbers = np.random.default_rng(seed)
    return {
        "features": numbers.normal(0, 0.2, (768, NNUE_HIDDEN)),
        "bias": numbers.normal(0.2, 0.2, NNUE_HIDDEN),
        "output": numbers.normal(0, 0.3, (NNUE_BUCKETS, 2 * NNUE_HIDDEN)),
        "output_bias": numbers.normal(0, 0.5, NNUE_BUCKETS),
    }


def open_net(tensors: dict[str, NDArray[Any]]) -> Nnue:
    return Nnue(**{name: values for name, values in tensors.items() if name != "scale"}, scale=int(tensors["scale"][0]))


def plain_evaluation(tensors: dict[str, NDArray[Any]], position: Position, scale: float) -> float:
    """Return the evaluation from the letters of the FEN, in floats."""
    ranks = position.board_fen().split("/")
    hidden = {}
    pieces = 0
    for view in (True, False):
        total = tensors["bias"].copy()
        pieces = 0
        for down, text in enumerate(ranks):
            rank, file = len(ranks) - 1 - down, 0
            for letter in text:
                if letter.isdigit():
                    file += int(letter)
                    continue
                own = letter.isupper() == view
                row = rank if view else len(ranks) - 1 - rank
                total += tensors["features"][(0 if own else 384) + PIECES.index(letter.lower()) * 64 + row * 8 + file]
                pieces, file = pieces + 1, file + 1
        hidden[view] = np.clip(total, 0, 1) ** 2
    mover = position.turn
    bucket = min((max(pieces, 2) - 2) // 4, 7)
    both = np.concatenate([hidden[mover], hidden[not mover]])
    return float(both @ tensors["output"][bucket] + tensors["output_bias"][bucket]) * scale


def rounded(tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the floats that the integers of a net stand for."""
    integers = quantize(tensors, 200)
    one = NNUE_ACTIVATION_ONE
    units = {"features": one, "bias": one, "output": NNUE_OUTPUT_ONE, "output_bias": one**2 * NNUE_OUTPUT_ONE}
    return {name: integers[name] / unit for name, unit in units.items()}


@pytest.mark.parametrize("variant", VARIANTS)
def test_integers_agree_with_a_plain_net_in_floats(variant: str) -> None:
    tensors = random_tensors()
    net, floats = open_net(quantize(tensors, 200)), rounded(tensors)
    draw = random.Random(3)
    position = Position(variant)
    seen = set()
    for _ in range(120):
        if position.outcome() is not None:
            position = Position(variant)
        wanted = plain_evaluation(floats, position, 200)
        assert net.evaluate(position) == pytest.approx(wanted, abs=1.01), position.fen()
        seen.add(round(wanted))
        position.play(draw.choice(list(position.legal_moves)))
    assert len(seen) > 60


@pytest.mark.parametrize(
    "variant", [each for each in VARIANTS if each != "antichess"]
)  # there captures are searched on
def test_alpha_beta_has_the_evaluation_of_the_net(variant: str) -> None:
    # After one ply the other side may stand pat, so no score is above the best evaluation.
    tensors = random_tensors(2)
    net = open_net(quantize(tensors, 200))
    position = Position(variant)
    after = []
    for move in position.legal_moves:
        position.play(move)
        after.append(-net.evaluate(position))
        position.undo()
    result = alpha_beta(position, depth=1, nodes=10_000, net=net)
    assert result.score <= max(after)
    deeper = [alpha_beta(position, depth=depth, nodes=200_000, net=net) for depth in (5, 5)]
    assert deeper[0].score == deeper[1].score
    assert alpha_beta(position, depth=5, nodes=200_000).score != deeper[0].score


def test_alpha_beta_is_minimax_where_nothing_is_pruned() -> None:
    net = open_net(quantize(random_tensors(4), 5))  # leads are small beside the margins of pruning
    position = Position("chess", "4k3/p7/P7/8/8/8/8/4K3 w - - 0 1")
    for depth in (1, 2):
        assert alpha_beta(position, depth=depth, nodes=10**6, net=net).score == minimax(position, depth, net)


def minimax(position: Position, depth: int, net: Nnue) -> int:
    """Return the score of a position in which nothing can be taken, by searching every move."""
    if depth == 0:
        return net.evaluate(position)
    best = -(10**9)
    for move in position.legal_moves:
        position.play(move)
        best = max(best, -minimax(position, depth - 1, net))
        position.undo()
    return best


def test_files(tmp_path: Path) -> None:
    tensors = quantize(random_tensors(), 123.4)
    assert find_nnue(tmp_path) is None
    folder = tmp_path / "net"
    folder.mkdir()
    write_nnue(folder / NNUE_NAME, tensors)
    net = find_nnue(folder)
    assert net is not None
    assert net.evaluate(Position("chess")) == open_net(tensors).evaluate(Position("chess"))
    # A file that is not one
    path = tmp_path / "broken.safetensors"
    for data, reason in (
        (b"", "not a safetensors file"),
        ((folder / NNUE_NAME).read_bytes()[:-100], "not a valid safetensors file"),
        (pack_tensors({"features": tensors["features"]}), "missing"),
        (pack_tensors(tensors | {"scale": np.array([0], "<i4")}), "too large"),
    ):
        path.write_bytes(data)
        with pytest.raises(WeightsError, match=reason):
            read_nnue(path)


def test_weights_that_could_overflow_are_refused(tmp_path: Path) -> None:
    for name, index, value in (
        ("features", (5, 7), 600),
        ("bias", (3,), 32767),
        ("output", (2, 9), 32767),
        ("output_bias", (1,), 2**31 - 1),
        ("scale", (0,), 10_001),
    ):
        tensors = quantize(random_tensors(), 100)
        tensors[name][index] = value
        if name == "output":
            tensors[name][2, :] = value
        with pytest.raises(EvaluatorError, match="too large"):
            write_nnue(tmp_path / "net.safetensors", tensors)
    assert not list(tmp_path.iterdir())
    assert set(TENSORS) == {"features", "bias", "output", "output_bias", "scale"}
    floats = quantize(random_tensors(), 100)
    floats["features"] = floats["features"].astype(np.float32)
    with pytest.raises(EvaluatorError, match="features: int16"):
        open_net(floats)
