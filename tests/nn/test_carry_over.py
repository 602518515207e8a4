"""A net of another variant or board as the start of a net: which weights are equal, which are new."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from selfmate import _core
from selfmate._core import VARIANTS
from selfmate.board.position import Position
from selfmate.nn.config import NetError
from selfmate.nn.encodings import sized_for
from selfmate.nn.net import Net
from selfmate.nn.transfer import CarriedWeights, carry_over

SMALL: dict[str, Any] = {"blocks": 2, "channels": 8, "policy_channels": 8, "value_channels": 8}


def drawn(variant: str, seed: int, **changes: Any) -> Net:
    """A net whose every tensor is drawn at random, so that two of them have no number in common."""
    net = Net(sized_for(variant, **(SMALL | changes)), seed=seed).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in net.state_dict().values():
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.1)
    return net


def meanings(variant: str, policy: str, games: int = 40) -> dict[int, set[tuple[Any, ...]]]:
    """Return what the legal moves of random games do, by policy plane: the step seen by the mover, the promotion."""
    encoding = _core.encoding(variant, "full", policy)
    chance = random.Random(variant)
    found: dict[int, set[tuple[Any, ...]]] = {}
    for _ in range(games):
        position = Position(variant)
        for _ in range(120):
            moves = list(position.legal_moves)
            if not moves or position.outcome() is not None:
                break
            for move in moves:
                text = str(move)
                files, ranks = (ord(text[2 + part]) - ord(text[part]) for part in (0, 1))
                up = 1 if position.fen().split()[1] == "w" else -1
                piece = text[4:].replace("q", "")
                to_rank = int(text[3]) if up == 1 else encoding.ranks + 1 - int(text[3])
                to = (ord(text[2]) - ord("a"), to_rank - 1)
                plane = encoding.move_index(position, move) // (encoding.files * encoding.ranks)
                if text[:2] != "e1" and text[:2] != "e8":  # castling is king takes rook in the policy
                    step = ("=" + piece, files) if piece else to if policy == "fromto" else (files, ranks * up)
                    found.setdefault(plane, set()).add(step)
            position.play(chance.choice(moves))
    return found


@pytest.mark.parametrize("variant", ["gardner", "chess", "antichess"])
@pytest.mark.parametrize("policy", ["planes", "fromto"])
def test_the_names_of_planes_are_what_moves_do(variant: str, policy: str) -> None:
    encoding = _core.encoding(variant, "full", policy)
    names = encoding.plane_names()
    assert len(names) == len(set(names)) == encoding.planes
    seen = meanings(variant, policy)
    assert len(seen) > len(names) // 3
    for plane, steps in seen.items():
        [step] = steps
        if isinstance(step[0], str):
            expected = f"{step[0]} {step[1]}"
        elif policy == "fromto":
            expected = f"to {step[1] * encoding.files + step[0]} of {encoding.files}x{encoding.ranks}"
        else:
            expected = f"{step[0]},{step[1]}"
        assert names[plane] == expected


def test_equal_names_on_boards_of_two_sizes_and_with_other_promotions() -> None:
    gardner, chess, antichess = (_core.encoding(each).plane_names() for each in ("gardner", "chess", "antichess"))
    assert set(gardner) < set(chess) < set(antichess)
    assert set(antichess) - set(chess) == {"=k -1", "=k 0", "=k 1"}
    longer = {name for name in chess if "=" not in name and max(abs(int(step)) for step in name.split(",")) > 4}
    assert set(chess) - set(gardner) == longer
    assert len(longer) == 24


@pytest.mark.parametrize(("old", "new"), [("gardner", "chess"), ("chess", "gardner"), ("chess", "antichess")])
def test_which_weights_are_equal_and_which_are_new(old: str, new: str) -> None:
    source, target, before = drawn(old, 1), drawn(new, 2), drawn(new, 2).state_dict()
    theirs, names = _core.encoding(old).plane_names(), _core.encoding(new).plane_names()
    shared = set(theirs) & set(names)
    assert carry_over(source, target) == CarriedWeights(2, len(shared), has_value=True)
    ours, origin = target.state_dict(), source.state_dict()
    for name, tensor in ours.items():
        if name not in ("policy.planes.weight", "policy.planes.bias"):
            assert torch.equal(tensor, origin[name]), name
            continue
        for plane, meaning in enumerate(names):
            expected = origin[name][theirs.index(meaning)] if meaning in shared else before[name][plane]
            assert torch.equal(tensor[plane], expected), (name, meaning)


@pytest.mark.parametrize("policy", ["planes", "fromto", "factored"])
def test_full_heads_carry_over_on_a_board_of_the_same_size(policy: str) -> None:
    full = {"heads": "full", "policy": policy, "value_hidden": 8}
    source, target, before = drawn("chess", 1, **full), drawn("antichess", 2, **full), drawn("antichess", 2, **full)
    spaces = [_core.encoding(net.config.variant, "full", net.config.policy_space) for net in (source, target)]
    theirs, names = (space.plane_names() for space in spaces)
    assert carry_over(source, target) == CarriedWeights(2, len(theirs), has_value=True)
    ours, origin = target.state_dict()["policy.full.weight"], source.state_dict()["policy.full.weight"]
    for index in range(0, target.config.policy_size, 7):
        plane, square = divmod(index, 64)
        known = names[plane] in theirs
        expected = origin[64 * theirs.index(names[plane]) + square] if known else before.state_dict()[
            "policy.full.weight"][index]  # fmt: skip
        assert torch.equal(ours[index], expected), (names[plane], square)
    assert torch.equal(target.state_dict()["value.hidden.weight"], source.state_dict()["value.hidden.weight"])


def test_what_does_not_fit_stays_new() -> None:
    """Heads of another kind, or connected to the squares of another board, carry nothing over; the tower does."""
    for changes, here, kept in (
        ({"heads": "full"}, {"heads": "full"}, CarriedWeights(2, 0, has_value=False)),
        ({}, {"heads": "full"}, CarriedWeights(2, 0, has_value=False)),
        ({}, {"policy": "fromto"}, CarriedWeights(2, 0, has_value=True)),
        ({}, {"value": "tanh"}, CarriedWeights(2, 49, has_value=False)),
        ({}, {"value_channels": 4}, CarriedWeights(2, 49, has_value=False)),
        ({}, {"blocks": 3}, CarriedWeights(2, 49, has_value=True)),
        ({"policy": "fromto"}, {"policy": "fromto"}, CarriedWeights(2, 9, has_value=True)),
    ):
        source, target, before = drawn("gardner", 1, **changes), drawn("chess", 2, **here), drawn("chess", 2, **here)
        assert carry_over(source, target) == kept, here
        for name, tensor in target.state_dict().items():
            if name.startswith(("blocks.0", "blocks.1", "stem")):
                assert torch.equal(tensor, source.state_dict()[name]), name
            elif name.startswith("blocks.2") or (name.startswith("policy") and not kept.policy_planes):
                assert torch.equal(tensor, before.state_dict()[name]), name
            elif name.startswith("value"):
                known = (source if kept.has_value else before).state_dict()
                assert torch.equal(tensor, known[name]), name


def test_a_plain_tower_carries_over_whole() -> None:
    plain: dict[str, Any] = {"widths": "8,12", "blocks": 0, "channels": 12, "context": "none"}
    source, target = drawn("gardner", 1, **plain), drawn("chess", 2, **plain)
    assert carry_over(source, target).blocks == 0
    assert torch.equal(source.state_dict()["tower.0.conv.weight"], target.state_dict()["tower.0.conv.weight"])
    assert str(CarriedWeights(0, 0, has_value=False)) == "the tower"


@pytest.mark.parametrize(
    ("changes", "key"),
    [({"channels": 12}, "channels"), ({"encoder": "planes18"}, "bitboards"), ({"context": "pool"}, "context")],
)
def test_towers_that_do_not_fit_are_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(NetError, match=f"the towers do not fit: {key} is"):
        carry_over(drawn("gardner", 1), drawn("chess", 2, **changes))


def test_the_encoder_full_has_the_same_planes_in_every_variant() -> None:
    sizes = {(each.bitboards, each.scalars, each.encoder) for each in map(_core.encoding, VARIANTS)}
    assert len(sizes) == 1
