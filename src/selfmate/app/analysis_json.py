"""The JSON of `selfmate analyse --json`: one object a line, for a position or for a move of a game.

The types are the source of `docs/analysis.schema.json`, which `json_schema` returns; docs/analysis.md explains them.
Fields may be added in later versions; none is removed or changes its meaning.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

__all__ = ["GameMoveRecord", "Mark", "MoveName", "PositionRecord", "SideRecord", "SummaryRecord", "json_schema"]

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Value = Annotated[float, Meta(ge=-1, le=1, description="Win minus loss, -1 to 1, for the side to move.")]
Proven = Annotated[
    int | None,
    Meta(description="Plies to a forced win (positive) or loss (negative), 0: a draw; null: nothing is proven."),
]
Accuracy = Annotated[float, Meta(ge=0, le=100)]
Mark = Literal["", "?!", "?", "??"]


class MoveName(Struct, kw_only=True):
    """A move in both notations."""

    uci: str
    san: str


class CandidateRecord(MoveName, kw_only=True):
    """A move that the search considered."""

    visits: Count
    value: Value
    prior: Share
    proven_plies: Proven
    pv: Annotated[list[str], Meta(description="The expected line in SAN, with this move first.")]


class PositionRecord(Struct, kw_only=True):
    """The search of a position."""

    fen: str
    variant: str
    player: str
    visits: Count
    nodes: Annotated[int, Meta(ge=0, description="Positions in the tree.")]
    seconds: Annotated[float, Meta(ge=0)]
    best: MoveName
    value: Value
    wdl: Annotated[
        tuple[Share, Share, Share],
        Meta(description="Probabilities of win, draw and loss for the side to move."),
    ]
    proven_plies: Proven
    moves: Annotated[
        list[CandidateRecord],
        Meta(description="As many as --multipv asks for: the best first, then by visits, proven losses last."),
    ]
    id: Annotated[str, Meta(description="The operation id of the EPD line.")] | UnsetType = UNSET
    bm: Annotated[list[MoveName], Meta(description="Best moves of the EPD line.")] | UnsetType = UNSET
    am: Annotated[list[MoveName], Meta(description="Moves to avoid of the EPD line.")] | UnsetType = UNSET
    right: Annotated[bool, Meta(description="Whether `best` meets bm and am; absent without them.")] | UnsetType = UNSET


class PlayedRecord(MoveName, kw_only=True):
    """The move that was played."""

    value: Annotated[float, Meta(ge=-1, le=1, description="Of the position after it, for the side that played it.")]


class SideRecord(Struct, kw_only=True):
    """A player's side of a game."""

    name: str
    moves: Count
    accuracy: Annotated[Accuracy | None, Meta(description="Mean accuracy of the moves; null without moves.")]
    inaccuracies: Annotated[int, Meta(ge=0, description="Moves marked ?!")]
    mistakes: Annotated[int, Meta(ge=0, description="Moves marked ?")]
    blunders: Annotated[int, Meta(ge=0, description="Moves marked ??")]


class SummaryRecord(Struct, kw_only=True):
    """Both sides of a game."""

    white: SideRecord
    black: SideRecord


class GameMoveRecord(PositionRecord, kw_only=True):
    """A move of a game. The fields of the position are those of the search before the move."""

    game: Annotated[int, Meta(ge=1, description="Number of the game in the file.")]
    ply: Annotated[int, Meta(ge=1, description="Number of the move in the game.")]
    played: PlayedRecord
    white_value: Annotated[float, Meta(ge=-1, le=1, description="Value of the position after the move, for White.")]
    lost: Annotated[float, Meta(ge=0, le=2, description="Value of the best move less that of the played one.")]
    checked: Annotated[
        float | None,
        Meta(description="The loss that the searches of the check confirm, 0 to 2; null: the move was not checked."),
    ]
    mark: Mark
    better: Annotated[list[str], Meta(description="The line in SAN that was better; empty without a mark.")]
    accuracy: Accuracy
    summary: Annotated[SummaryRecord, Meta(description="At the last move of a game only.")] | UnsetType = UNSET


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a line."""
    kinds, components = msgspec.json.schema_components((PositionRecord, GameMoveRecord), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of selfmate analyse --json",
        "anyOf": list(kinds),
        "$defs": components,
    }
