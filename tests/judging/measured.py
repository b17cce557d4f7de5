"""Runs a program with several numbers of replicas, and measures without the judge whether its results depend on it.

What a program means is compared: a variable by its aggregate, results leaf by leaf. A leaf that is a PerReplica value
for some number of replicas is left out, since it has another form for each number. It decides nothing about causes.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import simstrategy as ss

Program = Callable[[ss.Strategy], Any]
COUNTS = (1, 2, 3, 4)
PER_REPLICA = object()
"""Stands for a leaf that has one value per replica."""


class Run(NamedTuple):
    """What one run left.  leaves: by path, results first. observed: by step and name. error: what it raised."""

    leaves: dict[str, Any]
    observed: dict[tuple[int, str], Any]
    error: Exception | None = None


def meaning(variable: ss.Variable) -> np.ndarray:
    """Returns what a variable means [shape]: of one that each replica has for itself, the aggregate."""
    parts = [np.asarray(one) for one in variable.components]
    if variable.synchronization is not ss.VariableSynchronization.ON_READ:
        return parts[0]
    if variable.aggregation is ss.VariableAggregation.SUM:
        return np.sum(parts, axis=0, dtype=parts[0].dtype)
    return np.mean(parts, axis=0) if variable.aggregation is ss.VariableAggregation.MEAN else parts[0]


def walk(value: Any, path: str, found: dict[str, Any]) -> dict[str, Any]:
    """Adds the leaves of a nest to what was found, by path."""
    if isinstance(value, ss.Variable):
        found[path] = meaning(value)
    elif isinstance(value, ss.Mirrored):
        walk(value.values[0], path, found)
    elif isinstance(value, ss.PerReplica):
        found[path] = PER_REPLICA
    elif isinstance(value, Mapping):
        for key in value:
            walk(value[key], f"{path}[{key!r}]", found)
    elif isinstance(value, (list, tuple)):
        found[f"{path} length"] = np.asarray(len(value))
        for number, one in enumerate(value):
            walk(one, f"{path}[{number}]", found)
    else:
        found[path] = np.asarray(value)
    return found


class Observer:
    """Notes after every run of a replica function what all replicas then have in common.

    Values of a run are noted if they are equal on all replicas, and what `reduce` returns.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.noted: dict[tuple[int, str], Any] = {}
        self.variables: list[ss.Variable] = []

    def note(self, step: int, name: str, value: Any) -> None:
        number = 0
        while (step, f"{name} {number}") in self.noted:
            number += 1
        self.noted[step, f"{name} {number}"] = value

    def watching(self) -> Any:
        """Returns two context managers, inside of which runs, reduces and new variables are noted."""
        run, reduce, make = ss.Strategy.run, ss.Strategy.reduce, ss.Variable.of

        def observed_run(strategy: ss.Strategy, fn: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = run(strategy, fn, args, kwargs)
            self.after_run(result)
            return result

        def observed_reduce(strategy: ss.Strategy, op: Any, value: Any, axis: Any = None) -> Any:
            result = reduce(strategy, op, value, axis)
            for path, leaf in walk(result, "reduce", {}).items():
                self.note(max(self.steps - 1, 0), path, leaf)
            return result

        def observed_make(state: Any) -> ss.Variable:
            variable = make(state)
            self.variables.append(variable)
            return variable

        changed = {"run": observed_run, "experimental_run_v2": observed_run, "reduce": observed_reduce}
        return mock.patch.multiple(ss.Strategy, **changed), mock.patch.object(ss.Variable, "of", observed_make)

    def after_run(self, result: Any) -> None:
        step, self.steps = self.steps, self.steps + 1
        for variable in self.variables:
            self.note(step, variable.name, meaning(variable))
        for path, leaf in common(result, "run").items():
            self.note(step, path, leaf)


def common(value: Any, path: str) -> dict[str, Any]:
    """Returns the leaves of a run's result that are equal on all replicas."""
    if isinstance(value, ss.PerReplica):
        parts = [np.asarray(one) for one in value.values]
        same = all(one.shape == parts[0].shape and np.array_equal(one, parts[0]) for one in parts)
        return {path: parts[0]} if same else {}
    if isinstance(value, Mapping):
        return {key: leaf for name in value for key, leaf in common(value[name], f"{path}[{name!r}]").items()}
    if isinstance(value, (list, tuple)):
        return {key: leaf for number, one in enumerate(value) for key, leaf in common(one, f"{path}[{number}]").items()}
    return {} if value is None else {path: np.asarray(value)}


def run_once(program: Program, replicas: int) -> Run:
    """Runs a program on the simulator."""
    observer = Observer()
    methods, makes = observer.watching()
    with methods, makes, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with closing(ss.Strategy.mirrored("sim", replicas=replicas)) as strategy:
            try:
                result = program(strategy)
            except Exception as error:  # noqa: BLE001 - of any program; the caller decides what it means
                return Run({}, observer.noted, error)
            leaves = walk(result, "result", {})
            for number, variable in enumerate(observer.variables):
                leaves[f"variable {number} {variable.name!r}"] = meaning(variable)
    return Run(leaves, observer.noted)


def distance(one: Any, two: Any) -> float:
    """Returns the largest difference of two leaves, divided by the largest element of both; inf for other forms."""
    if one is PER_REPLICA or two is PER_REPLICA:
        return 0.0
    if one.shape != two.shape:
        return math.inf
    if one.dtype.kind in "USO":
        return 0.0 if np.array_equal(one, two) else math.inf
    left, right = one.astype(np.float64).ravel(), two.astype(np.float64).ravel()
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return math.inf
    left, right = left[finite], right[finite]
    scale = max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    return float(np.abs(left - right).max() / scale) if scale > 0 else 0.0


def distances(one: Run, two: Run) -> dict[str, float]:
    """Returns the distance of each leaf; inf for one that only one run has, unless its container is left out."""
    found = {}
    for path in {**one.leaves, **two.leaves}:
        if path in one.leaves and path in two.leaves:
            found[path] = distance(one.leaves[path], two.leaves[path])
        elif not any(is_left_out(path, run) for run in (one, two)):
            found[path] = math.inf
    return found


def is_left_out(path: str, run: Run) -> bool:
    """Returns whether a leaf is inside of one that is a PerReplica value in this run."""
    return any(leaf is PER_REPLICA and path.startswith(other) for other, leaf in run.leaves.items())


def moved(runs: Mapping[int, Run]) -> dict[int, float]:
    """Returns for each number of replicas but the first how far the results are from those of the first."""
    first = next(iter(runs.values()))
    return {count: max(distances(first, run).values(), default=0.0) for count, run in list(runs.items())[1:]}


def first_step(runs: Mapping[int, Run], least: float) -> tuple[int, set[str]] | None:
    """Returns the first step after which common values differ by `least`, and the names of those values."""
    first, *others = runs.values()
    differing: dict[int, set[str]] = {}
    for run in others:
        for key in first.observed.keys() & run.observed.keys():
            if distance(first.observed[key], run.observed[key]) >= least:
                differing.setdefault(key[0], set()).add(key[1].rpartition(" ")[0])
    return min(differing.items()) if differing else None
