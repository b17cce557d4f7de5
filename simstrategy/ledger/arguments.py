"""Checks of what a ledger is given: the step, the batch, the numbers of replicas.  Nothing runs here."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy

__all__ = ["Step", "copy_of", "require_step", "rows_of", "rows_with_nan", "several_counts"]

Step: TypeAlias = Callable[[Strategy, Any, np.ndarray], Any]
"""step(strategy, batch, probe)."""

_FORM = "Write it as step(strategy, batch, probe), and return what its reductions make of the probe."


def require_step(step: object) -> None:
    """Raises InvalidType for what is no function of a strategy, a batch and a probe."""
    if not callable(step) or isinstance(step, type):
        raise InvalidType(f"ledger takes a step, a function, got {short_repr(step)}. {_FORM}")
    if inspect.iscoroutinefunction(step) or inspect.isgeneratorfunction(step) or inspect.isasyncgenfunction(step):
        raise InvalidType(
            f"ledger takes a step that runs to its end, and {short_repr(step)} is a generator or asynchronous. {_FORM}"
        )
    try:
        signature = inspect.signature(step)
    except ValueError:  # a function of another language, which has none
        return
    try:
        signature.bind(None, None, None)
    except TypeError as error:
        raise InvalidType(
            f"ledger calls step(strategy, batch, probe), and {short_repr(step)} takes {signature}. {_FORM}"
        ) from error


def rows_of(batch: object) -> int:
    """Returns the number of samples of a global batch, the first dimension of every array in it.

    batch: a nest of arrays [rows, …]. Raises InvalidType and InvalidArgument where it has none, or several numbers.
    """
    leaves = tree.flatten(batch)[0]
    if not leaves:
        raise InvalidArgument(f"ledger got the batch {short_repr(batch)}, which has no arrays. Pass arrays [rows, …].")
    counts = []
    for leaf in leaves:
        shape = np.shape(leaf) if isinstance(leaf, np.ndarray) or _is_array(leaf) else None
        if not shape:
            raise InvalidType(
                f"ledger takes a global batch of arrays [rows, …], got {short_repr(leaf)} in it. Make an array of the "
                f"samples, such as numpy.asarray(samples)."
            )
        counts.append(int(shape[0]))
    if len(set(counts)) > 1:
        raise InvalidArgument(
            f"ledger got arrays of {', '.join(map(str, counts))} rows in one batch. Every array has one row for each "
            f"sample."
        )
    if counts[0] == 0:
        raise InvalidArgument("ledger got a batch of no samples. Pass at least one, better ten.")
    return counts[0]


def several_counts(replicas: object) -> tuple[int, ...]:
    """Returns the numbers of replicas that are compared with one.  Raises InvalidArgument for none, and no numbers."""
    if not isinstance(replicas, Sequence) or isinstance(replicas, (str, bytes)):
        raise InvalidArgument(f"replicas is a list of numbers, such as [2, 3, 4], got {short_repr(replicas)}.")
    for one in replicas:
        if not isinstance(one, int) or isinstance(one, bool) or one < 1:
            raise InvalidArgument(f"replicas is a list of numbers from 1 on, got {short_repr(one)} in it.")
    counts = tuple(dict.fromkeys(one for one in replicas if one > 1))
    if not counts:
        raise InvalidArgument(
            f"replicas is {short_repr(replicas)}: every number is compared with one replica, so there is nothing to "
            f"compare. Name a larger one, such as 3."
        )
    return counts


def copy_of(batch: Any) -> Any:
    """Returns a batch whose NumPy arrays are copies, so that no run sees what another one wrote to them."""
    return tree.map_leaves(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, batch)


def rows_with_nan(batch: object) -> list[int]:
    """Returns the rows of a batch in which a NumPy array holds a float that is not finite."""
    wrong: dict[int, None] = {}
    for leaf in tree.flatten(batch)[0]:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc":
            rows = np.argwhere(~np.isfinite(leaf))[:, 0]
            wrong |= dict.fromkeys(map(int, rows))
    return sorted(wrong)


def _is_array(value: Any) -> bool:
    """Returns whether a value is an array of any library: such types have a method that NumPy calls."""
    return getattr(value, "__array__", None) is not None
