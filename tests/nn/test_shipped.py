"""Shipping a net that is no run: its folder with recipe and metrics beside it (`tools/ship_net.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfmate.nn import shipped as nets
from selfmate.nn.checkpoint import load, net_id, save
from selfmate.nn.config import GARDNER, NetConfig
from selfmate.nn.net import Net, rounded


def test_a_net_is_shipped_with_its_provenance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ship_net

    source = tmp_path / "net"
    net = rounded(Net(NetConfig.sized(GARDNER, "tiny", blocks=1, channels=8), seed=1).eval())
    save(net, source, step=7, created_by="gardner 00001")
    (source / "recipe.toml").write_text('[variant]\nname = "gardner"\n')
    (source / "metrics.jsonl").write_text('{"stage":"play","cycle":0,"games":5,"time":60.0}\n')
    monkeypatch.setattr(ship_net, "ROOT", tmp_path / nets.FOLDER)
    monkeypatch.setattr("selfmate.nn.shipped.resources.files", lambda package: tmp_path)
    ship_net.main(source, "mine", trained="one minute, 5 games", date="2026-11-16")
    (found,) = nets.shipped()
    nets.check(found)
    assert (found.name, found.variant, found.net_id) == ("mine", "gardner", net_id(net))
    assert (found.trained, found.date, found.scores) == ("one minute, 5 games", "2026-11-16", ())
    assert set(found.files) == {"net.json", "net.safetensors", "recipe.toml", "metrics.jsonl"}
    assert net_id(load(found.folder)[0]) == net_id(net)
    assert (found.folder / "net.safetensors").stat().st_size < (source / "net.safetensors").stat().st_size
    (found.folder / "recipe.toml").write_text("another")
    with pytest.raises(nets.NetsError, match="checksum mismatch"):
        nets.check(found)


def test_the_shipped_chess_net_is_in_bfloat16_and_plays_960_too() -> None:
    folder = nets.find("chess")
    assert folder is not None
    assert (folder.name, nets.find("chess960")) == ("chess-gpu", folder)
    assert nets.find("horde") is None  # in equal time heuristic-1 is stronger (docs/results/strength.md)
    assert nets.find("horde", timed=False) is not None
    assert (folder / "net.safetensors").stat().st_size < 2_500_000
