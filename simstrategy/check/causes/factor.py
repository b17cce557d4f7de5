"""Names the one number by which combined values differ, where there is one: the number of replicas, its root, …

A number that has several names here, such as 2 replicas and 2 steps, is given with all of them.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves
from simstrategy.check.causes.rounding import allowed, wide

__all__ = ["factor_of", "is_open", "names_of", "nearness"]

_NEAR: Final = 1e-3
"""How near a ratio has to be to a number with a name, relatively; rounding may allow less."""
_NEAR_COARSELY: Final = 5e-3
"""The same where rounding moves single elements by more than four times `_NEAR`, as that of bfloat16 does."""


def factor_of(expected: Leaves, found: Leaves, units: tuple[float, ...]) -> float | None:
    """Returns the number k with found = k × expected in all leaves that differ, up to rounding; None without one.

    expected, found: leaves [any shape]. Leaves that are equal are left out, and so are zeros.
    """
    factors: list[float] = []
    bounds: list[float] = []
    for one, other, unit in zip(expected, found, units, strict=True):
        if one.shape != other.shape or one.dtype.kind == "c":
            return None
        left, right = wide(one), wide(other)
        if not (np.isfinite(left).all() and np.isfinite(right).all()):
            return None
        bound = allowed(unit, one)
        if _near(left, right, bound):
            continue
        size = float(np.sum(left * left))
        k = float(np.sum(left * right)) / size if size else 0.0
        if not k or not _near(left * k, right, bound):
            return None
        factors.append(k)
        bounds.append(bound)
    if not factors:
        return None
    k = factors[0]
    return k if all(abs(one - k) <= 4 * bound * abs(k) for one, bound in zip(factors, bounds, strict=True)) else None


def _near(one: Host, other: Host, bound: float) -> bool:
    return bool(np.abs(one - other).max(initial=0) <= bound * np.abs(one).max(initial=0))


def names_of(
    k: float,
    bound: float,
    *,
    replicas: int,
    expected_replicas: int,
    step: int,
    steps: int,
    parts: tuple[int, ...] | None,
) -> list[str]:
    """Returns all names of a factor, the most likely one first; [] for a number that is none of them.

    replicas, expected_replicas: of both runs. steps: of the whole run. bound: how far rounding may move the factor.
    """
    found: list[str] = []
    near = nearness(bound)
    for value, name in _named(replicas, expected_replicas, step, steps, parts):
        if value not in (0.0, 1.0) and abs(k - value) <= near * value and name not in found:
            found.append(name)
    return found


def nearness(bound: float) -> float:
    """Returns how near a factor has to be to a number with a name, relatively.  bound: how far rounding may move it."""
    return min(bound / 4, _NEAR_COARSELY) if bound > 4 * _NEAR else min(_NEAR, 4 * bound)


def is_open(ratio: float) -> bool:
    """Returns whether the root of a ratio of two numbers of replicas may be another number as well.

    Where it is a whole number, or one part of it, a constant is as large, and so is the size of a group of replicas:
    with 4 replicas 2 may be their root, a pair of them, or 2 whatever their number.

    >>> [is_open(ratio) for ratio in (2.0, 3.0, 4.0, 1 / 9)]
    [False, False, True, True]
    """
    root = max(ratio, 1 / ratio) ** 0.5
    return bool(abs(root - round(root)) < 1e-9)


def _named(
    replicas: int, expected_replicas: int, step: int, steps: int, parts: tuple[int, ...] | None
) -> Iterator[tuple[float, str]]:
    count = replicas / expected_replicas
    who = "the number of replicas" if expected_replicas == 1 else f"{replicas}/{expected_replicas}, as the replicas"
    yield count, who
    yield 1 / count, f"1 / {who}" if expected_replicas == 1 else f"{expected_replicas}/{replicas}, as the replicas"
    yield count**0.5, f"the square root of {who}"
    yield count**-0.5, f"1 / the square root of {who}"
    yield count**2, f"the square of {who}"
    yield count**-2, f"1 / the square of {who}"
    for number, name in ((steps, "the number of steps"), (step, "the number of the step")):
        if number > 1 and (name.endswith("steps") or step != steps):
            yield float(number), name
            yield 1 / number, f"1 / {name}"
    whole: int = sum(parts or ())
    if parts is not None and whole and len(set(parts)) > 1:
        sizes = sorted({one for one in parts if one})
        for part in sizes:
            yield part / whole, f"{part}/{whole}, a part's share of the examples"
            yield whole / part, f"{whole}/{part}, all examples by those of one part"
            for other in [one for one in sizes if one != part]:
                yield part / other, f"{part}/{other}, two parts' sizes"
