"""Ratings: against hand-worked examples, against the published methods of Ordo and BayesElo, and against chance."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from command import Run
from selfmate import SelfmateError
from selfmate.cli.rate import ratings_as_json
from selfmate.rating.elo import ELO, MODELS, MOST_PLAYERS, WHITE_PRIOR, Ratings, Results, fit, tally
from selfmate.rating.pgn_results import leave_out, read_all
from selfmate.rating.trueskill import Skill, rate_pair, trueskill
from simulation import play_tournament, rating_coverage

SPREAD = [-300.0, -150.0, -50.0, 0.0, 80.0, 420.0]


def both_colours(first: str, second: str, wins: int, draws: int, losses: int) -> dict[tuple[str, str], Sequence[int]]:
    """The same score with White and with Black, so that White has no advantage."""
    return {(first, second): (wins, draws, losses), (second, first): (losses, draws, wins)}


def elos(ratings: Ratings) -> dict[str, float]:
    return {each.player: each.elo for each in ratings.players}


@pytest.fixture(scope="module")
def tournament() -> dict[tuple[str, str], list[int]]:
    return play_tournament(SPREAD, 15, draws=0.35, chance=np.random.default_rng(5))


# -- by hand ----------------------------------------------------------------------------------------------------------


def test_two_players_by_hand() -> None:
    ratings = fit(both_colours("A", "B", 50, 50, 0), anchors={"B": 1000}, prior_draws=0)
    score = 400 * math.log10(3)  # 75 %
    assert elos(ratings) == pytest.approx({"A": 1000 + score, "B": 1000}, abs=1e-6)
    assert ratings.white[0] == pytest.approx(0, abs=1e-9)
    best = ratings.players[0]
    assert (best.player, best.games, best.score, best.draws) == ("A", 200, 0.75, 0.5)
    # Without an anchor the mean is 0, and the error is that to the mean: half of the difference
    free = fit(both_colours("A", "B", 50, 50, 0), prior_draws=0)
    assert elos(free) == pytest.approx({"A": score / 2, "B": -score / 2}, abs=1e-6)
    assert free.players[0].error == pytest.approx(ratings.players[0].error / 2)


def test_the_error_by_hand() -> None:
    # No draws: the variance of a score s of n games is s (1 - s) / n, and d Elo / d s is 400 / ln 10 / (s (1 - s))
    anchored = fit(both_colours("A", "B", 300, 0, 100), anchors={"B": 0}, prior_draws=0)
    by_hand = 1.959964 * math.sqrt(0.75 * 0.25 / 800) * 400 / math.log(10) / (0.75 * 0.25)
    assert anchored.players[0].error == pytest.approx(by_hand, rel=0.001)
    # With draws: +200 =200 -0 have a variance of ½ (1 - ¾)² + ½ (½ - ¾)² = 1/16
    drawn = fit(both_colours("A", "B", 200, 200, 0), anchors={"B": 0}, prior_draws=0)
    by_hand = 1.959964 * math.sqrt(1 / 16 / 800) * 400 / math.log(10) / (0.75 * 0.25)
    assert drawn.players[0].error == pytest.approx(
        by_hand, rel=0.02
    )  # a little of the draws of all players is mixed in


def test_a_chain_of_players_by_hand() -> None:
    results = both_colours("A", "B", 75, 0, 25) | both_colours("B", "C", 60, 30, 10)
    found = elos(fit(results, anchors={"B": 0}, prior_draws=0))
    assert found == pytest.approx({"A": 400 * math.log10(3), "B": 0, "C": -400 * math.log10(3)}, abs=1e-6)


def test_white_has_an_advantage() -> None:
    even = fit({("A", "B"): (5000, 2000, 3000), ("B", "A"): (5000, 2000, 3000)})
    assert even.white[0] == pytest.approx(400 * math.log10(6 / 4), rel=0.001)
    assert elos(even) == pytest.approx({"A": 0, "B": 0}, abs=1e-6)
    # Who always has White may owe it to that: the rating is less certain
    alone = fit({("A", "B"): (500, 200, 300)}, anchors={"B": 0})
    balanced = fit(both_colours("A", "B", 250, 100, 150), anchors={"B": 0})
    assert elos(alone)["A"] == pytest.approx(elos(balanced)["A"])
    assert alone.players[0].error > 2 * balanced.players[0].error


@pytest.mark.parametrize("model", MODELS)
def test_a_clean_sweep_stays_finite(model: str) -> None:
    few, many = (
        fit(both_colours("A", "B", games, 0, 0), anchors={"B": 0}, model=model).players[0] for games in (5, 500)
    )
    assert 100 < few.elo < many.elo < 2000
    assert few.error > 150
    if model == "elo":  # as half a point short of it, and half a virtual game more
        assert few.elo == pytest.approx(400 * math.log10(10.5 / 0.5), abs=0.1)
    even = fit(both_colours("A", "B", 0, 40, 0), anchors={"B": 0}, model=model).players[0]
    assert even.elo == pytest.approx(0, abs=1e-6)
    assert 1 < even.error < 150


def test_superiority_by_hand() -> None:
    ratings = fit(both_colours("A", "B", 30, 0, 20))
    los = ratings.los()
    difference, error = ratings.players[0].elo - ratings.players[1].elo, 2 * ratings.players[0].error
    assert los[0, 1] == pytest.approx(0.5 * (1 + math.erf(1.959964 * difference / error / math.sqrt(2))), abs=1e-6)
    assert los[1, 0] == pytest.approx(1 - los[0, 1])
    assert los[0, 0] == los[1, 1] == 0.5


# -- as published -----------------------------------------------------------------------------------------------------


def test_scores_are_those_expected_as_in_ordo(tournament: Results) -> None:
    """Ordo's ratings are those with which every player, and White, is expected to score what was scored."""
    ratings = fit(tournament, prior_draws=0)
    elo = elos(ratings)
    missing = dict.fromkeys(elo, 0.0)
    of_white = 0.0
    for (white, black), (wins, draws, losses) in tournament.items():
        expected = (wins + draws + losses) / (1 + 10 ** ((elo[black] - elo[white] - ratings.white[0]) / 400))
        missing[white] += wins + draws / 2 - expected
        missing[black] -= wins + draws / 2 - expected
        of_white += wins + draws / 2 - expected
    assert missing == pytest.approx(dict.fromkeys(elo, 0.0), abs=1e-3)
    advantage = ratings.white[0] / ELO
    assert of_white == pytest.approx(advantage / WHITE_PRIOR**2, abs=1e-3)  # the weak prior on White's advantage
    assert abs(of_white) < 0.01 * sum(sum(counts) for counts in tournament.values())


def test_two_players_as_in_bayeselo() -> None:
    """The published conversion of shares of wins and losses to BayesElo and its draw margin, and BayesElo's scale."""
    wins, draws, losses = 45_000, 35_000, 20_000
    ratings = fit(both_colours("A", "B", wins, draws, losses), anchors={"B": 0}, model="bayeselo")
    win, loss = 0.45, 0.20
    elo = 200 * math.log10(win / loss * (1 - loss) / (1 - win))
    margin = 200 * math.log10((1 - loss) / loss * (1 - win) / win)
    x = 10 ** (-margin / 400)
    assert ratings.players[0].elo == pytest.approx(elo * 4 * x / (1 + x) ** 2, rel=1e-4)
    assert ratings.draw_rate == pytest.approx((1 - x) / (1 + x), rel=1e-4)
    assert ratings.players[0].elo == pytest.approx(400 * math.log10(0.625 / 0.375), rel=0.05)  # so nearly Elo


def test_many_players_as_in_bayeselo(tournament: Results) -> None:
    """BayesElo's own algorithm (minorization-maximization, Hunter 2004) ends at the same ratings."""
    ratings = fit(tournament, model="bayeselo", prior_draws=0)
    theta = (1 + ratings.draw_rate) / (1 - ratings.draw_rate)  # 10^(D / 400)
    scale = 4 * theta / (1 + theta) ** 2
    advantage = 10 ** (ratings.white[0] / scale / 400)
    gamma = dict.fromkeys(elos(ratings), 1.0)
    for _ in range(3000):
        above, below = dict.fromkeys(gamma, 0.0), dict.fromkeys(gamma, 0.0)
        for (white, black), (wins, draws, losses) in tournament.items():
            won, lost = wins + draws, losses + draws
            strong, weak = (
                advantage * gamma[white] + theta * gamma[black],
                gamma[black] + theta * advantage * gamma[white],
            )
            above[white] += won
            above[black] += lost
            below[white] += won * advantage / strong + lost * theta * advantage / weak
            below[black] += won * theta / strong + lost / weak
        gamma = {name: above[name] / below[name] for name in gamma}
    elo = {name: 400 * math.log10(each) * scale for name, each in gamma.items()}
    mean = sum(elo.values()) / len(elo)
    assert elos(ratings) == pytest.approx({name: each - mean for name, each in elo.items()}, abs=0.01)


def test_the_models_agree_where_draws_are_few() -> None:
    results = play_tournament(SPREAD, 200, draws=0.02, chance=np.random.default_rng(2))
    assert elos(fit(results)) == pytest.approx(elos(fit(results, model="bayeselo")), abs=6)


# -- by chance --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_intervals_hold_the_truth(model: str) -> None:
    found, _ = rating_coverage(SPREAD, 5, draws=0.3, model=model, fits=300)
    assert 0.93 < found < 0.97
    chain = [(i + 1, i) for i in range(5)]
    ladder = [0.0, 150.0, 300.0, 450.0, 600.0, 750.0]
    found, width = rating_coverage(ladder, 20, draws=0.3, model=model, fits=300, anchors=(0,), met=chain)
    assert 0.93 < found < 0.97
    assert width > 50


def test_intervals_hold_with_several_anchors() -> None:
    found, _ = rating_coverage(SPREAD, 10, draws=0.3, fits=300, anchors=(0, 5))
    assert 0.93 < found < 0.97


# -- anchors and groups -----------------------------------------------------------------------------------------------


def test_an_anchor_only_shifts(tournament: Results) -> None:
    free = elos(fit(tournament))
    for model in MODELS:
        free = elos(fit(tournament, model=model))
        found = elos(fit(tournament, model=model, anchors={"P2": 2500}))
        assert found == pytest.approx({name: elo + 2500 - free["P2"] for name, elo in free.items()}, abs=1e-3)


def test_far_anchors(tournament: Results) -> None:
    found = fit(tournament, anchors={"P0": -4000, "P5": 4000})
    assert {each.player for each in found.players if each.error == 0} == {"P0", "P5"}
    assert all(math.isfinite(each.elo) and each.error > 0 for each in found.players if each.player not in ("P0", "P5"))
    with pytest.raises(SelfmateError, match="takes one anchor"):
        fit(tournament, anchors={"P0": 0, "P5": 500}, model="bayeselo")


def test_groups_that_never_met() -> None:
    results = both_colours("A", "B", 30, 0, 20) | both_colours("C", "D", 40, 0, 10)
    apart = fit(results)
    assert apart.groups == apart.loose == (("A", "B"), ("C", "D"))
    order = [each.player for each in apart.players]
    los = apart.los()
    assert math.isnan(los[order.index("A"), order.index("C")])
    assert los[order.index("A"), order.index("B")] > 0.9
    # Anchors bring them on one scale
    anchored = fit(results, anchors={"A": 1000, "D": 1000})
    assert anchored.loose == ()
    assert [each.player for each in anchored.players] == ["C", "A", "D", "B"]
    assert not np.isnan(anchored.los()).any()


@pytest.mark.parametrize(
    ("results", "anchors", "part"),
    [
        ({}, {}, "no finished games"),
        ({("A", "A"): (1, 0, 0), ("A", "B"): (0, 0, 0)}, {}, "no finished games"),
        ({("Anna", "B"): (1, 0, 0)}, {"Ana": 1.0}, "did you mean 'Anna'?"),
        ({("Anna", "B"): (1, 0, 0)}, {"B": math.inf}, "inf is not a rating"),
        ({(f"{i}", f"{i + 1}"): (1, 0, 0) for i in range(MOST_PLAYERS)}, {}, "too many"),
    ],
)
def test_bad_results_are_refused(results: Results, anchors: dict[str, float], part: str) -> None:
    with pytest.raises(SelfmateError, match=part.replace("?", r"\?")):
        fit(results, anchors=anchors)


# -- TrueSkill --------------------------------------------------------------------------------------------------------


def test_trueskill_as_published() -> None:
    """The figures of other implementations, with a share of draws of 10 %."""
    margin = 0.7404666
    won, lost = rate_pair(Skill(), Skill(), margin)
    assert (won.mu, won.sigma) == pytest.approx((29.39583, 7.17148), abs=1e-4)
    assert (lost.mu, lost.sigma) == pytest.approx((20.60417, 7.17148), abs=1e-4)
    assert rate_pair(Skill(), Skill(), margin, drawn=True)[0] == pytest.approx((25, 6.45752), abs=1e-4)
    won, lost = rate_pair(Skill(25, 8.333), Skill(30, 8.333), margin)
    assert (won.mu, won.sigma, lost.mu) == pytest.approx((30.768, 7.030, 24.232), abs=1e-3)
    assert trueskill([("A", "B", "0-1")], 0.1)["B"] == pytest.approx((29.39583, 7.17148), abs=1e-4)


def test_trueskill_bears_surprises() -> None:
    for gap in (1.0, 50.0, 1000.0):
        for drawn in (False, True):
            for first, second in ((25.0, 25.0 + gap), (25.0 + gap, 25.0)):
                found = rate_pair(Skill(first, 2.0), Skill(second, 2.0), 0.7, drawn=drawn)
                assert all(math.isfinite(skill.mu) and 0 < skill.sigma < 2.1 for skill in found)
                if drawn:  # a draw brings them together
                    assert abs(found[0].mu - found[1].mu) < gap


def test_trueskill_finds_the_order() -> None:
    chance = np.random.default_rng(1)
    results = play_tournament(SPREAD, 30, draws=0.3, chance=chance)
    names = ("1-0", "1/2-1/2", "0-1")
    games = [
        (*pair, name)
        for pair, counts in results.items()
        for name, n in zip(names, counts, strict=True)
        for _ in range(n)
    ]
    skills = trueskill([games[index] for index in chance.permutation(len(games))])
    assert max(skills, key=lambda name: skills[name].mu) == "P5"
    assert min(skills, key=lambda name: skills[name].mu) == "P0"


# -- PGN --------------------------------------------------------------------------------------------------------------

PGN = """\ufeff[Event "one"]
[White "Anna \\"the hammer\\""]
[Black "Ben"]
[Result "1-0"]
[Variant "Shako"]

1. Ce4 {a comment
[%clk 0:01:00] that goes on, 0-1} Ve5 1-0

[Event "two"]
[Result "1/2-1/2"]
[White "Ben"]
[Black "Anna \\"the hammer\\""]

{no moves} 1/2-1/2
[Event "three"]
[White "Ben"]
[Black "?"]
[Result "1-0"]

*

  [ White "Ben" ]
[Black "Cléo"]
[Result "0-1"]

[White "Cléo"]
[Black "Ben"]
[Result "*"]

[White "Ben"]
[Black "Ben"]
[Result "1-0"]
"""


def test_tags_are_read_whatever_the_moves_are(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    for text in (PGN.encode(), PGN.replace("\n", "\r\n").encode(), PGN.lstrip("\ufeff").encode("latin-1")):
        path.write_bytes(text)
        played = read_all([str(path)])
        assert played.games == [
            ('Anna "the hammer"', "Ben", "1-0"),
            ("Ben", 'Anna "the hammer"', "1/2-1/2"),
            ("Ben", "Cléo", "0-1"),
        ]
        assert played.unfinished == 3
    assert read_all([str(path)] * 2).games == played.games * 2


def test_players_with_few_games_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(PGN, encoding="utf-8")
    played = leave_out(read_all([str(path)]), 2)
    assert {name for *names, _ in played.games for name in names} == {'Anna "the hammer"', "Ben"}
    with pytest.raises(SelfmateError, match="no players with 9 games"):
        leave_out(played, 9)


@pytest.fixture
def pgn(tmp_path: Path) -> str:
    """Anna scores 60 % against Ben, Ben 75 % against Cleo; every pair of games has either colour."""
    path = tmp_path / "match.pgn"
    games = [("Anna", "Ben", "1-0"), ("Ben", "Anna", "1/2-1/2"), ("Anna", "Ben", "0-1"), ("Ben", "Anna", "0-1")] * 10
    games += [
        ("Ben", "Cleo", "1-0"),
        ("Cleo", "Ben", "1/2-1/2"),
        ("Ben", "Cleo", "1/2-1/2"),
        ("Cleo", "Ben", "0-1"),
    ] * 10
    games += [("Anna", "Cleo", "*")]
    tags = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n'
    path.write_text("".join(tags.format(*game) + f"{game[2]}\n\n" for game in games), encoding="utf-8")
    return str(path)


def test_command(run: Run, pgn: str) -> None:
    code, out, err = run("rate", pgn, "--anchor", "Ben=1500", "--los")
    assert (code, err) == (0, "")
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if line.startswith("│")]
    assert [row[1] for row in rows[:3]] == ["Anna", "Ben", "Cleo"]
    assert rows[1][2] == "1500 (anchor)"
    assert rows[2][3:6] == ["40", "25.0", "50.0"]
    assert len(rows) == 6
    assert "80 games. Left out: 1, without a result or two different players." in out


def test_command_json_and_csv(run: Run, pgn: str) -> None:
    code, out, err = run("rate", pgn, "--json", "--los", "--model", "bayeselo")
    assert (code, err) == (0, "")
    values = json.loads(out)
    assert (values["model"], values["games"], values["unfinished"]) == ("bayeselo", 80, 1)
    assert [each["player"] for each in values["players"]] == ["Anna", "Ben", "Cleo"]
    assert values["los"][0][2] > 0.99
    assert sum(each["elo"] for each in values["players"]) == pytest.approx(0, abs=1e-6)
    code, out, err = run("rate", pgn, "--csv")
    lines = out.splitlines()
    assert lines[0] == "rank,player,elo,error,low,high,games,score,draws"
    assert lines[1].startswith("1,Anna,")
    assert len(lines) == 4


def test_names_have_the_room_and_break_between_words(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "long.pgn"
    names = ("gardner-laptop (16 visits)", "Fairy-Stockfish 14.0.1 (1000 nodes, Skill Level 3)", "B")
    tags = '[White "{}"]\n[Black "{}"]\n[Result "1-0"]\n\n*\n\n'
    path.write_text(
        "".join(30 * tags.format(one, two) for one in names for two in names if one != two), encoding="utf-8"
    )
    out = run("rate", str(path), "--los").out
    table = out.splitlines()[: next(index for index, line in enumerate(out.splitlines()) if line.startswith("└")) + 1]
    assert {len(line) for line in table} <= set(range(81))
    assert "…" not in out
    cells = [line.split("│")[2].strip() for line in table if line.startswith("│")]
    assert names[0] in cells
    assert names[1] in " ".join(cells)  # in several lines, none of which ends within a word
    assert len(cells) in (4, 5)
    ratings = [line.split("│")[3].strip() for line in table if line.startswith("│ ") and line.split("│")[1].strip()]
    assert all(re.fullmatch(r"-?\d+ ± \d+", rating) for rating in ratings)
    assert len(ratings) == 3


def test_a_clean_sweep_is_only_a_bound(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sweep.pgn"
    tags = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n*\n\n'
    path.write_text(2 * tags.format("A", "B", "1-0") + tags.format("B", "A", "0-1"), encoding="utf-8")
    answer = run("rate", str(path))
    assert answer.code == 0
    first, second = (line.split("│")[3].strip() for line in answer.out.splitlines() if line.startswith("│"))
    assert first.startswith("above ")
    assert second.startswith("below ")
    assert "A won every game against B: its rating has no upper bound." in answer.out
    best, worst = json.loads(run("rate", str(path), "--json").out)["players"]
    assert (best["high"], worst["low"]) == (None, None)
    assert best["low"] == pytest.approx(best["elo"] - best["error"])
    assert run("rate", str(path), "--csv").out.splitlines()[2].split(",")[4] == ""


def test_an_anchor_may_be_known_by_its_beginning() -> None:
    results = both_colours("heuristic-1 (64 visits)", "random", 10, 5, 5)
    with pytest.raises(SelfmateError, match=r"did you mean 'heuristic-1 \(64 visits\)'\?"):
        fit(results, anchors={"heuristic-1": 1000})


def test_the_rating_of_a_match_is_set_beside_that_of_its_score(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "few.pgn"
    tags = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n\n*\n\n'
    games = [("A", "B", "1-0"), ("B", "A", "1/2-1/2"), ("A", "B", "1-0"), ("B", "A", "1-0")]
    path.write_text("".join(tags.format(*game) for game in games), encoding="utf-8")
    best, worst = json.loads(run("rate", str(path), "--json").out)["players"]
    out = run("rate", str(path)).out
    assert f"A is {best['elo'] - worst['elo']:.0f} ±" in out
    assert "the score alone (selfmate arena) gives +89" in out  # 2.5 of 4 points
    even = [("A", "B", "1-0"), ("B", "A", "1-0")]
    path.write_text("".join(tags.format(*game) for game in even), encoding="utf-8")
    assert "-0 " not in (out := run("rate", str(path)).out)
    assert "A and B are 0 ± " in out
    assert "-0.0" not in run("rate", str(path), "--csv").out


def test_command_trueskill(run: Run, pgn: str) -> None:
    code, out, err = run("rate", pgn, "--trueskill", "--json")
    assert (code, err) == (0, "")
    assert [each["player"] for each in json.loads(out)["players"]] == ["Anna", "Ben", "Cleo"]
    code, out, err = run("rate", pgn, "--trueskill")
    assert (code, err) == (0, "")
    assert "Cleo" in out


def test_groups_are_said_in_one_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "apart.pgn"
    tags = '[White "{}"]\n[Black "{}"]\n[Result "1-0"]\n\n1-0\n\n'
    path.write_text(tags.format("A", "B") + tags.format("C", "D"), encoding="utf-8")
    code, _, err = run("rate", str(path))
    assert code == 0
    assert err.count("\n") == 1
    assert "2 groups of players never met" in err
    assert "A, B; C, D" in err
    assert "The mean is 0" in run("rate", str(path))[1]
    assert "The mean is 0" not in run("rate", str(path), "--anchor", "A=900")[1]  # that of C and D is, which was said
    assert run("rate", str(path), "--anchor", "A=0", "--anchor", "D=100")[2] == ""
    played = read_all([str(path)])
    values = ratings_as_json(fit(tally(played.games)), played, los=True)
    assert [each["player"] for each in values["players"]] == ["A", "C", "B", "D"]
    assert values["los"][0][1] is None
    assert values["los"][0][2] > 0.5


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("{pgn}", "--anchor", "Bem=0"), "did you mean 'Ben'?"),
        (("{pgn}", "--anchor", "Ben"), "is not NAME=ELO"),
        (("{pgn}", "--anchor", "Ben=strong"), "is not NAME=ELO"),
        (("{pgn}", "--anchor", "Ben=nan"), "is not NAME=ELO"),
        (("{pgn}", "--anchor", "Ben=1e300"), "such as heuristic-1=1000, from -100000 to 100000"),
        (("{pgn}", "--anchor", "Ben=1", "--anchor", "Ben=2"), "cannot be both 1 and 2"),
        (("{pgn}", "--json", "--csv"), "cannot be combined"),
        (("{pgn}", "--model", "glicko"), "elo or bayeselo"),
        (("{pgn}", "--trueskill", "--anchor", "Ben=1"), "cannot be combined with"),
        (("{pgn}", "--min-games", "1000"), "no players with 1,000 games"),
        (("/no/such/file.pgn",), "/no/such/file.pgn"),
        (("{folder}",), "Is a directory"),
        (("{other}",), "no PGN"),
        (("{pgn}", "{other}"), "no PGN"),
        (("{empty}",), "no PGN"),
        (("{unfinished}",), "no finished game"),
        (("/dev/zero",), "no PGN"),
        ((), "PGN"),
    ],
)
def test_bad_input_is_one_line(run: Run, pgn: str, tmp_path: Path, arguments: tuple[str, ...], part: str) -> None:
    files = {
        "other": b"\x7fELF \x00\x01 not a game\n" * 100,
        "empty": b"",
        "unfinished": b'[White "A"]\n[Black "B"]\n[Result "*"]\n\n*\n',
    }
    names = {"pgn": pgn, "folder": str(tmp_path)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        names[name] = str(tmp_path / name)
    code, out, err = run("rate", *(argument.format(**names) for argument in arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err
