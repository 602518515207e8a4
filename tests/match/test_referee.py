"""The referee: clocks, legality, ends by rule and by score, and how a game is written down. The engines are scripts."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import date
from typing import cast

import chess.pgn
import pytest

from selfmate import Game, Position, SelfmateError
from selfmate.match.referee import MoveInfo, RefereedGame, RefereeSettings, ScoreRule, play_game
from selfmate.match.uci_client import EngineError, Fault, UciClient
from selfmate.match.uci_parse import EngineMove, EngineScore
from selfmate.search.limit import Clock, Limit

NODES = Limit(nodes=10)
CLOCK = Limit(clock=Clock(1.0, 0.1))
DANCE = ("g1f3", "g8f6", "f3g1", "f6g8")


class Script:
    """An engine that reads its answers from a list: moves, with the seconds they take and the score, or errors."""

    def __init__(
        self, *answers: str | EngineError, seconds: float = 0.01, score: EngineScore | None = None, late: bool = False
    ) -> None:
        self.answers = list(answers)
        self.seconds = seconds
        self.score = score
        self.late = late
        self.heard: list[tuple[str | None, list[str], str, float]] = []

    def new_game(self) -> None:
        """Forget nothing."""

    def search(self, fen: str | None, moves: Sequence[str], go: str, *, seconds: float) -> EngineMove:
        """Give the next answer."""
        self.heard.append((fen, list(moves), go, seconds))
        answer = self.answers.pop(0) if self.answers else DANCE[len(moves) % 4]
        if isinstance(answer, EngineError):
            raise answer
        return EngineMove(move=answer, seconds=self.seconds, score=self.score, depth=5, late=self.late)


def play(
    white: Script,
    black: Script,
    *,
    variant: str = "chess",
    fen: str | None = None,
    limit: Limit = NODES,
    settings: RefereeSettings | None = None,
) -> RefereedGame:
    game = RefereedGame(7, variant, fen, (limit, limit), settings)
    play_game(game, (cast(UciClient, white), cast(UciClient, black)))
    return game


# -- ends by the rules ------------------------------------------------------------------------------------------------


def test_repetition_is_claimed() -> None:
    game = play(Script(), Script())
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.reason, len(game.moves)) == ("1/2-1/2", "threefold repetition", 8)
    assert game.verdict.termination == "normal"


def test_mate_and_what_the_engines_hear() -> None:
    white, black = Script("f2f3", "g2g4"), Script("e7e5", "d8h4")
    game = play(white, black)
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.reason) == ("0-1", "checkmate")
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
        game = play(Script(answer, "g1g2"), black, variant=variant, fen=fen, settings=RefereeSettings(max_plies=3))
        assert game.moves[0] == castling
        assert black.heard[0][:2] == (fen, [castling])


def test_gardner_is_refereed_too() -> None:
    start = "4k/4P/4K/5/5 b - - 0 1"
    game = RefereedGame(0, "gardner", start, (NODES, NODES))
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.reason) == ("1/2-1/2", "stalemate")
    game = play(Script("a2a3", "a3b4"), Script("b4a3"), variant="gardner", settings=RefereeSettings(max_plies=3))
    assert game.verdict is not None
    assert game.verdict.fault is Fault.ILLEGAL_MOVE  # there is no pawn on a3 any more


def test_a_game_is_cut_off() -> None:
    game = play(Script(), Script(), settings=RefereeSettings(max_plies=5))
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.reason) == ("1/2-1/2", "cut off after 5 plies")
    assert (game.verdict.termination, game.verdict.kind) == ("adjudication", "cut off")


# -- forfeits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["e2e5", "", "(none)", "0000", "e2e4e5", "é"])
def test_an_illegal_move_forfeits(answer: str) -> None:
    game = play(Script("g1f3", answer), Script())
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.fault) == ("0-1", Fault.ILLEGAL_MOVE)
    assert game.verdict.reason.startswith(f"White forfeits: illegal move ({answer!r} in rnbqkb1r/")
    assert game.moves == ["g1f3", "g8f6"]


def test_who_fails_forfeits() -> None:
    game = play(Script(), Script("g8f6", EngineError("Fish was ended by signal 11", fault=Fault.CRASH)))
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.fault, game.verdict.termination) == ("1-0", Fault.CRASH, "abandoned")
    assert game.verdict.reason == "Black forfeits: crash (Fish was ended by signal 11)"


class Dead(Script):
    """An engine that is gone before the game."""

    def new_game(self) -> None:
        """Fail."""
        raise EngineError("gone", fault=Fault.HANG)


def test_who_fails_before_the_game_forfeits_it() -> None:
    for game, result in ((play(Dead(), Script()), "0-1"), (play(Script(), Dead()), "1-0")):
        assert game.verdict is not None
        assert (game.verdict.result, game.verdict.fault, game.moves) == (result, Fault.HANG, [])


# -- time -------------------------------------------------------------------------------------------------------------


def test_clocks_run_down_and_get_their_increment() -> None:
    white, black = Script(seconds=0.25), Script(seconds=0.05)
    game = play(white, black, limit=CLOCK, settings=RefereeSettings(max_plies=4))
    assert game.clocks == pytest.approx([0.7, 1.1])
    assert white.heard[1][2] == "go wtime 850 btime 1050 winc 100 binc 100"
    assert white.heard[1][3] == pytest.approx(0.9)
    assert [info.clock for info in game.infos] == pytest.approx([0.85, 1.05, 0.7, 1.1])


def test_the_margin_is_not_exceeded() -> None:
    game = play(
        Script(seconds=1.04), Script(seconds=0.001), limit=CLOCK, settings=RefereeSettings(max_plies=2, margin=0.05)
    )
    assert game.verdict is not None
    assert game.verdict.fault is None
    assert game.clocks[0] == pytest.approx(0.1)
    game = play(Script(seconds=1.06), Script(), limit=CLOCK, settings=RefereeSettings(margin=0.05))
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.fault) == ("0-1", Fault.TIME_LOSS)
    assert game.verdict.termination == "time forfeit"
    assert game.verdict.reason == "White forfeits: time loss (1.060 s for a move of at most 1.000 s)"


def test_a_time_for_each_move() -> None:
    black = Script(seconds=0.2)
    game = play(Script(seconds=0.1), black, limit=Limit(seconds=0.1), settings=RefereeSettings(move_margin=0.05))
    assert game.verdict is not None
    assert (game.verdict.result, game.verdict.fault) == ("1-0", Fault.TIME_LOSS)
    assert black.heard[0][2] == "go movetime 100"
    assert black.heard[0][3] == pytest.approx(0.15)


def test_a_move_without_a_clock_may_take_its_time_until_patience_ends() -> None:
    white = Script(seconds=50.0)
    game = play(white, Script(), settings=RefereeSettings(max_plies=2, patience=60.0))
    assert white.heard[0][3] == 60.0
    assert game.verdict is not None
    assert game.verdict.fault is None
    game = play(Script(late=True), Script(), settings=RefereeSettings(patience=60.0))
    assert game.verdict is not None
    assert game.verdict.fault is Fault.HANG


def test_a_side_without_a_clock_beside_one_with() -> None:
    white, black = Script(seconds=0.5), Script(seconds=0.5)
    game = RefereedGame(0, "chess", None, (NODES, CLOCK), RefereeSettings(max_plies=4))
    play_game(game, (cast(UciClient, white), cast(UciClient, black)))
    assert white.heard[1][2] == "go nodes 10"
    assert black.heard[1][2] == "go wtime 600 btime 600 winc 100 binc 100"


# -- ends by score ----------------------------------------------------------------------------------------------------


def test_nobody_resigns_unless_asked_to() -> None:
    game = play(Script(score=EngineScore(cp=900)), Script(score=EngineScore(cp=-900)))
    assert game.verdict is not None
    assert game.verdict.reason == "threefold repetition"


@pytest.mark.parametrize(
    ("settings", "scores", "result", "plies"),
    [
        (RefereeSettings(resign=ScoreRule(600, 2)), (EngineScore(cp=0), EngineScore(cp=-600)), "1-0", 4),
        (RefereeSettings(resign=ScoreRule(600, 2)), (EngineScore(mate=-3), EngineScore(cp=0)), "0-1", 3),
        (RefereeSettings(resign=ScoreRule(600, 2, after=3)), (EngineScore(mate=-3), None), "0-1", 5),
        (RefereeSettings(resign=ScoreRule(600, 2)), (EngineScore(cp=-599), EngineScore(cp=-599)), None, 8),
        (RefereeSettings(win=ScoreRule(600, 2)), (EngineScore(cp=700), EngineScore(cp=-700)), "1-0", 4),
        (RefereeSettings(win=ScoreRule(600, 2)), (EngineScore(cp=700), EngineScore(cp=-500)), None, 8),
        (RefereeSettings(win=ScoreRule(600, 2)), (EngineScore(cp=-700), EngineScore(mate=4)), "0-1", 4),
        (RefereeSettings(draw=ScoreRule(10, 2)), (EngineScore(cp=10), EngineScore(cp=-10)), "1/2-1/2", 4),
        (RefereeSettings(draw=ScoreRule(10, 2, after=4)), (EngineScore(cp=1), EngineScore(cp=1)), "1/2-1/2", 7),
        (RefereeSettings(draw=ScoreRule(10, 2)), (EngineScore(cp=10), None), None, 8),
        (RefereeSettings(draw=ScoreRule(10, 2)), (EngineScore(cp=11), EngineScore(cp=0)), None, 8),
    ],
)
def test_ends_by_score(
    settings: RefereeSettings, scores: tuple[EngineScore | None, EngineScore | None], result: str | None, plies: int
) -> None:
    game = play(Script(score=scores[0]), Script(score=scores[1]), settings=settings)
    assert game.verdict is not None
    assert len(game.moves) == plies
    assert game.verdict.termination == ("normal" if result is None else "adjudication")
    assert game.verdict.result == (result or "1/2-1/2")


def test_scores_belong_to_the_side_also_when_black_begins() -> None:
    fen = "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq - 3 2"
    white, black = Script("f3g1", "g1f3", score=EngineScore(cp=0)), Script("f6g8", "g8f6", score=EngineScore(cp=-700))
    game = play(white, black, fen=fen, settings=RefereeSettings(resign=ScoreRule(600, 2)))
    assert game.verdict is not None
    assert (game.verdict.result, len(game.moves)) == ("1-0", 3)


@pytest.mark.parametrize("text", ["600", "a,b", "600,0", "1,2,3,4", "-5,3", "99999999,1"])
def test_score_rules_that_cannot_be(text: str) -> None:
    with pytest.raises(SelfmateError, match="--resign"):
        ScoreRule.read(text, "resign")


# -- PGN --------------------------------------------------------------------------------------------------------------


def test_the_game_is_written_with_clocks_and_evaluations() -> None:
    white, black = Script("f2f3", "g2g4", score=EngineScore(cp=-150)), Script("e7e5", "d8h4", score=EngineScore(mate=1))
    played = play(white, black, limit=CLOCK)
    text = str(played.finished().to_pgn(("A", "B {odd}"), "a match"))
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
    played = play(Script(score=EngineScore(cp=31)), Script(score=EngineScore(cp=-31)), limit=CLOCK)
    game = chess.pgn.read_game(io.StringIO(str(played.finished().to_pgn(("A", "B"), "a match"))))
    assert game is not None
    assert not game.errors
    for node, info in zip(game.mainline(), played.infos, strict=True):
        found, clock = node.eval(), node.clock()
        assert found is not None
        assert found.white() == chess.engine.Cp(31)
        assert clock is not None
        assert info.clock is not None
        assert 0 <= info.clock - clock < 0.1


def test_a_forfeit_before_the_first_move_is_written_too() -> None:
    error = EngineError("Fish closed its output: {odd} text", fault=Fault.DISCONNECT)
    played = play(Script(error), Script(), fen="4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    game = Game.from_pgn(str(played.finished().to_pgn(("A", "B"), "a match")))
    assert (game.result, game.headers["Fault"], game.headers["Termination"]) == ("0-1", "disconnect", "abandoned")
    assert game.comment == "White forfeits: disconnect (Fish closed its output: {odd} text)"
    assert game.start == Position("chess", "4k3/8/8/8/8/8/8/4K2R w K - 0 1")


def test_what_is_not_known_is_not_written() -> None:
    assert MoveInfo().comment(white=True) == ""
    assert MoveInfo(score=EngineScore(cp=5)).comment(white=True) == "+0.05 [%eval 0.05]"
    assert MoveInfo(seconds=1.5, clock=3725.06).comment(white=True) == "1.500s [%clk 1:02:05.0]"
