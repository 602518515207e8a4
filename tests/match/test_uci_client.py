"""The UCI client: what engines offer, whatever they do wrong, and that none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfmate.match.uci_client import EngineError, EngineSpec, Fault, Interrupted, UciClient
from selfmate.match.uci_parse import EngineScore, parse_info, parse_option

FAKE = Path(__file__).parents[1] / "helpers" / "fake_engine.py"
OURS = EngineSpec(command=(sys.executable, "-m", "selfmate", "uci"), options=(("WeightsFile", "heuristic-1"),))
PATIENCE = 60.0


def fake(fault: str = "none", *more: str, **settings: object) -> EngineSpec:
    return EngineSpec(command=(sys.executable, "-S", str(FAKE), fault, *more), **settings)  # type: ignore[arg-type]


def is_gone(process: int) -> bool:
    """Whether there is no such process, or only its name on a list; waits a little for it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(autouse=True)
def nobody_is_left() -> Iterator[None]:
    """Every test ends the engines that it started."""
    from selfmate.match import uci_client as engine

    yield
    assert not engine._alive


# -- what works -------------------------------------------------------------------------------------------------------


def test_a_search() -> None:
    with UciClient(fake()) as engine:
        assert engine.name == "Fake none"
        assert set(engine.options) == {"hash", "style", "ponder"}
        engine.set_option("hash", "32")
        engine.set_option("STYLE", "Wild")
        engine.set_variant("chess")
        engine.new_game()
        reply = engine.search(None, ["g1f3"], "go nodes 5", seconds=PATIENCE)
    assert (reply.move, reply.depth, reply.nodes, reply.late) == ("g8f6", 2, 7, False)
    assert reply.score == EngineScore(cp=-900)
    assert 0 < reply.seconds < PATIENCE


@pytest.mark.parametrize("variant", ["chess", "gardner", "atomic960", "3check"])
def test_our_own_engine_plays_every_variant(variant: str) -> None:
    from selfmate import Position

    with UciClient(OURS) as engine:
        engine.set_variant(variant)
        position = Position(variant)
        for _ in range(4):
            reply = engine.search(None, [move.uci() for move in position.move_stack], "go nodes 30", seconds=PATIENCE)
            position.play(reply.move)  # refuses what is not legal
    assert len(position.move_stack) == 4


def test_working_directory_environment_and_a_path_with_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "my engines"
    folder.mkdir()
    script = folder / "the engine"
    text = f"#!/bin/sh\necho id name $VERSION in ${{PWD##*/}}\nexec {sys.executable} -S {FAKE} none\n"
    script.write_text(text, encoding="ascii")
    script.chmod(0o755)
    spec = EngineSpec(command=(str(script),), directory=folder, environment={"VERSION": "9"})
    with UciClient(spec) as engine:
        assert engine.name == "Fake none"
    with pytest.raises(EngineError, match="no folder"):
        UciClient(EngineSpec(command=(str(script),), directory=tmp_path / "nowhere"))


def test_what_an_engine_tells_is_read_with_care() -> None:
    told = parse_info(
        "info depth 9 multipv 1 score mate -3 wdl 0 0 1000 nodes 12 pv e7e8q a1a2", "e7e8q", 0.5, late=False
    )
    assert (told.score, told.depth, told.nodes, told.pv) == (EngineScore(mate=-3), 9, 12, ("e7e8q", "a1a2"))
    odd = parse_info("info score cp 99999999999 depth nodes", "", 0.5, late=False)
    assert (odd.score, odd.depth, odd.nodes, odd.pv) == (None, None, None, ())
    assert parse_option("option name type spin") is None
    assert parse_option("option nonsense") is None


# -- options and variants ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("Hsh", "3"), "Fake none has no option 'Hsh'; did you mean Hash?"),
        (("Hash", "65"), "option Hash is a whole number from 1 to 64, not '65'"),
        (("Hash", "x"), "option Hash is a whole number from 1 to 64, not 'x'"),
        (("Style", "odd"), "option Style is one of calm, wild, not 'odd'"),
        (("Ponder", "yes"), "option Ponder is true or false, not 'yes'"),
    ],
)
def test_options_that_cannot_be(option: tuple[str, str], message: str) -> None:
    with pytest.raises(EngineError, match=r"^Fake none") as caught:
        UciClient(fake(options=(option,)))
    assert message in str(caught.value)


def test_variants_that_an_engine_does_not_offer() -> None:
    with UciClient(fake()) as engine:
        with pytest.raises(EngineError, match="does not play atomic: it has no option UCI_Variant"):
            engine.set_variant("atomic")
        with pytest.raises(EngineError, match="does not play chess960: it has no option UCI_Chess960"):
            engine.set_variant("chess960")
    with (
        UciClient(OURS) as engine,
        pytest.raises(EngineError, match="does not play shogi; its UCI_Variant is one of chess"),
    ):
        engine.set_variant("shogi")


# -- what goes wrong --------------------------------------------------------------------------------------------------


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="engine no-such-engine: there is no such program"):
        UciClient(EngineSpec(command=("no-such-engine",)))
    text = tmp_path / "text"
    text.write_text("hello", encoding="ascii")
    with pytest.raises(EngineError, match="not executable"):
        UciClient(EngineSpec(command=(str(text),)))
    text.chmod(0o755)
    with pytest.raises(EngineError, match="exited with code 127: Exec format error") as caught:
        UciClient(EngineSpec(command=(str(text),)))
    assert caught.value.fault is Fault.CRASH


@pytest.mark.parametrize(
    ("fault", "message", "kind"),
    [
        ("dies", "exited with code 7: cannot find my weights", Fault.CRASH),
        ("silent", "sent nothing within 0.5 s: not a UCI engine", Fault.HANG),
        ("floods-at-start", "", Fault.HANG),  # too much or too late, whichever comes first
        ("never-ready", "Fake never-ready did not send readyok within 0.5 s", Fault.HANG),
    ],
)
def test_engines_that_do_not_start(fault: str, message: str, kind: Fault) -> None:
    patience = 0.5 if kind is Fault.HANG else PATIENCE
    with pytest.raises(EngineError) as caught:
        UciClient(fake(fault), patience=patience)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.fault is kind


def test_a_program_that_is_no_engine_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.uci_client.NOTICE", 0.1)
    heard: list[str] = []
    for name, said in ("cat", ""), ("bash", "uci: command not found"):
        with pytest.raises(EngineError) as caught:  # the echo of a command is no word; nor is what goes to the errors
            UciClient(EngineSpec(command=(name,)), first_reply=1.5, notice=heard.append)
        assert str(caught.value).startswith(f"{name} sent nothing within 1.5 s: not a UCI engine")
        assert str(caught.value).endswith(said)
        assert caught.value.fault is Fault.HANG
    assert heard == [f"waiting for uciok from {name}, up to 1.5 s" for name in ("cat", "bash")]


def test_an_engine_that_has_spoken_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.uci_client.NOTICE", 0.1)
    heard: list[str] = []
    with UciClient(fake("loads"), first_reply=3.0, notice=heard.append) as engine:
        assert engine.name == "Fake loads"
    assert any("waiting for uciok from " in text for text in heard)


@pytest.mark.parametrize(
    ("fault", "message", "kind"),
    [
        ("crash", "was ended by signal 11", Fault.CRASH),
        ("exit", "exited with code 3: out of cheese", Fault.CRASH),
        ("disconnect", "closed its output", Fault.DISCONNECT),
        ("deaf", "did not obey stop", Fault.HANG),
        ("flood", "", Fault.HANG),  # too much or too late, whichever comes first
    ],
)
def test_engines_that_fail_in_a_search(fault: str, message: str, kind: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.uci_client.STOP_SECONDS", 0.3)
    with UciClient(fake(fault)) as engine:
        assert engine.search(None, [], "go nodes 1", seconds=PATIENCE).move == "g1f3"
        with pytest.raises(EngineError) as caught:
            engine.search(None, ["g1f3", "g8f6"], "go nodes 1", seconds=0.3 if kind is Fault.HANG else PATIENCE)
        process = engine.process_id
    assert str(caught.value).endswith(message)
    assert caught.value.fault is kind
    assert is_gone(process)


def test_a_flood_without_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.uci_client.FLOOD", 1 << 20)
    monkeypatch.setattr("selfmate.match.uci_client.STOP_SECONDS", 0.2)
    with (
        UciClient(fake("flood")) as engine,
        pytest.raises(EngineError, match="printed 1 MiB without a reply"),
    ):
        engine.search(None, ["g1f3", "g8f6"], "go nodes 1", seconds=PATIENCE)


def test_garbage_between_the_answers_does_no_harm() -> None:
    with UciClient(fake("noise")) as engine:
        for moves in ([], ["g1f3", "g8f6"], ["g1f3", "g8f6", "f3g1"]):
            reply = engine.search(None, moves, "go nodes 1", seconds=PATIENCE)
            assert reply.move == ("g1f3", "", "f3g1", "f6g8")[len(moves)]


def test_a_late_answer_is_told_and_not_taken_for_the_next() -> None:
    with UciClient(fake("waits")) as engine:
        late = engine.search(None, ["g1f3", "g8f6"], "go nodes 1", seconds=0.1)
        assert (late.move, late.late) == ("f3g1", True)
        assert late.seconds >= 0.1
        assert engine.search(None, [], "go nodes 1", seconds=PATIENCE).move == "g1f3"


def test_waiting_ends_when_the_match_is_stopped() -> None:
    asked: list[bool] = []
    with UciClient(fake("deaf"), stopping=lambda: bool(asked)) as engine:
        asked.append(True)
        with pytest.raises(Interrupted):
            engine.search(None, ["g1f3", "g8f6"], "go nodes 1", seconds=PATIENCE)


# -- no process is left behind -----------------------------------------------------------------------------------------


def test_an_engine_that_stays_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfmate.match.uci_client.STOP_SECONDS", 0.2)
    engine = UciClient(fake("stays"))
    engine.close()
    engine.close()
    assert is_gone(engine.process_id)


def test_children_of_an_engine_go_with_it(tmp_path: Path) -> None:
    file = tmp_path / "child"
    with UciClient(fake("child", str(file))):
        child = int(file.read_text(encoding="ascii"))
        assert Path(f"/proc/{child}").exists()
    assert is_gone(child)


LEAVING = """
import sys, time
from selfmate.match.uci_client import UciClient, EngineSpec
engine = UciClient(EngineSpec(command=(sys.executable, "-S", sys.argv[1], "stays")))
print(engine.process_id, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_engines_do_not_outlive_us(number: signal.Signals) -> None:
    command = [sys.executable, "-c", LEAVING, str(FAKE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        os.kill(parent.pid, number)
        assert is_gone(process)
        parent.wait(PATIENCE)
