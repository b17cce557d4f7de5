"""Sums that round: cancellation, subnormals, infinities, NaN, the huge and the tiny; and calls that are repeated.

Bounds come from the number of additions alone, so that any order of them passes, and wider accumulation too.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import Group, finfo_of, floats_of, host_dtype, put_all
from simstrategy_conformance.calling import call, check, put
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.observe import host, same_bits
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject, me

Host = np.ndarray[Any, Any]
FLOATS = ("float32", "float64", "float16")


@st.composite
def columns(draw: Any, subject: Subject, *, ranks_min: int = 2, numbers: Any = floats_of) -> Group:
    """Draws a few numbers for each rank."""
    dtype = draw(sampled(subject.having(*FLOATS)))
    ranks = draw(sampled([n for n in (3, 2, 4, subject.profile.replicas_max) if n >= ranks_min]))
    size = draw(st.integers(1, 3))
    element = numbers(dtype)
    return Group(tuple(np.array([draw(element) for _ in range(size)], dtype) for _ in range(ranks)))


def sums(subject: Subject, arrays: Sequence[Host]) -> list[Host]:
    """Returns the sum that each rank has."""
    backend = subject.open(len(arrays))
    return [backend.get(one) for one in backend.all_reduce(put_all(backend, arrays), "SUM")]


def check_sum(arrays: Sequence[Host], found: Host) -> None:
    """Fails unless each sum is within the bound of its additions, and is as infinite and as much NaN as it must be."""
    if found.dtype.kind == "c":
        check_sum([array.real for array in arrays], found.real)
        return check_sum([array.imag for array in arrays], found.imag)
    info = finfo_of(found.dtype)
    largest, least = float(info.max), float(info.tiny)
    wide = [np.asarray(array, np.float64) for array in arrays]
    bounds = oracle.rounding_bound([np.where(np.isfinite(array), array, 0) for array in wide], float(info.eps))
    for place in range(found.size):
        numbers = [float(array[place]) for array in arrays]
        message = f"the sum of {numbers} in {found.dtype} is {found[place]}"
        infinite = {number for number in numbers if math.isinf(number)}
        if any(math.isnan(number) for number in numbers) or len(infinite) == 2:
            assert math.isnan(found[place]), f"{message}: NaN was expected"
        elif infinite:
            assert found[place] == infinite.pop(), f"{message}: infinity was expected"
        elif sum(abs(number) / 2 for number in numbers) <= largest / 2.01:
            exact, bound = math.fsum(numbers), float(bounds[place])
            # Another test examines numbers flushed to zero: here a subnormal may count as 0.
            bound += least * len(numbers)
            assert abs(float(found[place]) - exact) <= bound, f"{message}: {exact} within {bound} was expected"
    return None


def cancelling(dtype: str) -> st.SearchStrategy[float]:
    info = np.finfo(dtype)
    big = float(2.0 ** (info.nmant + 2))
    return st.sampled_from([big, -big, 1.0, -1.0, 0.5, big + 8, 1 / 3])


def any_or_cancelling(subject: Subject) -> st.SearchStrategy[Group]:
    return columns(subject) | columns(subject, numbers=cancelling, ranks_min=3)


@property_test("B-9", group=any_or_cancelling, share=1.5)
def test_a_sum_of_any_floats_is_as_near_as_its_additions_allow(subject: Subject, group: Group) -> None:
    for found in sums(subject, group.arrays):
        check_sum(group.arrays, found)


@property_test("B-8", group=any_or_cancelling)
def test_every_rank_has_the_same_bits_of_a_sum_that_rounds(subject: Subject, group: Group) -> None:
    found = sums(subject, group.arrays)
    for rank, one in enumerate(found):
        assert same_bits(found[0], one), f"rank {rank} has {one.tolist()}, and rank 0 {found[0].tolist()}"


def tiny(dtype: str) -> st.SearchStrategy[float]:
    least = float(np.finfo(dtype).smallest_subnormal)
    return st.integers(-9, 9).map(lambda n: n * least)


@property_test("B-9", group=lambda subject: columns(subject, numbers=tiny))
def test_subnormals_are_added_and_not_flushed(subject: Subject, group: Group) -> None:
    exact = np.asarray(np.sum(group.arrays, axis=0), group.arrays[0].dtype)
    for found in sums(subject, group.arrays):
        assert np.array_equal(found, exact), f"expected {exact.tolist()}, found {found.tolist()}"
    for part in (slice(None), 0):  # an array function adds them as well, also those without an axis
        one, other = (np.asarray(array[part]) for array in group.arrays[:2])
        check(subject, call(subject, "add", put(subject, one), put(subject, other)), one + other)
        both = put(subject, np.stack([one, other]))
        for keepdims in (False, True):
            wanted = np.expand_dims(one + other, 0) if keepdims else one + other
            check(subject, call(subject, "sum", both, axis=0, keepdims=keepdims), wanted)


def ordinary(dtype: str) -> st.SearchStrategy[float]:
    return st.integers(-999, 999).map(lambda n: float(np.dtype(dtype).type(n / 7)))


@property_test("B-9", group=lambda subject: columns(subject, numbers=ordinary).filter(lambda group: group.ranks == 2))
def test_two_ranks_add_with_one_rounding(subject: Subject, group: Group) -> None:
    wanted = group.arrays[0] + group.arrays[1]
    for found in sums(subject, group.arrays):
        assert same_bits(wanted, found), f"expected {wanted.tolist()}, found {found.tolist()}"


@clause("B-9")
def test_a_sum_of_negative_zeros_is_a_negative_zero(subject: Subject) -> None:
    for dtype in [one for one in FLOATS if one in subject.dtypes]:
        arrays = [np.array([-0.0, -0.0, 1.0], dtype), np.array([-0.0, 0.0, -1.0], dtype)]
        wanted = arrays[0] + arrays[1]
        for found in sums(subject, arrays):
            assert same_bits(wanted, found), f"expected {wanted.tolist()}, found {found.tolist()}"


@clause("B-9")
def test_a_sum_of_many_numbers_is_as_near_as_that_of_one(subject: Subject) -> None:
    for dtype in [one for one in FLOATS if one in subject.dtypes]:
        arrays = [np.full((64,), 0.1, dtype) for _ in range(3)]
        for found in sums(subject, arrays):
            check_sum(arrays, found)


def _of_the_whole_range(dtype: np.dtype[Any]) -> list[Host]:
    """Returns an array for each of three ranks: what another dtype has too few bits for, or too small a range."""
    info = finfo_of(dtype)
    largest, least, eps = float(info.max), float(info.tiny), float(info.eps)
    columns = [
        (0.1,) * 3,
        (largest / 8, largest / 8, -largest / 16),
        (least * 64,) * 3,
        (1, eps, eps),
        (1 / 3, 2 / 3, 1),
    ]
    hosts = [np.array(row, np.float64) for row in zip(*columns, strict=True)]
    turned = [host[::-1] for host in hosts]
    return [
        (host + 1j * other if dtype.kind == "c" else host).astype(dtype)
        for host, other in zip(hosts, turned, strict=True)
    ]


@clause("B-9")
def test_a_sum_has_the_bits_and_the_range_of_its_dtype(subject: Subject) -> None:
    for dtype in filter(None, map(host_dtype, subject.having(*FLOATS, "bfloat16", "complex64", "complex128"))):
        arrays = _of_the_whole_range(dtype)
        for found in sums(subject, arrays):
            check_sum(arrays, found)


@property_test("R-1", group=lambda subject: columns(subject, numbers=ordinary))
def test_a_mean_is_the_sum_divided_once(subject: Subject, group: Group) -> None:
    strategy = subject.strategy(group.ranks)
    value = ss.PerReplica(group.arrays)

    def replica(x: Any) -> Any:
        ctx = me()
        return ctx.all_reduce("SUM", x), ctx.all_reduce("MEAN", x)

    total, mean = host(strategy.run(replica, args=(value,)), subject.open(group.ranks))
    strategy.close()
    if subject.open(1).capabilities.reproducible_bits:
        wanted = oracle.divided(total.values[0], group.ranks)
        assert same_bits(wanted, mean.values[0]), f"the sum {total.values[0]}, divided once, is not {mean.values[0]}"


@property_test("B-14", group=lambda subject: columns(subject, numbers=ordinary, ranks_min=3), share=0.5)
def test_equal_calls_give_equal_bits(subject: Subject, group: Group) -> None:
    backend = subject.open(group.ranks)
    if backend.capabilities.reproducible_bits:
        arrays = put_all(backend, group.arrays)
        first = backend.get(backend.all_reduce(arrays, "SUM")[0])
        for number in range(64):
            again = backend.get(backend.all_reduce(arrays, "SUM")[0])
            assert same_bits(first, again), f"call {number + 2} gave {again.tolist()}, the first {first.tolist()}"


@property_test("B-14", groups=lambda subject: columns(subject, numbers=ordinary), data=st.data())
def test_later_calls_change_no_earlier_result(subject: Subject, groups: Group, data: st.DataObject) -> None:
    backend = subject.open(groups.ranks)
    kept = []
    for turn in range(data.draw(st.integers(1, 4))):
        arrays = put_all(backend, [array + np.asarray(turn, array.dtype) for array in groups.arrays])
        results = data.draw(
            st.sampled_from(
                [
                    lambda arrays=arrays: backend.all_reduce(arrays, "SUM"),
                    lambda arrays=arrays: backend.all_reduce(arrays, "MAX"),
                    lambda arrays=arrays: backend.all_gather(
                        arrays, axis=0, sizes=(groups.arrays[0].size,) * groups.ranks
                    ),
                ]
            )
        )()
        kept += [(one, backend.get(one)) for one in results]
    for number, (one, was) in enumerate(kept):
        assert same_bits(was, backend.get(one)), f"result {number} changed after later calls"
