"""A choice from some values as a strategy that is made once: Hypothesis examines each strategy, also one like the last.

What is drawn stays the same. Where a strategy stands at the head of a file this is not needed.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

__all__ = ["sampled"]

_made: dict[str, st.SearchStrategy[Any]] = {}
_MADE_MAX = 4096
"""So many are kept: numbers of earlier values of a program are many."""


def sampled(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """Draws one of some values, which differ in their `repr`, such as numbers, texts and tuples of them.

    >>> sampled([0, 1]) is sampled([0, 1]), sampled([0, 1]) is sampled([False, True])
    (True, False)
    """
    key = repr(values)
    found = _made.get(key)
    if found is None:
        if len(_made) >= _MADE_MAX:
            _made.clear()
        found = _made[key] = st.sampled_from(values)
    return found
