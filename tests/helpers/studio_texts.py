"""Texts that would be scripts if a page took them for more than text."""

from __future__ import annotations

__all__ = ["INJECTIONS"]

INJECTIONS = [
    wrap.format(code)
    for code in (
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "{{7*7}}",
        "\u202e\u0000",
    )
    for wrap in ("{}", "'{}", '"{}', "</title>{}", "%3C{}%3E", "${{{}}}", "`{}`", "{}//", "../{}", "a{}b")
]
