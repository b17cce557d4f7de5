"""Docstrings as Sphinx reads them: names in code, parameters in a list, clauses as links to the law.

The docstrings of this project are paragraphs with names in backticks, descriptions of parameters such as
"value: [batch, …] numbers.", and examples. Nothing else in them is markup.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Known", "as_markup"]

_CODE = re.compile(r"(``?[^`]+``?)")
_CLAUSE = re.compile(r"\b[A-Z]-\d+\b")
_DESCRIBED = re.compile(r"(?:^|(?<=[.;)] ))((?:[a-z_]\w*, )*[a-z_]\w*): ")
_AFTER = re.compile(r"(?<=[.)]) +(?=(?:Raises|Returns|Clauses?:|Source)\b)")
_SPECIAL = re.compile(r"([*_|\\])")


class Known(NamedTuple):
    """What a docstring may name.  names: parameters and fields; clauses: the law's."""

    names: frozenset[str]
    clauses: frozenset[str]


def as_markup(lines: list[str], known: Known) -> list[str]:
    """Returns a docstring as reStructuredText."""
    found: list[str] = []
    for paragraph in _paragraphs(lines):
        is_example = paragraph[0].lstrip().startswith(">>> ")
        found += [*paragraph, ""] if is_example else _blocks(" ".join(" ".join(paragraph).split()), known)
    return found


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
        elif paragraph:
            yield paragraph
            paragraph = []


def _blocks(text: str, known: Known) -> Iterator[str]:
    """Yields the lines of a paragraph, whose descriptions of parameters become a list."""
    starts = [one for one in _DESCRIBED.finditer(text) if known.names.issuperset(one[1].split(", "))]
    before, after = text[: starts[0].start()] if starts else text, ""
    ends = [*(one.start() for one in starts[1:]), len(text)]
    items = []
    for start, end in zip(starts, ends, strict=False):
        described = text[start.end() : end].strip()
        if end == len(text):
            described, *rest = _AFTER.split(described, maxsplit=1)
            after = "".join(rest)
        names = ", ".join(f"**{name}**" for name in start[1].split(", "))
        items.append(f"* {names}: {_text(described, known)}")
    for part in ([_text(before, known)], items, [_text(after, known)]):
        if any(part):
            yield from [*part, ""]


def _text(text: str, known: Known) -> str:
    parts = _CODE.split(text.strip())
    return "".join(_code(part) if number % 2 else _plain(part, known) for number, part in enumerate(parts))


def _code(text: str) -> str:
    # An escaped space is none on the page; without it code that a letter follows, as in `Mean`s, is not seen to end.
    return rf"\ ``{text.strip('`')}``\ "


def _plain(text: str, known: Known) -> str:
    return _CLAUSE.sub(lambda found: _link(found[0], known), _SPECIAL.sub(r"\\\1", text))


def _link(clause: str, known: Known) -> str:
    return f":ref:`{clause} <{clause.lower()}>`" if clause in known.clauses else clause
