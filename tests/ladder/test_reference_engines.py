"""Reference engines: their perft counts and their answers, which are refused, and which are passed over."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from command import Run
from selfmate import Position, SelfmateError
from selfmate.ladder import reference_engines
from selfmate.match.uci_client import EngineError, EngineSpec, UciClient

FAKE = Path(__file__).parents[1] / "helpers" / "fake_engine.py"
OURS = (sys.executable, "-m", "selfmate", "uci")
CHESS_ONLY = (sys.executable, "-S", str(FAKE), "plays-chess")


@pytest.fixture
def run(run: Run) -> Run:
    """Run `selfmate ladder`."""
    return partial(run, "ladder")


def script(path: Path, command: Sequence[str]) -> None:
    """Write a program that runs a command."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {' '.join(command)}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("variant", sorted(reference_engines._all_counts()))
def test_the_counts_that_engines_are_checked_with_are_ours(variant: str) -> None:
    counts = reference_engines.known_counts(variant)
    assert len(counts) >= 3
    for fen, depth, nodes in counts:
        assert Position(variant, fen).perft(depth) == nodes


def test_there_are_counts_of_every_variant_and_they_tell_it_from_chess() -> None:
    assert set(reference_engines._all_counts()) == {
        path.stem for path in (Path(__file__).parents[1] / "perft").glob("*.epd")
    }
    for variant in ("atomic", "antichess", "horde", "kingofthehill", "racingkings"):
        as_chess = []
        for fen, depth, nodes in reference_engines.known_counts(variant):
            with contextlib.suppress(SelfmateError):
                as_chess.append((Position("chess", fen).perft(min(depth, 4)), nodes))
        assert len(as_chess) < len(reference_engines.known_counts(variant)) or any(had != has for had, has in as_chess)


def test_an_engine_that_knows_the_rules_passes() -> None:
    found = reference_engines.find_fairy("horde", " ".join(OURS))
    assert found.command == OURS
    assert found.name.startswith("Selfmate")


def test_an_engine_that_silently_plays_chess_is_refused() -> None:
    with UciClient(EngineSpec(command=CHESS_ONLY)) as engine:
        reference_engines.known_counts("chess")
        with pytest.raises(
            reference_engines.ReferenceEngineError, match="does not play atomic by its rules: 197,281 leaves"
        ):
            reference_engines.check_rules(engine, "atomic")


def test_an_engine_that_does_not_count_is_refused() -> None:
    with (
        UciClient(EngineSpec(command=(sys.executable, "-S", str(FAKE)))) as engine,
        pytest.raises(EngineError, match="does not count leaves"),
    ):
        reference_engines.check_rules(engine, "chess")


def test_the_first_engine_that_passes_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "bin" / "fairy-stockfish", CHESS_ONLY)
    monkeypatch.setattr(reference_engines, "FINGERPRINT_NODES", (1,))  # quickly
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SELFMATE_FAIRY_STOCKFISH", raising=False)
    with pytest.raises(reference_engines.ReferenceEngineError) as refused:
        reference_engines.find_fairy("atomic")
    assert "Fake plays-chess does not play atomic by its rules" in str(refused.value)
    assert "selfmate ladder --build-engine" in str(refused.value)
    assert "\n" not in str(refused.value)
    script(tmp_path / "cache" / "selfmate" / "engines" / "fairy-stockfish", OURS)
    assert reference_engines.find_fairy("atomic").command == (
        str(reference_engines.cache_folder() / "fairy-stockfish"),
    )


def test_without_an_engine_one_line_says_how_to_get_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(reference_engines, "MORE_FOLDERS", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SELFMATE_FAIRY_STOCKFISH", raising=False)
    code, out, err = run("heuristic-1", "--variant", "gardner")
    assert (code, out) == (2, "")
    assert err.startswith("selfmate: no Fairy-Stockfish for gardner was found; selfmate ladder --build-engine")
    assert err.count("\n") == 1


START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KNOWN = tuple(
    reference_engines.Fingerprint(START, limit, "g1f3", "+9.00", 7) for limit in reference_engines.FINGERPRINT_NODES
)
"""What the fake engine finds."""
OTHER_FINGERPRINTS = {
    "s/g1f3/b1c3/": "b1c3 (+9.00, 7 nodes)",
    "s/cp 900/cp 899/": "g1f3 (+8.99, 7 nodes)",
    "s/nodes 7/nodes 8/": "g1f3 (+9.00, 8 nodes)",
}
"""What makes another player of it, and what that one finds."""


@pytest.fixture
def one_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only count that the fake engine knows."""
    monkeypatch.setattr(reference_engines, "known_counts", lambda variant: [(START, 4, 197281)])


def edited(path: Path, edit: str) -> str:
    """Write an engine that is the fake one but for what it finds."""
    script(path, ("sh", "-c", f"\"{' '.join(CHESS_ONLY)} | sed -u '{edit}'\""))
    return str(path)


@pytest.mark.usefixtures("one_count")
def test_the_engine_of_the_ladder_is_known_by_its_answers(tmp_path: Path) -> None:
    measured = reference_engines.find_fairy("chess", " ".join(CHESS_ONLY))
    assert measured.fingerprints == KNOWN
    # Another build with another name answers alike.
    command = edited(tmp_path / "other", "s/id name .*/id name Fairy-Stockfish 311299/")
    found = reference_engines.find_fairy("chess", command, known=KNOWN)
    assert (found.command, found.name, found.fingerprints) == ((command,), "Fairy-Stockfish 311299", KNOWN)


@pytest.mark.usefixtures("one_count")
@pytest.mark.parametrize(("edit", "found"), OTHER_FINGERPRINTS.items())
def test_an_engine_that_plays_otherwise_is_refused(tmp_path: Path, edit: str, found: str) -> None:
    with pytest.raises(reference_engines.ReferenceEngineError) as refused:
        reference_engines.find_fairy("chess", edited(tmp_path / "other", edit), known=KNOWN)
    line = str(refused.value)
    assert "Fake plays-chess is not the engine with which the ladder was measured: with 1 node in" in line
    assert f"it finds {found}, that one found g1f3 (+9.00, 7 nodes); selfmate ladder --build-engine" in line
    assert "\n" not in line


@pytest.mark.usefixtures("one_count")
def test_an_engine_with_other_fingerprints_on_the_path_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = edited(tmp_path / "bin" / "fairy-stockfish", "s/g1f3/b1c3/")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("SELFMATE_FAIRY_STOCKFISH", raising=False)
    built = tmp_path / "cache" / "selfmate" / "engines" / "fairy-stockfish"
    # 1. The one that was built fits.
    script(built, CHESS_ONLY)
    told: list[str] = []
    assert reference_engines.find_fairy("chess", None, told.append, known=KNOWN).command == (str(built),)
    assert len(told) == 1
    assert told[0].startswith(f"not used: {on_path}: Fake plays-chess is not the engine")
    # 2. No engine fits: the line says why for each.
    edited(built, "s/cp 900/cp 899/")
    with pytest.raises(reference_engines.ReferenceEngineError) as refused:
        reference_engines.find_fairy("chess", known=KNOWN)
    for path, found in ((on_path, "b1c3 (+9.00"), (built, "g1f3 (+8.99")):
        assert f"{path}: Fake plays-chess is not the engine" in str(refused.value)
        assert f"it finds {found}" in str(refused.value)
    assert "selfmate ladder --build-engine" in str(refused.value)
    # 3. A ladder can be measured with any engine that knows the rules.
    assert reference_engines.find_fairy("chess").command == (on_path,)


def test_a_shipped_ladder_is_not_climbed_with_another_engine(run: Run) -> None:
    code, out, err = run("heuristic-1", "--variant", "gardner", "--visits", "8", "--engine", " ".join(OURS))
    assert (code, out) == (2, "")
    assert "is not the engine with which the ladder was measured" in err
    assert "selfmate ladder --build-engine" in err
    assert err.count("\n") == 1


def test_building_says_what_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert run("--build-engine")[::2] == (
        2,
        "selfmate: building Fairy-Stockfish needs no-such-compiler, which is not there\n",
    )
