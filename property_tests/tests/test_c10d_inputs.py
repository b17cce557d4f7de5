"""What ranks give to calls of torch.distributed, and the oracle: NumPy alone, no process."""

import itertools

import numpy as np
import pytest

from simstrategy_conformance.c10d import wanted
from simstrategy_conformance.c10d.inputs import PARTS, given_by, index_of, members_of
from simstrategy_conformance.c10d.rows import EXACT, OPS
from simstrategy_conformance.covering import Lengths, Row, is_possible


@pytest.mark.parametrize(("op", "dtype"), [one for one in itertools.product(OPS, EXACT) if one != ("SUM", "bool")])
def test_what_ranks_combine_is_exact_in_any_order(op: str, dtype: str) -> None:
    row = Row(ranks=8, op=op, dtype=dtype, lengths=Lengths(65))
    if not is_possible(row._asdict()):
        pytest.skip("no such reduction")
    arrays = [given_by(row, index, op=op) for index in range(8)]
    forwards, backwards = wanted.combined(arrays, op), wanted.combined(arrays[::-1], op)
    assert forwards.tobytes() == backwards.tobytes()
    wide = np.complex128 if forwards.dtype.kind == "c" else np.float64 if forwards.dtype.kind == "f" else object
    exact = wanted.combined([np.asarray(one, bool if dtype == "bool" else wide) for one in arrays], op)
    assert (np.asarray(forwards, exact.dtype) == exact).all(), "the result overflows or rounds"
    if dtype == "bfloat16":  # its numbers are float32 numbers with 16 bits of zeros
        assert not (forwards.view(np.uint32) & 0xFFFF).any()
    assert len({one.tobytes() for one in arrays}) == (3 if op == "PRODUCT" and dtype.startswith("u") else 8)


@pytest.mark.parametrize("op", ["", "SUM", "PRODUCT"])
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_a_call_that_is_made_again_has_other_numbers(op: str, dtype: str) -> None:
    row = Row(ranks=2, op=op or "SUM", dtype=dtype, lengths=Lengths(7), again=True)
    calls = [[given_by(row, index, op=op, repeat=repeat) for index in range(2)] for repeat in range(2)]
    assert not np.array_equal(calls[0][0], calls[1][0])
    first, again = (wanted.combined(arrays, op or "MAX") for arrays in calls)
    assert not np.array_equal(first, again)


def test_members_of_groups_are_ranks_of_the_world() -> None:
    assert [members_of(part, 5) for part in PARTS] == [(0, 1, 2, 3, 4), (1, 2, 3, 4), (0, 2, 4)]
    assert [members_of(part, 1) for part in PARTS] == [(0,)] * 3
    assert index_of(Row(ranks=5, part="but_first", root="last")) == 3


def test_uneven_rows_have_other_sizes_in_each_member() -> None:
    row = Row(ranks=3, lengths=Lengths(2), uneven=True)
    assert [given_by(row, index).shape for index in range(3)] == [(2,), (3,), (4,)]


def test_the_bound_of_a_mean_holds_for_division_before_and_after_the_sum() -> None:
    arrays = [np.asarray(np.random.default_rng(one).normal(size=1000), np.float32) for one in range(7)]
    exact, bound = wanted.average(arrays), wanted.average_bound(arrays, "float32")
    after = wanted.combined(arrays, "SUM") / np.float32(7)
    before = wanted.combined([one / np.float32(7) for one in arrays], "SUM")
    times = wanted.combined([one * np.float32(1 / 7) for one in arrays], "SUM")
    for found in (after, before, times):
        assert (np.abs(found - exact) <= bound).all()
    assert not (np.abs(wanted.combined(arrays, "SUM") - exact) <= bound).any()
