"""`selfmate nets` and `selfmate export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from selfmate.cli.common import Json

__all__ = ["export", "nets"]


def nets(
    variant: Annotated[str | None, typer.Argument(help="Only the nets of this variant.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the nets that come with Selfmate, with their cards.

    Example: selfmate nets gardner
    """
    import json

    from rich.console import Console

    from selfmate.board.position import Position
    from selfmate.nn import shipped

    plain = None if variant is None else Position(variant).variant  # an unknown one is refused
    found = [net for net in shipped.shipped() if plain in (None, net.variant)]
    if as_json:
        print(json.dumps([net.as_json() for net in found], indent=2))
    elif found:
        shipped.show(found, Console())
    else:
        print(f"No net for {variant} comes with Selfmate yet; heuristic-1 plays it.")


def export(
    net: Annotated[
        str, typer.Argument(metavar="NET", help="A net's folder or .onnx file, or a run.", show_default=False)
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT.onnx", help="The file to write.", show_default=False)],
    int8: Annotated[bool, typer.Option("--int8", help="Write int8 weights, calibrated on positions of games.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a net as one ONNX file (opset 18), and check that it answers as the net does; exit code 1 if not.

    Any program that reads ONNX can use it: bits, scalars, moves and counts in; priors, wdl and plies out. An int8
    file is computed about three times as fast where the CPU has VNNI, by ONNX Runtime and by OpenVINO.

    Example: selfmate export runs/gardner-laptop gardner.onnx

    Example: selfmate export runs/atomic atomic.int8.onnx --int8
    """
    import json

    from selfmate.cli import export as export_check

    report = export_check.export(net, out, int8=int8, force=force)
    print(json.dumps(report.as_json(), indent=2) if as_json else report)
    if not report.agrees:
        raise typer.Exit(1)
