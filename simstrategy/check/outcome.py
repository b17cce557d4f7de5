"""The outcome of one run of a program: values, variables, error and trace, on the host."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simstrategy import tree
from simstrategy.check.non_finite import NonFiniteProbe
from simstrategy.run import raised_where
from simstrategy.strategy import Strategy, Variable, group_of
from simstrategy.trace import Event, Trace
from simstrategy.values import DistributedValues

__all__ = ["Outcome", "Program", "program_folder", "program_name", "run_program"]

Program = Callable[[Strategy], Any]


class Outcome(NamedTuple):
    """leaves: path and value of every array returned and of every variable's components, in order.

    A value that is not a number is kept as its text. error: class name and message.
    """

    leaves: tuple[tuple[str, np.ndarray[Any, Any]], ...]
    error: tuple[str, str] | None
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()
    """Where the error was raised, and which replicas were waiting."""
    not_finite: str | None = None
    """The first value that entered a collective or a `reduce` and is not finite, in words; None without a probe."""


def program_folder(program: Program) -> str:
    """Returns the folder of a program's file, to which call sites are written relative."""
    code = getattr(program, "__code__", None)
    return str(Path(code.co_filename).parent) if code is not None else ""


def program_name(program: Program) -> str:
    """Returns the name of a program's file, for reports."""
    code = getattr(program, "__code__", None)
    return Path(code.co_filename).name if code is not None else repr(program)


def run_program(program: Program, strategy: Strategy, trace: Trace, *, probe: NonFiniteProbe | None = None) -> Outcome:
    """Runs `program(strategy)` and returns its outcome.  An exception is an outcome too, but for KeyboardInterrupt.

    probe: the strategy's backend, where it is one that looks for values that are not finite.
    """
    group = group_of(strategy)
    if probe is not None:
        group.reductions.probe = probe.watch
    try:
        result = program(strategy)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - compared like a value: both may raise the same
        group.coordinator.disconnect(error)
        notes = tuple(getattr(error, "__notes__", ())) or (raised_where(error, with_text=False),)
        events = tuple(trace.events(worker=group.coordinator.worker))
        return Outcome((), (type(error).__name__, str(error)), events, notes, probe.found if probe else None)
    leaves = [*_walk(result, "result", group.backend.get, group.array_types, group.frontend.unwrap)]
    for number, variable in enumerate(group.variables.created):
        # A variable that the replicas share has one component, for the first of them.
        for rank, component in zip(group.coordinator.ranks, variable.components, strict=False):
            leaves.append((f"variable {number} {variable.name!r}, replica {rank}", group.backend.get(component)))
    events = tuple(trace.events(worker=group.coordinator.worker))
    return Outcome(tuple(leaves), None, events, not_finite=probe.found if probe else None)


def _walk(
    value: Any,
    path: str,
    get: Callable[[Any], np.ndarray[Any, Any]],
    array_types: tuple[type, ...],
    own: Callable[[Any], Any],
) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(own(value), Variable):
        return  # compared with the other variables, component by component; so is a framework's view of one
    if isinstance(value, DistributedValues):
        for index, component in enumerate(value.values):
            yield from _walk(component, f"{path} of local replica {index}", get, array_types, own)
    elif tree.is_leaf(value):
        yield path, get(value) if isinstance(value, array_types) else _host(value)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]", get, array_types, own)
    else:
        for key in tree.sorted_keys(value):
            yield from _walk(value[key], f"{path}[{key!r}]", get, array_types, own)


def _host(value: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(value)
    return array if array.dtype.kind in "biufc" or array.dtype.name == "bfloat16" else np.asarray(repr(value))
