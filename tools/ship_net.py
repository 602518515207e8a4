"""Add the champion of a run to the nets that are shipped with Selfmate: `python tools/ship_net.py RUN NAME`.

The net (in bfloat16 where that is exact), a card about its training and, with `--onnx`, ONNX files in f32 and int8 are
written to src/selfmate/nets_data/NAME. The card is made from the manifest, the metrics and the final matches of the
run; other matches (`--match`, the output of `selfmate arena NET … --json`) and another description of the training
(`--trained`) can be given. RUN may also be the folder of a net with `recipe.toml` and `metrics.jsonl` beside it, which
are shipped too; then `--trained` and `--date` are needed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from selfmate.nn.checkpoint import JSON_NAME, TENSORS_NAME, load, save
from selfmate.nn.nnue import NNUE_NAME, read_nnue
from selfmate.nn.onnx import INT8_NAME, ONNX_NAME, export_onnx
from selfmate.nn.quantize import quantize
from selfmate.nn.shipped import CARD_NAME, FOLDER
from selfmate.search.spec import net_of_run
from selfmate.util.files import write_file

LICENCE = "GPL-3.0-or-later"
PROVENANCE = ("recipe.toml", "metrics.jsonl")
ROOT = Path(__file__).parents[1] / "src" / "selfmate" / FOLDER


def main(
    run: Path,
    name: str,
    *,
    onnx: bool = False,
    trained: str = "",
    date: str = "",
    commit: str = "",
    matches: Sequence[Path] = (),
    on_clock: bool = True,
    nnue: Path | None = None,
) -> None:
    """Write the folder of the net."""
    # 1. The net
    is_run = (run / "manifest.json").exists()
    manifest = json.loads((run / "manifest.json").read_text("utf-8")) if is_run else {}
    _, source = net_of_run(run) if is_run else (name, run)
    net, card = load(source)
    folder = ROOT / name
    save(net, folder, step=card.step, parents=card.parents, created_by=card.created_by, compact=True)
    if not is_run:
        for file in PROVENANCE:
            write_file(folder / file, (run / file).read_bytes())
    if nnue is not None:
        read_nnue(nnue)  # raises if it is not one
        write_file(folder / NNUE_NAME, nnue.read_bytes())
    if onnx:
        export_onnx(net, folder / ONNX_NAME, card)
        write_file(folder / INT8_NAME, quantize((folder / ONNX_NAME).read_bytes()))
    # 2. The card: training and strength
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    finals = [line for line in lines if line["stage"] == "final" and f"{line['champion']:05}" == source.name]
    if is_run and not trained:
        games = sum(line["games"] for line in lines if line["stage"] == "play")
        hardware = manifest["hardware"]
        on = ", ".join(hardware["gpus"]) or f"{hardware['cores']} cores of {hardware['processor']}"
        minutes = max(line["time"] for line in lines) / 60
        trained = f"from nothing, {minutes:.0f} minutes on {on}, {games:,} games, {card.step:,} steps"
    config = card.config
    context = "" if config["context"] == "none" else f" ({config['context']})"
    values: dict[str, Any] = {
        "name": name,
        "variant": card.variant,
        "net_id": card.net_id,
        "size": f"{config['blocks']} blocks of {config['channels']} channels{context}",
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "recipe": manifest["recipe"] if is_run else f"{card.variant} (recipe.toml beside the net)",
        "trained": trained,
        "date": date or manifest["created"][:10],
        "commit": commit or manifest.get("commit") or "unknown",
        "licence": LICENCE,
        "scores": [
            *(
                _score(line, line["opponent"].replace("untrained", "its untrained net"), line["visits"])
                for line in finals
            ),
            *map(_score_of_match, matches),
        ],
        "on_clock": on_clock,
        "files": {
            file: hashlib.sha256((folder / file).read_bytes()).hexdigest()
            for file in (JSON_NAME, TENSORS_NAME, NNUE_NAME, ONNX_NAME, INT8_NAME, *PROVENANCE)
            if (folder / file).exists()
        },
    }
    write_file(folder / CARD_NAME, json.dumps(values, indent=1, ensure_ascii=False).encode() + b"\n")
    print(f"{folder}: {card.net_id}")


def _score(line: dict[str, Any], against: str, visits: int) -> dict[str, Any]:
    share = {
        name: round(line[key], 4) for name, key in (("score", "score"), ("low", "score_low"), ("high", "score_high"))
    }
    return {"against": against, **share, "games": line["games"], "visits": visits}


def _score_of_match(path: Path) -> dict[str, Any]:
    match = json.loads(path.read_text("utf-8"))
    _, opponent = match["players"]
    return _score(match, opponent["name"], opponent["visits"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description="Add the champion of a run to the nets that are shipped with Selfmate."
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--onnx", action="store_true", help="write ONNX files too")
    parser.add_argument(
        "--trained", default="", metavar="TEXT", help="description of the training (default: from the run)"
    )
    parser.add_argument("--date", default="", help="date of the training, ISO 8601 (default: from the run)")
    parser.add_argument("--commit", default="", help="commit of the code that trained it (default: from the run)")
    parser.add_argument(
        "--match",
        type=Path,
        action="append",
        default=[],
        metavar="JSON",
        help="output of selfmate arena --json; repeatable",
    )
    parser.add_argument("--nnue", type=Path, metavar="FILE", help="the output of selfmate nnue, shipped beside it")
    parser.add_argument(
        "--not-on-clock", action="store_true", help="not the default where time is limited: heuristic-1 is stronger"
    )
    wanted = parser.parse_args()
    if not (wanted.run / "manifest.json").exists() and not (wanted.trained and wanted.date):
        parser.error(f"{wanted.run} is not a run: give --trained and --date")
    given = {
        "onnx": wanted.onnx,
        "trained": wanted.trained,
        "date": wanted.date,
        "commit": wanted.commit,
        "matches": wanted.match,
        "on_clock": not wanted.not_on_clock,
        "nnue": wanted.nnue,
    }
    main(wanted.run, wanted.name, **given)
