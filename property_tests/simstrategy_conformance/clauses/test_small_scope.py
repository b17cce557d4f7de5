"""Places, moves, cells, gathers and messages: everything that can be done within a small scope, one after the other."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from simstrategy.device import Backend
from simstrategy_conformance import oracle
from simstrategy_conformance.arrays import put_all, require_bits, require_equal, require_form
from simstrategy_conformance.scope import PLACED, RANKS, SHAPES, numbers, orders, scope_test
from simstrategy_conformance.subject import Subject

Shape = tuple[int, ...]


def made(backend: Backend, host: Any, rank: int) -> Any:
    """Returns an array that the program has made, and may write into where arrays are mutable."""
    device = backend.devices[rank]
    with backend.on(device):
        return backend.xp.add(backend.put(host, device), 0)


class _LeftEarly(Exception):
    """What a placement is left by, where it is left by an exception."""


def ways() -> Iterator[tuple[int, tuple[tuple[int, bool], ...]]]:
    """Yields numbers of ranks with ways through placements: of up to three ranks, each left by an exception or not."""
    for ranks in RANKS:
        for way in orders(tuple(itertools.product(range(ranks), (False, True)))):
            yield ranks, way


@scope_test("B-2", combinations=ways)
def test_a_placement_ends_where_it_was_left(subject: Subject, ranks: int, way: tuple[tuple[int, bool], ...]) -> None:
    backend = subject.open(ranks)

    def here() -> str:
        return str(backend.spec(backend.xp.zeros((1,)))[2])

    def descend(rest: tuple[tuple[int, bool], ...]) -> None:
        if not rest:
            return
        before, (rank, raises) = here(), rest[0]
        with suppress(_LeftEarly), backend.on(backend.devices[rank]):
            assert here() == backend.devices[rank].placement
            descend(rest[1:])
            assert here() == backend.devices[rank].placement
            if raises:
                raise _LeftEarly
        assert here() == before, f"expected {before} after a placement, found {here()}"

    descend(way)


def pairs() -> Iterator[tuple[Any, ...]]:
    for ranks in RANKS:
        yield from itertools.product((ranks,), range(ranks), range(ranks), SHAPES)


@scope_test("B-2", combinations=pairs)
def test_functions_compute_where_their_arguments_are(
    subject: Subject, ranks: int, home: int, away: int, shape: Shape
) -> None:
    backend, host = subject.open(ranks), numbers(shape)
    x, placement = made(backend, host, home), backend.devices[home].placement
    with backend.on(backend.devices[away]):
        xp = backend.xp
        results = [xp.add(x, x), xp.multiply(x, 2.0), xp.add(1.0, x), xp.sum(x), xp.reshape(x, (host.size, 1))]
        results.append(xp.stack([host, x]))
    wanted = [host + host, host * np.float32(2), host + np.float32(1), np.asarray(host.sum(dtype="float32"))]
    wanted += [host.reshape(host.size, 1), np.stack([host, host])]
    for result, one in zip(results, wanted, strict=True):
        require_form(backend, result, np.asarray(one), placement)
        require_bits(np.asarray(one), backend.get(result), f"on {placement}")


def moves() -> Iterator[tuple[Any, ...]]:
    for ranks in RANKS:
        yield from itertools.product((ranks,), range(ranks), orders(range(ranks), 2), SHAPES)


@scope_test("B-4", combinations=moves)
def test_an_array_moves_from_each_device_to_each(
    subject: Subject, ranks: int, source: int, targets: tuple[int, ...], shape: Shape
) -> None:
    backend, host = subject.open(ranks), numbers(shape)
    arrays = [made(backend, host, source)]
    for target in targets:
        arrays.append(backend.put(arrays[-1], backend.devices[target]))
    for rank, array in zip((source, *targets), arrays, strict=True):
        require_form(backend, array, host, backend.devices[rank].placement)
        require_bits(host, backend.get(array), f"on rank {rank}")


def histories() -> Iterator[tuple[Any, ...]]:
    yield from itertools.product(PLACED, SHAPES, orders(("write", "read"), 4))


@scope_test("B-7", combinations=histories)
def test_a_cell_through_every_short_history(
    subject: Subject, placed: tuple[int, int], shape: Shape, steps: tuple[str, ...]
) -> None:
    backend, rank = subject.open(placed[0]), placed[1]
    held = numbers(shape)
    cell = backend.cell(made(backend, held, rank))
    kept: list[tuple[Any, Any]] = []
    for number, step in enumerate((*steps, "read"), 1):
        if step == "write":
            held = numbers(shape, first=9 * number)
            cell.write(made(backend, held, rank))
        else:
            kept.append((cell.read(), held))
    for number, (array, was) in enumerate(kept, 1):
        require_form(backend, array, was, backend.devices[rank].placement)
        require_bits(was, backend.get(array), f"read {number}")


def turns() -> Iterator[tuple[Any, ...]]:
    yield from itertools.product(RANKS, SHAPES, orders(("write 0", "write 1", "share"), 3))


@scope_test("B-7", combinations=turns)
def test_two_cells_in_every_order_of_writes(subject: Subject, ranks: int, shape: Shape, steps: tuple[str, ...]) -> None:
    backend, rank = subject.open(ranks), ranks - 1
    initial = made(backend, numbers(shape), rank)
    cells, held = [backend.cell(initial), backend.cell(initial)], [numbers(shape), numbers(shape)]
    for number, step in enumerate(steps, 1):
        if step == "share":  # one holds what is read of the other
            cells[0].write(cells[1].read())
            held[0] = held[1]
        else:
            held[int(step[-1])] = numbers(shape, first=9 * number)
            cells[int(step[-1])].write(made(backend, held[int(step[-1])], rank))
        for which in (0, 1):
            require_bits(held[which], backend.get(cells[which].read()), f"cell {which} after step {number}, {step}")


def gathers() -> Iterator[tuple[Any, ...]]:
    for ranks in RANKS:
        for sizes in itertools.product(range(3), repeat=ranks):
            yield sizes, None, 0
            yield from itertools.product((sizes,), range(3), (0, 1))


@scope_test("B-12", combinations=gathers)
def test_a_gather_of_all_small_sizes(subject: Subject, sizes: tuple[int, ...], other: int | None, axis: int) -> None:
    backend = subject.open(len(sizes))
    shapes = [(size,) if other is None else (size, other) if axis == 0 else (other, size) for size in sizes]
    hosts = [numbers(shape, first=9 * rank) for rank, shape in enumerate(shapes)]
    found = backend.all_gather(put_all(backend, hosts), axis=axis, sizes=sizes)
    require_equal(backend, found, oracle.gathered(hosts, axis))


NOTES = (
    *(bytes(one) for count in range(3) for one in itertools.product(b"\0\n\r\xff", repeat=count)),
    bytes(range(32)),
)


def messages() -> Iterator[tuple[Any, ...]]:
    yield from itertools.product(RANKS, orders(NOTES, 2))


@scope_test("B-15", combinations=messages)
def test_notes_arrive_as_they_were_sent(subject: Subject, ranks: int, notes: tuple[bytes, ...]) -> None:
    found = [subject.open(ranks).exchange(note, timeout_s=60.0) for note in notes]
    assert found == [(note,) for note in notes]
