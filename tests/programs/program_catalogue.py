"""What the portable programs of this folder are made with: registers, small inputs, and marked lines.

Numbers are small multiples of 1/8, so that sums and products of them are exact in float32 and float16,
and results agree to the bit whatever the order of additions. It runs nothing and compares nothing.
"""

import functools
import inspect
import math
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import numpy as np

import simstrategy as ss
from simstrategy.strategy import group_of

__all__ = [
    "Case",
    "Program",
    "ReplicaFunction",
    "eighths",
    "marked_lines",
    "own",
    "per_replica",
    "program_of",
    "register",
    "register_step",
    "replica",
    "variable",
    "with_sites",
]

Program = Callable[[ss.Strategy], Any]
ReplicaFunction = Callable[[], Any]
Host = np.ndarray[Any, Any]


class Case(NamedTuple):
    """A program and what has to be known to run it.

    wide: it uses float64 or int64, so a backend may have to be opened with 64-bit numbers. cluster: `same` where
    the workers of a cluster together come to what one process with all replicas comes to; `own` where each
    worker's own batches, counts or failures show.
    """

    program: Program
    wide: bool
    cluster: Literal["same", "own"]


def register(
    cases: dict[str, Case], *, wide: bool = False, cluster: Literal["same", "own"] = "same"
) -> Callable[[Program], Program]:
    """Returns a decorator that enters a program under its name."""

    def enter(program: Program) -> Program:
        name = program.__name__
        assert name not in cases, f"two programs are called {name}"
        cases[name] = Case(program, wide, cluster)
        return program

    return enter


def program_of(step: ReplicaFunction) -> Program:
    """Returns the program that runs a replica function, and nothing else."""

    @functools.wraps(step)
    def program(strategy: ss.Strategy) -> Any:
        return strategy.run(step)

    return program


def register_step(cases: dict[str, Case], **settings: Any) -> Callable[[ReplicaFunction], Program]:
    """Returns a decorator that enters the program of a replica function under the function's name."""
    return lambda step: register(cases, **settings)(program_of(step))


def replica() -> ss.ReplicaContext:
    """Returns the running replica's context; fails outside replica functions."""
    context = ss.get_replica_context()
    assert context is not None
    return context


def eighths(*shape: int, start: int = 0, dtype: str = "float32") -> Host:
    """Returns an array [*shape] that counts in eighths from start / 8, modulo 4; integers count in ones."""
    counts = (np.arange(math.prod(shape)) + start) % 32
    return np.asarray(counts if np.dtype(dtype).kind in "iu" else counts / 8, dtype).reshape(shape)


def own(*shape: int, start: int = 0, dtype: str = "float32") -> Any:
    """Returns an array that counts from the replica's rank and start, on its device."""
    return replica().xp.asarray(eighths(*shape, start=replica().replica_id_in_sync_group + start, dtype=dtype))


def variable(strategy: ss.Strategy, aggregation: ss.VariableAggregation, initial: Any = None, **settings: Any) -> Any:
    """Returns a variable that is made in the strategy's scope: [2] of float32 where no initial value is given."""
    with strategy.scope():
        return ss.Variable(eighths(2, start=1) if initial is None else initial, aggregation=aggregation, **settings)


def per_replica(strategy: ss.Strategy, make: Callable[[int], Any]) -> ss.PerReplica:
    """Returns a value whose component on each local replica is `make` of its rank over all workers."""
    return ss.PerReplica([make(device.rank) for device in group_of(strategy).local_devices])


_MARK = re.compile(r"#.*<(\w+)>")


def marked_lines(program: Program) -> dict[str, str]:
    """Returns file:line of each line of a program that ends in a comment with a mark in angle brackets."""
    lines, first = inspect.getsourcelines(program)
    file = PurePath(inspect.getfile(inspect.unwrap(program))).name
    found = ((_MARK.search(line), number) for number, line in enumerate(lines, first))
    return {match[1]: f"{file}:{number}" for match, number in found if match}


def with_sites(program: Program, text: str, rank: int) -> str:
    """Returns a text with `<mark>` replaced by the marked line of the program, and `<rank>` by the rank."""
    for mark, site in marked_lines(program).items():
        text = text.replace(f"<{mark}>", site)
    text = text.replace("<rank>", str(rank))
    assert re.search(r"<\w+>", text) is None, f"{program.__name__} has no line for a mark of {text!r}"
    return text
