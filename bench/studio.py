"""The figures of the studio on this machine: start, first load, main-thread tasks, idle, answers, load, spectators.

    python bench/studio.py                # needs Chromium and playwright (make teststudio)
    python bench/studio.py --no-page      # what needs no browser
    python bench/studio.py --clone        # before that, `make run` in a fresh clone of the last commit

Each figure is printed with the bound of the issue that asked for it. On a busy machine, wall times say little: where it
matters, the processor time of the server is printed beside them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Origin

PORT = 8791
ADDRESS = f"http://127.0.0.1:{PORT}/"
CONNECTIONS, MESSAGES_PER_SECOND, LOAD_SECONDS = 200, 1000, 10
LOADS = 6
"""How often that load is made: memory must stop growing."""
SPECTATORS, SPECTATED_SECONDS = 50, 30
MOVES, MOVE_SECONDS = 10, 20.0


def report(name: str, value: str, bound: str) -> None:
    print(f"{name:44} {value:>22}   (bound: {bound})", flush=True)


def token() -> str:
    """Return the cookie that the first page gives."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    connection.request("GET", "/")
    return (connection.getresponse().getheader("set-cookie") or "").partition(";")[0]


def wait_for_server(began: float) -> float:
    while True:
        try:
            token()
        except OSError:
            time.sleep(0.02)
            continue
        return time.perf_counter() - began


def cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def rss_mb(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def measure_clone() -> None:
    """Print the seconds from `make run` in a fresh clone to a playable board, in an empty environment."""
    with tempfile.TemporaryDirectory() as folder:
        clone, home = Path(folder) / "selfmate", Path(folder) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", Path(__file__).parents[1], clone], check=True)
        python = str(Path(sys.base_prefix) / "bin" / "python3")
        environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHON": python}
        for name, value in os.environ.items():  # how this machine reaches its package index
            if name.startswith("PIP_") or any(word in name.upper() for word in ("PROXY", "SSL", "CERT")):
                environment[name] = value
        before = os.times()
        answer = subprocess.run(
            [python, "tools/check_studio.py", "make", "run"],
            cwd=clone, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        after = os.times()
        seconds = re.search(r"A playable board after ([\d.]+ s)", answer.stdout)
        if answer.returncode or seconds is None:
            raise SystemExit(answer.stdout)
        report("`make run` in a fresh clone to a board", seconds[1], "90 s")
        used = after.children_user + after.children_system - before.children_user - before.children_system
        report("processor time of that", f"{used:.0f} s", "-")


def measure_page(browser: Any, server_began: float) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(len(gzip.compress(answer.body(), 6))) if answer.ok else None)
    page.goto(ADDRESS + "#play?variant=atomic&start=1")
    page.locator(".game-panel").wait_for()
    page.get_by_placeholder("Type a move").wait_for()
    report("from `selfmate studio` to a playable board", f"{time.perf_counter() - server_began:.2f} s", "3 s")
    report("first load, compressed", f"{sum(sizes) / 1000:.0f} kB", "300 kB")
    context.close()


def measure_tasks(browser: Any, view: str = "#study?variant=gardner") -> None:
    """Trace ten seconds of analysis in a view, and print the lengths of the main thread's tasks."""
    page = browser.new_page()
    page.goto(ADDRESS + view)
    page.locator(".crow, .nd").first.wait_for()
    page.get_by_label("Limit").select_option("")
    browser.start_tracing(
        page=page, categories=["devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel"]
    )
    page.wait_for_timeout(10_000)
    trace = json.loads(browser.stop_tracing())
    names = {
        (event["pid"], event["tid"])
        for event in trace["traceEvents"]
        if event.get("name") == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    events = [
        event
        for event in trace["traceEvents"]
        if event.get("name") == "RunTask" and "dur" in event and (event["pid"], event["tid"]) in names
    ]
    # `dur` is wall time, `tdur` the time that the thread had a core: they differ on a busy machine.
    for key, words in (("dur", "wall time"), ("tdur", "CPU time")):
        # The many empty tasks would flatter the share.
        tasks = sorted(event[key] / 1000 for event in events if event.get(key, 0) >= 100)
        if tasks:
            share = sum(each < 16 for each in tasks) / len(tasks)
            report(f"{view}: main-thread tasks under 16 ms, {words}", f"{share:.1%} of {len(tasks):,}", "95 %")
            report(f"{view}: longest main-thread task, {words}", f"{tasks[-1]:.0f} ms", "100 ms")
    longest = max(events, key=lambda event: event.get("tdur", 0))
    print(f"  the longest by CPU time: {parts_of(longest, trace['traceEvents'])}", flush=True)
    page.close()


def parts_of(task: dict[str, Any], events: list[dict[str, Any]]) -> str:
    """Return the names of what a task did, with milliseconds of CPU time, the longest first."""
    end = task["ts"] + task["dur"]
    parts = [
        event
        for event in events
        if (event["pid"], event["tid"]) == (task["pid"], task["tid"])
        and task["ts"] <= event["ts"] < end
        and event.get("tdur", 0) >= 1000
        and not event["name"].endswith("RunTask")
    ]
    parts.sort(key=lambda event: -event["tdur"])
    return ", ".join(f"{event['name']} {event['tdur'] / 1000:.0f} ms" for event in parts[:6])


@contextlib.asynccontextmanager
async def page_of(cookie: str) -> AsyncIterator[ClientConnection]:
    """Connect as a page does."""
    headers = {"cookie": cookie}
    origin = Origin(ADDRESS.rstrip("/"))
    async with connect(f"ws://127.0.0.1:{PORT}/ws", origin=origin, additional_headers=headers, max_size=None) as page:
        yield page


async def load(cookie: str) -> tuple[int, int]:
    """Keep connections that ask together at the rate of the figure; return messages and errors."""
    sent = errors = 0

    async def one() -> None:
        nonlocal sent, errors
        try:
            async with page_of(cookie) as page:
                end = time.monotonic() + LOAD_SECONDS
                number = 0
                due = time.monotonic()
                while time.monotonic() < end:
                    number += 1
                    await page.send(json.dumps({"type": "position.ask", "ask": number, "variant": "gardner"}))
                    answer = json.loads(await page.recv())
                    sent += 1
                    errors += answer["type"] != "position.view" or answer["ask"] != number
                    due += CONNECTIONS / MESSAGES_PER_SECOND
                    await asyncio.sleep(max(0.0, due - time.monotonic()))
        except Exception as error:
            print(f"  a connection ended: {error}")
            errors += 1

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return sent, errors


async def answer_times(cookie: str) -> list[float]:
    """Return by how many seconds answers came later than the clock of the player ran: message to message."""
    late: list[float] = []
    async with page_of(cookie) as page:
        body = {"variant": "gardner", "color": "white", "player": "heuristic-1", "visits": 10_000_000}
        clock = {"seconds": MOVE_SECONDS, "increment": 0}
        for number in range(1, MOVES + 1):
            await page.send(json.dumps({"type": "game.new", "ask": number, **body, "clock": clock}))
            view = json.loads(await page.recv())
            for ply in (0, 2):  # the first move of each side costs no time: its clock does not run
                move = {"id": view["id"], "ply": ply, "uci": view["board"]["legal"][0]["uci"]}
                began, before = time.monotonic(), view["clock"]["black"]
                await page.send(json.dumps({"type": "game.move", "ask": 1000 + number, **move}))
                while len(view["moves"]) < ply + 2 and view["board"]["result"] is None:
                    view = json.loads(await page.recv())
            if view["board"]["result"] is None:
                late.append(time.monotonic() - began - (before - view["clock"]["black"]) / 1000)
    return late


async def spectate(cookie: str, run: str, server: int) -> tuple[float, int]:
    """Follow a run by many pages; return the processor seconds of the server for a second, and the events received."""
    events = 0

    async def one() -> None:
        nonlocal events
        async with page_of(cookie) as page:
            await page.send(json.dumps({"type": "run.list", "ask": 1}))
            await page.send(json.dumps({"type": "run.watch", "ask": 2, "id": run}))
            end = time.monotonic() + SPECTATED_SECONDS
            while (left := end - time.monotonic()) > 0:
                try:
                    await asyncio.wait_for(page.recv(), left)
                    events += 1
                except TimeoutError:
                    break

    before = cpu_seconds(server)
    await asyncio.gather(*(one() for _ in range(SPECTATORS)))
    return (cpu_seconds(server) - before) / SPECTATED_SECONDS, events


async def start_run(cookie: str) -> str:
    """Start a training and return its id once it has finished a cycle."""
    async with page_of(cookie) as page:
        await page.send(json.dumps({"type": "run.start", "ask": 1, "recipe": "gardner-laptop", "minutes": 3}))
        started = json.loads(await page.recv())
        if started["type"] == "failure":
            raise SystemExit(started["message"])
        run: str = started["id"]
        await page.send(json.dumps({"type": "run.watch", "ask": 2, "id": run}))
        while not json.loads(await page.recv()).get("charts"):
            pass
        return run


def measure_server(server: int, *, trains: bool) -> None:
    """Print what needs no browser: idle, answers, load, spectators."""
    before = cpu_seconds(server)
    time.sleep(10)
    report("server idle", f"{(cpu_seconds(server) - before) / 10:.2%} of a core", "1 %")
    cookie = token()
    late = sorted(asyncio.run(answer_times(cookie)))
    report(f"answers later than their time, {len(late)} moves", f"{1000 * late[-1]:.0f} ms at most", "100 ms")
    report("memory after these games", f"{rss_mb(server):.0f} MB", "-")
    memory, cpu = rss_mb(server), cpu_seconds(server)
    messages, errors = asyncio.run(load(cookie))
    cpu = cpu_seconds(server) - cpu
    report(f"load of {CONNECTIONS} connections", f"{messages / LOAD_SECONDS:.0f} messages/s", "1,000")
    report("processor time for a message", f"{1e6 * cpu / messages:.0f} us", "1,000 us for one core")
    grown = [rss_mb(server) - memory]
    for _ in range(1, LOADS):
        errors += asyncio.run(load(cookie))[1]
        grown.append(rss_mb(server) - memory)
    report("errors under load", f"{errors}", "0")
    report(f"growth of memory after each of {LOADS} times", ", ".join(f"{each:+.0f}" for each in grown) + " MB", "flat")
    if trains:
        share, events = asyncio.run(spectate(cookie, asyncio.run(start_run(cookie)), server))
        cores = len(os.sched_getaffinity(0))
        report(f"{SPECTATORS} spectators of a training", f"{share / cores:.2%} of {cores} cores", "3 %")
        report("events that they received", f"{events / SPECTATED_SECONDS:.0f} a second", "-")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-page", action="store_true", help="leave out what needs Chromium")
    parser.add_argument("--no-training", action="store_true", help="leave out what needs PyTorch and two minutes")
    parser.add_argument("--clone", action="store_true", help="build a fresh clone by `make run` first")
    given = parser.parse_args()
    if given.clone:
        measure_clone()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as browsing:
        browser = None if given.no_page else browsing.enter_context(open_browser())  # not part of the studio's start
        began = time.perf_counter()
        command = [sys.executable, "-m", "selfmate", "studio", "--no-browser", "--port", str(PORT), "--runs", folder]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            report("from `selfmate studio` to the first answer", f"{wait_for_server(began):.2f} s", "-")
            report("processor time of that", f"{cpu_seconds(server.pid):.2f} s", "-")
            report("server without a page, memory", f"{rss_mb(server.pid):.0f} MB", "150 MB")
            if browser is not None:
                measure_page(browser, began)
                report("processor time of the server until then", f"{cpu_seconds(server.pid):.2f} s", "-")
                measure_tasks(browser)
                measure_tasks(browser, "#study/tree?variant=gardner")
            browsing.close()  # playwright has an event loop in this thread
            measure_server(server.pid, trains=not given.no_training)
        finally:
            server.terminate()
            server.wait()


@contextlib.contextmanager
def open_browser() -> Iterator[Any]:
    """Start Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


if __name__ == "__main__":
    main()
