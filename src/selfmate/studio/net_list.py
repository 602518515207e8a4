"""Nets with what is known of them, and the ladder of a variant with the nets that were measured on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selfmate._core import VARIANTS
from selfmate.errors import SelfmateError
from selfmate.ladder.calibration import CalibrationError, read_calibration
from selfmate.nn import shipped as nets
from selfmate.rundir.format import Checkpoint, RunError, read_run
from selfmate.search.strength import read_strength_table, strength_at
from selfmate.studio.messages import AskNets, LadderRow, NetCard, NetList, NetScore
from selfmate.studio.run_files import RunFiles

__all__ = ["list_nets"]


def list_nets(runs: Path, request: AskNets) -> NetList:
    """Return all nets and the ladder of a variant; raises `SelfmateError` for a variant that there is not."""
    variant = request.variant or "gardner"
    if variant.removesuffix("960") not in VARIANTS:
        raise SelfmateError(f"unknown variant {variant!r}", variant)
    found = [(_shipped(net), _shipped_row(net)) for net in nets.shipped()]
    found += [pair for path in sorted(runs.glob("*/manifest.json")) if (pair := _of_run(path.parent)) is not None]
    ladder = _ladder(variant)
    ladder += [row for card, row in found if row is not None and card.variant == variant]
    ladder.sort(key=lambda row: -row.elo)
    return NetList(ask=request.ask, nets=[card for card, _ in found], ladder=ladder, variant=variant)


def _ladder(variant: str) -> list[LadderRow]:
    try:
        players = read_calibration(variant).players
    except CalibrationError:
        return []
    return [
        LadderRow(name=each.name, elo=each.elo, error=each.error, games=each.games, is_net=False) for each in players
    ]


def _shipped(net: nets.ShippedNet) -> NetCard:
    facts = [
        ("plays", net.variant),
        ("size", f"{net.size}, {net.parameters:,} parameters"),
        ("trained", net.trained),
        ("licence", net.licence),
    ]
    if (row := _shipped_row(net)) is not None:
        facts.append(("ladder", _rating(row)))
    scores = [
        NetScore(against=each.against, score=each.score, low=each.low, high=each.high, games=each.games)
        for each in net.scores
    ]
    return NetCard(id=net.name, name=net.name, kind="shipped", variant=net.variant, facts=facts, scores=scores)


def _shipped_row(net: nets.ShippedNet) -> LadderRow | None:
    """Return the strongest level of a shipped net that was measured."""
    try:
        table = read_strength_table(net.folder, net.net_id)
    except SelfmateError:
        return None
    if table is None:
        return None
    best = max(table.anchors, key=lambda anchor: anchor.elo)
    visits = strength_at(best.nominal).visits
    return LadderRow(
        name=f"{net.name} ({visits:,} visits)", elo=round(best.elo, 1), error=round(best.error, 1), games=0, is_net=True
    )


def _of_run(directory: Path) -> tuple[NetCard, LadderRow | None] | None:
    """Return the champion of a run, and its place on the ladder if it was measured; None if there is no net to read."""
    try:
        manifest, state = read_run(directory)
        if not any(each.cycle == state.champion for each in state.checkpoints):
            return None
    except (RunError, OSError):
        return None
    name = f"{directory.name}, cycle {state.champion}"
    minutes, seconds = divmod(round(state.seconds), 60)
    facts = [
        ("plays", manifest.variant),
        ("recipe", manifest.recipe),
        ("trained", f"{minutes}:{seconds:02d}, {state.games:,} games"),
    ]
    measured = [line for line in RunFiles(directory).metrics() if line.get("stage") == "progress"]
    row = _progress_row(directory.name, measured[-1]) if measured else None
    facts.append(("ladder", "not measured yet" if row is None else _rating(row)))
    problem = _missing(directory, state.checkpoint(state.champion))
    card = NetCard(
        id=f"run/{directory.name}/{state.champion}",
        name=name,
        kind="run",
        variant=manifest.variant,
        facts=facts,
        scores=[],
        problem=problem,
    )
    return card, row


def _rating(row: LadderRow) -> str:
    return f"{row.elo:,.0f} ± {row.error:.0f}".replace("-", "\N{MINUS SIGN}")


def _missing(directory: Path, checkpoint: Checkpoint) -> str | None:
    """Return what is missing of a net, without reading it: its numbers are checked when it is opened."""
    for name, stamp in checkpoint.files.items():
        try:
            size = (directory / checkpoint.name / name).stat().st_size
        except OSError:
            return f"{name} is not there."
        if size != stamp.bytes:
            return f"{name} has {size:,} bytes, but {stamp.bytes:,} were saved."
    return None


def _progress_row(name: str, line: dict[str, Any]) -> LadderRow | None:
    try:
        return LadderRow(
            name=f"{name}, cycle {line['champion']} ({line['visits']} visits)",
            elo=round(float(line["elo"]), 1),
            error=round(float(line["error"]), 1),
            games=0,
            is_net=True,
        )
    except (KeyError, TypeError, ValueError):  # a line of another version
        return None
