"""What several tests of compiled programs share: a program, a backend that examines it, and faults to plant into it."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy_xla.ranks import RANKS
from simstrategy_xla.topology import Topology

COUNT = 4
LIBTPU = Path(sys.prefix) / "tpu"
"""Where the repository installs libtpu: apart, because JAX looks for TPUs wherever it finds it."""


def program(strategy):
    """Two steps with variables, a mean, a gather, and a reduction in a merge_call."""
    with strategy.scope():
        weights = ss.Variable(np.ones((8, 3), np.float32), aggregation=ss.VariableAggregation.SUM)
        first = ss.Variable(np.ones(3, np.float32), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)

    def step(x):
        context = ss.get_replica_context()
        xp = context.xp
        y = xp.matmul(x, weights.value())
        weights.assign_sub(xp.matmul(xp.permute_dims(x, (1, 0)), y) * 0.001)
        first.assign(xp.sum(y, axis=0))
        losses = context.merge_call(lambda merged, value: merged.reduce("MEAN", value, axis=0), args=(y,))
        return context.all_reduce("MEAN", xp.sum(y)), context.all_gather(y, 0), losses

    run = strategy.compile(step)
    dataset = ss.data.Dataset.from_tensor_slices(np.arange(256, dtype=np.float32).reshape(32, 8) / 999).batch(16)
    for batch in strategy.experimental_distribute_dataset(dataset):
        strategy.run(run, args=(batch,))


def open_host(*, replicas: int | None = None, topology: str = "host") -> ss.device.Backend:
    """Opens a backend that examines what it compiles for the host's own devices, in a TPU's place."""
    if topology != "host":
        raise InvalidArgument(f"There is no topology {topology!r} here.")
    backend = ss.backend("xla", replicas=COUNT)
    backend.examine_for(Topology("host CPUs", jax.devices()[:COUNT]))
    return backend


def open_on_one(*, replicas: int | None = None) -> ss.device.Backend:
    """Opens a backend whose replicas are all on one device."""
    return ss.backend("xla", devices=["cpu:0"] * (1 if replicas is None else replicas))


def an_extra_sum(x, op):
    return jax.lax.psum(x, RANKS) + 0 * jax.lax.psum(jnp.sin(x), RANKS)


def a_maximum(x, op):
    return jax.lax.pmax(x, RANKS)


def pairs(x, op):
    return jax.lax.psum(x, RANKS, axis_index_groups=[[0, 1], [2, 3]])


def another_dtype(x, op):
    return jax.lax.psum(x.astype(jnp.int32), RANKS).astype(x.dtype)


def nothing(x, op):
    return x


def by_gathering(x, op):
    return jnp.sum(jax.lax.all_gather(x, RANKS), axis=0)


FAULTS = {
    "an extra all_reduce": (an_extra_sum, "is in the program, and no step requested it"),
    "a maximum for a sum": (a_maximum, "all-reduce MAX of 24 float32 is in the program, and no step requested it"),
    "a wrong group": (pairs, r"is among the ranks \(\(0, 1\), \(2, 3\)\), and should be among all 4"),
    "another dtype": (another_dtype, "of 24 float32 is not in the program"),
    "no collective": (nothing, "all-reduce SUM of 24 float32 is not in the program"),
    "an accidental all_gather": (by_gathering, "all-gather of 96 float32 is in the program, and no step requested it"),
}
