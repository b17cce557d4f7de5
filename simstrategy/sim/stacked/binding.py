"""What computes a recorded call from the values of slots: as it is, with derived arguments, or once for each rank.

Which of these a call takes is in `rules.py`.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from simstrategy.sim.arrays import Host, item
from simstrategy.sim.stacked.tape import Call, Recorded, filled, recorded_in

__all__ = ["Bound", "Derived", "Slots", "called", "called_for_each", "called_with"]

Slots = Collection[int]
"""The slots of stacked arrays."""
Bound = Callable[[list[Any]], Any]
"""Computes a call: takes the values of all slots, returns its result or results."""


def called(function: Callable[..., Any], arguments: Any, settings: Any) -> Bound:
    """Returns what calls a function with the values of slots as they are."""
    places = [(number, one.slot) for number, one in enumerate(arguments) if isinstance(one, Recorded)]
    if len(places) != len(recorded_in((arguments, settings))):  # some are in nests

        def general(values: list[Any]) -> Any:
            given = filled(arguments, lambda one: values[one.slot])
            return function(*given, **filled(settings, lambda one: values[one.slot]))

        return general
    template = list(arguments)
    if [number for number, _ in places] == [0, 1] and len(template) == 2 and not settings:
        first, second = (slot for _, slot in places)
        return lambda values: function(values[first], values[second])

    def call(values: list[Any]) -> Any:
        given = template.copy()
        for number, slot in places:
            given[number] = values[slot]
        return function(*given, **settings)

    return call


def called_for_each(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Calls the function once for each rank, and stacks the results."""
    function, arguments, settings = call.function, call.arguments, call.settings

    def row_of(values: list[Any], rank: int, one: Recorded) -> Any:
        return item(values[one.slot], (rank, ...)) if one.slot in stacked else values[one.slot]

    def compute(values: list[Any]) -> Any:
        rows = []
        for rank in range(ranks):
            row = partial(row_of, values, rank)
            rows.append(function(*filled(arguments, row), **filled(settings, row)))
        if call.has_one:
            return _stack(rows)
        return [_stack(column) for column in zip(*rows, strict=True)]

    return compute


def _stack(rows: Any) -> Host:
    return np.stack([np.asarray(row).view(np.ndarray) for row in rows])


class Derived(Recorded):
    """An argument that a function makes of a slot's value."""

    __slots__ = ("make",)

    def __init__(self, of: Recorded, make: Callable[[Host], Host]) -> None:
        self.slot, self.example, self.tape = of.slot, of.example, of.tape
        self.make = make


def called_with(function: Callable[..., Any], arguments: Any, settings: Any) -> Bound:
    """Returns what calls a function with arguments some of which are derived from slots' values."""
    if not any(isinstance(one, Derived) for one in recorded_in((arguments, settings))):
        return called(function, arguments, settings)

    def value_of(values: list[Any], one: Recorded) -> Any:
        return one.make(values[one.slot]) if isinstance(one, Derived) else values[one.slot]

    def call(values: list[Any]) -> Any:
        own = partial(value_of, values)
        return function(*filled(arguments, own), **filled(settings, own))

    return call
