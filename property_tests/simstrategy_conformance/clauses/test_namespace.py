"""The array functions: names, meaning, dtypes, and what they adopt.  Beside NumPy, under the rules of the contract."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.arrays import SHAPES, exact_arrays, scribble
from simstrategy_conformance.checking import clause, examined
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]
PLAIN = ("float32", "int32", "float64", "int64")
ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
CONTINUOUS = ("exp", "log", "log1p", "tanh", "sqrt")


@st.composite
def pairs(draw: Any, subject: Subject) -> tuple[Host, Host]:
    dtype, shape = draw(st.sampled_from(subject.having(*PLAIN))), draw(SHAPES)
    return draw(exact_arrays(dtype, shape)), draw(exact_arrays(dtype, shape))


def put(subject: Subject, value: Any) -> Any:
    backend = subject.open(2)
    return backend.put(value, backend.devices[0])


def check(subject: Subject, found: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    got = subject.open(2).get(found)
    assert same_bits(wanted, got), f"expected {wanted.dtype} {wanted.tolist()}, found {got.dtype} {got.tolist()}"


def call(subject: Subject, name: str, *arguments: Any, **options: Any) -> Any:
    xp: Any = subject.open(2).xp
    return getattr(xp, name)(*arguments, **options)


@clause("B-18")
def test_every_function_is_there(subject: Subject) -> None:
    xp = subject.open(1).xp
    missing = [name for name in ss.device.NAMES if not callable(getattr(xp, name, None))]
    assert missing == []


@examined("B-18", pair=pairs, name=st.sampled_from(ARITHMETIC + COMPARISONS))
def test_functions_of_two_arrays_are_numpys(subject: Subject, pair: tuple[Host, Host], name: str) -> None:
    one, other = pair
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(one, other)
    check(subject, call(subject, name, put(subject, one), put(subject, other)), wanted)


@examined("B-18", pair=pairs, name=st.sampled_from(("negative", "abs", "sign", "square", "floor", "ceil", "isfinite")))
def test_functions_of_one_array_are_numpys(subject: Subject, pair: tuple[Host, Host], name: str) -> None:
    value = pair[0] if pair[0].dtype.kind == "f" else pair[0].astype("float32")
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(value)
    check(subject, call(subject, name, put(subject, value)), wanted)


@examined("B-18", name=st.sampled_from(("maximum", "minimum", "isnan", "isfinite", "sum", "max", "min")))
def test_nan_is_kept(subject: Subject, name: str) -> None:
    value = np.array([np.nan, 1.0, np.inf, -2.0], "float32")
    if name in ("maximum", "minimum"):
        found = call(subject, name, put(subject, value), put(subject, value[::-1].copy()))
        return check(subject, found, getattr(np, name)(value, value[::-1]))
    return check(subject, call(subject, name, put(subject, value)), getattr(np, name)(value))


@examined("B-18", numbers=st.lists(st.integers(1, 400), min_size=1, max_size=4), name=st.sampled_from(CONTINUOUS))
def test_continuous_functions_are_near(subject: Subject, numbers: list[int], name: str) -> None:
    value = np.array(numbers, "float32") / 16
    wanted = getattr(np, name)(value.astype("float64"))
    found = subject.open(2).get(call(subject, name, put(subject, value)))
    assert found.dtype == value.dtype
    # 16 units in the last place: fast approximations pass, wrong functions do not.
    near = np.abs(found - wanted) <= 16 * np.spacing(np.abs(wanted).astype("float32")) + 1e-6
    assert near.all(), f"{name} of {value.tolist()}: expected {wanted.tolist()}, found {found.tolist()}"


@st.composite
def cubes(draw: Any, subject: Subject) -> Host:
    dtype = draw(st.sampled_from(subject.having(*PLAIN)))
    shape = draw(st.sampled_from([(2, 3), (1, 2), (3, 1), (0, 2), (2, 2)]))
    return np.asarray(draw(exact_arrays(dtype, shape)))


@examined("B-18", x=cubes)
def test_shapes_change_as_numpys_do(subject: Subject, x: Host) -> None:
    given = put(subject, x)
    check(subject, call(subject, "permute_dims", given, (1, 0)), x.T)
    check(subject, call(subject, "reshape", given, (x.size,)), x.reshape(-1))
    check(subject, call(subject, "expand_dims", given, axis=1), x[:, None])
    check(subject, call(subject, "squeeze", call(subject, "expand_dims", given, axis=0), 0), x)
    check(subject, call(subject, "broadcast_to", given, (2, *x.shape)), np.broadcast_to(x, (2, *x.shape)))


@examined("B-18", x=cubes, axis=st.integers(0, 1))
def test_arrays_are_joined_and_taken_apart_as_numpys_are(subject: Subject, x: Host, axis: int) -> None:
    given = put(subject, x)
    check(subject, call(subject, "concat", [given, given], axis=axis), np.concatenate([x, x], axis))
    check(subject, call(subject, "stack", [given, given], axis=axis), np.stack([x, x], axis))
    if x.shape[axis]:
        places = np.array([x.shape[axis] - 1, 0], "int32")
        check(subject, call(subject, "take", given, put(subject, places), axis=axis), np.take(x, places, axis))


@examined("B-18", x=cubes)
def test_a_condition_chooses_elementwise(subject: Subject, x: Host) -> None:
    given, zero = put(subject, x), put(subject, np.zeros_like(x))
    found = call(subject, "where", call(subject, "greater", given, zero), given, zero)
    check(subject, found, np.where(x > 0, x, np.zeros_like(x)))
    both = call(subject, "logical_or", call(subject, "less", given, zero), call(subject, "greater", given, zero))
    check(subject, both, x != 0)


@examined("B-18", x=cubes, axis=st.sampled_from([None, 0, 1, (0, 1), -1]), keepdims=st.booleans())
def test_reductions_are_numpys(subject: Subject, x: Host, axis: Any, keepdims: bool) -> None:
    given = put(subject, x)
    if x.size:
        check(subject, call(subject, "max", given, axis=axis, keepdims=keepdims), x.max(axis=axis, keepdims=keepdims))
        check(subject, call(subject, "min", given, axis=axis, keepdims=keepdims), x.min(axis=axis, keepdims=keepdims))
    positive = call(subject, "greater", given, put(subject, np.zeros_like(x)))
    check(subject, call(subject, "all", positive, axis=axis, keepdims=keepdims), (x > 0).all(axis, keepdims=keepdims))
    check(subject, call(subject, "any", positive, axis=axis, keepdims=keepdims), (x > 0).any(axis, keepdims=keepdims))


@examined("B-18", x=cubes)
def test_products_of_matrices_are_numpys(subject: Subject, x: Host) -> None:
    small = np.clip(x, -9, 9)
    found = call(subject, "matmul", put(subject, small), put(subject, np.ascontiguousarray(small.T)))
    check(subject, found, small @ small.T)


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
        ],
        "int32": [("full", (2,), 3), ("asarray", [1, 2]), ("arange", 3), ("arange", 1, 7, 2)],
        "bool": [("full", (2,), True), ("asarray", [True])],
    }
    for dtype, calls in made.items():
        for name, *arguments in calls:
            found = subject.open(2).get(call(subject, name, *arguments))
            wanted = getattr(np, name)(*arguments).astype(dtype)
            assert same_bits(wanted, found), f"{name}{tuple(arguments)}: expected {wanted!r}, found {found!r}"


@examined("B-18", x=cubes, number=st.sampled_from([2, 0.5, 3]))
def test_a_number_beside_an_array_takes_its_dtype(subject: Subject, x: Host, number: float) -> None:
    if x.dtype.kind == "f" or isinstance(number, int):
        with np.errstate(all="ignore"):
            wanted = x * x.dtype.type(number)
        check(subject, call(subject, "multiply", put(subject, x), number), wanted)
        check(subject, call(subject, "multiply", number, put(subject, x)), wanted)


@clause("B-18")
def test_two_numbers_become_an_array_of_their_default_dtype(subject: Subject) -> None:
    check(subject, call(subject, "add", 1.5, 2), np.float32(3.5))
    check(subject, call(subject, "add", 1, 2), np.int32(3))


@examined("B-18", x=cubes)
def test_host_data_is_copied_when_it_is_adopted(subject: Subject, x: Host) -> None:
    given = x.copy()
    adopted = call(subject, "asarray", given)
    reshaped = call(subject, "reshape", given, (x.size,))
    given[...] = 77
    check(subject, adopted, x)
    check(subject, reshaped, x.reshape(-1))


@clause("B-18")
def test_what_is_created_is_new_each_time(subject: Subject) -> None:
    for name, *arguments in (("zeros", (2,)), ("ones", (2,)), ("full", (2,), 5.0), ("arange", 2), ("eye", 2)):
        one, other = call(subject, name, *arguments), call(subject, name, *arguments)
        assert one is not other, f"{name} returned one object twice: replicas' results would be taken for one"
        was = subject.open(2).get(other)
        scribble(one)
        assert same_bits(was, subject.open(2).get(other)), f"{name} returned the same memory twice"


@examined("B-19", data=st.data(), name=st.sampled_from(["sum", "prod"]))
def test_sums_and_products_keep_their_dtype_and_wrap(subject: Subject, data: st.DataObject, name: str) -> None:
    dtype = data.draw(st.sampled_from(subject.having("int8", "int32", "uint8", "float16", "float32", "int64", "int16")))
    x = data.draw(exact_arrays(dtype, data.draw(st.sampled_from([(2,), (2, 2), (0,)]))))
    x = x if np.dtype(dtype).kind in "iu" else np.clip(x, -2, 2)
    with np.errstate(all="ignore"):
        check(subject, call(subject, name, put(subject, x)), getattr(np, name)(x, dtype=x.dtype))


@examined("B-19", x=cubes)
def test_the_place_of_the_largest_is_an_int32(subject: Subject, x: Host) -> None:
    if x.size:
        check(subject, call(subject, "argmax", put(subject, x)), np.int32(np.argmax(x)))
        check(subject, call(subject, "argmax", put(subject, x), axis=1), np.argmax(x, axis=1).astype("int32"))


@examined("B-20", top=st.integers(-999, 999), bottom=st.integers(1, 999))
def test_division_is_rounded_once(subject: Subject, top: int, bottom: int) -> None:
    for dtype in subject.having("float32", "float64"):
        # Many at once, since two roundings mostly come out as one.
        x, y = np.arange(top, top + 16).astype(dtype), np.full((16,), bottom, dtype)
        check(subject, call(subject, "divide", put(subject, x), put(subject, y)), x / y)
        check(subject, call(subject, "divide", put(subject, x), float(bottom)), x / y)


@examined("B-20", real=st.integers(-999, 999), imaginary=st.integers(-999, 999), bottom=st.integers(1, 99))
def test_a_complex_number_is_divided_part_by_part(subject: Subject, real: int, imaginary: int, bottom: int) -> None:
    dtype = subject.having("complex64", "complex128")[0]
    x = np.array([complex(real + n, imaginary - n) for n in range(16)], dtype)
    count = x.real.dtype.type(bottom)
    wanted = np.stack([x.real / count, x.imag / count], -1).view(dtype)[:, 0]
    check(subject, call(subject, "divide", put(subject, x), float(bottom)), wanted)


@clause("B-20")
def test_zero_over_zero_is_nan_and_one_over_zero_is_infinite(subject: Subject) -> None:
    with np.errstate(all="ignore"):
        found = call(subject, "divide", put(subject, np.array([0, 1, -1], "float32")), 0.0)
    check(subject, found, np.array([np.nan, np.inf, -np.inf], "float32"))
