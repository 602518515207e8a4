"""The checker of the built documentation finds what leads nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from check_site import broken_links, main


def test_links_that_lead_nowhere_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<p id="top"><a href="sub/a.html#x">a</a> <a href="https://x.org/y">y</a>')
    (tmp_path / "sub" / "a.html").write_text('<p id="x"><a href="../index.html#top">up</a> <a href="#x">here</a>')
    assert broken_links(tmp_path) == []
    assert main(str(tmp_path)) == 0
    (tmp_path / "sub" / "b.html").write_text(
        '<a href="../index.html#no">1</a> <a href="none.html">2</a> <img src="none.svg"> <a href="#no">4</a> '
        '<a href="../../outside.html">5</a> <a href="a.html#x">fine</a>'
    )
    (tmp_path.parent / "outside.html").touch()  # outside the site
    links = ["../index.html#no", "none.html", "none.svg", "#no", "../../outside.html"]
    assert broken_links(tmp_path) == [f"sub/b.html: {link}" for link in links]
    assert main(str(tmp_path)) == 1
    assert capsys.readouterr().err.count("\n") == len(links)


def test_a_folder_without_pages_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(tmp_path)) == 2
    assert "has no pages" in capsys.readouterr().err
