"""The storage of variables: `cell`, `read` and `write`."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from simstrategy_conformance.arrays import NUMBERS, SHAPES, exact_arrays, scribble
from simstrategy_conformance.checking import property_test
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]


@st.composite
def histories(draw: Any, subject: Subject) -> tuple[Host, ...]:
    """Draws the values that a cell has, one after the other."""
    dtype = draw(sampled(subject.having(*NUMBERS)))
    shape = draw(SHAPES)
    return tuple(draw(exact_arrays(dtype, shape)) for _ in range(draw(st.integers(1, 4))))


def _made(subject: Subject, host: Host, rank: int = 0) -> Any:
    """Returns an array that the program has made, and may write into where arrays are mutable."""
    backend = subject.open(2)
    with backend.on(backend.devices[rank]):
        return backend.xp.add(backend.put(host, backend.devices[rank]), 0)


@property_test("B-7", values=histories, rank=st.integers(0, 1))
def test_a_cell_holds_what_was_written_last(subject: Subject, values: tuple[Host, ...], rank: int) -> None:
    backend = subject.open(2)
    initial = _made(subject, values[0], rank)
    cell = backend.cell(initial)
    assert tuple(backend.spec(cell.read())) == tuple(backend.spec(initial))
    assert same_bits(values[0], backend.get(cell.read())), "a cell begins with its initial value"
    form = backend.spec(cell.read())
    for value in values[1:]:
        cell.write(_made(subject, value, rank))
        found = backend.get(cell.read())
        assert same_bits(value, found), f"wrote {value.tolist()}, read {found.tolist()}"
        assert backend.spec(cell.read()) == form
        assert cell.native is not None


@property_test("B-7", values=histories)
def test_what_was_read_stays_what_it_was(subject: Subject, values: tuple[Host, ...]) -> None:
    backend = subject.open(2)
    cell = backend.cell(_made(subject, values[0]))
    read = [cell.read()]
    for value in values[1:]:
        cell.write(_made(subject, value))
        read.append(cell.read())
    for value, array in zip(values, read, strict=True):
        assert same_bits(value, backend.get(array)), "a later write changed what had been read"


@property_test("B-7", values=histories)
def test_a_cell_shares_no_memory_with_what_went_in_or_came_out(subject: Subject, values: tuple[Host, ...]) -> None:
    backend = subject.open(2)
    initial, last = _made(subject, values[0]), _made(subject, values[-1])
    cell = backend.cell(initial)
    scribble(initial)
    assert same_bits(values[0], backend.get(cell.read())), "writing into the initial value changed the cell"
    cell.write(last)
    scribble(last)
    assert same_bits(values[-1], backend.get(cell.read())), "writing into a written value changed the cell"
    scribble(cell.read())
    assert same_bits(values[-1], backend.get(cell.read())), "writing into what was read changed the cell"


@property_test("B-7", values=histories)
def test_cells_of_one_initial_value_go_their_own_ways(subject: Subject, values: tuple[Host, ...]) -> None:
    backend = subject.open(2)
    initial = _made(subject, values[0])
    one, other = backend.cell(initial), backend.cell(initial)
    one.write(_made(subject, values[-1]))
    assert same_bits(values[0], backend.get(other.read())), "a write to one cell changed another"
