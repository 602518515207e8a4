"""Nets in eight bits, and the positions that they are calibrated and measured on."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
import torch

from nets import CHESS, close, some_net
from selfmate._core import encoding
from selfmate.evaluator.agreement import difference, leaves_of
from selfmate.evaluator.onnx import OnnxEvaluator
from selfmate.nn.calibration import calibration_leaves, game_positions
from selfmate.nn.config import GARDNER
from selfmate.nn.leaves import LeafBatch
from selfmate.nn.onnx import INT8_KEY, metadata, to_onnx, verify_checksum
from selfmate.nn.quantize import quantize

# -- int8 files -----------------------------------------------------------------------------------


def test_only_the_blocks_are_rounded(f32: bytes, int8: bytes) -> None:
    before, after = (onnx.load_from_string(data) for data in (f32, int8))
    count = {kind: sum(node.op_type == kind for node in after.graph.node) for kind in ("Conv", "QuantizeLinear")}
    # Four blocks of two convolutions; each rounds what goes in, the second also what comes out.
    assert count == {"Conv": sum(node.op_type == "Conv" for node in before.graph.node), "QuantizeLinear": 8 + 4}
    kinds = {tensor.name: tensor.data_type for tensor in after.graph.initializer}
    made = {node.output[0]: node for node in after.graph.node}
    plain = [node for node in after.graph.node if node.op_type == "Conv" and node.input[1] in kinds]
    assert len(plain) == 4  # stem, two of the policy, one of the value
    assert {kinds[node.input[1]] for node in plain} == {onnx.TensorProto.FLOAT}
    for node in after.graph.node:
        if node.op_type == "Conv" and node not in plain:
            weight = made[node.input[1]]
            assert weight.op_type == "DequantizeLinear"
            assert kinds[weight.input[0]] == onnx.TensorProto.INT8
            steps = next(tensor for tensor in after.graph.initializer if tensor.name == weight.input[1])
            assert list(steps.dims) == [32]  # one for each channel


def test_an_int8_file_is_whole_and_says_what_it_is(f32: bytes, int8: bytes) -> None:
    assert verify_checksum(int8) == int8
    assert INT8_KEY in metadata(int8)
    assert INT8_KEY not in metadata(f32)
    assert OnnxEvaluator(int8).net_id == OnnxEvaluator(f32).net_id
    assert OnnxEvaluator(int8, threads=1).name == "onnx int8 on 1 thread"
    assert len(int8) < len(f32) / 2
    quantize.cache_clear()
    assert quantize(f32) == int8


def test_int8_is_near(f32: bytes, int8: bytes, positions: LeafBatch) -> None:
    expected = OnnxEvaluator(f32).evaluate(positions)
    found = difference(expected, OnnxEvaluator(int8).evaluate(positions))
    assert 0 < found["policy_mean"] < 0.01
    assert 0 < found["value_mean"] < 0.01
    assert found["same_first_prior"] >= 0.95


@pytest.mark.parametrize("context", ["se", "pool", "none"])
@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_nets_of_all_kinds(facts: Any, context: Any) -> None:
    net = some_net(context, facts=facts)
    leaves = leaves_of(game_positions(facts.variant, 20))
    expected, answer = (OnnxEvaluator(data).evaluate(leaves) for data in (to_onnx(net), quantize(to_onnx(net))))
    assert difference(expected, answer)["policy_mean"] < 0.05
    assert answer.priors.sum(1) == pytest.approx(1, abs=1e-5)


def test_a_layer_that_says_nothing() -> None:
    net = some_net()
    with torch.no_grad():
        net.get_parameter("blocks.0.first.norm.weight").zero_()
        net.get_parameter("blocks.0.first.norm.bias").fill_(-1)
    leaves = leaves_of(game_positions("gardner", 20))
    expected, answer = (OnnxEvaluator(data).evaluate(leaves) for data in (to_onnx(net), quantize(to_onnx(net))))
    assert difference(expected, answer)["policy_mean"] < 0.05


@pytest.mark.parametrize("threads", [1, 3])
def test_int8_in_pieces(int8: bytes, positions: LeafBatch, threads: int) -> None:
    whole = OnnxEvaluator(int8, threads=1).evaluate(positions)
    evaluator = OnnxEvaluator(int8, threads=threads)
    for size in (0, 1, 5, 8, 64, 100):
        part = evaluator.evaluate(positions.take(slice(0, size)))
        assert [len(rows) for rows in part if rows is not None] == [size] * 3
        if size:
            assert close(part, whole.rows(slice(0, size)), 1e-4)


# -- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["chess", "gardner", "antichess"])
def test_positions_are_fixed_and_not_those_of_the_calibration(variant: str) -> None:
    positions = game_positions(variant, 60)
    assert len({position.fen() for position in positions}) == 60
    assert [position.fen() for position in positions] == [position.fen() for position in game_positions(variant, 60)]
    assert not any(position.is_game_over(claim_draw=True) for position in positions)
    leaves = calibration_leaves(variant, 200)
    assert leaves.size == 200
    seen = {row.tobytes() for row in leaves.bits}
    assert len(seen) > 150  # from many places
    assert sum(row.tobytes() in seen for row in leaves_of(positions).bits) <= 10  # openings may meet


def test_leaves_of_positions_are_those_of_a_search() -> None:
    from selfmate._core import Search, SearchConfig

    position = game_positions("chess", 1)[0]
    own, theirs = leaves_of([position]), Search(position, SearchConfig(), 10).gather(1)
    facts = encoding("chess")
    expected = LeafBatch.of(theirs, facts.bitboards, facts.scalars, facts.policy_size)
    assert np.array_equal(own.bits, expected.bits)
    assert np.array_equal(own.scalars, expected.scalars)
    count = int(own.counts[0])
    assert count == expected.counts[0]
    assert own.moves[0, :count].tolist() == expected.moves[0, :count].tolist()
