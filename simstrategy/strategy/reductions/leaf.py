"""Reduces one value over all replicas: one result for a whole batch from every replica's part of it.

With an axis, each replica first sums its part along the axis; the sums are added in rank order, and MEAN divides once
by the number of elements of all replicas along the axis. That is right on partial batches too. Variables are in
`reducing.py`.
"""

import math
from typing import Any

from simstrategy.device import Array
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.strategy.composites import is_composite, reduce_composites
from simstrategy.strategy.group import Group
from simstrategy.strategy.validation import axes_in, is_host_zero, require_components, require_numbers
from simstrategy.strategy.variables.identity import VariableIdentity
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import DistributedValues

__all__ = ["Axis", "reduce_leaf"]

Axis = int | tuple[int, ...] | None


def reduce_leaf(
    group: Group, op: str, leaf: Any, axis: Axis, site: Site, *, variable: VariableIdentity | None = None
) -> Any:
    """Reduces one distributed value, array or number; `op` is SUM or MEAN.  Clauses: R-1 to R-6.

    variable: whose components the value is made of, if it is.
    """
    components = _components(group, op, leaf, axis, site)
    if components is None:
        return leaf
    if axis is None and group.num_replicas == 1:
        return components[0]
    if axis is None and all(is_composite(group, one) for one in components):
        return reduce_composites(group, op, components, site)
    arrays = [group.adopt(component, index) for index, component in enumerate(components)]
    if group.reductions.probe is not None:
        group.reductions.probe("reduce", arrays, site)
    if group.coordinator.observer is None:
        return _reduced(group, op, arrays, axis, site, variable)
    return group.coordinator.observer.outside(
        arrays, lambda: _reduced(group, op, arrays, axis, site, variable), lambda total: [total] * len(arrays)
    )


def _reduced(
    group: Group, op: str, arrays: list[Array], axis: Axis, site: Site, variable: VariableIdentity | None
) -> Any:
    """Reduces the local replicas' arrays [any shape]; all workers take part."""
    parts, counts = _sum_parts(group, arrays, axis, site)
    form = _common_form(group, parts, axis, site)
    axis_in_trace = axis if isinstance(axis, int) else None
    request = Request("reduce", op, axis_in_trace, variable if axis_in_trace == axis else axis, None, (form,))
    all_counts = group.coordinator.agree(request, site, counts)
    with group.backend.on(group.local_devices[0]):
        total = group.reductions.total(tuple(parts))
        if op == "SUM":
            return total
        return group.reductions.divide(total, group.num_replicas if axis is None else sum(all_counts))


def _components(group: Group, op: str, leaf: Any, axis: Axis, site: Site) -> tuple[Any, ...] | None:
    """Returns one value per local replica; None where the value is its own mean, or its own sum."""
    local = len(group.local_devices)
    if isinstance(leaf, DistributedValues):
        return require_components(leaf, local, "reduce", site)
    if local == 1:
        return (leaf,)
    if axis is not None:
        return (leaf,) * local
    if op == "MEAN" or is_host_zero(leaf, group.array_types):
        return None
    raise InvalidArgument(
        f"A non-DistributedValues value {short_repr(leaf)} cannot be reduced with ReduceOp.SUM "
        f"({describe_site(site)}): it is "
        f"one value, not one per replica. Pass what run returned, or multiply by num_replicas_in_sync yourself."
    )


def _sum_parts(group: Group, arrays: list[Array], axis: Axis, site: Site) -> tuple[list[Array], list[Any]]:
    """Sums each replica's array along the axis, on its device; returns the sums and the numbers of elements."""
    specs = [group.spec(array) for array in arrays]
    require_numbers([spec[:2] for spec in specs], "reduce")
    if axis is None:
        return arrays, []
    parts, counts = [], []
    for array, spec, device in zip(arrays, specs, group.local_devices, strict=True):
        axes = axes_in(axis, spec[0], "reduce")
        with group.backend.on(device):
            parts.append(group.xp.sum(array, axis=axes) if axes else array)
            counts.append(_count(group, array, spec[0], axes))
    return parts, counts


def _count(group: Group, array: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Returns the number of elements along axes: an array, where a framework traces and sizes are not known yet."""
    if group.frontend.part is not None and None in [shape[one] for one in axes]:
        return group.frontend.part.count(array, axes)
    return math.prod(shape[one] for one in axes)


def _common_form(group: Group, parts: list[Array], axis: Axis, site: Site) -> tuple[tuple[int, ...], str]:
    """Returns the shape and dtype that all parts have, or raises InvalidArgument with one line per replica."""
    forms = [group.spec(part)[:2] for part in parts]
    if any(form != forms[0] for form in forms):
        lines = [
            f"  replica {device.rank}: {dtype}{list(shape)}"
            for device, (shape, dtype) in zip(group.local_devices, forms, strict=True)
        ]
        advice = (
            "Name the batch's axis, as in reduce(op, value, axis=0)" if axis is None else "Bring them to one form first"
        )
        raise InvalidArgument(
            "\n".join([f"reduce at {describe_site(site)} got arrays that cannot be added:", *lines, f"{advice}."])
        )
    return forms[0]
