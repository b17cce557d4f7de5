"""The array functions: names, meaning, dtypes, and what they adopt.  Beside NumPy, under the rules of the contract."""

import inspect
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.arrays import exact_arrays, require_bits, scribble
from simstrategy_conformance.calling import agrees, call, check, form_of, put
from simstrategy_conformance.checking import clause, property_test, search
from simstrategy_conformance.functions import CASES, Case
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]
PLAIN = ("float32", "int32", "float64", "int64")
NUMPYS = "test_an_array_function_is_numpys"
OWN_TESTS = ("sum", "prod", "argmax", "divide")
"""The functions that other clauses are about."""


def _is_numpys(name: str, subject: Subject, case: Case) -> None:
    agrees(subject, name, case)


@clause("B-18")
@pytest.mark.parametrize("function", [name for name in ss.device.NAMES if name not in OWN_TESTS])
def test_an_array_function_is_numpys(subject: Subject, function: str) -> None:
    compare = partial(_is_numpys, function)
    # A function with settings has more ways to be called.
    has_settings = len(inspect.signature(getattr(ss.device.ArrayNamespace, function)).parameters) > 3
    share = 0.8 if has_settings else 0.3
    search(subject, f"{NUMPYS}/{function}", compare, {"case": CASES[function]}, share=share, of=NUMPYS)


@clause("B-18")
def test_what_is_created_has_the_default_dtypes(subject: Subject) -> None:
    made: dict[str, list[tuple[Any, ...]]] = {
        "float32": [
            ("zeros", (2,)),
            ("ones", ()),
            ("full", (2,), 1.5),
            ("eye", 2),
            ("asarray", [1.5]),
            ("arange", 0.5),
            ("linspace", 0, 1, 3),
            ("full", (), 0.5),
            ("eye", 2, 3),
        ],
        "int32": [("full", (2,), 3), ("asarray", [1, 2]), ("arange", 3), ("arange", 1, 7, 2)],
        "bool": [("full", (2,), True), ("asarray", [True])],
    }
    if "int64" in subject.dtypes:
        made["int64"] = [("arange", 2**31 - 1, 2**31 + 1), ("full", (2,), 2**31), ("asarray", [-(2**40)])]
    for dtype, calls in made.items():
        for name, *arguments in calls:
            found = subject.open(2).get(call(subject, name, *arguments))
            wanted = getattr(np, name)(*arguments).astype(dtype)
            require_bits(wanted, found, f"xp.{name}{tuple(arguments)}")


@st.composite
def matrices(draw: Any, subject: Subject) -> Host:
    dtype = draw(sampled(subject.having(*PLAIN)))
    shape = draw(sampled([(2, 3), (1, 2), (3, 1), (0, 2), (2, 2)]))
    return np.asarray(draw(exact_arrays(dtype, shape)))


@property_test("B-18", x=matrices, number=st.sampled_from([2, 0.5, 3]))
def test_a_number_takes_the_dtype_of_the_array_beside_it(subject: Subject, x: Host, number: float) -> None:
    if x.dtype.kind == "f" or isinstance(number, int):
        wanted = x * x.dtype.type(number)
        check(subject, call(subject, "multiply", put(subject, x), number), wanted)
        check(subject, call(subject, "multiply", number, put(subject, x)), wanted)
    # Two numbers become an array of their default dtype.
    check(subject, call(subject, "add", number, 2), np.asarray(number + 2, np.float32 if number == 0.5 else np.int32))


@property_test("B-18", x=matrices)
def test_what_is_created_is_new_and_shares_nothing(subject: Subject, x: Host) -> None:
    given = x.copy()
    adopted = call(subject, "asarray", given)
    reshaped = call(subject, "reshape", given, (x.size,))
    given[...] = 77
    check(subject, adopted, x)
    check(subject, reshaped, x.reshape(-1))
    made: list[tuple[Any, ...]] = [("zeros", (2,)), ("ones", (2,)), ("full", (2,), 5.0), ("arange", 2), ("eye", 2)]
    for name, *arguments in (*made, ("asarray", [1.0, 2.0])):
        one, other = call(subject, name, *arguments), call(subject, name, *arguments)
        assert one is not other, f"{name} returned one object twice: replicas' results would be taken for one"
        was = subject.open(2).get(other)
        scribble(one)
        assert same_bits(was, subject.open(2).get(other)), f"{name} returned the same memory twice"


@st.composite
def summands(draw: Any, subject: Subject) -> tuple[Host, Any]:
    """Draws an array and an axis of it, or None."""
    dtype = draw(sampled(subject.having("int8", "int32", "uint8", "float16", "float32", "int64", "int16")))
    shape = draw(sampled([(2,), (2, 2), (0,), (0, 2)]))
    axis = draw(sampled([None, 0, -1, *([(0, 1)] if len(shape) == 2 else [])]))
    x = np.asarray(draw(exact_arrays(dtype, shape)))
    return (x if x.dtype.kind in "iu" else np.clip(x, -2, 2)), axis


@property_test("B-19", case=summands, name=st.sampled_from(["sum", "prod"]), keepdims=st.booleans())
def test_sums_and_products_keep_their_dtype_and_wrap(
    subject: Subject, case: tuple[Host, Any], name: str, keepdims: bool
) -> None:
    x, axis = case
    wanted = getattr(np, name)(x, dtype=x.dtype, axis=axis, keepdims=keepdims)
    check(subject, call(subject, name, put(subject, x), axis=axis, keepdims=keepdims), wanted)


@property_test("B-19", x=matrices, axis=st.sampled_from([None, 1, -2]), keepdims=st.booleans())
def test_the_place_of_the_largest_is_an_int32(subject: Subject, x: Host, axis: Any, keepdims: bool) -> None:
    if x.size:
        wanted = np.argmax(x, axis=axis, keepdims=keepdims).astype("int32")
        check(subject, call(subject, "argmax", put(subject, x), axis=axis, keepdims=keepdims), wanted)


@property_test("B-20", top=st.integers(-999, 999), bottom=st.integers(1, 999))
def test_division_is_rounded_once(subject: Subject, top: int, bottom: int) -> None:
    for dtype in subject.having("float32", "float64"):
        # Many at once, since two roundings mostly come out as one.
        x, y = np.arange(top, top + 16).astype(dtype), np.full((16,), bottom, dtype)
        check(subject, call(subject, "divide", put(subject, x), put(subject, y)), x / y)
        check(subject, call(subject, "divide", put(subject, x), float(bottom)), x / y)


@property_test("B-20", real=st.integers(-999, 999), imaginary=st.integers(-999, 999), bottom=st.integers(1, 99))
def test_a_complex_number_is_divided_part_by_part(subject: Subject, real: int, imaginary: int, bottom: int) -> None:
    dtype = subject.having("complex64", "complex128")[0]
    x = np.array([complex(real + n, imaginary - n) for n in range(14)] + [complex(-0.0, 1), complex(1, -0.0)], dtype)
    count = x.real.dtype.type(bottom)
    wanted = np.stack([x.real / count, x.imag / count], -1).view(dtype)[:, 0]
    check(subject, call(subject, "divide", put(subject, x), float(bottom)), wanted)


@property_test("B-20", real=st.integers(-99, 99), imaginary=st.integers(1, 99))
def test_complex_numbers_are_divided_by_complex_ones(subject: Subject, real: int, imaginary: int) -> None:
    dtype = subject.having("complex64", "complex128")[0]
    x, y = np.array([1 + 2j, 3j, -2], dtype), np.full(3, complex(real, imaginary), dtype)
    agrees(subject, "divide", Case((x, y), x / y, near=True))


@clause("B-20")
def test_zero_over_zero_is_nan_and_one_over_zero_is_infinite(subject: Subject) -> None:
    with np.errstate(all="ignore"):
        found = call(subject, "divide", put(subject, np.array([0, 1, -1], "float32")), 0.0)
    check(subject, found, np.array([np.nan, np.inf, -np.inf], "float32"))


MATRIX, VECTOR = np.ones((2, 3), "float32"), np.array([3, 1, 2], "int32")
SCALAR = np.array(1.0, "float32")
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("zeros", (2,), {"dtype": "float31"}),
    ("astype", (MATRIX, "float31"), {}),
    ("linspace", (0, 1, 3), {"dtype": "float31"}),
    ("linspace", (0, 1, -3), {}),
    ("meshgrid", (VECTOR, VECTOR), {"indexing": "xz"}),
    ("add", (MATRIX, MATRIX[:, :2]), {}),
    ("bitwise_and", (MATRIX, MATRIX), {}),
    ("matrix_transpose", (VECTOR,), {}),
    ("broadcast_to", (MATRIX, (3, 2)), {}),
    ("reshape", (MATRIX, (4, 2)), {}),
    ("squeeze", (MATRIX, 0), {}),
    ("concat", ([MATRIX, MATRIX[0]],), {}),
    ("unstack", (np.asarray(1.0, "float32"),), {}),
    ("flip", (MATRIX,), {"axis": 2}),
    ("roll", (MATRIX, 1), {"axis": 2}),
    ("take", (MATRIX, np.array([3], "int32")), {"axis": 1}),
    ("take_along_axis", (MATRIX, np.array([[3], [0]], "int32")), {}),
    ("sum", (MATRIX,), {"axis": 2}),
    ("var", (MATRIX,), {"axis": -3}),
    ("max", (MATRIX[:, :0],), {"axis": 1}),
    ("cumulative_sum", (MATRIX,), {}),
    ("diff", (MATRIX,), {"axis": 2}),
    ("diff", (MATRIX,), {"n": -1}),
    ("matmul", (MATRIX, MATRIX), {}),
    ("vecdot", (MATRIX, MATRIX[:, :2]), {}),
    ("tensordot", (MATRIX, MATRIX.T.copy()), {}),
    ("sort", (MATRIX,), {"axis": 2}),
    ("argmin", (MATRIX,), {"axis": 2}),
    ("searchsorted", (VECTOR, VECTOR), {"side": "middle"}),
    ("take", (MATRIX, np.array([True, False])), {"axis": 1}),
    *(("meshgrid", (*[VECTOR] * place, MATRIX, *[VECTOR] * (2 - place)), {}) for place in range(3)),
    *(("concat", ([*[MATRIX] * place, VECTOR, *[MATRIX] * (2 - place)],), {}) for place in range(3)),
    *(("stack", ([*[MATRIX] * place, MATRIX[:, :2], *[MATRIX] * (2 - place)],), {}) for place in range(3)),
    *(("broadcast_arrays", (*[MATRIX] * place, MATRIX[:, :2], *[MATRIX] * (2 - place)), {}) for place in range(3)),
    ("tril", (VECTOR,), {}),
    ("triu", (VECTOR,), {}),
    ("roll", (MATRIX, 1.5), {}),
    ("full", ((2,), "text"), {}),
    ("full", ((2,), 300), {"dtype": "int8"}),
    *(("full", ((2,), one), {"dtype": "int32"}) for one in (float("nan"), float("inf"), 1e20, 1j, np.float64("nan"))),
    ("full", ((2,), -1.5), {"dtype": "uint8"}),
    ("full_like", (VECTOR, float("inf")), {}),
    ("full_like", (VECTOR, 2**31), {}),
    ("arange", (300,), {"dtype": "int8"}),
    ("zeros", (2,), {"dtype": float}),
    ("sum", (MATRIX,), {"axis": True}),
    ("tile", (MATRIX, (-1,)), {}),
    ("concat", (map(abs, [1.5, 2.5]),), {}),
    ("asarray", ([2**40],), {"dtype": "int32"}),
    *((name, (SCALAR,), {"axis": 0}) for name in ("sum", "prod", "mean", "max", "all", "argmax", "argmin", "sort")),
    *((name, (SCALAR,), {}) for name in ("argsort", "cumulative_sum", "cumulative_prod")),
]


@clause("B-18")
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_dtypes_axes_shapes_and_settings_raise(subject: Subject, number: int) -> None:
    name, arguments, options = WRONG[number]
    given = put(subject, list(arguments))
    shown = f"{name}({', '.join([*map(form_of, arguments), *(f'{key}={one!r}' for key, one in options.items())])})"
    try:
        found = call(subject, name, *given, **options)
        got = subject.open(2).get(found)
    except (ss.errors.InvalidArgument, ss.errors.InvalidType):
        return
    except Exception as error:
        error.add_note(f"of {shown}, which has to raise InvalidArgument or InvalidType")
        raise
    raise AssertionError(f"{shown} has to raise InvalidArgument or InvalidType, and gave {form_of(got)}")
