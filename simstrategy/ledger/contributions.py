"""Which replica contributes which sample to the first reduction that has it.

A wrapper around a ledger's backend keeps what enters each group-call. It changes no value and raises nothing. Where a
framework traces, there are no values yet, and nothing is kept.
"""

from collections.abc import Sequence
from typing import TypeAlias, final

import numpy as np

from simstrategy.device import Array, Backend, Op
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidType, Unsupported

__all__ = ["ContributionRecorder", "Entered", "first_contributors"]

Entered: TypeAlias = list[list[np.ndarray]]
"""Of each group-call, of each replica the array [rows, probes] that entered it."""


@final
class ContributionRecorder(Wrapper):
    """Wraps a backend; keeps the arrays of a last axis of `probes` that enter a group-call."""

    __slots__ = ("_probes", "entered")

    def __init__(self, inner: Backend, probes: int) -> None:
        Wrapper.__init__(self, inner)
        self._probes = probes
        self.entered: Entered = []

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        self._keep(arrays)
        return self._inner.all_reduce(arrays, op)

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        self._keep(arrays)
        return self._inner.reduce(arrays, op, root=root)

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        self._keep(arrays)
        return self._inner.all_gather(arrays, axis=axis, sizes=sizes)

    def _keep(self, arrays: Sequence[Array]) -> None:
        if len(arrays) < 2 or any(self._inner.spec(one)[0][-1:] != (self._probes,) for one in arrays):
            return
        try:
            self.entered.append([self._inner.get(one).reshape(-1, self._probes) for one in arrays])
        except (InvalidType, Unsupported):
            return  # a framework traces


def first_contributors(without: Entered, entered: Entered, samples: int) -> list[tuple[int, ...]] | None:
    """Returns, for each of the first columns, the replicas whose array it changed in the first group-call that has it.

    without, entered: of a run with probes of zero, and of one with a probe in each column; arrays [rows, probes].
    samples: the number of columns that are looked at. None where the two runs made other group-calls, so that nothing
    can be stated.
    """
    if [[one.shape for one in call] for call in without] != [[one.shape for one in call] for call in entered]:
        return None
    found: list[tuple[int, ...]] = [()] * samples
    for before, after in zip(without, entered, strict=True):
        changed = np.array([_changed(one, other) for one, other in zip(before, after, strict=True)])
        for column in np.flatnonzero(changed[:, :samples].any(axis=0)):
            if not found[column]:
                found[column] = tuple(int(rank) for rank in np.flatnonzero(changed[:, column]))
    return found


def _changed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns of each column whether a number in it changed: bool [probes].  NaN is equal to NaN."""
    changed: np.ndarray = ((before != after) & ~(np.isnan(before) & np.isnan(after))).any(axis=0)
    return changed
