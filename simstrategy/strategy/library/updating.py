"""`extended.update`: a function of a library, such as an optimizer's step, once for each component of a variable.

Each call runs on its component's device, in a cross-replica context that knows which component is meant.
What it does there is its own business: nothing is aggregated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from simstrategy import tree
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.run import FunctionKey, Sizes, function_key
from simstrategy.strategy.context import ReplicaContext
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import CrossReplica, current_mode, enter_mode, leave_mode, require_library_context
from simstrategy.strategy.reductions.reducing import is_distributed
from simstrategy.strategy.variables.components import VariableComponent
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site
from simstrategy.values import DistributedValues, Mirrored, PerReplica, regroup, select

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["non_slot_devices", "update", "update_non_slot"]


class _Updated(NamedTuple):
    """What replicas and workers have to agree on: compared like the variable and the function themselves."""

    variable: Variable
    function: FunctionKey

    def __str__(self) -> str:
        return f"{self.variable.name!r} by {self.function}"


def update(
    engine: "Engine",
    variable: Any,
    fn: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any] | None,
    group: bool,
    site: Site,
) -> Any:
    """Calls `fn(component, *args, **kwargs)` for each local component; see `StrategyExtended.update`.

    Clauses: X-3 to X-6.
    """
    mode = current_mode()
    if isinstance(mode, CrossReplica) and mode.updating is not None:
        raise ContextError(
            "update was called inside the function of an update, which has one component at hand. Write that one."
        )
    named = _require_call("update", fn, args, kwargs)
    in_replica = isinstance(mode, ReplicaContext) and mode.engine is engine
    if not in_replica or engine.semantics.update_in_replica == "refuse":
        require_library_context(engine.strategy, "update")
    variable = engine.own(variable)
    if not isinstance(variable, Variable) or variable.engine is not engine:
        raise InvalidType(
            f"update takes a variable of {engine.strategy!r}, got {variable!r}. Make it in this strategy's scope."
        )
    structure = tree.flatten((tuple(args), named))[1]
    request = Request("update", None, None, _Updated(variable, function_key(fn)), structure, ())
    if isinstance(mode, ReplicaContext) and in_replica:
        return mode.park((request, (variable, fn, tuple(args), named, group), site, _resolver(engine), None))
    engine.room.announce(request, site)
    return _update_components(engine, variable, fn, args, named, group)


def _resolver(engine: "Engine") -> Callable[[Request, list[Any], Sizes], Sequence[Any]]:
    def resolve(_request: Request, payloads: list[Any], _sizes: Sizes) -> Sequence[Any]:
        """Updates once, with all replicas' arguments regrouped; each replica gets its own result."""
        variable, fn, _, _, group = payloads[0]
        args = regroup([payload[2] for payload in payloads])
        named = regroup([payload[3] for payload in payloads])
        result = _update_components(engine, variable, fn, args, named, group)
        return [select(index, result) for index in range(len(payloads))]

    return resolve


def _update_components(
    engine: "Engine", variable: Variable, fn: Callable[..., Any], args: Any, named: dict[str, Any], group: bool
) -> Any:
    if not engine.kind.wraps:
        return _of_one(_call_each(engine, 1, lambda _: fn(variable, *args, **named)), group)
    if engine.kind.central:
        own, own_named = _own(engine, 0, args), _own(engine, 0, named)
        return _of_one(_call_each(engine, 1, lambda _: fn(variable, *own, **own_named)), group)

    def call(index: int) -> Any:
        component = VariableComponent(engine, variable, index)
        return fn(component, *_own(engine, index, args), **_own(engine, index, named))

    return _of_many(engine, _call_each(engine, len(engine.local_devices), call), group)


def update_non_slot(
    engine: "Engine",
    colocate_with: Any,
    fn: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any] | None,
    group: bool,
    site: Site,
) -> Any:
    """Calls `fn(*args, **kwargs)` on each device of `colocate_with`.  Clauses: X-7."""
    named = _require_call("update_non_slot", fn, args, kwargs)
    require_library_context(engine.strategy, "update_non_slot")
    devices = tuple(device.placement for device in engine.local_devices)
    fits = isinstance(colocate_with, Variable) if engine.kind.central else colocate_with == devices
    if engine.kind is not DEFAULT and not fits:
        raise InvalidArgument(
            f"update_non_slot takes as colocate_with what non_slot_devices(variables) returned, got {colocate_with!r}."
        )
    engine.room.announce(Request("update_non_slot", None, None, function_key(fn), None, ()), site)
    if not engine.kind.wraps:
        return _of_one(_call_each(engine, 1, lambda _: fn(*args, **named)), group)

    def call(index: int) -> Any:
        return fn(*_own(engine, index, args), **_own(engine, index, named))

    if engine.kind.central:
        return _of_one(_call_each(engine, 1, call), group)
    return _of_many(engine, _call_each(engine, len(devices), call), group)


def non_slot_devices(engine: "Engine", variables: Any) -> Any:
    """Returns what `update_non_slot` takes: the replicas' devices, or the variable by whose side the state is kept."""
    if engine.kind is not DEFAULT and not engine.kind.central:
        return tuple(device.placement for device in engine.local_devices)
    known = list(variables) if isinstance(variables, (list, tuple)) else []
    if not known or not all(isinstance(one, Variable) for one in known):
        raise InvalidArgument(f"non_slot_devices takes a list of variables, at least one, got {variables!r}.")
    return min(known, key=lambda one: one.name)


def _require_call(method: str, fn: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Returns the named arguments.  Raises InvalidType for what cannot be called, or no arguments."""
    if not callable(fn):
        raise InvalidType(f"{method} takes a function to call for each component, got {fn!r}.")
    if not isinstance(args, (list, tuple)) or not (kwargs is None or isinstance(kwargs, Mapping)):
        raise InvalidType(f"{method} takes a list or tuple as args and a mapping as kwargs, got {args!r}, {kwargs!r}.")
    return {} if kwargs is None else dict(kwargs)


def _call_each(engine: "Engine", count: int, call: Callable[[int], Any]) -> list[Any]:
    """Calls a function for the first local replicas, on the device of each, one after the other."""
    if engine.kind is DEFAULT:
        return [call(0)]
    results = []
    for index, device in enumerate(engine.local_devices[:count]):
        token = enter_mode(CrossReplica(engine.strategy, updating=index))
        try:
            with engine.backend.on(device):
                results.append(call(index))
        except Exception as error:
            error.add_note(f"In an update, on {device.placement}, of the component of replica {device.rank}.")
            raise
        finally:
            leave_mode(token)
    return results


def _own(engine: "Engine", index: int, nest: Any) -> Any:
    """Returns arguments as the function of one component gets them: its own components of values and variables."""

    def own(leaf: Any) -> Any:
        if isinstance(leaf, PerReplica) and engine.semantics.update_per_replica == "refuse":
            raise InvalidType(
                f"Expected value to be mirrored across replicas: an update in {engine.semantics.name} got {leaf!r}. "
                f"Reduce it first: extended.reduce_to(op, value, variable)."
            )
        if isinstance(leaf, DistributedValues):
            return leaf.component(index)
        if isinstance(leaf, Variable) and is_distributed(engine, leaf):
            return VariableComponent(engine, leaf, index)
        return leaf

    return tree.map_leaves(own, nest)


def _of_one(results: list[Any], group: bool) -> Any:
    (result,) = results
    return result if group else tree.map_leaves(lambda leaf: (leaf,), result)


def _of_many(engine: "Engine", results: list[Any], group: bool) -> Any:
    """Returns the results as Mirrored values, or as one tuple for each leaf; what all returned is there once."""
    grouped = regroup(results, wrap=Mirrored)
    if group:
        return grouped

    def apart(leaf: Any) -> tuple[Any, ...]:
        if isinstance(leaf, Mirrored):
            return leaf.values
        if isinstance(leaf, Variable) and is_distributed(engine, leaf):
            return tuple(VariableComponent(engine, leaf, index) for index in range(len(results)))
        return (leaf,)

    return tree.map_leaves(apart, grouped)
