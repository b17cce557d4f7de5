"""Merge functions: called once, in a cross-replica context, with all replicas' arguments regrouped."""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, NamedTuple

from simstrategy import tree
from simstrategy.errors import InvalidType
from simstrategy.regrouping import regroup
from simstrategy.run import Resolve, Sizes, compare_held
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group
from simstrategy.strategy.modes import CrossReplica, enter_mode, leave_mode
from simstrategy.strategy.validation import UNFINISHED, refuse_unfinished
from simstrategy.trace import Request, Site
from simstrategy.values import select

__all__ = ["MergeCall", "require_merge", "resolve_merge"]


class MergeCall(NamedTuple):
    """One replica's function and arguments of a `merge_call`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    site: Site


def require_merge(function: object, args: object, kwargs: object) -> dict[str, Any]:
    """Returns the named arguments of a merge call.  Raises InvalidType for what cannot be called so."""
    if not callable(function):
        raise InvalidType(
            f"merge_call takes a function merge_fn(strategy, *args, **kwargs), got {short_repr(function)}. "
            f"Pass the function itself."
        )
    if not isinstance(args, (list, tuple)) or not isinstance(kwargs, (NoneType, Mapping)):
        raise InvalidType(
            f"merge_call takes a list or tuple as args and a mapping as kwargs, got {short_repr(args)} and "
            f"{short_repr(kwargs)}. Write merge_call(merge_fn, args=(value,))."
        )
    return {} if kwargs is None else dict(kwargs)


def resolve_merge(group: Group) -> Resolve[MergeCall, Any]:
    """Returns the function that computes the results of a merge call for a group's replicas."""

    def resolve(request: Request, calls: Sequence[MergeCall], sizes: Sizes) -> Sequence[Any]:
        """Calls the first replica's merge function; distributed values of its result go to their replicas."""
        first = calls[0]
        compare_held(group.coordinator, [call.function for call in calls], sizes, "merge_call", first.site)
        function = group.backend.prepare(first.function)
        args = [regroup([call.args[i] for call in calls]) for i in range(len(first.args))]
        named = {name: regroup([call.kwargs[name] for call in calls]) for name in first.kwargs}
        token = enter_mode(CrossReplica(group))
        try:
            result = function(group.owner, *args, **named)
        finally:
            leave_mode(token)
        if type(result) in UNFINISHED:
            refuse_unfinished((result,), "merge_call")
        if group.tracing is not None:
            result = tree.map_leaves(group.tracing.untraced, result)
        return [select(index, result) for index in range(len(calls))]

    return resolve
