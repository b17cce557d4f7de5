"""Sums, means and gathers over replicas, as strategies make them of a backend's additions."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import Group, exact_arrays, groups
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import host, same_bits
from simstrategy_conformance.program import Program
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject, me
from simstrategy_conformance.verdict import agrees

Host = np.ndarray[Any, Any]


def small(subject: Subject, body: tuple[str, ...], after: tuple[str, ...], **more: Any) -> Any:
    rules = {"body_max": 2, "after_max": 2, "variables": False, "stops": False, "draws": False, "workers_max": 1}
    return programs(subject, body=body, after=after, **{"data": False} | rules | more)


def reduced(subject: Subject, op: str, values: tuple[Any, ...], axis: Any) -> Host:
    strategy = subject.strategy(len(values))
    with np.errstate(all="ignore"):  # a mean of nothing is NaN, and no news
        found = strategy.reduce(op, ss.PerReplica(values) if len(values) > 1 else values[0], axis=axis)
    strategy.close()
    return np.asarray(host(found, subject.open(len(values))))


MEANABLE = ("float32", "float16", "float64", "int8", "uint8", "int16", "int32", "int64")


def meanable(subject: Subject) -> st.SearchStrategy[Group]:
    wide = "float64" in subject.dtypes
    return groups(subject, dtypes=tuple(one for one in MEANABLE if wide or one not in ("int32", "int64")))


@property_test("R-1", group=groups)
def test_reduce_adds_in_the_values_dtype(subject: Subject, group: Group) -> None:
    found, wanted = reduced(subject, "SUM", group.arrays, None), oracle.all_reduced(group.arrays, "SUM")
    assert same_bits(wanted, found), f"SUM of {group}: expected {wanted!r}, found {found!r}"


@property_test("R-1", group=meanable)
def test_reduce_averages_integers_in_floats(subject: Subject, group: Group) -> None:
    found, wanted = reduced(subject, "MEAN", group.arrays, None), oracle.all_reduced(group.arrays, "MEAN")
    assert same_bits(wanted, found), f"MEAN of {group}: expected {wanted!r}, found {found!r}"


@st.composite
def partial_batches(draw: Any, subject: Subject) -> tuple[Host, ...]:
    """Draws each replica's part of a batch: of any size, and none."""
    wide = "float64" in subject.dtypes
    dtype = draw(sampled(subject.having("float32", "float64", *(("int32",) if wide else ()))))
    tail = draw(sampled([(), (2,)]))
    ranks = draw(st.integers(1, 4))
    return tuple(draw(exact_arrays(dtype, (draw(st.integers(0, 3)), *tail))) for _ in range(ranks))


@property_test("R-2", parts=partial_batches, op=st.sampled_from(["SUM", "MEAN"]))
def test_a_batch_is_reduced_by_its_elements(subject: Subject, parts: tuple[Host, ...], op: str) -> None:
    whole = np.concatenate(parts)
    with np.errstate(all="ignore"):
        total = np.asarray(np.sum(whole, axis=0, dtype=whole.dtype))
    wanted = total if op == "SUM" else oracle.divided(total, len(whole))
    found = reduced(subject, op, parts, 0)
    assert same_bits(wanted, found), f"{op} of {[p.tolist() for p in parts]}: expected {wanted!r}, found {found!r}"


@property_test("R-2", parts=partial_batches, axes=st.sampled_from([-1, (0,), (-1,)]))
def test_an_axis_may_count_from_behind_and_come_in_a_tuple(
    subject: Subject, parts: tuple[Host, ...], axes: Any
) -> None:
    sums = [np.asarray(np.sum(part, axis=axes, dtype=part.dtype)) for part in parts]
    if len({one.shape for one in sums}) == 1:
        wanted, found = oracle.all_reduced(sums, "SUM"), reduced(subject, "SUM", parts, axes)
        assert same_bits(wanted, found), f"axis {axes} of {[p.tolist() for p in parts]}: {wanted!r}, found {found!r}"


@clause("R-3")
def test_a_plain_value_is_its_own_mean_and_counts_once_per_replica_along_an_axis(subject: Subject) -> None:
    strategy, x = subject.strategy(2), np.array([1.0, 2.0], np.float32)
    assert host(strategy.reduce("MEAN", x, axis=None), subject.open(2)).tolist() == [1.0, 2.0]
    assert host(strategy.reduce("SUM", x, axis=0), subject.open(2)) == 6.0
    assert host(strategy.reduce("MEAN", x, axis=0), subject.open(2)) == 1.5
    with pytest.raises(ss.errors.InvalidArgument, match="cannot be reduced"):
        strategy.reduce("SUM", x, axis=None)
    strategy.close()


@clause("R-4")
def test_what_cannot_be_added_is_refused_with_each_replicas_form(subject: Subject) -> None:
    strategy = subject.strategy(2)
    shapes = ss.PerReplica([np.zeros(1, np.float32), np.zeros(2, np.float32)])
    with pytest.raises(ss.errors.InvalidArgument, match=r"replica 0: float32\[1\]\n  replica 1: float32\[2\]"):
        strategy.reduce("SUM", shapes, axis=None)
    with pytest.raises(ss.errors.InvalidArgument):
        strategy.reduce("SUM", ss.PerReplica([np.zeros(1, np.float32), np.zeros(1, np.int32)]), axis=None)
    with pytest.raises(ss.errors.InvalidArgument, match="bool"):
        strategy.reduce("SUM", ss.PerReplica([np.array([True]), np.array([False])]), axis=None)
    with pytest.raises(ss.errors.InvalidArgument, match="dimension 1"):
        strategy.reduce("SUM", ss.PerReplica([np.zeros(1, np.float32)] * 2), axis=1)
    strategy.close()


@property_test("R-5", program=lambda s: small(s, ("all_reduce",), ("local",)))
def test_all_reduce_gives_every_replica_the_reduction_of_a_nest(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("R-6", program=lambda s: small(s, ("all_gather",), ("local",), data=None))
def test_all_gather_joins_in_rank_order_whatever_the_sizes(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("R-7", count=st.integers(1, 4), number=st.integers(-9, 9))
def test_one_shared_object_counts_once_for_each_replica(subject: Subject, count: int, number: int) -> None:
    strategy, backend = subject.strategy(count), subject.open(count)
    shared = backend.put(np.array([number], np.float32), backend.devices[0])
    found = strategy.run(lambda: me().all_reduce("SUM", shared))
    values = [host(one, backend).tolist() for one in strategy.experimental_local_results(found)]
    strategy.close()
    assert values == [[float(number * count)]] * count


@property_test("R-9", program=lambda s: small(s, ("give", "all_reduce"), ("gather",), data=None))
def test_gather_joins_a_values_components(subject: Subject, program: Program) -> None:
    agrees(subject, program)
