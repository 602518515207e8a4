"""`selfmate analyse`, `selfmate nets` and `selfmate export`: what they print, and one line for bad input."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from command import Run
from selfmate import Game, Position
from selfmate.app import marks
from selfmate.app.analyse import VariantPlayers
from selfmate.app.analysis_input import read_input
from selfmate.app.judge import analyse, analyse_game
from selfmate.board.epd import parse_epd
from selfmate.evaluator.open import open_evaluator
from selfmate.nn import shipped as nets
from selfmate.nn.checkpoint import read_card
from selfmate.search.limit import Limit
from selfmate.search.player import Player

MATE_IN_ONE = "r1bqkbnr/pppp1ppp/2n5/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4"
FOOLS_MATE = '[White "Fool"]\n[Black "Scholar"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'


@pytest.fixture(autouse=True)
def _quick_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks are tested elsewhere; here the judge's searches would take seconds for a move."""
    monkeypatch.setattr(marks, "JUDGE_VISITS", 32)
    monkeypatch.setattr(marks, "CHECK_NODES", (20_000, 50_000))


# -- positions ------------------------------------------------------------------------------------


def test_a_fen(run: Run) -> None:
    code, out, err = run("analyse", MATE_IN_ONE, "--visits", "50")
    assert (code, err) == (0, "")
    assert MATE_IN_ONE in out
    assert "Qxf7#" in out
    assert "wins in 1" in out
    assert "chess-gpu" in out


def test_the_start_position_by_the_shipped_net(run: Run) -> None:
    code, out, _ = run("analyse", "--variant", "gardner", "--visits", "64", "--multipv", "2", "--json")
    assert code == 0
    (line,) = out.splitlines()
    values = json.loads(line)
    assert values["player"] == "gardner-laptop"
    assert values["fen"] == Position("gardner").fen()
    assert values["visits"] == 64
    assert len(values["moves"]) == 2
    first = values["moves"][0]
    assert {key: first[key] for key in ("uci", "san")} == values["best"]
    position = Position("gardner")
    for san in first["pv"]:  # a line of legal moves
        position.play(position.parse_san(san))
    assert first["pv"][0] == first["san"]
    assert sum(values["wdl"]) == pytest.approx(1, abs=1e-3)
    assert -1 <= values["value"] <= 1


def test_an_epd_file_checks_best_moves_and_moves_to_avoid(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "suite.epd"
    start = " ".join(MATE_IN_ONE.split()[:4])
    lines = [f'{start} bm Qxf7#; id "one";', f"{start} am Qxf7#;", f"{start} bm Qh4; am Qxe5+;", f"{start} acd 3;"]
    path.write_text("\n".join(lines), encoding="ascii")
    code, out, _ = run("analyse", str(path), "--visits", "30")
    assert code == 0
    for line in ("one: ", "bm Qxf7#: found", "am Qxf7#: not avoided", "bm Qh4: missed", "am Qxe5+: avoided"):
        assert line in out
    assert out.splitlines()[-1] == "1 right of 3"
    code, out, _ = run("analyse", str(path), "--visits", "30", "--json")
    found = [json.loads(line) for line in out.splitlines()]
    assert [each.get("right") for each in found] == [True, False, False, None]
    assert found[0]["id"] == "one"
    assert found[0]["bm"] == [{"uci": "h5f7", "san": "Qxf7#"}]


def test_right_is_by_the_move_that_would_be_played() -> None:
    player, limit = Player("heuristic-1"), Limit(visits=30)
    assert analyse(player, parse_epd(f"{' '.join(MATE_IN_ONE.split()[:4])} bm Qxf7#;"), limit).right is True
    assert analyse(player, parse_epd(f"{' '.join(MATE_IN_ONE.split()[:4])} bm a3 b3;"), limit).right is False
    assert analyse(player, parse_epd(f"{' '.join(MATE_IN_ONE.split()[:4])} am a3;"), limit).right is True
    assert analyse(player, parse_epd(MATE_IN_ONE), limit).right is None


def test_files_of_fens_and_standard_input(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "positions.txt"
    path.write_text(f"# two\n{MATE_IN_ONE}\n\n{Position().fen()}\n", encoding="ascii")
    code, out, _ = run("analyse", str(path), "--visits", "10", "--json")
    assert code == 0
    assert len(out.splitlines()) == 2
    for text, count in ((f"{MATE_IN_ONE}\n", 1), (FOOLS_MATE, 4), ("1. e4 e5 *", 2)):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        code, out, _ = run("analyse", "-", "--visits", "10", "--json")
        assert code == 0
        assert len(out.splitlines()) == count


def test_seconds(run: Run) -> None:
    code, out, _ = run("analyse", "--seconds", "0.05", "--json")
    assert code == 0
    assert json.loads(out)["visits"] > 10


# -- games ----------------------------------------------------------------------------------------


def test_a_game(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.pgn"
    path.write_text(FOOLS_MATE, encoding="ascii")
    code, out, _ = run("analyse", str(path), "--net", "heuristic-1", "--visits", "500")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "1. Fool - Scholar 0-1 (chess; by heuristic-1, 500 visits)"
    assert lines[1] == "Values from -1 (Black wins) to 1 (White wins), after each move."
    assert lines[4].startswith("2. g4??")
    assert "-1.00   better: " in lines[4]
    assert lines[5].split() == ["2...", "Qh4#", "-1.00"]  # a win of Black, seen by White
    assert lines[6].split()[2].endswith("▁▁")
    assert lines[8].startswith("            Fool: accuracy ")
    assert lines[8].endswith("0 inaccuracies, 0 mistakes, 1 blunder")
    assert lines[10].startswith("            Scholar: accuracy ")
    assert len(lines) == 11


def test_a_game_as_json(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text(FOOLS_MATE + '\n[Variant "Atomic"]\n\n1. Nf3 f6 *\n', encoding="ascii")
    code, out, _ = run("analyse", str(path), "--visits", "100", "--json", "--multipv", "1")
    assert code == 0
    found = [json.loads(line) for line in out.splitlines()]
    assert [(each["game"], each["ply"], each["variant"]) for each in found] == [
        *((1, ply, "chess") for ply in (1, 2, 3, 4)),
        *((2, ply, "atomic") for ply in (1, 2)),
    ]
    assert [each["white_value"] for each in found[2:4]] == [-1.0, -1.0]
    assert found[2]["played"] == {"uci": "g2g4", "san": "g4", "value": -1.0}
    assert found[2]["mark"] == "??"
    assert found[2]["lost"] > 0.3
    assert found[3]["lost"] == 0
    assert all(len(each["moves"]) == 1 for each in found)


def test_what_a_move_was_worth_is_what_came_after_it() -> None:
    game = Game.from_pgn("1. e4 e5 2. Nf3 *")
    player, limit = Player("heuristic-1"), Limit(visits=100)
    judged = list(analyse_game(player, game, limit))
    after = player.search(game.end().position(), limit)
    assert judged[-1].value == pytest.approx(-after.moves[0].value)
    assert judged[0].value == pytest.approx(-judged[1].before.best.value)
    assert [each.ply for each in judged] == [1, 2, 3]


def test_a_drawn_end_is_worth_nothing() -> None:
    game = Game("chess", "7k/8/6K1/8/8/8/5Q2/8 w - - 0 1")
    game.add_line(["f2f7"])
    (judged,) = analyse_game(Player("heuristic-1"), game, Limit(visits=200))
    assert judged.value == 0.0
    assert judged.lost == pytest.approx(1.0)
    assert judged.mark == "??"


# -- bad input ------------------------------------------------------------------------------------


BAD = [
    (["nowhere.epd"], "nowhere.epd: neither a file nor a FEN"),
    (["hello"], "hello: neither a file nor a FEN"),
    (["8/8/8 w - - 0 1"], "3 ranks instead of 8"),
    ([""], "selfmate: an empty name: neither a file nor a FEN"),
    (["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"], "the game is over (stalemate)"),
    (["--variant", "atomik"], "did you mean 'atomic'?"),
    (["--net", "heuristik-1"], "did you mean 'heuristic-1'?"),
    (["--variant", "gardner", "--backend", "onix"], "unknown backend 'onix'; did you mean 'onnx'?"),
    (["--visits", "0"], "visits"),
    (["--multipv", "0"], "multipv"),
    (["."], "not a file"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run("analyse", *arguments)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.epd", "", "no position"),
        ("a.epd", "8/8/8/8/8/8/8/K1k5 w - - bm Ka9;", "a.epd: line 1: bm: "),
        ("a.epd", "\n\nwhat\n", "a.epd: line 3: "),
        ("a.epd", "7k/5Q2/6K1/8/8/8/8/8 b - -", "the game is over (stalemate)"),
        ("a.pgn", "", "a.pgn: no game"),
        ("a.pgn", "1. Ke3", "a.pgn: line 1: 'Ke3' is not legal"),
        ("a.pgn", '[Variant "Bughouse"]\n\n1. e4 *', "unknown variant 'Bughouse'"),
    ],
)
def test_bad_files_are_one_line(run: Run, tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="ascii")
    code, _, err = run("analyse", str(path), "--visits", "5")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert message in err


def test_a_bad_game_does_not_end_a_file_and_repairs_are_lines_on_standard_error(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    bad = "1. e4 e5 2. Ke3 *\n\n"
    path.write_text('[Variant "Bughouse"]\n\n1. e4 *\n\n' + bad + "1. g1f3 -- 2. e2e4 " + "~ " * 20 + "e5 *\n")
    code, out, err = run("analyse", path, "--visits", "5", "--net", "heuristic-1", "--json")
    assert code == 0
    moves = [json.loads(line) for line in out.splitlines()]
    assert [each["game"] for each in moves] == [2, 2, 3, 3, 3, 3]
    assert [each["played"]["san"] for each in moves] == ["e4", "e5", "Nf3", "--", "e4", "e5"]
    lines = err.splitlines()
    assert len(lines) == 11
    assert "games.pgn: line 1, column 1: unknown variant 'Bughouse'" in lines[0]
    assert lines[0].count("Atomic") == 1
    assert "games.pgn: line 5, column 13: 'Ke3' is not legal" in lines[1]
    assert "games.pgn: line 7, column 4: 'g1f3' read as Nf3" in lines[2]
    assert "games.pgn: 14 more repairs" in lines[10]


def test_a_variant_that_contradicts_a_game_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "games.pgn"
    path.write_text('[Variant "Atomic"]\n\n1. Nf3 a6 2. Ng5 *\n\n[Event "?"]\n\n1. Nf3 a6 *\n', encoding="utf-8")
    asked = ("analyse", path, "--visits", "10", "--net", "heuristic-1")
    code, out, err = run(*asked, "--variant", "horde")
    assert (code, out) == (2, "")
    assert err == (f"selfmate: {path}: game 1 is atomic by its tags, which --variant horde contradicts; leave it out\n")
    # A game that does not say its variant has the one that is asked for, else chess.
    code, out, err = run(*asked, "--variant", "atomic")
    assert (code, err) == (0, "")
    assert "1. ? - ? * (atomic; by heuristic-1, 10 visits)" in out
    assert "2. ? - ? * (atomic; by heuristic-1, 10 visits)" in out
    assert "2. ? - ? * (chess; by heuristic-1, 10 visits)" in run(*asked).out
    assert run(*asked, "--variant", "atomik").code == 2


def test_the_order_of_the_moves_is_said_once(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.fen"
    path.write_text("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n4k3/8/8/8/8/8/4P3/4K3 b - - 0 1\n", encoding="utf-8")
    out = run("analyse", path, "--visits", "50", "--net", "heuristic-1").out
    assert out.count("Best move first, then by visits; proven losses last") == 1


def test_a_net_of_another_variant_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "game.pgn"
    path.write_text(FOOLS_MATE, encoding="ascii")
    net = str(nets.find("gardner"))
    for arguments in ([str(path), "--net", net], ["--variant", "chess", "--net", net]):
        code, _, err = run("analyse", *arguments)
        assert code == 2
        assert "gardner-laptop plays gardner, not chess" in err


def test_players_by_variant() -> None:
    for backend, name in ((None, "winograd"), ("onnx-int8", "onnx int8 on"), ("torch", "torch")):
        evaluator = VariantPlayers(None, backend)("gardner").evaluator
        assert not isinstance(evaluator, str)
        assert evaluator.name.startswith(name)
    players = VariantPlayers(None)
    assert players("gardner").name == "gardner-laptop"
    assert players("gardner") is players("gardner")
    assert players("atomic").name == "atomic-gpu"
    assert players("chess").name == "chess-gpu"
    assert players("chess", in_game=True).name == "heuristic-1"  # its marks were measured
    assert players.variant(None) == "chess"
    for spec in (str(nets.find("gardner")), "gardner-laptop"):
        assert VariantPlayers(spec).variant(None) == "gardner"
    given = read_input(None, "gardner").positions
    assert given is not None
    assert [epd.position.variant for epd in given()] == ["gardner"]


# -- shipped nets ---------------------------------------------------------------------------------


def test_shipped_nets_are_whole() -> None:
    found = nets.shipped()
    assert {net.variant for net in found} >= {"gardner"}
    assert len({net.variant for net in found}) == len(found)  # one for a variant
    for net in found:
        nets.check(net)
        assert set(net.files) >= {"net.json", "net.safetensors"}
        assert set(net.files) == {path.name for path in net.folder.iterdir()} - {"shipped.json", "levels.json"}
        assert sum((net.folder / name).stat().st_size for name in net.files) < 13_000_000
        assert read_card(net.folder).variant == net.variant
        assert nets.find(net.variant, timed=False) == net.folder
        assert net.licence == "GPL-3.0-or-later"
        assert all(each.games >= 60 for each in net.scores)
        evaluator = open_evaluator(net.folder)
        assert (evaluator.net_id, evaluator.variant) == (net.net_id, net.variant)
        if "net.int8.onnx" in net.files:
            assert open_evaluator(net.folder, backend="onnx-int8").net_id == net.net_id


def test_shipped_cards_tell_the_truth_of_the_tensors() -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    from selfmate.evaluator.torch import TorchEvaluator
    from selfmate.nn.checkpoint import load

    torch.set_num_threads(1)
    for shipped in nets.shipped():
        net, _ = load(shipped.folder)
        assert sum(parameter.numel() for parameter in net.parameters()) == shipped.parameters
        assert TorchEvaluator(shipped.folder).net_id == shipped.net_id


def test_find() -> None:
    assert nets.find("gardner") == nets.find("gardner960")
    assert nets.find("horde") is None
    assert nets.find("no such variant") is None


def test_a_damaged_net_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = nets.find("gardner")
    assert source is not None
    shutil.copytree(source, tmp_path / nets.FOLDER / source.name)
    monkeypatch.setattr("selfmate.nn.shipped.resources.files", lambda package: tmp_path)
    (net,) = nets.shipped()
    nets.check(net)
    path = net.folder / "net.onnx"
    path.write_bytes(path.read_bytes()[:-1] + b"0")
    with pytest.raises(nets.NetsError, match="not the file that was shipped"):
        nets.check(net)
    (net.folder / nets.CARD_NAME).write_text('{"name": 3}', encoding="ascii")
    with pytest.raises(nets.NetsError, match=r"shipped\.json: damaged"):
        nets.shipped()


def test_the_champion_of_a_run_is_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'selfmate[train]'")
    import ship_net
    from selfmate.train.session import train

    train("gardner-laptop", tmp_path / "run", None, ("gate.games=0",), True, 1)
    monkeypatch.setattr(ship_net, "ROOT", tmp_path / nets.FOLDER)
    monkeypatch.setattr("selfmate.nn.shipped.resources.files", lambda package: tmp_path)
    match = {"players": [{"name": "a"}, {"name": "somebody", "visits": 9}], "games": 6}
    (tmp_path / "match").write_text(json.dumps(match | {"score": 0.75, "score_low": 0.5, "score_high": 0.9}))
    ship_net.main(tmp_path / "run", "with-all", onnx=True, trained="somehow", matches=[tmp_path / "match"])
    (net,) = nets.shipped()
    nets.check(net)
    assert set(net.files) == {"net.json", "net.safetensors", "net.onnx", "net.int8.onnx"}
    assert net.trained == "somehow"
    assert net.scores[-1] == nets.MatchScore(against="somebody", score=0.75, low=0.5, high=0.9, games=6, visits=9)
    shutil.rmtree(tmp_path / nets.FOLDER)
    ship_net.main(tmp_path / "run", "small-one")
    (net,) = nets.shipped()
    nets.check(net)
    assert set(net.files) == {"net.json", "net.safetensors"}
    assert (net.name, net.variant, net.recipe) == ("small-one", "gardner", "gardner-laptop")
    assert net.size == "1 blocks of 8 channels (se)"
    assert [(each.against, each.games) for each in net.scores] == [("its untrained net", 4), ("heuristic-1", 4)]
    assert "24 games" in net.trained  # three cycles of eight
    assert nets.find("gardner") == tmp_path / nets.FOLDER / "small-one"


def test_nets_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, _ = run("nets")
    assert code == 0
    for word in ("gardner-laptop (gardner)", "91,253 parameters", "GPL-3.0-or-later", "against heuristic-1"):
        assert word in out
    code, out, _ = run("nets", "gardner", "--json")
    assert [net["name"] for net in json.loads(out)] == ["gardner-laptop"]
    code, _, err = run("nets", "gardener")
    assert code == 2
    assert "did you mean 'gardner'?" in err
    monkeypatch.setattr(nets, "shipped", list)  # as if there were none
    code, out, _ = run("nets", "horde")
    assert (code, out) == (0, "No net for horde comes with Selfmate yet; heuristic-1 plays it.\n")


# -- export ---------------------------------------------------------------------------------------


def test_export(run: Run, tmp_path: Path) -> None:
    out_path = tmp_path / "out.onnx"
    code, out, _ = run("export", "gardner-laptop", str(out_path), "--json")
    assert code == 0
    values = json.loads(out)
    assert values["written"] is True
    assert values["value_max"] < 1e-4
    assert values["policy_max"] < 1e-4
    assert values["reference"].startswith("torch")
    assert values["opset"] == 18
    assert out_path.stat().st_size == values["bytes"]
    assert open_evaluator(out_path).net_id == read_card(str(nets.find("gardner"))).net_id
    code, _, err = run("export", "gardner-laptop", str(out_path))
    assert code == 2
    assert "--force overwrites it" in err
    # From the file itself, in eight bits.
    code, out, _ = run("export", str(out_path), str(tmp_path / "small.onnx"), "--int8")
    assert code == 0
    assert "int8" in out
    assert "same first move in" in out
    assert "int8" in open_evaluator(tmp_path / "small.onnx").name
    code, _, err = run("export", str(tmp_path / "small.onnx"), str(tmp_path / "again.onnx"))
    assert code == 2
    assert "is an int8 file" in err


def test_a_file_that_does_not_agree_is_not_written(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from selfmate.nn.config import GARDNER, NetConfig
    from selfmate.nn.net import Net
    from selfmate.nn.onnx import to_onnx

    other = Net(NetConfig.sized(GARDNER, "tiny"), seed=3)
    monkeypatch.setattr("selfmate.cli.export.to_onnx", lambda net, card: to_onnx(other, card))
    code, out, _ = run("export", "gardner-laptop", str(tmp_path / "out.onnx"))
    assert code == 1
    assert "NOT WRITTEN" in out
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize(
    ("net", "out", "message"),
    [
        ("heuristic-1", "a.onnx", "heuristic-1 has no net"),
        ("nowhere", "a.onnx", "unknown player 'nowhere'"),
        ("nowhere:12", "a.onnx", "unknown player 'nowhere:12'"),
        ("gardner-laptop", "a.bin", "must end in .onnx"),
        ("gardner-laptop", "nowhere/a.onnx", "there is no such folder"),
        (".", "a.onnx", "net.json"),
    ],
)
def test_bad_exports_are_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, net: str, out: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, err = run("export", net, out)
    assert (code, printed) == (2, "")
    assert len(err.splitlines()) == 1
    assert message in err
