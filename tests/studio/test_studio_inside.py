"""Inside the net: planes of every encoder, and cells of every policy as moves on the board."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from selfmate import _core
from selfmate._core import Encoding
from selfmate.board.encoding import encode_planes
from selfmate.board.position import Position
from selfmate.errors import PlayerError
from selfmate.evaluator.open import open_evaluator
from selfmate.search.evaluate import evaluate
from selfmate.studio.board_view import color_of
from selfmate.studio.inside import look_inside
from selfmate.studio.messages import LookInside
from selfmate.studio.net_planes import cell_of_move, input_planes, policy_of, policy_planes
from selfmate.studio.players import PlayerCatalog
from studio_server import StudioServer

ENCODERS = ("full", "pieces12", "pieces13", "planes16", "planes18", "planes19", "planes21")
POLICIES = ("planes", "fromto", "fromto_queen")
FILES = "abcdefgh"


def random_positions(variant: str, games: int, seed: int = 1) -> list[Position]:
    """Positions of random games with legal moves, of both sides."""
    source, found = random.Random(seed), []
    for _ in range(games):
        position = Position(variant)
        for _ in range(80):
            if position.outcome() is not None:
                break
            found.append(position.copy())
            position.play(source.choice(position.legal_moves))
    return found


def target(cell: int, encoding: Encoding, planes: list[Any]) -> tuple[str, str, str]:
    """Return from-square and to-square that the page draws for a cell, and the piece that its plane promotes to."""
    plane, square = divmod(cell, encoding.files * encoding.ranks)
    rank, file = divmod(square, encoding.files)
    meaning = planes[plane]
    promoted = meaning.name.split()[2].strip(",") if meaning.name.startswith("to a ") else ""
    if meaning.to is not None:
        return f"{FILES[file]}{rank + 1}", meaning.to, promoted
    files, ranks = meaning.step
    return f"{FILES[file]}{rank + 1}", f"{FILES[file + files]}{rank + ranks + 1}", promoted


@pytest.mark.parametrize("variant", ["chess", "gardner", "antichess", "racingkings", "horde"])
@pytest.mark.parametrize("encoder", ["full", "planes18"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_cell_means_the_move_that_it_belongs_to(variant: str, encoder: str, policy: str) -> None:
    encoding = _core.encoding(variant, encoder, policy)
    seen = 0
    for position in random_positions(variant, 3)[::3]:
        planes = policy_planes(encoding, color_of(position.turn))
        castles = {position.uci(move) for move in position.legal_moves if position.san(move).startswith("O-O")}
        for uci, cell in cell_of_move(position, encoding).items():
            source, to, promoted = target(cell, encoding, planes)
            assert source == uci[:2]
            if uci in castles:  # the policy names the rook's square
                continue
            assert to == uci[2:4], (position.fen(), uci, planes[cell // (encoding.files * encoding.ranks)])
            if policy != "fromto_queen" and uci[4:] not in ("", "q"):
                assert promoted[:1] == {"n": "k"}.get(uci[4:], uci[4:])
            else:
                assert not promoted
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("variant", ["chess", "gardner"])
def test_every_plane_of_an_encoder_has_a_name(variant: str, encoder: str) -> None:
    encoding = _core.encoding(variant, encoder, history=3)
    for position in random_positions(variant, 1)[2:12]:
        found = {plane.name: plane.values for plane in input_planes(position, encoding)}
        assert len(found) == encoding.bitboards + encoding.scalars
        king = "white king" if encoder not in ("full", "pieces12") else "own king"
        assert sum(found[king]) == 1
        assert sum(found[f"{king}, 2 plies ago"]) == 1
        if "white to move" in found:
            assert found["white to move"] == [float(position.fen().split()[1] == "w")]


def test_the_inputs_of_the_usual_encoder_are_the_dense_planes() -> None:
    for position in random_positions("3check", 1)[:6]:
        dense = encode_planes([position])[0]
        for plane, numbers in zip(input_planes(position, _core.encoding("3check")), dense, strict=True):
            assert np.allclose(np.broadcast_to(plane.values, 64), numbers.reshape(-1), atol=1e-3), plane.name


@pytest.mark.parametrize("policy", ["planes", "fromto", "factored"])
@pytest.mark.parametrize("encoder", ["full", "pieces13"])
def test_the_policy_of_all_cells_has_the_priors_of_the_legal_ones(policy: str, encoder: str) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    from selfmate.nn.encodings import sized_for
    from selfmate.nn.net import Net

    torch.manual_seed(3)
    net = Net(sized_for("gardner", blocks=1, channels=8, policy=policy, encoder=encoder))
    for weights in net.parameters():
        torch.nn.init.normal_(weights, std=0.2)
    evaluator = open_evaluator(net.eval())
    for position in random_positions("gardner", 1)[:2]:
        cells = policy_of(evaluator, position)
        assert cells.shape == (evaluator.encoding.planes, 5, 5)
        assert abs(cells.sum() - 1) < 1e-4
        places = cell_of_move(position, evaluator.encoding)
        legal = np.array([cells.reshape(-1)[place] for place in places.values()])
        assert 0 < legal.sum() < 1
        priors = evaluate(evaluator, [position])[0].priors
        assert np.allclose(legal / legal.sum(), [priors[position.parse_uci(uci)] for uci in places], atol=1e-4)


def test_the_page_is_sent_the_policy_of_a_shipped_net(server: StudioServer) -> None:
    with server.page() as page:
        inside = page.ask("net.inside", variant="atomic", moves=["g1f3"])
        net, untrained = inside["opinions"]
        policy = inside["policy"]
        assert (policy["kind"], len(policy["planes"]), inside["seen_by"]) == ("planes", 73, "black")
        cells = np.array(untrained["policy"]) * len(untrained["policy"]) / 1_000_000
        assert 0.5 < cells.min() < cells.max() < 2  # nearly uniform, illegal moves included
        assert len(net["policy"]) == 73 * 64
        assert abs(sum(net["policy"]) - 1_000_000) < 5_000
        best = max(net["priors"], key=net["priors"].__getitem__)
        legal = {uci: net["policy"][cell] for uci, cell in policy["cells"].items()}
        assert max(legal, key=legal.__getitem__) == best
        assert 0 < sum(legal.values()) < 1_000_000  # the rest is on illegal moves
        assert policy["planes"][policy["cells"]["e7e5"] // 64]["name"] == "down 2"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs of tiny nets: one with its first net, one without it, and one with the weights of another run."""
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    from selfmate.nn.checkpoint import save
    from selfmate.nn.encodings import sized_for
    from selfmate.nn.net import Net
    from selfmate.recipe.reader import load, smoke
    from selfmate.rundir.directory import Run

    folder = tmp_path_factory.mktemp("runs")
    for name, cycles in (("whole", (0, 3)), ("copy", (3,)), ("child", (0, 3))):
        with Run.open(folder / name, smoke(load("gardner-laptop")), name=name, smoke=True) as run:
            for cycle in cycles:
                with run.new_folder(f"checkpoints/{cycle:05}") as checkpoint:
                    save(Net(sized_for("gardner", blocks=1, channels=8), seed=cycle), checkpoint)
                stamped = run.stamp(f"checkpoints/{cycle:05}", cycle, step=cycle)
                run.commit(checkpoints=(*run.state.checkpoints, stamped), champion=cycle)
    manifest = json.loads((folder / "child/manifest.json").read_text())
    parent = {"name": "other", "cycle": 3, "net_id": "0" * 64}
    (folder / "child/manifest.json").write_text(json.dumps(manifest | {"parent": parent}))
    return folder


@pytest.mark.parametrize(
    ("player", "untrained"),
    [
        ("run/whole/3", "whole untrained"),
        ("run/copy/3", "copy cycle 3 untrained"),
        ("run/child/3", "child cycle 3 untrained"),
        ("atomic-gpu", "atomic-gpu untrained"),
    ],
)
def test_every_net_is_beside_an_untrained_one(runs: Path, player: str, untrained: str) -> None:
    catalog = PlayerCatalog(runs)
    variant = "atomic" if player == "atomic-gpu" else "gardner"
    inside = look_inside(catalog, LookInside(ask=1, variant=variant, fen=None, moves=[], player=player))
    net, other = inside.opinions
    assert (net.player, other.name) == (player, untrained)
    assert other.policy is not None
    assert 0.5 < min(other.priors.values()) * len(other.priors) < max(other.priors.values()) * len(other.priors) < 2
    assert catalog.untrained(other.player) == other.player  # an untrained net is its own


def test_a_twin_is_opened_of_known_nets_alone(runs: Path) -> None:
    folder = f"{runs}/whole/checkpoints/00003:untrained"
    for player in (folder, "run/whole/9:untrained", ":untrained", "uniform:untrained"):
        with pytest.raises(PlayerError, match="no such player"):
            PlayerCatalog(runs).open(player)


def test_what_has_no_policy_says_so(server: StudioServer) -> None:
    with server.page() as page:
        inside = page.ask("net.inside", variant="chess", player="heuristic-1")
        assert inside["policy"]["kind"] == "core"
        assert [opinion["policy"] for opinion in inside["opinions"]] == [None, None]
        assert [opinion["name"] for opinion in inside["opinions"]] == ["heuristic-1", "equal priors"]
        assert len(inside["policy"]["cells"]) == 20
        assert page.ask("net.inside", variant="chess", player="gardner-laptop")["type"] == "failure"
        assert page.ask("net.inside", variant="chess960")["policy"]["kind"] == "planes"


def test_a_net_without_a_policy_has_no_planes(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    from selfmate.nn.checkpoint import save
    from selfmate.nn.encodings import sized_for
    from selfmate.nn.net import Net
    from selfmate.search.player import Player
    from selfmate.studio.inside import net_policy

    save(Net(sized_for("gardner", blocks=1, channels=8, policy="none", encoder="pieces12")), tmp_path)
    player = Player(tmp_path, threads=1)
    found = net_policy(player, Position("gardner"))
    assert (found.kind, found.planes, found.cells) == ("none", [], {})
