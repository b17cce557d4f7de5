"""Backends that are unlike the simulator and right: every one of them has to pass the whole kit."""

from dataclasses import replace
from functools import reduce

import numpy as np
from mutation import Altered, loose, opened
from sound_layouts import LAYOUTS, hosts

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import freeze

__all__ = ["SOUND"]


def with_order(order):
    return lambda *, replicas=None: ss.backend("sim", replicas=replicas, order=order)


def claiming(**changed):
    def make(*, replicas=None):
        sim = opened(replicas=replicas)
        return Altered(sim, {}, capabilities=replace(sim.capabilities, **changed))

    return make


def without_shared_memory(*, replicas=None):
    """Has a memory for each device, as GPUs have."""
    return Altered(opened(replicas=replicas), {}, memory=None)


def backwards(*, replicas=None):
    """Adds the last rank first."""

    def fold(sim, arrays, op):
        return sim.all_reduce(tuple(one.view(type(array)) for one, array in zip(arrays[::-1], arrays, strict=True)), op)

    changes = {
        "all_reduce": lambda sim, state, arrays, op: fold(sim, arrays, op),
        "reduce": lambda sim, state, arrays, op, *, root: fold(sim, arrays, op)[root],
    }
    return Altered(opened(replicas=replicas), changes)


def wide(*, replicas=None):
    """Adds in twice the width and rounds once."""

    def fold(sim, arrays, op):
        if op != "SUM" or arrays[0].dtype.kind not in "fc":
            return sim.all_reduce(arrays, op)
        total = reduce(np.add, [one.astype(np.result_type(one, np.longdouble)) for one in hosts(arrays)])
        return tuple(freeze(np.array(total.astype(arrays[0].dtype)), type(array)) for array in arrays)

    changes = {
        "all_reduce": lambda sim, state, arrays, op: fold(sim, arrays, op),
        "reduce": lambda sim, state, arrays, op, *, root: fold(sim, arrays, op)[root],
    }
    return Altered(opened(replicas=replicas), changes)


def writable(*, replicas=None):
    """Gives everybody a copy that can be written to, in place of a view that cannot."""
    calls = ("all_reduce", "broadcast", "all_gather")
    changes = {
        name: lambda sim, state, *given, name=name, **named: tuple(
            loose(one) for one in getattr(sim, name)(*given, **named)
        )
        for name in calls
    }
    changes["reduce"] = lambda sim, state, arrays, op, *, root: loose(sim.reduce(arrays, op, root=root))
    return Altered(opened(replicas=replicas), changes)


def renamed(placement_of):
    """Calls devices by other names; several may be one."""

    def make(*, replicas=None):
        sim = opened(replicas=replicas)
        names = {device.placement: placement_of(device.rank) for device in sim.devices}
        devices = tuple(device._replace(placement=names[device.placement]) for device in sim.devices)

        def spec(inner, state, array):
            shape, dtype, placement = inner.spec(array)
            return shape, dtype, names[placement]

        return Altered(sim, {"spec": spec}, devices=devices, local_devices=devices)

    return make


def narrow(*, replicas=None):
    """Has no 64-bit numbers, as accelerators do not."""
    sim = opened(replicas=replicas)
    dtypes = frozenset(one for one in sim.capabilities.dtypes if not one.endswith(("64", "128")))

    def put(inner, state, value, device):
        if value.dtype.name not in dtypes:
            raise InvalidArgument(f"There is no dtype {value.dtype.name!r} here.")
        return inner.put(value, device)

    return Altered(sim, {"put": put}, capabilities=replace(sim.capabilities, dtypes=dtypes))


def unsteady(*, replicas=None):
    """Adds in another order each time, and says so in its capabilities."""
    sim, orders = opened(replicas=replicas), ("linear", "ring", "tree")
    others = [ss.backend("sim", replicas=replicas, order=order) for order in orders]

    def all_reduce(inner, state, arrays, op):
        state["calls"] = state.get("calls", 0) + 1
        found = others[state["calls"] % 3].all_reduce(arrays, op)
        return tuple(one.view(type(array)) for one, array in zip(found, arrays, strict=True))

    return Altered(sim, {"all_reduce": all_reduce}, capabilities=replace(sim.capabilities, reproducible_bits=False))


SOUND = {
    "ring": with_order("ring"),
    "tree": with_order("tree"),
    "backwards": backwards,
    "wide accumulation": wide,
    "threads": claiming(executor="thread"),
    "a memory for each device": without_shared_memory,
    "immutable arrays": claiming(mutable_arrays=False),
    "copies for views": writable,
    "another kind of device": renamed(lambda rank: f"gpu:{rank}"),
    "all ranks on one device": renamed(lambda rank: "acme:0"),
    "no 64-bit numbers": narrow,
    "another order each time, as it says": unsteady,
    **LAYOUTS,
}
"""What opens each of them."""
