"""`reduce`: one value of a whole batch from every replica's part of it, right on partial batches too.

With an axis, each replica first sums its own part along the axis; the sums are added in rank order, and
MEAN divides once by the number of elements that all replicas had along the axis.
"""

import math
from typing import TYPE_CHECKING, Any

from simstrategy.device import Array
from simstrategy.errors import InvalidArgument
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import DistributedValues

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["reduce_leaf"]

Axis = int | tuple[int, ...] | None


def reduce_leaf(engine: "Engine", op: str, leaf: Any, axis: Axis, site: Site) -> Any:
    """Reduces one distributed value, array or number; `op` is SUM or MEAN.  Clauses: R-1 to R-6."""
    components = _components(engine, op, leaf, axis, site)
    if components is None:
        return leaf
    if axis is None and engine.num_replicas == 1:
        return components[0]
    arrays = [engine.adopt(component, index) for index, component in enumerate(components)]
    parts, counts = _sum_own(engine, arrays, axis, site)
    form = _common_form(engine, parts, axis, site)
    axis_in_trace = axis if isinstance(axis, int) else None
    request = Request("reduce", op, axis_in_trace, None if axis_in_trace == axis else axis, None, (form,))
    all_counts = engine.room.announce(request, site, counts)
    with engine.backend.on(engine.local_devices[0]):
        total = engine.reductions.total(tuple(parts))
        if op == "SUM":
            return total
        return engine.reductions.divide(total, engine.num_replicas if axis is None else sum(all_counts))


def _components(engine: "Engine", op: str, leaf: Any, axis: Axis, site: Site) -> tuple[Any, ...] | None:
    """Returns one value per local replica; None where the value is its own mean."""
    local = len(engine.local_devices)
    if isinstance(leaf, DistributedValues):
        if len(leaf.values) != local:
            raise InvalidArgument(
                f"reduce at {describe_site(site)} got a {type(leaf).__name__} of {len(leaf.values)} components, and "
                f"there are {local} replicas here. Pass a value that this strategy made."
            )
        return leaf.values
    if local == 1:
        return (leaf,)
    if axis is not None:
        return (leaf,) * local
    if op == "MEAN":
        return None
    raise InvalidArgument(
        f"A non-DistributedValues value {leaf!r} cannot be reduced with ReduceOp.SUM ({describe_site(site)}): it is "
        f"one value, not one per replica. Pass what run returned, or multiply by num_replicas_in_sync yourself."
    )


def _sum_own(engine: "Engine", arrays: list[Array], axis: Axis, site: Site) -> tuple[list[Array], list[int]]:
    """Sums each replica's array along the axis, on its device; returns the sums and the numbers of elements."""
    specs = [engine.spec(array) for array in arrays]
    engine.reductions.require_numbers([spec[:2] for spec in specs], "reduce")
    if axis is None:
        return arrays, []
    parts, counts = [], []
    for array, spec, device in zip(arrays, specs, engine.local_devices, strict=True):
        axes = engine.reductions.axes_in(axis, spec[0], "reduce")
        with engine.backend.on(device):
            parts.append(engine.xp.sum(array, axis=axes) if axes else array)
        counts.append(math.prod(spec[0][one] for one in axes))
    return parts, counts


def _common_form(engine: "Engine", parts: list[Array], axis: Axis, site: Site) -> tuple[tuple[int, ...], str]:
    """Returns the shape and dtype that all parts have, or raises InvalidArgument with one line per replica."""
    forms = [engine.spec(part)[:2] for part in parts]
    if any(form != forms[0] for form in forms):
        lines = [
            f"  replica {device.rank}: {dtype}{list(shape)}"
            for device, (shape, dtype) in zip(engine.local_devices, forms, strict=True)
        ]
        advice = (
            "Name the batch's axis, as in reduce(op, value, axis=0)" if axis is None else "Bring them to one form first"
        )
        raise InvalidArgument(
            "\n".join([f"reduce at {describe_site(site)} got arrays that cannot be added:", *lines, f"{advice}."])
        )
    return forms[0]
