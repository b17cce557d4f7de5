"""Group-calls of a program: they take the arrays of all ranks, and their result is the same on all.

A sum of products of matrices is one call: the products of all ranks together would be as many as the ranks.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from simstrategy.sim.arrays import Host, item, view
from simstrategy.sim.stacked.binding import Bound, Slots
from simstrategy.sim.stacked.sums import added_rows_of, combined, summed_equal, summed_products
from simstrategy.sim.stacked.tape import TOGETHER, Call, recorded_in

__all__ = ["bound_together", "with_sums_of_products"]

_PRODUCTS: Final = "sum of products"
_ELEMENTS_MIN: Final = 16_384
"""Of a product that is added at once to the others'."""


def with_sums_of_products(calls: Sequence[Call], outputs: Iterable[int]) -> list[Call]:
    """Returns the calls of a tape, with one in the place of a large product of matrices and the sum of it.

    outputs: slots that are taken when all calls are made.
    """
    uses = Counter([one.slot for call in calls for one in recorded_in((call.arguments, call.settings))])
    uses.update(outputs)
    products = {call.results[0]: call for call in calls if _is_large_product(call) and uses[call.results[0]] == 1}
    found, summed = [], set()
    for call in calls:
        product = products.get(call.arguments[0].slot) if _is_sum(call) else None
        if product is not None:
            summed.add(product.results)
        found.append(call if product is None else _sum_of(call, product))
    return [call for call in found if call.results not in summed]


def _sum_of(call: Call, product: Call) -> Call:
    return call._replace(arguments=product.arguments, function=product.function, settings={"rule": _PRODUCTS})


def _is_large_product(call: Call) -> bool:
    forms = [one.example.ndim for one in recorded_in(call.arguments)]
    return call.rule == "matmul" and forms == [2, 2] and call.example.size >= _ELEMENTS_MIN


def _is_sum(call: Call) -> bool:
    return call.rule == TOGETHER and call.settings.get("op") == "SUM" and call.settings["order"] == "linear"


def bound_together(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Returns what computes a group-call.  stacked: the slots that have an array of each rank."""
    if call.settings.get("rule") == _PRODUCTS:
        return _bound_products(call, stacked, ranks)
    (array,) = call.arguments
    function, settings, slot = call.function, call.settings, array.slot
    if slot in stacked and _is_sum(call) and array.example.size > 1:
        return partial(_added, slot, added_rows_of(array.example.dtype))
    if slot in stacked:
        return lambda values: function(values[slot], **settings)
    if _is_sum(call):
        return lambda values: summed_equal(values[slot], ranks)
    return lambda values: function(np.broadcast_to(values[slot], (ranks, *values[slot].shape)), **settings)


def _added(slot: int, add: Callable[[Host], Host], values: list[Any]) -> Host:
    rows = view(values[slot], np.ndarray)
    return add(rows if rows.flags.c_contiguous else np.ascontiguousarray(rows))


def _bound_products(call: Call, stacked: Slots, ranks: int) -> Bound:
    first, second = call.arguments
    multiply: Any = call.function
    if first.slot not in stacked and second.slot not in stacked:
        return lambda values: summed_equal(multiply(values[first.slot], values[second.slot]), ranks)

    def row(value: Host, slot: int, rank: int) -> Host:
        return item(value, rank) if slot in stacked else value

    def compute(values: list[Any]) -> Host:
        left, right = values[first.slot], values[second.slot]
        if left.dtype != right.dtype or left.dtype.kind not in "fc":
            rows = [np.asarray(multiply(row(left, first.slot, r), row(right, second.slot, r))) for r in range(ranks)]
            return combined(np.stack(rows), "SUM", "linear")
        left, right = left.view(np.ndarray), right.view(np.ndarray)
        return summed_products(
            lambda rank: row(left, first.slot, rank), lambda rank: row(right, second.slot, rank), ranks
        )

    return compute
