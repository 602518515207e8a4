"""Other projects' suites of perft, insufficient material and PGN, beside our rules and readers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import chess.pgn
import pytest

from outside_suites import Suite, read_suites
from selfmate import BLACK, WHITE, Game, Position, SelfmateError, read_games
from selfmate.errors import TooManyPieces

REASON = "no files of other projects: give their folder with --outside DIR (see tests/outside/README.md)"
PATTERNS = {
    "pgn": "*.pgn",
    "horde_table": "horde_insufficient_material.csv",
    "chessops": "variant.test.ts",
}
MATERIAL = re.compile(r"\['(\w+)', '([^']+)', (true|false|falseNegative), (true|false|falseNegative)\]")


def _files(config: pytest.Config, pattern: str) -> list[Path]:
    folder: Path | None = config.getoption("--outside")
    if folder is None:
        return []
    if not folder.is_dir():
        raise pytest.UsageError(f"--outside {folder}: not a folder")
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


def _parameters(config: pytest.Config, name: str) -> Iterator[tuple[str, object]]:
    if name == "suite":
        for pattern in ("*.perft", "perft.sh", "*.test.ts"):
            for path in _files(config, pattern):
                for suite in read_suites(path):
                    yield f"{path.parent.name}/{path.name}:{suite.variant}", suite
    else:
        for path in _files(config, PATTERNS[name]):
            yield f"{path.parent.name}/{path.name}", path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test per suite or file; one that is skipped, with the reason, where there is none."""
    for name in ("suite", "pgn", "horde_table", "chessops"):
        if name in metafunc.fixturenames:
            found = list(_parameters(metafunc.config, name))
            missing = pytest.param(None, marks=pytest.mark.skip(reason=REASON), id="none")
            metafunc.parametrize(
                name, [pytest.param(value, id=label) for label, value in found] if found else [missing]
            )


@pytest.fixture
def node_limit(request: pytest.FixtureRequest) -> int:
    """Return the most leaves that are counted for one position."""
    limit: int = request.config.getoption("--outside-nodes")
    return limit


def _position(variant: str, fen: str) -> Position:
    """Return a position of a suite: of chess or atomic where its castling rights are, else with those of Chess960."""
    try:
        return Position(variant.removesuffix("960"), fen)
    except SelfmateError:
        return Position(variant, fen, lenient=True)


def test_perft(suite: Suite, node_limit: int) -> None:
    compared = 0
    for fen, nodes in suite.counts:
        try:
            position = _position(suite.variant, fen)
        except TooManyPieces:  # decision 3
            continue
        depths = [depth for depth, count in nodes.items() if count <= node_limit]
        if depths:
            depth = max(depths)
            assert position.perft(depth) == nodes[depth], f"{suite.variant} {fen} depth {depth}"
            compared += 1
    assert compared or not any(min(nodes.values()) <= node_limit for _, nodes in suite.counts if nodes)


def test_insufficient_material_of_horde(horde_table: Path) -> None:
    with horde_table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 50
    for row in rows:
        position = Position("horde", row["fen"], lenient=True)
        expected = row["white_has_insufficient_material"] == "true"
        assert position.has_insufficient_material(WHITE) is expected, row
        assert position.has_insufficient_material(BLACK) is False


def test_insufficient_material_of_chessops(chessops: Path) -> None:
    rows = MATERIAL.findall(chessops.read_text())
    assert len(rows) > 20
    compared = 0
    for variant, fen, white, black in rows:
        try:
            position = Position(variant, fen, lenient=True)
        except SelfmateError:  # a variant that is not ours
            continue
        compared += 1
        for color, expected in ((WHITE, white), (BLACK, black)):
            assert position.has_insufficient_material(color) is (expected == "true"), f"{variant} {fen}"
    assert compared > 20


def _theirs(text: str) -> list[chess.pgn.Game]:
    file = io.StringIO(text)
    games = []
    while (game := chess.pgn.read_game(file)) is not None:
        games.append(game)
    return games


def _games_of_chessops(pgn: Path) -> int | None:
    """Return the number of games that the test of chessops expects of its file, or None for other files."""
    test = pgn.parent.parent / "src" / "pgn.test.ts"
    if not test.is_file():
        return None
    found = re.search(rf"fileName: '{re.escape(pgn.stem)}',\s*numberOfGames: ([0-9]+)", test.read_text())
    return int(found[1]) if found else None


def _is_ours(game: chess.pgn.Game) -> bool:
    try:
        variant = game.board().uci_variant
        Position("chess" if variant is None else variant)
    except ValueError:
        return False
    return True


def test_pgn(pgn: Path) -> None:
    text = pgn.read_bytes().decode("utf-8-sig", errors="replace")
    lenient = list(read_games(io.StringIO(text), lenient=True))
    assert all(game.error is None or game.repairs for game in lenient)
    # 1. Leniently no game is lost. python-chess counts tags and moves on one line as two games; chessops does not.
    if (expected := _games_of_chessops(pgn)) is not None:
        assert len(lenient) == expected
        return
    theirs = _theirs(text)
    assert len(lenient) == len(theirs)
    # 2. What python-chess reads without errors leads to the same position.
    compared = 0
    for ours, other in zip(lenient, theirs, strict=True):
        if other.errors or not _is_ours(other) or ours.error is not None:
            assert other.errors or ours.repairs or not _is_ours(other), f"{pgn}: {ours.error}"
            continue
        end = other.end().board()
        assert ours.end().position().board_fen() == end.board_fen(), f"{pgn}: {other.headers}"
        assert sum(1 for _ in ours.mainline()) == sum(1 for _ in other.mainline())
        assert ours.headers["White"] == other.headers["White"]
        compared += 1
    assert compared or not any(_is_ours(other) and not other.errors for other in theirs)
    # 3. A strict reader reads what needed no repair in the same way.
    for ours, strict in zip(lenient, read_games(io.StringIO(text), on_error="collect"), strict=False):
        if not ours.repairs and strict.error is None:
            assert ours == strict
    # 4. What we write, we read again.
    for ours in lenient[:50]:
        assert Game.from_pgn(str(ours), lenient=True) == ours
