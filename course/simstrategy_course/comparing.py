"""Compares the runs of a submission with those of the solution on the same data: values, errors, calls.

Only recordings are compared, so it does not matter how an answer is written.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.trace import Recording, SyncPoint
from simstrategy_course.lesson import Lesson, Rule, printable
from simstrategy_course.running import Failure, Run

__all__ = [
    "Host",
    "Mismatch",
    "alike",
    "broken_rules",
    "close",
    "mismatches",
    "ratio_of",
    "results_of",
    "right_values_of",
    "unequal_bits",
]

_APART_MAX: Final = 1e-4
"""Relative to the largest element: far above rounding in float32, far below what a wrong idea makes."""

_NAME_MAX: Final = 80
_REPLICA: Final = re.compile(r", replica \d+")

Host = np.ndarray[Any, Any]


class Mismatch(NamedTuple):
    """One value that is not as the solution's.  run: of the submission. found, right: [any shape]; None: no value."""

    run: Run
    name: str
    found: Host | None
    right: Host | None


def results_of(recording: Recording | None) -> dict[str, Host]:
    """Returns the values that a program returned, with the worker where there are several."""
    results = () if recording is None else recording.results
    return {
        printable(name if len(results) == 1 else f"worker {result.worker}: {name}", _NAME_MAX): value.array
        for result in results
        for name, value in result.leaves
        if value.array is not None
    }


def _per_replica(found: dict[str, Host], right: Mapping[str, Host]) -> dict[str, Host]:
    """Returns values under the names of the right ones.  One that is not wrapped stands for that of every replica."""
    shared = {name: _REPLICA.sub("", name) for name in right if name not in found}
    spread = {name: found[one] for name, one in shared.items() if one != name and one in found and one not in right}
    used = {shared[name] for name in spread}
    return {name: value for name, value in found.items() if name not in used} | spread


def close(one: Host, two: Host) -> bool:
    """Returns whether two values [any shape] are equal up to rounding, NaN and infinities included."""
    if one.shape != two.shape or (one.dtype.kind in "biuf") != (two.dtype.kind in "biuf"):
        return False
    if one.dtype.kind not in "biuf":
        return bool(np.array_equal(one, two))
    left, right = one.astype(np.float64), two.astype(np.float64)
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite], right[~finite], equal_nan=True):
        return False
    largest = max(np.abs(right[finite]).max(initial=0.0), np.abs(left[finite]).max(initial=0.0))
    return bool(np.all(np.abs(left[finite] - right[finite]) <= _APART_MAX * largest))


def mismatches(runs: Sequence[Run], right: Sequence[Run]) -> Iterator[Mismatch]:
    """Yields what differs from the solution's runs with the same settings: of each run, in order."""
    for run, its in zip(runs, right, strict=True):
        expected = results_of(its.recording)
        found = _per_replica(results_of(run.recording), expected)
        if run.failure is not None or run.recording is None:
            yield Mismatch(run, "", None, None)
            continue
        for name in [*expected, *(name for name in found if name not in expected)]:
            pair = found.get(name), expected.get(name)
            if pair[0] is None or pair[1] is None or not close(pair[0], pair[1]):
                yield Mismatch(run, name, *pair)


def right_values_of(run: Run, found: Sequence[Mismatch]) -> list[str]:
    """Returns the names of numbers of a run, zero left out, that are not among what differs from the solution."""
    wrong = {one.name for one in found if one.run is run}
    wrong |= {_REPLICA.sub("", name) for name in wrong}
    values = results_of(run.recording).items()
    return [name for name, value in values if name not in wrong and value.dtype.kind in "iuf" and value.any()]


def unequal_bits(runs: Sequence[Run]) -> Mismatch | None:
    """Returns the first value that has other bits than in the first run; None where all are equal."""
    first = results_of(runs[0].recording)
    for run in runs[1:]:
        for name, value in results_of(run.recording).items():
            other = first.get(name)
            if other is not None and not _same_bits(value, other):
                return Mismatch(run, name, value, other)
    return None


def broken_rules(lesson: Lesson, runs: Sequence[Run]) -> list[tuple[Rule, Run]]:
    """Returns the rules that a run of several replicas breaks, each with the first such run."""
    found = []
    for rule in lesson.rules:
        for run in runs:
            if run.recording is None or run.failure is not None or run.setting.ranks == 1:
                continue
            count = sum(_counts(rule, point) for point in run.recording.points)
            if (rule.least is not None and count < rule.least) or (rule.most is not None and count > rule.most):
                found.append((rule, run))
                break
    return found


def _counts(rule: Rule, point: SyncPoint) -> bool:
    return point.kind in rule.kinds and rule.op in (None, point.op)


def alike(lesson: Lesson, runs: Sequence[Run], other: Sequence[Run]) -> bool:
    """Returns whether two answers do the same: equal values, the same errors, the same broken rules.

    Where the bits of a lesson count, equal values have equal bits.
    """
    same = _same_bits if lesson.same_bits else close
    if not all(_alike(one, two, same) for one, two in zip(runs, other, strict=True)):
        return False
    broken = [[rule.name for rule, _ in broken_rules(lesson, ones)] for ones in (runs, other)]
    return broken[0] == broken[1]


def _same_bits(one: Host, two: Host) -> bool:
    return one.dtype == two.dtype and one.tobytes() == two.tobytes()


def _alike(one: Run, two: Run, same: Callable[[Host, Host], bool]) -> bool:
    if one.failure is not None or two.failure is not None:
        return _cause(one.failure) == _cause(two.failure)
    left, right = results_of(one.recording), results_of(two.recording)
    return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)


def _cause(failure: Failure | None) -> tuple[str, str] | None:
    """Returns an error without its numbers: call sites, ranks and sizes depend on the data and on the writing."""
    return None if failure is None else (failure.name, re.sub(r"\w+\.py:\d+|\d+", "#", failure.text))


def ratio_of(found: Host | None, right: Host | None) -> float | None:
    """Returns the one number by which a value [any shape] is too large; None where there is none."""
    if found is None or right is None or found.shape != right.shape or found.dtype.kind not in "iuf":
        return None
    large = np.abs(right) > _APART_MAX * np.abs(right).max(initial=0.0)
    if not large.any() or not np.isfinite(found).all():
        return None
    ratios = found[large].astype(np.float64) / right[large]
    return float(ratios.mean()) if np.ptp(ratios) <= _APART_MAX * abs(ratios.mean()) else None
