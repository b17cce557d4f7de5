"""Takes apart what a step returned: for each result, the numbers of every replica on the host.  Judges no number."""

from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.ledger.arguments import Step
from simstrategy.run import function_key
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy, Variable, VariableSynchronization, group_of
from simstrategy.strategy.validation import UNFINISHED, refuse_unfinished
from simstrategy.trace import describe_site
from simstrategy.values import DistributedValues

__all__ = ["Returned", "describe_step", "is_single", "returned_of"]

_FLOATS: Final = ("float32", "float64")
_ADVICE: Final = (
    "Return what the step makes of the probe rows, after its reductions: one number for each column of probe, such as "
    "the sum of the rows over all samples, axis 0, divided by the number of samples."
)


class Returned(NamedTuple):
    """The results of one run.  paths: of the leaves. values: of each leaf, [components, probes] floats."""

    paths: tuple[str, ...]
    values: tuple[np.ndarray, ...]


def describe_step(step: Step) -> str:
    """Returns the name of a step with the file and line of its definition."""
    key = function_key(step)
    return f"{key.name} ({describe_site(key.site)})" if key.site is not None else key.name


def returned_of(strategy: Strategy, value: Any, probes: int) -> Returned:
    """Returns the results in what a step returned: a nest of arrays [probes], one for all replicas or one for each.

    Raises InvalidType for what is no array of floats, and InvalidArgument for an array of another shape.
    """
    if type(value) in UNFINISHED:
        refuse_unfinished([value], "ledger")
    leaves, structure = tree.flatten(value)
    if not leaves:
        raise InvalidType(f"The step returned {short_repr(value)}, which holds no array. {_ADVICE}")
    paths = _paths("result", structure)
    return Returned(
        tuple(paths),
        tuple(_numbers(strategy, leaf, path, probes) for path, leaf in zip(paths, leaves, strict=True)),
    )


def _paths(path: str, structure: tree.Structure | None) -> list[str]:
    if structure is None:
        return [path]
    keys = range(len(structure.children)) if structure.keys is None else structure.keys
    inner = (_paths(f"{path}[{key!r}]", child) for key, child in zip(keys, structure.children, strict=True))
    return [one for found in inner for one in found]


def _numbers(strategy: Strategy, leaf: Any, path: str, probes: int) -> np.ndarray:
    """Returns one row of numbers for each component."""
    rows = [_host(strategy, one, path) for one in _components(strategy, leaf)]
    for replica, row in enumerate(rows):
        if row.shape != (probes,):
            where = f" on replica {replica}" if len(rows) > 1 else ""
            raise InvalidArgument(
                f"The step's {path} has shape {list(row.shape)}{where} with {strategy.num_replicas_in_sync} replicas, "
                f"and probe has {probes} columns. {_ADVICE}"
            )
        if row.dtype.name not in _FLOATS:
            raise InvalidType(
                f"The step's {path} is {row.dtype.name}, in which small weights have no exact form. Compute the probe "
                f"rows in float64, or float32."
            )
    return np.stack(rows)


def _components(strategy: Strategy, leaf: Any) -> tuple[Any, ...]:
    leaf = group_of(strategy).frontend.unwrap(leaf)
    if isinstance(leaf, Variable):
        if leaf.synchronization is not VariableSynchronization.ON_READ:
            return leaf.components
        with strategy.scope():  # its value is the aggregate of the components
            return (leaf.read_value(),)
    return leaf.values if isinstance(leaf, DistributedValues) else (leaf,)


def _host(strategy: Strategy, value: Any, path: str) -> np.ndarray:
    backend = group_of(strategy).backend
    if isinstance(value, backend.array_types):
        return backend.get(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    raise InvalidType(f"The step's {path} is {short_repr(value)}, which is no array of floats. {_ADVICE}")


def is_single(values: np.ndarray) -> bool:
    """Returns whether float32 holds all values […] exactly: they are float32, or were before a cast."""
    with np.errstate(over="ignore"):
        return bool((values.astype(np.float32) == values).all())
