"""What a call of an array function is to the kit, and the arrays that most calls are drawn with.  No function here."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

from simstrategy_conformance.arrays import SHAPES, exact_arrays
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

__all__ = ["FLOATS", "PLAIN", "Case", "Draw", "Host", "Make", "array_of", "matrix_of"]

Host = np.ndarray[Any, Any]
PLAIN: Final = ("float32", "int32", "float64", "int64")
FLOATS: Final = ("float32", "float64")


class Case(NamedTuple):
    """One call.  arguments: host arrays become the backend's.  near: whether the last bits are the framework's own."""

    arguments: tuple[Any, ...]
    wanted: Host
    options: dict[str, Any] = {}  # noqa: RUF012 - it is never written to
    near: bool = False


Draw = Callable[[st.SearchStrategy[Any]], Any]
Make = Callable[[Draw, Subject], Case]


def array_of(draw: Draw, subject: Subject, dtypes: tuple[str, ...] = PLAIN, *, like: Host | None = None) -> Host:
    """Draws an array of any form, or of another's."""
    dtype = draw(sampled(subject.having(*dtypes))) if like is None else like.dtype.name
    return np.asarray(draw(exact_arrays(dtype, draw(SHAPES) if like is None else like.shape)))


def matrix_of(draw: Draw, subject: Subject, *, flat: bool = False) -> Host:
    """Draws an array of two or three dimensions, also an empty one; of two, where it is flat."""
    dtype = draw(sampled(subject.having(*PLAIN)))
    shapes = [(2, 3), (1, 2), (3, 1), (0, 2), (2, 2), *([] if flat else [(2, 1, 3), (2, 3, 2)])]
    return np.asarray(draw(exact_arrays(dtype, draw(sampled(shapes)))))
