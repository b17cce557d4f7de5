"""Host data in, host data out, and between devices: `put`, `get` and `spec`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.arrays import NUMBERS, SHAPES, exact_arrays, host_dtype, scribble, special_arrays
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.observe import same_bits
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

Host = np.ndarray[Any, Any]
ALL = (*NUMBERS, "bool")


@st.composite
def hosts(draw: Any, subject: Subject, *, special: bool = False) -> Host:
    dtype = draw(sampled(subject.having(*ALL)))
    make = special_arrays if special else exact_arrays
    return np.asarray(draw(make(dtype, draw(SHAPES))))


def anything(subject: Subject) -> st.SearchStrategy[Host]:
    return hosts(subject, special=True)


def devices(subject: Subject) -> st.SearchStrategy[ss.device.Device]:
    return st.sampled_from(subject.open(3).devices)


@property_test("B-5", host=anything, device=devices)
def test_what_is_put_comes_back_to_the_bit(subject: Subject, host: Host, device: ss.device.Device) -> None:
    backend = subject.open(3)
    found = backend.get(backend.put(host, device))
    assert type(found) is np.ndarray
    assert same_bits(host, found), f"put {host!r}, got {found!r}"


@property_test("B-5", host=hosts, device=devices)
def test_a_host_copy_is_the_callers_own(subject: Subject, host: Host, device: ss.device.Device) -> None:
    backend = subject.open(3)
    array = backend.put(host, device)
    first = backend.get(array)
    first[...] = 1 if host.dtype == bool else 77
    assert same_bits(host, backend.get(array)), "writing to what get returned changed the array"


@property_test("B-6", host=hosts, device=devices)
def test_an_array_tells_its_form_and_is_no_container(subject: Subject, host: Host, device: ss.device.Device) -> None:
    backend = subject.open(3)
    array = backend.put(host, device)
    assert tuple(backend.spec(array)) == (host.shape, host.dtype.name, device.placement)
    assert isinstance(array, backend.array_types)
    assert not isinstance(array, (list, tuple, Mapping)), "nests are taken apart, so an array may be no container"
    assert not isinstance(host, backend.array_types), "host data is no array of the backend"


@clause("B-3")
def test_every_claimed_dtype_can_be_put(subject: Subject) -> None:
    backend = subject.open(1)
    for dtype in filter(None, map(host_dtype, sorted(subject.dtypes))):
        host = np.array([0, 1, 3], dtype)
        array = backend.put(host, backend.devices[0])
        assert same_bits(host, backend.get(array)), dtype
        name = backend.spec(array)[1]
        assert isinstance(name, str), f"{dtype} is called {name!r}"
        assert name == dtype.name
    if "bfloat16" in subject.dtypes and host_dtype("bfloat16") is None:
        pytest.skip("of bfloat16 alone: NumPy has it where the package ml_dtypes is installed")


@clause("B-3")
def test_a_dtype_that_is_not_claimed_is_refused(subject: Subject) -> None:
    backend = subject.open(1)
    texts = [np.array(["text"]), np.array([None]), np.array(["2020"], "datetime64[Y]"), np.zeros(1, np.longdouble)]
    hosts = [*texts, *(np.zeros(1, dtype) for dtype in ALL if dtype not in subject.dtypes)]
    for host in hosts:
        if host.dtype.name not in subject.dtypes:
            with pytest.raises((ss.errors.InvalidArgument, ss.errors.InvalidType)):
                backend.put(host, backend.devices[0])


def _layouts(host: Host) -> list[Host]:
    swapped = host.astype(host.dtype.newbyteorder(">"))
    locked = host.copy()
    locked.flags.writeable = False
    padded = np.stack([host, host], -1)[..., 0]
    return [np.asfortranarray(host), host.T, host[::-1], host[:, ::2], swapped, locked, padded]


def matrices(subject: Subject) -> st.SearchStrategy[Host]:
    dtypes = st.sampled_from(subject.having("float32", "int32", "float64", "complex64"))
    shapes = st.sampled_from([(2, 2), (3, 4)])
    return st.tuples(dtypes, shapes).flatmap(lambda form: exact_arrays(*form))


@property_test("B-3", host=matrices)
def test_put_reads_any_layout_and_byte_order(subject: Subject, host: Host) -> None:
    backend = subject.open(1)
    for given in _layouts(host):
        found = backend.get(backend.put(given, backend.devices[0]))
        assert found.dtype == given.dtype.newbyteorder("=")
        assert np.array_equal(found, given), f"put {given!r}, got {found!r}"


@property_test("B-3", host=hosts, device=devices)
def test_writing_to_host_data_later_changes_nothing(subject: Subject, host: Host, device: ss.device.Device) -> None:
    backend = subject.open(3)
    given = host.copy()
    array = backend.put(given, device)
    given[...] = 1 if host.dtype == bool else 77
    assert same_bits(host, backend.get(array)), "the array changed with the host data it was made of"


@property_test("B-4", host=anything, source=devices, target=devices)
def test_an_array_moves_between_devices(
    subject: Subject, host: Host, source: ss.device.Device, target: ss.device.Device
) -> None:
    backend = subject.open(3)
    array = backend.put(host, source)
    moved = backend.put(array, target)
    assert tuple(backend.spec(moved)) == (host.shape, host.dtype.name, target.placement)
    assert tuple(backend.spec(array)) == (host.shape, host.dtype.name, source.placement)
    assert same_bits(host, backend.get(moved))


@property_test("B-4", host=matrices, source=devices, target=devices, back=st.booleans())
def test_an_array_that_moved_shares_nothing_that_can_be_written_to(
    subject: Subject, host: Host, source: ss.device.Device, target: ss.device.Device, back: bool
) -> None:
    backend = subject.open(3)
    with backend.on(source):
        array = backend.xp.add(backend.put(host, source), 0)
    moved = backend.put(array, target)
    written, other = (moved, array) if back else (array, moved)
    scribble(written)
    assert same_bits(host, backend.get(other)), "writing to one of the two changed the other"
