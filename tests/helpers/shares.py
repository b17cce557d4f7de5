"""Which cases of a long table every run of the tests takes: the others have the mark `deep`.

`ci/run.py test` leaves them out, and `ci/run.py deep cases` runs them.
"""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["DEEP", "one_in"]

DEEP = pytest.mark.deep


def one_in(count: int, cases: Iterable[Any], *, deep: Iterable[Any] = ()) -> list[Any]:
    """Returns cases as parameters: the first of each `count` is run with all tests, the others and `deep` are deep.

    >>> [bool(one.marks) for one in one_in(2, "abc")]
    [False, True, False]
    """
    listed, late = list(cases), list(deep)
    usual = [one for one in listed if one not in late]
    chosen = [pytest.param(one, marks=DEEP if place % count else ()) for place, one in enumerate(usual)]
    return chosen + [pytest.param(one, marks=DEEP) for one in listed if one in late]
