"""Random requests: over the WebSocket by our own fuzzer, over HTTP by schemathesis from the OpenAPI document."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from selfmate.studio.app import API, openapi
from selfmate.studio.security import COOKIE
from studio_fuzz import Fuzzer, fuzz
from studio_server import StudioServer, studio_server

PATHS = [
    f"{prefix}{middle}{end}"
    for prefix in ("", "/", "./", "run/", "engine/")
    for middle in ("../", "..\\", "....//")
    for end in ("etc/passwd", "manifest.json", "x\0")
]
"""Names that would leave a folder, if they were paths."""


def test_the_same_seed_makes_the_same_requests() -> None:
    first, again, other = Fuzzer(1), Fuzzer(1), Fuzzer(2)
    texts = [first.text() for _ in range(200)]
    assert texts == [again.text() for _ in range(200)]
    assert texts != [other.text() for _ in range(200)]
    assert len({text.split('"')[3] for text in texts if text.startswith('{"type": "')}) > 20


def test_random_requests_are_answered_without_traceback_or_leak(tmp_path: Path) -> None:
    before = threading.active_count()
    with studio_server(tmp_path) as server:
        assert fuzz(server, tmp_path, 600, seed=17) > 200
    end = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.1)
    assert threading.active_count() <= before + 1  # searches of pages that left have ended


@pytest.mark.parametrize("path", PATHS)
def test_no_name_leaves_its_folder(server: StudioServer, path: str) -> None:
    assert len(PATHS) >= 30
    with server.page() as page:
        bodies: tuple[tuple[str, dict[str, Any]], ...] = (
            ("game.new", {"variant": "chess", "player": path}),
            ("game.open", {"id": path}),
            ("analysis.start", {"variant": "chess", "player": path}),
            ("engine.start", {"variant": "chess", "engine": path}),
            ("net.inside", {"variant": "chess", "player": path}),
            ("recipe.ask", {"name": path}),
            ("run.watch", {"id": path}),
            ("run.start", {"resume": path}),
            ("run.start", {"recipe": path}),
            ("run.start", {"recipe": "gardner-laptop", "name": path}),
            ("run.stop", {"id": path}),
            ("match.start", {"variant": "chess", "first": path, "second": path}),
            ("match.stop", {"id": path}),
        )
        for kind, body in bodies:
            number = page.send(kind, **body)
            answer = page.next(60)
            assert answer["type"] == "failure", (kind, path, answer)
            assert answer["ask"] in (number, 0)
            assert "root:" not in answer["message"]
            assert "\n" not in answer["message"]


def test_the_document_describes_every_route_and_error() -> None:
    document = openapi()
    assert set(document["paths"]) == {operation.path for operation in API}
    for path, operations in document["paths"].items():
        answers = operations["get"]["responses"]
        assert {"200", "default"} <= set(answers), path
        assert ("404" in answers) == ("{id}" in path)


def test_schemathesis_finds_no_fault(server: StudioServer) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="pip install schemathesis (make teststudio)")
    found = schemathesis.openapi.from_dict(openapi())
    headers = {"cookie": f"{COOKIE}={server.access.cookie_value}", "origin": server.url.rstrip("/")}
    tried = 0
    for result in found.get_all_operations():
        operation = result.ok()

        def check(case: Any) -> None:
            nonlocal tried
            tried += 1
            response = case.call(base_url=server.url.rstrip("/"), headers=headers)
            assert response.status_code < 500
            case.validate_response(response, headers=headers)
            assert "Traceback" not in response.text

        settings = hypothesis.settings(max_examples=40, deadline=None, database=None, derandomize=True)
        settings(hypothesis.given(case=operation.as_strategy())(check))()
    assert tried >= len(API)
