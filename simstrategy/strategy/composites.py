"""Sums of values that are made of several arrays, such as sparse gradients: their parts are concatenated.

Nothing is added: slices that name the same place stay apart, as in TensorFlow. The backend defines the parts of a
composite.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from simstrategy.device import Array, Composites
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.group import Group
from simstrategy.trace import Request, Site

__all__ = ["all_reduce_leaves", "is_composite", "reduce_composites"]


class _Collectives(Protocol):
    """What this module needs of a replica's context."""

    @property
    def group(self) -> Group: ...
    @property
    def index(self) -> int: ...
    def all_reduce_leaf(self, op: ReduceOp, leaf: Any, site: Site) -> Array: ...
    def gather_leaf(self, array: Array, axis: int, subject: str | None, site: Site) -> Array: ...


def is_composite(group: Group, leaf: Any) -> bool:
    """Returns whether a leaf is a composite of the group's backend."""
    return group.backend.composites is not None and isinstance(leaf, group.backend.composites.types)


def all_reduce_leaves(replica: _Collectives, op: ReduceOp, leaves: Sequence[Any], site: Site) -> list[Any]:
    """All-reduces leaves one by one, composites among them.  Clauses: F-7."""
    composites = replica.group.backend.composites
    assert composites is not None
    return [
        _all_reduced(replica, composites, op, leaf, f"leaf {number}", site)
        if isinstance(leaf, composites.types)
        else replica.all_reduce_leaf(op, leaf, site)
        for number, leaf in enumerate(leaves)
    ]


def _all_reduced(
    replica: _Collectives, composites: Composites, op: ReduceOp, leaf: Any, subject: str, site: Site
) -> Any:
    group = replica.group
    parts = composites.parts(leaf, "all_reduce")
    whole = [
        replica.gather_leaf(group.adopt(part, replica.index), 0, f"part {number} of {subject}", site)
        for number, part in enumerate(parts)
    ]
    return composites.joined(leaf, _averaged(group, op.value, whole))


def reduce_composites(group: Group, op: str, components: Sequence[Any], site: Site) -> Any:
    """Returns the local replicas' composites as one, which is on the first device.  Clauses: F-7."""
    composites = group.backend.composites
    assert composites is not None
    columns = zip(*[composites.parts(one, "reduce") for one in components], strict=True)
    whole = []
    for number, column in enumerate(columns):
        arrays = tuple([group.adopt(part, index) for index, part in enumerate(column)])
        forms = [group.spec(array)[:2] for array in arrays]
        request = Request("reduce", op, 0, f"part {number}", None, (((None, *forms[0][0][1:]), forms[0][1]),))
        sizes = group.coordinator.agree(request, site, [shape[0] for shape, _ in forms])
        whole.append(group.backend.all_gather(arrays, axis=0, sizes=sizes)[0])
    with group.backend.on(group.local_devices[0]):
        return composites.joined(components[0], _averaged(group, op, whole))


def _averaged(group: Group, op: str, parts: list[Array]) -> list[Array]:
    """Returns the parts, the first of them divided for MEAN: it holds the values."""
    if op == "SUM" or group.num_replicas == 1:
        return parts
    return [group.reductions.divide(parts[0], group.num_replicas), *parts[1:]]
