"""Values in the words of an error: short, and the same in every run.  It formats nothing else."""

import re
from typing import Any, Final

__all__ = ["short_repr"]

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_LENGTH_MAX: Final = 80


def short_repr(value: Any) -> str:
    """Returns a value as Python writes it, without addresses in memory and the order of sets, which are chance.

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
