"""Hypothesis strategies: batches and numbers of replicas.

Both shrink: to fewer rows with smaller numbers, and to fewer replicas. Hypothesis is imported when one is called.
"""

import importlib
from typing import Any, Final

import numpy as np

from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.short_repr import short_repr

__all__ = ["batches", "replica_counts"]

_STEPS: Final = 64
_STEP: Final = 8
"""Numbers are multiples of 1/8 from -8 to 8: their sums and squares are exact in float32, so a fault is no rounding."""


def batches(rows: int = 50, features: int = 3, *, least: int = 1) -> Any:
    """Returns a Hypothesis strategy for batches: arrays [least … rows, features] float32.

    rows: the most rows. features: how many numbers a row has. least: the fewest rows. The numbers are multiples of 1/8
    from -8 to 8. Examples shrink to few rows of zeros. Raises InvalidArgument for counts that cannot be, and
    Unsupported where Hypothesis is not installed.

    >>> from hypothesis import find
    >>> find(batches(rows=5, features=2), lambda batch: batch.sum() > 1).shape
    (1, 2)
    """
    _require("rows", rows, least=least)
    _require("features", features, least=1)
    _require("least", least, least=0)
    drawing, arrays = _library("hypothesis.strategies"), _library("hypothesis.extra.numpy")
    numbers = drawing.integers(-_STEPS, _STEPS).map(lambda number: np.float32(number / _STEP))
    shapes = drawing.tuples(drawing.integers(least, rows), drawing.just(features))
    # Without a fill every number is drawn for itself: where most rows are equal, many faults do not show.
    return arrays.arrays(np.float32, shapes, elements=numbers, fill=drawing.nothing())


def replica_counts(most: int = 8, *, least: int = 2) -> Any:
    """Returns a Hypothesis strategy for numbers of replicas, from `least` to `most`; they shrink to `least`.

    One replica is what the others are compared with, so it is not drawn unless `least` is 1. Raises InvalidArgument for
    numbers that cannot be, and Unsupported where Hypothesis is not installed.

    >>> from hypothesis import find
    >>> find(replica_counts(8), lambda count: count % 3 == 0)
    3
    """
    _require("least", least, least=1)
    _require("most", most, least=least)
    return _library("hypothesis.strategies").integers(least, most)


def _require(name: str, number: int, *, least: int) -> None:
    given: object = number
    if not isinstance(given, int) or isinstance(given, bool) or given < least:
        raise InvalidArgument(f"{name} is a whole number of at least {least}, got {short_repr(given)}. Correct it.")


def _library(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise Unsupported(
            "ss.testing.batches and ss.testing.replica_counts draw their values with Hypothesis, which is not "
            "installed. Run: pip install hypothesis"
        ) from error
