"""Any bytes as a file of games, or as a line of EPD: an error of ours, or something that comes back the same.

    python tests/fuzz/pgn_atheris.py [-max_total_time=60] [corpus folder] [other options of libFuzzer]

Run by `make fuzz`. Needs `atheris` (`pip install atheris`); without it there is nothing to do.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from pathlib import Path

SEEDS = [
    '[Event "a \\"b\\""]\n[Result "1-0"]\n\n1. e4 {c} e5 (1... c5 $1 (1... e6) 2. Nf3) 2. Nf3! ; d }\n1-0\n',
    '[Variant "Atomic"]\n\n1. Nf3 f6 2. Nd4 * {x} 1. e4 *',
    '[FEN "4k3/8/8/8/8/8/4P3/4K3 b - - 0 30"]\n\n30... Kd7 31. e4 1/2-1/2',
    '[Variant "Gardner"]\n%x\n1. a3 bxa3 2. b3 *',
    '[White "a\n1. E4 -- 2. g1f3 (2. Ke9 (x)) exf6 e.p. ⩱ ½-½ [/pgn]',
    'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4; id "x"; hmvc 3; ;D1 20',
]
MAX_CHARS = 4_000


def check_games(data: bytes) -> None:
    from selfmate import Game, read_games

    for lenient in (False, True):
        for game in read_games(io.BytesIO(data), on_error="collect", max_chars=MAX_CHARS, lenient=lenient):
            again = Game.from_pgn(str(game), lenient=lenient)
            if again != game or str(again) != str(game):
                raise AssertionError(f"{game} came back as {again}")
            if lenient and game.error is not None and not game.repairs:
                raise AssertionError(f"{game.error} without a repair")


def check_epd(data: bytes) -> None:
    from selfmate import SelfmateError, parse_epd

    line = data.decode(errors="replace")
    with contextlib.suppress(SelfmateError):
        epd = parse_epd(line)
        if parse_epd(str(epd)) != epd:
            raise AssertionError(f"{epd} came back as {parse_epd(str(epd))}")


def check(data: bytes) -> None:
    check_games(data)
    check_epd(data)


def main(arguments: list[str]) -> int:
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        print("fuzz pgn: skipped, for atheris is not installed (pip install atheris)")
        return 0
    with atheris.instrument_imports(include=["selfmate"]):
        importlib.import_module("selfmate.board.pgn")
        importlib.import_module("selfmate.board.epd")
    for folder in (Path(argument) for argument in arguments if not argument.startswith("-")):
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(SEEDS):
            (folder / f"seed-{number}").write_text(seed, encoding="utf-8")
        break  # libFuzzer writes into the first folder only
    atheris.Setup([sys.argv[0], *arguments], check)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
