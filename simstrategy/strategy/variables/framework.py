"""Variables that a framework creates: `device.Frontend.attach` receives `make_variable`."""

from typing import Any

from simstrategy.strategy.enums import VariableAggregation, VariableSynchronization
from simstrategy.strategy.variables.variable import Variable

__all__ = ["make_variable"]


def make_variable(initial_value: Any, *, synchronization: str, aggregation: str, **settings: Any) -> Variable:
    """Makes a variable of the current strategy.

    synchronization, aggregation: names of the enums' members. settings: the other arguments of `Variable`. Raises what
    `Variable` raises.
    """
    return Variable(
        initial_value,
        synchronization=VariableSynchronization[synchronization],
        aggregation=VariableAggregation[aggregation],
        **settings,
    )
