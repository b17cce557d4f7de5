"""Ranks, devices and placement: what `devices`, `on`, `synchronize`, `close`, `prepare` and `source` promise."""

import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.subject import ShrinkableSchedule, Subject, me

ONES = np.ones((2,), np.float32)


def ranks(subject: Subject) -> st.SearchStrategy[int]:
    return st.integers(1, subject.profile.replicas_max)


@property_test("B-1", count=ranks)
def test_ranks_count_from_zero_and_are_all_of_one_process(subject: Subject, count: int) -> None:
    backend = subject.open(count)
    assert [device.rank for device in backend.devices] == list(range(count))
    assert backend.local_devices == backend.devices
    assert {device.process for device in backend.devices} == {0}
    assert backend.protocol_version == ss.device.PROTOCOL_VERSION
    assert all(isinstance(device.placement, str) and device.placement for device in backend.devices)


@clause("B-1")
@pytest.mark.parametrize("count", [0, -1, True, 1.5, "2"])
def test_an_impossible_number_of_replicas_is_refused(subject: Subject, count: Any) -> None:
    with pytest.raises(ss.errors.InvalidArgument):
        subject.fresh(count).close()


@clause("B-1")
def test_one_replica_is_the_default(subject: Subject) -> None:
    assert len(subject.fresh(None).devices) == 1


@property_test("B-2", count=ranks, data=st.data())
def test_what_is_created_on_a_device_is_there(subject: Subject, count: int, data: st.DataObject) -> None:
    backend = subject.open(count)
    device = data.draw(st.sampled_from(backend.devices))
    with backend.on(device):
        made = [backend.xp.zeros((2,)), backend.xp.asarray([1.0]), backend.xp.full((), 3), backend.xp.arange(2)]
    assert [backend.spec(one)[2] for one in made] == [device.placement] * len(made)


@property_test("B-2", count=ranks, draws=st.lists(st.integers(0, 5), max_size=8))
def test_replicas_stay_on_their_devices_through_meetings(subject: Subject, count: int, draws: list[int]) -> None:
    strategy = subject.strategy(count, schedule=ShrinkableSchedule(tuple(draws)))
    spec = subject.open(count).spec

    def replica() -> tuple[str, str, str]:
        ctx = me()

        def elsewhere(what: str, array: Any) -> str:
            own, place = ctx.devices[0], spec(array)[2]
            return "" if place == own else f"{what} is on {place}, and the replica on {own}"

        before = elsewhere("what a replica makes before a collective", ctx.xp.zeros((2,)))
        met = elsewhere("a sum", ctx.all_reduce("SUM", ctx.xp.ones((2,))))
        return before, met, elsewhere("what a replica makes after a collective", ctx.xp.zeros((2,)))

    found = strategy.run(replica)
    strategy.close()
    assert found == ("", "", "")


@clause("B-16")
def test_closing_twice_is_closing_once(subject: Subject) -> None:
    backend = subject.fresh(2)
    backend.all_reduce(tuple(backend.put(ONES, device) for device in backend.devices), "SUM")
    backend.synchronize()
    backend.close()
    backend.close()


@clause("B-16")
def test_backends_that_are_open_together_know_nothing_of_each_other(subject: Subject) -> None:
    one, other = subject.fresh(2), subject.fresh(3)
    x = one.put(ONES, one.devices[1])
    other.close()
    y = one.all_reduce((one.put(ONES, one.devices[0]), x), "SUM")[1]
    assert one.get(y).tolist() == [2.0, 2.0]
    with one.on(one.devices[1]):
        assert one.spec(one.xp.zeros((1,)))[2] == one.devices[1].placement
    one.close()


@clause("B-16")
def test_nothing_that_python_knows_of_is_left_running(subject: Subject) -> None:
    subject.fresh(2).close()  # what a framework starts once for all is no backend's
    before = set(threading.enumerate())
    backend = subject.fresh(2)
    backend.get(backend.all_reduce(tuple(backend.put(ONES, device) for device in backend.devices), "SUM")[0])
    backend.close()
    assert set(threading.enumerate()) - before == set()


@clause("B-17")
def test_a_prepared_function_does_what_the_function_does(subject: Subject) -> None:
    backend = subject.open(1)

    def made(add: int) -> Any:
        def function(x: int, *rest: int, by: int = 2, **named: int) -> tuple[Any, ...]:
            return x + add, rest, by, named

        return function

    for add in (1, 2):  # the same code and another closure is another function
        prepared = backend.prepare(made(add))
        assert tuple(prepared(1, 5, by=3, other=4)) == (1 + add, (5,), 3, {"other": 4})
        assert prepared(1)[2] == 2


@property_test("B-17", numbers=st.lists(st.integers(-99, 99), min_size=1, max_size=3))
def test_a_function_made_differentiable_does_what_the_function_does(subject: Subject, numbers: list[int]) -> None:
    backend = subject.open(2)
    autodiff = backend.autodiff
    if autodiff is None:
        pytest.skip("the backend makes nothing differentiable")
    values = tuple(backend.put(np.array([n], np.float32), backend.devices[0]) for n in numbers)
    found = autodiff.differentiable(lambda arrays: tuple(backend.xp.add(one, 1) for one in arrays), tuple, values)
    assert [backend.get(one).tolist() for one in found] == [[n + 1.0] for n in numbers]


@clause("B-17")
def test_a_frame_of_plain_python_is_where_it_says(subject: Subject) -> None:
    backend, frame = subject.open(1), sys._getframe()
    file, line = backend.source(frame)
    assert (file, line) == (__file__, frame.f_lineno - 1)


@clause("B-16")
@pytest.mark.parametrize("call", ["synchronize", "close"])
def test_an_unused_backend_can_be_waited_for_and_closed(subject: Subject, call: str) -> None:
    backend = subject.fresh(1)
    assert {"synchronize": backend.synchronize, "close": backend.close}[call]() is None
    working = backend if call == "synchronize" else subject.open(1)
    assert working.get(working.put(ONES, working.devices[0])).tolist() == ONES.tolist()
