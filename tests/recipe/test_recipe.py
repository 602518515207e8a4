"""Recipes: what is written is what runs, and anything else is refused with the key and the reason."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import Run as Command
from selfmate import VARIANTS, SelfmateError
from selfmate.recipe import docs
from selfmate.recipe.describe import shipped_recipes
from selfmate.recipe.keys import KEYS, MAY_CHANGE
from selfmate.recipe.reader import RecipeError, change, differences, from_toml, heading, load, names, smoke
from selfmate.recipe.schedule import at
from selfmate.recipe.schema import Recipe
from selfmate.recipe.types import TRAINABLE
from selfmate.recipe.writer import to_toml

GARDNER = load("gardner-laptop")


@pytest.mark.parametrize("name", names())
def test_our_recipes_read_back_equal_and_shrink(name: str) -> None:
    recipe = load(name)
    assert from_toml(to_toml(recipe)) == recipe
    small = smoke(recipe)
    assert from_toml(to_toml(small)) == small
    assert small.variant == recipe.variant
    assert small.selfplay.cycles * at(small.selfplay.games, 0) < 100
    assert small.net.heads == "conv" or small.net.policy == "none" or small.net.policy_channels == 1


def test_every_key_has_a_meaning_and_those_that_may_change_exist() -> None:
    text = to_toml(GARDNER)
    keys = [line for line in text.splitlines() if "=" in line]
    assert all("  # " in line for line in keys)
    assert set(GARDNER.flat()) >= MAY_CHANGE


def test_a_recipe_is_found_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(to_toml(GARDNER), "utf-8")
    assert load(path) == load(str(path)) == GARDNER


VISITS = "a whole number from 1 to 100,000"
BAD_SETTINGS = [
    ("selfplay.vists=3", "selfplay.vists: unknown key; did you mean 'selfplay.visits'?"),
    ("visits=3", "visits: unknown key; did you mean 'selfplay.visits'?"),
    ("nonsense=3", "nonsense: unknown key; docs/recipes.md lists them all"),
    ("selfplay.visits", "'selfplay.visits': write section.key=value"),
    ("selfplay.visits=abc", f"selfplay.visits: expected {VISITS} or a schedule [[cycle, value], ...], not 'abc'"),
    ("selfplay.visits=1.5", f"selfplay.visits: expected {VISITS} or a schedule [[cycle, value], ...], not 1.5"),
    ("selfplay.visits=0", f"selfplay.visits: expected {VISITS}, not 0"),
    ("selfplay.visits=1000000000", f"selfplay.visits: expected {VISITS}, not 1000000000"),
    ("selfplay.visits=1" + "0" * 500, f"selfplay.visits: expected {VISITS}, not 1000"),
    ("selfplay.visits=true", f"selfplay.visits: expected {VISITS} or a schedule [[cycle, value], ...], not true"),
    ("selfplay.visits=[[0, 8], [5, 0]]", f"selfplay.visits[1][1]: expected {VISITS}, not 0"),
    ("selfplay.visits=[[0, 8], [5, 'x']]", f"selfplay.visits[1][1]: expected {VISITS}, not 'x'"),
    ("selfplay.visits=[[0, 8], [-5, 8]]", "selfplay.visits[1][0]: expected a cycle from 0 to 1,000,000, not -5"),
    ("selfplay.visits=[[1, 8]]", "selfplay.visits: a schedule begins at cycle 0 and its cycles rise"),
    ("selfplay.visits=[[0, 8], [5, 9], [5, 9]]", "its cycles rise"),
    ("selfplay.visits=[]", "selfplay.visits: a schedule begins at cycle 0"),
    ("selfplay.visits=[[0, 8, 9]]", "selfplay.visits[0]: expected [cycle, value], not [0, 8, 9]"),
    ("selfplay.visits=[8]", "selfplay.visits[0]: expected [cycle, value], not 8"),
    ("selfplay.visits=1\nselfplay.games=2", "cannot read the value"),
    ("selfplay.visits=1 2", "selfplay.visits: cannot read the value '1 2'; write a number, a word, true, false or"),
    ("selfplay.visits={a=1}", "not {'a': 1}"),
    ("selfplay.visits='" + "9" * 500 + "'", "…"),
    ("search.gumbel=maybe", "search.gumbel: expected true or false, not 'maybe'"),
    ("learner.learning_rate=0", "learner.learning_rate: expected a number above 0, at most 10, not 0"),
    ("learner.learning_rate=nan", "learner.learning_rate: expected a number above 0, at most 10, not nan"),
    ("learner.learning_rate=inf", "learner.learning_rate: expected a number above 0, at most 10, not inf"),
    ("learner.learning_rate=1" + "0" * 400, "learner.learning_rate: expected a number above 0, at most 10"),
    ("learner.optimizer=adamm", "learner.optimizer: unknown value 'adamm'; did you mean 'adam'?"),
    ("learner.shaping=0.1", "learner.shaping: rewards on the way are no shares of wins and losses"),
    ("learner.step_cost=[[0, 0.0], [4, 0.1]]", "net.value = wdl (from cycle 4)"),
    ("net.value=tanh", "learner.value_loss: ce is for win-draw-loss; a net with the value tanh learns by mse or huber"),
    ("learner.teacher_cycles=3", "learner.teacher: needed while learner.teacher_cycles is above 0"),
    ("learner.teacher='uci:stockfish'", "learner.teacher_cycles: 0, so that learner.teacher is never asked"),
    ("progress.engine_games=7", "progress.engine_games: openings are played in pairs"),
    ("gate.p0=0.55", "gate.p1: not above gate.p0, so that the test has nothing to tell apart"),
    (
        "gate.p1=[[0, 0.6], [4, 0.5]]",
        "gate.p1: not above gate.p0, so that the test has nothing to tell apart (from cycle 4)",
    ),
    ("learner.ema=1.0", "learner.ema: expected a number from 0 to below 1, not 1.0"),
    ("learner.holdout=1", "learner.holdout: every game would only validate"),
    ("learner.window=10", "learner.window: smaller than one batch"),
    ("net.size=huge", "net.size: unknown value 'huge'; valid values: tiny, small, medium"),
    ("net.blocks=[[0, 3], [5, 2]]", "net.blocks: a net only grows in a run, and 2 after 3 is less (from cycle 5)"),
    ("selfplay.fast_visits=1000", "selfplay.fast_visits: 1000 is more than the"),
    ("selfplay.fast_visits=[[0, 1], [7, 1000]]", "(from cycle 7)"),
    ("selfplay.full_probability=0", "selfplay.full_probability: without full searches there is nothing to learn from"),
    ("selfplay.random_plies=1000", "selfplay.max_plies: the game would end within its random plies"),
    ("search.noise_epsilon=0.25", "search.noise_epsilon: a Gumbel root has its own noise"),
    ("search.noise_depth=2", "search.noise_depth: Dirichlet noise needs gumbel = false"),
    ("search.select=ucb1", "search.select: a Gumbel root needs priors, which 'ucb1' does not use"),
    ("search.select=ucb2", "search.select: unknown value 'ucb2'; did you mean 'ucb1'?"),
    ("search.choose=value", "search.choose: a Gumbel root chooses its move itself"),
    ("search.stop_share=0.6", "search.stop_share: sequential halving at a Gumbel root needs all visits"),
    ("search.stop_share=[[0, 0.0], [9, 0.6]]", "(from cycle 9)"),
    ("search.repetition_penalty=0.1", "search.repetition_penalty: it changes PUCT scores"),
    ("search.reuse=true", "search.reuse: a Gumbel root begins without visits"),
    ("gate.select=noise", "gate.select: a Gumbel root needs priors, which 'noise' does not use"),
    ("gate.cpuct=0", "gate.cpuct: expected a number above 0, at most 100, not 0"),
    ("gate.top_k=[[1, 3]]", "gate.top_k: a schedule begins at cycle 0 and its cycles rise"),
    ("search.draw_score=-2.0", "search.draw_score: expected a number from -1 to 1, not -2.0"),
    ("gate.final_games=7", "gate.final_games: openings are played in pairs"),
    ("progress.games=7", "progress.games: openings are played in pairs"),
    ("variant.name=gardener", "variant.name: unknown variant 'gardener'; did you mean 'gardner'?"),
]


@pytest.mark.parametrize(("setting", "reason"), BAD_SETTINGS)
def test_a_bad_setting_is_refused_in_one_line(setting: str, reason: str) -> None:
    with pytest.raises(RecipeError) as caught:
        change(GARDNER, [setting])
    assert reason in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (["select=ucb1", "noise_epsilon=0.25"], "noise_epsilon"),
        (["select=noise", "top_k=3"], "top_k"),
        (["select=ucb1", "tail=0.1"], "tail"),
        (["select=ucb1", "widening=1.0"], "widening"),
        (["select=noise", "cpuct_base=19652"], "cpuct_base"),
        (["solver=false", "proven_means=true"], "proven_means"),
        (["reuse=true", "draw_score=0.1"], "draw_score"),
        (["reuse=true", "noise_epsilon=0.1", "noise_depth=[[0, 0], [4, 1]]"], "noise_depth"),
    ],
)
def test_options_of_the_search_that_exclude_each_other(settings: list[str], key: str) -> None:
    for section in ("search", "gate"):
        changes = [f"{section}.{setting}" for setting in settings]
        with pytest.raises(RecipeError) as caught:
            change(GARDNER, ["search.gumbel=false", *changes])
        assert [problem.key for problem in caught.value.problems] == [f"{section}.{key}"]
        assert len(str(caught.value).splitlines()) == 1


def test_noise_below_the_root_needs_its_share() -> None:
    settings = ["search.gumbel=false", "search.noise_depth=3"]
    with pytest.raises(RecipeError, match=r"^search\.noise_depth: search\.noise_epsilon is 0, so there is no noise"):
        change(GARDNER, settings)
    change(GARDNER, [*settings, "search.noise_epsilon=[[0, 0.25], [10, 0.0]]"])  # as long as there is a share


def test_the_noise_bonus_explores_by_itself() -> None:
    quiet = ["search.gumbel=false", "selfplay.temperature=0.0"]
    assert change(GARDNER, [*quiet, "search.select=noise"]).search.select == "noise"
    for rule in ("puct", "ucb1"):
        with pytest.raises(RecipeError, match="self-play explores nothing"):
            change(GARDNER, [*quiet, f"search.select={rule}"])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("[learner]", "[lerner]", "lerner: unknown section; did you mean 'learner'?"),
        (
            "[gate]",
            "[gate]\nvalue_mix = 0.5",
            "gate.value_mix: unknown key; did you mean 'learner.value_mix'?",
        ),
        ("batch = ", "# ", "learner.batch: this key is missing"),
        ("fast_visits = ", "# ", "selfplay.fast_visits: needed while selfplay.full_probability is below 1"),
        ("[variant]", "variant = 3\n[other]", "variant: expected a section [variant], not 3"),
        ("[variant]", "[variant", "not TOML"),
        ("name = ", "name = 5 #", "variant.name: expected one of"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path: Path, old: str, new: str, reason: str) -> None:
    text = to_toml(change(GARDNER, ["selfplay.full_probability=0.5"]))
    assert old in text
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(RecipeError) as caught:
        load(path)
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_files_that_are_no_recipe_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large.toml").write_bytes(b"#" * (1 << 20))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    for name in ("large.toml", "binary.toml", "missing.toml", "", "x" * 5000 + ".toml"):
        with pytest.raises(RecipeError) as caught:
            load(tmp_path / name)
        assert len(str(caught.value).splitlines()) == 1


def test_every_variant_can_be_asked_for_and_has_a_laptop_recipe() -> None:
    laptop = {each.variant for each in shipped_recipes() if each.name.endswith("-laptop")}
    assert laptop == set(TRAINABLE) == {*VARIANTS, "chess960", "atomic960"}
    for variant in TRAINABLE:
        assert change(GARDNER, [f"variant.name={variant}"]).variant.name == variant


def test_keys_of_archived_recipes_have_moved() -> None:
    """Earlier versions measured the champion by anchor games of the gate."""
    text = to_toml(GARDNER).partition("[progress]")[0] + "anchor_games = 6\nanchor_every = 3\n"
    assert "[gate]" in text
    old = from_toml(text)
    assert (old.progress.games, old.progress.every) == (6, 3)
    assert differences(GARDNER, old) == ["progress.games", "progress.every"]


# -- recipes that extend others -------------------------------------------------------------------


def test_a_recipe_takes_what_it_does_not_have_from_another(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base/mine.toml").write_text('extends = "gardner-laptop"\n[selfplay]\nvisits = [[0, 8], [3, 9]]\n')
    (tmp_path / "child.toml").write_text(
        'description = "a test"\nextends = "base/mine.toml"\n[selfplay]\ngames = 7\n[net]\nblocks = 2\n'
    )
    child = load(tmp_path / "child.toml")
    assert differences(GARDNER, child) == ["net.blocks", "selfplay.games", "selfplay.visits"]
    assert (child.selfplay.games, child.net.blocks, child.selfplay.visits) == (7, 2, ((0, 8), (3, 9)))
    assert heading(tmp_path / "child.toml") == ("base/mine.toml", "a test", "")
    # The archived recipe is whole: it does not need the others
    assert "extends" not in to_toml(child)
    assert from_toml(to_toml(child)) == child
    # A new value replaces a whole schedule; keys of earlier versions are renamed before they are merged
    (tmp_path / "flat.toml").write_text('extends = "child.toml"\n[selfplay]\nvisits = 5\n[gate]\nanchor_games = 6\n')
    flat = load(tmp_path / "flat.toml")
    assert (flat.selfplay.visits, flat.progress.games) == (5, 6)


BAD_BASES = [
    ("extends = 'gardner-laptp'", "unknown recipe 'gardner-laptp'; did you mean 'gardner-laptop'?"),
    ("extends = 'no/such.toml'", "no/such.toml: there is no such file"),
    ("extends = 3", "extends: expected the name of a recipe or the path of a file, not 3"),
    ("extends = ''", "extends: expected the name of a recipe or the path of a file, not ''"),
    ("description = ['a']", "description: expected one line of text, not ['a']"),
    ("extends = 'bad.toml'", "extends: 'bad.toml' leads back to a recipe that extends it (bad.toml → bad.toml)"),
    ("extends = 'other.toml'", "leads back to a recipe that extends it (bad.toml → other.toml → bad.toml)"),
    ("extends = './sub/../bad.toml'", "leads back to a recipe that extends it"),
    ("extends = 'broken.toml'", "not TOML"),
    ("extends = 'wrong.toml'", "selfplay.vists: unknown key; did you mean 'selfplay.visits'? (in wrong.toml)"),
    ("extends = 'partial.toml'", "missing keys: net.size, selfplay.cycles"),
    ("extends = 'gardner-laptop'\nvariant = 3", "variant: expected a section [variant], not 3"),
]


@pytest.mark.parametrize(("text", "reason"), BAD_BASES)
def test_a_bad_base_is_refused_in_one_line(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "other.toml").write_text("extends = 'bad.toml'")
    (tmp_path / "broken.toml").write_text("[variant")
    (tmp_path / "wrong.toml").write_text("extends = 'gardner-laptop'\n[selfplay]\nvists = 3\n")
    (tmp_path / "partial.toml").write_text("[variant]\nname = 'chess'\n")
    with pytest.raises(RecipeError) as caught:
        load(tmp_path / "bad.toml")
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'bad.toml'}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_a_long_chain_of_recipes_is_refused(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.toml").write_text(f"extends = '{number + 1}.toml'")
    with pytest.raises(RecipeError, match="extends: more than 16 recipes extend one another"):
        load(tmp_path / "0.toml")


def test_keys_of_the_learner_that_contradict_each_other_are_refused_at_their_cycle() -> None:
    with pytest.raises(RecipeError, match=r"^learner.recency: a pass over the window .* \(from cycle 5\)$"):
        change(GARDNER, ["learner.recency=1.0", "learner.epochs=[[0, 0], [5, 2]]"])
    change(GARDNER, ["learner.recency=[[0, 1.0], [5, 0]]", "learner.epochs=[[0, 0], [5, 2]]"])
    scalar = ["net.value=linear", "learner.value_loss=mse"]
    assert change(GARDNER, [*scalar, "learner.shaping=0.1"]).learner.shaping == 0.1


def test_every_wrong_setting_is_named() -> None:
    with pytest.raises(RecipeError) as caught:
        change(GARDNER, ["selfplay.vists=3", "learner.batch=0", "net.size", "learner.reuse=1 2"])
    assert str(caught.value).startswith("4 errors: (1) selfplay.vists: unknown key; ")
    assert [problem.key for problem in caught.value.problems] == [
        "selfplay.vists",
        "'net.size'",
        "learner.reuse",
        "learner.batch",
    ]


# -- list, explain, new ---------------------------------------------------------------------------


def test_the_list_has_every_recipe(run: Command) -> None:
    done = run("train", "--list")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == names()
    assert all(len(line) < 120 for line in lines)
    for line, name in zip(lines, names(), strict=True):
        is_small = name.endswith("-laptop") or name == "chess-selflearning"
        assert line.split()[1:3] == [load(name).variant.name, "CPU" if is_small else "GPU"]
        assert line.endswith(heading(name).description)


def test_a_key_is_explained(run: Command) -> None:
    done = run("train", "--explain", "selfplay.visits")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "selfplay.visits: visits of a full search; its position is trained on"
    assert lines[1] == "value:    a whole number from 1 to 100,000"
    assert lines[2] == "default:  none; a recipe must have it"
    assert "[[cycle, value], ...]" in lines[3]
    assert lines[4] == "resume:   --set may change it in a run that has begun"
    shown = dict(line.split(maxsplit=1) for line in lines[6:])
    assert list(shown) == names()
    assert (shown["gardner-laptop"], shown["atomic"]) == ("16", "[[0, 32], [8, 64], [16, 104]]")
    assert "default:  as in net.size" in run("train", "--explain", "net.blocks").out
    assert "no; --set cannot change it" in run("train", "--explain", "net.context").out
    section = run("train", "--explain", "gate").out.splitlines()
    assert [line.split(":")[0] for line in section] == [key for key in KEYS if key.startswith("gate.")]
    done = run("train", "--explain", "visits")
    assert (done.code, done.err) == (2, "selfmate: visits: unknown key; did you mean 'selfplay.visits'?\n")
    done = run("train")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "selfmate train --list lists the recipes" in done.err


@pytest.mark.parametrize("words", [("--list",), ("--explain", "selfplay"), ("--explain", "selfplay.judge")])
def test_list_and_explanations_fit_a_terminal_of_80_columns(
    words: tuple[str, ...], run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run("train", *words).out
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "80")
    shown = run("train", *words).out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.split() == plain.split()


@pytest.mark.parametrize("variant", TRAINABLE)
def test_a_new_recipe_is_a_commented_start(
    variant: str, tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("recipe", "new", "mine", "--variant", variant)
    assert (done.code, done.out) == (
        0,
        "mine.toml written. Train with it: selfmate train mine.toml --minutes 10\n",
    )
    text = Path("mine.toml").read_text("utf-8")
    base = load(heading("mine.toml").extends)
    assert load("mine.toml") == base
    assert base.variant.name == variant
    # Every key is there, and without its comment sign it is the key of the base
    keys = [line for line in text.splitlines() if line.startswith("# ") and " = " in line]
    # The keys of [search] are not repeated in [gate]
    absent = [key for key, value in base.flat().items() if value is None and key.startswith("gate.")]
    assert len(keys) == len(base.flat()) - len(absent) - 1
    uncommented = from_toml("\n".join(line[2:] if line in keys else line for line in text.splitlines()))
    assert uncommented.net_config() == base.net_config()
    assert uncommented.model_copy(update={"net": base.net}) == base
    # It is never overwritten
    done = run("recipe", "new", "mine.toml", "--variant", "chess")
    assert (done.code, done.err) == (2, "selfmate: mine.toml already exists; choose another name\n")
    assert Path("mine.toml").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("name", "variant", "reason"),
    [
        ("gardner-laptop", "gardner", "'gardner-laptop' is a shipped recipe; choose another name, such as my-gardner"),
        ("no/such", "gardner", "no/such.toml: there is no folder no"),
        ("..", "gardner", "cannot be the name of a recipe"),
        ("", "gardner", "cannot be the name of a recipe"),
        ("mine", "koth", "unknown variant 'koth'; valid variants: chess, chess960, atomic"),
    ],
)
def test_what_cannot_be_a_new_recipe(
    name: str, variant: str, reason: str, tmp_path: Path, run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("recipe", "new", name, "--variant", variant)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert reason in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_new_recipe_on_a_full_disk_is_no_half_file(tmp_path: Path, run: Command) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))  # no file becomes longer, as on a full disk
    try:
        done = run("recipe", "new", str(tmp_path / "mine"), "--variant", "gardner")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "mine.toml: " in done.err
    assert list(tmp_path.iterdir()) == []


def test_differences_name_the_keys() -> None:
    changed = change(GARDNER, ["learner.reuse=3.5", "search.gumbel=false", "search.noise_epsilon=0.25"])
    assert differences(GARDNER, changed) == ["search.gumbel", "search.noise_epsilon", "learner.reuse"]
    assert differences(changed, changed) == []


@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**5)), min_size=1, max_size=8, unique_by=lambda e: e[0])
)
def test_a_schedule_holds_each_value_until_the_next(entries: list[tuple[int, int]]) -> None:
    entries = sorted(entries)
    entries[0] = (0, entries[0][1])
    schedule = tuple(entries)
    text = "[" + ", ".join(f"[{cycle}, {value}]" for cycle, value in schedule) + "]"
    recipe = change(GARDNER, [f"selfplay.visits={text}", "selfplay.fast_visits=1"])
    assert recipe.selfplay.visits == schedule
    assert from_toml(to_toml(recipe)) == recipe
    for number, (cycle, value) in enumerate(schedule):
        assert at(schedule, cycle) == value
        if number:
            assert at(schedule, cycle - 1) == schedule[number - 1][1]


def refusal(read: Callable[[str], Recipe], text: str) -> str:
    """Give what a reader says of a text, nothing when it takes it."""
    try:
        read(text)
    except SelfmateError as error:
        return str(error)
    return ""


@given(st.text(max_size=200))
def test_no_text_crashes_the_reader(text: str) -> None:
    assert len(refusal(from_toml, text).splitlines()) == 1
    assert len(refusal(lambda text: change(GARDNER, [text]), text).splitlines()) == 1


def test_every_error_is_reported_at_once() -> None:
    text = to_toml(GARDNER).replace("visits = 16", "vists = 16\nvisits = 0").replace("batch = ", "# ")
    with pytest.raises(RecipeError) as caught:
        from_toml(text.replace("learning_rate = ", "# "))
    assert str(caught.value) == (
        "3 errors: (1) missing keys: learner.learning_rate, learner.batch; "
        f"(2) selfplay.visits: expected {VISITS}, not 0; "
        "(3) selfplay.vists: unknown key; did you mean 'selfplay.visits'?"
    )
    keys = {problem.key for problem in caught.value.problems}
    assert keys == {"learner.learning_rate", "learner.batch", "selfplay.visits", "selfplay.vists"}
    with pytest.raises(RecipeError) as caught:
        change(GARDNER, ["learner.window=10", "gate.games=3", "selfplay.fast_visits=17"])
    assert str(caught.value).startswith("3 errors: (1) selfplay.fast_visits: 17 is more than the 16 visits")
    with pytest.raises(RecipeError, match=r"^missing keys: variant.name, net.size, selfplay.cycles, selfplay.games, "):
        from_toml("")


def test_every_number_has_a_range() -> None:
    for name, key in KEYS.items():
        if key.type in ("integer", "number"):
            assert (key.minimum is None) != (key.above is None), name
            assert (key.maximum is None) != (key.below is None), name
            for value in (-(10**18), 10**18):
                assert name in refusal(lambda text, name=name: change(GARDNER, [f"{name}={text}"]), str(value))  # type: ignore[misc]


def test_a_file_with_endless_digits_or_brackets_is_no_recipe() -> None:
    assert refusal(from_toml, "a = " + "9" * 5000).startswith("not TOML: ")
    assert len(refusal(from_toml, "a = " + "[" * 60_000).splitlines()) == 1


def test_the_page_of_recipes_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / docs.PAGE
    assert page.read_text("utf-8") == docs.page(), "run: python -m selfmate.recipe.docs"
    for name in names():
        assert f"| `{name}` |" in docs.page()


PYDANTIC_FREE = """
import sys
import selfmate, selfmate.cli.main, selfmate.uci.server, selfmate.app.play, selfmate.search.player
import selfmate.rundir.format, selfmate.rundir.games
for name in selfmate.__all__:
    getattr(selfmate, name)
assert "pydantic" not in sys.modules
"""


def test_playing_needs_no_pydantic() -> None:
    subprocess.run([sys.executable, "-c", PYDANTIC_FREE], check=True)


def test_what_is_unknown_is_listed_by_a_command(run: Command, tmp_path: Path) -> None:
    for arguments, listed in (
        (("train", "zzz"), "selfmate: unknown recipe 'zzz'; selfmate train --list lists them all\n"),
        (("train", tmp_path), f"selfmate: {tmp_path}: not a file\n"),
        (
            ("lab", "frozenlake", "--set", "a.b=1"),
            "selfmate: a.b: unknown key; selfmate lab frozenlake --settings lists them all\n",
        ),
    ):
        done = run(*arguments)
        assert (done.code, done.err) == (2, listed)
