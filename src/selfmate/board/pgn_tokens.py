r"""The tokens of PGN movetext, as the standard has them and as Lichess and other programs write them.

>>> [match[match.lastindex] for match in TOKEN.finditer("1. e4 e5 {open} 2. O-O $14 *") if match.lastindex]
['e4', 'e5', 'open', 'O-O', '14', '*']
>>> other_result("1\u20130"), other_result("½-½"), other_result("+--"), other_result("2-0")
('1-0', '1/2-1/2', '1-0', None)
"""

from __future__ import annotations

import contextlib
import re
from typing import Final

from selfmate._core import Move
from selfmate.board.position import Position
from selfmate.errors import MoveError, clip

__all__ = [
    "AFTER_END",
    "FIRST_MOVE",
    "NAG_OF_GLYPH",
    "NAG_OF_SUFFIX",
    "NULL_MOVES",
    "TOKEN",
    "other_result",
    "respellings",
    "split_glyph",
    "understand",
]

TOKEN: Final = re.compile(
    r"""
    [\s.]*+(?:[0-9]++(?=[\s.]|\Z)[\s.]*+)?+               # a move number is skipped
    (?: ([Oo0][-\u2011\u2013][Oo0](?:[-\u2011\u2013][Oo0])?+[+\#]?+           # 1: a move
        |[A-Za-z][A-Za-z0-9=+\#-]*+)
        ([!?]{1,2}+)?+                                    # 2: its suffix
      | \{([^}]*+)\}                                      # 3: a comment
      | \{([^}]*+)\Z                                      # 4: a comment that continues on the next line
      | \$([0-9]++)                                       # 5: a numeric annotation glyph
      | ([()])                                            # 6: a variation
      | (1-0|0-1|1/2-1/2|\*)                              # 7: the result
      | ;(.*+)                                            # 8: a comment to the end of the line
      | ([!?]{1,2}+)                                      # 9: a suffix apart from its move
      | ([^\s(){}]++|\S)                                  # 10: anything else
      | \Z
    )""",
    re.VERBOSE,
)
FIRST_MOVE: Final = re.compile(r"\s*+1\s*+\.(?!\s*\.)")
AFTER_END: Final = re.compile(r"\s*+(?:\{([^}]*+)\}|;(.*+)|\Z)")

NAG_OF_SUFFIX: Final = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
# Assessments of moves and positions as Lichess writes them, and `+/-` and the like as older programs do.
NAG_OF_GLYPH: Final = {
    "□": 7, "=": 10, "∞": 13, "⩲": 14, "⩱": 15, "±": 16, "∓": 17, "+\u2212": 18, "+-": 18, "\u2212+": 19, "-+": 19,
    "⨀": 22, "+=": 14, "+/=": 14, "=+": 15, "=/+": 15, "+/-": 16, "-/+": 17, "↑↑": 32, "↑": 36, "→": 40, "=∞": 44,
    "⇆": 132, "⊕": 138, "∆": 140, "N": 146,
}  # fmt: skip
GLYPH_AT_END: Final = re.compile(r"(.*[a-h1-8QRBNKO+#])(\+-|-\+|\+=|=\+|=)")

NULL_MOVES: Final = ("--", "Z0", "null", "pass", "@@@@")

# Results as Lichess reads them: a win is 1 or +, a loss 0 or a dash, a draw ½, 1/2 or 0.5, with one of five separators.
WIN, LOSS, DRAW, SEPARATOR = "[1+]", r"[0\u2013\u2014-]", r"(?:½|1/2|0\.5)", r"[\u2013\u2014_:-]"
OTHER_RESULTS: Final = {
    "1-0": re.compile(WIN + SEPARATOR + LOSS),
    "0-1": re.compile(LOSS + SEPARATOR + WIN),
    "1/2-1/2": re.compile(f"{DRAW}(?:{SEPARATOR}{DRAW})?"),
}

FIGURINES: Final = str.maketrans("♔♕♖♗♘♙♚♛♜♝♞♟", "KQRBN KQRBN ", "")
UCI: Final = re.compile(r"[a-h][1-8]-?[a-h][1-8]=?[qrbnk]?")
CHECK_WORDS: Final = re.compile(r"(?:dbl|dis)?\.?ch\.?|mate|\+|#|!|\?")


def other_result(text: str) -> str | None:
    """Return the result that another spelling means, or None if the text is no result."""
    return next((result for result, spelling in OTHER_RESULTS.items() if spelling.fullmatch(text)), None)


def split_glyph(word: str) -> tuple[str, int] | None:
    """Return a move and the annotation glyph at its end, or None without one.

    >>> split_glyph("Nf3+-"), split_glyph("Qd8="), split_glyph("Nf3")
    (('Nf3', 18), ('Qd8', 10), None)
    """
    found = GLYPH_AT_END.fullmatch(word)
    return (found[1], NAG_OF_GLYPH[found[2]]) if found else None


def respellings(word: str) -> list[list[str]]:
    """Return what a word that is not SAN may mean, as groups of UCI or SAN texts, the likeliest group first.

    UCI, figurines, letters of the wrong case, words for check, and a promotion without its piece, which is a queen. The
    case of a piece's letter is not doubted where it is the only capital: Bc4 is no capture by the b-pawn.

    >>> respellings("G1F3")
    [['g1f3'], ['g1f3', 'G1f3'], ['g1f3=Q']]
    >>> respellings("nf3ch")[0], respellings("Bc4")[0]
    (['nf3', 'Nf3'], ['Bc4'])
    """
    plain = CHECK_WORDS.sub("", clip(word)).translate(FIGURINES).replace(" ", "")
    if not plain:
        return []
    lower = plain.lower()
    end = lower.rstrip("qrbnk").rstrip("=/(")  # with the square that the move leads to
    head, square = end[:-2], end[-2:]
    promotion = f"={lower[-1].upper()}" if lower[-1].isalpha() else ""
    heads = [head[:1].upper() + head[1:]]
    if plain[0] not in "KQRBN" or plain[1:] != lower[1:]:
        heads.insert(0, head)
    uci = [[lower.replace("-", "").replace("=", "")]] if UCI.fullmatch(lower) else []
    return [*uci, [f"{each}{square}{promotion}" for each in heads], [f"{head}{square}=Q"]]


def understand(position: Position, word: str) -> Move | None:
    """Return the legal move that a word means which is not SAN, or None if it means none or several.

    >>> understand(Position("chess"), "E2-E4"), understand(Position("chess"), "e5")
    (Move.from_uci('e2e4'), None)
    """
    for group in respellings(word):
        found: set[Move] = set()
        for text in group:
            for parse in (position.parse_uci, position.parse_san):
                with contextlib.suppress(MoveError):
                    found.add(parse(text))
        if found:
            return found.pop() if len(found) == 1 else None
    return None
