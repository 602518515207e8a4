"""Nets of every kind: layers, outputs, files, and one answer of all evaluators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

from named_nets import KINDS, named_net
from nets import close
from selfmate import _core
from selfmate._core import LeafBuffers, Pool, SearchConfig, SelfPlayConfig
from selfmate.errors import EvaluatorError, SelfmateError
from selfmate.evaluator.agreement import leaves_of
from selfmate.evaluator.cache import CachedEvaluator
from selfmate.evaluator.open import open_evaluator
from selfmate.nn.architecture import layers, tensor_shapes
from selfmate.nn.calibration import game_positions
from selfmate.nn.checkpoint import WeightsError, load, read_net_config, save
from selfmate.nn.config import ActivationName, NetConfig, NetError
from selfmate.nn.encodings import encoding_of, sized_for
from selfmate.nn.net import ACTIVATIONS, ConvNorm, Net, fold, fuse_for_tensor_cores
from selfmate.nn.onnx import export_onnx, onnx_from_tensors
from selfmate.nn.quantize import quantize
from selfmate.nn.transfer import copy_matching_weights, transfer_tower
from selfmate.nn.values import expected_value, wdl_of
from selfmate.recipe.check import RecipeError
from selfmate.recipe.reader import change
from selfmate.recipe.reader import load as load_recipe
from selfmate.search.driver import drive


def test_the_nets_of_the_documents_have_their_sizes() -> None:
    """Their own numbers of weights: 5.9 million of 003; heads of 000, 002 and 004 layer by layer."""
    plain = KINDS["gardner-value"] | {"widths": "256,512,1024"}
    wide = sized_for("gardner", "tiny", **plain)
    assert sum(int(np.prod(shape)) for shape in tensor_shapes(wide).values()) == pytest.approx(5.95e6, rel=0.01)
    assert wide.input_planes == 12
    shapes = tensor_shapes(sized_for("chess", "tiny", **KINDS["thesis"]))
    assert shapes["stem.conv.weight"][1] == 12
    assert shapes["policy.full.weight"] == (4096, 2 * 64)
    assert (shapes["value.hidden.weight"], shapes["value.number.weight"]) == ((8, 64), (1, 8))
    factored = tensor_shapes(sized_for("chess", "tiny", **KINDS["selflearning"]))
    assert (factored["policy.from.weight"][0], factored["policy.full.weight"][0]) == (64, 4096)
    cloud = [layer.name for layer in layers(sized_for("chess", "tiny", **KINDS["cloud"] | {"context_blocks": "2-2"}))]
    assert "blocks.1.context.excite" in cloud
    assert "blocks.0.context.excite" not in cloud


@pytest.mark.parametrize("kind", KINDS)
def test_every_evaluator_gives_the_answer_of_torch(kind: str, tmp_path: Path) -> None:
    net = named_net(kind)
    positions = game_positions("gardner", 9)
    leaves = leaves_of(positions, encoding_of(net.config))
    expected = open_evaluator(net, backend="torch").evaluate(leaves)
    assert expected.priors.sum(1) == pytest.approx(1, abs=1e-5)
    assert expected.wdl.sum(1) == pytest.approx(1, abs=1e-6)
    save(net, tmp_path)
    export_onnx(net, tmp_path / "net.onnx")
    opened = [
        open_evaluator(tmp_path, backend="onnx"),
        open_evaluator(tmp_path / "net.onnx", backend="onnx"),
        open_evaluator(tmp_path, backend="auto"),
        CachedEvaluator(open_evaluator(tmp_path)),
        open_evaluator(tmp_path / "net.onnx", backend="auto"),
    ]
    for evaluator in opened:
        assert evaluator.encoding == encoding_of(net.config)
        found = evaluator.evaluate(leaves)
        tolerance = 0.02 if "bf16" in evaluator.name else 1e-5
        assert close(found._replace(plies=expected.plies), expected, tolerance), evaluator.name
    config = net.config
    fits = config.activation == "relu" and config.heads == "conv"
    assert opened[2].name.startswith("winograd" if fits else "onnx")
    if not fits:
        assert "the core's kernels have no" in opened[2].choice_reason
        with pytest.raises(EvaluatorError, match="the core's kernels have no"):
            open_evaluator(tmp_path, backend="winograd")


def test_activations_are_those_of_their_formulas() -> None:
    """004: Mish (Misra 2019), x tanh(log(1 + exp(x))); 003: LeakyReLU with the slope 0.01."""
    numbers = np.array([-3.0, -0.5, 0.0, 0.25, 4.0])
    formulas = {
        "relu": np.maximum(numbers, 0),
        "leaky": np.where(numbers < 0, 0.01 * numbers, numbers),
        "mish": numbers * np.tanh(np.log1p(np.exp(numbers))),
    }
    assert set(formulas) == set(get_args(ActivationName))
    for name, expected in formulas.items():
        assert ACTIVATIONS[name](torch.from_numpy(numbers)).tolist() == pytest.approx(expected.tolist(), abs=1e-9)


@pytest.mark.parametrize("kind", ["cloud", "counters", "plain"])
def test_int8(kind: str) -> None:
    net = named_net(kind)
    data = quantize(open_onnx(net))
    from selfmate.evaluator.onnx import OnnxEvaluator

    leaves = leaves_of(game_positions("gardner", 9), encoding_of(net.config))
    expected = open_evaluator(net, backend="torch").evaluate(leaves)
    assert close(OnnxEvaluator(data).evaluate(leaves)._replace(plies=expected.plies), expected, 0.2)


def open_onnx(net: Net) -> bytes:
    from selfmate.nn.checkpoint import describe, tensors_of

    return onnx_from_tensors(net.config, tensors_of(net), describe(net))


def test_a_factored_loss_is_the_flat_loss() -> None:
    """log p(from) + log p(to | from) of the two heads is the softmax of their sum over the legal moves."""
    net = named_net("selflearning").double()
    leaves = leaves_of(game_positions("gardner", 6), encoding_of(net.config))
    bits, scalars = torch.from_numpy(leaves.bits.view(np.int64)), torch.from_numpy(leaves.scalars).double()
    values: dict[str, torch.Tensor] = {"planes": net.planes(bits, scalars)}
    for layer in net.layers:
        values[layer.writes] = net.compute(layer, values)
        if layer.name == "policy.full":
            froms, moves = values["from"].detach().numpy(), values["policy"].detach().numpy()
    priors = net.evaluate(
        bits, scalars, *(torch.from_numpy(each.astype(np.int64)) for each in (leaves.moves, leaves.counts))
    )
    for row, count in enumerate(leaves.counts.tolist()):
        indices = leaves.moves[row, :count].tolist()
        target = np.random.default_rng(row).dirichlet(np.ones(count))
        starts = sorted({index % 25 for index in indices})
        to_logits = {start: [moves[row, index] for index in indices if index % 25 == start] for start in starts}
        from_logits = np.array([froms[row, start] + np.logaddexp.reduce(to_logits[start]) for start in starts])
        log_from = dict(zip(starts, from_logits - np.logaddexp.reduce(from_logits), strict=True))
        loss = 0.0
        for start in starts:
            chosen = [number for number, index in enumerate(indices) if index % 25 == start]
            marginal = target[chosen].sum()
            conditional = np.array(to_logits[start]) - np.logaddexp.reduce(to_logits[start])
            loss -= marginal * (log_from[start] + (target[chosen] / marginal) @ conditional)
        flat = -target @ np.log(priors[0][row, :count].detach().numpy())
        assert loss == pytest.approx(flat, abs=1e-6)
        assert len(starts) == 1 or np.ptp([froms[row, start] for start in starts]) > 0.01


@pytest.mark.parametrize("number", [-3.0, -0.7, 0.0, 0.2, 5.0])
def test_numbers_and_probabilities_have_the_same_expectation(number: float) -> None:
    outputs = torch.tensor([[number]], requires_grad=True)
    for kind, value in (("tanh", np.tanh(number)), ("linear", float(np.clip(number, -1, 1))), ("two", None)):
        value = float(np.clip(number, -1, 1)) if value is None else value
        wdl = wdl_of(outputs, kind)[0].tolist()  # type: ignore[arg-type]
        assert wdl[0] - wdl[2] == pytest.approx(value, abs=1e-6)
        assert wdl[1] == 0.0 <= min(wdl)
    expected_value(outputs, "linear").sum().backward()  # type: ignore[no-untyped-call]
    assert outputs.grad is not None
    assert outputs.grad.item() == 1.0


def test_two_values_are_those_of_the_colours() -> None:
    net = named_net("gardner-two-heads")
    with torch.no_grad():
        net.weights("value.number").weight.zero_()
        bias = net.weights("value.number").bias
        assert bias is not None
        bias.copy_(torch.tensor([0.5, -0.25]))
    positions = game_positions("gardner", 12)
    for backend in ("torch", "onnx"):
        wdl = open_evaluator(net, backend=backend).evaluate(leaves_of(positions, encoding_of(net.config))).wdl
        values = (wdl[:, 0] - wdl[:, 2]).tolist()
        assert values == pytest.approx([0.5 if position.turn else -0.25 for position in positions])
    assert len({position.turn for position in positions}) == 2


def test_without_a_policy_all_moves_are_equal() -> None:
    net = named_net("gardner-value")
    leaves = leaves_of(game_positions("gardner", 5), encoding_of(net.config))
    for backend in ("torch", "onnx"):
        priors = open_evaluator(net, backend=backend).evaluate(leaves).priors
        for row, count in zip(priors, leaves.counts.tolist(), strict=True):
            assert row[:count] == pytest.approx(1 / count)
            assert not row[count:].any()


# ---- files and contradictions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_files(kind: str, tmp_path: Path) -> None:
    net = named_net(kind)
    card = save(net, tmp_path)
    again, read = load(tmp_path)
    assert (again.config, read) == (net.config, card)
    assert NetConfig.from_dict(card.config) == net.config


def test_the_usual_net_is_described_as_before() -> None:
    described = sized_for("gardner", "tiny").to_dict()
    assert list(described)[-3:] == ["context", "policy_channels", "value_channels"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder": "planes17"}, "encoder of a net must be one of full, pieces12, .*, not 'planes17'"),
        ({"policy": "from"}, "policy of a net must be one of planes, fromto, factored, none, not 'from'"),
        ({"history": 9}, "history of a net must be a whole number from 1 to 8, not 9"),
        ({"bitboards": 13}, "bitboards of the net is 13, but 18 for the encoder planes18"),
        ({"value": "two"}, "two needs the encoder pieces13, not planes18"),
        ({"underpromotions": "no"}, "underpromotions of a net must be true or false"),
    ],
)
def test_a_file_with_an_unknown_encoder_or_policy_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    save(named_net("selflearning"), tmp_path)
    card = json.loads((tmp_path / "net.json").read_text())
    card["config"] |= changes
    (tmp_path / "net.json").write_text(json.dumps(card))
    for read in (load, read_net_config, open_evaluator, lambda folder: open_evaluator(folder, backend="auto")):
        with pytest.raises(WeightsError, match=message) as caught:
            read(tmp_path)
        assert "\n" not in str(caught.value)


def test_an_onnx_file_with_an_unknown_encoder_is_refused(tmp_path: Path) -> None:
    import msgspec

    from selfmate.evaluator.onnx import card_encoding
    from selfmate.nn.checkpoint import describe

    card = describe(named_net("thesis"))
    damaged = msgspec.structs.replace(card, config=card.config | {"encoder": "planes17"})
    with pytest.raises(WeightsError, match=r"net\.onnx: encoder of a net must be one of"):
        card_encoding(damaged, "net.onnx")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"widths": "8,16", "blocks": 3}, "a plain tower of given widths has none"),
        ({"widths": "8;16"}, "widths of a net must be as in '256,512,1024'"),
        ({"widths": "8,2000"}, "channels of a net must be"),
        ({"context_blocks": "3-5"}, "3-5 does not fit 4 blocks"),
        ({"context_blocks": "1-2", "context": "none"}, "with the context none"),
        ({"underpromotions": False}, "the policy planes has no choice"),
        ({"value": "two"}, "two needs the encoder pieces13, not full"),
        ({"value_hidden": 8}, "value_hidden of a net needs full heads"),
        ({"value_channels": 0}, "0 needs full heads"),
    ],
)
def test_contradictions(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(NetError, match=message):
        sized_for("gardner", "tiny", **changes)
    settings = [f"net.{key}={json.dumps(value)}" for key, value in changes.items()]
    with pytest.raises(RecipeError, match=message) as caught:
        change(load_recipe("gardner-laptop"), settings)
    assert "\n" not in str(caught.value)


def test_a_gumbel_root_needs_priors() -> None:
    with pytest.raises(RecipeError, match=r"search\.gumbel: a Gumbel root draws moves by their priors"):
        change(load_recipe("gardner-laptop"), ["net.policy=none"])
    settings = ["gate.gumbel=true", "gate.select=puct", "gate.choose=visits"]
    with pytest.raises(RecipeError, match=r"^gate\.gumbel: a Gumbel root draws moves by their priors"):
        change(load_recipe("gardner-value"), settings)


def test_games_of_another_encoding_are_refused() -> None:
    pool = Pool("gardner", SearchConfig(), SelfPlayConfig(visits=2), seed=1)
    pool.start(0, 1)
    with pytest.raises(EvaluatorError, match="not encoded as"):
        drive(pool, [open_evaluator(named_net("thesis"), backend="onnx")], lanes=1)
    usual, other = leaves_of(game_positions("gardner", 2)), open_evaluator(named_net("thesis"), backend="onnx")
    with pytest.raises(SelfmateError, match="do not fit a net of 12 and 0 inputs"):
        other.evaluate(usual)


def test_weights_of_another_meaning_are_not_copied() -> None:
    fromto, planes = (Net(sized_for("chess", "tiny", policy=policy), seed=1) for policy in ("fromto", "planes"))
    assert fromto.config.planes == planes.config.planes == 73
    assert not copy_matching_weights(fromto, planes)
    pieces = Net(sized_for("chess", "tiny", encoder="planes18"), seed=1)
    with pytest.raises(NetError, match="the towers do not fit"):
        transfer_tower(pieces, planes)


def test_players_of_different_encodings_meet() -> None:
    from selfmate.match.runner import play_match

    first, second = (open_evaluator(named_net(kind), backend="onnx") for kind in ("thesis", "gardner-two-heads"))
    start = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
    played = play_match("gardner", first, second, [start], search=SearchConfig(), visits=4, max_plies=30, lanes=1)
    assert played is not None
    assert len(played[1]) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_padding_for_tensor_cores_changes_nothing(kind: str) -> None:
    net = named_net(kind)
    padded = fuse_for_tensor_cores(fold(net))
    for module in padded.modules():
        if isinstance(module, ConvNorm):
            module.fused = False  # these kernels are for a GPU alone
    leaves = leaves_of(game_positions("gardner", 5), encoding_of(net.config))
    arrays = (leaves.bits.view(np.int64), leaves.scalars, leaves.moves.astype(np.int64), leaves.counts.astype(np.int64))
    tensors = [torch.from_numpy(array) for array in arrays]
    with torch.no_grad():
        for here, there in zip(net.evaluate(*tensors), padded.evaluate(*tensors), strict=True):
            assert torch.allclose(here, there, atol=1e-4)


def test_leaves_without_scalars_fit_the_memory_of_a_device() -> None:
    encoding = _core.encoding("gardner", "pieces12", "fromto_queen", 2)
    pool = Pool("gardner", SearchConfig(), SelfPlayConfig(visits=2), seed=1, slots=3, encoding=encoding)
    pool.start(0, 3)
    bits, scalars, moves, counts = np.zeros(3 * 24, "u8"), np.zeros(0, "f4"), np.zeros(3 * 128, "u2"), np.zeros(3, "u2")
    buffers = LeafBuffers(bits, scalars, moves, counts, [128], encoding)
    pool.gather_into(buffers)
    assert buffers.size == 3
    with pytest.raises(SelfmateError, match="memory for leaves of another encoding"):
        Pool("gardner", SearchConfig(), SelfPlayConfig(visits=2), seed=1).gather_into(buffers)
