"""Runs a tape for all ranks: a `Program`.

A value is stacked, [ranks, ...], or the same on all ranks, [...], and then computed once. Which of the two the inputs
are is looked up at each run, and the calls are bound once for each answer. Variables are written when everything has
been computed: an error on the way leaves all of them as they were.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.device import Cell
from simstrategy.sim.arrays import SimArray, seal, view
from simstrategy.sim.stacked.binding import Bound
from simstrategy.sim.stacked.rows import Arrays, Kinds, Rows, rows_of
from simstrategy.sim.stacked.rules import bound
from simstrategy.sim.stacked.tape import TOGETHER, Call, Tape, recorded_in
from simstrategy.sim.stacked.together import bound_together, with_sums_of_products
from simstrategy.values import Parts

__all__ = ["StackedProgram"]

Cells = tuple[Cell[SimArray], ...]
_is_stacked: Final[Callable[[Rows], bool]] = attrgetter("is_stacked")


class _Step(NamedTuple):
    """One bound call."""

    compute: Bound
    result: int | None
    """The slot of its one result; None for a call that has several."""
    results: tuple[int, ...]
    ended: tuple[int, ...]
    """Slots that no later step takes."""


class _Plan(NamedTuple):
    """The calls of a tape, bound for inputs some of which are stacked."""

    steps: list[_Step]
    stacked: frozenset[int]
    """The slots that have an array of each rank."""


@final
class StackedProgram:
    """A step of all ranks: see `simstrategy.device.Program`.

    kinds: the array class of each rank. rank: the slot of the rank. inputs: the slots of the arguments, then of the
    variables that are read. outputs: the slots of the new values of variables, then of the results.
    """

    __slots__ = ("_calls", "_inputs", "_kinds", "_known", "_last", "_outputs", "_plans", "_rank", "_values")

    def __init__(self, tape: Tape, kinds: Kinds, rank: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self._kinds = kinds
        self._rank = rank
        self._inputs = tuple(enumerate(inputs))
        self._outputs = tuple(outputs)
        self._calls = with_sums_of_products(tape.calls, outputs)
        self._last = _last_uses(self._calls)
        for slot in outputs:
            self._last.pop(slot, None)
        self._values: list[Any] = [tape.constants.get(slot) for slot in range(tape.size)]
        """By slot; None for what is computed."""
        self._values[rank] = view(np.arange(len(kinds), dtype=np.int32), kinds[0])
        self._plans: dict[tuple[bool, ...], _Plan] = {}
        self._known: list[Rows] = []
        """Of the last run: many of its arguments and results are arguments of the next one."""

    def __call__(self, inputs: Sequence[Arrays | Parts], read: Sequence[Cells], written: Sequence[Cells]) -> list[Rows]:
        known, kinds = self._known, self._kinds
        given: list[Any] = [*inputs]
        for number, one in enumerate(given):
            if not isinstance(one, Rows):
                given[number] = rows_of(one, known, kinds)
        if read:
            given += [rows_of(tuple([cell.read() for cell in cells]), known, kinds) for cells in read]
        made = self._computed(given)
        if read or known or tuple in map(type, inputs):
            self._known = [one for one in given if one.is_fixed] + made
        if not written:
            return made
        try:
            for cells, rows in zip(written, made, strict=False):
                _write(cells, rows)
        except BaseException:  # such as an interrupt between two of them
            for cells, rows in zip(read, given[len(inputs) :], strict=True):
                _write(cells, rows)
            raise
        return made[len(written) :]

    def _computed(self, given: Sequence[Rows]) -> list[Rows]:
        """Returns the outputs, given the values of all inputs."""
        kind, flags = self._kinds[0], tuple(map(_is_stacked, given))
        plan = self._plans.get(flags)
        if plan is None:
            plan = self._plans[flags] = self._bound(flags)
        values = self._values.copy()
        for number, slot in self._inputs:
            values[slot] = given[number].whole
        for compute, result, results, ended in plan.steps:
            found = compute(values)
            # Functions compute with arrays of a device; NumPy's numbers and plain arrays become such.
            if result is not None:
                values[result] = found if isinstance(found, SimArray) else view(np.asarray(found), kind)
            else:
                for slot, one in zip(results, found, strict=True):
                    values[slot] = one if isinstance(one, SimArray) else view(np.asarray(one), kind)
            for slot in ended:
                values[slot] = None
        made = []
        for slot in self._outputs:
            whole = values[slot]
            seal(whole)
            made.append(Rows(whole, self._kinds, is_stacked=slot in plan.stacked))
        return made

    def _bound(self, flags: Sequence[bool]) -> _Plan:
        stacked = {self._rank, *(slot for number, slot in self._inputs if flags[number])}
        steps = []
        for number, call in enumerate(self._calls):
            slots = {one.slot for one in recorded_in((call.arguments, call.settings))}
            ended = tuple([slot for slot in slots if self._last.get(slot) == number])
            bind = bound_together if call.rule == TOGETHER else bound
            result = call.results[0] if call.has_one else None
            steps.append(_Step(bind(call, stacked, len(self._kinds)), result, call.results, ended))
            if call.rule != TOGETHER and not stacked.isdisjoint(slots):
                stacked.update(call.results)
        return _Plan(steps, frozenset(stacked))


def _write(cells: Cells, rows: Rows) -> None:
    for cell, array in zip(cells, rows.arrays, strict=True):
        cell.write(array)


def _last_uses(calls: Sequence[Call]) -> dict[int, int]:
    """Returns for each slot the number of the last call that takes it."""
    return {
        one.slot: number for number, call in enumerate(calls) for one in recorded_in((call.arguments, call.settings))
    }
