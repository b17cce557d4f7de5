"""The group-calls: `all_reduce`, `reduce`, `broadcast`, `all_gather` and `exchange`."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from simstrategy.device import ArraySpec
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import NUMBERS, Group, exact_arrays, groups, put_all, scribble, special_arrays
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]
REAL = tuple(dtype for dtype in NUMBERS if not dtype.startswith("complex"))


def real_groups(subject: Subject) -> st.SearchStrategy[Group]:
    return groups(subject, dtypes=REAL)


def check(subject: Subject, group: Group, results: Any, wanted: Host) -> None:
    """Fails unless there is a result for each rank, in order, on its device, equal to the bit."""
    backend = subject.open(group.ranks)
    assert len(results) == group.ranks
    for device, result in zip(backend.devices, results, strict=True):
        assert tuple(backend.spec(result)) == (wanted.shape, wanted.dtype.name, device.placement)
        found = backend.get(result)
        assert same_bits(wanted, found), f"rank {device.rank}: expected {wanted.tolist()}, found {found.tolist()}"


@property_test("B-8", group=groups)
def test_a_sum_is_over_all_ranks_and_the_same_on_each(subject: Subject, group: Group) -> None:
    backend = subject.open(group.ranks)
    results = backend.all_reduce(put_all(backend, group.arrays), "SUM")
    check(subject, group, results, oracle.all_reduced(group.arrays, "SUM"))


@property_test("B-8", group=real_groups, op=st.sampled_from(["MIN", "MAX"]))
def test_minimum_and_maximum_are_elementwise(subject: Subject, group: Group, op: Any) -> None:
    backend = subject.open(group.ranks)
    results = backend.all_reduce(put_all(backend, group.arrays), op)
    check(subject, group, results, oracle.all_reduced(group.arrays, op))


@property_test("B-8", data=st.data(), op=st.sampled_from(["MIN", "MAX"]))
def test_nan_wins_minimum_and_maximum(subject: Subject, data: st.DataObject, op: Any) -> None:
    dtype = data.draw(st.sampled_from(subject.having("float32", "float64", "float16")))
    ranks = data.draw(st.integers(2, 4))
    values = st.sampled_from([0.0, 1.0, -1.0, np.inf, -np.inf, np.nan])
    group = Group(tuple(np.array([data.draw(values)], dtype) for _ in range(ranks)))
    backend = subject.open(ranks)
    results = backend.all_reduce(put_all(backend, group.arrays), op)
    check(subject, group, results, oracle.all_reduced(group.arrays, op))


@property_test("B-10", group=real_groups, op=st.sampled_from(["SUM", "MIN", "MAX"]))
def test_a_reduction_ends_on_its_root(subject: Subject, group: Group, op: Any) -> None:
    backend, wanted = subject.open(group.ranks), oracle.all_reduced(group.arrays, op)
    for root, device in enumerate(backend.devices):
        result = backend.reduce(put_all(backend, group.arrays), op, root=root)
        assert result is not None, "the root is in this process"
        assert tuple(backend.spec(result)) == (wanted.shape, wanted.dtype.name, device.placement)
        found = backend.get(result)
        assert same_bits(wanted, found), f"root {root}: expected {wanted.tolist()}, found {found.tolist()}"


@st.composite
def sent(draw: Any, subject: Subject) -> Group:
    """Draws an array of any numbers for each rank."""
    dtype = draw(st.sampled_from(subject.having(*NUMBERS, "bool")))
    shape = draw(st.sampled_from([(2,), (), (1,), (0,), (2, 2)]))
    ranks = draw(st.integers(1, min(4, subject.profile.replicas_max)))
    return Group(tuple(draw(special_arrays(dtype, shape)) for _ in range(ranks)))


@property_test("B-11", group=sent)
def test_a_broadcast_is_the_roots_array_to_the_bit(subject: Subject, group: Group) -> None:
    backend = subject.open(group.ranks)
    for root, (array, host) in enumerate(zip(put_all(backend, group.arrays), group.arrays, strict=True)):
        spec = ArraySpec(host.shape, host.dtype.name, backend.devices[root].placement)
        check(subject, group, backend.broadcast(array, spec=spec, root=root), host)


@st.composite
def ragged(draw: Any, subject: Subject) -> tuple[Group, int]:
    """Draws arrays whose sizes differ along one axis, some of them empty there; and the axis."""
    dtype = draw(st.sampled_from(subject.having(*NUMBERS, "bool")))
    ranks = draw(st.sampled_from([2, 3, 1, 4]))
    shape = draw(st.sampled_from([(1,), (2, 2), (2, 3), (2, 1, 2), (1, 0)]))
    axis = draw(st.integers(0, len(shape) - 1))
    size = draw(st.integers(1, 3))
    sizes = [size] * ranks if draw(st.booleans()) else [draw(st.integers(0, 3)) for _ in range(ranks)]
    shapes = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    return Group(tuple(draw(exact_arrays(dtype, one)) for one in shapes)), axis


def _gathered(subject: Subject, group: Group, axis: int) -> Any:
    backend = subject.open(group.ranks)
    sizes = tuple(array.shape[axis] for array in group.arrays)
    return backend.all_gather(put_all(backend, group.arrays), axis=axis, sizes=sizes)


@property_test("B-12", case=ragged)
def test_a_gather_puts_ranks_one_after_the_other(subject: Subject, case: tuple[Group, int]) -> None:
    group, axis = case
    check(subject, group, _gathered(subject, group, axis), oracle.gathered(group.arrays, axis))


def _made(subject: Subject, group: Group) -> tuple[Any, ...]:
    """Returns arrays that the program has made, and may write into where arrays are mutable."""
    backend = subject.open(group.ranks)
    arrays = []
    for device, array in zip(backend.devices, group.arrays, strict=True):
        with backend.on(device):
            arrays.append(backend.xp.add(backend.put(array, device), 0))
    return tuple(arrays)


def _calls(subject: Subject, group: Group, arrays: tuple[Any, ...]) -> dict[str, Any]:
    """Returns each group-call, to be made with some arrays."""
    backend = subject.open(group.ranks)
    shape, dtype = group.arrays[0].shape, group.arrays[0].dtype.name
    spec = ArraySpec(shape, dtype, backend.devices[-1].placement)
    calls = {
        "all_reduce": lambda: backend.all_reduce(arrays, "SUM"),
        "reduce": lambda: (backend.reduce(arrays, "SUM", root=0),),
        "broadcast": lambda: backend.broadcast(arrays[-1], spec=spec, root=group.ranks - 1),
    }
    if shape:
        calls["all_gather"] = lambda: backend.all_gather(arrays, axis=0, sizes=(shape[0],) * group.ranks)
    return calls


@property_test("B-13", group=groups)
def test_a_call_leaves_its_arguments_as_they_are(subject: Subject, group: Group) -> None:
    backend, arrays = subject.open(group.ranks), _made(subject, group)
    for name, call in _calls(subject, group, arrays).items():
        call()
        for rank, (array, host) in enumerate(zip(arrays, group.arrays, strict=True)):
            assert same_bits(host, backend.get(array)), f"{name} changed the argument of rank {rank}"


@property_test("B-13", group=groups, data=st.data())
def test_writing_into_one_result_changes_no_other(subject: Subject, group: Group, data: st.DataObject) -> None:
    backend, arrays = subject.open(group.ranks), _made(subject, group)
    chosen = data.draw(st.integers(0, group.ranks - 1))
    for name, call in _calls(subject, group, arrays).items():
        results = call()
        given, before = [backend.get(one) for one in arrays], [backend.get(one) for one in results]
        written = min(chosen, len(results) - 1)
        if scribble(results[written]):
            for rank, (one, was) in enumerate(zip(results, before, strict=True)):
                assert rank == written or same_bits(was, backend.get(one)), f"{name}: rank {rank} shares its memory"
            for rank, (array, host) in enumerate(zip(arrays, given, strict=True)):
                assert same_bits(host, backend.get(array)), f"{name}: a result shares memory with argument {rank}"


@property_test("B-13", group=groups)
def test_writing_into_an_argument_changes_no_result(subject: Subject, group: Group) -> None:
    backend, arrays = subject.open(group.ranks), _made(subject, group)
    kept = []
    for name, call in _calls(subject, group, arrays).items():
        kept += [(name, rank, one, backend.get(one)) for rank, one in enumerate(call())]
    for array in arrays:
        scribble(array)
    for name, rank, one, was in kept:
        assert same_bits(was, backend.get(one)), f"{name}: the result of rank {rank} changed with an argument"


@property_test("B-13", group=groups)
def test_each_rank_gets_an_object_of_its_own(subject: Subject, group: Group) -> None:
    for name, call in _calls(subject, group, _made(subject, group)).items():
        results = call()
        assert len({id(one) for one in results}) == len(results), f"{name}: one object for several ranks"


AWKWARD = st.lists(st.sampled_from(b"\0\n\r\xff a"), max_size=9).map(bytes)


@property_test("B-15", note=AWKWARD | st.binary(max_size=40), times=st.sampled_from([1, 1, 1, 500]))
def test_notes_arrive_as_they_were_sent(subject: Subject, note: bytes, times: int) -> None:
    assert subject.open(2).exchange(note * times, timeout_s=None) == (note * times,)


@clause("B-15")
def test_a_large_note_arrives_whole(subject: Subject) -> None:
    note = bytes(range(256)) * 4096
    assert subject.open(1).exchange(note, timeout_s=60.0) == (note,)
