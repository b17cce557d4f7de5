"""Reads and writes of variables, by replicas and outside of them, and how they grow with replicas and variables."""

import numpy as np

import simstrategy as ss
from ci.bench.growth.style import REPLICAS, Sizes, Style

__all__ = ["STYLES", "VARIABLES"]

VARIABLES = Sizes((64, 256, 1024), (256, 1024, 4096))
_SUM, _MEAN = ss.VariableAggregation.SUM, ss.VariableAggregation.MEAN
_FIRST = ss.VariableAggregation.ONLY_FIRST_REPLICA
_ON_READ = ss.VariableSynchronization.ON_READ


def _opened(replicas, variables, **how):
    """Returns a strategy and its variables, [4] float32 each."""
    strategy = ss.Strategy.mirrored("sim", replicas=replicas)
    with strategy.scope():
        made = [ss.Variable(np.zeros(4, np.float32), **how) for _ in range(variables)]
    return strategy, made


def _of_replicas(body, **how):
    """Returns the style of a run whose replicas use one variable."""

    def make(count):
        strategy, (variable,) = _opened(count, 1, **how)
        return lambda: strategy.run(lambda: body(ss.get_replica_context(), variable))

    return Style("replicas", make, REPLICAS)


def _of_variables(action, *, replicas=2, **how):
    """Returns the style of an action with a strategy and its variables."""

    def make(count):
        strategy, made = _opened(replicas, count, **how)
        return lambda: action(strategy, made)

    return Style("variables", make, VARIABLES)


def _add(ctx, variable):
    variable.assign_add(ctx.xp.ones((4,)), read_value=False)


def _add_host(ctx, variable):
    variable.assign_add(np.ones(4, np.float32))


def _read(ctx, variable):
    return variable.value(), variable.numpy(), variable.read_value()


def _step(strategy, variables):
    def replica():
        xp = ss.get_replica_context().xp
        for variable in variables:
            variable.assign_add(xp.ones((4,)))

    strategy.run(replica)


def _create(strategy, variables):
    with strategy.scope():
        return [ss.Variable(1.0, name="v") for _ in variables]


def _own_then_read(strategy, variables):
    def replica():
        for variable in variables:
            variable.assign(np.ones(4, np.float32))

    strategy.run(replica)
    return [variable.numpy() for variable in variables]


def _diverged_then_read(strategy, variables):
    def update(component):
        component.assign(np.ones(4, np.float32))

    for variable in variables:
        strategy.extended.update(variable, update)
    strategy.run(lambda: None)
    return [variable.numpy() for variable in variables]


def _one_of_many(strategy, variables):
    for _ in range(len(variables)):
        strategy.extended.update(variables[0], lambda one: one.assign_add(np.ones(4, np.float32)))
        strategy.run(lambda: None)


STYLES = {
    "assign_add(xp array), SUM": _of_replicas(_add, aggregation=_SUM),
    "assign_add(NumPy array), SUM": _of_replicas(_add_host, aggregation=_SUM),
    "assign_add(NumPy array), MEAN": _of_replicas(_add_host, aggregation=_MEAN),
    "assign_add(NumPy array), first replica's": _of_replicas(_add_host, aggregation=_FIRST),
    "assign_add of an own component": _of_replicas(_add_host, aggregation=_SUM, synchronization=_ON_READ),
    "value, numpy and read_value in replicas": _of_replicas(_read, aggregation=_SUM),
    "a step that writes all variables": _of_variables(_step, aggregation=_SUM),
    "variables made in a scope": _of_variables(_create),
    "own components written, and all read outside": _of_variables(
        _own_then_read, aggregation=_SUM, synchronization=_ON_READ
    ),
    "components updated one by one, and all read": _of_variables(_diverged_then_read),
    "one variable of many updated before each run": _of_variables(_one_of_many),
    "save and restore": _of_variables(lambda strategy, made: strategy.restore(made, strategy.save(made))),
    "assign and read outside": _of_variables(
        lambda strategy, made: [(one.assign(np.ones(4, np.float32)), one.numpy()) for one in made]
    ),
}
