"""Transfers and group-calls with inputs that cover every pair of ranks, ops, dtypes, axes, sizes and memory layouts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simstrategy.device import ArraySpec, Backend
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import NUMBERS, put_all, require_bits, require_equal, require_form, scribble, strewn
from simstrategy_conformance.checking import clause
from simstrategy_conformance.covered import BOTH, PLACES, SHORT, covering_test, ranks_of
from simstrategy_conformance.covering import LENGTHS, Levels, Row, arrays_of, place_of
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]
AXES = (1, 0, 2, 3, 4, 5)


def placed(backend: Backend, row: Row, hosts: tuple[Host, ...]) -> tuple[Any, ...]:
    """Puts one array on each device; those of a strided row are transposed views of other arrays there."""
    arrays = []
    for device, array in zip(backend.devices, hosts, strict=True):
        if row.strided and array.ndim > 1:
            with backend.on(device):
                other = backend.put(np.ascontiguousarray(array.T), device)
                arrays.append(backend.xp.permute_dims(other, tuple(range(array.ndim))[::-1]))
        else:
            arrays.append(backend.put(array, device))
    return tuple(arrays)


def special_of(row: Row) -> tuple[Host, ...]:
    """Returns a row's arrays with numbers in them that are easily lost on the way."""
    return tuple(map(strewn, arrays_of(row)))


def reductions(subject: Subject) -> Levels:
    return {
        "ranks": ranks_of(subject), "op": ("SUM", "MIN", "MAX"), "dtype": subject.having(*NUMBERS), "axes": AXES,
        "lengths": LENGTHS, "axis": PLACES, "root": PLACES, "strided": BOTH, "again": BOTH,
    }  # fmt: skip


@covering_test("B-8", levels=reductions, triples=SHORT)
def test_an_all_reduce_of_every_form(subject: Subject, row: Row) -> None:
    backend, hosts = subject.open(row.ranks), arrays_of(row)
    arrays, wanted = placed(backend, row, hosts), oracle.all_reduced(hosts, row.op)
    for _ in range(1 + row.again):
        require_equal(backend, backend.all_reduce(arrays, row.op), wanted)  # type: ignore[arg-type]  # a level


@covering_test("B-10", levels=reductions, triples=SHORT)
def test_a_reduction_of_every_form(subject: Subject, row: Row) -> None:
    backend, hosts, root = subject.open(row.ranks), arrays_of(row), place_of(row.root, row.ranks)
    arrays, wanted = placed(backend, row, hosts), oracle.all_reduced(hosts, row.op)
    for _ in range(1 + row.again):
        result = backend.reduce(arrays, row.op, root=root)  # type: ignore[arg-type]  # a level
        assert result is not None, "the root is in this process"
        require_form(backend, result, wanted, backend.devices[root].placement)
        require_bits(wanted, backend.get(result), f"root {root}")


def broadcasts(subject: Subject) -> Levels:
    return {
        "ranks": ranks_of(subject), "dtype": subject.having(*NUMBERS, "bool"), "axes": AXES, "lengths": LENGTHS,
        "axis": PLACES, "root": PLACES, "strided": BOTH, "again": BOTH,
    }  # fmt: skip


@covering_test("B-11", levels=broadcasts, triples=("ranks", "root", "dtype", "axes", "lengths"), arrays=special_of)
def test_a_broadcast_of_every_form(subject: Subject, row: Row) -> None:
    backend, hosts, root = subject.open(row.ranks), special_of(row), place_of(row.root, row.ranks)
    wanted = hosts[root]
    array = placed(backend, row, hosts)[root]
    spec = ArraySpec(wanted.shape, wanted.dtype.name, backend.devices[root].placement)
    for _ in range(1 + row.again):
        require_equal(backend, backend.broadcast(array, spec=spec, root=root), wanted)


def gathers(subject: Subject) -> Levels:
    return {
        "ranks": ranks_of(subject), "dtype": subject.having(*NUMBERS, "bool"), "axes": (1, 2, 3, 4, 5),
        "lengths": LENGTHS, "axis": PLACES, "uneven": BOTH, "strided": BOTH, "again": BOTH,
    }  # fmt: skip


@covering_test("B-12", levels=gathers, triples=("ranks", "axes", "lengths", "axis", "uneven"), arrays=special_of)
def test_a_gather_of_every_form(subject: Subject, row: Row) -> None:
    backend, hosts, axis = subject.open(row.ranks), special_of(row), place_of(row.axis, row.axes)
    arrays, wanted = placed(backend, row, hosts), oracle.gathered(hosts, axis)
    sizes = tuple(array.shape[axis] for array in hosts)
    for _ in range(1 + row.again):
        require_equal(backend, backend.all_gather(arrays, axis=axis, sizes=sizes), wanted)


def results(subject: Subject) -> Levels:
    dtypes = subject.having("float32", "int32", "float16", "int64", "complex64")
    return {"ranks": ranks_of(subject), "dtype": dtypes, "axes": (1, 2, 3), "lengths": LENGTHS, "axis": PLACES}


@covering_test("B-13", levels=results)
def test_results_of_every_form_share_no_memory(subject: Subject, row: Row) -> None:
    backend, hosts = subject.open(row.ranks), arrays_of(row)
    arrays = placed(backend, row, hosts)
    for name, call in _sharing(backend, row).items():
        made = call(arrays)
        before = [backend.get(one) for one in made]
        if scribble(made[0]):
            for rank, (one, was) in enumerate(zip(made[1:], before[1:], strict=True), 1):
                require_bits(was, backend.get(one), f"{name}: rank {rank} shares the memory of rank 0")
            for rank, (array, host) in enumerate(zip(arrays, hosts, strict=True)):
                require_bits(host, backend.get(array), f"{name}: a result shares memory with argument {rank}")


@covering_test("B-13", levels=results)
def test_no_result_reads_its_arguments_later(subject: Subject, row: Row) -> None:
    backend, hosts = subject.open(row.ranks), arrays_of(row)
    if not scribble(placed(backend, row, hosts)[0]):
        pytest.skip(f"no program can write into an array of {subject.name}")
    for name, call in _sharing(backend, row).items():
        wanted = [backend.get(one) for one in call(placed(backend, row, hosts))]
        arrays = placed(backend, row, hosts)
        made = call(arrays)
        for array in arrays:
            scribble(array)
        for rank, (one, host) in enumerate(zip(made, wanted, strict=True)):
            require_bits(host, backend.get(one), f"{name}, rank {rank}, after the arguments were written into")


def _sharing(backend: Backend, row: Row) -> dict[str, Callable[[Any], tuple[Any, ...]]]:
    """Returns group-calls of arrays, by name."""
    last, axis, sizes = row.ranks - 1, place_of(row.axis, row.axes), (row.lengths.size,) * row.ranks

    return {
        "all_reduce": lambda arrays: backend.all_reduce(arrays, "SUM"),
        "reduce": lambda arrays: (backend.reduce(arrays, "SUM", root=last),),
        "broadcast": lambda arrays: backend.broadcast(arrays[-1], spec=ArraySpec(*backend.spec(arrays[-1])), root=last),
        "all_gather": lambda arrays: backend.all_gather(arrays, axis=axis, sizes=sizes),
    }


def transfers(subject: Subject) -> Levels:
    return {
        "dtype": subject.having(*NUMBERS, "bool"), "axes": AXES, "lengths": LENGTHS, "axis": PLACES,
        "root": PLACES, "strided": BOTH,
    }  # fmt: skip


def sent(row: Row) -> tuple[Host, ...]:
    """Returns the one array of a transfer."""
    return special_of(row)[:1]


@covering_test("B-3", "B-5", levels=transfers, triples=("dtype", "axes", "lengths", "strided"), arrays=sent)
def test_a_transfer_of_every_form_is_a_copy(subject: Subject, row: Row) -> None:
    backend = subject.open(3)
    device, host = backend.devices[place_of(row.root, 3)], sent(row)[0]
    given = np.array(host, order="F" if row.strided else "C")
    array = backend.put(given, device)
    given[...] = 1
    require_form(backend, array, host, device.placement)
    found = backend.get(array)
    require_bits(host, found, "put and get")
    found[...] = 1
    require_bits(host, backend.get(array), "get shares memory")


@covering_test("B-4", levels=transfers, arrays=sent)
def test_an_array_of_every_form_moves(subject: Subject, row: Row) -> None:
    backend = subject.open(3)
    source, host = backend.devices[place_of(row.root, 3)], sent(row)[0]
    array = placed(backend, row._replace(ranks=3), (host,) * 3)[source.rank]
    for device in backend.devices:
        moved = backend.put(array, device)
        require_form(backend, moved, host, device.placement)
        require_bits(host, backend.get(moved), f"to {device.placement}")


@covering_test("B-7", levels=transfers, arrays=sent)
def test_a_cell_of_every_form_holds_what_was_written(subject: Subject, row: Row) -> None:
    backend = subject.open(3)
    device, host = backend.devices[place_of(row.root, 3)], sent(row)[0]
    array = placed(backend, row._replace(ranks=3), (host,) * 3)[device.rank]
    written = backend.cell(backend.put(np.zeros_like(host), device))
    written.write(array)
    for cell in (written, backend.cell(array)):
        require_form(backend, cell.read(), host, device.placement)
        require_bits(host, backend.get(cell.read()), "a cell")


def _large(ranks: int, dtype: str, first: int = 0) -> list[Host]:
    return [((np.arange(2**20 + 3) + first) % 1000 + rank).astype(dtype) for rank in range(ranks)]


@clause("B-8")
def test_large_arrays_are_combined_to_their_last_element(subject: Subject) -> None:
    # Libraries send in chunks of up to some MiB, and add in blocks that fit a cache.
    for ranks, op, dtype in ((2, "SUM", "float32"), (3, "SUM", "int32"), (3, "MAX", "float32")):
        backend, hosts = subject.open(ranks), _large(ranks, dtype)
        found = backend.all_reduce(put_all(backend, hosts), op)  # type: ignore[arg-type]  # one of the ops
        require_equal(backend, found, oracle.all_reduced(hosts, op))


@clause("B-14")
def test_a_large_result_is_not_that_of_an_earlier_call(subject: Subject) -> None:
    backend = subject.open(3)
    for first in (0, 7):
        hosts = _large(3, "int32", first)
        require_equal(backend, backend.all_reduce(put_all(backend, hosts), "SUM"), oracle.all_reduced(hosts, "SUM"))
