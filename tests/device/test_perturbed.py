"""Nudging: every float moves to a neighbour, nothing else moves, and always the same way."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device import UlpPerturbed
from simstrategy.device.perturbed import cancelled, largest_beside, moved_sums, perturb
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


def moved(call, *, replicas=1, functions=True):
    """Returns how many ulps of 1 the elements of a result move on a nudged simulator."""
    plain = ss.backend("sim", replicas=replicas)
    nudged = UlpPerturbed(plain, 1, functions=functions)
    one, two = (np.asarray(call(backend), np.float64) for backend in (plain, nudged))
    return ((two - one) / one / np.finfo(np.float32).eps).reshape(-1)


VALUES = np.linspace(0.1, 2.0, 40).astype(np.float32).reshape(8, 5)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.exp(VALUES),
        lambda xp: xp.tanh(VALUES),
        lambda xp: xp.sum(VALUES, axis=0),
        lambda xp: xp.mean(VALUES, axis=1),
        lambda xp: xp.matmul(VALUES, VALUES.T),
        lambda xp: xp.cumulative_sum(VALUES, axis=1),
    ],
)
def test_results_of_functions_that_libraries_round_differently_move_by_about_one_ulp(call):
    ulps = moved(lambda backend: call(backend.xp))
    assert np.count_nonzero(ulps) > len(ulps) / 2
    assert ulps.min() < 0 < ulps.max()
    assert np.abs(ulps).max() <= 2
    assert not moved(lambda backend: call(backend.xp), functions=False).any()


def test_what_all_libraries_round_alike_stays():
    for call in (
        lambda xp: xp.add(VALUES, VALUES),
        lambda xp: xp.sqrt(VALUES),
        lambda xp: xp.divide(VALUES, 3.0),
        lambda xp: xp.sum(np.ones((7, 5), np.float32), axis=0),
        lambda xp: xp.reshape(VALUES, (40,)),
    ):
        assert not moved(lambda backend, call=call: call(backend.xp)).any()
    assert UlpPerturbed(open_sim(replicas=1), 1, functions=True).xp.sum(np.int32([1, 2])).dtype == np.int32


def test_what_is_at_its_largest_moves_toward_zero_alone():
    assert (moved(lambda backend: backend.xp.tanh(np.full(50, 20, np.float32))) == -0.5).all()


@pytest.mark.parametrize(("replicas", "moves"), [(2, False), (3, True)])
def test_sums_over_more_than_two_replicas_move_and_are_equal_on_all_of_them(replicas, moves):
    def total(backend):
        arrays = tuple(backend.put(VALUES, device) for device in backend.devices)
        return [*backend.all_reduce(arrays, "SUM"), backend.reduce(arrays, "SUM", root=1)]

    plain, nudged = open_sim(replicas=replicas), UlpPerturbed(open_sim(replicas=replicas), 1, functions=True)
    inputs_alone = UlpPerturbed(open_sim(replicas=replicas), 1)
    expected, found = total(inputs_alone), total(nudged)
    assert all(one.tobytes() == found[0].tobytes() for one in found)
    assert (found[0].tobytes() != expected[0].tobytes()) == moves
    assert all(not one.flags.writeable for one in found[:-1])
    assert total(plain)[0].tobytes() != expected[0].tobytes()


@pytest.mark.parametrize(("dtype", "unit"), [(np.float32, 2.0**-23), (np.float64, 2.0**-52)])
def test_what_rounding_leaves_of_a_sum_is_small_beside_the_largest_and_not_zero(dtype, unit):
    sums = np.array([4.0, 32 * unit, 33 * unit, -unit, 0.0, 1.0], dtype)
    assert cancelled(sums).tolist() == [False, True, False, True, False, False]
    kept, found = [0, 2, 4, 5], []
    for pattern in (1, 2, 3):
        moved = moved_sums(sums, pattern)
        assert moved.dtype == sums.dtype
        assert moved[kept].tobytes() == perturb(sums, pattern)[kept].tobytes()
        found.append(moved[[1, 3]].tolist())
    assert found[0] == found[2]
    one, other = zip(*found[:2], strict=True)
    assert sorted(one) == [-4 * unit, (2 * 32 + 4) * unit]
    assert sorted(other) == [-(2 + 4) * unit, 4 * unit]


def test_a_part_of_sums_is_small_beside_the_largest_of_all():
    part = np.array([1e-16])
    assert not cancelled(part).any()
    assert cancelled(part, 1.0).tolist() == [True]
    assert sorted(float(moved_sums(part, one, largest=1.0)[0] > 0) for one in (1, 2)) == [0.0, 1.0]


def test_sums_of_which_all_is_small_are_beside_the_largest_of_all():
    assert largest_beside(4.0, 8.0, "float32") == 4.0
    assert largest_beside(8.0 * 2.0**-22, 8.0, "float32") == 8.0
    assert largest_beside(8.0 * 2.0**-22, 8.0, "float64") == 8.0 * 2.0**-22
    assert largest_beside(0.0, 8.0, "float64") == 0.0
    assert largest_beside(1e-9, 8.0, "float16") == 1e-9


@pytest.mark.parametrize("value", [np.zeros((0, 2)), np.array(3e-20), np.array([1, 0]), np.float16([1, 1e-4])])
def test_of_other_arrays_nothing_is_left(value):
    assert cancelled(value).shape == value.shape
    assert not cancelled(value).any()


def test_a_largest_number_that_is_not_finite_does_not_count():
    assert cancelled(np.array([np.nan, np.inf, 1.0, 1e-16])).tolist() == [False, False, False, True]
