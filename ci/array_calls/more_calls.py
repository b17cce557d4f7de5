"""The table's calls of shapes, choosing, searching in order, and creation.  It calls nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from kinds_of_calls import COMPLEX, DTYPES, Call, Given, forms, holds, ordinary

Row = tuple[str, tuple[Any, ...], dict[str, Any]]


def shapes() -> Iterator[Call]:
    seen: dict[str, int] = {}
    for name, arguments, options in [*moved(), *picked(), *chosen()]:
        seen[name] = seen.get(name, 0) + 1
        yield Call(name, f"{seen[name]:02}", arguments, options)
    for name, rest, options in MOVERS:
        for dtype in DTYPES:
            yield Call(name, dtype, (ordinary(dtype), *rest), options)
        for form, value in forms("float32"):
            yield Call(name, form, (value, *rest), options)
    for dtype in DTYPES:
        yield Call("where", dtype, (ordinary("bool"), ordinary(dtype), ordinary(dtype, shift=1)), {})
        yield Call("concat", dtype, ([ordinary(dtype), ordinary(dtype)],), {})
        yield Call("concat", f"{dtype} with int32", ([ordinary(dtype), ordinary("int32")],), {})
        yield Call("stack", dtype, ([ordinary(dtype), ordinary(dtype)],), {})


MOVERS: list[Row] = [
    ("permute_dims", ((1, 0),), {}),
    ("matrix_transpose", (), {}),
    ("reshape", ((-1,),), {}),
    ("broadcast_to", ((2, 2, 3),), {}),
    ("flip", (), {}),
    ("roll", (1,), {}),
    ("repeat", (2,), {}),
    ("tile", ((2, 1),), {}),
    ("take", (np.array([1, 0], "int32"),), {"axis": 1}),
    ("tril", (), {}),
    ("unstack", (), {}),
]


def moved() -> list[Row]:
    x, y = ordinary("float32"), ordinary("int32")
    return [
        *[("permute_dims", (x, axes), {}) for axes in ((1, 0), (-1, 0), (0,), (0, 0), (0, 2), (0, 1, 2), "ab")],
        *[("matrix_transpose", (one,), {}) for one in (x, x[0], np.stack([x, x]))],
        *[("moveaxis", (x, a, b), {}) for a, b in ((0, 1), (0, -1), (0, 2), ((0, 1), (1, 0)), ((0, 0), (1, 0)))],
        *[("reshape", (x, shape), {}) for shape in ((6,), (3, 2), (-1,), (3, -1), (4, 2), (-1, -1), 6, (2.5,), "ab")],
        *[("expand_dims", (x,), {"axis": axis}) for axis in (0, -1, 2, -3, 3, -4, 0.5)],
        *[("squeeze", (x[:1], axis), {}) for axis in (0, -2, (0,), (), 1, 2, -3, (0, 0), (0, 1))],
        *[("broadcast_to", (x, shape), {}) for shape in ((4, 2, 3), (2, 3), (3, 2), (3,), (0, 2, 3))],
        *[("broadcast_arrays", (x, one), {}) for one in (x[0], y, x[:, :2])],
        *[("concat", ([x, one],), {}) for one in (x, y, x[0], x[:, :2], x[:0])],
        *[("concat", ([x, x],), {"axis": axis}) for axis in (0, 1, -1, None, 2, -3)],
        ("concat", ([],), {}),
        *[("stack", ([x, one],), {}) for one in (x, y, x[0])],
        *[("stack", ([x, x],), {"axis": axis}) for axis in (0, 1, -1, 2, 3, -4)],
        ("stack", ([],), {}),
        *[("unstack", (x,), {"axis": axis}) for axis in (0, 1, -1, 2, -3)],
        ("unstack", (np.asarray(x[0, 0]),), {}),
        *[("flip", (x,), {"axis": axis}) for axis in (None, 0, -1, (0, 1), (), 2, -3, (0, 0))],
        *[("tile", (x, count), {}) for count in ((2,), (1, 2), (2, 1, 2), (0,), (-1,), ())],
    ]


def picked() -> list[Row]:
    x = ordinary("float32")
    return [
        *[
            ("roll", (x, shift), {"axis": axis})
            for shift, axis in (
                (1, None),
                (-1, 0),
                (7, 1),
                ((1, 2), (0, 1)),
                ((1, 2), 0),
                (1, (0, 1)),
                (1, 2),
                (0.5, 0),
            )
        ],
        *[
            ("repeat", (x, count), {"axis": axis})
            for count, axis in (
                (2, None),
                (0, 0),
                (2, 1),
                (-1, 0),
                (2, 2),
                (np.array([1, 2], "int32"), 0),
                (np.array([1, 2, 3], "int32"), 0),
            )
        ],
        *[
            ("take", (x, np.array(places, "int32")), {"axis": axis})
            for places, axis in (([0, 1], 0), ([-1], 1), ([3], 1), ([-4], 1), ([[0], [1]], 0), ([0], 2), ([0], -1))
        ],
        ("take", (x, np.array([0.0], "float32")), {"axis": 0}),
        ("take", (x, [0, 1]), {"axis": 0}),
        ("take", (x, 1), {"axis": 0}),
        ("take", (x, np.array([True])), {"axis": 0}),
        *[
            ("take_along_axis", (x, np.array(places, "int32")), {"axis": axis})
            for places, axis in (
                ([[0], [1]], 1),
                ([[-1], [-3]], 1),
                ([[3], [0]], 1),
                ([[0, 1, 0]], 0),
                ([0], 0),
                ([[0], [1]], 2),
            )
        ],
        ("take_along_axis", (x, np.array([[0.0]], "float32")), {}),
    ]


def chosen() -> list[Row]:
    x, y = ordinary("float32"), ordinary("int32")
    return [
        *[("tril", (one,), {"k": k}) for one in (x, np.stack([x, x])) for k in (0, 1, -1, 5, -5)],
        *[("triu", (one,), {"k": k}) for one in (x, np.stack([x, x])) for k in (0, 1, -1, 5, -5)],
        ("tril", (x[0],), {}),
        ("triu", (x[0],), {}),
        *[("meshgrid", (x[0], x[1]), {"indexing": one}) for one in ("xy", "ij", "xz")],
        ("meshgrid", (x,), {}),
        *[("where", (ordinary("bool"), a, b), {}) for a in (x, y, 1, 0.5, True) for b in (x, y, 2, 1j)],
        ("where", (x, x, x), {}),
        ("where", (True, x, x), {}),
        ("where", (ordinary("bool"), x, x[:, :2]), {}),
        *[("clip", (x,), how) for how in ({}, {"min": 0.2}, {"max": 0.3}, {"min": 0.2, "max": 0.3}, {"min": np.nan})],
        *[("clip", (y,), how) for how in ({"min": 2}, {"max": 2}, {"min": 0.5}, {"max": 2**40}, {"min": True})],
        ("clip", (ordinary("uint8"),), {"min": -1}),
        ("clip", (ordinary("complex64"),), {"min": 0}),
        ("clip", (ordinary("bool"),), {"min": False}),
        *[
            ("searchsorted", (np.array([1, 2, 2, 3], dtype), np.array([[2, 0], [5, 3]], dtype)), {"side": side})
            for dtype in ("int32", "float32", "uint8", "int64", "float16")
            for side in ("left", "right", "middle")
        ],
        ("searchsorted", (y[0], y[1]), {"sorter": np.array([0, 1, 2], "int32")}),
        ("searchsorted", (y, y), {}),
        ("searchsorted", (np.array([1, 2], "int32"), np.array([1.5], "float32")), {}),
        ("searchsorted", (np.array([1, 2], "int32"), 2), {}),
    ]


def creation() -> Iterator[Call]:
    for dtype in (*DTYPES, "float31", "str", "object"):
        how = {"dtype": dtype}
        yield Call("zeros", dtype, ((2,),), how)
        yield Call("ones", dtype, ((2, 0),), how)
        yield Call("eye", dtype, (2, 3), how)
        yield Call("arange", dtype, (3,), how)
        yield Call("linspace", dtype, (0, 4, 3), how)
        for number in (True, 3, 2.7, -1, 300, 2**40, np.nan, 1j, 1e39):
            if dtype in DTYPES and not holds(dtype, number):
                continue
            yield Call("full", f"{number!r} {dtype}", ((2,), number), how)
            yield Call("asarray", f"{number!r} {dtype}", (number,), how)
            yield Call("full_like", f"{number!r} {dtype}", (ordinary("float32"), number), how)
        yield from casts(dtype)
        yield Call("zeros_like", dtype, (ordinary("float32"),), how)
        yield Call("ones_like", dtype, (ordinary("float32"),), how)
    for dtype in DTYPES:
        yield Call("zeros_like", f"of {dtype}", (ordinary(dtype),), {})
        yield Call("asarray", f"of {dtype}", (Given(ordinary(dtype)),), {})
        for number in (True, 3, 2.7, -1, 300, 1j):
            if not holds(dtype, number):
                continue
            yield Call("full_like", f"{number!r} of {dtype}", (ordinary(dtype), number), {})
    yield from shapes_and_numbers()


def shapes_and_numbers() -> Iterator[Call]:
    for shape in ((), 3, (2, 0), [2, 1], (-1,), (2.5,), "ab"):
        yield Call("zeros", f"shape {shape!r}", (shape,), {})
        yield Call("full", f"shape {shape!r}", (shape, 1.0), {})
    for number in (True, 3, 2.7, 1j, -(2**31), [], [1, 2.5], [True, 2]):
        yield Call("asarray", f"{number!r}", (number,), {})
        if not isinstance(number, list):
            yield Call("full", f"{number!r}", ((2,), number), {})
    for given in ((3,), (1, 7, 2), (5, 0, -2), (0.5,), (0, 1, 0.25), (3, 1), (0, 1, 0), (1j,), ("x",)):
        yield Call("arange", f"{given}", given, {})
    for given in ((0, 1, 5), (0, 1, 1), (0, 1, 0), (0, 1, -1), (0, 1j, 3), (0, 1, 2.5), (1.0, 1.0, 2), ("x", 1, 2)):
        yield Call("linspace", f"{given}", given, {})
        yield Call("linspace", f"{given} open", given, {"endpoint": False})
    for given in ((2,), (2, 3), (0,), (-1,), (2.5,)):
        for k in (0, 1, -1, 9):
            yield Call("eye", f"{given} k={k}", given, {"k": k})


def casts(dtype: str) -> Iterator[Call]:
    how = {"dtype": dtype}
    for source in DTYPES:
        yield Call("astype", f"{source} {dtype}", (ordinary(source), dtype), {})
        if source not in COMPLEX or dtype in COMPLEX:
            yield Call("asarray", f"{source} {dtype}", (ordinary(source),), how)
