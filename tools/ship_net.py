"""Put the champion of a run among the nets that come with Selfmate: `python tools/ship_net.py RUN NAME`.

The folder src/selfmate/nets_data/NAME gets the net, its ONNX files in f32 and int8, and a card that says how it was
trained. What the card says is read from the run: its manifest, its metrics and the matches at its end.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from selfmate.export import INT8_NAME, ONNX_NAME, export_onnx
from selfmate.files import write_file
from selfmate.nets import CARD_NAME, FOLDER
from selfmate.player import net_of_run
from selfmate.quantise import quantise
from selfmate.weights import JSON_NAME, TENSORS_NAME, load, save

LICENCE = "GPL-3.0-or-later"
ROOT = Path(__file__).parents[1] / "src" / "selfmate" / FOLDER


def main(run: Path, name: str) -> None:
    """Write the folder."""
    # 1. The net
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    _, source = net_of_run(run)
    net, card = load(source)
    folder = ROOT / name
    save(net, folder, step=card.step, parents=card.parents, created_by=card.created_by)
    export_onnx(net, folder / ONNX_NAME, card)
    write_file(folder / INT8_NAME, quantise((folder / ONNX_NAME).read_bytes()))
    # 2. How it came to be, and how strong it is
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    finals = [line for line in lines if line["stage"] == "final" and line["champion"] == int(source.name)]
    games = sum(line["games"] for line in lines if line["stage"] == "play")
    hardware = manifest["hardware"]
    on = ", ".join(hardware["gpus"]) or f"{hardware['cores']} cores of {hardware['processor']}"
    minutes = max(line["time"] for line in lines) / 60
    config = card.config
    values: dict[str, Any] = {
        "name": name,
        "variant": card.variant,
        "net_id": card.net_id,
        "size": f"{config['blocks']} blocks of {config['channels']} channels ({config['context']})",
        "parameters": sum(parameter.numel() for parameter in net.parameters()),
        "recipe": manifest["recipe"],
        "trained": f"from nothing, {minutes:.0f} minutes on {on}, {games:,} games, {card.step:,} steps",
        "date": manifest["created"][:10],
        "commit": manifest["commit"],
        "licence": LICENCE,
        "scores": [
            {
                "against": f"its {line['opponent']} net" if line["opponent"] == "untrained" else line["opponent"],
                "score": round(line["score"], 4),
                "low": round(line["score_low"], 4),
                "high": round(line["score_high"], 4),
                **{key: line[key] for key in ("games", "visits")},
            }
            for line in finals
        ],
        "files": {
            file: hashlib.sha256((folder / file).read_bytes()).hexdigest()
            for file in (JSON_NAME, TENSORS_NAME, ONNX_NAME, INT8_NAME)
        },
    }
    write_file(folder / CARD_NAME, json.dumps(values, indent=1, ensure_ascii=False).encode() + b"\n")
    print(f"{folder}: {card.net_id}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python tools/ship_net.py RUN NAME")
    main(Path(sys.argv[1]), sys.argv[2])
