"""Keys of `[selfplay]` in a run: start positions, judges, the explorer, metrics, and what is refused before it."""

from __future__ import annotations

import functools
import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from command import Run as Command
from oracles import answer, binomial_z
from selfmate import BLACK, WHITE, Position
from selfmate._core import GameRecord, Pool, SearchConfig, SelfPlayConfig, evaluate
from selfmate.match.puzzle_maker import SourceGame, balanced, make_puzzles
from selfmate.match.uci_client import EngineError
from selfmate.match.uci_parse import EngineScore
from selfmate.recipe.reader import RecipeError, change, load
from selfmate.recipe.reader import smoke as smoke_recipe
from selfmate.recipe.schema import Recipe
from selfmate.rundir.pack import pack
from selfmate.rundir.reader import RunReader
from selfmate.search.limit import Limit
from selfmate.train.engines import engine_value, read_valuer
from selfmate.train.judge import _last_position, judge_games, material_value
from selfmate.train.selfplay import Concurrency, native_evaluator, selfplay_pool
from selfmate.train.session import train
from selfmate.train.starts import StartPositions, generate, handicap, read_starts
from stopping import ImpatientStop

SURE: Final = 4.5
"""Standard deviations that no statistic here reaches by chance; seeds are fixed."""
FENS: Final = (
    "4k/5/5/5/KQ3 w - - 0 1",
    "4k/5/5/5/KR3 w - - 0 1",
    "q3k/5/5/5/1K3 b - - 0 1",
    "4k/P4/5/5/K4 w - - 0 1",
)
SETTINGS: Final = ("selfplay.max_plies=12", "progress.games=0", "gate.final_games=0", "selfplay.cycles=2")


def recipe_with(*settings: str, name: str = "gardner-laptop") -> Recipe:
    return change(smoke_recipe(load(name)), settings)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.fen"
    path.write_text("\n".join(FENS) + "\n")
    return path


def metrics(directory: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["stage"] == "play"]


# -- start positions ------------------------------------------------------------------------------


def test_starts_are_drawn_by_seed_and_id_alone() -> None:
    recipe = recipe_with("selfplay.starts=book.fen", "selfplay.starts_share=[[0, 0.6], [3, 0.1]]")
    starts = StartPositions(recipe, 7, FENS)
    again = StartPositions(recipe, 7, FENS)
    fens = [starts.fen(game, 0) for game in range(2000)]
    assert fens == [again.fen(game, 0) for game in reversed(range(2000))][::-1]
    assert fens != [StartPositions(recipe, 8, FENS).fen(game, 0) for game in range(2000)]
    drawn = [fen for fen in fens if fen]
    assert abs(binomial_z(len(drawn), 2000, 0.6)) < SURE
    assert all(starts.is_drawn(game, 0) == bool(fen) for game, fen in enumerate(fens))
    for fen in FENS:
        assert abs(binomial_z(drawn.count(fen), len(drawn), 0.25)) < SURE
    later = [starts.fen(game, 3) for game in range(2000)]
    assert abs(binomial_z(sum(map(bool, later)), 2000, 0.1)) < SURE


def test_colours_are_drawn_evenly_on_request() -> None:
    """Three of the four positions have White to move."""
    shares = {}
    for even in ("true", "false"):
        settings = ("selfplay.starts=book.fen", "selfplay.starts_share=1.0", f"selfplay.starts_even={even}")
        starts = StartPositions(recipe_with(*settings), 3, FENS)
        sides = [starts.fen(game, 0).split()[1] for game in range(1000)]
        shares[even] = sides.count("w")
    assert abs(binomial_z(shares["true"], 1000, 0.5)) < SURE
    assert abs(binomial_z(shares["false"], 1000, 0.75)) < SURE


@pytest.mark.parametrize("variant", ["gardner", "atomic", "chess960", "horde"])
def test_generated_positions_have_the_men_of_their_phase(variant: str) -> None:
    men = sum(letter.isalpha() for letter in Position(variant).board_fen())
    found = {kind: [generate(variant, kind, seed) for seed in range(30)] for kind in ("middlegames", "endgames")}
    for kind, (low, high) in {"middlegames": (0.55, 0.85), "endgames": (0.1, 0.4)}.items():
        made = [fen for fen in found[kind] if fen]
        assert len(set(made)) > 25
        for fen in made:
            position = Position(variant, fen)
            assert not position.is_game_over(claim_draw=True)
            left = sum(letter.isalpha() for letter in position.board_fen())
            assert max(3, int(low * men)) <= left <= max(3, high * men + 1)
    assert {generate(variant, "middlegames", 5, turn).split()[1] for turn in "wb"} == {"w", "b"}


def test_generated_positions_are_of_both_phases_and_sides() -> None:
    """Half are middlegames, half endgames; with `starts_even`, White and Black are to move alike in either."""
    settings = ("selfplay.starts=generated", "selfplay.starts_share=1.0")
    men = sum(letter.isalpha() for letter in Position("gardner").board_fen())
    seen = {}
    for even in ("true", "false"):
        starts = StartPositions(recipe_with(*settings, f"selfplay.starts_even={even}"), 3, ())
        fens = [starts.fen(game, 0) for game in range(240)]
        late = [sum(letter.isalpha() for letter in fen.split()[0]) < 0.5 * men for fen in fens if fen]
        assert abs(binomial_z(sum(late), len(late), 0.5)) < SURE
        turns = [starts._draw(number).split()[1] for number in range(80) if starts._draw(number)]
        seen[even] = [turn == "wb"[number & 1] for number, turn in enumerate(turns)]
    assert len(seen["true"]) == 80
    assert all(seen["true"])
    assert not all(seen["false"])


@pytest.mark.parametrize("variant", ["gardner", "atomic", "atomic960", "horde"])
def test_a_handicap_is_a_start_without_some_men_of_one_side(variant: str) -> None:
    start = Position(variant).board_fen()
    whole = {test: sum(map(test, start)) for test in (str.isupper, str.islower)}
    seen: set[tuple[bool, int]] = set()
    for seed in range(400):
        fen = handicap(variant, seed)
        position = Position(variant, fen)
        assert not position.is_game_over(claim_draw=True)
        missing = {test: count - sum(map(test, position.board_fen())) for test, count in whole.items()}
        white, black = missing[str.isupper], missing[str.islower]
        assert (white > 0) != (black > 0)
        assert ("K" in position.board_fen(), "k" in position.board_fen()) == ("K" in start, "k" in start)
        seen.add((white > 0, white + black))
    pieces = {"gardner": 9, "horde": 36}.get(variant, 15)
    sides = [True] if variant == "horde" else [True, False]  # the horde has more men than the army
    assert seen == {(side, number) for side in sides for number in range(1, int(0.8 * pieces) + 1)}


def test_handicaps_have_one_side_to_move() -> None:
    with pytest.raises(RecipeError, match=r"selfplay\.starts: handicaps have the side to move of the start"):
        read_starts(recipe_with("selfplay.starts=handicaps", "selfplay.starts_even=true"))
    assert read_starts(recipe_with("selfplay.starts=handicaps")) is None


def test_games_of_horde_begin_at_handicaps(tmp_path: Path) -> None:
    settings = ("selfplay.games=16", "selfplay.starts_share=1.0", "selfplay.max_plies=8")
    train("horde-laptop", tmp_path / "run", overrides=settings, smoke=True, device="cpu")
    records = list(RunReader.open(tmp_path / "run").games())
    assert records
    assert all(record.start_fen.split()[0].count("P") < 36 for record in records)


def test_games_begin_at_generated_positions_without_random_plies(tmp_path: Path) -> None:
    settings = (*SETTINGS, "selfplay.starts=generated", "selfplay.starts_share=0.5", "selfplay.games=24")
    train("gardner-laptop", tmp_path / "run", overrides=settings, smoke=True, device="cpu")
    records = list(RunReader.open(tmp_path / "run").games())
    starts = [record for record in records if record.start_fen != Position("gardner").fen()]
    assert abs(binomial_z(len(starts), len(records), 0.5)) < SURE
    assert {record.random_plies for record in starts} == {0}
    assert any(record.random_plies for record in records if record not in starts)
    for line in metrics(tmp_path / "run"):
        mine = [record for record in starts if record.game_id // 24 == line["cycle"]]
        assert line["starts"] == len(mine) / 24
        assert line["starts_white"] == sum(" w " in record.start_fen for record in mine) / len(mine)


def test_a_run_keeps_the_start_positions_that_it_began_with(tmp_path: Path, book: Path) -> None:
    """The file may go: the same command resumes the run, and a copy of it, with the same positions."""
    settings = (*SETTINGS, f"selfplay.starts={book}", "selfplay.starts_share=1.0")
    options: dict[str, Any] = {"smoke": True, "device": "cpu", "overrides": settings}
    train("gardner-laptop", tmp_path / "run", **options)
    book.unlink()
    assert (tmp_path / "run" / "starts.fen").read_text().splitlines() == list(FENS)
    pack(tmp_path / "run", tmp_path / "copy", 100)
    longer = {**options, "overrides": (*settings, "selfplay.cycles=3")}
    for name in ("run", "copy"):
        train("gardner-laptop", tmp_path / name, **longer)
        assert {record.start_fen for record in RunReader.open(tmp_path / name).games()} <= set(FENS)
    (tmp_path / "run" / "starts.fen").write_text(FENS[0])
    with pytest.raises(Exception, match="checksum mismatch"):
        train("gardner-laptop", tmp_path / "run", **longer)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "book.csv: No such file or directory"),
        ("", "book.csv: the file is empty"),
        ("PuzzleId,FEN,Moves\n", "book.csv: the file is empty"),
        ("hello\nworld", "book.csv: no position of gardner: 2 of 2 rows cannot be used: line 1: four fields of a"),
        (
            "PuzzleId,FEN,Moves,Themes\na,4k/5/5/5/KQ3 w - - 0 1,b1b2,horde",
            "book.csv: no position of gardner: 1 of 1 rows cannot be used: line 2: a puzzle of horde, not of gardner",
        ),
        ("\n".join(FENS[:2]), "book.csv: White is to move in every position, so they cannot be drawn evenly"),
    ],
)
def test_a_file_without_a_use_is_refused_in_one_line(
    tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch, text: str | None, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("book.csv").write_text(text)
    settings = ("--set", "selfplay.starts=book.csv", "--set", "selfplay.starts_even=true")
    done = run("train", "gardner-laptop", "--smoke", "--run", "run", *settings)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"selfmate: selfplay.starts: {reason}")
    assert done.err.count("\n") == 1
    assert not Path("run").exists()


def test_a_device_is_no_file_of_positions() -> None:
    with pytest.raises(RecipeError, match=r"selfplay\.starts: /dev/zero: not a file"):
        read_starts(recipe_with("selfplay.starts=/dev/zero"))  # without an end


def test_bad_rows_are_counted_skipped_and_shown(tmp_path: Path, book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book.write_text("\n".join([*FENS, "nonsense", "8/8 w - - 0 1", FENS[0], "4k/5/5/5/K4 w - - 0 1"]))
    found = read_starts(recipe_with(f"selfplay.starts={book}"))
    assert found is not None
    assert (found.fens, found.rows, found.bad_rows, found.white) == (list(FENS), 8, 3, 3)
    assert found.bad[2] == (8, "the game is over")
    train(
        "gardner-laptop", tmp_path / "run", overrides=(*SETTINGS, f"selfplay.starts={book}"), smoke=True, device="cpu"
    )
    said = capsys.readouterr().out
    assert f"{book}: 4 start positions, 75% with White to move, 25% with Black; 3 of 8 rows cannot be used: " in said
    assert "line 5: four fields of a position expected" in said


# -- keys that cannot go together -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            ("selfplay.resign=0.9", "selfplay.resign_played_out=0.0"),
            "selfplay.resign_played_out: with resignation some",
        ),
        (("selfplay.starts_even=true",), "selfplay.starts_even: without selfplay.starts"),
        (("variant.name=antichess", "selfplay.judge=material"), "selfplay.judge: more material is no advantage"),
        (("selfplay.judge=stockfish",), "selfplay.judge: expected one of none, search, material, heuristic-1"),
        (("selfplay.judge=uci:",), "selfplay.judge: expected one of"),
        (("selfplay.explorer=stockfish",), "selfplay.explorer: unknown value 'stockfish'"),
        (("selfplay.temperature_by_move=[[1, 1.0]]",), "selfplay.temperature_by_move: expected up to 64 entries"),
        (("selfplay.temperature_by_move=[[0, 1.0], [0, 0.5]]",), "selfplay.temperature_by_move: expected up to 64"),
        (("selfplay.temperature_by_move=[[0, 11.0]]",), "expected a list [[move, number], ...]"),
        (("selfplay.temperature_by_move=1.0",), "selfplay.temperature_by_move: expected a list"),
        (
            ("search.gumbel=false", "search.noise_epsilon=0.0", "selfplay.temperature_by_move=[[0, 0.0]]"),
            "search.noise_epsilon: without noise, temperature and Gumbel root",
        ),
    ],
)
def test_what_cannot_be_is_refused(settings: tuple[str, ...], reason: str) -> None:
    with pytest.raises(RecipeError) as refused:
        recipe_with(*settings)
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


# -- from the recipe to the pool ------------------------------------------------------------------


def games_of(*settings: str) -> list[bytes]:
    """Return games that a recipe's pool plays with a net of random answers."""
    recipe = recipe_with("selfplay.max_plies=20", "selfplay.random_plies=0", *settings)
    pool = selfplay_pool(recipe, 0, seed=3, concurrency=Concurrency(8, 0, ""), lanes=1, threads=1)
    pool.start(0, 8)
    pool.run("fake")
    return [record.to_bytes() for record in pool.drain()]


def test_the_temperature_by_move_reaches_the_pool() -> None:
    warm = games_of("selfplay.temperature=1.0", "selfplay.temperature_plies=6")
    assert games_of("selfplay.temperature_by_move=[[0, 1.0], [3, 0.0]]") == warm
    assert games_of("selfplay.temperature_by_move=[[0, 0.0]]") == games_of("selfplay.temperature=0.0") != warm


def test_leaves_of_one_search_fill_the_batch() -> None:
    sizes = {}
    for leaves in (1, 4):
        settings = ("search.gumbel=false", "search.noise_epsilon=0.25", f"selfplay.leaves={leaves}")
        recipe = recipe_with(*settings, "selfplay.visits=32", "selfplay.full_probability=1.0")
        pool = selfplay_pool(recipe, 0, seed=3, concurrency=Concurrency(2, 0, ""), lanes=1, threads=1)
        pool.start(0, 2)
        found = []
        for _ in range(12):
            batch = pool.gather(0)
            found.append(batch.size)
            pool.apply(batch.ticket, *answer(batch))
        sizes[leaves] = max(found)
    assert sizes[1] <= 2 < sizes[4] <= 8


# -- the cache of evaluations ---------------------------------------------------------------------


def test_without_the_cache_the_same_games_need_more_evaluations() -> None:
    found = []
    for cache in ("true", "false"):
        recipe = recipe_with(f"selfplay.cache={cache}", "selfplay.visits=16", "selfplay.max_plies=30")
        pool = selfplay_pool(recipe, 0, seed=3, concurrency=Concurrency(8, 0, ""), lanes=1, threads=1)
        pool.start(0, 8)
        evaluations = 0
        while not pool.done():
            leaves = pool.gather(0)
            evaluations += leaves.size
            pool.apply(leaves.ticket, *answer(leaves))
        found.append((evaluations, [record.to_bytes() for record in pool.drain()]))
    (fewer, cached), (evaluations, plain) = found
    assert cached == plain
    assert fewer < 0.95 * evaluations


# -- judges ---------------------------------------------------------------------------------------


def truncated_games(count: int = 12, max_plies: int = 11) -> list[GameRecord]:
    config = SelfPlayConfig(visits=4, max_plies=max_plies, temperature_plies=20, full_probability=1.0)
    pool = Pool("gardner", SearchConfig(), config, seed=5)
    pool.start(0, count)
    pool.run("fake")
    return pool.drain()


def last_position(record: GameRecord) -> Position:
    position = Position(record.variant, record.start_fen)
    for move in record.moves:
        position.play(move)
    return position


@pytest.mark.parametrize("value", [0.25, 0.5])
def test_material_judges_by_the_side_that_has_more(value: float) -> None:
    values = {"Q": 9, "R": 5, "B": 3, "N": 3, "P": 1}
    seen = set()
    recipe = recipe_with("selfplay.judge=material", f"selfplay.judge_value={value}")
    for record in judge_games(recipe, truncated_games(40)):
        if record.outcome is not None:
            assert record.judgement is None
            continue
        position = last_position(record)
        lead = sum(
            n * (len(position.pieces(piece)) - len(position.pieces(piece.lower()))) for piece, n in values.items()
        )
        expected = value * ((lead > 0) - (lead < 0))
        assert record.judgement == pytest.approx((expected, 1 - abs(expected)))
        seen.add(expected)
    assert seen == {-value, 0.0, value}
    assert material_value(Position("chess", "4k3/8/8/8/8/8/8/3QK3 b - - 0 1"), 0.4) == 0.4


def test_heuristic_1_judges_for_white() -> None:
    seen = set()
    for max_plies in (10, 11):
        for record in judge_games(recipe_with("selfplay.judge=heuristic-1"), truncated_games(8, max_plies)):
            if record.outcome is not None:
                continue
            position = last_position(record)
            win, draw, loss = (float(share) for share in evaluate(position, "heuristic-1")[1])
            assert record.judgement is not None
            value = win - loss if position.turn == WHITE else loss - win
            assert record.judgement == pytest.approx((value, draw), abs=1e-5)
            seen.add(position.turn)
    assert seen == {WHITE, BLACK}


def test_games_of_chess960_are_judged_after_their_castling() -> None:
    """An engine gets castling as the king's move to the rook's square."""
    config = SelfPlayConfig(visits=2, max_plies=8, temperature=2.0, temperature_plies=8, full_probability=1.0)
    pool = Pool("chess960", SearchConfig(), config, seed=5)
    fen = "1rk3r1/pppppppp/8/8/8/8/PPPPPPPP/1RK3R1 w GBgb - 0 1"
    pool.start_games([(fen, 0, 0)] * 40)
    pool.run("fake")
    castled = 0
    for record in pool.drain():
        position, moves = _last_position(record)
        assert position.chess960
        castled += bool({"c1b1", "c1g1", "c8b8", "c8g8"} & set(moves))
    assert castled > 3


def test_without_a_judge_games_stay_as_they_are() -> None:
    games = truncated_games()
    for judge in ("none", "search"):
        assert judge_games(recipe_with(f"selfplay.judge={judge}"), games) is games


ENGINE: Final = """
import sys
print_ = lambda *lines: print(*lines, sep="\\n", flush=True)
for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        print_("id name Scorer", "option name UCI_Variant type combo default chess var chess var gardner", "uciok")
    elif words[:1] == ["isready"]:
        print_("readyok")
    elif words[:1] == ["position"]:
        moves = words[words.index("moves") + 1 :] if "moves" in words else []
    elif words[:1] == ["go"]:
        score = "mate -3" if len(moves) % 2 else f"cp {10 * len(moves)}"
        print_(f"info depth 1 score {score} nodes {words[2]}", "bestmove a2a3")
    elif words[:1] == ["quit"]:
        break
"""


def test_an_engine_judges_by_its_score_for_the_side_to_move(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    recipe = recipe_with(f"selfplay.judge=uci:{sys.executable} -S {script}?nodes=7")
    for max_plies, expected in ((11, 1.0), (10, 0.5358)):  # Black is to move and mated; White is one pawn ahead
        judged = judge_games(recipe, truncated_games(3, max_plies))
        values = [record.judgement for record in judged if record.judgement is not None]
        assert values
        for value in values:
            assert value == pytest.approx((expected, 1 - expected), abs=1e-3)
    assert engine_value(EngineScore(cp=-100)) == -engine_value(EngineScore(cp=100)) == pytest.approx(-0.5358, abs=1e-3)


def test_an_engine_without_a_limit_has_nodes() -> None:
    assert read_valuer(f"uci:{sys.executable}").limit == Limit(nodes=10_000)
    assert read_valuer(f"uci:{sys.executable}?depth=3").limit == Limit(depth=3)


def test_an_engine_without_a_score_is_no_draw(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE.replace("score {score} ", ""))
    recipe = recipe_with(f"selfplay.judge=uci:{sys.executable} -S {script}?nodes=7")
    with pytest.raises(EngineError, match="gave no score"):
        judge_games(recipe, truncated_games(1, 10))


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        ("uci:no-such-engine", "selfplay.judge: engine no-such-engine: there is no such program"),
        ("uci:{engine}?option.Skill=3", "selfplay.judge: Scorer has no option 'Skill'"),
        ("uci:{engine}?movetime=100", "selfplay.judge: nodes or depth are limited here, not time"),
    ],
)
def test_an_engine_that_cannot_judge_is_refused(tmp_path: Path, run: Command, judge: str, reason: str) -> None:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    text = judge.format(engine=f"{sys.executable} -S {script}")
    done = run("train", "gardner-laptop", "--run", tmp_path / "run", "--set", f"selfplay.judge={text}")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"selfmate: {reason}")
    assert not (tmp_path / "run").exists()
    if "option" in judge:  # and one that does not know the variant
        done = run("train", "atomic-laptop", "--run", tmp_path / "run", "--set", f"selfplay.judge={text[:-15]}")
        assert "Scorer does not play atomic" in done.err


# -- the explorer ---------------------------------------------------------------------------------


def test_the_explorer_plays_until_a_candidate_has_passed(tmp_path: Path) -> None:
    explorer = recipe_with("selfplay.explorer=heuristic-1", "selfplay.uniform_cycles=1", "selfplay.explorer_cycles=4")
    assert [native_evaluator(explorer, cycle, 0) for cycle in range(6)] == ["uniform"] + 5 * ["heuristic-1"]
    assert [native_evaluator(explorer, cycle, 2) for cycle in range(2, 6)] == ["heuristic-1", "heuristic-1", None, None]
    assert native_evaluator(recipe_with(), 0, 0) is None
    settings = (*SETTINGS, "selfplay.explorer=heuristic-1", "gate.games=0")
    train("gardner-laptop", tmp_path / "run", overrides=settings, smoke=True, device="cpu")
    for record in RunReader.open(tmp_path / "run").games():
        position, is_heuristic = Position("gardner", record.start_fen), []
        trained = {entry["ply"]: entry["net_value"] for entry in record.trained()}
        for ply, move in enumerate(record.moves):
            if ply in trained:
                wdl = evaluate(position, "heuristic-1")[1]
                is_heuristic.append(abs(float(wdl[0] - wdl[2]) - trained[ply]) < 0.01 or abs(trained[ply]) == 1)
            position.play(move)
        assert all(is_heuristic) == (record.game_id < 8)


@pytest.mark.parametrize(
    "player", ["selfplay.explorer=net", "selfplay.explorer=heuristic-1", "selfplay.uniform_cycles=2"]
)
def test_games_of_every_player_begin_at_starts_and_are_judged(tmp_path: Path, player: str) -> None:
    starts = ("selfplay.starts=endgames", "selfplay.starts_share=1.0", "selfplay.judge=material", "gate.games=0")
    train("gardner-laptop", tmp_path / "run", overrides=(*SETTINGS, player, *starts), smoke=True, device="cpu")
    for line in metrics(tmp_path / "run"):
        assert (line["starts"], line["judged"]) == (1.0, line["truncated"])
        assert line["truncated"] > 0
    for record in RunReader.open(tmp_path / "run").games():
        assert record.start_fen != Position("gardner").fen()
        assert (record.judgement is None) == (record.outcome is not None)


# -- a whole run ----------------------------------------------------------------------------------


def every_option(book: Path) -> tuple[str, ...]:
    return (
        *SETTINGS, f"selfplay.starts={book}", "selfplay.starts_even=true", "selfplay.judge=search",
        "selfplay.temperature_by_move=[[0, 1.2], [2, 0.6], [4, 0.25]]", "selfplay.policy_plies=2",
        "selfplay.policy_games=0.2", "selfplay.resign=0.002", "selfplay.resign_moves=1", "selfplay.resign_from=1",
        "selfplay.resign_played_out=0.5", "selfplay.quickdraw=6", "selfplay.cycles=3",
    )  # fmt: skip


def test_a_run_with_every_option_can_be_stopped_anywhere(
    tmp_path: Path, book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = functools.partial(train, "gardner-laptop", overrides=every_option(book), smoke=True, device="cpu")
    go(run=tmp_path / "whole")
    stop, sessions = ImpatientStop(monkeypatch), 0
    reason = ""
    while reason != "complete":
        sessions += 1
        stop.left = 9 + 3 * sessions
        reason = go(run=tmp_path / "stopped").reason
        book.unlink(missing_ok=True)
        assert sessions < 100
    assert sessions > 3
    whole, stopped = (
        {record.game_id: record.to_bytes() for record in RunReader.open(tmp_path / name).games()}
        for name in ("whole", "stopped")
    )
    assert whole == stopped
    lines = metrics(tmp_path / "whole")
    assert all({"resigned", "resign_played_out", "resign_false", "judged", "starts"} <= line.keys() for line in lines)
    assert sum(line["resign_played_out"] for line in lines) > 0
    games = list(RunReader.open(tmp_path / "whole").games())
    for line in lines:
        mine = [record for record in games if record.game_id // line["games"] == line["cycle"]]
        assert len(mine) == line["games"]
        assert line["resigned"] == sum("resigns" in record.reason for record in mine) / len(mine)
        assert line["judged"] == sum(record.judgement is not None for record in mine) / len(mine)
        if line["resign_played_out"]:
            assert line["resign_false_rate"] == line["resign_false"] / line["resign_played_out"]
    nets = [sorted((tmp_path / name / "checkpoints").glob("*/net.safetensors")) for name in ("whole", "stopped")]
    assert [path.read_bytes() for path in nets[0]] == [path.read_bytes() for path in nets[1]]


# -- puzzles from games ---------------------------------------------------------------------------


def test_a_puzzle_follows_a_mistake() -> None:
    """White leaves the queen to a pawn: the move is the first of the puzzle, and taking the queen solves it."""
    position = Position("chess")
    moves = [position.play(position.parse_san(san)) for san in ("e4", "d5", "Qg4", "Nf6", "Qf4", "Nc6", "Qg5", "h6")]
    # The first of these moves loses; those that follow are no mistakes.
    moves += [position.play(position.parse_san(san)) for san in ("Qxh6", "Rxh6", "Nf3", "Rh8", "d3", "e6")]
    puzzles = make_puzzles([SourceGame("chess", Position("chess").fen(), moves, "game")], visits=400)
    assert [each.source for each in puzzles if int(each.source.partition("#")[2]) > 9] == []
    last = puzzles[-1]
    before = Position("chess", last.fen)
    assert before.turn == WHITE
    assert last.moves[0] == "g5h6"
    assert last.source == "game#9"
    assert "opening" in last.themes
    assert "chess" in last.themes
    before.play(last.moves[0])
    assert last.moves[1] in ("h8h6", "g7h6")
    assert balanced(puzzles) == [] or len(balanced(puzzles)) % 2 == 0


def test_puzzles_of_a_run_begin_games_of_another(tmp_path: Path, run: Command) -> None:
    settings = ("selfplay.max_plies=60", "progress.games=0", "gate.final_games=0", "selfplay.cycles=1")
    train("gardner-laptop", tmp_path / "run", overrides=settings, smoke=True, device="cpu")
    book = tmp_path / "puzzles.csv"
    done = run("starts", tmp_path / "run", "-o", book, "--even", "--visits", "50")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(" puzzles, 50.0 % with White to move.\n")
    found = read_starts(recipe_with(f"selfplay.starts={book}", "selfplay.starts_even=true"))
    assert found is not None
    assert found.bad_rows == 0
    assert len(found.fens) > 4
    assert found.white == len(found.fens) / 2
    done = run("starts", tmp_path / "run", "-o", book, "--visits", "50")  # as they come
    found = read_starts(recipe_with(f"selfplay.starts={book}"))
    assert found is not None
    assert found.white != len(found.fens) / 2
    assert done.out.endswith(f" puzzles, {100 * found.white / len(found.fens):.1f} % with White to move.\n")
    (tmp_path / "empty").mkdir()
    for path, reason in (
        (tmp_path / "nothing", "neither a run nor a PGN file"),
        (tmp_path / "empty", "not a run directory"),
        (tmp_path, f"puzzles.csv: lies in {tmp_path}, which is being read; choose another place for --output"),
    ):
        done = run("starts", path, "-o", book)
        assert (done.code, reason in done.err, done.err.count("\n")) == (2, True, 1)
    games = tmp_path / "games.pgn"
    games.write_text("")
    assert run("starts", games, "-o", book).err == f"selfmate: {games}: no game\n"
    games.write_text("1. Ke4 *")
    assert run("starts", games, "-o", book).err.startswith(f"selfmate: {games}: line 1: 'Ke4' is not legal")
    shutil.copy(next((tmp_path / "run/pgn").glob("*.pgn")), games)
    copy = games.read_bytes()
    assert "this file is being read; choose another for --output" in run("starts", games, "-o", games).err
    assert games.read_bytes() == copy
    assert run("starts", games, "-o", book, "--visits", "50").code == 0
    assert book.read_text().startswith("PuzzleId,FEN,Moves,Rating,")
