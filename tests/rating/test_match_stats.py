"""Statistics of a match: against hand-worked and published figures, and against chance."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from selfmate import SelfmateError
from selfmate.rating.match_stats import (
    NELO,
    Match,
    Model,
    SideResult,
    count_games,
    elo_bounds,
    score_line,
    score_of_elo,
    whole_pairs,
)
from selfmate.rating.sprt import Sprt, SprtTracker
from simulation import error_limit, match_coverage, sprt_passes, with_strength

Z = 1.959964


def of_pairs(*counts: int) -> Match:
    """Make a match from the numbers of pairs with 0, ½, 1, 1½ and 2 points; those with 1 point are a win and a loss."""
    points = tuple(half / 2 for half, count in enumerate(counts) for _ in range(count))
    lost, lost_once, even, won_once, won = counts
    return Match(
        wins=(won + won_once + even, won),
        draws=(lost_once, won_once),
        losses=(lost, lost + lost_once + even),
        pairs=points,
    )


def of_games(wins: int, losses: int, draws: int) -> Match:
    return Match(wins=(wins, 0), draws=(draws, 0), losses=(losses, 0))


# -- score and Elo ----------------------------------------------------------------------------------------------------


def test_a_match_by_hand() -> None:
    match = of_pairs(1, 2, 4, 2, 3)  # 12 pairs, 14 points of 24
    assert match.games == 24
    assert match.counts == (1, 2, 4, 2, 3)
    assert match.score == pytest.approx(14 / 24)
    # Pairs of 0, ¼, ½, ¾ and 1 around 7/12: sum of squares, divided by n - 1, is the variance of one pair
    squares = sum(n * (v / 4 - 7 / 12) ** 2 for v, n in enumerate((1, 2, 4, 2, 3)))
    # They tell as much as this many games of wins and losses would; Wilson's interval of these solves a quadratic
    games = 14 / 24 * 10 / 24 / (squares / 11 / 12)
    assert match.worth == pytest.approx(games)
    for end in match.interval:
        assert (14 / 24 - end) ** 2 == pytest.approx(Z**2 * end * (1 - end) / games, rel=1e-5)
    assert match.elo == pytest.approx(400 * math.log10(14 / 10))
    low, high = elo_bounds(match)
    assert low is not None
    assert high is not None
    assert low < 0 < match.elo < high
    # One standard deviation of a game above one half is 800 / ln 10; a pair has half the variance of a game
    nelo = match.nelo
    assert nelo is not None
    assert nelo[0] == pytest.approx((1 / 12) / math.sqrt(2 * squares / 12) * 800 / math.log(10))
    assert match.los == pytest.approx(0.5 * (1 + math.erf((1 / 12) * 2 * math.sqrt(games / 2))))


@pytest.mark.parametrize(
    ("match", "elo", "error", "nelo", "nelo_error", "los"),
    [
        # The tests of fastchess, its two kinds of Elo; its error is half of the interval
        (of_games(136, 96, 111), 40.70, 30.43, 49.77, 36.77, 0.9960),
        (of_games(76, 89, 123), None, None, -20.76, 40.13, 0.1553),
        (of_pairs(34, 54, 31 + 32, 64, 75), 55.58, 27.65, 57.94, 28.28, 1.0000),
        (of_pairs(332, 433, 457 + 41, 333, 334), -8.64, 10.33, -9.17, 10.96, 0.0505),
        (of_pairs(7895, 8757, 5485 + 200, 568, 9999), -21.04, 2.95, -19.01, 2.65, None),
    ],
)
def test_elo_agrees_with_fastchess(
    match: Match, elo: float | None, error: float | None, nelo: float, nelo_error: float, los: float | None
) -> None:
    found = match.nelo
    assert found is not None
    assert found[0] == pytest.approx(nelo, rel=0.001)
    assert found[1] == pytest.approx(nelo_error, rel=0.04)  # theirs leaves out that the deviation is estimated
    if elo is not None:
        low, high = elo_bounds(match)
        assert match.elo == pytest.approx(elo, rel=0.001)
        assert low is not None
        assert high is not None
        assert (high - low) / 2 == pytest.approx(error, rel=0.006)  # theirs is not Wilson's
    if los is not None:
        assert match.los == pytest.approx(los, abs=0.001)


def test_pairs_count_only_when_every_game_has_one() -> None:
    whole = of_pairs(0, 0, 2, 0, 0)
    assert whole.counts == (0, 0, 2, 0, 0)
    odd = Match(wins=(3, 1), draws=(0, 0), losses=(0, 1), pairs=(2.0, 1.0))
    assert odd.counts == (1, 0, 4)
    assert "from 5 games" in score_line(odd)
    # Even pairs say more than their games alone: each opening is won by its better side
    alone = Match(wins=whole.wins, draws=whole.draws, losses=whole.losses)
    assert alone.worth < whole.worth


def test_the_interval_of_a_score_is_honest() -> None:
    unseen = Z**2
    # Pairs that differ: about 1.96 standard errors on either side
    low, high = of_pairs(50, 0, 0, 0, 50).interval
    assert (high - low) / 2 == pytest.approx(Z * math.sqrt(0.25 / 100), rel=0.03)
    # Pairs that are all alike: Wilson's bound, n / (n + z²) for a clean sweep
    for count in (10, 50, 100, 1000):
        won, lost, drawn = of_pairs(0, 0, 0, 0, count), of_pairs(count, 0, 0, 0, 0), of_pairs(0, 0, count, 0, 0)
        assert list(won.interval) == pytest.approx([count / (count + unseen), 1.0], rel=1e-6)
        assert list(lost.interval) == pytest.approx([0.0, unseen / (count + unseen)], rel=1e-6)
        assert drawn.interval[1] - 0.5 == pytest.approx(unseen / 2 / (count + unseen), rel=1e-6)
        # A player that scores less than the bound wins all pairs in fewer than one match in twenty
        assert won.interval[0] ** count < 0.05
    # One pair that differs does not make the rest certain
    assert list(of_pairs(1, 0, 0, 0, 99).interval) == pytest.approx([0.945, 0.998], abs=0.002)
    assert of_pairs(0, 0, 0, 1, 49).interval[0] < of_pairs(0, 0, 0, 0, 50).interval[0]
    # One pair says little, none says nothing
    assert list(of_pairs(0, 0, 0, 0, 1).interval) == pytest.approx([1 / (1 + unseen), 1.0], rel=1e-6)
    assert of_pairs(0, 0, 0, 0, 0).interval == (0.0, 1.0)


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_no_interval_holds_what_cannot_be(pairs: int) -> None:
    """Few games once gave 50 % ± 120 %."""
    for halves in itertools.combinations_with_replacement(range(5), pairs):
        match = of_pairs(*(halves.count(half) for half in range(5)))
        low, high = match.interval
        assert 0 <= low <= match.score <= high <= 1
        assert high - low > 0.3  # but it is wide
        assert (low > 0.5) == (match.los > 0.975)
        assert "±" not in score_line(match)
        below, above = elo_bounds(match)
        assert (below is None) == (match.score == 0)
        assert (above is None) == (match.score == 1)
        json.dumps(match.as_json(), allow_nan=False)


def test_a_clean_sweep_bounds_the_score_and_elo_on_one_side() -> None:
    won, lost = of_pairs(0, 0, 0, 0, 50), of_pairs(50, 0, 0, 0, 0)
    low, high = elo_bounds(won)
    assert low is not None
    assert low == pytest.approx(400 * math.log10(50 / Z**2), rel=1e-6)  # a score of 50 / (50 + z²), Wilson's bound
    assert high is None
    assert elo_bounds(lost)[0] is None
    assert elo_bounds(lost)[1] == pytest.approx(-low)
    assert won.nelo is None
    assert score_line(won) == "Score 100.0 % [92.9, 100.0] (+100 =0 -0), Elo above +446, LOS 100.0 %, from 50 pairs"
    assert score_line(lost) == "Score 0.0 % [0.0, 7.1] (+0 =0 -100), Elo below -446, LOS 0.0 %, from 50 pairs"
    close = score_line(of_pairs(0, 0, 0, 1, 49))
    assert close == "Score 99.5 % [92.4, 100.0] (+99 =1 -0), Elo +920 [+434, +1405], LOS 100.0 %, from 50 pairs"
    assert won.as_json()["score_high"] == 1
    assert won.as_json()["elo_high"] is None
    json.dumps(won.as_json(), allow_nan=False)


def test_nothing_played() -> None:
    nothing = of_games(0, 0, 0)
    assert (nothing.score, nothing.elo, nothing.nelo, nothing.los) == (0.5, 0.0, None, 0.5)
    assert score_line(nothing) == "No game was finished."
    assert Sprt(0, 5).judge(nothing).llr == 0.0
    json.dumps(nothing.as_json(), allow_nan=False)


@pytest.mark.parametrize("elo", [0, 120])
def test_intervals_of_a_match_hold_the_truth(elo: float) -> None:
    chances = with_strength((10, 20, 40, 20, 10), elo, "logistic")
    for found in match_coverage(chances, 100, matches=3000):
        assert 0.93 < found < 0.97
    assert 0.92 < match_coverage(chances, 10, matches=3000)[0] < 0.98


# -- the sequential test ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "test", "llr"),
    [
        # The tests of fastchess; LL, LD, WL + DD, WD, WW or losses, draws, wins
        ((36027, 68692, 36433), Sprt(0, 2), 0.92),
        ((10650, 20431, 10871), Sprt(-1.75, 0.25), 2.30),
        ((0, 0, 4250), Sprt(0, 10), 120.56),
        ((21184, 40708, 21404), Sprt(0.5, 2.5, model="logistic"), -1.57),
        ((57030, 106593, 57433), Sprt(0, 2, model="logistic"), -2.59),
        ((365, 16618, 36029 + 200, 16974, 390), Sprt(0, 2), 2.25),
        ((127, 4883, 10311 + 401, 5150, 104), Sprt(-1.75, 0.25), 3.01),
        ((0, 0, 0, 0, 5550), Sprt(0, 5), 111.82),
        ((223, 9863, 20279 + 1000, 10037, 246), Sprt(0.5, 2.5, model="logistic"), -3.07),
        ((871, 26175, 55003 + 980, 26678, 821), Sprt(0, 2, model="logistic"), -4.98),
    ],
)
def test_likelihood_ratios_agree_with_fastchess(counts: tuple[int, ...], test: Sprt, llr: float) -> None:
    assert test.judge(counts).llr == pytest.approx(llr, abs=0.0051, rel=0.0005)


def test_a_likelihood_ratio_by_hand() -> None:
    # Of wins and losses only, the distribution with mean s is (1 - s, s): the ratio is that of a coin.
    test = Sprt(elo0=0, elo1=100, model="logistic")
    score = 1 / (1 + 10**-0.25)
    by_hand = 70 * math.log(score / 0.5) + 30 * math.log((1 - score) / 0.5)
    assert test.judge((30, 0, 70)).llr == pytest.approx(by_hand, abs=0.002)  # an empty cell counts 0.001


def test_bounds_and_verdicts() -> None:
    test = Sprt(elo0=0, elo1=10, alpha=0.05, beta=0.1)
    ahead, behind = test.judge(of_pairs(10, 40, 100, 80, 40)), test.judge(of_pairs(40, 80, 100, 40, 10))
    assert (ahead.lower, ahead.upper) == (math.log(0.1 / 0.95), math.log(0.9 / 0.05))
    assert (ahead.verdict, behind.verdict) == ("H1", "H0")
    assert ahead.llr > ahead.upper
    assert behind.llr < behind.lower
    assert test.judge(of_pairs(10, 20, 40, 20, 12)).verdict is None
    assert str(ahead).endswith("for 0 against 10 normalised Elo: H1 accepted after 270 pairs")
    assert str(test.judge((40, 10, 400))).endswith("H1 accepted")  # single games


def test_a_test_ends_with_the_pair_that_decides() -> None:
    test = Sprt(elo0=0, elo1=100)
    pairs = [float(points) for points in np.random.default_rng(3).choice([0.5, 1.0, 1.5, 2.0], 400)]
    ended = test.follow(pairs)
    assert ended.verdict == "H1"
    assert ended.pairs is not None
    assert 0 < ended.pairs < 400
    assert test.follow(pairs[: ended.pairs - 1]).verdict is None
    assert test.follow([*pairs[: ended.pairs], *(400 * [0.0])]) == ended
    assert test.follow([]).llr == 0


@pytest.mark.parametrize("seed", range(5))
def test_games_in_any_order_are_a_test_in_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    test = Sprt(elo0=0, elo1=60)
    games = [
        SideResult(
            pair, with_white, str(random.choice(["*", "1/2-1/2", *(2 * ["1-0" if with_white else "0-1"]), "1-0"]))
        )
        for pair in range(200)
        for with_white in (True, False)
    ]
    tracker, heard = SprtTracker(test), 0
    while heard < len(games):
        # Some of the next twenty, as they end
        turn = random.permutation(min(20, len(games) - heard))
        games[heard : heard + len(turn)] = [games[heard + place] for place in turn]
        tracker.add(games[heard : heard + 7])
        heard += len(games[heard : heard + 7])
        whole = sorted(whole_pairs(games[:heard]), key=lambda game: game.pair)
        in_order = list(itertools.takewhile(lambda each: each[0] == each[1].pair, enumerate(whole[::2])))
        expected = test.follow(count_games(whole[: 2 * len(in_order)]).pairs)
        assert tracker.state.pairs == expected.pairs
        assert tracker.state.llr == pytest.approx(expected.llr, abs=1e-6)
    assert tracker.state.verdict is not None


@pytest.mark.parametrize(("elo0", "elo1", "model"), [(0, 60, "normalised"), (0, 40, "logistic")])
def test_the_expected_length_is_that_of_simulated_tests(elo0: float, elo1: float, model: Model) -> None:
    """No draws, games of a pair as if they were alone; a path ends a little beyond its bound, so tests take longer."""
    test = Sprt(elo0, elo1, model=model)
    score = score_of_elo(elo1) if model == "logistic" else 0.5 + elo1 / NELO / 2
    random = np.random.default_rng(1)
    lengths = []
    for _ in range(50):
        pairs = random.binomial(2, score, 8 * test.expected_pairs).astype(float).tolist()
        lengths.append(test.follow(pairs).pairs)
    mean = sum(each or 0 for each in lengths) / len(lengths)
    assert 0.75 * test.expected_pairs < mean < 1.4 * test.expected_pairs


def test_the_ratio_is_antisymmetric_and_of_any_shape() -> None:
    counts = np.random.default_rng(1).integers(0, 9, size=(3, 4, 5)) + np.eye(5, dtype=int)[2]
    for model in ("normalised", "logistic"):
        test = Sprt(elo0=-15, elo1=15, model=model)
        llr = test.llr(counts)
        assert llr.shape == (3, 4)
        np.testing.assert_allclose(test.llr(counts[..., ::-1]), -llr, atol=1e-6)
        assert test.judge(counts[1, 2].tolist()).llr == pytest.approx(llr[1, 2], abs=1e-6)


@pytest.mark.parametrize(
    ("elo0", "elo1", "alpha", "beta", "model", "part"),
    [
        (5, 5, 0.05, 0.05, "normalised", "elo0 must be below elo1"),
        (0, 5, 0.0, 0.05, "normalised", "alpha must be between 0 and 0.5"),
        (0, 5, 0.05, 1.0, "logistic", "beta must be between 0 and 0.5"),
        (0, 900, 0.05, 0.05, "normalised", "-200 to 200"),
        (0, math.nan, 0.05, 0.05, "logistic", "-1000 to 1000"),
        (0, 5, 0.05, 0.05, "bayesian", "normalised or logistic"),
    ],
)
def test_bad_tests_are_refused(elo0: float, elo1: float, alpha: float, beta: float, model: Model, part: str) -> None:
    with pytest.raises(SelfmateError, match=part):
        Sprt(elo0, elo1, alpha, beta, model)


@pytest.mark.parametrize(
    ("test", "shape"),
    [
        (Sprt(0, 60, model="normalised"), (10, 20, 40, 20, 10)),
        (Sprt(-20, 20, model="logistic"), (2, 18, 60, 18, 2)),
        (Sprt(-30, 30, model="logistic"), (30, 40, 30)),
    ],
)
def test_a_sequential_test_errs_as_often_as_it_says(test: Sprt, shape: tuple[int, ...]) -> None:
    tests = 2000
    wrong, _ = sprt_passes(test, with_strength(shape, test.elo0, test.model), tests=tests, every=2)
    right, _ = sprt_passes(test, with_strength(shape, test.elo1, test.model), tests=tests, every=2)
    assert 0.02 < wrong <= error_limit(test.alpha, tests)
    assert 0.02 < 1 - right <= error_limit(test.beta, tests)
