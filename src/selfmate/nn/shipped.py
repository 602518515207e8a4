"""The nets that come with Selfmate: `selfmate nets` lists them, `find` returns the one for a variant.

Each is a net's folder in `nets_data`, with a `shipped.json` that describes its training, its measured strength and its
licence. There is at most one net for a variant.

>>> all(find(net.variant, timed=False) == net.folder for net in shipped()), find("racingkings")  # on a clock
(True, None)
"""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from selfmate.errors import SelfmateError
from selfmate.nn.checkpoint import read_card
from selfmate.util.text import many, percent

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["NetsError", "ShippedNet", "check", "find", "named", "net_of", "shipped", "show"]

FOLDER: Final = "nets_data"
CARD_NAME: Final = "shipped.json"

Text = Annotated[str, Meta(min_length=1, max_length=500)]


class NetsError(SelfmateError):
    """A shipped net that is damaged."""


class MatchScore(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The result of a match that measured the strength of a net."""

    against: Text
    score: Annotated[float, Meta(ge=0, le=1)]
    low: Annotated[float, Meta(ge=0, le=1)]
    high: Annotated[float, Meta(ge=0, le=1)]
    """The ends of the 95 % interval of the score."""
    games: Annotated[int, Meta(gt=0)]
    visits: Annotated[int, Meta(gt=0)]
    """Visits per move of either side."""


class _Shipped(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The content of `shipped.json`."""

    name: Text
    variant: Text
    net_id: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    size: Text
    parameters: Annotated[int, Meta(gt=0)]
    recipe: Text
    trained: Text
    """Duration, hardware and number of games of the training."""
    date: Text
    commit: Text
    licence: Text
    scores: tuple[MatchScore, ...]
    on_clock: bool = True
    """Whether it plays by default also where time is limited; False if heuristic-1 is stronger then, on a CPU."""
    files: dict[str, Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]]
    """sha256 of every file of the net."""


class ShippedNet(_Shipped, frozen=True, kw_only=True):
    """A shipped net: its card and its folder."""

    folder: Path

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        values: dict[str, Any] = msgspec.to_builtins(self, enc_hook=str)
        return values


def shipped() -> list[ShippedNet]:
    """List the nets that come with Selfmate, by name."""
    root = Path(str(resources.files("selfmate") / FOLDER))
    found = []
    for path in sorted(root.glob(f"*/{CARD_NAME}")):
        try:
            card = msgspec.json.decode(path.read_bytes(), type=_Shipped)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise NetsError(f"{path}: damaged: {' '.join(str(error).split())}", str(path)) from None
        found.append(ShippedNet(**{key: getattr(card, key) for key in card.__struct_fields__}, folder=path.parent))
    return found


def find(variant: str, *, timed: bool = True) -> Path | None:
    """Return the folder of the net that plays a variant by default (`chess960` counts as chess), or None.

    `timed` says that time is limited, or may be: then a net that is weaker than heuristic-1 in equal time is left out.

    >>> find("no such variant") is None, find("horde") is None, find("horde", timed=False).name
    (True, True, 'horde-gpu')
    """
    net = net_of(variant)
    return net.folder if net is not None and (net.on_clock or not timed) else None


def net_of(variant: str) -> ShippedNet | None:
    """Return the shipped net for a variant (`chess960` counts as chess), or None."""
    plain = variant.removesuffix("960")
    return next((net for net in shipped() if net.variant == plain), None)


def named(name: str) -> Path | None:
    """Return the folder of the shipped net of this name, or None.

    >>> named("gardner-laptop") == find("gardner"), named("heuristic-1")
    (True, None)
    """
    return next((net.folder for net in shipped() if net.name == name), None)


def check(net: ShippedNet) -> None:
    """Raise `NetsError` if a file of the net is not the one that was shipped."""
    for name, expected in net.files.items():
        path = net.folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != expected:
            raise NetsError(f"{path}: missing, or checksum mismatch: not the file that was shipped", str(path))
    if read_card(net.folder).net_id != net.net_id:
        raise NetsError(f"{net.folder}: not the net of {CARD_NAME}", str(net.folder))


def show(found: list[ShippedNet], console: Console) -> None:
    """Print the nets with their cards."""
    from rich.table import Table

    for net in found:
        table = Table(title=f"{net.name} ({net.variant})", title_justify="left", show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        size = sum((net.folder / name).stat().st_size for name in net.files)
        rows = [
            ("size", f"{net.size}, {net.parameters:,} parameters, {size / 1024:,.0f} KiB"),
            ("trained", f"{net.trained}; recipe {net.recipe}, {net.date}, commit {net.commit[:12]}"),
            *(
                (
                    f"against {each.against}",
                    f"{percent(each.score)} [{100 * each.low:.1f}, {100 * each.high:.1f}] "
                    f"in {many(each.games, 'game')} at {many(each.visits, 'visit')}",
                )
                for each in net.scores
            ),
            *([] if net.on_clock else [("by default", "where visits are limited; on a clock heuristic-1 is stronger")]),
            ("net", net.net_id),
            ("licence", net.licence),
            ("folder", str(net.folder)),
        ]
        for row in rows:
            table.add_row(*row)
        console.print(table, highlight=False)
