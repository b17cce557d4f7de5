"""The values of a recording as texts: a page shows these and computes none of them again."""

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from simstrategy.trace import Value

__all__ = ["ELEMENTS_MAX", "ValueTable", "element_text"]

ELEMENTS_MAX: Final = 24
"""How many elements of one value a page has."""
_CHARACTERS_MAX: Final = 200
"""Of one element that is a text."""


def element_text(element: Any) -> str:
    """Returns one element as text: a float as the shortest text that has its bits in its dtype.

    >>> element_text(np.float32(0.1)), element_text(np.float64(0.1) + 0.2)
    ('0.1', '0.30000000000000004')
    >>> element_text(np.str_("a"))
    "'a'"
    """
    if isinstance(element, str):
        text = str(element)  # of NumPy's texts the representation has another form
        return repr(text if len(text) <= _CHARACTERS_MAX else f"{text[:_CHARACTERS_MAX]} …")
    return str(element)


@final
class ValueTable:
    """The values that a page refers to by number, each once."""

    __slots__ = ("_numbers", "values")

    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []
        """One object for each value: dtype, shape, texts of the first elements, and what else is known of it."""
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(self, value: Value) -> int:
        """Returns the number of a value."""
        # Without a digest the value is not known, and two of them are alike in form only.
        key = (value.dtype, value.shape, value.digest)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.values)
            self.values.append(_described(value))
        return found

    def rows(self, rows: Sequence[Sequence[Value]]) -> list[list[int]]:
        """Returns the numbers of the values of each replica."""
        return [[self.number(value) for value in row] for row in rows]


def _described(value: Value) -> dict[str, Any]:
    elements = value.first if value.array is None else value.array.reshape(-1)
    shown = elements[:ELEMENTS_MAX]
    line: dict[str, Any] = {
        "dtype": value.dtype,
        "shape": ["?" if size is None else size for size in value.shape],
        "texts": [element_text(one) for one in shown],
        "known": value.digest != "",
    }
    if len(shown) < len(elements) or value.array is None:
        line["more"] = True
        if value.low is not None and value.high is not None:
            line["range"] = [str(value.low), str(value.high)]
    if value.not_finite:
        line["not_finite"] = value.not_finite
        if value.array is not None:
            line["not_finite_at"] = int(np.flatnonzero(~np.isfinite(value.array.reshape(-1)))[0])
    return line
