"""`reduce`: one value of a whole batch from every replica's part of it, right on partial batches too.

With an axis, each replica first sums its own part along the axis; the sums are added in rank order, and
MEAN divides once by the number of elements that all replicas had along the axis.
"""

import math
from numbers import Integral, Number
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.strategy.composites import is_composite, reduce_composites
from simstrategy.strategy.enums import ReduceOp, VariableSynchronization
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import DistributedValues, Mirrored, PerReplica

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = [
    "is_distributed",
    "op_in",
    "plain_axis",
    "reduce_leaf",
    "reduce_nest",
    "reduce_one",
    "refuse_mirrored_sum",
    "values_of",
]

Axis = int | tuple[int, ...] | None


def reduce_nest(engine: "Engine", op: str, nest: Any, axis: Axis, site: Site) -> Any:
    """Reduces each leaf of a nest; where an axis is given, a list of Python numbers is one array.

    Clauses: R-1 to R-4, R-8.
    """
    if axis is not None and _is_numbers(nest):
        return reduce_leaf(engine, op, nest, axis, site)
    return tree.map_leaves(lambda leaf: reduce_one(engine, op, leaf, axis, site), nest)


def reduce_one(engine: "Engine", op: str, leaf: Any, axis: Axis, site: Site) -> Any:
    """Reduces one leaf, which may be a variable or a Mirrored value."""
    leaf = engine.own(leaf)
    value = values_of(engine, leaf)
    if axis is None:
        if isinstance(value, Mirrored) and engine.kind.wraps:
            return _of_mirrored(op, value, leaf, site)
        if isinstance(leaf, Variable) and not engine.kind.wraps:
            return leaf
    elif isinstance(value, Variable):
        value = value.value()
    return reduce_leaf(engine, op, value, axis, site)


def values_of(engine: "Engine", leaf: Any) -> Any:
    """Returns a leaf; of a variable that has a component on each replica of this strategy, those components."""
    if not isinstance(leaf, Variable) or not is_distributed(engine, leaf):
        return leaf
    kind = PerReplica if leaf.synchronization is VariableSynchronization.ON_READ else Mirrored
    return kind(leaf.components)


def is_distributed(engine: "Engine", variable: Variable) -> bool:
    """Tells whether a variable is this strategy's own, and has a component on each of its replicas."""
    return variable.engine is engine and variable.policy.layout in ("mirrored", "own")


def _of_mirrored(op: str, value: Mirrored, leaf: Any, site: Site) -> Any:
    return value.values[0] if op == "MEAN" else refuse_mirrored_sum(leaf, site)


def refuse_mirrored_sum(leaf: Any, site: Site) -> NoReturn:
    """Raises InvalidArgument: TensorFlow, too, has no sum of what is mirrored."""
    what = f"variable {leaf.name!r}" if isinstance(leaf, Variable) else "a Mirrored value"
    raise InvalidArgument(
        f"reduce at {describe_site(site)} got {what} with ReduceOp.SUM: its components are one value, and whether it "
        f"counts once or once per replica is not known. Use ReduceOp.MEAN, or multiply by num_replicas_in_sync."
    )


def op_in(engine: "Engine", reduce_op: Any) -> str:
    """Returns the op's name.  Raises InvalidArgument or InvalidType for what is none in these semantics."""
    if isinstance(reduce_op, str) and engine.semantics.reduce_op_by_name == "refuse":
        raise InvalidArgument(
            f"`reduce_op` must be ReduceOp.SUM or ReduceOp.MEAN in {engine.semantics.name}, and not {reduce_op!r}."
        )
    return ReduceOp.of(reduce_op).value


def plain_axis(engine: "Engine", axis: Any) -> Axis:
    """Returns the axis in Python's integers; NumPy's are taken too."""
    if axis is None:
        return None
    if engine.semantics.reduce_axis == "refuse":
        raise InvalidType(
            f"reduce takes no axis in {engine.semantics.name}, and got axis={axis!r}. Sum over it in the replica "
            f"function, or use Semantics.TF1_15 or TF2."
        )
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in axes):
        raise InvalidArgument(f"reduce takes an int, a tuple of ints or None as axis, got {axis!r}.")
    return tuple(map(int, axis)) if isinstance(axis, tuple) else int(axis)


def reduce_leaf(engine: "Engine", op: str, leaf: Any, axis: Axis, site: Site) -> Any:
    """Reduces one distributed value, array or number; `op` is SUM or MEAN.  Clauses: R-1 to R-6."""
    components = _components(engine, op, leaf, axis, site)
    if components is None:
        return leaf
    if axis is None and engine.num_replicas == 1:
        return components[0]
    if axis is None and all(is_composite(engine, one) for one in components):
        return reduce_composites(engine, op, components, site)
    arrays = [engine.adopt(component, index) for index, component in enumerate(components)]
    if engine.watch is not None:
        engine.watch("reduce", arrays, site)
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
    """Returns one value per local replica; None where the value is its own mean, or its own sum."""
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
    if op == "MEAN" or _is_zero(leaf, engine.array_types):
        return None
    raise InvalidArgument(
        f"A non-DistributedValues value {leaf!r} cannot be reduced with ReduceOp.SUM ({describe_site(site)}): it is "
        f"one value, not one per replica. Pass what run returned, or multiply by num_replicas_in_sync yourself."
    )


def _is_numbers(value: Any) -> bool:
    """Tells whether a value is a list or tuple of Python numbers, or of such lists: an array that nobody made yet."""
    if type(value) not in (list, tuple) or not value:
        return False
    return all(isinstance(one, Number) or _is_numbers(one) for one in value)


def _is_zero(value: Any, array_types: tuple[type, ...]) -> bool:
    """Tells whether host data is nothing but zeros, whose sum is itself however often it counts."""
    if isinstance(value, (*array_types, bool, np.bool_)):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "iufc" and not value.any()
    return isinstance(value, (int, float, complex)) and value == 0


def _sum_own(engine: "Engine", arrays: list[Array], axis: Axis, site: Site) -> tuple[list[Array], list[Any]]:
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
            counts.append(_count(engine, array, spec[0], axes))
    return parts, counts


def _count(engine: "Engine", array: Array, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Returns the number of elements along axes: an array, where a framework traces and sizes are still to come."""
    if engine.frontend is not None and None in [shape[one] for one in axes]:
        return engine.frontend.count(array, axes)
    return math.prod(shape[one] for one in axes)


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
