"""The text of a value in an error message: short, and the same in every run.  No other formatting is done here."""

import re
from typing import Any, Final

__all__ = ["short_repr"]

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_LENGTH_MAX: Final = 80


def short_repr(value: Any) -> str:
    """Returns the repr of a value, of at most 80 characters, without what differs from run to run.

    Memory addresses are left out, and the elements of a set are sorted.

    >>> short_repr(iter(()))
    '<tuple_iterator object>'
    >>> short_repr({"b", "a"})
    "a set of 'a', 'b'"
    """
    if isinstance(value, (set, frozenset)):
        text = f"a {type(value).__name__} of {', '.join(sorted(map(repr, value)))}"
    else:
        text = repr(value)
    return _ADDRESS.sub("", text)[:_LENGTH_MAX]
