"""`reduce` of a nest: variables, Mirrored values, and the checks of op and axis.

One value, which is no variable, is reduced in `leaf.py`.
"""

from numbers import Integral, Number
from typing import Any, NoReturn

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy.enums import ReduceOp, VariableSynchronization
from simstrategy.strategy.group import Group
from simstrategy.strategy.reductions.leaf import Axis, reduce_leaf
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Site, describe_site
from simstrategy.values import Mirrored, PerReplica

__all__ = [
    "is_distributed",
    "op_in",
    "plain_axis",
    "reduce_nest",
    "reduce_one",
    "refuse_mirrored_sum",
    "values_of",
]


def reduce_nest(group: Group, op: str, nest: Any, axis: Axis, site: Site) -> Any:
    """Reduces each leaf of a nest; where an axis is given, a list of Python numbers is one array.

    Clauses: R-1 to R-4, R-8.
    """
    if axis is not None and _is_numbers(nest):
        return reduce_leaf(group, op, nest, axis, site)
    return tree.map_leaves(lambda leaf: reduce_one(group, op, leaf, axis, site), nest)


def reduce_one(group: Group, op: str, leaf: Any, axis: Axis, site: Site) -> Any:
    """Reduces one leaf, which may be a variable or a Mirrored value."""
    leaf = group.frontend.unwrap(leaf)
    value = values_of(group, leaf)
    if axis is None:
        if isinstance(value, Mirrored) and group.kind.wraps:
            return _of_mirrored(op, value, leaf, site)
        if isinstance(leaf, Variable) and not group.kind.wraps:
            return leaf
    elif isinstance(value, Variable):
        value = value.value()
    variable = leaf.state.identity if isinstance(leaf, Variable) and is_distributed(group, leaf) else None
    return reduce_leaf(group, op, value, axis, site, variable=variable)


def values_of(group: Group, leaf: Any) -> Any:
    """Returns a leaf; of a variable that has a component on each replica of this strategy, those components."""
    if not isinstance(leaf, Variable) or not is_distributed(group, leaf):
        return leaf
    kind = PerReplica if leaf.synchronization is VariableSynchronization.ON_READ else Mirrored
    return kind(leaf.components)


def is_distributed(group: Group, variable: Variable) -> bool:
    """Returns whether a variable belongs to this strategy, and has a component on each of its replicas."""
    return variable.state.group is group and variable.state.policy.layout in ("mirrored", "per_replica")


def _of_mirrored(op: str, value: Mirrored, leaf: Any, site: Site) -> Any:
    return value.values[0] if op == "MEAN" else refuse_mirrored_sum(leaf, site)


def refuse_mirrored_sum(leaf: Any, site: Site) -> NoReturn:
    """Raises InvalidArgument: a mirrored value has no sum, as in TensorFlow."""
    what = f"variable {leaf.name!r}" if isinstance(leaf, Variable) else "a Mirrored value"
    raise InvalidArgument(
        f"reduce at {describe_site(site)} got {what} with ReduceOp.SUM: its components are one value, and whether it "
        f"counts once or once per replica is not known. Use ReduceOp.MEAN, or multiply by num_replicas_in_sync."
    )


def op_in(group: Group, reduce_op: Any) -> str:
    """Returns the op's name.  Raises InvalidArgument or InvalidType for what these semantics do not take as one."""
    if isinstance(reduce_op, str) and group.semantics.reduce_op_by_name == "refuse":
        raise InvalidArgument(
            f"`reduce_op` must be ReduceOp.SUM or ReduceOp.MEAN in {group.semantics.name}, and not "
            f"{short_repr(reduce_op)}."
        )
    return ReduceOp.of(reduce_op).value


def plain_axis(group: Group, axis: Any) -> Axis:
    """Returns the axis in Python's integers; NumPy's are taken too."""
    if axis is None:
        return None
    if group.semantics.reduce_axis == "refuse":
        raise InvalidType(
            f"reduce takes no axis in {group.semantics.name}, and got axis={short_repr(axis)}. Sum over it in the "
            f"replica "
            f"function, or use Semantics.TF1_15 or TF2."
        )
    axes = axis if isinstance(axis, tuple) else (axis,)
    if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in axes):
        raise InvalidArgument(
            f"reduce takes an int, a tuple of ints or None as axis, got {short_repr(axis)}. Pass one of these."
        )
    return tuple(map(int, axis)) if isinstance(axis, tuple) else int(axis)


def _is_numbers(value: Any) -> bool:
    """Returns whether a value is a list or tuple of Python numbers, or of such lists: one array, not a nest."""
    if type(value) not in (list, tuple) or not value:
        return False
    return all(isinstance(one, Number) or _is_numbers(one) for one in value)
