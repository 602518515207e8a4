"""The figures of the studio on this machine: start, first load, main-thread tasks during an analysis, idle, load.

    python bench/studio.py            # needs Chromium and playwright (make teststudio)

Each figure is printed with the bound of the issue that asked for it.
"""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from websockets.asyncio.client import connect
from websockets.typing import Origin

PORT = 8791
ADDRESS = f"http://127.0.0.1:{PORT}/"
CONNECTIONS, MESSAGES_PER_SECOND, LOAD_SECONDS = 200, 1000, 10


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
    page.close()


async def load(cookie: str) -> tuple[int, int]:
    """Keep connections that ask together at the rate of the figure; return messages and errors."""
    sent = errors = 0

    async def one() -> None:
        nonlocal sent, errors
        try:
            headers = {"cookie": cookie}
            async with connect(
                f"ws://127.0.0.1:{PORT}/ws", origin=Origin(ADDRESS.rstrip("/")), additional_headers=headers
            ) as page:
                end = time.monotonic() + LOAD_SECONDS
                number = 0
                while time.monotonic() < end:
                    number += 1
                    await page.send(json.dumps({"type": "position.ask", "ask": number, "variant": "gardner"}))
                    answer = json.loads(await page.recv())
                    sent += 1
                    errors += answer["type"] != "position.view" or answer["ask"] != number
                    await asyncio.sleep(CONNECTIONS / MESSAGES_PER_SECOND)
        except Exception as error:
            print(f"  a connection ended: {error}")
            errors += 1

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))
    return sent, errors


def main() -> None:
    chromium = shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        began = time.perf_counter()
        command = [sys.executable, "-m", "selfmate", "studio", "--no-browser", "--port", str(PORT), "--runs", folder]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            report("from `selfmate studio` to the first answer", f"{wait_for_server(began):.2f} s", "-")
            report("server without a page, memory", f"{rss_mb(server.pid):.0f} MB", "150 MB")
            measure_page(browser, began)
            before = cpu_seconds(server.pid)
            time.sleep(10)
            report("server idle", f"{(cpu_seconds(server.pid) - before) / 10:.2%} of a core", "1 %")
            measure_tasks(browser)
            measure_tasks(browser, "#study/tree?variant=gardner")
            cookie, memory = token(), rss_mb(server.pid)
            with ThreadPoolExecutor(1) as thread:  # playwright has an event loop in this one
                messages, errors = thread.submit(asyncio.run, load(cookie)).result()
            report(f"load of {CONNECTIONS} connections", f"{messages / LOAD_SECONDS:.0f} messages/s", "1,000")
            report("errors under load, growth of memory", f"{errors}, {rss_mb(server.pid) - memory:+.0f} MB", "0, flat")
        finally:
            server.terminate()
            server.wait()
            browser.close()


if __name__ == "__main__":
    main()
