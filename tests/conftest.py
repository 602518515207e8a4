"""Settings and fixtures of all tests."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

import single_thread  # noqa: F401 -- before numpy
from command import Answer, Run
from selfmate._core import Buffer, GameRecord, Pool, SearchConfig, SelfPlayConfig
from selfmate.cli.main import main
from selfmate.evaluator.agreement import leaves_of
from selfmate.nn.calibration import game_positions
from selfmate.nn.leaves import LeafBatch
from shipped_nets import GARDNER_NET

if TYPE_CHECKING:
    from studio_browser import Open
    from studio_server import StudioServer

# A shell starts background jobs with SIGINT ignored, and children inherit that; some tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a test must not fail because the machine is busy.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of tests/outside."""
    group = parser.getgroup("outside", "suites of other projects (tests/outside)")
    group.addoption("--outside", type=Path, metavar="DIR", help="folder with files of other projects")
    group.addoption("--outside-nodes", type=int, default=1_000_000, metavar="N", help="most leaves to count, 1000000")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, 200 columns wide; return its exit code and output."""
    monkeypatch.setenv("COLUMNS", "200")

    def run_command(*arguments: str | Path) -> Answer:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main([str(argument) for argument in arguments])
        return Answer(leaving.value.code, *capsys.readouterr())

    return run_command


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Limit torch to one thread: sums are then the same on every machine."""
    import torch  # heavy, and most tests do without

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def games() -> list[GameRecord]:
    """Return sixty Gardner games with every kind of result, truncated ones included."""
    pool = Pool(
        "gardner",
        SearchConfig(gumbel=True, considered=8),
        SelfPlayConfig(visits=8, fast_visits=2, full_probability=1, random_plies=6, temperature=0, max_plies=40),
        seed=1,
        threads=1,
    )
    pool.start(0, 60)
    pool.run("heuristic-1")
    games = pool.drain()
    assert {game.result for game in games} == {"1-0", "0-1", "1/2-1/2", "*"}
    return games


@pytest.fixture(scope="module")
def buffer(games: list[GameRecord]) -> Buffer:
    """Return a buffer of these games."""
    filled = Buffer("gardner", 100_000, 1)
    for game in games:
        filled.add(game)
    return filled


@pytest.fixture(scope="session")
def f32() -> bytes:
    """Return the ONNX file of a trained net, the shipped one of Gardner chess."""
    from selfmate.nn.onnx import ONNX_NAME  # heavy, and most tests do without

    return (GARDNER_NET / ONNX_NAME).read_bytes()


@pytest.fixture(scope="session")
def int8(f32: bytes) -> bytes:
    """Return the quantized file of the same net."""
    from selfmate.nn.quantize import quantize

    return quantize(f32)


@pytest.fixture(scope="session")
def positions() -> LeafBatch:
    """Return the leaves of a hundred positions of Gardner games."""
    return leaves_of(game_positions("gardner", 100))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[StudioServer]":
    """A studio with an empty folder of runs."""
    from studio_server import studio_server

    with studio_server(tmp_path_factory.mktemp("runs")) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, driven by playwright; skips where one of them is missing."""
    from studio_browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture
def open_page(browser: Any, server: "StudioServer") -> "Iterator[Open]":
    """A function that opens a page of the studio; at the end of the test no page must have had an error."""
    from studio_browser import page_opener

    with page_opener(browser, server) as found:
        yield found
