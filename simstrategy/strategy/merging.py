"""Merge functions: called once, in a cross-replica context, with all replicas' arguments regrouped."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from simstrategy import tree
from simstrategy.run import Resolve, Sizes
from simstrategy.strategy.group import Group
from simstrategy.strategy.modes import CrossReplica, enter_mode, leave_mode
from simstrategy.strategy.validation import require_finished
from simstrategy.trace import Request
from simstrategy.values import regroup, select

__all__ = ["MergeCall", "resolve_merge"]


class MergeCall(NamedTuple):
    """One replica's function and arguments of a `merge_call`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def resolve_merge(group: Group) -> Resolve[MergeCall, Any]:
    """Returns the function that computes the results of a merge call for a group's replicas."""

    def resolve(request: Request, calls: Sequence[MergeCall], sizes: Sizes) -> Sequence[Any]:
        """Calls the first replica's merge function; distributed values of its result go to their replicas."""
        first = calls[0]
        function = group.backend.prepare(first.function)
        args = [regroup([call.args[i] for call in calls]) for i in range(len(first.args))]
        named = {name: regroup([call.kwargs[name] for call in calls]) for name in first.kwargs}
        token = enter_mode(CrossReplica(group))
        try:
            result = function(group.owner, *args, **named)
        finally:
            leave_mode(token)
        require_finished((result,), "merge_call")
        if group.tracing is not None:
            result = tree.map_leaves(group.tracing.untraced, result)
        return [select(index, result) for index in range(len(calls))]

    return resolve
