"""What the white-box tests share: short ways to make strategies and devices.  No tests, no mocks."""

import random
import signal
import threading

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.sim import SimBackend
from simstrategy.sim.backend import simulated_devices


def pytest_configure():
    """Hears SIGINT again where a shell started the tests in the background: processes of the tests inherit that."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def sim():
    """Makes a simulator backend of so many replicas."""

    def make(replicas=2, **options):
        return ss.backend("sim", replicas=replicas, **options)

    return make


@pytest.fixture
def mirrored():
    """Makes a strategy on the simulator, and closes it at the end."""
    made = []

    def make(replicas=2, **settings):
        made.append(ss.Strategy.mirrored("sim", replicas=replicas, **settings))
        return made[-1]

    yield make
    for strategy in made:
        strategy.close()


@pytest.fixture
def worker_backend():
    """Makes the backend of one worker of a cluster, joined by the given link."""

    def make(worker, *, workers=2, replicas=1, link=None):
        return SimBackend(simulated_devices(workers, replicas), worker=worker, link=link)

    return make


@pytest.fixture(params=["greenlet", "thread"])
def executor(request):
    """Each executor of tasks in turn."""
    return request.param


@pytest.fixture
def generators_as_before():
    """Leaves Python's and NumPy's global generators as other tests had them."""
    before = random.getstate(), np.random.get_state()
    yield
    random.setstate(before[0])
    np.random.set_state(before[1])


@pytest.fixture
def same():
    """Tells whether an array has exactly these values, this dtype and this shape."""

    def check(array, values, dtype=None):
        expected = np.asarray(values) if dtype is None else np.asarray(values, dtype)
        found = np.asarray(array)
        assert found.dtype == expected.dtype, f"{found.dtype} is not {expected.dtype}"
        assert found.shape == expected.shape, f"{found.shape} is not {expected.shape}"
        assert np.array_equal(found, expected, equal_nan=found.dtype.kind in "fc"), f"{found} is not {expected}"

    return check
