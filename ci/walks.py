"""Follows three values through the core and counts the calls, the files, and how often the file changes.

    python3 ci/walks.py [a] [b] [c]

(a) a per-replica value: Strategy.run → all_reduce of the replica's context → the addition → back;
(b) a variable with an aggregation: assign_add in replicas → the sum → every component → back;
(c) a dataset: experimental_distribute_dataset → one batch.
Each on two replicas of the simulator, with device arrays, after several equal rounds (warm).

The counting rule. `sys.setprofile` reports every call of a Python function; a resumed generator is reported again,
C functions are not counted. A call counts if its function stands in a file of the package `simstrategy`; the caller's
step and other packages do not. Comprehensions count. Returns do not. The order is the one in which the calls happen,
whichever greenlet they run in: a switch is no event, so the call after a switch is the next function that the other
greenlet calls. A change of file is a call in another file than that of the call before it.
"""

import gc
import itertools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np

import simstrategy as ss

PACKAGE = Path(ss.__file__).resolve().parent
WARM = 5
REPLICAS = 2


class Call(NamedTuple):
    """One call. file: below the package."""

    file: str
    line: int
    function: str


class Walk(NamedTuple):
    """A walk and its bounds, of which None is none."""

    about: str
    prepare: Callable[[], Callable[[], object]]
    files_max: int | None
    changes_max: int | None


def record(act: Callable[[], object], package: Path = PACKAGE) -> list[Call]:
    """Returns the calls of functions of a package while a function runs, in their order."""
    calls = []
    start = f"{package}/"

    def profile(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(start):
            calls.append(Call(code.co_filename[len(start) :], code.co_firstlineno, code.co_qualname))

    gc.collect()
    gc.disable()  # what it would call is not on the way
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
        gc.enable()
    return calls


def figures(calls: Iterable[Call]) -> tuple[int, int, int]:
    """Returns the number of calls, of different files, and of changes from one file to another."""
    files = [call.file for call in calls]
    changes = sum(one != other for one, other in itertools.pairwise(files))
    return len(files), len(set(files)), changes


def _ones(strategy: ss.Strategy) -> object:
    return strategy.run(lambda: ss.get_replica_context().xp.ones((3,), dtype=np.float32))


def _per_replica_value() -> Callable[[], object]:
    strategy = ss.Strategy.mirrored("sim", replicas=REPLICAS)
    value = _ones(strategy)

    def step(x):
        return ss.get_replica_context().all_reduce(ss.ReduceOp.SUM, x)

    return lambda: strategy.run(step, args=(value,))


def _variable() -> Callable[[], object]:
    strategy = ss.Strategy.mirrored("sim", replicas=REPLICAS)
    value = _ones(strategy)
    with strategy.scope():
        variable = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM)

    def step(x):
        return variable.assign_add(x)

    return lambda: strategy.run(step, args=(value,))


def _batch() -> Callable[[], object]:
    strategy = ss.Strategy.mirrored("sim", replicas=REPLICAS)
    dataset = ss.data.Dataset.from_tensor_slices(np.arange(4, dtype=np.float32)).batch(4)
    return lambda: next(iter(strategy.experimental_distribute_dataset(dataset)))


WALKS = {
    "a": Walk("Strategy.run, all_reduce, back", _per_replica_value, 10, 24),
    "b": Walk("a variable's assign_add, aggregation SUM", _variable, 12, 26),
    "c": Walk("a dataset's distribution and one batch", _batch, None, None),
}


def walk(name: str) -> list[Call]:
    """Returns the calls of a walk when everything is warm."""
    act = WALKS[name].prepare()
    for _ in range(WARM):
        act()
    gc.collect()  # greenlets of a strategy that was let go are ended by the next run
    act()
    return record(act)


def main(names: list[str]) -> int:
    for name in names or WALKS:
        if name not in WALKS:
            print(f"There is no walk {name!r}; there are {', '.join(WALKS)}.", file=sys.stderr)
            return 2
        calls = walk(name)
        before = ""
        for call in calls:
            print(f"  {' ' if call.file == before else '>'} {call.file}:{call.line} {call.function}")
            before = call.file
        print("({}) {}: {} calls, {} files, {} changes of file\n".format(name, WALKS[name].about, *figures(calls)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
