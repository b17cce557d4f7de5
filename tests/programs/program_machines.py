"""Runs one program on one backend and keeps what it came to; compares two such runs.  It knows no program."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.metadata import PackageNotFoundError
from typing import Any, Literal, NamedTuple, final

import numpy as np
import pytest
from program_catalogue import Case, Program

import simstrategy as ss
from simstrategy.check.compare import compare, sensitivity
from simstrategy.check.outcome import Outcome, program_folder, run_program
from simstrategy.device import Backend
from simstrategy.errors import BackendNotFound, BackendUnavailable, SimStrategyWarning
from simstrategy.schedules import InOrder, Schedule
from simstrategy.trace import Trace, first_difference

__all__ = ["Machines", "Observed", "assert_same", "bits", "observe", "open_or_skip"]

Executor = Literal["auto", "greenlet", "thread"]


class Observed(NamedTuple):
    """An outcome, the notes on its error, and the texts of our warnings, in order."""

    outcome: Outcome
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


@final
class Machines:
    """Backends by name and number of replicas, each opened once; and the simulator's outcomes, each made once."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, int], Backend] = {}
        self._references: dict[tuple[Program, int], Observed] = {}

    def open(self, name: str, replicas: int) -> Backend:
        """Returns an opened backend; skips the test, with the reason, where it is not installed."""
        key = (name, replicas)
        if key not in self._opened:
            self._opened[key] = open_or_skip(name, replicas=replicas)
        return self._opened[key]

    def run(
        self,
        case: Case,
        name: str,
        replicas: int,
        *,
        executor: Executor = "auto",
        schedule: Callable[[], Schedule] = InOrder,
    ) -> Observed:
        """Runs a program on a strategy of its own."""
        trace = Trace(root=program_folder(case.program))
        with self._opened_for(case, name, replicas) as backend:
            strategy = ss.Strategy.mirrored(backend, schedule=schedule(), trace=trace, executor=executor)
            with closing(strategy):
                return observe(case.program, strategy, trace)

    @contextmanager
    def _opened_for(self, case: Case, name: str, replicas: int) -> Iterator[Backend]:
        """Opens 64-bit numbers for a program that needs them: a switch of the whole process, which is put back."""
        narrow = self.open(name, replicas)
        if not case.wide or {"int64", "float64"} <= narrow.capabilities.dtypes:
            yield narrow
            return
        try:
            with closing(ss.backend(name, replicas=replicas, x64=True)) as wide:
                yield wide
        finally:
            ss.backend(name, replicas=replicas, x64=False).close()

    def reference(self, case: Case, replicas: int) -> Observed:
        """Returns what the program comes to on the simulator."""
        key = (case.program, replicas)
        if key not in self._references:
            self._references[key] = self.run(case, "sim", replicas)
        return self._references[key]

    def close(self) -> None:
        """Closes every backend."""
        while self._opened:
            self._opened.popitem()[1].close()


def open_or_skip(name: str, **options: Any) -> Backend:
    """Opens a backend; skips the test, with the reason, where it is not installed."""
    try:
        with warnings.catch_warnings():
            # What a framework says when it is first imported is not ours.
            warnings.simplefilter("ignore")
            return ss.backend(name, **options)
    except (BackendNotFound, BackendUnavailable, PackageNotFoundError) as error:
        pytest.skip(str(error))


def observe(program: Program, strategy: ss.Strategy, trace: Trace) -> Observed:
    """Runs a program in one process and keeps everything that two backends have to agree about."""
    notes: list[str] = []

    def noting(strategy: ss.Strategy) -> Any:
        try:
            return program(strategy)
        except Exception as error:
            notes.extend(vars(error).get("__notes__", ()))
            raise

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        outcome = run_program(noting, strategy, trace)
    ours = tuple(str(one.message) for one in caught if isinstance(one.message, SimStrategyWarning))
    return Observed(outcome, tuple(notes), ours)


def assert_same(expected: Observed, found: Observed, *, traces: bool = True) -> None:
    """Fails unless values are equal to the bit, errors with their notes and warnings to the letter, and traces."""
    one, other = expected.outcome, found.outcome
    comparison = compare(one, other, sensitivity(one, []))
    assert comparison.problem is None, comparison.problem
    for (path, left), (_, right) in zip(one.leaves, other.leaves, strict=True):
        assert bits(left) == bits(right), f"{path}: {left!r} against {right!r}"
    if traces:
        difference = first_difference(one.events, other.events)
        assert difference is None, f"traces differ at {difference}"
        assert found.notes == expected.notes
        assert found.warnings == expected.warnings


def bits(array: np.ndarray[Any, Any]) -> tuple[str, tuple[int, ...], bytes]:
    """Returns dtype, shape and bytes; NaNs, whose sign and payload no framework promises, are made equal."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    return array.dtype.name, array.shape, array.tobytes()
