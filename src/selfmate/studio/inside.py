"""What a net sees and says of a position without a search: its planes, and its policy beside an untrained net's."""

from __future__ import annotations

from typing import Final, Literal

from selfmate import _core
from selfmate._core import Encoding
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.evaluator.base import Evaluator
from selfmate.nn.checkpoint import read_net_config
from selfmate.nn.config import PolicyName
from selfmate.search.evaluate import evaluate
from selfmate.search.player import Player
from selfmate.search.spec import RANDOM
from selfmate.studio.board_view import color_of, play_line, start_position, wdl_for_white
from selfmate.studio.messages import InsideNet, LookInside, NetOpinion, NetPolicy
from selfmate.studio.net_planes import cell_of_move, input_planes, policy_of, policy_planes, sees_turned
from selfmate.studio.players import UNIFORM, PlayerCatalog

__all__ = ["look_inside", "net_policy"]

MILLION: Final = 1_000_000


def look_inside(catalog: PlayerCatalog, request: LookInside) -> InsideNet:
    """Return the planes of a position and what nets say of it; raises `SelfmateError` where there is nothing to say."""
    position = start_position(request.variant, request.fen)
    play_line(position, request.moves)
    if position.outcome() is not None:
        raise SelfmateError("the game is over in this position")
    player_id = request.player or catalog.default(request.variant)
    if player_id == RANDOM:
        raise SelfmateError(f"{RANDOM} has no opinion: choose another player")
    player = catalog.open(player_id)
    player.check(position.variant)
    encoding = _encoding(player, position)
    policy = net_policy(player, position)
    return InsideNet(
        ask=request.ask,
        fen=position.fen(),
        files=position.files,
        ranks=position.ranks,
        planes=input_planes(position, encoding),
        seen_by="black" if sees_turned(encoding, color_of(position.turn)) else "white",
        policy=policy,
        opinions=[_opinion(catalog, each, position, policy) for each in (player_id, catalog.untrained(player_id))],
    )


def _encoding(player: Player, position: Position) -> Encoding:
    return _core.encoding(position.variant) if isinstance(player.evaluator, str) else player.evaluator.encoding


def net_policy(player: Player, position: Position) -> NetPolicy:
    """Return what the policy of a player means in a position; that of a net without one has no planes."""
    kind: PolicyName | Literal["core"] = "core"
    if isinstance(player.evaluator, Evaluator):
        kind = "planes" if player.path is None else read_net_config(player.path).policy
    if kind == "none":
        return NetPolicy(kind="none", planes=[], cells={})
    encoding = _encoding(player, position)
    return NetPolicy(
        kind=kind,
        planes=policy_planes(encoding, color_of(position.turn)),
        cells=cell_of_move(position, encoding),
    )


def _opinion(catalog: PlayerCatalog, player_id: str, position: Position, policy: NetPolicy) -> NetOpinion:
    player = catalog.open(player_id)
    found = evaluate(player, [position])[0]
    has_policy = isinstance(player.evaluator, Evaluator) and policy.kind not in ("none", "core")
    return NetOpinion(
        player=player_id,
        name="equal priors" if player_id == UNIFORM else player.name,
        wdl=wdl_for_white(found.wdl, position.turn),
        priors={position.uci(move): round(prior, 4) for move, prior in found.priors.items()},
        policy=_millionths(player.evaluator, position) if has_policy else None,
        plies=None if found.plies is None else round(found.plies, 1),
    )


def _millionths(evaluator: str | Evaluator, position: Position) -> list[int]:
    assert isinstance(evaluator, Evaluator)
    cells: list[int] = (policy_of(evaluator, position) * MILLION).round().astype(int).reshape(-1).tolist()
    return cells
