"""Links of built pages that lead nowhere, and what a page would load from another host."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links"]

_LOADED = {"img": "src", "script": "src", "link": "href", "source": "srcset", "iframe": "src"}
# A page that is opened as a file does not use them: they are for search engines and for the page's address.
_NOT_LOADED = ("canonical", "alternate")
_ID = re.compile(r'\b(?:id|name)="([^"]*)"')


class _Links(HTMLParser):
    """The targets of a page.  loaded: those that a browser fetches to show the page."""

    def __init__(self) -> None:
        super().__init__()
        self.followed: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "a" and given.get("href"):
            self.followed.append(str(given["href"]))
        target = given.get(_LOADED.get(tag, ""))
        if target and given.get("rel") not in _NOT_LOADED:
            self.loaded.append(target)


def broken_links(folder: Path) -> list[str]:
    """Returns a sentence for each link of the pages in a folder that leads nowhere, and for what other hosts serve."""
    pages = {page.resolve(): page.read_text(encoding="utf-8") for page in sorted(folder.rglob("*.html"))}
    ids = {page: {unquote(one) for one in _ID.findall(text)} for page, text in pages.items()}
    return [
        f"{page.relative_to(folder.resolve())}: {problem}"
        for page, text in pages.items()
        for problem in _problems(page, text, ids)
    ]


def _problems(page: Path, text: str, ids: dict[Path, set[str]]) -> Iterator[str]:
    links = _Links()
    links.feed(text)
    for target in links.loaded:
        parts = urlsplit(target)
        if parts.scheme in ("http", "https") or parts.netloc:
            yield f"it loads {target}, and has to be readable without a network"
    for target in sorted({*links.followed, *links.loaded}):
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if not file.is_file():
            yield f"the link to {target} leads to no file"
        elif file in ids and parts.fragment and unquote(parts.fragment) not in ids[file]:
            yield f"the link to {target} leads to no place in that page"
