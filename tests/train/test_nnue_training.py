"""`selfmate nnue`: the trained net is the one that plays, targets and quiet positions by plain rules, bad input."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from selfmate import Position
from selfmate._core import Buffer, Nnue, encode
from selfmate.cli.main import main
from selfmate.nn.nnue import quantize, read_nnue
from selfmate.rundir.format import RunError
from selfmate.rundir.reader import RunReader
from selfmate.train import nnue
from selfmate.train.nnue import NnueNet, expected_scores, quiet_rows, read_positions, train_nnue
from selfmate.util.files import FileError


@pytest.mark.parametrize("variant", ["chess", "gardner", "atomic"])
def test_the_trained_net_and_the_integers_agree(variant: str) -> None:
    torch.manual_seed(5)
    net = NnueNet(Position(variant).ranks)
    with torch.no_grad():
        net.features.mul_(5)
        net.output.mul_(8)
        net.output_bias.add_(torch.arange(8) / 4)
    tensors = quantize(net.tensors(), 400)
    integers = Nnue(**{name: tensors[name] for name in tensors if name != "scale"}, scale=400)
    draw = random.Random(2)
    position, outputs = Position(variant), set()
    for _ in range(80):
        if position.outcome() is not None:
            position = Position(variant)
        bits = torch.from_numpy(encode(position)[0][:12].view(np.int64)).unsqueeze(0)
        wanted = 400 * net(bits).item()
        assert integers.evaluate(position) == pytest.approx(wanted, abs=60), position.fen()
        outputs.add(round(wanted))
        position.play(draw.choice(list(position.legal_moves)))
    assert max(outputs) - min(outputs) > 600


def test_a_mirrored_position_is_the_other_half_of_the_board() -> None:
    torch.manual_seed(1)
    net = NnueNet()
    fens = ("4k3/8/8/8/1p6/8/6P1/R3K3 w - - 0 1", "3k4/8/8/8/6p1/8/1P6/3K3R w - - 0 1")
    left, right = (torch.from_numpy(encode(Position("chess", fen))[0][:12].view(np.int64)).unsqueeze(0) for fen in fens)
    assert net(left, mirrored=True).item() == pytest.approx(net(right).item(), abs=1e-6)
    assert net(left).item() != pytest.approx(net(right).item(), abs=1e-3)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of Gardner with a few hundred positions."""
    folder = tmp_path_factory.mktemp("nnue") / "run"
    settings = (
        "selfplay.cycles=1",
        "gate.final_games=0",
        "selfplay.visits=16",
        "selfplay.games=250",
        "selfplay.explorer=heuristic-1",
    )
    with pytest.raises(SystemExit) as ended:
        main(["train", "gardner-laptop", "--run", str(folder), *(f"--set={each}" for each in settings)])
    assert ended.value.code in (0, None)
    return folder


def test_quiet_positions_and_their_scores(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RunReader.open(run)
    buffer = Buffer("gardner", 1 << 62, 1)
    for record in reader.games():
        buffer.add(record)
    samples = buffer.sample_at(list(range(buffer.positions)), 0, mirror=False)
    quiet, scores = quiet_rows("gardner", samples), expected_scores(samples)
    kinds = set()
    for row, sample in enumerate(reader.samples()):
        best = max(sample.policy.values())
        firsts = [move for move, weight in sample.policy.items() if weight == best]
        if len(firsts) > 1:
            continue
        taken = sample.position.is_capture(firsts[0])
        promotes = firsts[0].promotion is not None
        kinds.add((taken, promotes))
        assert quiet[row] == (not taken and not promotes), (sample.position.fen(), firsts[0])
        value = sample.value if sample.result is None else 0.7 * sample.value + 0.3 * sample.result
        assert scores[row] == pytest.approx((1 + value) / 2, abs=1e-5)
    assert {(False, False), (True, False)} <= kinds
    learned, held_out = read_positions(run)
    assert len(learned.scores) + len(held_out.scores) == quiet.sum()
    assert len(held_out.scores) > 0
    monkeypatch.setattr(nnue, "MOST_POSITIONS", 1)
    assert 0 < len(read_positions(run)[0].scores) <= len(learned.scores)  # whole files of games


def test_a_net_learns_what_a_queen_is_worth(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "nnue.safetensors"
    found = train_nnue(run, path, steps=500, batch=256, device="cpu")
    assert found is not None
    assert found.loss < 0.7 * found.constant_loss
    net = read_nnue(path)
    with_queen, without = (
        net.evaluate(Position("gardner", fen)) for fen in ("4k/p3p/5/P3P/1Q2K w - - 0 1", "1q2k/p3p/5/P3P/4K w - - 0 1")
    )
    assert with_queen > without + 100
    again = tmp_path / "again.safetensors"
    train_nnue(run, again, steps=500, batch=256, device="cpu")
    assert again.read_bytes() == path.read_bytes()


def test_bad_input(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "there.safetensors"
    path.write_bytes(b"mine")
    with pytest.raises(RunError, match="already exists"):
        train_nnue(run, path)
    assert path.read_bytes() == b"mine"
    with pytest.raises(FileError, match="there is no such folder"):
        train_nnue(run, tmp_path / "no" / "net")
    with pytest.raises(SystemExit) as ended:
        main(["nnue", str(tmp_path), str(tmp_path / "net")])
    assert ended.value.code == 2
    assert "not a run directory" in capsys.readouterr().err
    assert train_nnue(run, tmp_path / "stopped", steps=200, batch=8, device="cpu", stopping=lambda: True) is None
    assert not (tmp_path / "stopped").exists()


def test_a_file_that_cannot_be_written_is_found_before_the_first_step(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FileError, match="cannot be written: permission denied"):
        train_nnue(run, tmp_path / "net", tell=lambda step, note: pytest.fail("learned before the check"))
