"""Output that fits the width of the terminal: the progress line of every command, and lines of text."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.console import Console

from selfmate.cli.common import progress_bar
from selfmate.match.match_file import GameEntry
from selfmate.match.report import MatchReport, progress_notes
from selfmate.match.spec import Contestant
from selfmate.rating.sprt import Sprt, SprtTracker
from selfmate.search.limit import Limit
from selfmate.util.terminal import fit, say


class Terminal(io.StringIO):
    """A terminal that keeps its output."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def shown(monkeypatch: pytest.MonkeyPatch, width: int, label: str, note: str | list[str]) -> str:
    """Return the progress line of a command in a terminal of `width` columns, without colours."""
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", str(width))
        with progress_bar() as bar:
            task = bar.add_task(label, total=None, note="")
            bar.update(task, completed=1, total=2, note=note)
            bar.refresh()
            written = terminal.getvalue()
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written))
    return [line for line in lines if line.strip()][-1]


def match(games: int, of: int, test: Sprt | None) -> MatchReport:
    """Return a match in which the first player wins most games."""
    entries = tuple(
        GameEntry(
            number=number,
            white=number % 2,
            black=1 - number % 2,
            result="1/2-1/2" if number % 9 == 0 else "0-1" if number % 2 ^ (number % 5 == 0) else "1-0",
            reason="checkmate",
            fault=None,
            plies=10,
        )
        for number in range(games)
    )
    tracker = SprtTracker(test) if test is not None else None
    if tracker is not None:
        tracker.add(entry.side_result(0) for entry in entries)
    contestants = tuple(
        Contestant(spec=name, player=name, engine=None, limit=Limit(visits=8), name=name) for name in "AB"
    )
    return MatchReport(
        variant="chess",
        contestants=contestants,
        labels=("A", "B"),
        openings=of // 2,
        entries=entries,
        unavailable={},
        seconds=1.0,
        sprt=test,
        sprt_state=None if tracker is None else tracker.state,
    )


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("test", [None, Sprt(-1, 1, 0.001, 0.001)])
@pytest.mark.parametrize(("games", "of"), [(352, 600), (1352, 2000), (9998, 999_998)])
def test_what_matters_of_a_match_is_seen(
    monkeypatch: pytest.MonkeyPatch, width: int, test: Sprt | None, games: int, of: int
) -> None:
    line = shown(monkeypatch, width, "arena", progress_notes(match(games, of, test)))
    assert len(line) <= width
    assert "…" not in line
    assert re.search(rf"\b{games:,}( of |/){of:,}\b", line)
    assert re.search(r"Elo [+-]\d+ \[[+-]\d+, [+-]\d+\]", line)
    assert re.search(r" 0:00:\d\d *$", line)
    assert bool(re.search(r"LLR -?\d+\.\d\d \(-6\.91 to 6\.91\)", line)) == (test is not None)
    if width >= 120 or (width >= 100 and of < 10_000):
        assert "(+" in line  # games won, drawn and lost
        assert " % " in line
    if width == 200:
        assert line.startswith("arena ━")
        assert re.search(r" % \[\d+\.\d, \d+\.\d\] \(\+", line)


def test_a_bar_gives_way_to_what_stands_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = (100, 60, 40, 30, 20)
    lines = {width: shown(monkeypatch, width, "[a].epd", "12 positions").rstrip() for width in widths}
    bars = {width: line.count("━") + line.count("╸") + line.count("╺") for width, line in lines.items()}
    assert bars == {100: 40, 60: 31, 40: 11, 30: 0, 20: 0}
    assert all(line.startswith("[a].epd ") for width, line in lines.items() if width >= 30)
    assert all(line.endswith("12 positions 0:00:00") for line in lines.values())


def test_the_clock_and_the_shortest_note_have_the_last_word() -> None:
    assert fit(20, "arena", ["1 of 2 games and more", "1/2"], 7) == ("arena", 0, "1/2")
    assert fit(12, "arena", ["1 of 2 games and more", "1/2"], 7) == ("", 0, "1/2")
    assert fit(5, "arena", ["1 of 2 games and more", "1/2"], 7) == ("", 0, "1/2")
    assert fit(30, "arena", [""], 7) == ("arena", 16, "")


TEXT = "Ended by: checkmate (215), threefold repetition (43) [bold]and[/bold] :bomb: in runs/" + 70 * "x"


def test_lines_break_between_words_in_a_terminal_only() -> None:
    terminal, file = Terminal(), io.StringIO()
    say(Console(file=terminal, width=40, color_system=None, legacy_windows=False), TEXT)
    say(Console(file=file, width=40), TEXT)
    assert file.getvalue() == f"{TEXT}\n"
    lines = terminal.getvalue().splitlines()
    assert " ".join(line.rstrip() for line in lines) == TEXT
    assert [len(line.rstrip()) <= 40 for line in lines] == [True, True, True, False]  # a path can be copied
