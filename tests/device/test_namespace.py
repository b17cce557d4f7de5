"""The array functions: all of them on the simulator, called as the protocol says, with the dtypes it promises."""

import inspect

import numpy as np
import pytest

from simstrategy.device import NAMES, ArrayNamespace, canonical_dtype, default_dtype
from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import SimArray

F = np.array([[1.0, -2.0, 3.0], [4.0, 5.5, -6.0]], np.float32)
G = np.array([[2.0, 2.0, -1.0], [0.5, 4.0, 1.0]], np.float32)
I = np.array([[1, 2, 3], [4, 5, 6]], np.int32)  # noqa: E741 - an array of integers
B = np.array([True, False, True])
P = np.abs(F)
U = np.array([[200, 100], [100, 3]], np.uint8)

CALLS = {
    "asarray": [
        (([1, 2],), {}, np.int32([1, 2])),
        (([1.5],), {}, np.float32([1.5])),
        ((True,), {}, np.bool_(True)),
        ((2,), {"dtype": "float64"}, np.float64(2)),
        ((np.float64([1]),), {}, np.float64([1])),
        ((1 + 2j,), {}, np.complex64(1 + 2j)),
        ((np.int64(3),), {}, np.int64(3)),
    ],
    "zeros": [((3,), {}, np.zeros(3, np.float32)), (((2, 1),), {"dtype": "int64"}, np.zeros((2, 1), np.int64))],
    "ones": [((3,), {}, np.ones(3, np.float32)), (((),), {"dtype": "bool"}, np.bool_(True))],
    "full": [
        (((2,), 3), {}, np.int32([3, 3])),
        (((2,), 3.0), {}, np.float32([3, 3])),
        ((2, True), {}, np.array([True, True])),
        (((2,), 3), {"dtype": "float64"}, np.float64([3, 3])),
    ],
    "zeros_like": [((I,), {}, I * 0), ((I,), {"dtype": "float32"}, F * 0)],
    "ones_like": [((F,), {}, F * 0 + 1), ((F,), {"dtype": "int32"}, I * 0 + 1)],
    "full_like": [((F, 7), {}, F * 0 + 7), ((F, 7), {"dtype": "int32"}, I * 0 + 7)],
    "arange": [
        ((3,), {}, np.int32([0, 1, 2])),
        ((1, 3), {}, np.int32([1, 2])),
        ((0, 6, 2), {}, np.int32([0, 2, 4])),
        ((0.0, 1.0, 0.5), {}, np.float32([0, 0.5])),
        ((3,), {"dtype": "float64"}, np.float64([0, 1, 2])),
        ((0,), {"stop": 4, "step": 3}, np.int32([0, 3])),
    ],
    "eye": [((2,), {}, np.eye(2, dtype=np.float32)), ((2, 3), {"dtype": "int32"}, np.eye(2, 3, dtype=np.int32))],
    "astype": [((F, "int32"), {}, F.astype(np.int32)), ((I, "float32"), {}, I.astype(np.float32))],
    "add": [((F, G), {}, F + G), ((F, 1), {}, F + 1), ((2, I), {}, I + 2), ((1, 2), {}, np.int32(3))],
    "subtract": [((F, G), {}, F - G), ((1.0, F), {}, np.float32(1) - F)],
    "multiply": [((F, G), {}, F * G), ((I, I), {}, I * I), ((0.5, F), {}, np.float32(0.5) * F)],
    "divide": [((F, G), {}, F / G), ((F, 2.0), {}, F / np.float32(2)), ((1.0, 4.0), {}, np.float32(0.25))],
    "pow": [((F, 2.0), {}, F**2), ((I, 2), {}, I**2)],
    "maximum": [((F, G), {}, np.maximum(F, G)), ((F, 0.0), {}, np.maximum(F, np.float32(0)))],
    "minimum": [((F, G), {}, np.minimum(F, G))],
    "equal": [((F, G), {}, F == G), ((F, 1.0), {}, F == 1)],
    "not_equal": [((F, G), {}, F != G)],
    "less": [((F, G), {}, F < G)],
    "less_equal": [((I, 3), {}, I <= 3)],
    "greater": [((F, G), {}, F > G)],
    "greater_equal": [((I, 3), {}, I >= 3)],
    "logical_and": [((B, ~B), {}, B & ~B)],
    "logical_or": [((B, ~B), {}, B | ~B)],
    "logical_not": [((B,), {}, ~B)],
    "negative": [((F,), {}, -F), ((I,), {}, -I)],
    "abs": [((F,), {}, np.abs(F)), ((I,), {}, np.abs(I))],
    "sign": [((F,), {}, np.sign(F))],
    "square": [((F,), {}, F * F), ((I,), {}, I * I)],
    "sqrt": [((P,), {}, np.sqrt(P))],
    "exp": [((F,), {}, np.exp(F)), ((0.0,), {}, np.float32(1))],
    "log": [((P,), {}, np.log(P))],
    "log1p": [((P,), {}, np.log1p(P))],
    "tanh": [((F,), {}, np.tanh(F))],
    "floor": [((F,), {}, np.floor(F))],
    "ceil": [((F,), {}, np.ceil(F))],
    "isfinite": [((np.float32([1, np.inf, np.nan]),), {}, np.array([True, False, False]))],
    "isnan": [((np.float32([1, np.inf, np.nan]),), {}, np.array([False, False, True]))],
    "where": [
        ((F > 0, F, G), {}, np.where(F > 0, F, G)),
        ((F > 0, F, 0.0), {}, np.where(F > 0, F, np.float32(0))),
        ((B, 1.0, 0.0), {}, np.float32([1, 0, 1])),
        ((B, 1, 0), {}, np.int32([1, 0, 1])),
    ],
    "matmul": [((F, G.T), {}, F @ G.T), (([[1.0, 2.0]], [[3.0], [4.0]]), {}, np.float32([[11]]))],
    "permute_dims": [((F, (1, 0)), {}, F.T), ((F,), {"axes": (1, 0)}, F.T)],
    "reshape": [((F, (3, 2)), {}, F.reshape(3, 2)), ((F,), {"shape": (-1,)}, F.reshape(-1))],
    "expand_dims": [((F,), {"axis": 1}, F[:, None]), ((F,), {"axis": -1}, F[..., None])],
    "squeeze": [((F[:1], 0), {}, F[0]), ((F[:1, :, None],), {"axis": (0, 2)}, F[0])],
    "broadcast_to": [((F[0], (2, 3)), {}, np.stack([F[0], F[0]])), ((F[0],), {"shape": (1, 3)}, F[:1])],
    "concat": [
        (([F, G],), {}, np.concatenate([F, G])),
        (((F, G),), {"axis": 1}, np.concatenate([F, G], axis=1)),
        (([[1, 2], [3]],), {}, np.int32([1, 2, 3])),
    ],
    "stack": [
        (([F, G],), {}, np.stack([F, G])),
        (([F, G],), {"axis": -1}, np.stack([F, G], axis=-1)),
        (([1.0, 2.0],), {}, np.float32([1, 2])),
    ],
    "take": [
        ((F, np.int32([1, 0])), {"axis": 0}, F[[1, 0]]),
        ((F, np.int32([2])), {"axis": 1}, F[:, [2]]),
        (([1.0, 2.0], [1]), {"axis": 0}, np.float32([2])),
    ],
    "sum": [
        ((F,), {}, np.float32(5.5)),
        ((I,), {"axis": 0}, np.int32([5, 7, 9])),
        ((U,), {"axis": 0}, np.uint8([44, 103])),
        ((F,), {"axis": (0, 1), "keepdims": True}, np.float32([[5.5]])),
        ((F.astype(np.float16),), {"axis": -1}, np.float16([2, 3.5])),
    ],
    "prod": [((I,), {"axis": 1}, np.int32([6, 120])), ((U,), {"axis": 0}, np.uint8([200 * 100 % 256, 300 % 256]))],
    "mean": [((F,), {"axis": 0}, np.float32([2.5, 1.75, -1.5])), ((F,), {"keepdims": True}, np.mean(F, keepdims=True))],
    "max": [((F,), {}, np.float32(5.5)), ((I,), {"axis": 1, "keepdims": True}, np.int32([[3], [6]]))],
    "min": [((F,), {"axis": (0, 1)}, np.float32(-6)), ((I,), {"axis": 1}, np.int32([1, 4]))],
    "all": [((B,), {}, np.bool_(False)), ((F > -10,), {"axis": 0}, np.array([True] * 3))],
    "any": [((B,), {"axis": 0}, np.bool_(True)), ((B,), {"keepdims": True}, np.array([True]))],
    "argmax": [
        ((F,), {}, np.int32(4)),
        ((F,), {"axis": 1}, np.int32([2, 1])),
        ((F,), {"axis": 0, "keepdims": True}, np.int32([[1, 1, 0]])),
    ],
}
S = np.float32([-2.5, -0.5, -0.0, 0.5, 1.5, 2.5])
H = np.float32([-0.75, 0.25, 0.5])
C = np.array([1 + 2j, -3 - 0.5j], np.complex64)
V = np.int32([3, 1, 2, 1])
N = np.int32([1, 2])

CALLS |= {
    "linspace": [
        ((0, 1, 5), {}, np.float32([0, 0.25, 0.5, 0.75, 1])),
        ((0, 1), {"num": 4, "endpoint": False}, np.float32([0, 0.25, 0.5, 0.75])),
        ((1.0, 3.0, 3), {"dtype": "float64"}, np.float64([1, 2, 3])),
        ((0, 1j, 2), {}, np.complex64([0, 1j])),
    ],
    "meshgrid": [((N, V), {}, np.meshgrid(N, V)), ((N, V), {"indexing": "ij"}, np.meshgrid(N, V, indexing="ij"))],
    "tril": [((I,), {}, np.tril(I)), ((F,), {"k": 1}, np.tril(F, 1))],
    "triu": [((I,), {}, np.triu(I)), ((F,), {"k": -1}, np.triu(F, -1))],
    "floor_divide": [((I, 2), {}, I // 2), ((F, G), {}, F // G), ((-7, N), {}, np.int32([-7, -4]))],
    "remainder": [((I, 2), {}, I % 2), ((F, G), {}, F % G), ((N, np.int32([-3, -3])), {}, np.int32([-2, -1]))],
    "atan2": [((F, G), {}, np.arctan2(F, G))],
    "copysign": [((F, G), {}, np.copysign(F, G)), ((P, -0.0), {}, -P)],
    "hypot": [((F, G), {}, np.hypot(F, G))],
    "logaddexp": [((F, G), {}, np.logaddexp(F, G))],
    "nextafter": [((F, G), {}, np.nextafter(F, G))],
    "logical_xor": [((B, ~B), {}, np.array([True] * 3)), ((B, True), {}, ~B)],
    "bitwise_and": [((I, 6), {}, I & 6), ((B, ~B), {}, B & ~B)],
    "bitwise_or": [((I, 6), {}, I | 6), ((B, ~B), {}, B | ~B)],
    "bitwise_xor": [((I, 6), {}, I ^ 6), ((B, ~B), {}, B ^ ~B)],
    "bitwise_left_shift": [((I, 2), {}, I << 2), ((U, np.uint8([[1, 1], [1, 1]])), {}, U << np.uint8(1))],
    "bitwise_right_shift": [((-I, 1), {}, -I >> 1)],
    "bitwise_invert": [((I,), {}, ~I), ((B,), {}, ~B)],
    "positive": [((F,), {}, F)],
    "signbit": [((S,), {}, np.signbit(S))],
    "reciprocal": [((G,), {}, 1 / G)],
    **{name: [((F,), {}, getattr(np, name)(F))] for name in ("sin", "cos", "tan", "sinh", "cosh", "asinh", "expm1")},
    **{name: [((H,), {}, getattr(np, name)(H))] for name in ("asin", "acos", "atan", "atanh")},
    **{name: [((P,), {}, getattr(np, name)(P))] for name in ("acosh", "log2", "log10")},
    "round": [((S,), {}, np.float32([-2, -0.0, -0.0, 0, 2, 2])), ((I,), {}, I)],
    "trunc": [((S,), {}, np.float32([-2, -0.0, -0.0, 0, 1, 2])), ((I,), {}, I)],
    "isinf": [((np.float32([1, np.inf, -np.inf, np.nan]),), {}, np.array([False, True, True, False]))],
    "conj": [((C,), {}, C.conj()), ((F,), {}, F)],
    "real": [((C,), {}, C.real)],
    "imag": [((C,), {}, C.imag)],
    "clip": [
        ((F,), {}, F),
        ((F, -1.0, 4), {}, np.clip(F, -1, 4)),
        ((I,), {"max": 4}, np.minimum(I, 4)),
        ((F,), {"min": G}, np.maximum(F, G)),
    ],
    "matrix_transpose": [((F,), {}, F.T)],
    "moveaxis": [((F[None], 0, -1), {}, F[..., None]), ((F[None], (0, 1), (2, 0)), {}, F[..., None])],
    "broadcast_arrays": [((F, G[0]), {}, [F, np.stack([G[0], G[0]])])],
    "unstack": [((F,), {}, list(F)), ((F,), {"axis": -1}, list(F.T))],
    "flip": [((F,), {}, F[::-1, ::-1]), ((F,), {"axis": 0}, F[::-1])],
    "roll": [
        ((F, 1), {}, np.roll(F, 1)),
        ((F, -1), {"axis": 1}, np.roll(F, -1, 1)),
        ((F,), {"shift": (1, 2), "axis": (0, 1)}, np.roll(F, (1, 2), (0, 1))),
    ],
    "repeat": [((F, 2), {}, np.repeat(F, 2)), ((F, np.int32([0, 2])), {"axis": 0}, F[[1, 1]])],
    "tile": [((F, (2, 1)), {}, np.tile(F, (2, 1))), ((V, (2, 2)), {}, np.tile(V, (2, 2)))],
    "take_along_axis": [
        ((F, np.int32([[2], [-1]])), {}, F[:, [2]]),
        ((F, np.int32([[1, 0, 1]])), {"axis": 0}, np.float32([[4, -2, -6]])),
    ],
    "cumulative_sum": [
        ((V,), {}, np.int32([3, 4, 6, 7])),
        ((U,), {"axis": 0, "include_initial": True}, np.uint8([[0, 0], [200, 100], [44, 103]])),
        ((F,), {"axis": -1}, np.cumsum(F, -1)),
    ],
    "cumulative_prod": [
        ((V,), {}, np.int32([3, 3, 6, 6])),
        ((I,), {"axis": 1, "include_initial": True}, np.int32([[1, 1, 2, 6], [1, 4, 20, 120]])),
    ],
    "var": [
        ((F,), {"axis": 1}, np.var(F, axis=1)),
        ((F,), {"correction": 1, "keepdims": True}, np.var(F, ddof=1, keepdims=True)),
    ],
    "std": [((F,), {}, np.std(F)), ((F,), {"axis": 0, "correction": 1.0}, np.std(F, axis=0, ddof=1))],
    "diff": [
        ((F,), {}, np.diff(F)),
        ((I,), {"axis": 0, "prepend": I, "append": I, "n": 2}, np.diff(np.concatenate([I, I, I]), 2, 0)),
        ((I,), {"n": 0}, I),
    ],
    "vecdot": [
        ((F, G), {}, np.sum(F * G, -1)),
        ((C, C), {"axis": -1}, np.vecdot(C, C)),
        ((I, I), {"axis": 0}, np.int32([17, 29, 45])),
    ],
    "tensordot": [
        ((F, G), {}, np.tensordot(F, G)),
        ((I, I), {"axes": ((1,), (1,))}, I @ I.T),
        ((N, N), {"axes": 0}, np.outer(N, N)),
    ],
    "argmin": [((F,), {}, np.int32(5)), ((F,), {"axis": 1, "keepdims": True}, np.int32([[1], [2]]))],
    "count_nonzero": [((F - 1,), {}, np.int32(5)), ((B,), {"axis": 0, "keepdims": True}, np.int32([2]))],
    "searchsorted": [
        ((np.int32([1, 2, 2, 4]), V), {}, np.int32([3, 0, 1, 0])),
        ((np.int32([1, 2, 2, 4]), I), {"side": "right"}, np.int32([[1, 3, 3], [4, 4, 4]])),
        ((V, N), {"sorter": np.int32([1, 3, 2, 0])}, np.int32([0, 2])),
    ],
    "sort": [((V,), {}, np.int32([1, 1, 2, 3])), ((F,), {"axis": 0, "descending": True}, np.sort(F, 0)[::-1])],
    "argsort": [((V,), {}, np.int32([1, 3, 2, 0])), ((V,), {"descending": True}, np.int32([0, 2, 1, 3]))],
}
NEAR = ("var", "vecdot")  # five digits are written down; another order of additions
CASES = [(name, *call) for name, calls in CALLS.items() for call in calls]


@pytest.fixture(scope="module")
def xp():
    import simstrategy as ss

    return ss.backend("sim", replicas=2).xp


def test_every_function_of_the_namespace_is_called_here():
    assert set(CALLS) == set(NAMES)
    assert len(NAMES) == len(set(NAMES)) == 120


@pytest.mark.parametrize(("name", "arguments", "keywords", "expected"), CASES)
def test_a_function_gives_values_and_dtype_as_the_standard_and_our_rules_say(
    xp, same, name, arguments, keywords, expected
):
    result = getattr(xp, name)(*arguments, **keywords)
    assert isinstance(result, (list, tuple)) == isinstance(expected, (list, tuple))
    for found, wanted in zip(
        *[(one if isinstance(one, (list, tuple)) else [one]) for one in (result, expected)], strict=True
    ):
        assert isinstance(found, SimArray)
        if name in NEAR:
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
        else:
            same(found, wanted)


@pytest.mark.parametrize(("name", "arguments", "keywords", "expected"), CASES)
def test_a_function_is_called_here_as_the_protocol_allows(name, arguments, keywords, expected):
    bound = inspect.signature(getattr(ArrayNamespace, name)).bind(None, *arguments, **keywords)
    (_, *positional), named = bound.args, bound.kwargs
    found, given = (*positional, *named.values()), (*arguments, *keywords.values())
    assert sorted(map(id, found)) == sorted(map(id, given))


@pytest.mark.parametrize("name", NAMES)
def test_a_function_that_names_its_parameters_names_them_as_the_protocol_does(xp, name):
    ours = inspect.signature(getattr(xp, name)).parameters
    protocol = dict(list(inspect.signature(getattr(ArrayNamespace, name)).parameters.items())[1:])
    if {"arguments", "settings", "keywords", "more"} & set(ours):
        return  # made of NumPy's function; the calls above show that it takes the contract's parameters
    assert list(ours) == list(protocol)
    assert [one.kind for one in ours.values()] == [one.kind for one in protocol.values()]
    assert [one.default for one in ours.values()] == [one.default for one in protocol.values()]


@pytest.mark.parametrize(("name", "arguments", "keywords", "expected"), CASES)
def test_no_function_writes_to_what_it_is_given(xp, name, arguments, keywords, expected):
    before = [np.array(one) if isinstance(one, np.ndarray) else None for one in arguments]
    result = getattr(xp, name)(*arguments, **keywords)
    for copy, argument in zip(before, arguments, strict=True):
        if copy is not None:
            assert copy.tobytes() == argument.tobytes()
    assert result is not None


def test_a_list_beside_an_array_takes_the_default_dtype_and_a_number_takes_the_arrays(xp, same):
    half = xp.asarray(np.float16([1, 2]))
    same(xp.add(half, 1.0), np.float16([2, 3]))
    same(xp.multiply(2, half), np.float16([2, 4]))
    same(xp.add(xp.ones(2), [1.0, 2.0]), np.float32([2, 3]))
    same(xp.add([1.0, 2.0], xp.ones(2)), np.float32([2, 3]))


def test_what_is_created_is_on_the_device_of_the_running_replica(mirrored):
    import simstrategy as ss

    strategy = mirrored(3)

    def replica():
        xp = ss.get_replica_context().xp
        return [xp.zeros(2).placement, xp.arange(2).placement, xp.asarray([1]).placement, xp.add(1, 2).placement]

    assert [one.values for one in strategy.run(replica)] == [("sim:0", "sim:1", "sim:2")] * 4
    assert strategy.xp.zeros(2).placement == "sim:0"


@pytest.mark.parametrize(("name", "arguments", "keywords", "expected"), CASES)
def test_a_result_is_where_its_arguments_are(name, arguments, keywords, expected):
    import simstrategy as ss

    if name in ("asarray", "zeros", "ones", "full", "arange", "linspace", "eye"):
        pytest.skip("made where the running replica is")
    backend = ss.backend("sim", replicas=2)

    def put(one):
        if isinstance(one, list) and one and isinstance(one[0], np.ndarray):
            return [put(each) for each in one]
        return backend.put(one, backend.devices[1]) if isinstance(one, np.ndarray) else one

    moved, options = [put(one) for one in arguments], {key: put(one) for key, one in keywords.items()}
    if not any(isinstance(one, SimArray) for one in (*moved, *(moved[0] if isinstance(moved[0], list) else ()))):
        pytest.skip("no array among the arguments")
    result = getattr(backend.xp, name)(*moved, **options)
    assert {one.placement for one in (result if isinstance(result, (list, tuple)) else (result,))} == {"sim:1"}


def test_asarray_copies_host_data_and_hands_device_arrays_through(xp):
    host = np.ones(3, np.float32)
    array = xp.asarray(host)
    host[0] = 5
    assert array[0] == 1
    assert xp.asarray(array) is array


@pytest.mark.parametrize("name", [name for name in NAMES if isinstance(CALLS[name][0][0][0], np.ndarray)])
def test_no_result_shares_memory_with_host_data(xp, name):
    for arguments, keywords, _ in CALLS[name]:
        result = getattr(xp, name)(*arguments, **keywords)
        for found in result if isinstance(result, (list, tuple)) else (result,):
            assert not any(np.shares_memory(found, one) for one in arguments if isinstance(one, np.ndarray))


@pytest.mark.parametrize("dtype", ["floaty", "str", "object", "datetime64"])
def test_a_dtype_that_does_not_exist_is_refused_with_those_that_do(xp, dtype):
    for make in (xp.zeros, xp.arange):
        with pytest.raises(InvalidArgument, match=r"There is no dtype .*; choose from bool, int8"):
            make(2, dtype=dtype)


@pytest.mark.parametrize("value", [["a"], np.array(["x"]), np.array([object()])], ids=["text", "texts", "objects"])
def test_an_array_of_anything_but_numbers_is_refused(xp, value):
    with pytest.raises((InvalidArgument, TypeError), match=r"dtype|number"):
        xp.asarray(value)


def test_ragged_rows_are_refused_with_advice(xp):
    with pytest.raises(InvalidArgument, match="Give rows of equal length"):
        xp.asarray([[1], [1, 2]])


def test_bfloat16_is_there_with_its_package(xp):
    pytest.importorskip("ml_dtypes")
    array = xp.astype(xp.asarray([1.0, 2.5]), "bfloat16")
    assert array.dtype.name == "bfloat16"
    assert xp.sum(array).dtype.name == "bfloat16"
    assert float(xp.sum(array)) == 3.5


def test_dtypes_are_told_by_name_however_they_are_given():
    assert [canonical_dtype(one) for one in ("float32", np.float32, np.dtype("float32"))] == ["float32"] * 3
    assert canonical_dtype(bool) == "bool"
    assert [default_dtype(kind) for kind in "bifcu"] == ["bool", "int32", "float32", "complex64", "int32"]
    assert default_dtype("U") is None


@pytest.mark.parametrize(
    ("name", "arguments", "keywords"),
    [
        ("sum", (F,), {"axis": 2}),
        ("var", (F,), {"axis": -3}),
        ("cumulative_sum", (F,), {}),
        ("sort", (F,), {"axis": 2}),
        ("flip", (F,), {"axis": 2}),
        ("diff", (F,), {"axis": 2}),
        ("diff", (F,), {"n": -1}),
        ("unstack", (np.float32(1),), {}),
        ("matrix_transpose", (F[0],), {}),
        ("tril", (F[0],), {}),
        ("matmul", (F, G), {}),
        ("vecdot", (F, G[:, :2]), {}),
        ("tensordot", (F, G.T), {}),
        ("add", (F, G[:, :2]), {}),
        ("broadcast_to", (F, (3, 2)), {}),
        ("concat", ([F, G[0]],), {}),
        ("take", (F, [3]), {"axis": 1}),
        ("take_along_axis", (F, np.int32([[3], [0]])), {}),
        ("bitwise_and", (F, G), {}),
        ("meshgrid", (N, V), {"indexing": "xz"}),
        ("searchsorted", (V, N), {"side": "middle"}),
        ("astype", (F, "float31"), {}),
        ("linspace", (0, 1, 3), {"dtype": "float31"}),
        ("linspace", (0, 1, -3), {}),
    ],
)
def test_wrong_axes_shapes_dtypes_and_settings_raise(xp, name, arguments, keywords):
    with pytest.raises((ValueError, TypeError, IndexError)):
        getattr(xp, name)(*arguments, **keywords)
