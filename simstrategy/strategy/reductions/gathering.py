"""`gather`: concatenates the replicas' arrays in rank order, outside replica functions.

Inside replica functions there is `ReplicaContext.all_gather`.
"""

from typing import Any

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.errors import ContextError, InvalidArgument
from simstrategy.strategy.group import Group
from simstrategy.strategy.modes import current_mode, name_of, require_cross_replica
from simstrategy.strategy.reductions.reducing import values_of
from simstrategy.strategy.validation import axis_in, require_components
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import DistributedValues

__all__ = ["gather"]


def gather(group: Group, nest: Any, axis: int, site: Site) -> Any:
    """Concatenates each leaf's components, over all workers; see `Strategy.gather`.  Clauses: R-9."""
    mode = current_mode()
    if mode is not None and mode.replica is not None and mode.group is group:
        raise ContextError(
            f"gather requires a cross-replica context, and was called inside {name_of(mode.replica)}: use "
            f"get_replica_context().all_gather() instead."
        )
    require_cross_replica(group, "gather")
    return tree.map_leaves(lambda leaf: _gather_leaf(group, leaf, axis, site), nest)


def _gather_leaf(group: Group, leaf: Any, axis: int, site: Site) -> Any:
    value = values_of(group, leaf) if group.kind.wraps else leaf
    # A worker's only replica returns its component unwrapped; without other workers that is the whole.
    alone = len(group.local_devices) == 1 and group.num_replicas > 1
    if not isinstance(value, DistributedValues) and not alone:
        return leaf
    local = len(group.local_devices)
    components = require_components(value, local, "gather", site) if isinstance(value, DistributedValues) else (value,)
    arrays = tuple([group.adopt(component, index) for index, component in enumerate(components)])
    if group.coordinator.observer is None:
        return _gathered(group, arrays, axis, site)
    return group.coordinator.observer.outside(
        arrays, lambda: _gathered(group, arrays, axis, site), lambda whole: [whole] * len(arrays)
    )


def _gathered(group: Group, arrays: tuple[Array, ...], axis: int, site: Site) -> Any:
    """Concatenates the local replicas' arrays with those of the other workers."""
    free, form, sizes = _common_shape(group, arrays, axis, site)
    all_sizes = group.coordinator.agree(Request("gather", None, free, None, None, (form,)), site, sizes)
    whole: Array = group.backend.all_gather(arrays, axis=free, sizes=all_sizes)[0]
    return whole


def _common_shape(
    group: Group, arrays: tuple[Array, ...], axis: int, site: Site
) -> tuple[int, tuple[tuple[int | None, ...], str], list[int]]:
    """Returns the axis counted from the front, what all arrays have in common, and their sizes along the axis.

    Raises InvalidArgument with one line per replica where they differ elsewhere.
    """
    specs = [group.spec(array)[:2] for array in arrays]
    ranks_differ = any(len(shape) != len(specs[0][0]) for shape, _ in specs)
    free = -1 if ranks_differ else axis_in(axis, specs[0][0], "gather")
    forms = [((*shape[:free], None, *shape[free + 1 :]), dtype) for shape, dtype in specs]
    if ranks_differ or any(form != forms[0] for form in forms):
        lines = [
            f"  replica {device.rank}: {dtype}{list(shape)}"
            for device, (shape, dtype) in zip(group.local_devices, specs, strict=True)
        ]
        what = f"gather at {describe_site(site)} got arrays that cannot be put together along axis {axis}:"
        advice = "They may differ in size along that axis alone. Reshape or cast the others."
        raise InvalidArgument("\n".join([what, *lines, advice]))
    return free, forms[0], [shape[free] for shape, _ in specs]
