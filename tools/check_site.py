"""Check every link of a built site: its file and its anchor exist. Else the exit code is 1, with a line for each.

python tools/check_site.py build/docs
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Page", "broken_links", "main"]


class Page(HTMLParser):
    """The links and anchors of a page.

    >>> page = Page('<h2 id="a">A</h2><a href="b.html#c">B</a><img src="d.svg">')
    >>> page.anchors, page.links
    ({'a'}, ['b.html#c', 'd.svg'])
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the anchor and the links of an element."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


def broken_links(site: Path) -> list[str]:
    """Return a line for each link within a site that leads nowhere; links to other sites are not followed."""
    site = site.resolve()
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            exists = target.is_file() and target.is_relative_to(site)
            if not exists or (
                parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    return broken


def main(site: str) -> int:
    """Print the broken links of a site; return the exit code."""
    folder = Path(site)
    if not any(folder.rglob("*.html")):
        print(f"check_site: {site} has no pages", file=sys.stderr)
        return 2
    broken = broken_links(folder)
    for line in broken:
        print(f"a link leads nowhere: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2] or ["build/docs"]))
