"""The array functions one by one: what each is tried with, and what NumPy makes of it.

A table with a row for every function of the contract but those that have a clause of their own. It compares nothing.
"""

from functools import partial
from typing import Final

import numpy as np
from hypothesis import strategies as st

from simstrategy_conformance.arrays import SHAPES, exact_arrays, strewn
from simstrategy_conformance.calls import FLOATS, PLAIN, Case, Draw, Host, Make, array_of, matrix_of
from simstrategy_conformance.more_functions import MORE
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

__all__ = ["CASES", "Case"]


@st.composite
def _drawn(draw: Draw, make: Make, subject: Subject) -> Case:
    case = make(draw, subject)
    # NumPy makes scalars of arrays without dimensions wherever it can.
    given = tuple(np.asarray(one) if isinstance(one, np.generic) else one for one in case.arguments)
    return Case(given, np.asarray(case.wanted), case.options, case.near)


_SPECIAL: Final = (float("nan"), float("inf"), -0.0, 0.5)


def _special(draw: Draw, subject: Subject, *, like: Host | None = None) -> Host:
    """Draws an array of which some are infinite and some are not numbers."""
    x = array_of(draw, subject, FLOATS, like=like)
    element = st.sampled_from([None, None, float("nan"), float("inf"), -float("inf")])
    drawn = [draw(element) for _ in range(x.size)]
    return np.array([n if e is None else e for n, e in zip(x.reshape(-1), drawn, strict=True)], x.dtype).reshape(
        x.shape
    )


def _binary(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        special = name not in ("add", "subtract", "multiply") and draw(st.booleans())
        x = (_special if special else array_of)(draw, subject)
        y = array_of(draw, subject, like=x)
        if name in ("add", "multiply") and x.dtype.kind == "f" and draw(st.booleans()):
            x, y = np.copysign(0 * x, x), np.copysign(0 * y, y)  # zeros of both signs
        arguments = (x, y) if draw(st.booleans()) else (y, x)
        return Case(arguments, np.asarray(getattr(np, name)(*arguments)))

    return make


def _power(draw: Draw, subject: Subject) -> Case:
    x = np.abs(array_of(draw, subject, FLOATS)) + 1
    y = np.array(np.clip(array_of(draw, subject, like=x), -2, 2), x.dtype)
    return Case((x, y), np.asarray(np.power(x, y)), near=True)


def _logical(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = draw(exact_arrays("bool", draw(SHAPES)))
        given = (x,) if name == "logical_not" else (x, draw(exact_arrays("bool", x.shape)))
        return Case(given, np.asarray(getattr(np, name)(*given)))

    return make


def _unary(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = (
            _special(draw, subject)
            if name in ("isnan", "isinf", "isfinite", "signbit")
            else array_of(draw, subject, FLOATS)
        )
        return Case((x,), np.asarray(getattr(np, name)(x)))

    return make


def _continuous(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = np.array(draw(st.lists(st.integers(1, 400), min_size=1, max_size=4)), "float32") / np.float32(16)
        return Case((x,), getattr(np, name)(x.astype("float64")).astype("float32"), near=True)

    return make


def _reduction(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = matrix_of(draw, subject)
        x = x if name != "mean" or x.dtype.kind == "f" else x.astype("float32").clip(-99, 99)
        x = np.array([[1]], x.dtype) if not x.size and name not in ("all", "any") else x
        x = x > 0 if name in ("all", "any") else x
        if name in ("max", "min", "mean") and x.dtype.kind == "f" and draw(st.booleans()):
            x = _special(draw, subject, like=x)
        axis, keepdims = draw(sampled([None, 0, 1, (0, 1), -1])), draw(st.booleans())
        if draw(st.integers(0, 7)) == 7:
            x, axis = np.asarray(x.reshape(-1)[0] if x.size else True), draw(sampled([None, ()]))
        wanted = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
        return Case((x,), wanted, {"axis": axis, "keepdims": keepdims}, near=name == "mean")

    return make


def _filled(name: str) -> Make:
    """Of arrays that are made of a form, with a number in them or without one."""

    def make(draw: Draw, subject: Subject) -> Case:
        dtype, shape = draw(sampled(subject.having(*PLAIN))), draw(SHAPES)
        special = _SPECIAL if np.dtype(dtype).kind == "f" else ()
        number = (draw(st.integers(-9, 9) | st.sampled_from((3, *special))),) if name.startswith("full") else ()
        form = np.ones(shape, dtype) if name.endswith("_like") else shape
        return Case((form, *number), np.asarray(getattr(np, name)(form, *number, dtype=dtype)), {"dtype": dtype})

    return make


def _like(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = array_of(draw, subject)
        number = (3,) if name == "full_like" else ()
        return Case((x, *number), np.asarray(getattr(np, name)(x, *number)))

    return make


def _either(one: Make, other: Make) -> Make:
    return lambda draw, subject: (one if draw(st.booleans()) else other)(draw, subject)


def _adopted(draw: Draw, subject: Subject) -> Case:
    x = array_of(draw, subject)
    return Case((x,), x)


def _counted(draw: Draw, subject: Subject) -> Case:
    dtype = draw(sampled(subject.having(*PLAIN)))
    given = draw(sampled([(3,), (0,), (1, 4), (4, 1, -1), (0, 7, 3), (5, 5)]))
    return Case(given, np.arange(*given, dtype=dtype), {"dtype": dtype})


def _diagonal(draw: Draw, subject: Subject) -> Case:
    dtype = draw(sampled(subject.having(*PLAIN)))
    given = draw(sampled([(2,), (1, 3), (3, 2), (0,)]))
    return Case(given, np.eye(*given, dtype=dtype), {"dtype": dtype})


def _cast(draw: Draw, subject: Subject) -> Case:
    x = np.clip(array_of(draw, subject), -99, 99)
    dtype = draw(sampled(subject.having(*PLAIN, "bool")))
    return Case((x, dtype), x.astype(dtype))


def _chosen(draw: Draw, subject: Subject) -> Case:
    x = strewn(array_of(draw, subject))
    y, which = array_of(draw, subject, like=x), draw(exact_arrays("bool", x.shape))
    return Case((which, x, y), np.where(which, x, y))


def _matmul(draw: Draw, subject: Subject) -> Case:
    x = np.clip(matrix_of(draw, subject, flat=True), -9, 9)
    y = np.ascontiguousarray(x.T)
    # A sum that begins with 0 has another sign of zero than one that begins with its first term.
    return Case((x, y), x @ y, near=x.dtype.kind == "f")


def _formed(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x, axis = strewn(matrix_of(draw, subject)), draw(sampled([0, 1, -1]))
        if name == "permute_dims":
            return Case((x, tuple(range(x.ndim))[::-1]), x.T)
        if name == "reshape":
            shape = draw(sampled([(x.size,), x.shape[::-1], (1, *x.shape)]))
            return Case((x, shape), x.reshape(shape))
        if name == "expand_dims":
            return Case((x,), np.expand_dims(x, axis), {"axis": axis})
        if name == "squeeze":
            return Case((np.expand_dims(x, axis), axis), x)
        return Case((x, (2, *x.shape)), np.broadcast_to(x, (2, *x.shape)))

    return make


def _joined(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x, axis = strewn(matrix_of(draw, subject)), draw(st.integers(0, 1))
        y = array_of(draw, subject, like=x)
        return Case(([x, y],), getattr(np, name)([x, y], axis=axis), {"axis": axis})

    return make


def _taken(draw: Draw, subject: Subject) -> Case:
    x, axis = strewn(matrix_of(draw, subject)), draw(st.integers(0, 1))
    most = x.shape[axis] - 1
    places = np.array(draw(st.lists(st.integers(0, most), max_size=3)) if most >= 0 else [], "int32")
    return Case((x, places), np.take(x, places, axis), {"axis": axis})


_MAKES: Final[dict[str, Make]] = {
    **MORE,
    "asarray": _adopted,
    "arange": _counted,
    "eye": _diagonal,
    "astype": _cast,
    "pow": _power,
    "where": _chosen,
    "matmul": _matmul,
    "take": _taken,
    **{name: _filled(name) for name in ("zeros", "ones", "full")},
    **{name: _either(_filled(name), _like(name)) for name in ("zeros_like", "ones_like", "full_like")},
    **{name: _binary(name) for name in ("add", "subtract", "multiply", "maximum", "minimum")},
    **{name: _binary(name) for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")},
    **{name: _logical(name) for name in ("logical_and", "logical_or", "logical_xor", "logical_not")},
    **{name: _unary(name) for name in ("negative", "positive", "abs", "sign", "signbit", "square", "reciprocal")},
    **{name: _unary(name) for name in ("floor", "ceil", "trunc", "round", "isfinite", "isinf", "isnan")},
    **{name: _continuous(name) for name in ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "tanh")},
    **{name: _formed(name) for name in ("permute_dims", "reshape", "expand_dims", "squeeze", "broadcast_to")},
    **{name: _joined(name) for name in ("concat", "stack")},
    **{name: _reduction(name) for name in ("mean", "max", "min", "all", "any")},
}
CASES: Final = {name: partial(_drawn, make) for name, make in _MAKES.items()}
"""By name of a function, the strategy that draws a call of it with the expected result."""
