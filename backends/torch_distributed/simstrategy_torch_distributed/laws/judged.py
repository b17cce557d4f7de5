"""The laws of a run by their names, and what they have found when all ranks have ended."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, final

from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.findings import Finding
from simstrategy_torch_distributed.laws.coverage import Coverage
from simstrategy_torch_distributed.laws.late import Late
from simstrategy_torch_distributed.laws.random import Random
from simstrategy_torch_distributed.laws.state import State

__all__ = ["DEFAULT", "LAWS", "Laws", "chosen"]


class _Law(Protocol):
    def receive(self, rank: int, report: Mapping[str, Any]) -> None: ...

    def close(self) -> Iterator[Finding | str]: ...


_LAWS: Final[Mapping[str, Callable[[int], _Law]]] = {
    "state": lambda _: State(),
    "late": lambda _: Late(),
    "coverage": Coverage,
    "random": Random,
}
"""What makes each law, given the number of ranks."""
LAWS: Final = tuple(_LAWS)
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


@final
class Laws:
    """Gives each report of a rank to its law.  ranks: how many there are."""

    def __init__(self, names: Sequence[str], ranks: int) -> None:
        self._laws = {name: _LAWS[name](ranks) for name in names}
        self.received = Counter[str]()
        """How much was received for each law."""

    def receive(self, rank: int, name: str, report: Mapping[str, Any]) -> None:
        """Takes what a rank has observed for a law."""
        if name in self._laws:
            self.received[name] += 1
            self._laws[name].receive(rank, report)

    def close(self) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
        """Returns findings and remarks, when all ranks have ended."""
        found = [one for law in self._laws.values() for one in law.close()]
        return tuple(one for one in found if isinstance(one, Finding)), tuple(
            one for one in found if isinstance(one, str)
        )
