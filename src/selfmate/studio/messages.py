"""The messages between the page and the server: the one schema of both sides.

`python -m selfmate.studio.typescript` writes `studio/src/messages.ts` from it. A message is a JSON object with a
`type`. Every request has a number `ask`, chosen by the page, which the answers to it repeat; what the server sends
unasked has `ask` 0. Values and win-draw-loss are White's, values from -1 to 1; squares, moves and positions are written
as in UCI.

The module is long because it is the whole schema.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

__all__ = [
    "REQUESTS",
    "AnyEvent",
    "AnyRequest",
    "Event",
    "Request",
    "decode_request",
    "encode_event",
    "failure",
    "refusal",
    "sentence",
]

Color = Literal["white", "black"]
Mark = Literal["", "?!", "?", "??"]
Ask = Annotated[int, Meta(ge=0, le=2**53)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
FenText = Annotated[str, Meta(max_length=200)]
Uci = Annotated[str, Meta(min_length=4, max_length=5)]
UciLine = Annotated[list[Uci], Meta(max_length=2000)]
Visits = Annotated[int, Meta(ge=1, le=10_000_000)]
Seconds = Annotated[float, Meta(gt=0, le=600)]
Wdl = tuple[float, float, float]


# -- parts of messages ----------------------------------------------------------------------------


class TimeControl(Struct, frozen=True, kw_only=True):
    """Seconds for the game, and those added after every move."""

    seconds: Annotated[float, Meta(gt=0, le=10_800)]
    increment: Annotated[float, Meta(ge=0, le=180)] = 0.0


class ClockState(Struct, frozen=True, kw_only=True):
    """Milliseconds that each side has left when the message is sent; the clock of `running` counts down."""

    white: int
    black: int
    running: Color | None


class LegalMove(Struct, frozen=True, kw_only=True):
    """A legal move in both notations."""

    uci: str
    san: str
    capture: bool


class PlayedMove(Struct, frozen=True, kw_only=True):
    """A move of a game and the position after it."""

    uci: str
    san: str
    fen: str
    check: bool
    exploded: list[str]
    """Squares that the move emptied by an explosion; the first is its centre."""


class BoardState(Struct, frozen=True, kw_only=True):
    """A position as a board shows it."""

    fen: str
    files: int
    ranks: int
    turn: Color
    legal: list[LegalMove]
    check: str | None
    """Square of the king in check."""
    checks_left: tuple[int, int] | None
    """Checks that White and Black still have to give, where checks win."""
    result: str | None
    """`1-0`, `0-1` or `1/2-1/2`; None while the game goes on."""
    reason: str | None


class PlayerCard(Struct, frozen=True, kw_only=True):
    """A player that can be chosen, by its id."""

    id: str
    name: str
    kind: Literal["net", "run", "core", "engine"]
    variant: str | None
    """None: every variant, of an engine those that it knows."""
    detail: str
    elo_range: tuple[int, int]
    """Lowest and highest strength that can be asked for."""
    measured: bool
    """Whether strengths were measured; else they are estimates."""


class VariantCard(Struct, frozen=True, kw_only=True):
    """A variant with its board and the player that plays it by default."""

    id: str
    name: str
    files: int
    ranks: int
    start: str
    chess960: bool
    player: str
    rule: str
    """What differs from chess, in one sentence."""


class Explanation(Struct, frozen=True, kw_only=True):
    """Why a player chose its move, in one sentence, with the line that it expects."""

    ply: int
    text: str
    line: list[str]
    wdl: Wdl
    value: float
    visits: int


class GameCard(Struct, frozen=True, kw_only=True):
    """A game in a list."""

    id: str
    variant: str
    fen: str
    opponent: str
    you: Color
    plies: int
    your_turn: bool
    result: str | None


class Candidate(Struct, frozen=True, kw_only=True):
    """A root move of an analysis."""

    uci: str
    san: str
    visits: int
    share: float
    value: float
    prior: float
    proven: int | None
    """Plies to a forced win of the side to move (positive) or its loss (negative), 0: a draw."""
    pv: list[str]
    """The expected line in SAN, with this move first."""
    net_value: float | None


class EngineLine(Struct, frozen=True, kw_only=True):
    """A line of an outside engine."""

    uci: str
    """The first move."""
    score: str
    """Pawns or moves to mate, White's: `+0.31`, `-M2`."""
    value: float
    pv: list[str]
    """In SAN."""


class TreeNodeView(Struct, frozen=True, kw_only=True):
    """A node of a search tree. `parent` is its index in the list, -1 at the root."""

    parent: int
    uci: str
    san: str
    visits: int
    value: float
    """For the side that makes the move; at the root for the side to move."""
    prior: float
    proven: int | None


class TraceNode(Struct, frozen=True, kw_only=True):
    """A node of a traced search. `parent` is its index in the list, -1 at the root."""

    parent: int
    uci: str
    san: str
    prior: float


class TracedChoice(Struct, frozen=True, kw_only=True):
    """A move that selection compared: it takes the one with the largest sum of `q` and `u`."""

    uci: str
    san: str
    q: float
    """Value so far for the side that moves."""
    u: float
    """Bonus for a high prior and few visits."""


class PlayoutStep(Struct, frozen=True, kw_only=True):
    """One playout: the nodes from the root to its leaf, and their numbers after it."""

    path: list[int]
    choices: list[list[TracedChoice]]
    """At each node of the path but the leaf, the moves with the largest sums, the largest first."""
    is_new: bool
    by_rules: bool
    """Whether the rules decide the leaf, and the evaluator was not asked."""
    value: float
    """Of the leaf, for the side that moved into it; at the root for the side to move."""
    visits: list[int]
    values: list[float]
    """For the side that makes the move; at the root for the side to move."""
    proven: list[int | None]


class NetPlane(Struct, frozen=True, kw_only=True):
    """An input plane: one number for each square in the order of ranks from the first, files from a; or one for all."""

    name: str
    values: list[float]


class PolicyPlane(Struct, frozen=True, kw_only=True):
    """A plane of the policy: from each square a move by `step`, files to the right and ranks up, or to one square."""

    name: str
    step: tuple[int, int] | None
    to: str | None


class NetPolicy(Struct, frozen=True, kw_only=True):
    """What the cells of a policy mean on the board as White sees it; a cell is plane * squares + from-square."""

    kind: Literal["planes", "fromto", "factored", "none", "core"]
    """`none`: a net without a policy; `core`: no net, priors of the legal moves alone, laid out as `planes`."""
    planes: list[PolicyPlane]
    cells: dict[str, int]
    """Of each legal move."""


class NetOpinion(Struct, frozen=True, kw_only=True):
    """What a net says of a position without a search."""

    player: str
    name: str
    wdl: Wdl
    priors: dict[str, float]
    """By move."""
    policy: list[int] | None
    """Of each cell of the policy, of legal and illegal moves alike, in millionths; None for what has no such output."""
    plies: float | None
    """Expected plies to the end of the game."""


class StudyNode(Struct, frozen=True, kw_only=True):
    """A move of a game tree. `parent` is its index in the list, -1: the start; the first child is the main line."""

    parent: Annotated[int, Meta(ge=-1)]
    uci: Uci
    san: Annotated[str, Meta(max_length=20)] = ""
    fen: FenText = ""
    comment: Annotated[str, Meta(max_length=10_000)] = ""
    nags: Annotated[list[Annotated[int, Meta(ge=0, le=255)]], Meta(max_length=20)] = []
    exploded: list[str] = []


class ChartSeries(Struct, frozen=True, kw_only=True):
    """A curve: `y` over `x`, with the half width of the 95 % interval where there is one."""

    name: str
    x: list[float]
    y: list[float]
    error: list[float] | None = None


class RecipeKeyCard(Struct, frozen=True, kw_only=True):
    """A key of a recipe as it was declared, with its value in one recipe. Values are written as in TOML."""

    key: str
    section: str
    name: str
    type: Literal["integer", "number", "boolean", "string", "array"]
    help: str
    value: str
    """Empty where the recipe does not have the key."""
    expected: str
    """What a value may be, in words."""
    choices: list[str]
    scheduled: bool
    """Whether it may change over the cycles: `[[0, 16], [20, 32]]`."""


class RunCard(Struct, frozen=True, kw_only=True):
    """A training run in a list."""

    id: str
    name: str
    variant: str
    recipe: str
    status: Literal["running", "pausing", "stopping", "paused", "stopped", "broken"]
    cycle: int
    games: int
    seconds: float
    message: str
    """What is wrong with a broken run, or why the last training of a stopped one failed, in one sentence."""
    champion: int = 0
    """The cycle of its best net."""
    seconds_left: float | None = None
    """Of the time that a paused run was given; None: as long as it takes."""
    settings: list[str] = []
    """What was changed from the recipe: `section.key=value`."""


class RunGame(Struct, frozen=True, kw_only=True):
    """A finished self-play game, by its moves."""

    id: int
    cycle: int
    variant: str
    start: str
    moves: list[str]
    boards: list[str]
    """First fields of the FEN at the start and after every move."""
    result: str
    reason: str
    net: int
    """The cycle whose net played it; 0 in a match."""


class MatchBoard(Struct, frozen=True, kw_only=True):
    """A game of a match as it stands."""

    game: int
    board: str
    """First field of the FEN."""
    last: str
    """Last move; empty before the first."""
    plies: int
    first_is_white: bool
    result: str
    """Empty while it is played."""


class LiveBoard(Struct, frozen=True, kw_only=True):
    """A self-play game as it stands."""

    game: int
    board: str
    """First field of the FEN."""
    last: str
    """Last move; empty before the first."""
    plies: int


class TableCell(Struct, frozen=True, kw_only=True):
    """All matches between two players, with results of the row's."""

    row: str
    column: str
    wins: int
    draws: int
    losses: int
    matches: list[str]
    """Ids, the newest first."""


class NetScore(Struct, frozen=True, kw_only=True):
    """Result of a match that measured a net, with the ends of its 95 % interval."""

    against: str
    score: float
    low: float
    high: float
    games: int


class NetCard(Struct, frozen=True, kw_only=True):
    """A net with what is known of it."""

    id: str
    name: str
    kind: Literal["shipped", "run"]
    variant: str
    facts: list[tuple[str, str]]
    scores: list[NetScore]
    problem: str | None = None
    """Why the net cannot be played."""


class LadderRow(Struct, frozen=True, kw_only=True):
    """A player of a ladder with its rating and half of its 95 % interval."""

    name: str
    elo: float
    error: float
    games: int
    is_net: bool
    """Whether it is a net of the list and not a fixed player."""


# -- requests: page to server ---------------------------------------------------------------------


class Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type"):
    """Base of every request."""

    ask: Ask


class GameRequest(Request, frozen=True, kw_only=True):
    """Base of requests about one game."""

    id: Annotated[str, Meta(pattern=r"^[0-9a-z]{8,32}$")]


class Hello(Request, frozen=True, kw_only=True, tag="hello"):
    """Ask for `Welcome`."""


class NewGame(Request, frozen=True, kw_only=True, tag="game.new"):
    """Start a game; answered by `GameView`. Without `elo` and `visits` the player has its usual strength."""

    variant: Name
    color: Literal["white", "black", "random"] = "random"
    player: Name | None = None
    elo: Annotated[int, Meta(ge=0, le=4000)] | None = None
    visits: Visits | None = None
    clock: TimeControl | None = None
    fen: FenText | None = None
    chess960: Annotated[int, Meta(ge=0, le=959)] | None = None


class OpenGame(GameRequest, frozen=True, kw_only=True, tag="game.open"):
    """Follow a game; answered by `GameView` now and after every change."""


class LeaveGame(GameRequest, frozen=True, kw_only=True, tag="game.leave"):
    """Follow a game no longer."""


class PlayMove(GameRequest, frozen=True, kw_only=True, tag="game.move"):
    """Play a move; `ply` is the number of moves before it, so that a late message changes nothing."""

    ply: Annotated[int, Meta(ge=0, le=100_000)]
    uci: Uci


class TakeBack(GameRequest, frozen=True, kw_only=True, tag="game.takeback"):
    """Take the last move back, with the answer to it."""


class ResignGame(GameRequest, frozen=True, kw_only=True, tag="game.resign"):
    """Give up."""


class OfferDraw(GameRequest, frozen=True, kw_only=True, tag="game.draw"):
    """Offer a draw; the opponent answers in the notice of `GameView`."""


class Rematch(GameRequest, frozen=True, kw_only=True, tag="game.rematch"):
    """Start the same game with the other colour; answered by the `GameView` of the new game."""


class AskHint(GameRequest, frozen=True, kw_only=True, tag="game.hint"):
    """Ask what the opponent would play; answered by `HintFound`."""


class ListGames(Request, frozen=True, kw_only=True, tag="game.list"):
    """Ask for `GameList`."""


class AskPosition(Request, frozen=True, kw_only=True, tag="position.ask"):
    """Ask for the position after moves; answered by `PositionView`."""

    variant: Name
    fen: FenText | None = None
    moves: UciLine = []
    chess960: Annotated[int, Meta(ge=0, le=959)] | None = None


class StartAnalysis(Request, frozen=True, kw_only=True, tag="analysis.start"):
    """Analyse a position until the limit; it replaces the analysis of this page. Answered by `AnalysisUpdate`s."""

    variant: Name
    fen: FenText | None = None
    moves: UciLine = []
    player: Name | None = None
    visits: Visits | None = None
    seconds: Seconds | None = None
    tree_nodes: Annotated[int, Meta(ge=0, le=2000)] = 0
    """Nodes of the search tree in every update; 0: none."""


class StartEngine(Request, frozen=True, kw_only=True, tag="engine.start"):
    """Let an outside engine analyse a position; it replaces its analysis for this page. Answered by `EngineUpdate`s."""

    variant: Name
    engine: Name
    fen: FenText | None = None
    moves: UciLine = []
    seconds: Seconds | None = None
    lines: Annotated[int, Meta(ge=1, le=10)] = 3


class StopEngine(Request, frozen=True, kw_only=True, tag="engine.stop"):
    """Stop the outside engine of this page."""


class StepPlayouts(Request, frozen=True, kw_only=True, tag="analysis.playouts"):
    """Search a position playout by playout; answered by `PlayoutTrace`."""

    variant: Name
    fen: FenText | None = None
    moves: UciLine = []
    player: Name | None = None
    playouts: Annotated[int, Meta(ge=1, le=400)] = 120


class LookInside(Request, frozen=True, kw_only=True, tag="net.inside"):
    """Ask what a net sees and says of a position without a search; answered by `InsideNet`."""

    variant: Name
    fen: FenText | None = None
    moves: UciLine = []
    player: Name | None = None


class StopAnalysis(Request, frozen=True, kw_only=True, tag="analysis.stop"):
    """Stop the analysis or review of this page."""


class ReviewGame(Request, frozen=True, kw_only=True, tag="review.start"):
    """Judge every move of a line; answered by a `ReviewedMove` for each, the last one with `done`."""

    variant: Name
    fen: FenText | None = None
    moves: UciLine
    player: Name | None = None
    visits: Annotated[int, Meta(ge=1, le=100_000)] | None = None


class LoadPgn(Request, frozen=True, kw_only=True, tag="pgn.load"):
    """Read the first game of a PGN; answered by `StudyGame`."""

    text: Annotated[str, Meta(max_length=1_000_000)]


class SavePgn(Request, frozen=True, kw_only=True, tag="pgn.save"):
    """Write a game tree as PGN; answered by `PgnText`."""

    variant: Name
    fen: FenText | None = None
    headers: Annotated[dict[Annotated[str, Meta(max_length=60)], Annotated[str, Meta(max_length=500)]], Meta()] = {}
    nodes: Annotated[list[StudyNode], Meta(max_length=5000)] = []
    comment: Annotated[str, Meta(max_length=10_000)] = ""


class AskGamePgn(GameRequest, frozen=True, kw_only=True, tag="game.pgn"):
    """Ask for a game as PGN; answered by `PgnText`."""


class ListRuns(Request, frozen=True, kw_only=True, tag="run.list"):
    """Ask for `RunList`, now and whenever it changes."""


class WatchRun(Request, frozen=True, kw_only=True, tag="run.watch"):
    """Follow a run; answered by `RunView` now and after every change. An empty id follows none."""

    id: Annotated[str, Meta(max_length=100)]


class LookAtRun(Request, frozen=True, kw_only=True, tag="run.look"):
    """Ask for a run once; answered by `RunView`."""

    id: Annotated[str, Meta(max_length=100)]


class StartRun(Request, frozen=True, kw_only=True, tag="run.start"):
    """Start a training run of a recipe, or resume the run `resume`; answered by `RunStarted`."""

    recipe: Annotated[str, Meta(max_length=100)] = ""
    name: Annotated[str, Meta(max_length=60, pattern=r"^[A-Za-z0-9._-]*$")] = ""
    resume: Annotated[str, Meta(max_length=100)] = ""
    minutes: Annotated[float, Meta(gt=0, le=100_000)] | None = None
    settings: Annotated[list[Annotated[str, Meta(max_length=300)]], Meta(max_length=100)] = []


class InstallTraining(Request, frozen=True, kw_only=True, tag="train.install"):
    """Install what training needs, where `Welcome` says that it can be done; answered by `InstallProgress`."""


class AskRecipe(Request, frozen=True, kw_only=True, tag="recipe.ask"):
    """Ask for a recipe with changes (`section.key=value`); answered by `RecipeForm`, or `Failure` if they are wrong."""

    name: Annotated[str, Meta(max_length=100)]
    settings: Annotated[list[Annotated[str, Meta(max_length=300)]], Meta(max_length=100)] = []


class StopRun(Request, frozen=True, kw_only=True, tag="run.stop"):
    """Save a run and end its training. With `pause`, `StartRun` resumes it for the rest of its time."""

    id: Annotated[str, Meta(max_length=100)]
    pause: bool = False


class StartMatch(Request, frozen=True, kw_only=True, tag="match.start"):
    """Let two players play each other, every opening with both colours; answered by `MatchView`s.

    An outside engine searches `visits` nodes for a move.
    """

    variant: Name
    first: Name
    second: Name
    games: Annotated[int, Meta(ge=2, le=1000)] = 40
    visits: Annotated[int, Meta(ge=1, le=10_000)] = 32


class WatchMatch(Request, frozen=True, kw_only=True, tag="match.watch"):
    """Follow a match; an empty id means the newest one, if there is one."""

    id: Annotated[str, Meta(max_length=40)] = ""


class StopMatch(Request, frozen=True, kw_only=True, tag="match.stop"):
    """End a match; what was played counts."""

    id: Annotated[str, Meta(max_length=40)]


class AskRunGames(Request, frozen=True, kw_only=True, tag="run.games"):
    """Ask for finished games of a cycle of a run, the newest cycle if none is named; answered by `RunGames`."""

    id: Annotated[str, Meta(max_length=100)]
    cycle: Annotated[int, Meta(ge=0, le=10**9)] | None = None


class AskJudgement(Request, frozen=True, kw_only=True, tag="run.judge"):
    """Ask how a game of a run was judged then, and how the present net judges it; answered by `JudgedGame`."""

    id: Annotated[str, Meta(max_length=100)]
    cycle: Annotated[int, Meta(ge=0, le=10**9)]
    game: Annotated[int, Meta(ge=0, le=2**53)]


class AskProbes(Request, frozen=True, kw_only=True, tag="run.probes"):
    """Ask what the checkpoints of a run find in fixed positions; answered by `RunProbes`."""

    id: Annotated[str, Meta(max_length=100)]


class AskMatchGames(Request, frozen=True, kw_only=True, tag="match.games"):
    """Ask for the finished games of a match; answered by `MatchGames`."""

    id: Annotated[str, Meta(max_length=40)]


class AskMatchTable(Request, frozen=True, kw_only=True, tag="match.table"):
    """Ask for the matches of a variant on this server; answered by `MatchTable`."""

    variant: Name


class AskNets(Request, frozen=True, kw_only=True, tag="net.list"):
    """Ask for `NetList`."""

    variant: Name | None = None


# -- events: server to page -----------------------------------------------------------------------


class Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of everything that the server sends."""

    ask: Ask = 0


class Welcome(Event, frozen=True, kw_only=True, tag="welcome"):
    """What there is to play with."""

    version: str
    variants: list[VariantCard]
    players: list[PlayerCard]
    recipes: list[tuple[str, str, str]]
    """Name, variant and first line of each recipe."""
    engines: list[PlayerCard]
    """Outside engines that were named when the server was started: opponents, and for `StartEngine`."""
    can_train: bool
    training_hint: str
    """What to do before a training can be started, in one sentence; empty if it can."""
    can_install: bool
    """Whether `InstallTraining` does it."""


class Failure(Event, frozen=True, kw_only=True, tag="failure"):
    """A request that could not be fulfilled, and why, in one sentence."""

    message: str


class GameView(Event, frozen=True, kw_only=True, tag="game.view"):
    """A game as it stands."""

    id: str
    variant: str
    start: str
    moves: list[PlayedMove]
    board: BoardState
    you: Color
    player: str
    opponent: str
    opponent_detail: str
    control: TimeControl | None
    clock: ClockState | None
    thinking: bool
    explanation: Explanation | None
    notice: str
    """Answer of the opponent to a draw offer, or why nothing happened; often empty."""
    can_take_back: bool
    rematch: str | None
    """Id of the game that followed."""


class GameList(Event, frozen=True, kw_only=True, tag="game.list"):
    """The games of this server, the newest first."""

    games: list[GameCard]


class HintFound(Event, frozen=True, kw_only=True, tag="game.hint"):
    """What the opponent would play."""

    id: str
    ply: int
    uci: str
    san: str
    text: str


class PositionView(Event, frozen=True, kw_only=True, tag="position.view"):
    """The position after moves, and the moves with their positions."""

    variant: str
    start: str
    moves: list[PlayedMove]
    board: BoardState


class AnalysisUpdate(Event, frozen=True, kw_only=True, tag="analysis.update"):
    """What an analysis has found so far."""

    fen: str
    player: str
    visits: int
    seconds: float
    nodes: int
    depth: float
    seldepth: int
    value: float
    wdl: Wdl
    net_value: float | None
    proven: int | None
    """As in `Candidate`, for the side to move."""
    candidates: list[Candidate]
    tree: list[TreeNodeView]
    done: bool


class EngineUpdate(Event, frozen=True, kw_only=True, tag="engine.update"):
    """What an outside engine has found so far."""

    engine: str
    name: str
    """As it calls itself."""
    fen: str
    depth: int
    nodes: int
    seconds: float
    lines: list[EngineLine]
    done: bool


class PlayoutTrace(Event, frozen=True, kw_only=True, tag="analysis.trace"):
    """A search, playout by playout."""

    fen: str
    player: str
    nodes: list[TraceNode]
    """In the order in which they were added."""
    playouts: list[PlayoutStep]


class InsideNet(Event, frozen=True, kw_only=True, tag="net.inside"):
    """Input planes of a position, as the net sees them, the meaning of its policy, and the opinions of nets."""

    fen: str
    files: int
    ranks: int
    planes: list[NetPlane]
    seen_by: Color
    """Whose first rank is the first of the input planes."""
    policy: NetPolicy
    opinions: list[NetOpinion]
    """Of the player, and of its untrained net; of equal priors where the player is no net."""


class ReviewedMove(Event, frozen=True, kw_only=True, tag="review.move"):
    """A move of a game with the loss that searches found; `ply` counts from 0."""

    ply: int
    value: float
    """Of the position after the move."""
    before: float
    """Of the position before it, with best play."""
    loss: float
    """For the side that moved, at least 0."""
    mark: Mark
    best: str
    best_san: str
    best_line: list[str]
    proven: int | None
    done: bool


class StudyGame(Event, frozen=True, kw_only=True, tag="pgn.loaded"):
    """A game that was read."""

    variant: str
    start: str
    headers: dict[str, str]
    nodes: list[StudyNode]
    comment: str
    more_games: bool
    repair: str
    """What of the text could not be read as it stands, the worst or the first of it, as a sentence; empty: nothing."""


class PgnText(Event, frozen=True, kw_only=True, tag="pgn.text"):
    """A game as PGN."""

    text: str


class RunList(Event, frozen=True, kw_only=True, tag="run.list"):
    """The runs of the folder that the server was started with, the newest first."""

    runs: list[RunCard]


class RunView(Event, frozen=True, kw_only=True, tag="run.view"):
    """A run: its curves, its newest games and what happened last."""

    run: RunCard
    charts: dict[str, list[ChartSeries]]
    """By name of the chart."""
    games: list[RunGame]
    log: list[tuple[float, str]]
    """Seconds of training, and a sentence."""
    checkpoints: list[int]
    """Cycles whose nets are kept, the newest first: players `run/ID/CYCLE`."""
    owned: bool
    """Whether this server started it and can stop it."""


class RunBoards(Event, frozen=True, kw_only=True, tag="run.boards"):
    """Some of the games that a run plays at this moment; none: it plays none, or does not tell."""

    id: str
    boards: list[LiveBoard]


class RunGames(Event, frozen=True, kw_only=True, tag="run.games"):
    """Finished games of a cycle, the newest first."""

    id: str
    cycle: int
    cycles: list[int]
    """Cycles of which games are kept, rising."""
    total: int
    """Games of the cycle; those in `games` may be fewer."""
    games: list[RunGame]


class JudgedGame(Event, frozen=True, kw_only=True, tag="run.judged"):
    """Values of the positions of a game from its start on, White's; None where a position was not searched for."""

    id: str
    game: int
    cycle: int
    sans: list[str]
    search_then: list[float | None]
    """What the search expected when the game was played."""
    net_then: list[float | None]
    """What its net said alone."""
    net_now: list[float | None]
    """What the present net says alone; None where the game is over."""
    now: int
    """The cycle that made the present net."""


class RunProbes(Event, frozen=True, kw_only=True, tag="run.probes"):
    """What the checkpoints of a run find in fixed positions, without a search."""

    id: str
    charts: dict[str, list[ChartSeries]]
    left: int
    """Checkpoints that are not measured yet: ask again."""


class RecipeForm(Event, frozen=True, kw_only=True, tag="recipe.form"):
    """A recipe as a form."""

    name: str
    description: str
    keys: list[RecipeKeyCard]


class InstallProgress(Event, frozen=True, kw_only=True, tag="train.install"):
    """How the installation goes on."""

    status: Literal["running", "done", "failed"]
    line: str
    """The last line that it printed; of a failure the sentence that says why."""
    seconds: float


class RunStarted(Event, frozen=True, kw_only=True, tag="run.started"):
    """A run that was started or resumed."""

    id: str


class MatchView(Event, frozen=True, kw_only=True, tag="match.view"):
    """A match as it stands; results are the first player's, over the pairs of games that are complete."""

    id: str
    variant: str
    first: str
    second: str
    visits: int
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    score_range: tuple[float, float]
    """The 95 % interval."""
    elo: float
    elo_range: tuple[float | None, float | None]
    """The 95 % interval; None: without bound."""
    llr: float
    llr_bounds: tuple[float, float]
    """Of the sequential test of 0 against 20 normalised Elo."""
    verdict: Literal["H0", "H1"] | None
    boards: list[MatchBoard]
    seconds: float
    status: Literal["preparing", "playing", "done", "stopped"]
    message: str = ""
    """Why games were not played, in one sentence; empty for a match that was played or stopped."""


class MatchGames(Event, frozen=True, kw_only=True, tag="match.games"):
    """The finished games of a match, the newest first; `first_is_white` for each of them."""

    id: str
    first: str
    second: str
    games: list[RunGame]
    first_is_white: list[bool]


class MatchTable(Event, frozen=True, kw_only=True, tag="match.table"):
    """Scores between players in the matches of this server."""

    variant: str
    cells: list[TableCell]


class NetList(Event, frozen=True, kw_only=True, tag="net.list"):
    """Nets and the ladder of a variant."""

    nets: list[NetCard]
    ladder: list[LadderRow]
    variant: str


REQUESTS = (
    Hello | NewGame | OpenGame | LeaveGame | PlayMove | TakeBack | ResignGame | OfferDraw | Rematch | AskHint
    | ListGames | AskGamePgn | AskPosition | StartAnalysis | StepPlayouts | LookInside | StopAnalysis | ReviewGame
    | StartEngine | StopEngine | LoadPgn | SavePgn | ListRuns | WatchRun | LookAtRun | StartRun | StopRun
    | InstallTraining | AskRecipe | StartMatch | WatchMatch | StopMatch | AskNets | AskRunGames | AskJudgement
    | AskProbes | AskMatchGames | AskMatchTable
)  # fmt: skip
EVENTS = (
    Welcome | Failure | GameView | GameList | HintFound | PositionView | AnalysisUpdate | EngineUpdate | PlayoutTrace
    | InsideNet | ReviewedMove | StudyGame | PgnText | RunList | RunView | RecipeForm | InstallProgress | RunStarted
    | MatchView | NetList | RunBoards | RunGames | JudgedGame | RunProbes | MatchGames | MatchTable
)  # fmt: skip
AnyRequest = REQUESTS
AnyEvent = EVENTS

_decoder = msgspec.json.Decoder(REQUESTS)


class _Asked(Struct, frozen=True):
    """What is read of a text that is no request."""

    ask: Ask = 0


_ask_decoder = msgspec.json.Decoder(_Asked)
_encoder = msgspec.json.Encoder()


def decode_request(data: bytes | str) -> Request:
    """Return the request of a JSON text; raise `msgspec.ValidationError` or `DecodeError` for any other text.

    >>> decode_request('{"type": "hello", "ask": 1}')
    Hello(ask=1)
    """
    request: Request = _decoder.decode(data)
    return request


def refusal(data: bytes | str, error: Exception) -> Failure:
    """Return the answer to a text that `decode_request` raised an error for; it has the text's `ask`, if there is one.

    >>> text = '{"type": "run.start", "ask": 7, "minutes": 1e9}'
    >>> try:
    ...     decode_request(text)
    ... except msgspec.MsgspecError as error:
    ...     refusal(text, error)
    Failure(ask=7, message='Wrong minutes: expected `float` <= 100000.0.')
    """
    try:
        ask = _ask_decoder.decode(data).ask
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        ask = 0
    what, _, place = " ".join(str(error).split())[:200].partition(" - at `$.")
    field = place.rstrip("`")
    if field == "id" and "regex" in what:  # an address that was cut off, say
        return failure(ask, "there is nothing with this id")
    why = "" if "regex" in what else f": {what[:1].lower()}{what[1:]}"
    return failure(ask, (f"wrong {field}" if field else "not a request") + why)


def failure(ask: int, text: str) -> Failure:
    """Return a failure with a text as its sentence."""
    return Failure(ask=ask, message=sentence(text))


def sentence(text: str) -> str:
    """Return a text as a sentence in one line.

    >>> sentence("no such game"), sentence("selfplay.games: 0 is too small")
    ('No such game.', 'selfplay.games: 0 is too small.')
    """
    text = " ".join(text.split())
    first = text.split(" ", 1)[0]
    if first.isalpha():  # no name of a key, a move or a file
        text = text[:1].upper() + text[1:]
    return text + ("" if text.endswith((".", "?", "!")) else ".")


def encode_event(event: Event) -> bytes:
    """Return the JSON text of an event.

    >>> encode_event(Failure(ask=3, message="no such game"))
    b'{"type":"failure","ask":3,"message":"no such game"}'
    """
    return _encoder.encode(event)
