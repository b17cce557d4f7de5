"""`extended.update`: calls a function of a library, such as an optimizer's step, for each component of a variable.

Each call runs on its component's device, in a cross-replica context for that component. Nothing is aggregated.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

from simstrategy import tree
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.regrouping import regroup
from simstrategy.run import FunctionKey, Resolve, Sizes, compare_held, function_key, held_print
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import CrossReplica, current_mode, enter_mode, leave_mode, require_library_context
from simstrategy.strategy.reductions.reducing import is_distributed
from simstrategy.strategy.variables.components import VariableComponent
from simstrategy.strategy.variables.identity import VariableIdentity
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site, Subject
from simstrategy.values import DistributedValues, Mirrored, PerReplica, select

__all__ = ["non_slot_devices", "update", "update_non_slot"]


class _Update(NamedTuple):
    """One replica's function and arguments of an update."""

    variable: Variable
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grouped: bool
    site: Site


@final
class _Subject(Subject):
    """What all replicas and workers must update: compared by variable and function."""

    __slots__ = ("function", "variable")
    __hash__ = None  # type: ignore[assignment]  # what the function holds may change

    def __init__(self, variable: VariableIdentity, function: FunctionKey) -> None:
        self.variable = variable
        self.function = function

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Subject):
            return NotImplemented
        return self.variable == other.variable and self.function == other.function

    def __str__(self) -> str:
        return f"{self.variable.name!r} by {self.function}"

    def fingerprint(self) -> str:
        return f"{self.variable.fingerprint()} {self.function.fingerprint()}"

    def described(self) -> str:
        return f"{self.variable.quoted()} by {self.function.described()}"

    def recorded(self) -> str:
        return str(self)

    def difference(self, other: Subject) -> str | None:
        return self.function.difference(other.function) if isinstance(other, _Subject) else None


def update(
    group: Group,
    variable: Any,
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    grouped: bool,
    site: Site,
) -> Any:
    """Calls `fn(component, *args, **kwargs)` for each local component; see `StrategyExtended.update`.

    Clauses: X-3 to X-6.
    """
    mode = current_mode()
    if mode is not None and mode.updating is not None:
        raise ContextError(
            "update was called inside the function of an update, which has one component at hand. Write that one."
        )
    named = _require_call("update", fn, args, kwargs)
    suspend = None if mode is None or mode.group is not group else mode.suspend
    if suspend is None or group.semantics.update_in_replica == "refuse":
        require_library_context(group, "update")
    variable = group.frontend.unwrap(variable)
    if not isinstance(variable, Variable) or variable.state.group is not group:
        raise InvalidType(
            f"update takes a variable of {group.owner!r}, got {short_repr(variable)}. Make it in this strategy's scope."
        )
    structure = tree.flatten((tuple(args), named))[1]
    request = Request("update", None, None, _Subject(variable.state.identity, function_key(fn)), structure, ())
    prints = (held_print(group.coordinator, fn),) if group.coordinator.compares_held else ()
    if suspend is not None:
        payload = _Update(variable, fn, tuple(args), named, grouped, site)
        return suspend(request, payload, site, _resolver(group), prints[0] if prints else None)
    compare_held(group.coordinator, (fn,), group.coordinator.agree(request, site, prints), "update", site)
    return _update_components(group, variable, fn, args, named, grouped)


def _resolver(group: Group) -> Resolve[_Update, Any]:
    def resolve(_request: Request, payloads: Sequence[_Update], sizes: Sizes) -> Sequence[Any]:
        """Updates once, with all replicas' arguments regrouped; each replica gets its result."""
        variable, fn, _, _, grouped, site = payloads[0]
        compare_held(group.coordinator, [payload.function for payload in payloads], sizes, "update", site)
        args = regroup([payload.args for payload in payloads])
        named = regroup([payload.kwargs for payload in payloads])
        result = _update_components(group, variable, fn, args, named, grouped)
        return [select(index, result) for index in range(len(payloads))]

    return resolve


def _update_components(
    group: Group, variable: Variable, fn: Callable[..., Any], args: Sequence[Any], named: dict[str, Any], grouped: bool
) -> Any:
    if not group.kind.wraps:
        return _of_one(_call_each(group, 1, lambda _: fn(variable, *args, **named)), grouped)
    if group.kind.central:
        first, first_named = _components_for(group, 0, args), _components_for(group, 0, named)
        return _of_one(_call_each(group, 1, lambda _: fn(variable, *first, **first_named)), grouped)

    def call(index: int) -> Any:
        component = VariableComponent(group, variable, index)
        return fn(component, *_components_for(group, index, args), **_components_for(group, index, named))

    storage = variable.state.storage
    exposed = storage.read_all() if storage.is_exposed else ()  # it may be written through `native`
    journal = group.variables.journal = []
    try:
        results = _call_each(group, len(group.local_devices), call)
    except BaseException:
        # Some components are written, also of other variables, and some are not: a retry would begin with unequal ones.
        for one, index, array in reversed(journal):
            one.restore(index, array)
        if exposed:
            storage.undo(exposed)
        raise
    finally:
        group.variables.journal = None
    return _of_many(group, results, grouped)


def update_non_slot(
    group: Group,
    colocate_with: Any,
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None,
    grouped: bool,
    site: Site,
) -> Any:
    """Calls `fn(*args, **kwargs)` on each device of `colocate_with`.  Clauses: X-7."""
    named = _require_call("update_non_slot", fn, args, kwargs)
    require_library_context(group, "update_non_slot")
    devices = tuple(device.placement for device in group.local_devices)
    fits = isinstance(colocate_with, Variable) if group.kind.central else colocate_with == devices
    if group.kind is not DEFAULT and not fits:
        raise InvalidArgument(
            f"update_non_slot takes as colocate_with what non_slot_devices(variables) returned, got "
            f"{short_repr(colocate_with)}."
        )
    group.coordinator.agree(Request("update_non_slot", None, None, function_key(fn), None, ()), site)
    if not group.kind.wraps:
        return _of_one(_call_each(group, 1, lambda _: fn(*args, **named)), grouped)

    def call(index: int) -> Any:
        return fn(*_components_for(group, index, args), **_components_for(group, index, named))

    if group.kind.central:
        return _of_one(_call_each(group, 1, call), grouped)
    return _of_many(group, _call_each(group, len(devices), call), grouped)


def non_slot_devices(group: Group, variables: Any) -> Any:
    """Returns what `update_non_slot` takes: the replicas' devices, or the variable on whose device the state is."""
    if group.kind is not DEFAULT and not group.kind.central:
        return tuple(device.placement for device in group.local_devices)
    known = list(variables) if isinstance(variables, (list, tuple)) else []
    if not known or not all(isinstance(one, Variable) for one in known):
        raise InvalidArgument(f"non_slot_devices takes a list of variables, at least one, got {short_repr(variables)}.")
    return min(known, key=lambda one: one.name)


def _require_call(method: str, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the named arguments.  Raises InvalidType for what cannot be called, or no arguments."""
    if not callable(fn):
        raise InvalidType(f"{method} takes a function to call for each component, got {short_repr(fn)}.")
    if not isinstance(args, (list, tuple)) or not (kwargs is None or isinstance(kwargs, Mapping)):
        raise InvalidType(
            f"{method} takes a list or tuple as args and a mapping as kwargs, got {short_repr(args)}, "
            f"{short_repr(kwargs)}."
        )
    return {} if kwargs is None else dict(kwargs)


def _call_each(group: Group, count: int, call: Callable[[int], Any]) -> list[Any]:
    """Calls a function for the first local replicas, on the device of each, one after the other."""
    if group.kind is DEFAULT:
        return [call(0)]
    results = []
    for index, device in enumerate(group.local_devices[:count]):
        token = enter_mode(CrossReplica(group, updating=index))
        try:
            with group.backend.on(device):
                results.append(call(index))
        except Exception as error:
            error.add_note(f"In an update, on {device.placement}, of the component of replica {device.rank}.")
            raise
        finally:
            leave_mode(token)
    return results


def _components_for(group: Group, index: int, nest: Any) -> Any:
    """Returns arguments for the function of one component: values and variables become that component's."""

    def component(leaf: Any) -> Any:
        if isinstance(leaf, PerReplica) and group.semantics.update_per_replica == "refuse":
            raise InvalidType(
                f"Expected value to be mirrored across replicas: an update in {group.semantics.name} got "
                f"{short_repr(leaf)}. "
                f"Reduce it first: extended.reduce_to(op, value, variable)."
            )
        if isinstance(leaf, DistributedValues):
            return leaf.component(index)
        if isinstance(leaf, Variable) and is_distributed(group, leaf):
            return VariableComponent(group, leaf, index)
        return leaf

    return tree.map_leaves(component, nest)


def _of_one(results: list[Any], grouped: bool) -> Any:
    (result,) = results
    return result if grouped else tree.map_leaves(lambda leaf: (leaf,), result)


def _of_many(group: Group, results: list[Any], grouped: bool) -> Any:
    """Returns the results as Mirrored values, or as one tuple for each leaf; what all returned is there once."""
    values = regroup(results, wrap=Mirrored)
    if grouped:
        return values

    def split(leaf: Any) -> tuple[Any, ...]:
        if isinstance(leaf, Mirrored):
            return leaf.values
        if isinstance(leaf, Variable) and is_distributed(group, leaf):
            return tuple(VariableComponent(group, leaf, index) for index in range(len(results)))
        return (leaf,)

    return tree.map_leaves(split, values)
