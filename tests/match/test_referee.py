"""The referee: clocks, legality, ends by rule and by score, and how a game is written down. The engines are scripts."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from typing import cast

import chess.pgn
import pytest

from selfmate import Game, Position, SelfmateError
from selfmate.match.referee import ScoreRule, Table, Terms, Turn, play_game
from selfmate.match.uci_client import Engine, EngineError, Fault
from selfmate.match.uci_parse import Score, Thought
from selfmate.search.limit import Clock, Limit

NODES = Limit(nodes=10)
CLOCK = Limit(clock=Clock(1.0, 0.1))
DANCE = ("g1f3", "g8f6", "f3g1", "f6g8")


class Script:
    """An engine that reads its answers from a list: moves, with the seconds they take and the score, or errors."""

    def __init__(
        self, *answers: str | EngineError, seconds: float = 0.01, score: Score | None = None, late: bool = False
    ) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.score = score
        self.late = late
        self.heard: list[tuple[str | None, list[str], str, float]] = []

    def new_game(self) -> None:
        """Forget nothing."""

    def think(self, fen: str | None, moves: Sequence[str], go: str, *, seconds: float) -> Thought:
        """Give the next answer."""
        self.heard.append((fen, list(moves), go, seconds))
        answer = self.answers.pop(0) if self.answers else DANCE[len(moves) % 4]
        if isinstance(answer, EngineError):
            raise answer
        return Thought(move=answer, seconds=self.seconds, score=self.score, depth=5, late=self.late)


def play(
    white: Script,
    black: Script,
    *,
    variant: str = "chess",
    fen: str | None = None,
    limit: Limit = NODES,
    terms: Terms | None = None,
) -> Table:
    table = Table(7, variant, fen, (limit, limit), terms)
    play_game(table, (cast(Engine, white), cast(Engine, black)))
    return table


# -- ends by the rules ------------------------------------------------------------------------------------------------


def test_repetition_is_claimed() -> None:
    table = play(Script(), Script())
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.reason, len(table.moves)) == ("1/2-1/2", "threefold repetition", 8)
    assert table.verdict.termination == "normal"


def test_mate_and_what_the_engines_hear() -> None:
    white, black = Script("f2f3", "g2g4"), Script("e7e5", "d8h4")
    table = play(white, black)
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.reason) == ("0-1", "checkmate")
    assert [heard[:3] for heard in black.heard] == [
        (None, ["f2f3"], "go nodes 10"),
        (None, ["f2f3", "e7e5", "g2g4"], "go nodes 10"),
    ]


@pytest.mark.parametrize(
    ("variant", "castling"),
    [("chess", "e1g1"), ("chess960", "e1h1")],
)
def test_castling_is_passed_on_as_the_variant_has_it(variant: str, castling: str) -> None:
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    for answer in ("e1g1", "e1h1"):
        black = Script("a8a1")
        table = play(Script(answer, "g1g2"), black, variant=variant, fen=fen, terms=Terms(max_plies=3))
        assert table.moves[0] == castling
        assert black.heard[0][:2] == (fen, [castling])


def test_gardner_is_refereed_too() -> None:
    start = "4k/4P/4K/5/5 b - - 0 1"
    table = Table(0, "gardner", start, (NODES, NODES))
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.reason) == ("1/2-1/2", "stalemate")
    table = play(Script("a2a3", "a3b4"), Script("b4a3"), variant="gardner", terms=Terms(max_plies=3))
    assert table.verdict is not None
    assert table.verdict.fault is Fault.ILLEGAL_MOVE  # there is no pawn on a3 any more


def test_a_game_is_cut_off() -> None:
    table = play(Script(), Script(), terms=Terms(max_plies=5))
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.reason) == ("1/2-1/2", "cut off after 5 plies")
    assert (table.verdict.termination, table.verdict.kind) == ("adjudication", "cut off")


# -- forfeits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["e2e5", "", "(none)", "0000", "e2e4e5", "é"])
def test_an_illegal_move_forfeits(answer: str) -> None:
    table = play(Script("g1f3", answer), Script())
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.fault) == ("0-1", Fault.ILLEGAL_MOVE)
    assert table.verdict.reason.startswith(f"White forfeits: illegal move ({answer!r} in rnbqkb1r/")
    assert table.moves == ["g1f3", "g8f6"]


def test_who_fails_forfeits() -> None:
    table = play(Script(), Script("g8f6", EngineError("Fish was ended by signal 11", fault=Fault.CRASH)))
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.fault, table.verdict.termination) == ("1-0", Fault.CRASH, "abandoned")
    assert table.verdict.reason == "Black forfeits: crash (Fish was ended by signal 11)"


class Dead(Script):
    """An engine that is gone before the game."""

    def new_game(self) -> None:
        """Fail."""
        raise EngineError("gone", fault=Fault.HANG)


def test_who_fails_before_the_game_forfeits_it() -> None:
    for table, result in ((play(Dead(), Script()), "0-1"), (play(Script(), Dead()), "1-0")):
        assert table.verdict is not None
        assert (table.verdict.result, table.verdict.fault, table.moves) == (result, Fault.HANG, [])


# -- time -------------------------------------------------------------------------------------------------------------


def test_clocks_run_down_and_get_their_increment() -> None:
    white, black = Script(seconds=0.25), Script(seconds=0.05)
    table = play(white, black, limit=CLOCK, terms=Terms(max_plies=4))
    assert table.clocks == pytest.approx([0.7, 1.1])
    assert white.heard[1][2] == "go wtime 850 btime 1050 winc 100 binc 100"
    assert white.heard[1][3] == pytest.approx(0.9)
    assert [turn.clock for turn in table.turns] == pytest.approx([0.85, 1.05, 0.7, 1.1])


def test_the_margin_is_not_exceeded() -> None:
    table = play(Script(seconds=1.04), Script(seconds=0.001), limit=CLOCK, terms=Terms(max_plies=2, margin=0.05))
    assert table.verdict is not None
    assert table.verdict.fault is None
    assert table.clocks[0] == pytest.approx(0.1)
    table = play(Script(seconds=1.06), Script(), limit=CLOCK, terms=Terms(margin=0.05))
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.fault) == ("0-1", Fault.TIME_LOSS)
    assert table.verdict.termination == "time forfeit"
    assert table.verdict.reason == "White forfeits: time loss (1.060 s for a move of at most 1.000 s)"


def test_a_time_for_each_move() -> None:
    black = Script(seconds=0.2)
    table = play(Script(seconds=0.1), black, limit=Limit(seconds=0.1), terms=Terms(move_margin=0.05))
    assert table.verdict is not None
    assert (table.verdict.result, table.verdict.fault) == ("1-0", Fault.TIME_LOSS)
    assert black.heard[0][2] == "go movetime 100"
    assert black.heard[0][3] == pytest.approx(0.15)


def test_a_move_without_a_clock_may_take_its_time_until_patience_ends() -> None:
    white = Script(seconds=50.0)
    table = play(white, Script(), terms=Terms(max_plies=2, patience=60.0))
    assert white.heard[0][3] == 60.0
    assert table.verdict is not None
    assert table.verdict.fault is None
    table = play(Script(late=True), Script(), terms=Terms(patience=60.0))
    assert table.verdict is not None
    assert table.verdict.fault is Fault.HANG


def test_a_side_without_a_clock_beside_one_with() -> None:
    white, black = Script(seconds=0.5), Script(seconds=0.5)
    table = Table(0, "chess", None, (NODES, CLOCK), Terms(max_plies=4))
    play_game(table, (cast(Engine, white), cast(Engine, black)))
    assert white.heard[1][2] == "go nodes 10"
    assert black.heard[1][2] == "go wtime 600 btime 600 winc 100 binc 100"


# -- ends by score ----------------------------------------------------------------------------------------------------


def test_nobody_resigns_unless_asked_to() -> None:
    table = play(Script(score=Score(cp=900)), Script(score=Score(cp=-900)))
    assert table.verdict is not None
    assert table.verdict.reason == "threefold repetition"


@pytest.mark.parametrize(
    ("terms", "scores", "result", "plies"),
    [
        (Terms(resign=ScoreRule(600, 2)), (Score(cp=0), Score(cp=-600)), "1-0", 4),
        (Terms(resign=ScoreRule(600, 2)), (Score(mate=-3), Score(cp=0)), "0-1", 3),
        (Terms(resign=ScoreRule(600, 2, after=3)), (Score(mate=-3), None), "0-1", 5),
        (Terms(resign=ScoreRule(600, 2)), (Score(cp=-599), Score(cp=-599)), None, 8),
        (Terms(win=ScoreRule(600, 2)), (Score(cp=700), Score(cp=-700)), "1-0", 4),
        (Terms(win=ScoreRule(600, 2)), (Score(cp=700), Score(cp=-500)), None, 8),
        (Terms(win=ScoreRule(600, 2)), (Score(cp=-700), Score(mate=4)), "0-1", 4),
        (Terms(draw=ScoreRule(10, 2)), (Score(cp=10), Score(cp=-10)), "1/2-1/2", 4),
        (Terms(draw=ScoreRule(10, 2, after=4)), (Score(cp=1), Score(cp=1)), "1/2-1/2", 7),
        (Terms(draw=ScoreRule(10, 2)), (Score(cp=10), None), None, 8),
        (Terms(draw=ScoreRule(10, 2)), (Score(cp=11), Score(cp=0)), None, 8),
    ],
)
def test_ends_by_score(terms: Terms, scores: tuple[Score | None, Score | None], result: str | None, plies: int) -> None:
    table = play(Script(score=scores[0]), Script(score=scores[1]), terms=terms)
    assert table.verdict is not None
    assert len(table.moves) == plies
    assert table.verdict.termination == ("normal" if result is None else "adjudication")
    assert table.verdict.result == (result or "1/2-1/2")


def test_scores_belong_to_the_side_also_when_black_begins() -> None:
    fen = "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq - 3 2"
    white, black = Script("f3g1", "g1f3", score=Score(cp=0)), Script("f6g8", "g8f6", score=Score(cp=-700))
    table = play(white, black, fen=fen, terms=Terms(resign=ScoreRule(600, 2)))
    assert table.verdict is not None
    assert (table.verdict.result, len(table.moves)) == ("1-0", 3)


@pytest.mark.parametrize("text", ["600", "a,b", "600,0", "1,2,3,4", "-5,3", "99999999,1"])
def test_score_rules_that_cannot_be(text: str) -> None:
    with pytest.raises(SelfmateError, match="--resign"):
        ScoreRule.read(text, "resign")


# -- PGN --------------------------------------------------------------------------------------------------------------


def test_the_game_is_written_with_clocks_and_evaluations() -> None:
    white, black = Script("f2f3", "g2g4", score=Score(cp=-150)), Script("e7e5", "d8h4", score=Score(mate=1))
    table = play(white, black, limit=CLOCK)
    text = str(table.finished().game(("A", "B {odd}"), "a match"))
    game = Game.from_pgn(text)
    tags = {name: game.headers[name] for name in ("Event", "Round", "White", "Black", "Result", "Termination")}
    assert tags == {
        "Event": "a match",
        "Round": "7",
        "White": "A",
        "Black": "B {odd}",
        "Result": "0-1",
        "Termination": "normal",
    }
    assert game.headers["TimeControl"] == "1+0.1"
    assert game.headers["Date"] == date.today().strftime("%Y.%m.%d")
    assert [node.comment for node in game.mainline()] == [
        "-1.50/5 0.010s [%eval -1.50] [%clk 0:00:01.0]",
        "+M1/5 0.010s [%eval #-1] [%clk 0:00:01.0]",
        "-1.50/5 0.010s [%eval -1.50] [%clk 0:00:01.1]",
        "+M1/5 0.010s [%eval #-1] [%clk 0:00:01.1]; checkmate",
    ]


def test_python_chess_reads_our_clocks_and_evaluations() -> None:
    table = play(Script(score=Score(cp=31)), Script(score=Score(cp=-31)), limit=CLOCK)
    game = chess.pgn.read_game(io.StringIO(str(table.finished().game(("A", "B"), "a match"))))
    assert game is not None
    assert not game.errors
    for node, turn in zip(game.mainline(), table.turns, strict=True):
        found, clock = node.eval(), node.clock()
        assert found is not None
        assert found.white() == chess.engine.Cp(31)
        assert clock is not None
        assert turn.clock is not None
        assert 0 <= turn.clock - clock < 0.1


def test_a_forfeit_before_the_first_move_is_written_too() -> None:
    error = EngineError("Fish closed its output: {odd} text", fault=Fault.DISCONNECT)
    table = play(Script(error), Script(), fen="4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    game = Game.from_pgn(str(table.finished().game(("A", "B"), "a match")))
    assert (game.result, game.headers["Fault"], game.headers["Termination"]) == ("0-1", "disconnect", "abandoned")
    assert game.comment == "White forfeits: disconnect (Fish closed its output: {odd} text)"
    assert game.start == Position("chess", "4k3/8/8/8/8/8/8/4K2R w K - 0 1")


def test_what_is_not_known_is_not_written() -> None:
    assert Turn().comment(white=True) == ""
    assert Turn(score=Score(cp=5)).comment(white=True) == "+0.05 [%eval 0.05]"
    assert Turn(seconds=1.5, clock=3725.06).comment(white=True) == "1.500s [%clk 1:02:05.0]"
