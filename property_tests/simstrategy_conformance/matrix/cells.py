"""The markup of one cell: its state, and behind a disclosure what has to be known of it.  All text is escaped."""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from simstrategy_conformance.matrix.columns import Cell, Reason

__all__ = ["SIGNS", "as_cell", "as_command", "as_name", "counted", "escaped"]

SIGNS: Final = {"passed": "✓", "failed": "✗", "excepted": "!", "skipped": "–", "not run": "○"}
"""By state, beside its name: no state is shown by a colour alone."""
_OPTION: Final = re.compile(r"(?<= )--[a-z]+(?: [A-Z]-\d+)?")
_JOINT: Final = re.compile(r"[_:]")


def as_cell(cell: Cell | None) -> str:
    """Returns the markup of a cell; None for a clause that the law of a report does not have."""
    if cell is None:
        return '<td class="none">not in its law</td>'
    part = cell.part and cell.state != "not run"
    shown = f"{SIGNS[cell.state]} {cell.state}{', in part' if part else ''}"
    name = f"{cell.state.replace('not run', 'skipped')}{' part' if part else ''}"
    return f'<td class="{name}"><details><summary>{shown}</summary><div>{"".join(_more(cell))}</div></details></td>'


def _more(cell: Cell) -> Iterator[str]:
    """Yields counts, reasons, and the command that repeats the cell."""
    if cell.tests:
        examples = f", {counted(cell.examples, 'example')}" if cell.examples else ""
        yield f"<p>{counted(cell.tests, 'test')}{examples}</p>"
    for one in cell.reasons:
        yield from _reason(one)
    yield f"<p>Repeat: {as_command(cell.repeat)}</p>"


def _reason(reason: Reason) -> Iterator[str]:
    name, text, link = f"<b>{as_name(reason.what)}</b>", escaped(reason.text), _link(reason.link)
    if "\n" in text:
        yield f"<p>{name}:{link}</p><pre>{text}</pre>"
    else:
        yield f"<p>{name}{': ' if text else ''}{text}{link}</p>"


def _link(address: str) -> str:
    """Returns a link to an address of the web; any other text as it is."""
    text = escaped(address)
    if address.startswith(("https://", "http://")):
        return f' <a href="{text}" rel="noreferrer">{text}</a>'
    return f" {text}" if text else ""


def as_command(command: str) -> str:
    """Returns the markup of a command, in which no line ends inside of an option or a clause."""
    shown = _OPTION.sub(r"<span>\g<0></span>", escaped(command))
    return f"<code>{shown}</code>"


def as_name(name: str) -> str:
    """Returns the markup of a name that may be long: a line may end behind an underscore or a colon.

    >>> as_name("test_sum")
    'test_<wbr>sum'
    """
    return _JOINT.sub(r"\g<0><wbr>", escaped(name))


def counted(number: int, name: str) -> str:
    """Returns a number of things.

    >>> counted(1200, "example")
    '1,200 examples'
    """
    return f"{number:,} {name}{'' if number == 1 else 's'}"


def escaped(text: str) -> str:
    r"""Returns a text for HTML and XML, in elements and in quoted attributes.

    Characters that are not shown, such as NUL and lone surrogates, are written as escapes.

    >>> escaped('<a b="\0">')
    '&lt;a b=&quot;\\x00&quot;&gt;'
    """
    shown = (one if one.isprintable() or one in "\n\t" else one.encode("unicode_escape").decode() for one in text)
    return escape("".join(shown))
