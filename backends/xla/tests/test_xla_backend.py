"""What XLA's CPU devices have besides the contract, which the conformance kit examines: tracers, opening, 64 bits."""

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from simstrategy.device import Strict
from simstrategy.errors import BackendUnavailable, Unsupported
from simstrategy_xla import open_xla


def _put(backend: Any, hosts: list[np.ndarray]) -> tuple[Any, ...]:
    return tuple(backend.put(host, device) for host, device in zip(hosts, backend.devices, strict=True))


def test_sums_of_rounded_floats_are_close_and_repeat_to_the_bit(xla: Any) -> None:
    hosts = list(np.random.default_rng(0).normal(size=(4, 1001)).astype(np.float32))
    first = xla.get(xla.all_reduce(_put(xla, hosts), "SUM")[0])
    np.testing.assert_allclose(first, np.sum(hosts, 0, np.float64), atol=1e-5)
    for _ in range(5):
        for result in xla.all_reduce(_put(xla, hosts), "SUM"):
            np.testing.assert_array_equal(xla.get(result), first)


def test_results_are_committed_to_their_devices(xla: Any) -> None:
    arrays = _put(xla, [np.ones((2, 2), np.float32)] * 4)
    made = [*xla.all_reduce(arrays, "SUM"), xla.reduce(arrays, "MAX", root=2)]
    made += [
        *xla.all_gather(arrays, axis=0, sizes=(2,) * 4),
        *xla.broadcast(arrays[1], spec=xla.spec(arrays[1]), root=1),
    ]
    assert all(one.committed for one in made)


def test_collectives_take_arrays_that_are_bound_to_no_device(xla: Any) -> None:
    loose: list[Any] = []
    scalars: list[Any] = []
    for device in xla.devices:
        with xla.on(device):
            loose.append(jnp.ones((device.rank, 2)))
            scalars.append(jnp.float32(device.rank))
    assert not any(array.committed for array in (*loose, *scalars))
    gathered = xla.all_gather(tuple(loose), axis=0, sizes=(0, 1, 2, 3))
    assert [xla.spec(one).placement for one in gathered] == [device.placement for device in xla.devices]
    assert [float(one) for one in xla.all_reduce(tuple(scalars), "SUM")] == [6.0] * 4


def test_a_cell_keeps_its_device_and_what_was_read_from_it(xla: Any) -> None:
    cell = Strict(xla).cell(xla.put(np.zeros(2, np.float32), xla.devices[2]))
    before = cell.read()
    with xla.on(xla.devices[2]):
        cell.write(jnp.ones(2))
    assert before.tolist() == [0, 0]
    assert cell.read().tolist() == [1, 1]
    assert cell.native is cell.read()
    assert cell.read().committed
    assert xla.spec(cell.read()).placement == xla.devices[2].placement


def test_group_calls_refuse_values_that_are_traced(xla: Any) -> None:
    arrays = _put(xla, [np.zeros(2, np.float32)] * 4)
    with pytest.raises(Unsupported, match=r"cannot do a collective with a tracer float32\[2\]"):
        jax.grad(lambda x: xla.all_reduce((x, *arrays[1:]), "SUM")[0].sum())(arrays[0])
    cell = xla.cell(arrays[0])
    with pytest.raises(Unsupported, match="writing a variable"):
        jax.jit(cell.write)(arrays[0])
    with pytest.raises(Unsupported, match="reading a value"):
        jax.jit(xla.get)(arrays[0])


def test_too_few_devices_are_counted_and_the_fix_is_named(xla: Any) -> None:
    with pytest.raises(BackendUnavailable, match=r"JAX has started with \d+ devices.*device_count=1000"):
        open_xla(replicas=1000, platform="cpu")
    with pytest.raises(BackendUnavailable, match="no devices of platform 'abacus'"):
        open_xla(platform="abacus")


def _run_alone(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "JAX_PLATFORMS": "cpu", **environment},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_process_that_used_jax_first_is_told_to_open_the_backend_before() -> None:
    program = """
import jax
jax.devices()
import simstrategy as ss
try:
    ss.backend("xla", replicas=2)
except ss.errors.BackendUnavailable as error:
    print(error)
"""
    said = _run_alone(program)
    assert "asked for 2 replicas, and JAX has started with 1 devices" in said
    assert 'ss.backend("xla", replicas=2) before any other use of JAX' in said
    assert "XLA_FLAGS=--xla_force_host_platform_device_count=2" in said


@pytest.mark.slow
def test_the_count_of_devices_in_the_environment_is_kept() -> None:
    program = """
import jax, simstrategy as ss
ss.backend("xla", replicas=2)
print(jax.device_count(), len(ss.backend("xla", replicas=3).devices))
"""
    assert _run_alone(program, XLA_FLAGS="--xla_force_host_platform_device_count=3") == "3 3"


@pytest.mark.slow
def test_sixty_four_bits_are_there_when_they_are_asked_for_and_defaults_stay_narrow() -> None:
    program = """
import numpy as np, simstrategy as ss
from simstrategy.device import Strict
backend = ss.backend("xla", replicas=2, x64=True)
xp, sim = backend.xp, ss.backend("sim", replicas=2)
assert {"float64", "int64", "uint64", "complex128"} <= backend.capabilities.dtypes
for dtype in ("float64", "int64", "uint64", "complex128"):
    hosts = [np.array([1, 2], dtype) * 2**40, np.array([3, 4], dtype)]
    for op in ("SUM",) if dtype == "complex128" else ("SUM", "MIN", "MAX"):
        put = lambda to: tuple(to.put(h, d) for h, d in zip(hosts, to.devices))
        found, wanted = Strict(backend).all_reduce(put(backend), op), sim.all_reduce(put(sim), op)
        assert all(f.dtype == dtype and (backend.get(f) == sim.get(w)).all() for f, w in zip(found, wanted))
x = xp.asarray([1.5, 2])
for result in (xp.zeros(2), xp.ones(2), xp.full(2, 0.5), xp.eye(2), x, xp.add(x, 2.5), xp.mean(x), xp.exp(x), xp.sum(x),
               xp.arange(0, 1, 0.5), xp.where(xp.greater(x, 1), 1.0, 0.0)):
    assert result.dtype == "float32", result
for result in (xp.asarray(1), xp.arange(3), xp.argmax(x), xp.sum(xp.arange(3)), xp.add(1, 2), xp.full(2, 3)):
    assert result.dtype == "int32", result
assert xp.sum(xp.asarray([1, 2], dtype="int8")).dtype == "int8"
assert xp.add(np.float64(1), x).dtype == "float64"
assert xp.add(np.ones(1, np.int32), np.ones(1, np.uint32)).dtype == "int64"
strategy = ss.Strategy.mirrored(backend, replicas=2)
context = ss.get_replica_context
mean = strategy.run(lambda: context().all_reduce("MEAN", np.int32(context().replica_id_in_sync_group)))
print([float(one) for one in strategy.experimental_local_results(mean)])
"""
    assert _run_alone(program) == "[0.5, 0.5]"
