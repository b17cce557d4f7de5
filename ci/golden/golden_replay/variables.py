"""Recorded variables: made in scope, then written to and read, inside replica functions and outside."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from golden_replay.asking import attempt, host, hosts, placed
from golden_replay.verdict import Raised
from simstrategy.strategy import Strategy, Variable, VariableAggregation, VariableSynchronization

__all__ = ["variable_case"]

Body = Mapping[str, Any]

_CLASSES: Final = {
    VariableSynchronization.ON_WRITE: "MirroredVariable",
    VariableSynchronization.ON_READ: "SyncOnReadVariable",
}


def variable_case(body: Body, strategy: Strategy) -> Any:
    """Returns class, log and components; an error where the variable cannot be made."""

    def make() -> Variable:
        with strategy.scope():
            return Variable(
                body["init"],
                synchronization=VariableSynchronization[body["sync"]],
                aggregation=VariableAggregation[body["agg"]],
                dtype=body["dtype"],
            )

    variable = attempt(make)
    if isinstance(variable, Raised):
        return variable
    log = [_step(step, variable, strategy, body["replicas"]) for step in body["program"]]
    components = [host(strategy, one) for one in variable.components]
    return {"class": _CLASSES[variable.synchronization], "log": log, "components": components}


def _step(step: Body, variable: Variable, strategy: Strategy, replicas: int) -> Any:
    if step["op"] == "read":
        if step["where"] == "replica":
            return attempt(lambda: hosts(strategy, strategy.run(variable.value)))
        return attempt(lambda: [host(strategy, _in_scope(strategy, variable.value))])
    writes = {"assign": variable.assign, "assign_add": variable.assign_add, "assign_sub": variable.assign_sub}
    values, write = step["value"], writes[step["op"]]
    # One value for several replicas is one object, which all of them share.
    given = placed(strategy, values) if len(values) == replicas else strategy.xp.asarray(values[0])

    def in_replica(own: Any) -> None:
        write(own)

    def written() -> str:
        if step["where"] == "replica":
            strategy.run(in_replica, args=(given,))
        else:
            _in_scope(strategy, lambda: write(given))
        return "ok"

    return attempt(written)


def _in_scope(strategy: Strategy, call: Callable[[], Any]) -> Any:
    with strategy.scope():
        return call()
