"""Whether each term that a built page uses is a link where the page uses it first."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from ci.site.terms import Term, Terms, has_links, terms_of

__all__ = ["unlinked_terms"]

_VOID = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr")
_NOT_PROSE = ("a", "code", "pre", "script", "style", "svg", "thead", "dt", "h1", "h2", "h3", "h4", "h5", "h6")


class _Uses(HTMLParser):
    """The uses of terms in the article of a page, in their order, each with whether it is a link."""

    def __init__(self, terms: Terms) -> None:
        super().__init__()
        self.found: list[tuple[Term, bool]] = []
        self._terms = terms
        self._open: list[tuple[str, bool, str]] = []  # tag, whether its text is no prose, the place that it links to
        self._is_article = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._is_article |= tag == "article"
        if tag not in _VOID:
            is_own_row = tag == "strong" and (given.get("id") or "").startswith("term-")
            place = (given.get("href") or "").partition("#")[2] if tag == "a" else ""
            toctree = "toctree" in (given.get("class") or "")
            self._open.append((tag, tag in _NOT_PROSE or is_own_row or toctree, place))

    def handle_endtag(self, tag: str) -> None:
        self._is_article &= tag != "article"
        while any(tag == one for one, _, _ in self._open) and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._is_article:
            return
        places = [place for _, _, place in self._open if place.startswith("term-")]
        is_prose = not any(no_prose for _, no_prose, _ in self._open)
        for _, _, term in self._terms.uses(data) if is_prose or places else ():
            self.found.append((term, term.anchor in places))


def unlinked_terms(folder: Path, root: Path) -> list[str]:
    """Returns a sentence for each term that a page uses and does not link at its first use.

    folder: of the built pages; root: of the repository, with the pages that define the terms.
    """
    return [
        f"{name}.html: the first use of '{term.name}' is no link to {term.page}.html#{term.anchor}"
        for page in sorted(folder.rglob("*.html"))
        if has_links(name := page.relative_to(folder).with_suffix("").as_posix())
        for term in _unlinked(page.read_text(encoding="utf-8"), terms_of(root, name))
    ]


def _unlinked(text: str, terms: Terms) -> Iterator[Term]:
    uses = _Uses(terms)
    uses.feed(text)
    seen = set[Term]()
    for term, is_link in uses.found:
        if term not in seen and not is_link:
            yield term
        seen.add(term)
