"""Second implementations of the encoders and policies of other systems, in plain Python, from FENs alone.

They follow the contract of `cpp/data/encoders.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oracles import PIECES, UNDERPROMOTIONS, Encoded, bitboard, encode, move_index
from selfmate import WHITE, Move, Position

ENCODERS: Final = ("full", "pieces12", "pieces13", "planes16", "planes18", "planes21", "planes19")
POLICIES: Final = ("planes", "fromto", "fromto_queen")
BY_THE_MOVER: Final = ("full", "pieces12")
"""Encoders that see the board as the side to move does; the others see it as White does."""


def colours_exchanged(position: Position) -> Position:
    """Return the same position with the board turned upside down and the colours exchanged."""
    board, turn, castling, ep_square, *rest = position.fen().split()
    board = "/".join(rank.swapcase() for rank in reversed(board.split("/")))
    castling = "".join(sorted(castling.swapcase())) if castling != "-" else castling
    if ep_square != "-":
        ep_square = ep_square[0] + str(position.ranks + 1 - int(ep_square[1]))
    if position.checks_left is not None:
        rest[0] = "+".join(reversed(rest[0].split("+")))
    fen = " ".join([board, "b" if turn == "w" else "w", castling, ep_square, *rest])
    return Position(position.variant + ("960" if position.chess960 else ""), fen)


def pieces(position: Position, *, by_white: bool) -> list[int]:
    """Return the twelve piece planes as one side sees them: its own pieces first, its first rank first."""
    planes: list[list[tuple[int, int]]] = [[] for _ in range(12)]
    rows = position.fen().split()[0].split("/")
    for row, text in enumerate(rows):
        file = 0
        for letter in text:
            if letter.isdigit():
                file += int(letter)
                continue
            plane = PIECES.index(letter.upper()) + (0 if letter.isupper() == by_white else 6)
            planes[plane].append((file, len(rows) - 1 - row if by_white else row))
            file += 1
    return [bitboard(plane) for plane in planes]


def encode_as(encoder: str, game: Sequence[Position], *, repeated: bool, history: int = 1) -> Encoded:
    """Encode the last position of a game, which are all its positions in order."""
    position = game[-1]
    white = position.turn == WHITE
    by_white = white or encoder not in BY_THE_MOVER
    everywhere = bitboard((file, rank) for file in range(position.files) for rank in range(position.ranks))
    fields = position.fen(shredder=True).split()
    clock, number = int(fields[-2]), int(fields[-1])
    bits, scalars = pieces(position, by_white=by_white), list[float]()
    if encoder == "full":
        seen = encode(position, repeated)
        bits, scalars = list(seen.bits), list(seen.scalars)
    elif encoder == "planes16":
        bits += [0 if white else everywhere, everywhere if repeated else 0]
        scalars = [min(number / 100, 1), min(clock / 100, 1)]
    elif encoder != "pieces12":
        bits.append(everywhere if white else 0)
    if encoder in ("planes18", "planes19", "planes21"):
        rows = fields[0].split("/")
        for king, row in (("K", rows[-1]), ("k", rows[0])):
            rights = [right for right in fields[2].replace("-", "") if right.isupper() == king.isupper()]
            rooks = ["abcdefgh".index(right.lower()) for right in rights]
            expanded = "".join("." * int(letter) if letter.isdigit() else letter for letter in row)
            here = expanded.find(king)
            bits.append(everywhere if any(rook > here for rook in rooks) else 0)
            bits.append(everywhere if any(rook < here for rook in rooks) else 0)
    if encoder in ("planes18", "planes21"):
        ep_files = [] if fields[3] == "-" else ["abcdefgh".index(fields[3][0])]
        bits.append(bitboard((file, rank) for file in ep_files for rank in range(position.ranks)))
    if encoder == "planes21":
        scalars = [min(clock / 100, 1), float(repeated), (2 * (number - 1) + (not white)) % 100 / 100]
    if encoder == "planes19":
        scalars = [min(number / 100, 1), min(clock / 100, 1)]
    for back in range(1, history):
        bits += pieces(game[-1 - back], by_white=by_white) if back < len(game) else [0] * 12
    return Encoded(tuple(bits), tuple(scalars))


def index_as(encoder: str, policy: str, position: Position, move: Move) -> int:
    """Return the policy index of a move, seen as the encoder sees the board."""
    by_white = position.turn == WHITE or encoder not in BY_THE_MOVER
    files, ranks = position.files, position.ranks

    def seen(square: int) -> int:
        rank, file = divmod(square, 8)
        return (rank if by_white else ranks - 1 - rank) * files + file

    start, end = seen(move.from_square), seen(move.to_square)
    if policy == "planes":
        index = move_index(position, move)
        if by_white == (position.turn == WHITE):
            return index
        # The same move, but north is south: of an upright plane, or of the plane of a promotion as it is.
        plane = index // (files * ranks)
        if plane < 8 * (files - 1):
            direction, distance = divmod(plane, files - 1)
            plane = (4 - direction) % 8 * (files - 1) + distance
        elif plane < 8 * files:
            plane = 8 * (files - 1) + (3 - (plane - 8 * (files - 1))) % 8
        return plane * files * ranks + start
    underpromotes = move.promotion in UNDERPROMOTIONS and policy == "fromto"
    plane = end
    if underpromotes:
        assert move.promotion is not None
        plane = files * ranks + 3 * UNDERPROMOTIONS[move.promotion] + 1 + end % files - start % files
    return plane * files * ranks + start
