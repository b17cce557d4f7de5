"""`reduce_to`, `batch_reduce_to` and `broadcast_to`: results on the devices that a library names.

A destination is every replica's device (of a variable, of a distributed value) or one device (of an array, by
name). How values are reduced is in `reductions/`.
"""

from typing import Any

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group
from simstrategy.strategy.reductions.leaf import reduce_leaf
from simstrategy.strategy.reductions.reducing import is_distributed, refuse_mirrored_sum, values_of
from simstrategy.strategy.variables.components import VariableComponent, container_of
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site
from simstrategy.values import DistributedValues, Mirrored

__all__ = ["batch_reduce_to", "broadcast_to", "reduce_to"]

EVERYWHERE = None
"""The destination that is every local replica's device; others are a local replica's index."""


def reduce_to(group: Group, op: str, nest: Any, destinations: Any, site: Site) -> Any:
    """Reduces each leaf of a nest to its destination; see `StrategyExtended.reduce_to`.  Clauses: X-1."""
    if not group.kind.wraps:
        return nest
    where = _where(group, destinations)
    return tree.map_leaves(lambda leaf: _reduce_leaf_to(group, op, leaf, where, site), nest)


def batch_reduce_to(group: Group, op: str, pairs: Any, site: Site) -> list[Any]:
    """Reduces each value of (value, destination) pairs, in order."""
    if not isinstance(pairs, (list, tuple)) or not all(
        isinstance(one, (list, tuple)) and len(one) == 2 for one in pairs
    ):
        raise InvalidArgument(
            f"batch_reduce_to takes a list of (value, destination) pairs, got {short_repr(pairs)}. "
            f"Write [(value, destination), …]."
        )
    return [reduce_to(group, op, value, destination, site) for value, destination in pairs]


def broadcast_to(group: Group, value: Any, destinations: Any, site: Site) -> Any:
    """Copies a value to its destinations; see `StrategyExtended.broadcast_to`.  Clauses: X-2."""
    if isinstance(value, DistributedValues):
        raise InvalidType(
            f"broadcast_to takes one value, and a {type(value).__name__} has one per replica: {short_repr(value)}. "
            f"Reduce it "
            f"first: extended.reduce_to(op, value, destinations)."
        )
    if not group.kind.wraps or isinstance(value, (bool, int, float, complex)):
        # A Python number gets its dtype when it is combined with an array.
        return value
    where = EVERYWHERE if destinations is None else _where(group, destinations)
    array = group.adopt(value, 0 if where is EVERYWHERE else where)
    group.coordinator.agree(Request("broadcast_to", None, None, None, None, (group.spec(array)[:2],)), site)
    return _placed(group, array, where)


def _reduce_leaf_to(group: Group, op: str, leaf: Any, where: int | None, site: Site) -> Any:
    value = values_of(group, leaf)
    if isinstance(value, Mirrored):
        return refuse_mirrored_sum(leaf, site) if op == "SUM" else leaf
    total = reduce_leaf(group, op, value, None, site)
    if total is value:
        return leaf
    return _placed(group, group.adopt(total, 0), where)


def _placed(group: Group, array: Array, where: int | None) -> Any:
    """Returns an array on one device, or a copy on each: like a replica's value, unwrapped where there is one."""
    devices = group.local_devices
    if where is not EVERYWHERE:
        return group.backend.put(array, devices[where])
    copies = [group.backend.put(array, device) for device in devices]
    return Mirrored(copies) if len(copies) > 1 else copies[0]


def _where(group: Group, destinations: Any) -> int | None:
    """Returns the local replica on whose device the result goes, or EVERYWHERE."""
    destinations = group.frontend.unwrap(destinations)
    if isinstance(destinations, DistributedValues):
        return EVERYWHERE
    if isinstance(destinations, VariableComponent):
        return destinations.index
    if isinstance(destinations, str):
        return _named(group, destinations)
    container = container_of(group, destinations)
    if isinstance(container, Variable):
        if container.state.group is not group:
            raise InvalidArgument(
                f"The destination {short_repr(container)} is a variable of another strategy than {group.owner!r}. "
                f"Take a "
                f"variable made in this strategy's scope, or the name of a device."
            )
        if container is not destinations:
            return next(
                index for index, cell in enumerate(container.state.storage.cells) if cell.native is destinations
            )
        return EVERYWHERE if is_distributed(group, container) else 0
    if isinstance(destinations, group.array_types):
        return _named(group, group.spec(destinations)[2])
    raise InvalidType(
        f"destinations must be a variable or a distributed value of this strategy, an array, or the name of a device, "
        f"and is {short_repr(destinations)}. Pass one of these."
    )


def _named(group: Group, placement: str) -> int:
    here = [device.placement for device in group.local_devices]
    if not placement:
        raise InvalidArgument(f"destinations can not be empty: name one of {', '.join(here)}.")
    if placement not in here:
        raise InvalidArgument(f"No replica of {group.owner!r} is on {placement!r}; choose from {', '.join(here)}.")
    return here.index(placement)
