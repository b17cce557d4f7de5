"""Tables of HTML for notebooks: escaped, without scripts, below 20 KB whatever they are made of."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple, Protocol

from simstrategy.notebook.texts import differs, value_text

__all__ = ["Marked", "card", "component_cells", "components_html"]

_ROWS_MAX: Final = 32
_ROWS_BYTES: Final = 11_000
_NOTES_BYTES: Final = 5_000
"""Of all notes together, as of all rows; what follows is left out."""
_CELLS_MAX: Final = 12
"""Of one row."""
_CELL_MAX: Final = 160
_HEADING_MAX: Final = 24
_NOTE_MAX: Final = 500
_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
"""As `html.escape`, whose module loads the names of all characters at every start."""


class Marked(NamedTuple):
    """A cell or a sentence that stands out, by a sign as well as by its form."""

    text: str
    sign: str = "!"


def card(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str | Marked]],
    *,
    total: int,
    notes: Iterable[str | Marked] = (),
) -> str:
    """Returns a table with a title as HTML.

    rows: as many as are shown are taken from it; total: how many there are. notes: sentences below it.

    >>> "<td>a &lt;b&gt;</td>" in card("PerReplica", ["replica", "value"], [["0", "a <b>"]], total=1)
    True
    """
    made = (f"<tr>{''.join(_cell(cell) for cell in row[:_CELLS_MAX])}</tr>" for row in islice(rows, _ROWS_MAX))
    lines = _within(made, _ROWS_BYTES)
    wide = max(0, len(headings) - _CELLS_MAX)
    left = [f"… and {total - len(lines)} more rows"] * (total > len(lines)) + [f"… and {wide} more columns"] * bool(
        wide
    )
    texts = _within(map(_note, chain(left, notes)), _NOTES_BYTES)
    head = "".join(f'<th scope="col">{_text(one, _HEADING_MAX)}</th>' for one in headings[:_CELLS_MAX])
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>" if headings else ""
    return f"<div><p><strong>{_text(title)}</strong></p>{table}{''.join(texts)}</div>"


def _within(lines: Iterable[str], size_max: int) -> list[str]:
    """Returns the first lines that together have so many bytes at most."""
    found: list[str] = []
    size = 0
    for line in lines:
        size += len(line.encode())
        if size > size_max:
            break
        found.append(line)
    return found


class _Distributed(Protocol):
    """A value with one component for each local replica."""

    @property
    def values(self) -> Sequence[Any]: ...


def components_html(value: _Distributed) -> str:
    """Returns the components of a distributed value as a table; those that differ from the first one are marked."""
    values = value.values
    rows = (component_cells(str(place), one, values[0]) for place, one in enumerate(values))
    return card(type(value).__name__, ["replica here", "value"], rows, total=len(values))


def component_cells(name: str, value: Any, first: Any) -> list[str | Marked]:
    """Returns the cells of one component: its name, and its value, marked where it differs from the first one."""
    text = value_text(value)
    return [name, Marked(text, "≠") if value is not first and differs(value, first) else text]


def _cell(cell: str | Marked) -> str:
    if isinstance(cell, Marked):
        return f'<td style="border-left: 3px solid #b42318"><strong>{_text(f"{cell.sign} {cell.text}")}</strong></td>'
    return f"<td>{_text(cell)}</td>"


def _note(note: str | Marked) -> str:
    if isinstance(note, Marked):
        return f"<p><strong>{_text(f'{note.sign} {note.text}', _NOTE_MAX)}</strong></p>"
    return f"<p>{_text(note, _NOTE_MAX)}</p>"


def _text(text: str, most: int = _CELL_MAX) -> str:
    cut = text if len(text) <= most else f"{text[:most]} …"
    return "".join(one if one.isprintable() or one == "\n" else ascii(one)[1:-1] for one in cut).translate(_ESCAPED)
