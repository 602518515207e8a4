"""`selfmate analyse`: what a player thinks of a position, of the positions of an EPD file, or of the moves of games.

>>> analysis = analyse(Player("heuristic-1"), parse_epd("7k/8/5K2/8/8/8/8/6Q1 w - - bm Qg7#;"), Limit(visits=50))
>>> analysis.right, analysis.result.proven
(True, 1)

A game is judged move by move. What a move was worth is what the search finds after it, so that a game of n moves
takes n + 1 searches, and a move that the player had not thought of is judged as fairly as its own.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from selfmate._core import WHITE, Move
from selfmate.app.play import describe, line_of
from selfmate.board.epd import Epd, parse_epd, read_epd
from selfmate.board.pgn import Game, read_games
from selfmate.board.pgn_writer import variant_name
from selfmate.board.position import Position
from selfmate.errors import EpdError, PgnError, SelfmateError, clip
from selfmate.nn import shipped as nets
from selfmate.search.limit import Limit
from selfmate.search.player import Player
from selfmate.search.result import MoveResult, Result
from selfmate.util.terminal import say
from selfmate.util.text import many, percent
from selfmate.util.text_lines import Source, numbered_lines

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "Analysis",
    "Judgement",
    "PlayerFor",
    "Subject",
    "analyse",
    "analyse_game",
    "read_subject",
    "run",
    "show",
    "show_judgement",
]


DEFAULT_PLAYER: Final = "heuristic-1"
"""Analyses what no shipped net plays."""


MARKS: Final = ((0.3, "??"), (0.2, "?"), (0.1, "?!"))
"""Value that a move gives away, from which on it gets a mark: Lichess's steps of winning chances, also of -1 to 1."""


LEGEND: Final = "First the move to play, then by visits, proven losses last; values from -1 to 1 for the side to move."


SHOWN_PLIES: Final = 10
"""Moves of a line in a table; JSON has all of them."""


MAX_FILE_BYTES: Final = 64 << 20


SNIFFED_CHARS: Final = 1 << 14


PGN_BEGINS: Final = re.compile(r"[\[{%;(]|[0-9]++\s*+\.")  # a tag, a comment, a move number; no FEN has these


# -- who analyses ---------------------------------------------------------------------------------


class PlayerFor:
    """The player for each variant: the one that was asked for, else the shipped net, else heuristic-1.

    `backend` is that of the net, as `open_evaluator` takes it.

    >>> PlayerFor(None)("horde").name
    'heuristic-1'
    """

    def __init__(self, spec: str | None, backend: str | None = None) -> None:
        self.backend = backend
        self.chosen = None if spec is None else Player(nets.named(spec) or spec, backend=backend)
        self._found: dict[str, Player] = {}

    def variant(self, wanted: str | None) -> str:
        """Give the variant of a position that does not say it: the wanted one, else the net's, else chess."""
        return wanted or (self.chosen and self.chosen.variant) or "chess"

    def __call__(self, variant: str) -> Player:
        """Give the player of a variant, or refuse one that it cannot play."""
        if self.chosen is not None:
            self.chosen.check(variant)
            return self.chosen
        if variant not in self._found:
            self._found[variant] = Player(nets.find(variant) or DEFAULT_PLAYER, backend=self.backend)
        return self._found[variant]


# -- what is analysed -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """What to analyse: positions, or games. Games are read one by one, while they are analysed."""

    positions: tuple[Epd, ...] = ()
    games: Callable[[], Iterator[Game]] | None = None


def read_subject(what: str | None, variant: str, *, asked: bool = False) -> Subject:
    """Understand what somebody wants to have analysed: a FEN, a file of EPD lines or FENs, a PGN file.

    Nothing means the start position, `-` standard input. `variant` is that of FENs and EPDs; when it was `asked` for,
    also of games that do not say theirs, and those that say another one are refused.

    >>> read_subject("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "chess").positions[0].position.fen()
    '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'
    >>> read_subject("nowhere.pgn", "chess")
    Traceback (most recent call last):
    ...
    selfmate.errors.SelfmateError: nowhere.pgn: neither a file nor a FEN
    """
    if what is None:
        return Subject((Epd(Position(variant)),))
    if what == "-":
        return _from_text(sys.stdin.read(MAX_FILE_BYTES), variant, asked=asked)
    path = Path(what)
    try:
        found = bool(what) and path.exists()
    except (OSError, ValueError):  # too long for a path, or with a NUL
        found = False
    if not found:
        if "/" not in what or not what.split()[1:]:
            raise SelfmateError(f"{clip(what)}: neither a file nor a FEN", what)
        position = parse_epd(what, variant) if ";" in what else Epd(Position(variant, what))
        return Subject((_not_over(position),))
    if not path.is_file():
        raise SelfmateError(f"{path}: not a file", what)
    if path.stat().st_size > MAX_FILE_BYTES:
        raise SelfmateError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB", what)
    if path.suffix.lower() == ".pgn" or (path.suffix.lower() not in (".epd", ".fen") and _is_pgn(path)):
        return Subject(games=lambda: _games(str(path), path, variant, asked=asked))
    return Subject(_positions(str(path), read_epd(path, variant)))


def _from_text(text: str, variant: str, *, asked: bool) -> Subject:
    if _begins_as_pgn(text.splitlines()):
        return Subject(games=lambda: _games("standard input", io.StringIO(text), variant, asked=asked))
    return Subject(_positions("standard input", read_epd(io.StringIO(text), variant)))


def _is_pgn(path: Path) -> bool:
    return _begins_as_pgn(line for _, line in numbered_lines(path, SNIFFED_CHARS))


def _begins_as_pgn(lines: Iterable[str]) -> bool:
    """Look at the first line that says something: tags, a comment or a move number are a game's."""
    for line in lines:
        if (text := line.strip().removeprefix("\ufeff")) and not text.startswith("#"):
            return PGN_BEGINS.match(text) is not None
    return False


def _positions(name: str, epds: Iterator[Epd]) -> tuple[Epd, ...]:
    """Read all positions: what is wrong is found before the first search."""
    try:
        found = tuple(_not_over(epd) for epd in epds)
    except EpdError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if not found:
        raise SelfmateError(f"{name}: no position", name)
    return found


def _not_over(epd: Epd) -> Epd:
    if (outcome := epd.position.outcome()) is not None:
        raise EpdError(f"the game is over ({outcome.reason}): {epd.position.fen()}", epd.position.fen())
    return epd


def _games(name: str, source: Source, variant: str, *, asked: bool) -> Iterator[Game]:
    """Read games, and say of which file an error is."""
    count = 0
    try:
        for game in read_games(source, variant=variant if asked else "chess"):
            count += 1
            if asked and game.variant != variant:
                says = f"{name}: game {count} is {game.variant} by its tags, which --variant {variant} contradicts"
                raise SelfmateError(f"{says}; leave it out", variant)
            yield game
    except PgnError as error:
        raise SelfmateError(f"{name}: {error}", error.part) from error
    if not count:
        raise SelfmateError(f"{name}: no game", name)


# -- positions ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What a player thinks of a position."""

    epd: Epd
    player: str
    result: Result

    @property
    def position(self) -> Position:
        """The position."""
        return self.epd.position

    @property
    def best(self) -> MoveResult:
        """What is known of the best move."""
        return self.result.moves[0]

    @property
    def right(self) -> bool | None:
        """Whether the best move is one of `bm` and none of `am`; None where the line names neither."""
        best, avoid = (_moves(self.epd, opcode) for opcode in ("bm", "am"))
        if not best and not avoid:
            return None
        return (not best or self.result.best in best) and self.result.best not in avoid

    def as_json(self, multipv: int) -> dict[str, Any]:
        """Give what a program would read; values and wdl are those of the side to move."""
        position, result = self.position, self.result
        values: dict[str, Any] = {
            "fen": position.fen(),
            "variant": variant_name(position),
            "player": self.player,
            "visits": result.visits,
            "nodes": result.nodes,
            "seconds": round(result.seconds, 4),
            "best": _move_json(position, result.best),
            "value": round(result.value, 4),
            "wdl": [round(share, 4) for share in result.wdl],
            "proven_plies": result.proven,
            "moves": [
                {
                    **_move_json(position, each.move),
                    "visits": each.visits,
                    "value": round(each.value, 4),
                    "prior": round(each.prior, 4),
                    "proven_plies": each.proven,
                    "pv": line_of(position, each.pv).split(),
                }
                for each in result.moves[:multipv]
            ],
        }
        if isinstance(label := self.epd.operations.get("id"), str):
            values["id"] = label
        for opcode in ("bm", "am"):
            if moves := _moves(self.epd, opcode):
                values[opcode] = [_move_json(position, move) for move in moves]
        if self.right is not None:
            values["right"] = self.right
        return values


def analyse(player: Player, epd: Epd, limit: Limit) -> Analysis:
    """Search a position."""
    return Analysis(epd=epd, player=player.name, result=player.search(epd.position, limit))


def _moves(epd: Epd, opcode: str) -> tuple[Move, ...]:
    value = epd.operations.get(opcode)
    return tuple(move for move in value if isinstance(move, Move)) if isinstance(value, tuple) else ()


def _move_json(position: Position, move: Move) -> dict[str, str]:
    return {"uci": position.uci(move), "san": position.san(move)}


# -- games ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a player thinks of a move that was played; values are those of the side that played it."""

    game: int
    """Number of the game in its file, from 1."""
    ply: int
    """Number of the move in the game, from 1."""
    before: Analysis
    move: Move
    value: float
    """What the move was worth: what the search, or the rules, say of the position after it."""

    @property
    def lost(self) -> float:
        """Value that the move gave away against the best one, never less than nothing."""
        return 0.0 if self.move == self.before.result.best else max(0.0, self.before.best.value - self.value)

    @property
    def mark(self) -> str:
        """The annotation it deserves: `?!`, `?`, `??` or none."""
        return next((mark for least, mark in MARKS if self.lost >= least), "")

    def as_json(self, multipv: int) -> dict[str, Any]:
        """Give what a program would read."""
        return {
            "game": self.game,
            "ply": self.ply,
            **self.before.as_json(multipv),
            "played": {**_move_json(self.before.position, self.move), "value": round(self.value, 4)},
            "lost": round(self.lost, 4),
            "mark": self.mark,
        }


def analyse_game(player: Player, game: Game, limit: Limit, *, number: int = 1) -> Iterator[Judgement]:
    """Judge every move of a game's main line.

    >>> game = Game.from_pgn("1. f3 e5 2. g4 Qh4# 0-1")
    >>> [(each.move.uci(), each.mark) for each in analyse_game(Player("heuristic-1"), game, Limit(visits=500))][2:]
    [('g2g4', '??'), ('d8h4', '')]
    """
    position = game.start.copy()
    before: Analysis | None = None
    for ply, node in enumerate(game.mainline(), start=1):
        if before is None:
            before = analyse(player, Epd(position.copy()), limit)
        position.play(node.move)
        outcome = position.outcome()
        if outcome is not None:
            after, value = None, 0.0 if outcome.winner is None else 1.0 if outcome.winner != position.turn else -1.0
        else:
            after = analyse(player, Epd(position.copy()), limit)
            value = -after.best.value
        yield Judgement(game=number, ply=ply, before=before, move=node.move, value=value)
        before = after


# -- all of it ------------------------------------------------------------------------------------


def run(
    subject: Subject, players: PlayerFor, limit: Limit, console: Console, *, multipv: int = 5, as_json: bool = False
) -> None:
    """Analyse everything, and print each position or move as soon as it is known."""
    right: list[bool] = []
    for number, epd in enumerate(subject.positions):
        analysis = analyse(players(variant_name(epd.position)), epd, limit)
        if analysis.right is not None:
            right.append(analysis.right)
        if as_json:
            print(json.dumps(analysis.as_json(multipv)), flush=True)
        else:
            if number:
                console.print()
            show(analysis, console, multipv, legend=not number)
    if right and len(subject.positions) > 1 and not as_json:
        console.print(f"\n{sum(right)} right of {len(right)}", highlight=False)
    for number, game in enumerate(subject.games() if subject.games else (), start=1):
        player = players(game.variant)
        if not as_json:
            names = f"{game.headers['White']} - {game.headers['Black']} {game.result}"
            line = f"{'' if number == 1 else chr(10)}{number}. {names} ({game.variant}; by {player.name})"
            say(console, line)
        for judged in analyse_game(player, game, limit, number=number):
            if as_json:
                print(json.dumps(judged.as_json(multipv)), flush=True)
            else:
                show_judgement(judged, console)


# -- telling it -----------------------------------------------------------------------------------


def show(analysis: Analysis, console: Console, multipv: int, *, legend: bool = True) -> None:
    """Print a position's candidate moves, and whether the line's `bm` and `am` were met; `legend` says their order."""
    from rich.table import Table

    position, result = analysis.position, analysis.result
    label = analysis.epd.operations.get("id")
    turn = "White" if position.turn == WHITE else "Black"
    console.print(
        f"{f'{label}: ' if isinstance(label, str) else ''}{position.fen()}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    table = Table()
    table.add_column("move")
    for column in ("visits", "value", "prior"):
        table.add_column(column, justify="right")
    table.add_column("line", overflow="fold")
    for each in result.moves[:multipv]:
        if not each.visits and each.proven is None and each is not analysis.best:
            continue  # nothing is known of it
        table.add_row(
            position.san(each.move),
            f"{each.visits:,}",
            _worth(each),
            percent(each.prior),
            line_of(position, each.pv[:SHOWN_PLIES]),
        )
    console.print(table)
    if legend and table.row_count > 1:
        say(console, LEGEND)
    speed = f"{many(result.visits, 'visit')} in {result.seconds:.2f} s"
    say(console, f"{turn} to move: {describe(result)}; {analysis.player}, {speed}")
    for opcode, right, wrong in (("bm", "found", "missed"), ("am", "avoided", "not avoided")):
        if moves := _moves(analysis.epd, opcode):
            good = (result.best in moves) == (opcode == "bm")
            named = " ".join(position.san(move) for move in moves)
            say(console, f"{opcode} {named}: {right if good else wrong}")


def _worth(each: MoveResult) -> str:
    """Write the value of a move, or its proof."""
    if each.proven is None:
        return f"{each.value:+.2f}" if each.visits else ""
    moves = (abs(each.proven) + 1) // 2
    return "drawn" if each.proven == 0 else f"wins in {moves}" if each.proven > 0 else f"loses in {moves}"


def show_judgement(judged: Judgement, console: Console) -> None:
    """Print a line for a move: what it was worth, and a better one where it gave much away."""
    position, best = judged.before.position, judged.before.best
    dots = "." if position.turn == WHITE else "..."
    word = f"{position.fullmove_number}{dots} {position.san(judged.move)}{judged.mark}"
    line = f"{word:<16} {judged.value:+.2f}"
    if judged.mark:
        line += f"   better: {line_of(position, best.pv[:SHOWN_PLIES])} ({best.value:+.2f})"
    say(console, line)
