"""Nudging: every float moves to a neighbour, nothing else moves, and always the same way."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device import UlpPerturbed
from simstrategy.device.perturbed import perturb
from simstrategy.sim import open_sim

DTYPES = [np.float16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_element_moves_to_one_of_its_two_neighbours(dtype):
    value = np.linspace(-3, 3, 50).astype(dtype).reshape(5, 10)
    moved = perturb(value, 1)
    assert moved.dtype == dtype
    assert moved.shape == value.shape
    up, down = np.nextafter(value, dtype(np.inf)), np.nextafter(value, dtype(-np.inf))
    assert np.all((moved == up) | (moved == down))
    assert np.all(moved != value)
    assert 10 < np.count_nonzero(moved == up) < 40


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_nans_and_infinities_stay(dtype):
    value = np.array([0.0, -0.0, np.nan, np.inf, -np.inf], dtype)
    moved = perturb(value, 1)
    assert moved.tobytes() == value.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_ends_of_the_range_stay_finite_and_warn_of_nothing(dtype):
    info = np.finfo(dtype)
    value = np.array([info.max, info.min, info.smallest_subnormal] * 20, dtype)
    moved = perturb(value, 1)
    assert np.isfinite(moved).all()
    assert (moved[:2] != 0).all()
    assert np.count_nonzero(moved != value) > 20


@pytest.mark.parametrize("value", [np.arange(3), np.array([True, False]), np.array([1 + 2j]), np.array(["a"])])
def test_what_is_no_float_stays_itself(value):
    assert perturb(value, 1) is value


def test_a_pattern_is_the_same_every_time_and_unlike_the_next():
    value = np.ones(200, np.float32)
    assert perturb(value, 1).tobytes() == perturb(value, 1).tobytes()
    patterns = [tuple((perturb(value, pattern) > 1).tolist()) for pattern in range(20)]
    assert len(set(patterns)) == 20
    shares = [sum(pattern) / 200 for pattern in patterns]
    assert min(shares) > 0.3
    assert max(shares) < 0.7


def test_the_direction_depends_on_the_index_alone():
    ones, twos = np.ones(50, np.float32), np.full((5, 10), 2.0, np.float32)
    assert ((perturb(ones, 4) > 1) == (perturb(twos, 4) > 2).reshape(-1)).all()


def test_scalars_and_empty_arrays_are_nudged_as_arrays():
    assert perturb(np.array(1.0, np.float32), 1).shape == ()
    assert perturb(np.array(1.0, np.float32), 1) != 1
    assert perturb(np.zeros((0, 3), np.float32), 1).shape == (0, 3)


def test_the_caller_s_array_is_not_written_to():
    value = np.ones(4, np.float32)
    perturb(value, 1)
    assert (value == 1).all()


def test_a_nudged_backend_moves_host_data_once_and_device_arrays_never():
    backend = UlpPerturbed(open_sim(replicas=2), 3)
    host = np.linspace(1, 2, 8).astype(np.float32)
    first = backend.put(host, backend.devices[0])
    assert first.tobytes() == perturb(host, 3).tobytes()
    assert backend.put(first, backend.devices[1]).tobytes() == first.tobytes()
    assert backend.get(first).tobytes() == first.tobytes()
    integers = backend.put(np.arange(4), backend.devices[0])
    assert (integers == np.arange(4)).all()


def test_a_nudged_program_differs_by_about_one_unit_in_the_last_place():
    x = np.linspace(1, 2, 8).astype(np.float32)

    def run(backend):
        strategy = ss.Strategy.mirrored(backend)
        return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", x)).values[0]

    plain, moved = run(open_sim(replicas=2)), run(UlpPerturbed(open_sim(replicas=2), 1))
    assert (plain != moved).all()
    assert np.allclose(plain, moved, rtol=3e-7, atol=0)
