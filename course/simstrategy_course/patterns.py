"""Patterns in what differs from the solution: of which kind, and in which runs.

Each takes all that differs, at least one thing, and all runs; it returns whether the pattern is there.
"""

from collections.abc import Callable, Sequence

import numpy as np

from simstrategy_course.comparing import Mismatch, ratio_of, right_values_of
from simstrategy_course.lesson import SIMULATOR, Setting
from simstrategy_course.running import Run

__all__ = [
    "every_count",
    "not_finite",
    "only_other_backends",
    "only_other_orders",
    "only_some_counts",
    "other_form",
    "replicas_differ",
    "same_factor",
    "times",
    "with_one_replica",
]


def other_form(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether the first thing that differs is missing, or has another shape or no number."""
    one = found[0]
    if one.found is None or one.right is None:
        return True
    texts = [value.dtype.kind == "U" for value in (one.found, one.right)]
    return bool(one.found.shape != one.right.shape) or texts[0] != texts[1]


def with_one_replica(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether a run of one replica differs."""
    return any(one.run.setting.ranks == 1 for one in found)


def same_factor(
    least: float, most: float, *, every: bool = True
) -> Callable[[Sequence[Mismatch], Sequence[Run]], bool]:
    """Returns whether all results that are wrong are so by one and the same factor, between these two.

    every: whether no number other than zero is right. Where False, one is right in each run, as others are wrong.
    """

    def shows(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
        ratios = [ratio_of(one.found, one.right) for one in found]
        known = [ratio for ratio in ratios if ratio is not None]
        is_one = len(known) == len(ratios) and np.allclose(known, known[0], rtol=1e-4, atol=0.0)
        if not (is_one and least < known[0] < most and {one.run.setting for one in found} >= _plain(runs)):
            return False
        some_right = [bool(right_values_of(run, found)) for run in runs if run.setting.backend == SIMULATOR]
        return not any(some_right) if every else all(some_right)

    return shows


def _plain(runs: Sequence[Run]) -> set[Setting]:
    return {run.setting for run in runs if run.setting.backend == SIMULATOR}


def only_other_backends(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether all runs on the simulator are right."""
    return not _plain(runs) & {one.run.setting for one in found}


def times(power: int) -> Callable[[Sequence[Mismatch], Sequence[Run]], bool]:
    """Returns whether every run is wrong by the number of replicas to this power, in the first value that differs."""

    def shows(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
        firsts = {one.name for one in found[:1]}
        several = [one for one in found if one.name in firsts and one.run.setting.ranks > 1]
        ratios = [(ratio_of(one.found, one.right), float(one.run.setting.ranks) ** power) for one in several]
        return bool(ratios) and all(ratio is not None and np.isclose(ratio, right) for ratio, right in ratios)

    return shows


def replicas_differ(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether values of one name are unequal on the replicas, where the right ones are equal."""
    groups: dict[tuple[Setting, str], list[Mismatch]] = {}
    for one in found:
        base, comma, _ = one.name.rpartition(", replica ")
        if comma and one.found is not None and one.right is not None:
            groups.setdefault((one.run.setting, base), []).append(one)
    for (setting, base), ones in groups.items():
        equal = len({one.right.tobytes() for one in ones if one.right is not None}) == 1
        values = {one.found.tobytes() for one in ones if one.found is not None}
        if equal and (len(values) > 1 or len(ones) < setting.ranks) and base:
            return True
    return False


def not_finite(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether a value that differs is NaN or infinite."""
    return any(
        one.found is not None and one.found.dtype.kind == "f" and not np.isfinite(one.found).all() for one in found
    )


def only_some_counts(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether a run of several replicas is right, and others are not."""
    wrong = {one.run.setting.ranks for one in found}
    return bool({run.setting.ranks for run in runs if run.setting.ranks > 1} - wrong)


def only_other_orders(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether all runs are right that add in rank order and take replicas in rank order."""
    plain = {run.setting for run in runs if (run.setting.order, run.setting.schedule) == ("linear", "in-order")}
    return bool(plain) and not plain & {one.run.setting for one in found}


def every_count(found: Sequence[Mismatch], runs: Sequence[Run]) -> bool:
    """Returns whether one replica is right, and every other number of replicas has a run that is not."""
    wrong = {one.run.setting.ranks for one in found}
    return (
        len({run.setting.ranks for run in runs}) > 1
        and {run.setting.ranks for run in runs if run.setting.ranks > 1} <= wrong
    )
