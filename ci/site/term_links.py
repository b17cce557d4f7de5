"""Makes the first use of each term in a page a link to the term's row, when Sphinx has read all pages.

Sphinx calls `anchor` for a page that it has read, and `link` for one that it is about to write. Docutils is in the
environment of the site alone.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes

from ci.site.terms import PAGES, Term, Terms, defined, has_links, terms_of

__all__ = ["anchor", "link"]

_NOT_PROSE = (nodes.Titular, nodes.reference, nodes.literal, nodes.literal_block, nodes.thead, nodes.FixedTextElement)
# Names of nodes that are Sphinx's own: signatures of functions, tables of contents, links that it follows later.
_NOT_PROSE_NAMES = ("desc_signature", "toctree", "pending_xref", "download_reference")


def anchor(name: str, text: str, page: nodes.document) -> None:
    """Gives the rows of the terms that a page defines their anchors.  text: of the page, in Markdown."""
    if name in PAGES:
        anchors = {term.name: term.anchor for term in defined(name, text)}
        for word in page.findall(nodes.strong):
            found = anchors.get(word.astext())
            if found is not None and _is_first_cell(word):
                word["ids"].append(found)


def _is_first_cell(word: nodes.Node) -> bool:
    cell = word.parent and word.parent.parent
    return isinstance(cell, nodes.entry) and cell.parent.index(cell) == 0


def link(app: Any, page: nodes.document, name: str) -> None:
    """Makes links of the first uses in a page."""
    if not has_links(name):
        return
    terms, linked = terms_of(Path(app.srcdir), name), set[Term]()
    for element in [*page.findall(nodes.TextElement)]:
        element[:] = _joined(element.children)
    for text in [*page.findall(nodes.Text)]:
        if _is_prose(text):
            siblings = text.parent.children
            place = next(number for number, one in enumerate(siblings) if one is text)  # equal texts are not one
            text.parent[place : place + 1] = [*_parts(app, name, text, terms, linked)]


def _joined(children: list[nodes.Node]) -> list[nodes.Node]:
    """Returns children with one text in place of several: MyST has one for each line, and a term may begin in one."""
    found: list[nodes.Node] = []
    for child in children:
        last = found[-1] if found else None
        if isinstance(child, nodes.Text) and isinstance(last, nodes.Text):
            found[-1] = nodes.Text(last + child)
        else:
            found.append(child)
    return found


def _is_prose(text: nodes.Text) -> bool:
    node = text.parent
    while node is not None:
        if isinstance(node, _NOT_PROSE) or type(node).__name__ in _NOT_PROSE_NAMES or _is_row_of_a_term(node):
            return False
        node = node.parent
    return True


def _is_row_of_a_term(node: nodes.Node) -> bool:
    return isinstance(node, nodes.strong) and any(one.startswith("term-") for one in node["ids"])


def _parts(app: Any, name: str, text: nodes.Text, terms: Terms, linked: set[Term]) -> Iterator[nodes.Node]:
    """Yields what a text becomes; adds the terms that are linked there."""
    end = 0
    for begin, after, term in terms.uses(text):
        if term not in linked:
            linked.add(term)
            yield nodes.Text(text[end:begin])
            target = f"{app.builder.get_relative_uri(name, term.page)}#{term.anchor}"
            yield nodes.reference("", text[begin:after], internal=True, refuri=target, classes=["term"])
            end = after
    yield nodes.Text(text[end:])
