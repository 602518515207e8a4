"""Games of `selfmate analyse`: marks that hold, annotated PGN, graphs, the JSON schema, files of any size and state."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import chess.pgn
import msgspec
import pytest

from command import Run
from selfmate import Game, Move, Position, read_games
from selfmate._core import Nnue
from selfmate.app import marks
from selfmate.app.accuracy import GameSummary, graph
from selfmate.app.analysis_input import _Stream, read_input
from selfmate.app.analysis_json import GameMoveRecord, PositionRecord, json_schema
from selfmate.app.annotate import AnnotatedFile, annotate_move
from selfmate.app.judge import _judge_of, analyse_game
from selfmate.app.marks import AlphaBeta, MoveCheck, Searcher, _after, is_endgame, mark_of
from selfmate.errors import SelfmateError
from selfmate.nn import shipped as nets
from selfmate.nn.nnue import find_nnue
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.util.files import FileError
from selfmate.util.text_lines import numbered_lines

ROOT = Path(__file__).parents[2]
FOOLS_MATE = '[White "Fool"]\n[Black "Scholar"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
HANGS_A_QUEEN = "1. e4 e5 2. Nf3 Nc6 3. Bc4 Qg5 4. d3 *"
GARDNER = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"


@pytest.fixture(autouse=True)
def _few_visits_of_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "JUDGE_VISITS", 32)
    monkeypatch.setattr(marks, "CHECK_NODES", (50_000, 100_000))


@pytest.fixture
def fools_mate(tmp_path: Path) -> Path:
    path = tmp_path / "game.pgn"
    path.write_text(FOOLS_MATE, encoding="ascii")
    return path


# -- marks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("visits", [5, 30, 100])
def test_few_visits_mark_no_opening_moves(visits: int) -> None:
    game = Game.from_pgn("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O *")
    assert {each.mark for each in analyse_game(Player("heuristic-1"), game, Limit(visits=visits))} == {""}


def test_a_hanging_queen_is_marked_with_the_side_that_hangs_it() -> None:
    judged = list(analyse_game(Player("heuristic-1"), Game.from_pgn(HANGS_A_QUEEN), Limit(visits=2000)))
    assert [each.mark for each in judged][5:] == ["??", "??"]  # Qg5 hangs the queen, d3 does not take it
    assert [each.by_white for each in judged][5:] == [False, True]
    assert judged[5].value < -0.3 < 0.3 < judged[5].white_value
    assert judged[6].value == judged[6].white_value
    assert judged[6].before.position.san(judged[6].better[0]) == "Nxg5"


@pytest.fixture
def queen_game() -> tuple[Position, Move, Move]:
    """A position, a good move, and one that hangs the queen."""
    before = Position()
    for move in ("e2e4", "e7e5", "g1f3", "b8c6", "f1c4"):
        before.play(move)
    return before, before.parse_san("d6"), before.parse_san("Qg5")


class FakeSearch(AlphaBeta):
    """Scores in centipawns for the side that moves, of the move that was played and of the better one, by search."""

    def __init__(self, before: Position, played: Move, better: list[int], worse: list[int], net: Nnue | None) -> None:
        super().__init__(net)
        self._fen, self._turn, self._played = before.fen(), before.turn, _after(before, played).fen()
        self._better, self._worse = better, worse
        self.plain = (0, -430)
        self.searched: list[int] = []

    def best(self, position: Position, nodes: int) -> Move:
        """Return the first move but the one that was played."""
        moves = [each for each in position.legal_moves if _after(position, each).fen() != self._played]
        return moves[0]

    def score(self, position: Position, nodes: int) -> int:
        """Return the score of the search with so many nodes; the first is that of the screening."""
        step = (marks.SCREEN_NODES, *marks.CHECK_NODES).index(nodes)
        self.searched.append(step)
        score = (self._worse if position.fen() == self._played else self._better)[step]
        return score if position.turn == self._turn else -score

    def plain_score(self, position: Position, nodes: int) -> int:
        """Return the score by the other evaluation."""
        assert nodes == marks.CHECK_NODES[-1]
        score = self.plain[position.fen() == self._played]
        return score if position.turn == self._turn else -score


NET: Nnue | None = find_nnue(nets.named("chess-gpu") or Path())


def confirm(
    game: tuple[Position, Move, Move],
    better: list[int],
    worse: list[int],
    *,
    judge: tuple[float, float] = (0.0, -0.3),
    plain: tuple[int, int] = (0, -430),
    net: Nnue | None = NET,
    refuted: bool = False,
) -> marks.Confirmation:
    """Return what is confirmed if the searches see these scores, and the judge these values after both moves."""
    before, _, played = game
    search = FakeSearch(before, played, better, worse, net)
    search.plain = plain
    check = MoveCheck(lambda: (Searcher(Player("heuristic-1")), 1), search)

    def value(position: Position, before: Position) -> float:
        return judge[position.fen() == _after(before, played).fen()]

    check._value = value  # type: ignore[method-assign]
    return check.confirm(before, played, refuted=refuted)


def test_the_loss_is_the_mean_of_three(queen_game: tuple[Position, Move, Move]) -> None:
    assert NET is not None
    found = confirm(queen_game, [0, 0, 50], [-300, -300, -200], judge=(0.1, -0.2), plain=(100, -400))
    values = [math.tanh(score / (2 * NET.scale)) for score in (0, -300, 50, -200)]
    assert found.alpha_beta == pytest.approx((values[0] - values[1], values[2] - values[3]))
    assert found.plain == pytest.approx(0.2 + 0.5)
    assert found.judge == pytest.approx(0.3)
    assert found.loss == pytest.approx((found.alpha_beta[1] + 0.7 + 0.3) / 3)
    assert found.mark == "??"
    assert [mark_of(least) for least, _ in marks.MARKS] == [mark for _, mark in marks.MARKS]
    assert [mark_of(least - 0.001) for least, _ in marks.MARKS] == ["?", "?!", ""]


@pytest.mark.parametrize(
    ("better", "worse", "plain", "judge", "mark"),
    [
        ([0, 0, 0], [-79, -900, -900], (0, -900), (0.0, -0.9), ""),  # the short search sees too little
        ([0, 0, 0], [-900, -90, -900], (0, -900), (0.0, -0.9), ""),  # the first long one, 0.197
        ([0, 0, 0], [-900, -900, -90], (0, -900), (0.0, -0.9), ""),  # the second
        ([0, 0, 0], [-900, -95, -95], (0, -900), (0.0, -0.9), "??"),  # 0.21
        ([-790] * 3, [-1000, -1260, -1260], (0, -380), (0.0, -0.9), ""),  # 0.06: an overwhelming lead alone is no loss
        ([0, 0, 0], [-200, -200, -200], (0, -100), (0.0, -0.22), "?!"),  # 0.42, 0.2 and 0.22
        ([0, 0, 0], [-200, -200, -200], (0, -100), (0.0, -0.15), ""),  # the judge sees too little
        ([0, 0, 0], [-200, -200, -200], (0, -60), (0.0, -0.22), ""),  # the plain evaluation
        ([0, 0, 0], [-900, -900, -900], (0, -100), (0.0, -0.15), ""),  # 0.96 counts as 0.35, as much as both others
        ([0, 0, 0], [-900, -900, -900], (0, -100), (0.0, -0.22), "?!"),  # as 0.42
        ([0, 0, 0], [-200, -200, -200], (0, -400), (0.0, 0.08), "?!"),  # the judge prefers the move, the others do not
        ([0, 0, 0], [-200, -200, -200], (0, -400), (0.0, 0.2), ""),
        ([900, 900, 900], [500, 500, 500], (900, 500), (0.9, 0.8), ""),  # four pawns of nine hardly change the value
        ([200, 999_990, 999_990], [50, 50, 50], (999_990, 100), (0.9, 0.1), "??"),  # a mate is missed
    ],
)
def test_every_search_can_prevent_a_mark(
    queen_game: tuple[Position, Move, Move],
    better: list[int],
    worse: list[int],
    plain: tuple[int, int],
    judge: tuple[float, float],
    mark: str,
) -> None:
    found = confirm(queen_game, better, worse, judge=judge, plain=plain)
    assert found.mark == mark
    assert bool(found.line) == bool(mark)


@pytest.mark.parametrize(
    ("better", "worse", "mark"),
    [
        ([-590] * 3, [-900, -999_990, -999_990], "?!"),  # needs no judge
        ([-610] * 3, [-900, -999_990, -999_990], ""),  # the game was lost before
        ([-590, -590, -999_980], [-900, -999_990, -999_990], ""),  # there is no better move
        ([-590] * 3, [-900, -999_990, -900], ""),  # the longer search sees no mate
        ([0] * 3, [-900, -999_990, -999_990], "??"),
    ],
)
def test_a_mate_is_marked_if_the_game_was_not_lost(
    queen_game: tuple[Position, Move, Move], better: list[int], worse: list[int], mark: str
) -> None:
    found = confirm(queen_game, better, worse, judge=(-0.9, -0.5), plain=(-900, -900))
    assert found.mark == mark


@pytest.mark.parametrize(
    ("better", "worse", "plain", "mark"),
    [
        ([-800, -990, -990], [-1200, -1260, -1260], (-650, -1110), "?!"),  # a lead becomes an overwhelming one
        ([1200, 1260, 1260], [800, 990, 990], (1110, 650), "?!"),  # which is given away
        ([-800, -990, -990], [-1200, -1260, -999_990], (-650, -1110), "?!"),
        ([-800, -990, -990], [-1200, -1240, -1260], (-650, -1110), ""),  # the first search sees too little
        ([-800, -990, -990], [-1200, -1260, -1240], (-650, -1110), ""),  # the second
        ([-800, -1010, -990], [-1200, -1260, -1260], (-650, -1110), ""),  # the lead was overwhelming before
        ([1200, 1260, 1260], [800, 990, 1010], (1110, 650), ""),
        ([-800, -990, -990], [-1200, -1260, -1260], (-720, -1110), ""),  # less than four pawns by the plain evaluation
        ([-800, -990, -990], [-1200, -1260, -1260], (-500, -1090), ""),  # no lead of eleven pawns
        ([-800, -990, -990], [-1200, -1260, -1260], (-1090, -1550), "?!"),
        ([-800, -990, -990], [-1200, -1260, -1260], (-1110, -1550), ""),  # it was there before
    ],
)
def test_an_overwhelming_lead_in_a_decided_game(
    queen_game: tuple[Position, Move, Move],
    better: list[int],
    worse: list[int],
    plain: tuple[int, int],
    mark: str,
) -> None:
    assert confirm(queen_game, better, worse, judge=(-0.9, -0.8), plain=plain).mark == mark
    assert confirm(queen_game, better, worse, judge=(-0.9, -0.8), plain=plain, net=None).mark == ""


def test_no_search_is_longer_than_needed(queen_game: tuple[Position, Move, Move]) -> None:
    before, _, played = queen_game
    for worse, most in (([-79, -900, -900], 0), ([-900, -90, -900], 1), ([-900, -900, -90], 2)):
        search = FakeSearch(before, played, [0, 0, 0], worse, NET)
        assert not MoveCheck(lambda: (Searcher(Player("heuristic-1")), 1), search).confirm(before, played).mark
        assert max(search.searched) == most


def test_an_endgame_needs_a_larger_loss() -> None:
    men = "rn2k3/ppp5/8/8/8/8/PPPP4/RN1QK{}2 w - - 0 1"  # 15 men, or 16 with a bishop
    for fen, endgame in ((men.format("B"), True), ("rnbqk3/pppp4/8/8/8/8/PPPPP3/RNBQKB2 w - - 0 1", False)):
        before = Position("chess", fen)
        played = list(before.legal_moves)[-1]
        assert is_endgame(before) == endgame
        game = (before, played, played)
        assert confirm(game, [0] * 3, [-150] * 3, plain=(0, -200), judge=(0.0, -0.3)).mark == ("" if endgame else "?!")
        assert confirm(game, [0] * 3, [-180] * 3, plain=(0, -200), judge=(0.0, -0.35)).mark == "?!"  # 0.355


def test_with_few_men_only_mates_are_marked() -> None:
    for men, few in (("4k3/ppp5/8/8/8/8/PPPP4/4KB2", True), ("4k3/ppp5/8/8/8/8/PPPP4/4KBN1", False)):
        before = Position("chess", f"{men} w - - 0 1")  # 10 men, or 11
        played = list(before.legal_moves)[-1]
        game = (before, played, played)
        assert confirm(game, [0] * 3, [-600] * 3, plain=(0, -600)).mark == ("" if few else "??")
        decided = confirm(game, [-790] * 3, [-1000, -1260, -1260], plain=(-650, -1110))
        assert decided.mark == ("" if few else "?!")
        assert confirm(game, [0] * 3, [-999_990] * 3).mark == "??"


def test_without_a_net_the_plain_evaluation_counts_twice(queen_game: tuple[Position, Move, Move]) -> None:
    found = confirm(queen_game, [0, 0, 0], [-400, -400, -400], plain=(0, -400), net=None)
    assert found.loss == pytest.approx((0.5 + 0.5 + 0.3) / 3)
    assert confirm(queen_game, [0, 0, 0], [-400, -400, -400], plain=(0, -400), net=None, judge=(0.0, 0.3)).mark == ""


def test_a_loss_that_the_player_has_proven_needs_no_search(
    queen_game: tuple[Position, Move, Move], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert confirm(queen_game, [-450, -450, -450], [-450, -450, -450], refuted=True).mark == "?!"
    assert confirm(queen_game, [-450, -450, -450], [-450, -450, -450]).mark == ""
    # 2. g4 allows a mate, 2... d6 does not give one.
    given: dict[str, bool] = {}

    def note(self: MoveCheck, before: Position, played: Move, *, refuted: bool) -> object:
        given[before.san(played)] = refuted
        return marks.Confirmation(0.0)

    monkeypatch.setattr(MoveCheck, "confirm", note)
    list(analyse_game(Player("heuristic-1"), Game.from_pgn("1. f3 e5 2. g4 d6 *"), Limit(visits=2000)))
    assert (given["g4"], given["d6"]) == (True, False)


def test_the_judge_sees_values_for_the_side_that_moves() -> None:
    check = MoveCheck(lambda: (Searcher(Player("heuristic-1")), 300), AlphaBeta(NET))
    for fen, move in (
        ("4k3/8/8/3q4/8/4N3/8/4K3 w - - 0 1", "e3d5"),  # takes the queen
        ("4k3/8/4n3/8/3Q4/8/8/4K3 b - - 0 1", "e6d4"),
    ):
        position = Position("chess", fen)
        king = "e1e2" if fen.split()[1] == "w" else "e8e7"
        took, missed = (check._value(_after(position, position.parse_uci(each)), position) for each in (move, king))
        assert took > missed + 0.2
        line = check._line(position, position.parse_uci(move))
        assert line[0].uci() == move
        for each in line:
            assert position.is_legal(each)
            position.play(each)
    mate = Position("chess", "7k/5Q2/6K1/8/8/8/8/8 w - - 0 1")
    assert check._line(mate, mate.parse_uci("f7g7")) == (mate.parse_uci("f7g7"),)


def test_a_short_search_of_a_position_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    search, searched = AlphaBeta(None), []

    def score(position: Position, nodes: int) -> int:
        searched.append(position.fen())
        return len(searched)

    monkeypatch.setattr(search, "score", score)
    position = Position()
    for move in ("e2e4", "e7e5", "g1f3"):
        before = search.screen(position)
        position.play(move)
        assert search.screen(position) == before + 1
    assert len(searched) == 4
    assert search.screen(Position()) == 5  # only the last two are kept


def test_the_judge_is_the_net(monkeypatch: pytest.MonkeyPatch) -> None:
    gardner = Searcher(Player("gardner-laptop"))
    assert _judge_of(gardner, "gardner", 10) == (gardner, marks.JUDGE_VISITS)
    assert _judge_of(gardner, "gardner", 5000) == (gardner, 5000)
    plain = Searcher(Player("heuristic-1"))
    judge, visits = _judge_of(plain, "gardner", 20_000)  # visits of another player say nothing about a net's
    assert (judge.has_net, visits) == (True, marks.JUDGE_VISITS)
    monkeypatch.setattr(nets, "net_of", lambda variant: None)  # as if there were none
    assert _judge_of(plain, "horde", 20) == (plain, marks.JUDGE_VISITS_WITHOUT_NET)


def test_a_search_of_the_searcher_is_that_of_the_player() -> None:
    player, limit = Player("heuristic-1"), Limit(visits=300)
    searcher = Searcher(player)
    for moves in ((), ("e2e4",), ("e2e4", "e7e5")):  # a tree of the position before must not be reused
        position = Position()
        for move in moves:
            position.play(move)
        assert searcher.search(position, limit).moves == player.search(position, limit).moves


def test_moves_after_the_end_by_the_rules_are_not_judged() -> None:
    game = Game("chess", "7k/8/8/8/8/8/8/K1R5 w - - 148 90")
    game.add_line(["c1c2", "h8g8", "c2c3"])
    judged = list(analyse_game(Player("heuristic-1"), game, Limit(visits=50)))
    assert len(judged) == 2
    assert (judged[-1].after, judged[-1].value) == (None, 0.0)


# -- annotated PGN --------------------------------------------------------------------------------


def test_annotated_games_are_read_by_others(run: Run, fools_mate: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pgn"
    code, _, err = run("analyse", fools_mate, "--net", "heuristic-1", "--visits", "500", "--annotate", out)
    assert (code, err) == (0, "")
    with out.open() as file:
        game = chess.pgn.read_game(file)
        assert game is not None
        assert chess.pgn.read_game(file) is None
    assert not game.errors
    assert game.headers["Annotator"].startswith("Selfmate ")
    assert game.headers["Annotator"].endswith("(heuristic-1, 500 visits)")
    assert float(game.headers["WhiteAccuracy"]) < 60 < 80 < float(game.headers["BlackAccuracy"])
    nodes = list(game.mainline())
    score = nodes[2].eval()
    assert score is not None
    assert score.white() == chess.engine.Mate(-1)
    assert nodes[2].nags == {chess.pgn.NAG_BLUNDER}
    assert nodes[2].comment.endswith(" was better.")
    assert nodes[3].eval() is None  # the game is over
    assert len(nodes[1].variations) == 2
    assert len(list(nodes[1].variations[1].mainline())) >= 1
    assert not nodes[3].nags


def test_evaluations_are_from_whites_view() -> None:
    for fen, move, sign in (
        ("4k3/8/8/8/8/8/PPPPPPPP/RNBQKBNR w KQ - 0 1", "e2e4", 1),
        ("4k3/8/8/8/8/8/PPPPPPPP/RNBQKBNR b KQ - 0 1", "e8e7", 1),
        ("rnbqkbnr/pppppppp/8/8/8/8/8/4K3 w kq - 0 1", "e1e2", -1),
        ("rnbqkbnr/pppppppp/8/8/8/8/8/4K3 b kq - 0 1", "e7e5", -1),
    ):
        game = Game("chess", fen)
        node = game.add_variation(move)
        (judged,) = analyse_game(Player("heuristic-1"), game, Limit(visits=100))
        annotate_move(node, judged)
        read = chess.pgn.read_game(io.StringIO(str(game)))
        assert read is not None
        score = read.end().eval()
        assert score is not None
        assert sign * score.white().score(mate_score=10_000) > 200


def test_annotations_that_were_there_stay() -> None:
    text = "1. f3 $5 { a plan [%eval 9.99] [%clk 0:01:00] } 1... e5 2. g4 $1 { hm } (2. e4) 2... Qh4# 0-1"
    game = Game.from_pgn(text)
    nodes = list(game.mainline())
    for node, judged in zip(nodes, analyse_game(Player("heuristic-1"), game, Limit(visits=500)), strict=True):
        annotate_move(node, judged)
    assert nodes[0].comment.count("[%eval") == 1
    assert "9.99" not in nodes[0].comment
    assert "a plan [%clk 0:01:00]" in nodes[0].comment
    assert nodes[0].nags == {5}
    assert nodes[2].nags == {4}
    assert nodes[2].comment.startswith("[%eval #-1] hm Blunder. ")
    assert [each.move.uci() for each in nodes[1].variations[:2]] == ["g2g4", "e2e4"]
    assert Game.from_pgn(str(game)) == game


def test_the_file_takes_complete_games_only(fools_mate: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.pgn"
    out.write_text("what was there")
    with pytest.raises(KeyboardInterrupt), AnnotatedFile(out):
        raise KeyboardInterrupt
    assert out.read_text() == "what was there"
    with contextlib.suppress(KeyboardInterrupt), AnnotatedFile(out) as file:
        file.write(Game.from_pgn(FOOLS_MATE))
        file.write(Game())
        raise KeyboardInterrupt
    assert out.read_text() == f"{Game.from_pgn(FOOLS_MATE)}\n\n{Game()}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game.pgn", "out.pgn"]


def test_bad_targets_are_one_line(run: Run, fools_mate: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.pgn"
    link.symlink_to(fools_mate)
    notes, both = tmp_path / "notes.txt", tmp_path / "both.svg"
    notes.write_text("mine")
    for arguments, message in (
        ([fools_mate, "--annotate", link], "link.pgn: this file is being read; choose another for --annotate"),
        ([fools_mate, "--annotate", tmp_path / "no" / "out.pgn"], "there is no such folder"),
        ([fools_mate, "--annotate", tmp_path], "a folder, not a file"),
        ([fools_mate, "--graph", tmp_path / "no" / "out.svg"], "there is no such folder"),
        ([fools_mate, "--graph", link], "link.pgn: this file is being read; choose another for --graph"),
        ([fools_mate, "--graph", notes], "notes.txt: --graph writes an SVG; the name of the file must end in .svg"),
        ([fools_mate, "--graph", tmp_path / "new.png"], "new.png: --graph writes an SVG; the name of the file must"),
        ([fools_mate, "--graph", both, "--annotate", both], "both.svg: --graph and --annotate name the same file"),
        (["--annotate", tmp_path / "out.pgn"], "--annotate needs games: a PGN file"),
        (["--graph", tmp_path / "out.svg"], "--graph needs games: a PGN file"),
    ):
        code, out, err = run("analyse", *arguments)
        assert (code, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert message in err
    assert (fools_mate.read_text(), notes.read_text()) == (FOOLS_MATE, "mine")
    assert not (tmp_path / "out.pgn").exists()
    assert not both.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
def test_a_full_disk_is_one_line(run: Run, fools_mate: Path) -> None:
    code, _, err = run("analyse", fools_mate, "--visits", "10", "--annotate", "/dev/full")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert f"/dev/full: {os.strerror(28)}" in err


def test_a_disk_that_fills_up_between_two_games_says_where_the_first_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.pgn"
    usage = shutil.disk_usage(tmp_path)
    message = f"1 game before this one will stand in {path}; free some space$"
    with AnnotatedFile(path) as file:
        file.write(Game.from_pgn(FOOLS_MATE))
        monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage._replace(free=1 << 20))
        with pytest.raises(FileError, match=message):
            file.write(Game.from_pgn(FOOLS_MATE))
    assert len(list(read_games(path))) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.pgn"]


# -- accuracy and graphs --------------------------------------------------------------------------


def test_graphs_of_games(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "games.pgn", tmp_path / "out.svg"
    path.write_text(FOOLS_MATE.replace("Fool", "A <b>") + "\n" + FOOLS_MATE, encoding="ascii")
    code, printed, err = run("analyse", path, "--visits", "100", "--graph", out)
    assert (code, err) == (0, "")
    assert sorted(each.name for each in tmp_path.glob("*.svg")) == ["out-2.svg", "out.svg"]
    texts = [element.text for element in ElementTree.parse(out).iter() if element.tag.endswith("text")]
    assert "Value for White: A <b> - Scholar" in texts
    assert any(text and text.startswith("White ") for text in texts)
    # All games of a player together
    totals = printed[printed.index("All games:") :].splitlines()[1:]
    assert totals[0].startswith("Scholar: 4 moves, accuracy ")
    assert totals[1].endswith("1 blunder")
    assert len(totals) == 3


def test_a_graph_has_each_player_at_its_moves() -> None:
    summary = GameSummary(1, "W", "B")
    summary.add(white=False, number=7, white_value=-0.5, accuracy=40.0, mark="")
    summary.add(white=True, number=8, white_value=0.5, accuracy=90.0, mark="?")
    assert summary.values == [(7.5, -0.5), (8, 0.5)]
    assert (summary.white.accuracy, summary.black.accuracy) == (90.0, 40.0)
    assert (summary.white.marks["?"], summary.black.marks["?"]) == (1, 0)
    picture = graph(summary)
    assert "White 90.0 %" in picture
    assert "Black 40.0 %" in picture


# -- JSON -----------------------------------------------------------------------------------------


def test_the_schema_is_the_documented_one() -> None:
    assert json.loads((ROOT / "docs" / "analysis.schema.json").read_text()) == json_schema()


def test_json_is_of_the_schema(run: Run, fools_mate: Path, tmp_path: Path) -> None:
    epd = tmp_path / "a.epd"
    epd.write_text('4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; am Kd1; id "one";\n', encoding="ascii")
    schema = json_schema()["$defs"]
    for path, kind in ((epd, PositionRecord), (fools_mate, GameMoveRecord)):
        code, out, _ = run("analyse", path, "--visits", "100", "--json")
        assert code == 0
        for line in out.splitlines():
            record = msgspec.json.decode(line, type=kind)  # types and ranges are checked
            assert json.loads(msgspec.json.encode(record)) == json.loads(line)
            required, known = schema[kind.__name__]["required"], schema[kind.__name__]["properties"]
            assert set(required) <= set(json.loads(line)) <= set(known)
    summary = json.loads(out.splitlines()[-1])["summary"]
    assert (summary["white"]["name"], summary["black"]["name"]) == ("Fool", "Scholar")
    assert (summary["white"]["blunders"], summary["black"]["blunders"]) == (1, 0)
    assert summary["white"]["accuracy"] < summary["black"]["accuracy"]
    assert [("summary" in json.loads(line)) for line in out.splitlines()] == [False, False, False, True]


# -- input ----------------------------------------------------------------------------------------


def test_a_bad_game_does_not_end_a_file(run: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "games.pgn", tmp_path / "out.pgn"
    bad = '[White "Bad"]\n\n1. e4 e5 2. Ke3 *\n'
    none = '[White "Worse"]\n[FEN "what"]\n\n1. e4 *\n'
    path.write_text("\n".join((FOOLS_MATE, bad, none, FOOLS_MATE)), encoding="ascii")
    code, printed, err = run("analyse", path, "--net", "heuristic-1", "--visits", "20", "--annotate", out)
    assert code == 0
    assert len(err.splitlines()) == 2
    titles = [line for line in printed.splitlines() if "by heuristic-1" in line]
    assert [title[:2] for title in titles] == ["1.", "2.", "4."]  # with the moves before the mistake
    assert printed.count("Values from -1 (Black wins)") == 1
    assert len(out.read_text().split("[Event ")) == 4


def test_a_null_move_has_no_mark(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.pgn"
    path.write_text("1. e4 e5 2. Qh5 -- 3. Qxf7+ Kxf7 *", encoding="ascii")
    code, out, _ = run("analyse", path, "--json", "--annotate", tmp_path / "out.pgn")
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [each["played"]["san"] for each in found][3] == "--"
    assert [each["mark"] for each in found][3:] == ["", "??", ""]


def test_a_file_of_any_size_is_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    with path.open("wb") as file:
        file.write(f"{FOOLS_MATE}\n\n".encode())
        file.truncate(3 << 30)  # without taking space on the disk
    given = read_input(str(path), "chess")
    assert given.games is not None
    assert len(list(next(given.games()).mainline())) == 4


def test_standard_input_is_a_stream() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield from (f"{line}\n".encode() for line in FOOLS_MATE.splitlines())
            yield b"\n"

    lines = endless()

    class Endless(io.RawIOBase):
        def readline(self, size: int | None = -1) -> bytes:
            return next(lines)

    stream = _Stream(Endless())  # type: ignore[arg-type]
    assert next(stream.peek()) == '[White "Fool"]\n'
    assert [stream.readline(99) for _ in range(2)] == ['[White "Fool"]\n', '[Black "Scholar"]\n']


def test_lines_that_were_looked_at_are_read_again() -> None:
    text = "\n# a\n" + "x" * 40_000 + "\nend"
    for size in (10, 100, 20_000, 50_000):
        stream = _Stream(io.BytesIO(text.encode()))
        peeked = "".join(line for line, _ in zip(stream.peek(), range(3), strict=False))
        assert text.startswith(peeked)
        found = list(numbered_lines(stream, size))  # type: ignore[arg-type]
        assert found == list(numbered_lines(io.StringIO(text), size))


def test_standard_input_with_other_bytes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class Bytes:
        buffer = io.BytesIO('[White "Jos\xe9"]\n\n1. e4 *\n'.encode("latin-1"))

    monkeypatch.setattr("sys.stdin", Bytes())
    code, out, _ = run("analyse", "-", "--visits", "5")
    assert code == 0
    assert "1. José - ? * (chess" in out


def test_a_fen_of_another_variant_gets_a_hint(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.fen"
    path.write_text(f"{GARDNER}\n", encoding="ascii")
    for what in (GARDNER, str(path)):
        code, out, err = run("analyse", what)
        assert (code, out) == (2, "")
        assert err.endswith("; for gardner, add --variant gardner\n")
        assert run("analyse", what, "--variant", "gardner", "--visits", "5").code == 0
        assert "add --variant" not in run("analyse", what, "--variant", "atomic").err
    with pytest.raises(SelfmateError) as error:
        read_input("8/8/8/8/8/8/8/7x w - - 0 1", "chess")
    assert "--variant" not in str(error.value)


@pytest.mark.parametrize("text", ['[White "Anna"]\n\n*\n', "1. \x84xq {never closed", "{only\nwords} *"])
def test_games_without_a_move_are_one_line_and_no_file(text: str, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(text, "utf-8")
    code, out, err = run("analyse", path, "--visits", "5", "--net", "heuristic-1", "--annotate", tmp_path / "out.pgn")
    assert code == 2
    assert err.splitlines()[-1].startswith(f"selfmate: {path}: ")
    assert "All games" not in out
    assert sorted(each.name for each in tmp_path.iterdir()) == ["games.pgn"]
