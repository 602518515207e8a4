"""Flags, names and numbers of the Python API that are nothing of the kind: one short line of a documented exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from selfmate import (
    Buffer,
    FunctionEvaluator,
    Game,
    Limit,
    Move,
    Player,
    Position,
    Run,
    SearchConfig,
    SearchError,
    SelfmateError,
    SelfPlayConfig,
    chess960_fen,
    parse_epd,
    play_config,
    play_match,
    read_games,
    selfplay_games,
    svg,
)
from selfmate.envs import BatchedGames, GamesVectorEnv, VariantAECEnv, VariantEnv
from selfmate.util.frames import to_frame

GARDNER = Position("gardner")
TREE = Player("uniform").search_tree(GARDNER, Limit(visits=4))
HUGE = 10**5000
ODD = {
    "an array of flags": np.array([True, False]),
    "an array of names": np.array(["chess", "atomic"]),
    "an empty array": np.zeros(0),
    "a table": np.zeros((3, 3)),
    "5001 digits": HUGE,
    "-5001 digits": -HUGE,
    "a list of 5001 digits": [HUGE],
    "NaN": float("nan"),
    "a dictionary": {},
    "a position": GARDNER,
}


def match(**options: Any) -> object:
    usual: dict[str, Any] = {"openings": [GARDNER.fen()], "search": SearchConfig(), "visits": 1, "max_plies": 2}
    return play_match("gardner", "uniform", "uniform", **(usual | options))


CALLS: dict[str, Callable[[Any], object]] = {
    "chess960_fen number": chess960_fen,
    "chess960_fen shredder": lambda odd: chess960_fen(5, shredder=odd),
    "chess960_start number": Position.chess960_start,
    "chess960_start variant": lambda odd: Position.chess960_start(5, odd),
    "svg size": lambda odd: GARDNER.svg(size=odd),
    "svg check": lambda odd: GARDNER.svg(check=odd),
    "svg last_move": lambda odd: GARDNER.svg(last_move=odd),
    "svg coordinates": lambda odd: svg.board(GARDNER, coordinates=odd),
    "read_games on_error": lambda odd: read_games("none.pgn", on_error=odd),
    "read_games lenient": lambda odd: read_games("none.pgn", lenient=odd),
    "read_games variant": lambda odd: read_games("none.pgn", variant=odd),
    "from_pgn lenient": lambda odd: Game.from_pgn("1. e4 *", lenient=odd),
    "parse_epd number": lambda odd: parse_epd("what", number=odd),
    "add_variation comment": lambda odd: Game().add_variation("e2e4", comment=odd),
    "same_moves": lambda odd: Game().same_moves(odd),
    "Player device": lambda odd: Player("uniform", device=odd),
    "Player backend": lambda odd: Player("uniform", backend=odd),
    "FunctionEvaluator name": lambda odd: FunctionEvaluator("gardner", lambda planes: (planes, planes), name=odd),
    "play_config lcb": lambda odd: play_config(lcb=odd),
    "play_config noise": lambda odd: play_config(noise=odd),
    "play_config gumbel": lambda odd: play_config(gumbel=odd),
    "tree node": lambda odd: TREE.node(odd),
    "tree to_json": lambda odd: TREE.to_json(indent=odd),
    "frame library": lambda odd: to_frame({}, odd),
    "match openings": lambda odd: match(openings=odd),
    "match lanes": lambda odd: match(lanes=odd),
    "Run": Run.open,
    "env seat": lambda odd: VariantEnv("gardner", seat=odd),
    "env noise": lambda odd: VariantEnv("gardner", noise=odd),
    "env limit": lambda odd: VariantEnv("gardner", limit=odd),
    "env starts": lambda odd: BatchedGames("gardner", 1, starts=odd),
    "env copy": lambda odd: GamesVectorEnv("gardner", 1, copy=odd),
    "env agent": lambda odd: VariantAECEnv("gardner").observe(odd),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_nothing_of_the_kind_is_one_short_line(call: Callable[[Any], object], odd: Any) -> None:
    with pytest.raises((SelfmateError, TypeError)) as caught:
        call(odd)
    if isinstance(caught.value, SelfmateError):
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 200


def test_options_of_a_reset_are_a_dictionary() -> None:
    env = VariantEnv("gardner")
    for odd in (np.array([True, False]), 5, "fen", [1]):
        with pytest.raises(SelfmateError, match=r"^options must be a dictionary, not "):
            env.reset(options=odd)  # type: ignore[arg-type]
    assert env.reset(seed=1, options={"fen": GARDNER.fen()})[1] == {}


def test_a_name_that_is_no_text_of_utf8_is_refused() -> None:
    with pytest.raises(SelfmateError, match="an evaluator needs a name, not "):
        FunctionEvaluator("gardner", lambda planes: (planes, planes), name="\ud800")
    for path in ("\ud800", "two\nlines", "nul\0"):
        with pytest.raises(SelfmateError) as caught:
            Run.open(path)
        assert str(caught.value).isprintable()


def test_what_was_refused_has_changed_nothing() -> None:
    game = Game()
    with pytest.raises(SelfmateError, match="a comment is a text, not 5"):
        game.add_variation("e2e4", comment=5)  # type: ignore[arg-type]
    assert game.variations == []


def test_what_is_of_the_kind_is_still_taken() -> None:
    assert chess960_fen(np.int64(518)) == Position("chess").fen()  # type: ignore[arg-type]
    assert play_config(lcb=np.False_) == play_config(lcb=False)  # type: ignore[arg-type]
    assert GARDNER.svg(size=np.int32(90), check=np.int64(4), last_move=Move.from_uci("a2a3")).startswith("<svg")  # type: ignore[arg-type]
    assert TREE.node(TREE.root.children[0].move).depth == 1  # type: ignore[arg-type]
    assert TREE.to_json(indent=2).startswith("{\n  ")


@pytest.mark.parametrize("threads", [-1, 1025])
def test_a_buffer_has_threads_and_samples_in_their_ranges(threads: int) -> None:
    with pytest.raises(ValueError, match=r"^threads go from 0 \(all\) to 1024$"):
        Buffer("gardner", 10, threads)
    for size in (0, 1_000_001):
        with pytest.raises(ValueError, match=r"^size goes from 1 to 1,000,000$"):
            Buffer("gardner", 10).sample(size, 1)


def test_a_field_of_a_config_shows_what_it_is() -> None:
    shown = {field.name: repr(field) for config in (SearchConfig, SelfPlayConfig) for field in config.fields()}
    assert shown["cpuct_base"].startswith(
        "<ConfigField cpuct_base: float, default 0.0, from 0 to 1,000,000; the constant"
    )
    assert shown["cpuct"].startswith("<ConfigField cpuct: float, default 1.25, above 0 to 100; ")
    assert shown["select"].startswith("<ConfigField select: str, default 'puct', one of puct, ucb1, noise; ")
    assert shown["solver"].startswith("<ConfigField solver: bool, default True; ")
    assert shown["visits"].startswith("<ConfigField visits: int, required, from 1 to 100,000; ")


def test_a_game_and_a_buffer_show_what_they_are() -> None:
    for max_plies in (4, 512):
        selfplay = SelfPlayConfig(visits=2, max_plies=max_plies)
        [record] = selfplay_games("uniform", "gardner", 1, selfplay=selfplay, seed=1)
        end = f"{record.result}, {record.reason}" if record.outcome else "*"
        assert (end == "*") == (max_plies == 4)
        assert repr(record) == f"<GameRecord 0: gardner {end}, {len(record.moves)} plies>"
    buffer = Buffer("gardner", 100)
    assert repr(buffer) == "<Buffer: 0 games, 0 positions>"
    buffer.add(record)
    assert repr(buffer) == f"<Buffer: 1 games, {buffer.positions} positions>"


def test_a_flag_of_play_is_named() -> None:
    with pytest.raises(SearchError, match=r"^gumbel must be True or False, not 1$"):
        play_config(gumbel=1)  # type: ignore[arg-type]
