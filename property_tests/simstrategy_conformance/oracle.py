"""The expected results of a program, from first principles: NumPy, and no import of simstrategy.

It computes all replicas side by side, statement by statement, by the clauses of docs/semantics.md. Numbers of
generated programs are such that every sum is exact, so there is one right answer, whatever the order of additions.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "UNSPECIFIED",
    "Each",
    "Expected",
    "First",
    "Listed",
    "all_reduced",
    "chunks",
    "gathered",
    "rounding_bound",
    "run",
]

Host = np.ndarray[Any, Any]

MEANS = {"int8": "float32", "uint8": "float32", "int16": "float32", "uint16": "float32"}
MEANS |= {"int32": "float64", "uint32": "float64", "int64": "float64", "uint64": "float64"}
COMBINE = {"SUM": np.add, "MIN": np.minimum, "MAX": np.maximum}


class Each(NamedTuple):
    """One value for each replica, not known to be the same object."""

    values: tuple[Any, ...]


class Listed(NamedTuple):
    """One value for each replica, of which each worker sees its own as a tuple."""

    values: tuple[Any, ...]


class First(NamedTuple):
    """One value for each replica, of which each worker sees its own first."""

    values: tuple[Any, ...]


class Expected(NamedTuple):
    """What each worker's program returns, or the name of the class of the error that it ends with."""

    results: tuple[Any, ...]
    error: str | None


UNSPECIFIED = "UNSPECIFIED"
"""Stands for a value that the clauses leave to the strategy: it is compared with the simulator alone."""


class _Raised(Exception):
    """The program ends here, with an error of this class."""


def all_reduced(arrays: Sequence[Host], op: str) -> Host:
    """Combines arrays of one form by SUM, MIN, MAX or MEAN, in rank order, one rounding at each step."""
    total = np.array(arrays[0])
    with np.errstate(all="ignore"):
        for array in arrays[1:]:
            total = np.asarray(COMBINE["SUM" if op == "MEAN" else op](total, array), total.dtype)
        return divided(total, len(arrays)) if op == "MEAN" and len(arrays) > 1 else total


def divided(total: Host, count: int) -> Host:
    """Divides by a count in the dtype that a mean has."""
    total = np.asarray(total, MEANS.get(total.dtype.name, total.dtype))
    if total.dtype.kind == "c":
        parts = [divided(np.ascontiguousarray(part), count) for part in (total.real, total.imag)]
        return np.asarray(np.stack(parts, -1)).view(total.dtype).reshape(total.shape)
    with np.errstate(all="ignore"):
        return np.asarray(np.true_divide(total, total.dtype.type(count)), total.dtype)


def gathered(arrays: Sequence[Host], axis: int) -> Host:
    """Puts arrays one after the other along an axis."""
    return np.concatenate(arrays, axis)


def chunks(size: int, count: int) -> list[tuple[int, int]]:
    """Cuts `size` elements into `count` chunks of ceil(size / count), the last ones shorter or empty."""
    width = -(-size // count)
    return [(min(number * width, size), min(number * width + width, size)) for number in range(count)]


def rounding_bound(arrays: Sequence[Host], eps: float) -> Host:
    """Returns how far a sum of floats may be from the exact one, whatever the order of its additions.

    eps: the distance from 1 to the next number of the dtype that is added in. N - 1 additions, each with a relative
    error of at most u, half of that, make at most (N - 1) u / (1 - (N - 1) u) of the sum of magnitudes. Additions of
    subnormals are exact.
    Source: N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 4.2.
    """
    unit = eps / 2 * (len(arrays) - 1)
    sizes = np.sum([np.abs(np.asarray(array, np.float64)) for array in arrays], axis=0)
    return np.asarray(unit / (1 - unit) * sizes)


def run(program: Any) -> Expected:
    """Returns the expected results of a program."""
    machine = _Machine(program)
    try:
        outs = [machine.step(batch) for batch in machine.batches()]
        found = [machine.after(statement, outs[-1]) for statement in program.after]
        held = [Listed(tuple(variable)) for variable in machine.variables]
    except _Raised as raised:
        return Expected((), str(raised))
    return Expected(tuple(machine.own((outs, found, held), worker) for worker in range(program.workers)), None)


class _Machine:
    """The variables, and what the statements do to them."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self.ranks: int = program.replicas * program.workers
        self.variables = [[np.array(one.initial, one.dtype)] * self.ranks for one in program.variables]

    def batches(self) -> list[list[Host]]:
        """Returns the parts of each batch by rank: chunk j * W + w for replica j of worker w."""
        data, workers = self.program.data, self.program.workers
        if data is None:
            return [[]] * self.program.runs
        order = [j * workers + w for w in range(workers) for j in range(self.program.replicas)]
        parts = []
        for start in range(0, len(data.numbers), data.batch):
            batch = np.array(data.numbers[start : start + data.batch], data.dtype)
            cut = [batch[first:last] for first, last in chunks(len(batch), self.ranks)]
            parts.append([cut[number] for number in order])
        return parts

    # The replica function, for all ranks at once.

    def step(self, batch: list[Host]) -> tuple[Any, ...]:
        results: list[Any] = []
        for statement in self.program.body:
            results.append(self.statement(statement, batch, results))
        return tuple(results)

    def value(self, nest: Any, batch: list[Host], results: list[Any]) -> Any:
        if nest.kind == "given":
            shape = (-1, *nest.tails) if nest.tails else None
            arrays = [np.array(part, nest.dtype) for part in nest.parts]
            return Each(tuple(array.reshape(shape) if shape else array for array in arrays))
        if nest.kind == "batch":
            return Each(tuple(batch))
        if nest.kind == "use":
            return results[nest.number]
        items = [self.value(item, batch, results) for item in nest.items]
        if nest.container == "dict":
            return dict(zip(reversed("abcdefgh"[: len(items)]), items, strict=True))
        return items if nest.container == "list" else tuple(items)

    def statement(self, one: Any, batch: list[Host], results: list[Any]) -> Any:
        """Returns what a statement's result is, for all ranks."""
        if one.kind == "stop":
            raise _Raised("KeyError" if one.how == "raise" else "ReplicasDisagree")
        nest = _operand(one)
        value = None if nest is None else self.value(nest, batch, results)
        rules: dict[str, Callable[[], Any]] = {
            "all_reduce": lambda: _mapped(lambda leaf: self.same(all_reduced(self.each(leaf), one.op)), value),
            "all_gather": lambda: _mapped(lambda leaf: self.same(gathered(self.each(leaf), one.axis)), value),
            "merge": lambda: self.merge(one.how, value),
            "write": lambda: self.write(one.variable, one.method, self.each(value)),
            "read": lambda: Each(tuple(self.variables[one.variable])),
            "compute": lambda: self.compute(one.how, self.each(value)),
            "give": lambda: value,
            "share": lambda: (None, "text", np.zeros(2)),
            "seed": lambda: UNSPECIFIED,
            "look": lambda: [True, False, True, self.ranks, Each(tuple(range(self.ranks)))],
        }
        return rules[one.kind]()

    def each(self, value: Any) -> tuple[Any, ...]:
        """Returns one value for each rank; a shared value counts once for each."""
        return value.values if isinstance(value, Each) else (value,) * self.ranks

    def same(self, value: Any) -> Each:
        return Each((value,) * self.ranks)

    def merge(self, how: str, value: Any) -> Any:
        parts = self.each(value)
        if how in ("sum", "mean"):
            return all_reduced(parts, how.upper())
        if how == "nested":
            return self.same(all_reduced(parts, "SUM"))
        if how == "same":
            return value
        return Listed(tuple(parts))

    def compute(self, how: str, parts: tuple[Any, ...]) -> Each:
        with np.errstate(all="ignore"):
            if how == "total":
                return Each(tuple(np.asarray(np.sum(part, dtype=part.dtype)) for part in parts))
            return Each(tuple(np.asarray(part + part, part.dtype) for part in parts))

    def write(self, number: int, method: str, parts: tuple[Any, ...]) -> Each:
        variable, spec = self.variables[number], self.program.variables[number]
        if spec.synchronization == "ON_WRITE":
            if spec.aggregation == "NONE" and self.program.profile != "TF2":
                raise _Raised("InvalidArgument")
            if spec.aggregation == "ONLY_FIRST_REPLICA":
                parts = (parts[0],) * self.ranks
            elif spec.aggregation != "NONE":
                parts = (all_reduced(parts, spec.aggregation),) * self.ranks
        self.variables[number] = [_applied(method, old, new) for old, new in zip(variable, parts, strict=True)]
        return Each(tuple(self.variables[number]))

    # Statements after the runs.

    def after(self, one: Any, out: tuple[Any, ...]) -> Any:
        match one.kind:
            case "reduce":
                return self.reduce(one.op, self.each(out[one.number]), one.axis)
            case "gather":
                return gathered(self.each(out[one.number]), one.axis)
            case "local":
                return Listed(tuple(self.each(out[one.number])))
            case "assign":
                return self.assign(one)
        return self.fetch(one.variable)

    def reduce(self, op: str, parts: tuple[Host, ...], axis: Any) -> Host:
        if axis is None:
            return all_reduced(parts, op)
        with np.errstate(all="ignore"):
            sums = [np.asarray(np.sum(part, axis=axis, dtype=part.dtype)) for part in parts]
        total = all_reduced(sums, "SUM")
        axes = axis if isinstance(axis, tuple) else (axis,)
        counts = [int(np.prod([part.shape[one] for one in axes], dtype=np.int64)) for part in parts]
        return divided(total, sum(counts)) if op == "MEAN" else total

    def assign(self, one: Any) -> None:
        spec = self.program.variables[one.variable]
        value = np.full(np.shape(spec.initial), one.number, spec.dtype)
        if spec.synchronization == "ON_READ" and spec.aggregation == "SUM":
            if one.method != "assign":
                raise _Raised("InvalidArgument")
            share = value.dtype.type(1.0 / self.ranks)
            exact = self.program.profile == "TF2"
            value = np.asarray(value / value.dtype.type(self.ranks) if exact else value * share, spec.dtype)
        self.variables[one.variable] = [_applied(one.method, old, value) for old in self.variables[one.variable]]

    def fetch(self, number: int) -> Any:
        variable, spec = self.variables[number], self.program.variables[number]
        if spec.synchronization == "ON_WRITE":
            return First(tuple(variable))
        if spec.aggregation == "ONLY_FIRST_REPLICA":
            return variable[0]
        if spec.aggregation == "NONE":
            raise _Raised("InvalidArgument")
        return all_reduced(variable, spec.aggregation)

    # What each worker sees.

    def own(self, nest: Any, worker: int) -> Any:
        """Returns a worker's part of a nest; a single replica's value is not wrapped."""
        first, replicas = worker * self.program.replicas, self.program.replicas

        def part(leaf: Any) -> Any:
            if not isinstance(leaf, (Each, First, Listed)):
                return leaf
            values = leaf.values[first : first + replicas]
            if isinstance(leaf, Listed):
                return tuple(values)
            return values[0] if replicas == 1 or isinstance(leaf, First) else Each(values)

        return _mapped(part, nest)


def _operand(statement: Any) -> Any:
    """Returns the nest that a statement takes; None where it takes none."""
    match statement.kind:
        case "all_reduce" | "all_gather" | "give":
            return statement.nest
        case "merge" | "write" | "compute":
            return statement.value
    return None


def _applied(method: str, old: Host, new: Host) -> Host:
    with np.errstate(all="ignore"):
        if method == "assign":
            return np.array(new)
        return np.asarray(old + new if method == "assign_add" else old - new, old.dtype)


def _mapped(function: Any, nest: Any) -> Any:
    """Applies a function to the leaves of a nest; an `Each` is a leaf."""
    if isinstance(nest, (Each, First, Listed)):
        return function(nest)
    if isinstance(nest, dict):
        return {key: _mapped(function, item) for key, item in nest.items()}
    if isinstance(nest, (list, tuple)):
        return type(nest)(_mapped(function, item) for item in nest)
    return function(nest)
