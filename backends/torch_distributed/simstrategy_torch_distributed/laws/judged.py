"""The laws of a run by their names, and what they have found when all ranks have ended."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, final

from simstrategy_torch_distributed.findings import Finding
from simstrategy_torch_distributed.laws.coverage import Coverage
from simstrategy_torch_distributed.laws.late import Late
from simstrategy_torch_distributed.laws.random import Random
from simstrategy_torch_distributed.laws.state import State

__all__ = ["Laws"]


class _Law(Protocol):
    def receive(self, rank: int, report: Mapping[str, Any]) -> None: ...

    def close(self) -> Iterator[Finding | str]: ...


_LAWS: Final[Mapping[str, Callable[[int], _Law]]] = {
    "state": lambda _: State(),
    "late": lambda _: Late(),
    "coverage": Coverage,
    "random": Random,
}
"""What makes each law of `named.LAWS`, given the number of ranks."""


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
