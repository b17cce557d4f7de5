"""Collectives of the simulator in all orders, against folds written out by hand."""

import functools

import numpy as np
import pytest

from simstrategy.errors import InvalidArgument
from simstrategy.sim import ORDERS

OPS = {"SUM": np.add, "MIN": np.minimum, "MAX": np.maximum}
DTYPES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def fold(values, ufunc):
    """One element of each rank, from the first on, rounded at each step."""
    return functools.reduce(lambda total, value: ufunc(total, value, dtype=total.dtype), values)


def linear(columns, ufunc):
    return [fold(column, ufunc) for column in columns]


def ring(columns, ufunc):
    count, size = len(columns[0]) if columns else 1, len(columns)
    width = -(-size // count)
    results = []
    for place, column in enumerate(columns):
        block = place // width
        start = (block + 1) % count
        results.append(fold([*column[start:], *column[:start]], ufunc))
    return results


def tree(columns, ufunc):
    def halve(values):
        while len(values) > 1:
            pairs = [fold(values[i : i + 2], ufunc) for i in range(0, len(values), 2)]
            values = pairs
        return values[0]

    return [halve(column) for column in columns]


BY_HAND = {"linear": linear, "ring": ring, "tree": tree}


def expected(arrays, op, order):
    columns = list(zip(*[[array.reshape(-1)[i] for i in range(array.size)] for array in arrays], strict=True))
    values = BY_HAND[order](columns, OPS[op])
    return np.array(values, arrays[0].dtype).reshape(arrays[0].shape)


def random_arrays(count, shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind in "iu":
        info = np.iinfo(dtype)
        return [rng.integers(info.min, info.max, shape, dtype, endpoint=True) for _ in range(count)]
    arrays = [rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3) for _ in range(count)]
    return [(a + 1j * a[..., ::-1] if kind == "c" else a).astype(dtype) for a in arrays]


def put_all(backend, arrays):
    return tuple(backend.put(np.asarray(array), device) for array, device in zip(arrays, backend.devices, strict=True))


def summed(sim, arrays, op="SUM", order="linear"):
    backend = sim(len(arrays), order=order)
    return backend.all_reduce(put_all(backend, arrays), op)


def check(results, wanted):
    for result in results:
        assert result.dtype == wanted.dtype
        assert result.shape == wanted.shape
        assert np.asarray(result).tobytes() == wanted.tobytes()


def test_the_orders_are_the_ones_that_are_written_out_here():
    assert set(ORDERS) == set(BY_HAND)


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_a_sum_is_the_fold_of_its_order_to_the_bit(sim, order, count, dtype):
    arrays = random_arrays(count, (3, 5), dtype, seed=count)
    check(summed(sim, arrays, order=order), expected(arrays, "SUM", order))


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_summed_in_itself_and_integers_wrap(sim, order, dtype):
    arrays = random_arrays(3, (4,), dtype, seed=7)
    with np.errstate(over="ignore"):
        check(summed(sim, arrays, order=order), expected(arrays, "SUM", order))


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("op", ["MIN", "MAX"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64"])
def test_minimum_and_maximum_are_elementwise(sim, order, op, dtype):
    arrays = random_arrays(5, (2, 3), dtype)
    stacked = np.stack(arrays)
    check(summed(sim, arrays, op, order), stacked.min(axis=0) if op == "MIN" else stacked.max(axis=0))


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_nan_on_any_rank_wins(sim, order, op, place):
    arrays = [np.float32([1, 2]) for _ in range(3)]
    arrays[place] = np.float32([np.nan, 3])
    (first, *_) = summed(sim, arrays, op, order)
    assert np.isnan(first[0])
    assert not np.isnan(first[1])


def test_the_orders_round_differently_where_rounding_tells_them_apart(sim):
    arrays = [np.float32([value] * 4) for value in (1e8, 1.0, -1e8, 1.0)]
    assert summed(sim, arrays, order="linear")[0].tolist() == [1, 1, 1, 1]
    assert summed(sim, arrays, order="ring")[0].tolist() == expected(arrays, "SUM", "ring").tolist()
    assert summed(sim, arrays, order="tree")[0].tolist() == [0, 0, 0, 0]
    assert len(set(summed(sim, arrays, order="ring")[0].tolist())) > 1


@pytest.mark.parametrize("order", BY_HAND)
def test_float16_rounds_at_each_addition(sim, order):
    arrays = [np.float16([2048])] + [np.float16([1])] * 4
    assert summed(sim, arrays, order=order)[0].tolist() == expected(arrays, "SUM", order).tolist()
    assert summed(sim, arrays, order="linear")[0].tolist() == [2048]


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,), (2, 0, 4), (1, 1, 1)])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_scalars_empty_and_tiny_arrays_keep_their_shape(sim, order, shape, count):
    arrays = [np.full(shape, i + 1, np.float32) for i in range(count)]
    results = summed(sim, arrays, order=order)
    check(results, np.full(shape, sum(range(count + 1)), np.float32))
    assert len(results) == count


@pytest.mark.parametrize("order", BY_HAND)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_arrays_that_do_not_lie_in_order_are_summed_by_place(sim, order, count):
    rows = random_arrays(count, (6, 8), "float32")
    views = {
        "transposed": [row.T for row in rows],
        "strided": [row[::2, ::3] for row in rows],
        "reversed": [row[::-1] for row in rows],
        "broadcast": [np.broadcast_to(row[0], (3, 8)) for row in rows],
        "mixed": [rows[0], *[np.asfortranarray(row) for row in rows[1:]]],
    }
    backend = sim(count, order=order)
    kinds = [type(backend.put(np.zeros(1), device)) for device in backend.devices]
    for arrays in views.values():
        given = tuple(array.view(kind) for array, kind in zip(arrays, kinds, strict=True))
        check(backend.all_reduce(given, "SUM"), expected(arrays, "SUM", order))


@pytest.mark.parametrize("order", BY_HAND)
def test_large_arrays_are_the_same_fold_as_small_ones(sim, order):
    arrays = random_arrays(3, (600_000,), "float32")
    whole = np.asarray(summed(sim, arrays, order=order)[0])
    by_hand = {
        "linear": lambda: (arrays[0] + arrays[1]) + arrays[2],
        "tree": lambda: (arrays[0] + arrays[1]) + arrays[2],
        "ring": lambda: np.concatenate(
            [
                functools.reduce(
                    np.add, [arrays[(k + 1 + step) % 3][k * 200_000 : (k + 1) * 200_000] for step in range(3)]
                )
                for k in range(3)
            ]
        ),
    }[order]()
    assert whole.tobytes() == by_hand.tobytes()


def test_large_arrays_that_do_not_lie_in_order_are_summed_by_place(sim):
    arrays = [array.T for array in random_arrays(4, (550, 500), "float64")]
    backend = sim(4)
    given = tuple(a.view(type(backend.put(np.zeros(1), d))) for a, d in zip(arrays, backend.devices, strict=True))
    check(backend.all_reduce(given, "SUM"), np.ascontiguousarray(((arrays[0] + arrays[1]) + arrays[2]) + arrays[3]))


@pytest.mark.parametrize("order", BY_HAND)
def test_no_collective_writes_to_its_arguments(sim, order):
    arrays = random_arrays(3, (7,), "float32")
    backend = sim(3, order=order)
    given = tuple(
        array.view(type(backend.put(np.zeros(1), d))) for array, d in zip(arrays, backend.devices, strict=True)
    )
    before = [array.tobytes() for array in given]
    backend.all_reduce(given, "SUM")
    backend.reduce(given, "MAX", root=1)
    backend.all_gather(given, axis=0, sizes=(7, 7, 7))
    assert [array.tobytes() for array in given] == before
    assert all(array.flags.writeable for array in given)


def test_bfloat16_is_summed_in_itself(sim):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    arrays = [np.array([256.0], ml_dtypes.bfloat16)] + [np.array([1.0], ml_dtypes.bfloat16)] * 2
    (first, *_) = summed(sim, arrays)
    assert first.dtype == ml_dtypes.bfloat16
    assert float(first[0]) == 256.0


@pytest.mark.parametrize("order", ["", "rings", "LINEAR"])
def test_an_order_that_does_not_exist_is_refused_with_those_that_do(sim, order):
    with pytest.raises(InvalidArgument, match=r"no order of additions named .*\['linear', 'ring', 'tree'\]"):
        sim(2, order=order)
