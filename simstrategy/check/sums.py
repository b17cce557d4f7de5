"""Compares the result of a group-call with the values that entered it, element by element.

A sum of n floats, in any order and precision of its dtype or better, is no further from the exact one than n ulps of
the sum of their sizes: each element is judged by the terms that it came from. All else is equal or is not. Makes no
group-call itself.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from simstrategy.check.distances import is_float, one_unit, parts
from simstrategy.device import Op

__all__ = ["first_wrong_copy", "first_wrong_element"]

Host = np.ndarray[Any, Any]

_TERMS_MAX: Final = 4
"""The most terms of a sum that a message lists."""


def first_wrong_element(terms: Sequence[Host], result: Host, op: Op) -> str | None:
    """Describes the first element that is not the SUM, MIN or MAX of the terms, up to rounding; None where all are.

    terms: one [...] of each rank. result: [...], on one rank.
    """
    if (result.shape, result.dtype) != (terms[0].shape, terms[0].dtype):
        forms = [f"{one.dtype.name}{list(one.shape)}" for one in (result, terms[0])]
        return f"is {forms[0]}, and the replicas' values are {forms[1]}"
    with np.errstate(all="ignore"):  # the user's values may overflow
        if op != "SUM":
            function = np.minimum if op == "MIN" else np.maximum
            return _first_unequal(terms, result, function.reduce(list(terms)), f"their {op} is")
        if not is_float(result):
            total = np.add.reduce(list(terms), dtype=result.dtype)  # of the dtype's size: integers wrap
            return _first_unequal(terms, result, total, "they add up to")
        return _first_wrong_sum(terms, result)


def _first_wrong_sum(terms: Sequence[Host], result: Host) -> str | None:
    """Describes the first element [...] that is further from the exact sum than rounding explains."""
    name = {"complex64": "float32", "complex128": "float64"}.get(result.dtype.name, result.dtype.name)
    exact_type: type[np.floating[Any]] = np.longdouble if name == "float64" else np.float64
    if exact_type is np.float64 and result.dtype.kind == "f" and _is_near(terms, result, one_unit(name)):
        return None
    wide: list[Host] = [parts(term).astype(exact_type, copy=False) for term in terms]
    total, size = sum(wide[1:], wide[0]), sum([np.abs(one) for one in wide[1:]], np.abs(wide[0]))
    largest, smallest = _range(name)
    bound = len(terms) * (one_unit(name) * size + smallest)
    found: Host = parts(result).astype(exact_type, copy=False)
    exact = np.isfinite(size)
    # Above the range, the order of the additions decides whether they overflow.
    near = (np.abs(found - total) <= bound) | (size >= largest)
    alike = np.where(exact, near, (found == total) | (np.isnan(found) & np.isnan(total)))
    wrong = np.argwhere(~alike.all(axis=1))
    if not len(wrong):
        return None
    flat = int(wrong[0][0])
    wrong_part = int(np.argmin(alike[flat]))
    limit = float(bound[flat, wrong_part])
    explained = f"; rounding explains {limit:.1e}" if np.isfinite(limit) else ""
    exact_sum = np.asarray(total[flat], np.float64)
    text = f"{exact_sum[0]!s}" if len(exact_sum) == 1 else f"{complex(*exact_sum)!s}"
    return f"{_element(terms, result, flat)} add up to {text}{explained}"


def _is_near(terms: Sequence[Host], result: Host, unit: float) -> bool:
    """Returns whether all elements [...] are finite and near their sums, as they nearly always are: one quick look."""
    wide = np.array(terms, np.float64)
    size = np.abs(wide).sum(axis=0)
    near = np.abs(result - wide.sum(axis=0)) <= len(terms) * unit * size
    return bool(near.all() and np.isfinite(size).all())


def first_wrong_copy(sent: Host, received: Host) -> str | None:
    """Describes the first element in which a copy [...] differs from what was sent [...]; None for equal values."""
    if (sent.shape, sent.dtype) != (received.shape, received.dtype):
        forms = [f"{one.dtype.name}{list(one.shape)}" for one in (received, sent)]
        return f"is {forms[0]}, and what was sent is {forms[1]}"
    unequal = np.argwhere(~_equal(sent, received))
    if not len(unequal):
        return None
    flat = int(unequal[0][0])
    index, where = _index(received, flat)
    return f"is {received[index]!s}{where}, and what was sent is {sent[index]!s}"


def _first_unequal(terms: Sequence[Host], result: Host, expected: Host, verb: str) -> str | None:
    unequal = np.argwhere(~_equal(result, expected))
    if not len(unequal):
        return None
    flat = int(unequal[0][0])
    index, _ = _index(result, flat)
    return f"{_element(terms, result, flat)} {verb} {expected[index]!s}"


def _equal(one: Host, two: Host) -> Host:
    """Returns where two arrays [...] of one dtype are equal, as bool [elements]; NaNs are equal."""
    if not is_float(one):
        return np.asarray(one == two).reshape(-1)
    first, second = parts(one), parts(two)
    equal: Host = np.asarray((first == second) | (np.isnan(first) & np.isnan(second)))
    return np.asarray(equal.all(axis=1))


def _element(terms: Sequence[Host], result: Host, flat: int) -> str:
    index, where = _index(result, flat)
    listed = ", ".join([str(term[index]) for term in terms[:_TERMS_MAX]])
    more = f", … ({len(terms)} in all)" if len(terms) > _TERMS_MAX else ""
    return f"is {result[index]!s}{where}, and the replicas' values {listed}{more}"


def _index(array: Host, flat: int) -> tuple[tuple[int, ...], str]:
    index = tuple(int(i) for i in np.unravel_index(flat, array.shape))
    return index, f" at {list(index)}" if index else ""


def _range(dtype: str) -> tuple[float, float]:
    """Returns the largest finite number of a dtype, and its smallest normal one: smaller ones may become zero."""
    info = np.finfo(np.float32 if dtype == "bfloat16" else dtype)
    return float(info.max), float(info.tiny)
