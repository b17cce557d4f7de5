"""What the array functions of sorting, shapes, bits, angles and the like are tried with, and what NumPy makes of it."""

from typing import Final

import numpy as np
from hypothesis import strategies as st

from simstrategy_conformance.arrays import strewn
from simstrategy_conformance.calls import FLOATS, PLAIN, Case, Draw, Host, Make, array_of, matrix_of
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

__all__ = ["MORE"]


def triangle(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x, k = matrix_of(draw, subject), draw(st.integers(-2, 2))
        return Case((x,), getattr(np, name)(x, k), {"k": k})

    return make


def spaced(draw: Draw, subject: Subject) -> Case:
    dtype = draw(sampled(subject.having(*FLOATS)))
    given = (draw(st.integers(-9, 9)), draw(st.integers(-9, 9)), draw(st.integers(0, 5)))
    last = draw(st.booleans())
    wanted = np.linspace(*given, endpoint=last).astype(dtype)
    return Case(given, wanted, {"dtype": dtype, "endpoint": last})


def _integers(draw: Draw, subject: Subject, *, like: Host | None = None, bools: bool = False) -> Host:
    names = ("int32", "uint8", "int8", "int64", *(("bool",) if bools else ()))
    return array_of(draw, subject, names, like=like)


def bits(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = _integers(draw, subject, bools="shift" not in name)
        if name == "bitwise_invert":
            return Case((x,), np.invert(x))
        y = _integers(draw, subject, like=x)
        y = np.array(np.abs(y.astype("int64")) % 5, x.dtype) if "shift" in name else y
        return Case((x, y), getattr(np, name)(x, y))

    return make


def divided(name: str) -> Make:
    """Makes calls that divide whole numbers by small ones that are not 0: larger quotients would be rounded."""

    def make(draw: Draw, subject: Subject) -> Case:
        x = np.array(np.clip(array_of(draw, subject), -99, 99))
        y = np.array(draw(sampled([-4, -2, -1, 1, 2, 4])), x.dtype)
        # Of -0.0 the sign is the framework's.
        return Case((x + np.array(0, x.dtype), y), getattr(np, name)(x, y) + np.array(0, x.dtype), near=True)

    return make


def pair(name: str) -> Make:
    """Makes calls with two arrays of small floats, compared to the last bits of the framework."""

    def make(draw: Draw, subject: Subject) -> Case:
        x = array_of(draw, subject, ("float32",))
        y = array_of(draw, subject, like=x)
        wanted = getattr(np, name)(x.astype("float64"), y.astype("float64")).astype("float32")
        return Case((x, y), wanted, near=True)

    return make


def exact_pair(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = array_of(draw, subject, FLOATS) + np.float32(20)  # no subnormal numbers: processors may flush them
        y = array_of(draw, subject, like=x)
        return Case((np.asarray(x), y), getattr(np, name)(x, y))

    return make


def angle(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        numbers = draw(st.lists(st.integers(-7, 7), min_size=1, max_size=4))
        x = np.array(numbers, "float32") / np.float32(8) + np.float32(2 if name == "acosh" else 0)
        return Case((x,), getattr(np, name)(x.astype("float64")).astype("float32"), near=True)

    return make


def complex_numbers(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = array_of(draw, subject, ("complex64", "complex128"))
        return Case((x,), np.array(getattr(np, name)(x)))

    return make


def clipped(draw: Draw, subject: Subject) -> Case:
    x = array_of(draw, subject)
    low, high = draw(sampled([(-2, 3), (None, 1), (0, None), (None, None), (2, 2)]))
    options = {key: number for key, number in (("min", low), ("max", high)) if number is not None}
    return Case((x,), np.clip(x, low, high), options)


def moved(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x, axis = strewn(matrix_of(draw, subject)), draw(sampled([0, 1, -1]))
        if name == "matrix_transpose":
            return Case((x,), np.matrix_transpose(x))
        if name == "moveaxis":
            return Case((x, axis, 0), np.moveaxis(x, axis, 0))
        if name == "flip":
            along = draw(sampled([None, axis, (0, 1)]))
            return Case((x,), np.flip(x, along), {"axis": along})
        if name == "roll":
            shift, along = draw(sampled([(1, None), (-1, 0), (2, 1), ((1, -1), (0, 1))]))
            return Case((x, shift), np.roll(x, shift, along), {"axis": along})
        if name == "repeat":
            count, along = draw(st.integers(0, 3)), draw(sampled([None, axis]))
            return Case((x, count), np.repeat(x, count, along), {"axis": along})
        repetitions = draw(sampled([(2, 1), (1, 2), (2,), (2, 1, 2)]))
        return Case((x, repetitions), np.tile(x, repetitions))

    return make


def grid(draw: Draw, subject: Subject) -> Case:
    x, y = np.arange(draw(st.integers(1, 3)), dtype="float32"), np.arange(draw(st.integers(1, 3)), dtype="float32") + 5
    indexing = draw(sampled(["xy", "ij"]))
    wanted = np.meshgrid(x, y, indexing=indexing)
    return Case((x, y), np.stack(wanted), {"indexing": indexing})


def several(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = strewn(matrix_of(draw, subject))
        if name == "unstack":
            x = np.array([[1, 2, 3]], x.dtype) if not x.size else x
            axis = draw(sampled([0, 1, -1]))
            return Case((x,), np.moveaxis(x, axis, 0), {"axis": axis})
        y = x[:1] if x.shape[0] else np.zeros((1, *x.shape[1:]), x.dtype)
        return Case((x, y), np.stack(np.broadcast_arrays(x, y)))

    return make


def running(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x, axis, initial = matrix_of(draw, subject), draw(sampled([0, 1, -1])), draw(st.booleans())
        x = x if x.dtype.kind == "i" else np.array(np.clip(x, -2, 2) + 0, x.dtype)
        options = {"axis": axis, "include_initial": initial}
        return Case((x,), getattr(np, name)(x, dtype=x.dtype, **options), options)

    return make


def spread(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = np.clip(array_of(draw, subject, ("float32",), like=np.zeros((2, 3), "float32")), -99, 99)
        options = {
            "axis": draw(sampled([None, 0, 1, (0, 1)])),
            "correction": draw(sampled([0, 1, 0.5])),
        }
        options["keepdims"] = draw(st.booleans())
        return Case((x,), getattr(np, name)(x.astype("float64"), **options).astype("float32"), options, near=True)

    return make


def differences(draw: Draw, subject: Subject) -> Case:
    x, axis, n = matrix_of(draw, subject), draw(sampled([0, 1, -1])), draw(st.integers(0, 2))
    return Case((x,), np.diff(x, n, axis), {"axis": axis, "n": n})


def dot(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x = np.array(np.clip(matrix_of(draw, subject, flat=True), -9, 9))
        y = np.array(np.clip(array_of(draw, subject, like=x), -9, 9))
        option = {"axis": -1} if name == "vecdot" else {"axes": draw(sampled([0, 1, 2, ((1,), (1,))]))}
        y = np.ascontiguousarray(y.T) if option.get("axes") == 1 else y
        return Case((x, y), getattr(np, name)(x, y, **option), option, near=x.dtype.kind == "f")

    return make


def least(draw: Draw, subject: Subject) -> Case:
    x = matrix_of(draw, subject)
    x = np.array([[1]], x.dtype) if not x.size else x
    axis, keepdims = draw(sampled([None, 0, -1])), draw(st.booleans())
    return Case((x,), np.argmin(x, axis, keepdims=keepdims).astype("int32"), {"axis": axis, "keepdims": keepdims})


def nonzeros(draw: Draw, subject: Subject) -> Case:
    x, axis = matrix_of(draw, subject), draw(sampled([None, 0, 1, (0, 1)]))
    keepdims = draw(st.booleans())
    wanted = np.asarray(np.count_nonzero(x, axis, keepdims=keepdims)).astype("int32")
    return Case((x,), wanted, {"axis": axis, "keepdims": keepdims})


def searched(draw: Draw, subject: Subject) -> Case:
    x = np.sort(array_of(draw, subject, like=np.zeros(draw(st.integers(1, 4)), draw(sampled(subject.having(*PLAIN))))))
    y = array_of(draw, subject, like=np.zeros(draw(sampled([(), (2,), (2, 2)])), x.dtype))
    side = draw(sampled(["left", "right"]))
    return Case((x, y), np.asarray(np.searchsorted(x, y, side)).astype("int32"), {"side": side})


def ordered(name: str) -> Make:
    def make(draw: Draw, subject: Subject) -> Case:
        x, axis, descending = matrix_of(draw, subject), draw(sampled([0, 1, -1])), draw(st.booleans())
        if draw(st.booleans()):  # short ones are in order by any way to sort
            x, axis = (np.arange(40) * 7 % 3).astype(x.dtype), draw(sampled([0, -1]))
        x = np.array(x + 0, x.dtype)  # 0.0 and -0.0 are equal
        behind = np.flip(x, axis)
        if name == "sort":
            wanted = np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)
        elif descending:
            wanted = np.flip(x.shape[axis] - 1 - np.argsort(behind, axis, stable=True), axis).astype("int32")
        else:
            wanted = np.argsort(x, axis, stable=True).astype("int32")
        return Case((x,), wanted, {"axis": axis, "descending": descending})

    return make


def taken_along(draw: Draw, subject: Subject) -> Case:
    x, axis = strewn(matrix_of(draw, subject)), draw(sampled([0, 1, -1]))
    size = x.shape[axis]
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 2)) if size else 0
    count = int(np.prod(shape))
    places = [draw(st.integers(-size, size - 1)) for _ in range(count)]
    indices = np.array(places, "int32").reshape(shape)
    return Case((x, indices), np.take_along_axis(x, indices, axis), {"axis": axis})


MORE: Final[dict[str, Make]] = {
    **{name: angle(name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh")},
    "atanh": angle("atanh"),
    **{name: bits(name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert")},
    **{name: bits(name) for name in ("bitwise_left_shift", "bitwise_right_shift")},
    **{name: divided(name) for name in ("floor_divide", "remainder")},
    **{name: pair(name) for name in ("atan2", "hypot", "logaddexp")},
    **{name: exact_pair(name) for name in ("copysign", "nextafter")},
    **{name: complex_numbers(name) for name in ("conj", "real", "imag")},
    **{name: triangle(name) for name in ("tril", "triu")},
    **{name: moved(name) for name in ("matrix_transpose", "moveaxis", "flip", "roll", "repeat", "tile")},
    **{name: several(name) for name in ("unstack", "broadcast_arrays")},
    **{name: running(name) for name in ("cumulative_sum", "cumulative_prod")},
    **{name: spread(name) for name in ("var", "std")},
    **{name: dot(name) for name in ("vecdot", "tensordot")},
    **{name: ordered(name) for name in ("sort", "argsort")},
    "linspace": spaced,
    "meshgrid": grid,
    "clip": clipped,
    "diff": differences,
    "argmin": least,
    "count_nonzero": nonzeros,
    "searchsorted": searched,
    "take_along_axis": taken_along,
}
"""By name, what draws a call."""
