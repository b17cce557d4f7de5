"""What an input function receives, what it may return, and the batches that are read of it.  Clauses: Y-1 to Y-3."""

import inspect
from collections.abc import Iterator
from typing import Any

from simstrategy.data import InputContext, InputIterator
from simstrategy.errors import InvalidArgument, InvalidType, OutOfRangeError
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy, group_of
from simstrategy.strategy.inputs import whole_step_iterator

__all__ = ["batches"]


def batches(strategy: Strategy, distribute: Strategy | None, input_fn: Any) -> Iterator[tuple[Any, Any]]:
    """Calls an input function once, and yields features and labels [batch, …] of each whole step.

    distribute: what the user chose, None for one replica without a strategy. Raises InvalidType and InvalidArgument.
    """
    iterator = whole_step_iterator(group_of(strategy), _made(input_fn, distribute))
    iterator.initialize()
    return _pairs(iterator)


def _made(input_fn: Any, distribute: Strategy | None) -> Any:
    """Calls an input function, and returns its dataset.  Raises InvalidType and InvalidArgument for anything else."""
    if not callable(input_fn):
        raise InvalidType(f"input_fn is a function that returns a dataset, got {short_repr(input_fn)}.")
    options: dict[str, Any] = {}
    takes = "input_context" in inspect.signature(input_fn).parameters
    if takes and distribute is not None and group_of(distribute).semantics.estimator_input_context == "pass":
        options = {"input_context": InputContext(1, 0, distribute.num_replicas_in_sync)}
    made = input_fn(**options)
    if made is None or isinstance(made, (tuple, dict)):
        raise InvalidArgument(
            f"input_fn must return a dataset, and returned {short_repr(made)}. Return a simstrategy.data.Dataset of "
            f"features and labels, such as Dataset.from_tensor_slices((features, labels)).batch(32)."
        )
    return made


def _pairs(iterator: InputIterator) -> Iterator[tuple[Any, Any]]:
    while True:
        try:
            element = iterator.get_next()
        except OutOfRangeError:
            return
        if not isinstance(element, (tuple, list)):
            yield element, None
        elif len(element) == 2:
            yield element[0], element[1]
        else:
            raise InvalidArgument(
                f"input_fn should return (features, labels) as a len 2 tuple, and its dataset has {len(element)} "
                f"parts. Put several features into a dict."
            )
