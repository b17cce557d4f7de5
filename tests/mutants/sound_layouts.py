"""Backends that lay arrays out, copy, compute and add in ways of their own, and are right."""

from functools import reduce
from types import SimpleNamespace

import numpy as np
from mutation import Altered, loose, opened, with_function

from simstrategy.device import NAMES
from simstrategy.sim.arrays import freeze
from simstrategy_template import ToyArray, open_template

__all__ = ["LAYOUTS"]


def hosts(arrays):
    return [np.asarray(array) for array in arrays]


def adding(fold):
    """Makes what opens a backend that adds floats by a function of host arrays."""

    def combined(sim, state, arrays, op):
        if op != "SUM" or arrays[0].dtype.kind != "f":
            return sim.all_reduce(arrays, op)
        with np.errstate(all="ignore"):
            total = np.array(fold(hosts(arrays)), arrays[0].dtype)
        return tuple(freeze(total.copy(), type(array)) for array in arrays)

    changes = {
        "all_reduce": combined,
        "reduce": lambda sim, state, arrays, op, *, root: combined(sim, state, arrays, op)[root],
    }
    return lambda *, replicas=None: Altered(opened(replicas=replicas), changes)


def halved(arrays):
    """Adds the sum of one half of the ranks to that of the other."""
    middle = len(arrays) // 2
    return arrays[0] if middle == 0 else np.add(halved(arrays[:middle]), halved(arrays[middle:]))


def smallest_first(arrays):
    """Adds the numbers of each place from the smallest to the largest."""
    stacked = np.stack(arrays)
    ordered = np.take_along_axis(stacked, np.argsort(np.abs(stacked), axis=0), 0)
    return reduce(np.add, list(ordered))


def compensated(arrays):
    """Carries what each addition has lost to the end, where everything is finite."""
    total, lost = arrays[0].copy(), np.zeros_like(arrays[0])
    for array in arrays[1:]:
        added = total + array
        larger = np.abs(total) >= np.abs(array)
        lost = lost + np.where(larger, (total - added) + array, (array - added) + total)
        total = added
    return np.where(np.isfinite(lost) & (lost != 0) & np.isfinite(total), total + lost, total)


def fused(name):
    """Multiplies and adds in one step of more bits, as an FMA does."""

    def function(sim, state, *given, **how):
        plain = getattr(sim.xp, name)(*given, **how)  # raises what it has to raise, and adopts host data
        if not all(isinstance(one, sim.array_types) and one.dtype == np.float32 for one in given):
            return plain
        wide = getattr(sim.xp, name)(*[sim.xp.astype(one, "float64") for one in given], **how)
        return sim.xp.astype(wide, "float32")

    return lambda *, replicas=None: with_function(opened(replicas=replicas), name, function)


def laid_out(change):
    """Makes what opens a backend whose results are laid out in memory by a function of a host array."""

    def of(array):
        return freeze(change(np.array(array, subok=False)), type(array))

    changes = {
        name: lambda sim, state, *given, name=name, **named: tuple(
            of(one) for one in getattr(sim, name)(*given, **named)
        )
        for name in ("all_reduce", "broadcast", "all_gather")
    }
    changes["put"] = lambda sim, state, value, device: of(sim.put(value, device))
    return lambda *, replicas=None: Altered(opened(replicas=replicas), changes)


def strided(host):
    """Returns every second element of a memory that is twice as large."""
    whole = np.zeros((*host.shape, 2), host.dtype)
    whole[..., 0] = host
    return whole[..., 0]


class Copying:
    """A cell that copies whatever goes in and out."""

    def __init__(self, cell):
        self.native = cell

    def read(self):
        return loose(self.native.read())

    def write(self, value):
        self.native.write(loose(value))


def copying_cells(*, replicas=None):
    """Copies at every read and write of a variable."""
    return Altered(opened(replicas=replicas), {"cell": lambda sim, state, initial: Copying(sim.cell(loose(initial)))})


def along_a_chain(*, replicas=None):
    """Sends a broadcast from each rank to the next one."""

    def broadcast(sim, state, array, *, spec, root):
        count, found = len(sim.devices), {root: sim.put(loose(array), sim.devices[root])}
        for step in range(1, count):
            rank = (root + step) % count
            found[rank] = sim.put(loose(found[(rank - 1) % count]), sim.devices[rank])
        return tuple(found[rank] for rank in range(count))

    return Altered(opened(replicas=replicas), {"broadcast": broadcast})


def from_the_last(*, replicas=None):
    """Fills the result of a gather from its end."""

    def all_gather(sim, state, arrays, *, axis, sizes):
        shape = list(arrays[0].shape)
        shape[axis] = sum(sizes)
        whole, end = np.zeros(shape, arrays[0].dtype), shape[axis]
        for array, size in zip(arrays[::-1], sizes[::-1], strict=True):
            place = [slice(None)] * array.ndim
            place[axis] = slice(end - size, end)
            whole[tuple(place)], end = array, end - size
        return tuple(freeze(whole.copy(), type(array)) for array in arrays)

    return Altered(opened(replicas=replicas), {"all_gather": all_gather})


class Lazy(ToyArray):
    """An array that is computed when it is first looked at."""

    __slots__ = ("_known", "_make")

    def __init__(self, make, placement):
        object.__setattr__(self, "_make", make)
        object.__setattr__(self, "_known", [])
        object.__setattr__(self, "placement", placement)

    @property
    def host(self):
        if not self._known:
            self._known.append(self._make())
        return self._known[0]


def lazy(*, replicas=None):
    """Computes results of group-calls when they are looked at, and not before."""
    toy = open_template(replicas=replicas)

    def later(name):
        def call(inner, state, *given, **named):
            found = []

            def made(rank):
                if not found:
                    found.append(getattr(inner, name)(*given, **named))
                return found[0][rank].host

            return tuple(Lazy(lambda rank=one.rank: made(rank), one.placement) for one in inner.devices)

        return call

    changes = {name: later(name) for name in ("all_reduce", "broadcast", "all_gather")}
    changes["reduce"] = lambda inner, state, arrays, op, *, root: later("all_reduce")(inner, state, arrays, op)[root]
    return Altered(toy, changes)


class Untrue(ToyArray):
    """An array that is compared by element, and is neither true nor false: as arrays of many libraries."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other):
        return Untrue(np.equal(self.host, getattr(other, "host", other)), self.placement)

    def __bool__(self):
        raise ValueError("an array has no truth")


def without_truth(*, replicas=None):
    """Returns such arrays from every call."""
    toy = open_template(replicas=replicas)

    def turned(value):
        if isinstance(value, (list, tuple)):
            return type(value)(map(turned, value))
        return Untrue(value.host, value.placement) if isinstance(value, ToyArray) else value

    def turning(call):
        return lambda *given, **named: turned(call(*given, **named))

    def of(name):
        return lambda inner, state, *given, **named: turned(getattr(inner, name)(*given, **named))

    functions = {name: turning(getattr(toy.xp, name)) for name in NAMES}
    changes = {name: of(name) for name in ("all_reduce", "reduce", "broadcast", "all_gather", "put")}
    return Altered(toy, changes, xp=SimpleNamespace(**functions))


LAYOUTS = {
    "one half and the other": adding(halved),
    "the smallest first": adding(smallest_first),
    "sums that carry what they lose": adding(compensated),
    "fused multiply and add": fused("matmul"),
    "Fortran's order": laid_out(lambda host: np.array(host, order="F")),
    "every second element of a memory": laid_out(strided),
    "cells that copy": copying_cells,
    "a broadcast along a chain": along_a_chain,
    "a gather from the last": from_the_last,
    "arrays that are lazy": lazy,
    "arrays that are neither true nor false": without_truth,
}
"""What opens each of them."""
