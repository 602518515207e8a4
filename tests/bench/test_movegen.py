"""The benchmark of move generation: what it reports, and which other engines take part."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from command import Run
from selfmate import SelfmateError
from selfmate.bench import movegen, peers
from selfmate.bench.movegen import START, PerftCase
from selfmate.bench.peers import Peer, find_peers, open_peer

# An engine that counts by the rules of one variant whatever it is told, and `extra` leaves too many at depth 2.
ENGINE = """#!{python}
import sys
from selfmate import Position
for line in sys.stdin:
    words = line.split()
    if words[0] == "uci":
        print("id name Counter 1")
        print("option name UCI_Variant type combo default chess var chess var atomic")
        print("uciok", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "position":
        fen = " ".join(words[2:])
    elif words[0] == "go":
        depth = int(words[2])
        nodes = Position("{variant}", fen).perft(depth) + ({extra} if depth == 2 else 0)
        print(f"a2a3: 1\\n\\nNodes searched: {{nodes}}", flush=True)
    elif words[0] == "quit":
        break
"""


def engine(folder: Path, variant: str = "atomic", extra: int = 0) -> Peer:
    """Write an engine that counts by the rules of a variant, as a peer for atomic."""
    path = folder / "fairy-stockfish"
    path.write_text(ENGINE.format(python=sys.executable, variant=variant, extra=extra), encoding="ascii")
    path.chmod(0o755)
    return Peer("fairy-stockfish", path, "atomic")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure small cases for a short time."""
    cases = (PerftCase("start", "chess", START, 4, 197_281), PerftCase("start", "atomic", START, 4, 197_326))
    monkeypatch.setattr(movegen, "CASES", cases)
    monkeypatch.setattr(movegen, "GENERATE_SECONDS", 0.02)
    monkeypatch.setattr(movegen, "RANDOM_POSITIONS", 500)


@pytest.mark.usefixtures("quick")
def test_json_has_everything(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movegen, "find_peers", lambda: [Peer("nothing", Path("/no/such/engine"), "atomic")])
    answer = run("bench", "movegen", "--json", "--repeats", "1", "--threads", "2")
    assert (answer.code, answer.err) == (0, "")
    report = json.loads(answer.out)
    assert [(row["variant"], row["depth"], row["nodes"]) for row in report["perft"]] == [
        ("chess", 4, 197_281),
        ("atomic", 4, 197_326),
    ]
    assert all(row["nodes_per_second"]["selfmate"] > 0 for row in report["perft"])
    assert [row["variant"] for row in report["generate"]] == ["chess", "atomic"]
    assert all(row["moves_per_second"] > row["positions_per_second"] > 0 for row in report["generate"])
    assert all(row["threads"] == 2 and row["scaling"] > 0 for row in report["threads"])
    assert report["machine"]["threads"] == 2
    assert report["peers"] == {}
    assert report["refused"] == ["/no/such/engine: engine /no/such/engine: there is no such program"]
    table = run("bench", "movegen", "--repeats", "1")
    assert "Legal moves of 500 random positions" in table.out


@pytest.mark.usefixtures("quick")
def test_an_engine_is_measured_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(movegen, "find_peers", lambda: [engine(tmp_path)])
    found = movegen.measure(repeats=1)
    assert found.peers == {"fairy-stockfish": f"Counter 1, {tmp_path / 'fairy-stockfish'}"}
    assert [(variant, name) for variant, name, _, _ in found.totals()] == [
        ("chess", "selfmate"),
        ("atomic", "selfmate"),
        ("atomic", "fairy-stockfish"),
    ]
    assert found.perft[1].ratio("fairy-stockfish") > 0
    assert [row[2] for row in found.report().tables[0].rows].count("fairy-stockfish") == 2


@pytest.mark.parametrize(("variant", "accepted"), [("atomic", True), ("chess", False)])
def test_an_engine_that_plays_chess_for_atomic_is_refused(tmp_path: Path, variant: str, accepted: bool) -> None:
    """As Debian's fairy-stockfish 11.1 does."""
    peer = engine(tmp_path, variant)
    if accepted:
        with open_peer(peer) as opened:
            assert opened.name == "Counter 1"
            assert opened.perft(START, 4, seconds=60) == 197_326
    else:
        with pytest.raises(SelfmateError, match="does not play atomic by its rules: 197,281 leaves"), open_peer(peer):
            pass


def test_an_engine_that_counts_wrong_is_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: None) -> None:
    cases = [PerftCase("start", "atomic", START, depth, nodes) for depth, nodes in ((4, 197_326), (2, 400))]
    monkeypatch.setattr(movegen, "CASES", tuple(cases))
    peer = engine(tmp_path, extra=1)
    monkeypatch.setattr(movegen, "find_peers", lambda: [peer])
    found = movegen.measure(repeats=2)
    assert found.peers == {}
    assert found.refused == [f"{peer.path} counts 401 in atomic, start; right is 400"]
    assert [(variant, name) for variant, name, _, _ in found.totals()] == [("atomic", "selfmate")]


def test_an_engine_that_does_not_answer_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "ANSWER_SECONDS", 0.2)
    path = tmp_path / "mute"
    path.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n", encoding="ascii")
    path.chmod(0o755)
    with pytest.raises(SelfmateError, match=r"within 0\.2 s"), open_peer(Peer("mute", path, "chess")):
        pass


def test_engines_are_looked_for_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my-fairy"
    path.write_text("", encoding="ascii")
    path.chmod(0o755)
    monkeypatch.setenv("SELFMATE_FAIRY_STOCKFISH", str(path))
    assert path in [peer.path for peer in find_peers()]


def test_engines_are_found_where_the_build_script_puts_them() -> None:
    script = Path(peers.__file__).parents[3] / "bench" / "peers" / "build_fairy_stockfish.sh"
    assert script.is_file()  # the path in find_peers
