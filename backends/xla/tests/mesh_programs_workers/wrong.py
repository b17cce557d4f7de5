"""Programs of a mesh that are right in one process and not in several.  No tests."""

import os
import signal
import sys
import threading
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)


def stepping(mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def step(weights, rows):
        return weights - 0.1 * jax.lax.pmean(weights - rows.mean(axis=0), "data")

    return step


def evaluating(mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
    def evaluate(weights, rows):
        return jax.lax.pmax(jnp.max(rows @ weights), "data")

    return evaluate


def is_alone(worker):
    """Returns whether this process is that worker, of several."""
    return jax.process_count() > 1 and jax.process_index() == worker


# Other values than the others have.


def _stepping_and_centred(mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    def centred(rows):
        return rows - jax.lax.pmean(rows.mean(axis=0), "data")

    return stepping(mesh), centred


def own_parameters_after_own_rows(mesh: Mesh):
    """Each process fills the rows of its own device alone, which are all that is taken of its array: that is lawful."""
    step, centred = _stepping_and_centred(mesh)
    mine = np.arange(len(ROWS)) * jax.process_count() // len(ROWS) == jax.process_index()
    rows = centred(np.where(mine[:, None], ROWS, 0))
    weights = jnp.zeros(3) + jax.process_index()
    for _ in range(2):
        weights = step(weights, rows)
    return {"weights": np.asarray(weights), "steps": 2}


def own_large_parameters(mesh: Mesh):
    """More than a MiB."""
    weights = np.full((1200, 300), 1.0 + jax.process_index(), np.float32)
    return {"weights": np.asarray(stepping(mesh)(weights, np.ones((24, 300), np.float32))), "steps": 1}


# Other computations than the others run.


def first_evaluates(mesh: Mesh):
    step, evaluate = stepping(mesh), evaluating(mesh)
    weights = step(jnp.zeros(3), ROWS)
    if jax.process_index() == 0:
        assert np.isfinite(evaluate(weights, ROWS))
    return step(weights, ROWS)


def other_order(mesh: Mesh):
    step, evaluate = stepping(mesh), evaluating(mesh)
    weights = jnp.ones(3)
    for call in (evaluate, step) if is_alone(1) else (step, evaluate):
        call(weights, ROWS)
    return weights


def other_steps(mesh: Mesh):
    step, weights = stepping(mesh), jnp.zeros(3)
    for _ in range(2 + is_alone(1)):
        weights = step(weights, ROWS)
    return weights


def other_steps_compiled(mesh: Mesh):
    """Programs that are compiled ahead are begun by other code of JAX than those of `jit`."""
    weights = jax.device_put(np.zeros(3, np.float32), NamedSharding(mesh, P()))
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    compiled = stepping(mesh).lower(weights, rows).compile()
    for _ in range(3 - is_alone(1)):
        weights = compiled(weights, rows)
    return weights


def other_operations(mesh: Mesh):
    """Operations on arrays of all processes, outside of any compiled function of the program."""
    weights = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    for _ in range(3 - is_alone(1)):
        weights = weights * 2
    return weights.sum()


def other_steps_of_pmap(mesh: Mesh):
    total = jax.pmap(lambda rows: jax.lax.psum(rows, "data"), axis_name="data")
    rows = jnp.ones((jax.local_device_count(), 3))
    for _ in range(3 - is_alone(1)):
        rows = total(rows)
    return rows


def other_shapes(mesh: Mesh):
    step, weights = stepping(mesh), jnp.zeros(3)
    sizes = np.array([[0, 8, 12], [12, 20, 24]]) if jax.process_count() == 2 else np.array([[0, 24]])
    first, *rest = sizes[jax.process_index()]
    if is_alone(1):
        rest = [19, 24]
    for last in rest:
        rows = jax.make_array_from_process_local_data(NamedSharding(mesh, P("data")), ROWS[first:last])
        weights, first = step(weights, rows), last
    return weights


def other_collective(mesh: Mesh):
    """The functions have one name and one form, and sum other things: one of them has another collective."""

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P(), check_vma=False)
    def combine(rows):
        total = rows.sum(axis=0)
        return jax.lax.pmax(total, "data") if is_alone(1) else jax.lax.psum(total, "data")

    return combine(ROWS)


def first_alone_on_all_devices(mesh: Mesh):
    """What the first process computes has no collective, and devices of all processes."""
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    return {"weights": weights} | ({"norm": jnp.sum(weights)} if jax.process_index() == 0 else {})


def other_names(mesh: Mesh):
    step = stepping(mesh)
    if is_alone(1):
        multihost_utils.sync_global_devices("saved")
    return step(jnp.zeros(3), ROWS)


def out_of_a_helper(mesh: Mesh):
    total = jax.jit(jnp.sum)(jax.device_put(ROWS, NamedSharding(mesh, P("data"))))
    return multihost_utils.process_allgather(np.float32(total)) if jax.process_index() == 0 else total


# Processes that leave the others alone.


def one_raises(mesh: Mesh):
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    if is_alone(1):
        raise KeyError("mine")
    return stepping(mesh)(weights, ROWS)


def one_is_killed(mesh: Mesh):
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    if is_alone(1):
        os.kill(os.getpid(), signal.SIGKILL)
    return stepping(mesh)(weights, ROWS)


def one_exits(mesh: Mesh):
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    if is_alone(0):
        sys.exit("enough")
    return stepping(mesh)(weights, ROWS)


def one_ends(mesh: Mesh):
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    if is_alone(0):
        os._exit(3)
    return stepping(mesh)(weights, ROWS)


def one_returns(mesh: Mesh):
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    if is_alone(1):
        return weights
    return stepping(mesh)(weights, ROWS)


def one_sleeps(mesh: Mesh):
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    if is_alone(1):
        threading.Event().wait(1000)
    return stepping(mesh)(weights, ROWS)


# Values that are not what one process has.


def own_parameters(mesh: Mesh):
    weights = jax.random.normal(jax.random.key(jax.process_index()), (3,))
    return stepping(mesh)(weights, ROWS)


def own_parameters_on_the_host(mesh: Mesh):
    """What is returned is read from the copy of each process."""
    weights = jax.random.normal(jax.random.key(jax.process_index()), (3,))
    weights = stepping(mesh)(weights, ROWS)
    return {"weights": np.asarray(weights), "size": mesh.size}


def own_rows_as_all(mesh: Mesh):
    """Each process takes the rows that it has read for those of all."""
    rows = np.split(ROWS, jax.process_count())[jax.process_index()]
    return stepping(mesh)(jnp.zeros(3), rows)


def put_what_is_not_equal(mesh: Mesh):
    return jax.device_put(np.full((40, 3), jax.process_index(), np.float32), NamedSharding(mesh, P()))


def reads_what_others_have(mesh: Mesh):
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    return np.asarray(rows)


def first_alone_returns_its_own(mesh: Mesh):
    """The first process alone returns a value of its own rows: no other value shows whether that was meant."""
    weights = stepping(mesh)(jnp.zeros(3), ROWS)
    mine = np.split(ROWS, jax.process_count())[jax.process_index()]
    return {"weights": weights} | ({"mean": float(mine.mean())} if jax.process_index() == 0 else {})


def first_alone_returns_its_part(mesh: Mesh):
    """The first process alone returns an array of which others have parts."""
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    return {"rows": rows, "size": mesh.size} if jax.process_index() == 0 else None
