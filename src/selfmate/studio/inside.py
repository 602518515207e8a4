"""What a net sees and says of a position without a search: input planes, and priors beside an untrained net's."""

from __future__ import annotations

from selfmate.board.encoding import PLANE_NAMES, encode_planes
from selfmate.board.position import Position
from selfmate.errors import SelfmateError
from selfmate.search.evaluate import evaluate
from selfmate.search.spec import RANDOM
from selfmate.studio.board_view import play_line, start_position, wdl_for_white
from selfmate.studio.messages import InsideNet, LookInside, NetOpinion, NetPlane
from selfmate.studio.players import UNIFORM, PlayerCatalog

__all__ = ["look_inside"]


def look_inside(catalog: PlayerCatalog, request: LookInside) -> InsideNet:
    """Return the planes of a position and what nets say of it; raises `SelfmateError` where there is nothing to say."""
    position = start_position(request.variant, request.fen)
    play_line(position, request.moves)
    if position.outcome() is not None:
        raise SelfmateError("the game is over in this position")
    player_id = request.player or catalog.default(request.variant)
    if player_id == RANDOM:
        raise SelfmateError(f"{RANDOM} has no opinion: choose another player")
    planes = encode_planes([position])[0]
    return InsideNet(
        ask=request.ask,
        fen=position.fen(),
        files=position.files,
        ranks=position.ranks,
        planes=[
            NetPlane(name=name, values=_values(plane.reshape(-1).tolist()))
            for name, plane in zip(PLANE_NAMES, planes, strict=True)
        ],
        opinions=[_opinion(catalog, each, position) for each in (player_id, _untrained(player_id))],
    )


def _values(numbers: list[float]) -> list[float]:
    """Return the numbers of a plane; one, if all are equal."""
    rounded = [round(number, 3) for number in numbers]
    return rounded[:1] if len(set(rounded)) == 1 else rounded


def _untrained(player_id: str) -> str:
    """Return the untrained net of the same run, or equal priors for players that are not of a run."""
    return f"{player_id.rpartition('/')[0]}/0" if player_id.startswith("run/") else UNIFORM


def _opinion(catalog: PlayerCatalog, player_id: str, position: Position) -> NetOpinion:
    player = catalog.open(player_id)
    found = evaluate(player, [position])[0]
    return NetOpinion(
        player=player_id,
        name="equal priors" if player_id == UNIFORM else player.name,
        wdl=wdl_for_white(found.wdl, position.turn),
        priors={position.uci(move): round(prior, 4) for move, prior in found.priors.items()},
        plies=None if found.plies is None else round(found.plies, 1),
    )
