"""The documentation as a site, by Sphinx with MyST: `make docs`. Everything that is wrong with a link ends the build.

The pages of `docs/` are written for readers of the repository, and link to its files. For the site each link is
rewritten: to the page of another document, or to a page made here that shows the file. Some pages of the site are
files of the repository's root (`ROOT_PAGES`), and the API reference is written from `selfmate.__all__`.
"""

from __future__ import annotations

import html
import importlib
import inspect
import json
import os
import posixpath
import re
from collections.abc import Callable, Iterator
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS: Final = Path(__file__).resolve().parent
ROOT: Final = DOCS.parent

# -- settings of Sphinx -----------------------------------------------------------------------------------------------

project = "Selfmate"
copyright = "the authors of Selfmate, GPL-3.0-or-later"
release = version = installed_version("selfmate")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = f"Selfmate {release}"
html_static_path: list[str] = []
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
default_role = "code"  # docstrings write `name`
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "inherited-members": "object,tuple,MutableMapping,Enum",
}
# The text of a fence may be shell output, PGN or a diff that no lexer accepts.
suppress_warnings = ["misc.highlighting_failure"]

# -- links ------------------------------------------------------------------------------------------------------------

ROOT_PAGES: Final = {
    "index": "README.md",
    "project/contributing": "CONTRIBUTING.md",
    "project/changelog": "CHANGELOG.md",
    "project/examples": "examples/README.md",
}
"""Pages of the site whose text is a file outside of `docs/`; only the index has text of its own, which follows."""
SAME: Final = {Path("docs/README.md"): "index", **{Path(path): page for page, path in ROOT_PAGES.items()}}
LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s#]+)(#[^()\s]*)?\)")
IMAGE: Final = re.compile(r"!\[([^\]]*)\]\(([^()\s]+)\)")
FENCE: Final = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LEXERS: Final = {
    ".py": "python",
    ".h": "cpp",
    ".cpp": "cpp",
    ".c": "c",
    ".toml": "toml",
    ".yml": "yaml",
    ".json": "json",
}
SHOWN: Final[set[Path]] = set()
"""Files and folders of the repository that pages link to."""


def link(page: str, folder: Path, text: str, target: str, anchor: str) -> str:
    """Return a link of a document, as the page of the site needs it; `folder` is the one that it is relative to."""
    if "://" in target or target.startswith("mailto:"):
        return f"[{text}]({target}{anchor})"
    path = (folder / target).resolve()
    if not path.exists() or not path.is_relative_to(ROOT):
        raise ExtensionError(f"{page}: a link leads nowhere: {target}")
    inside, here = path.relative_to(ROOT), posixpath.dirname(page) or "."
    if (document := document_of(inside)) is not None:
        return f"[{text}]({posixpath.relpath(document, here)}.md{anchor})"
    SHOWN.add(inside)
    return f'<a href="{posixpath.relpath(shown_page(inside), here)}.html">{text}</a>'


def image(page: str, folder: Path, text: str, target: str) -> str:
    """Return an image of a document, as the page of the site needs it."""
    path = (folder / target).resolve()
    if not path.is_relative_to(DOCS) or not path.exists():
        raise ExtensionError(f"{page}: no image of docs/: {target}")
    return f"![{text}]({posixpath.relpath(path.relative_to(DOCS).as_posix(), posixpath.dirname(page) or '.')})"


def document_of(path: Path) -> str | None:
    """Return the document that a file of the repository becomes, or None."""
    if path in SAME:
        return SAME[path]
    is_document = path.parts[0] == "docs" and path.suffix == ".md"
    return path.relative_to("docs").with_suffix("").as_posix() if is_document else None


def shown_page(path: Path) -> str:
    """Return the page of the site that shows a file or folder of the repository."""
    return f"files/{path.as_posix()}" + ("/index" if (ROOT / path).is_dir() else "")


def read_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the text of a page together, and rewrite its links. Sphinx calls it for each page."""
    texts = [(source[0], DOCS / posixpath.dirname(page))]
    if page in ROOT_PAGES:
        path = ROOT / ROOT_PAGES[page]
        texts.insert(0, (path.read_text("utf-8"), path.parent))
        if page != "index":
            texts.pop()
    if page == "reference/api":
        texts.append((api(), DOCS))
    parts = []
    for text, folder in texts:
        for index, part in enumerate(FENCE.split(text)):
            rewritten = LINK.sub(lambda found, at=folder: link(page, at, found[1], found[2], found[3] or ""), part)
            rewritten = IMAGE.sub(lambda found, at=folder: image(page, at, found[1], found[2]), rewritten)
            parts.append(part if index % 2 else rewritten)
        parts.append("\n\n")
    source[0] = "".join(parts)


def show_files(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file and folder that pages link to; that of a folder lists its files."""
    folders = {path for path in SHOWN if (ROOT / path).is_dir()}
    for folder in sorted(folders):
        files = sorted(each.relative_to(ROOT) for each in (ROOT / folder).iterdir() if each.is_file())
        here, rows = posixpath.dirname(shown_page(folder)), []
        for file in files:
            document = document_of(file)
            if document is None:
                SHOWN.add(file)
            address = posixpath.relpath(document or shown_page(file), here)
            rows.append(f'<li><a href="{html.escape(address)}.html">{html.escape(file.name)}</a></li>')
        yield page_of(folder, f"<ul>{''.join(rows)}</ul>")
    for file in sorted(SHOWN - folders):
        text = (ROOT / file).read_text("utf-8", errors="replace")
        highlight = app.builder.highlighter.highlight_block  # type: ignore[attr-defined]
        if file.suffix == ".ipynb":
            yield page_of(file, show_cells(text, highlight))
        else:
            yield page_of(file, highlight(text, LEXERS.get(file.suffix, "text")))


def show_cells(notebook: str, highlight: Callable[[str, str], str]) -> str:
    """Return the cells of a notebook as HTML: text as it is written, code highlighted."""
    markdown = MarkdownIt()
    parts = []
    for cell in json.loads(notebook)["cells"]:
        source = "".join(cell["source"])
        parts.append(highlight(source, "python") if cell["cell_type"] == "code" else markdown.render(source))
    return "".join(parts)


def page_of(path: Path, body: str) -> tuple[str, dict[str, Any], str]:
    """Return what Sphinx needs to write the page of a file or folder."""
    title = html.escape(path.as_posix())
    return shown_page(path), {"title": title, "body": f"<section><h1>{title}</h1>{body}</section>"}, "page.html"


# -- the API reference ------------------------------------------------------------------------------------------------

GROUPS: Final = {"board": "Rules, positions and games", "_core": "Rules, positions and games", "errors": "Errors"}


def api() -> str:
    """Return the API reference: every name of `selfmate.__all__`, by the package that it comes from."""
    import selfmate

    groups: dict[str, list[str]] = {}
    for name in selfmate.__all__:
        value = getattr(selfmate, name)
        module = getattr(value, "__module__", None) or "selfmate._core"
        package = module.split(".")[1] if module.startswith("selfmate.") else "_core"
        package = "board" if inspect.ismodule(value) else re.sub(r"_core_v\d", "_core", package)
        kind = "module" if inspect.ismodule(value) else "class" if inspect.isclass(value) else "data"
        kind = "exception" if kind == "class" and issubclass(value, BaseException) else kind
        kind = "function" if inspect.isroutine(value) else kind
        heading = GROUPS.get(package, package.capitalize())
        groups.setdefault(heading, []).append(directive(kind, name))
    order = [*dict.fromkeys(GROUPS.values())]
    ranked = sorted(groups, key=lambda heading: (heading == "Errors", heading not in order, heading))
    return "\n".join(f"## {heading}\n\n" + "\n".join(groups[heading]) for heading in ranked)


def directive(kind: str, name: str) -> str:
    """Return the directive that documents a name of `selfmate`."""
    value = getattr(importlib.import_module("selfmate"), name)
    if kind == "module":
        text = f".. py:data:: selfmate.{name}\n\n   The module `{value.__name__}`."
    elif kind == "data":  # a value of a built-in type, whose docstring says nothing about it
        text = f".. py:data:: selfmate.{name}\n   :type: {type(value).__name__}\n   :value: {value!r}"
    else:
        text = f".. auto{kind}:: selfmate.{name}" + ("\n   :no-members:" if kind == "exception" else "")
    return f"```{{eval-rst}}\n{text}\n```\n"


def setup(app: Sphinx) -> None:
    """Register what is above."""
    os.environ.setdefault("NO_COLOR", "1")
    app.connect("source-read", read_page)
    app.connect("html-collect-pages", show_files)
