"""The table of calls: every array function with many dtypes, special values, forms of arguments, and mistakes.

It calls nothing. Integers over 0, shifts beyond the bits and negative powers of integers are not in it: the contract
leaves them undefined.
"""

from collections.abc import Iterator

import numpy as np
from kinds_of_calls import DTYPES, INTEGERS, Call, dtype_of, forms, ordinary, special
from more_calls import creation, shapes

UNARY = [
    "logical_not",
    "bitwise_invert",
    "positive",
    "negative",
    "abs",
    "sign",
    "signbit",
    "square",
    "reciprocal",
    "sqrt",
    "exp",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "floor",
    "ceil",
    "trunc",
    "round",
    "isfinite",
    "isinf",
    "isnan",
    "conj",
    "real",
    "imag",
]
BINARY = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "floor_divide",
    "remainder",
    "pow",
    "maximum",
    "minimum",
    "atan2",
    "copysign",
    "hypot",
    "logaddexp",
    "nextafter",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
]
REDUCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "argmax", "argmin", "count_nonzero"]
ALONG = ["cumulative_sum", "cumulative_prod", "sort", "argsort", "diff"]
PAIRS = ["matmul", "vecdot", "tensordot"]


def unary() -> Iterator[Call]:
    for name in UNARY:
        for dtype in DTYPES:
            yield Call(name, f"{dtype}", (ordinary(dtype),), {})
            yield Call(name, f"{dtype} special", (special(dtype),), {})
        for form, value in forms("float32"):
            yield Call(name, form, (value,), {})


def binary() -> Iterator[Call]:
    for name in BINARY:
        for dtype in DTYPES:
            x, y = ordinary(dtype), ordinary(dtype, shift=1)
            s = special(dtype)
            yield Call(name, dtype, (x, y), {})
            if "shift" not in name and not (dtype in INTEGERS and name in ("floor_divide", "remainder", "pow")):
                yield Call(name, f"{dtype} special", (s[:, None], s), {})
            for number in (True, 2, 0.5, 1j):
                yield Call(name, f"{dtype} with {number!r}", (x, number), {})
            if dtype != "bool":  # integers over 0 are undefined
                yield Call(name, f"2 with {dtype}", (2, x), {})
        for other in ("int32", "float32", "uint8", "bool", "float16", "complex64"):
            if other != "bool":
                yield Call(name, f"int16 with {other}", (ordinary("int16"), ordinary(other)), {})
            yield Call(name, f"{other} with bfloat16", (ordinary(other), ordinary("bfloat16")), {})
        x = ordinary("float32")
        for form, value in forms("float32"):
            yield Call(name, f"{form} with an array", (value, x), {})
            yield Call(name, f"{form} with 1.5", (value, 1.5), {})
        yield Call(name, "shapes that do not broadcast", (x, x[:, :2]), {})
        yield Call(name, "a number beyond int32", (ordinary("int32"), 2**40), {})
        yield Call(name, "a negative number with uint8", (ordinary("uint8"), -1), {})
        yield Call(name, "a number beyond int8", (ordinary("int8"), 300), {})


def reductions() -> Iterator[Call]:
    for name in REDUCTIONS:
        for dtype in DTYPES:
            yield Call(name, dtype, (ordinary(dtype),), {})
            yield Call(name, f"{dtype} special", (special(dtype),), {})
            yield Call(name, f"{dtype} axis 1", (ordinary(dtype),), {"axis": 1})
        x = ordinary("float32")
        for axis in (0, -1, (0, 1), (), 2, -3, (0, 0), 0.5, "x"):
            yield Call(name, f"axis {axis!r}", (x,), {"axis": axis})
        yield Call(name, "keepdims", (x,), {"keepdims": True})
        yield Call(name, "keepdims axis 0", (x,), {"keepdims": True, "axis": 0})
        for dtype in ("float32", "int32"):
            yield Call(name, f"{dtype} nothing", (ordinary(dtype)[:0],), {})
            yield Call(name, f"{dtype} nothing axis 0", (ordinary(dtype)[:0],), {"axis": 0})
            yield Call(name, f"{dtype} nothing axis 1", (ordinary(dtype)[:0],), {"axis": 1})
        for form, value in forms("float32"):
            yield Call(name, form, (value,), {})
    for dtype in ("float16", "bfloat16"):
        for count in (1000, 3000):
            ones = np.ones((count, 2), dtype_of(dtype))
            for name in ("sum", "mean", "var", "prod"):
                for axis in (None, 0, 1):
                    yield Call(name, f"{count} {dtype} ones axis {axis}", (ones,), {"axis": axis})
            yield Call("cumulative_sum", f"{count} {dtype} ones", (ones[:, 0],), {})


def along() -> Iterator[Call]:
    for name in ALONG:
        for dtype in DTYPES:
            yield Call(name, dtype, (ordinary(dtype),), {"axis": 1})
            if dtype in INTEGERS or dtype == "bool" or "cumulative" in name:
                yield Call(name, f"{dtype} special", (special(dtype),), {})
            if "sort" in name:
                yield Call(name, f"{dtype} descending", (ordinary(dtype),), {"descending": True})
            if "cumulative" in name:
                yield Call(name, f"{dtype} with the first", (ordinary(dtype),), {"axis": 0, "include_initial": True})
        yield from axes_along(name)


def axes_along(name: str) -> Iterator[Call]:
    x = ordinary("float32")
    for axis in (0, -1, 2, -3, 0.5, "x"):
        yield Call(name, f"axis {axis!r}", (x,), {"axis": axis})
    yield Call(name, "no axis", (x,), {})
    yield Call(name, "nothing", (x[:0],), {"axis": 0})
    for form, value in forms("float32"):
        yield Call(name, f"{form} axis 0", (value,), {"axis": 0})
    for n in (0, 1, 2, 3, 5, -1) if name == "diff" else ():
        yield Call(name, f"n={n}", (x,), {"n": n})


def pairs() -> Iterator[Call]:
    for name in PAIRS:
        for dtype in DTYPES:
            x, y = ordinary(dtype), ordinary(dtype, shift=1)
            arguments = (x, y) if name != "matmul" else (x, y.T)
            yield Call(name, dtype, arguments, {})
        x = ordinary("float32")
        yield Call(name, "vectors", (x[0], x[1]), {} if name != "tensordot" else {"axes": 1})
        yield Call(name, "no axes", (np.asarray(x[0, 0]), x), {})
        yield Call(name, "other sizes", (x, x[:, :2]), {})
        yield Call(name, "int32 with float32", (ordinary("int32"), x if name != "matmul" else x.T), {})
        yield Call(name, "lists", (x[0].tolist(), x[1].tolist()), {} if name != "tensordot" else {"axes": 1})
        yield Call(name, "text", (x, "x"), {})
    yield Call("matmul", "batches", (np.stack([x, x]), x.T), {})
    yield Call("matmul", "batches of other numbers", (np.stack([x, x]), np.stack([x.T] * 3)), {})
    yield Call("vecdot", "axis 0", (x, x), {"axis": 0})
    yield Call("vecdot", "axis 2", (x, x), {"axis": 2})
    yield Call("tensordot", "axes", (x, x), {"axes": ([0], [0])})
    yield Call("tensordot", "axes 3", (x, x), {"axes": 3})


def calls() -> list[Call]:
    """Returns the whole table."""
    return [*unary(), *binary(), *reductions(), *along(), *pairs(), *shapes(), *creation()]
