"""The net: shapes, its first answers, folding, carrying a tower over, and that it learns."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from nets import CHESS, perturbed
from selfmate.nn.architecture import PLANES, tensor_shapes
from selfmate.nn.config import GARDNER, SIZES, Context, FixedFacts, NetConfig, NetError
from selfmate.nn.net import Net, fold
from selfmate.nn.transfer import transfer_tower

SMALL: dict[str, object] = {"blocks": 2, "channels": 16, "policy_channels": 16, "value_channels": 8}


def small_net(context: Context = "se", seed: int = 1, **changes: int) -> Net:
    return Net(NetConfig.sized(GARDNER, "tiny", **(SMALL | {"context": context} | changes)), seed=seed)


def random_inputs(rows: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Random squares, about a quarter of them, and random scalars."""
    generator = torch.Generator().manual_seed(seed)
    once, twice = (torch.randint(-(1 << 63), (1 << 63) - 1, (rows, 16), generator=generator) for _ in range(2))
    return once & twice, torch.rand(rows, 4, generator=generator)


def test_input_planes_are_the_squares() -> None:
    net = small_net()
    for rank in range(5):
        for file in range(5):
            bits = torch.zeros(1, 16, dtype=torch.int64)
            bits[0, 3] = 1 << (8 * rank + file)
            planes = net.planes(bits, torch.tensor([[0.5, 0.25, 0.0, 1.0]]))
            assert planes.shape == (1, 21, 5, 5)
            assert planes[0, 3, rank, file] == 1
            assert planes[0, :16].sum() == 1
            assert planes[0, 16:, rank, file].tolist() == [0.5, 0.25, 0.0, 1.0, 1.0]


def test_last_square_of_a_large_board() -> None:
    net = Net(NetConfig.sized(CHESS, "tiny", **SMALL))
    bits = torch.full((1, 16), -(1 << 63), dtype=torch.int64)  # bit 63: h8
    planes = net.planes(bits, torch.zeros(1, 4))
    assert planes[0, :16, 7, 7].sum() == 16
    assert planes[0, :16].sum() == 16


@pytest.mark.parametrize("facts", [GARDNER, CHESS])
@pytest.mark.parametrize("size", SIZES)
def test_sizes(size: str, facts: FixedFacts) -> None:
    config = NetConfig.sized(facts, size)
    shapes = tensor_shapes(config)
    assert shapes["policy.planes.weight"][0] * config.files * config.ranks == config.policy_size
    assert NetConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize("context", ["se", "pool", "none"])
@pytest.mark.parametrize("facts", [GARDNER, CHESS])
def test_untrained_net_is_nearly_uniform_and_even(context: Context, facts: FixedFacts) -> None:
    net = Net(NetConfig.sized(facts, "tiny", context=context), seed=5).eval()
    bits, scalars = random_inputs(64)
    moves = torch.randint(net.config.policy_size, (64, 40), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        priors, wdl, plies = net.evaluate(bits, scalars, moves, torch.full((64,), 40))
    assert priors.max() < 1.5 / 40
    assert priors.min() > 0.6 / 40
    assert (wdl[:, 0] - wdl[:, 2]).abs().max() < 0.15
    assert (wdl - 1 / 3).abs().max() < 0.1
    assert 5 < plies.min() <= plies.max() < 80


def test_seed_alone_decides_the_weights() -> None:
    state = torch.get_rng_state()
    first, again, other = small_net(seed=1), small_net(seed=1), small_net(seed=2)
    assert torch.equal(torch.get_rng_state(), state)
    pairs = [(first.state_dict()[name], again.state_dict()[name]) for name in first.state_dict()]
    assert all(torch.equal(here, there) for here, there in pairs)
    assert not torch.equal(first.weights("stem").weight, other.weights("stem").weight)


def test_evaluate_is_the_softmax_over_the_legal_moves() -> None:
    net = perturbed(small_net())
    bits, scalars = random_inputs(5)
    generator = torch.Generator().manual_seed(2)
    moves = torch.randint(net.config.policy_size, (5, 16), generator=generator)
    counts = torch.tensor([16, 7, 1, 0, 3])
    with torch.inference_mode():
        priors, wdl, plies = net.evaluate(bits, scalars, moves.to(torch.int16), counts.to(torch.int16))
        policy_logits, wdl_logits, plies_again = net(bits, scalars)
    for row, count in enumerate(counts.tolist()):
        expected = policy_logits[row][moves[row, :count]].softmax(0)
        assert torch.allclose(priors[row, :count], expected, atol=1e-6)
        assert (priors[row, count:] == 0).all()
    assert priors.sum(1).tolist() == pytest.approx([1, 1, 1, 0, 1])
    assert torch.equal(wdl, wdl_logits.softmax(1))
    assert torch.equal(plies, plies_again)


@pytest.mark.parametrize("context", ["se", "pool", "none"])
def test_folded_net_answers_alike(context: Context) -> None:
    net = perturbed(small_net(context))
    bits, scalars = random_inputs(64)
    with torch.inference_mode():
        for output, folded in zip(net(bits, scalars), fold(net)(bits, scalars), strict=True):
            scale = output.abs().max()  # logits of one, plies of dozens
            assert (output - folded).abs().max() < 1e-5 * max(1.0, float(scale))


def test_folding_leaves_the_net_alone() -> None:
    net = small_net()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    net.train()
    fold(fold(net))
    assert net.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


def test_tower_carries_over_to_a_larger_board() -> None:
    source = perturbed(small_net(blocks=2))
    target = Net(NetConfig.sized(CHESS, "tiny", **(SMALL | {"blocks": 3})), seed=9).eval()
    assert transfer_tower(source, target) == 2
    bits, scalars = random_inputs(8)
    with torch.inference_mode():
        seen = trunk(source, source.planes(bits, scalars))
        planes = functional.pad(source.planes(bits, scalars), (0, 3, 0, 3))
        larger = trunk(target, planes)
    assert larger.shape == (8, 16, 8, 8)
    assert seen.shape == (8, 16, 5, 5)
    for name, tensor in source.state_dict().items():
        if name.startswith("blocks."):
            assert torch.equal(tensor, target.state_dict()[name]), name
    with torch.inference_mode():  # the third block is new: the identity
        assert torch.equal(trunk(target, planes, blocks=2), larger)
        assert not torch.equal(trunk(target, planes, blocks=1), larger)


def trunk(net: Net, planes: Tensor, blocks: int = 99) -> Tensor:
    """Compute the tower alone, or only its first blocks."""
    values = {PLANES: planes}
    for layer in net.layers:
        kind, number = (*layer.name.split("."), "")[:2]
        if kind == "stem" or (kind == "blocks" and int(number) < blocks):
            values[layer.writes] = net.compute(layer, values)
    return values["trunk"]


def test_towers_that_do_not_fit() -> None:
    with pytest.raises(NetError, match="channels is 16 in one and 24 in the other"):
        transfer_tower(small_net(), small_net(channels=24))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"blocks": 0}, "blocks of a net must be a whole number from 1 to 80, not 0"),
        ({"blocks": True}, "not True"),
        ({"channels": 10**9}, "not 1000000000"),
        ({"channels": 32.0}, "not 32.0"),
        ({"context": "sse"}, "one of se, pool, none"),
        ({"chanels": 32}, "did you mean 'channels'"),
        ({"variant": ""}, "must be a name"),
    ],
)
def test_bad_config(changes: dict[str, object], message: str) -> None:
    with pytest.raises(NetError, match=message) as caught:
        NetConfig.sized(GARDNER, "tiny", **changes)
    assert "\n" not in str(caught.value)


def test_unknown_size() -> None:
    with pytest.raises(NetError, match="valid sizes: tiny, small, medium"):
        NetConfig.sized(GARDNER, "huge")


@pytest.mark.parametrize("context", ["se", "pool", "none"])
def test_net_learns(context: Context) -> None:
    """Which of three moves, and the result: by where a piece stands, and which side has more of them."""
    net = small_net(context).train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    losses = []
    for step in range(40):
        bits, scalars = random_inputs(64, seed=step)
        present = (bits[:, :1] >> torch.tensor([0, 8, 16])) & 1  # own pawns on a1, a2, a3
        move = present.argmax(1)
        boards = net.planes(bits, scalars)
        wins = (boards[:, 0].sum((1, 2)) < boards[:, 6].sum((1, 2))).long() * 2
        policy_logits, wdl_logits, plies = net(bits, scalars)
        loss = functional.cross_entropy(policy_logits[:, [0, 5, 10]], move)
        loss = loss + functional.cross_entropy(wdl_logits, wins) + 0.001 * (plies - 8).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        assert all(parameter.grad is not None for parameter in net.parameters())
        optimizer.step()
        losses.append(float(loss.detach()))
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
