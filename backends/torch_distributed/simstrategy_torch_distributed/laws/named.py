"""The names of the laws of a run, and which of them a run judges."""

from collections.abc import Sequence
from typing import Final

from simstrategy.errors import InvalidArgument

__all__ = ["DEFAULT", "LAWS", "chosen"]

LAWS: Final = ("state", "late", "coverage", "random")
"""The names of all laws, in the order of a report."""
DEFAULT: Final = tuple(name for name in LAWS if name != "random")
"""The laws that are judged without being named: draws of the ranks cost every function of torch a little."""


def chosen(added: Sequence[str], left_out: Sequence[str]) -> tuple[str, ...]:
    """Returns the laws that a run judges: the default ones, those that are added, less those that are left out.

    Raises InvalidArgument for a name that no law has.

    >>> chosen([], ["state"])
    ('late', 'coverage')
    """
    for name in (*added, *left_out):
        if name not in (*LAWS, "all"):
            raise InvalidArgument(f"There is no law {name!r} of one run: choose from {', '.join(LAWS)}, or all.")
    names = {*DEFAULT, *(LAWS if "all" in added else added)}
    return tuple(name for name in LAWS if name in names and name not in (LAWS if "all" in left_out else left_out))
