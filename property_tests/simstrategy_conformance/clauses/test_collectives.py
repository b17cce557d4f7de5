"""The group-calls: numbers that are none, memory, and large notes.  Forms of every kind are in test_covering.py."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from simstrategy.device import ArraySpec
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import (
    NUMBERS,
    Group,
    groups,
    host_dtype,
    put_all,
    require_bits,
    require_equal,
    require_form,
    scribble,
    special_arrays,
)
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]


UNUSUAL = (np.nan, np.inf, -np.inf, 0.0, 1.0, -1.0)


def _beside_each_other(ranks: int, dtype: str) -> tuple[Host, ...]:
    """Returns an array for each rank: every two numbers that are unusual, at every two ranks, among zeros."""
    pairs = itertools.product(itertools.combinations(range(ranks), 2), itertools.product(UNUSUAL, repeat=2))
    columns = [dict(zip(places, numbers, strict=True)) for places, numbers in pairs]
    return tuple(np.array([column.get(rank, 0.0) for column in columns], dtype) for rank in range(ranks))


@clause("B-8")
def test_nan_wins_minimum_and_maximum(subject: Subject) -> None:
    for ranks, dtype in itertools.product((2, 3, 4), subject.having("float32", "float64", "float16")):
        backend, hosts = subject.open(ranks), _beside_each_other(ranks, dtype)
        arrays = put_all(backend, hosts)
        for op in ("MIN", "MAX"):
            require_equal(backend, backend.all_reduce(arrays, op), oracle.all_reduced(hosts, op))


@clause("B-10")
def test_nan_wins_a_minimum_and_a_maximum_on_one_rank(subject: Subject) -> None:
    for ranks, dtype in itertools.product((2, 3), subject.having("float32", "float64", "float16")):
        backend, hosts = subject.open(ranks), _beside_each_other(ranks, dtype)
        arrays, root = put_all(backend, hosts), ranks - 1
        for op in ("MIN", "MAX"):
            wanted, result = oracle.all_reduced(hosts, op), backend.reduce(arrays, op, root=root)
            assert result is not None, "the root is in this process"
            require_form(backend, result, wanted, backend.devices[root].placement)
            require_bits(wanted, backend.get(result), f"root {root}")


def _bfloat16(subject: Subject) -> np.dtype[Any]:
    """Returns NumPy's dtype of bfloat16; skips the test where there is none."""
    found = host_dtype(*subject.having("bfloat16"))
    if found is None:
        pytest.skip("NumPy has bfloat16 where the package ml_dtypes is installed")
    return found


@clause("B-8")
def test_bfloat16_is_combined_like_other_floats(subject: Subject) -> None:
    dtype = _bfloat16(subject)
    for ranks in (2, 3, 5):
        # Sums up to 240: every one of them, in any order, has 8 bits.
        backend, counted = subject.open(ranks), [np.arange(-16, 17) * (rank + 1) for rank in range(ranks)]
        for op in ("SUM", "MIN", "MAX"):
            hosts = counted if op == "SUM" else _beside_each_other(min(ranks, 3), "float32") * 2
            wide = [np.asarray(host, np.float32) for host in hosts[:ranks]]
            with np.errstate(invalid="ignore"):  # NaN
                wanted = oracle.all_reduced(wide, op).astype(dtype)
                found = backend.all_reduce(put_all(backend, [host.astype(dtype) for host in wide]), op)
            require_equal(backend, found, wanted)


def _every_bfloat16(subject: Subject) -> tuple[Host, ...]:
    """Returns every number of bfloat16, for each of three ranks in another order."""
    host = np.arange(2**16, dtype=np.uint16).view(_bfloat16(subject))
    return host, host[::-1].copy(), np.roll(host, 1)


@clause("B-11")
def test_every_bfloat16_is_broadcast_to_the_bit(subject: Subject) -> None:
    hosts, backend = _every_bfloat16(subject), subject.open(3)
    spec = ArraySpec(hosts[1].shape, hosts[1].dtype.name, backend.devices[1].placement)
    require_equal(backend, backend.broadcast(put_all(backend, hosts)[1], spec=spec, root=1), hosts[1])


@clause("B-12")
def test_every_bfloat16_is_gathered_to_the_bit(subject: Subject) -> None:
    hosts, backend = _every_bfloat16(subject), subject.open(3)
    found = backend.all_gather(put_all(backend, hosts), axis=0, sizes=(hosts[0].size,) * 3)
    require_equal(backend, found, np.concatenate(hosts))


@st.composite
def sent(draw: Any, subject: Subject) -> Group:
    """Draws an array of any numbers for each rank."""
    dtype = draw(sampled(subject.having(*NUMBERS, "bool")))
    shape = draw(sampled([(2,), (), (1,), (0,), (2, 2)]))
    ranks = draw(st.integers(1, min(4, subject.profile.replicas_max)))
    return Group(tuple(draw(special_arrays(dtype, shape)) for _ in range(ranks)))


@property_test("B-11", group=sent)
def test_a_broadcast_is_the_roots_array_to_the_bit(subject: Subject, group: Group) -> None:
    backend = subject.open(group.ranks)
    for root, (array, host) in enumerate(zip(put_all(backend, group.arrays), group.arrays, strict=True)):
        spec = ArraySpec(host.shape, host.dtype.name, backend.devices[root].placement)
        require_equal(backend, backend.broadcast(array, spec=spec, root=root), host)


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


@clause("B-13")
def test_what_is_declared_mutable_can_be_written_to(subject: Subject) -> None:
    backend = subject.open(1)
    with backend.on(backend.devices[0]):
        array = backend.xp.add(backend.put(np.ones(2, "float32"), backend.devices[0]), 0)
    assert scribble(array) or not backend.capabilities.mutable_arrays, (
        "the backend declares mutable_arrays=True, and array[...] = 77 raises: what shares its memory is not seen"
    )


@property_test("B-13", group=groups)
def test_a_call_leaves_its_arguments_as_they_are(subject: Subject, group: Group) -> None:
    backend = subject.open(group.ranks)
    can_be_written = scribble(_made(subject, group)[0])
    for name in _calls(subject, group, ()):
        arrays = _made(subject, group)
        _calls(subject, group, arrays)[name]()
        for rank, (array, host) in enumerate(zip(arrays, group.arrays, strict=True)):
            assert same_bits(host, backend.get(array)), f"{name} changed the argument of rank {rank}"
            assert scribble(array) == can_be_written, f"{name} has locked the argument of rank {rank}"


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


@property_test("B-14", group=groups, share=0.5)
def test_what_is_written_into_a_result_is_in_no_later_one(subject: Subject, group: Group) -> None:
    backend = subject.open(group.ranks)
    if not scribble(_made(subject, group)[0]):
        pytest.skip(f"no program can write into an array of {subject.name}")
    for name in _calls(subject, group, ()):
        results = _calls(subject, group, _made(subject, group))[name]()
        before = [backend.get(one) for one in results]
        for one in results:
            scribble(one)
        again = _calls(subject, group, _made(subject, group))[name]()
        for rank, (one, was) in enumerate(zip(again, before, strict=True)):
            require_bits(
                was, backend.get(one), f"{name}, rank {rank}, after the results of an equal call were written into"
            )


@property_test("B-13", group=groups)
def test_each_rank_gets_an_object_of_its_own(subject: Subject, group: Group) -> None:
    for name, call in _calls(subject, group, _made(subject, group)).items():
        results = call()
        assert len({id(one) for one in results}) == len(results), f"{name}: one object for several ranks"


@clause("B-15")
def test_a_large_note_arrives_whole(subject: Subject) -> None:
    note = bytes(range(256)) * 4096
    assert subject.open(1).exchange(note, timeout_s=60.0) == (note,)


@clause("B-13")
def test_what_is_shared_by_one_memory_is_not_written_to(subject: Subject) -> None:
    for ranks, shape in itertools.product((1, 2, 3), ((), (1,), (2, 2))):
        backend = subject.open(ranks)
        if backend.memory is None:
            pytest.skip("the devices have no memory in common")
        host = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)
        with backend.on(backend.devices[0]):
            shared = backend.memory.share(backend.xp.add(backend.put(host, backend.devices[0]), 0))
        for array in shared:
            scribble(array)
        require_equal(backend, shared, host)
