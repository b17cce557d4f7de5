"""Programs of a mesh that give in several processes what they give in one.  No tests."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)
TARGETS = ROWS @ np.float32([1.0, -2.0, 0.5])


def loss_of(weights, rows, targets):
    return jnp.mean((rows @ weights - targets) ** 2)


def own(array):
    """Returns the rows [rows / processes, …] that this process reads of an array [rows, …]."""
    return np.split(array, jax.process_count())[jax.process_index()]


def fit(mesh: Mesh):
    """Each process has the whole batch on its host, as NumPy arrays, and `shard_map` takes the parts."""

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()), check_vma=False)
    def step(weights, rows, targets):
        loss, gradient = jax.value_and_grad(loss_of)(weights, rows, targets)
        return weights - 0.1 * jax.lax.pmean(gradient, "data"), jax.lax.pmean(loss, "data")

    weights, losses = jnp.zeros(3), []
    for _ in range(3):
        weights, loss = step(weights, ROWS, TARGETS)
        losses.append(float(loss))
    return {"weights": weights, "losses": losses, "host": np.asarray(weights)}


def of_parts(mesh: Mesh):
    """Each process reads rows of its own, and jit with shardings chooses the collectives."""
    rows, targets = [
        jax.make_array_from_process_local_data(NamedSharding(mesh, P("data")), own(one)) for one in (ROWS, TARGETS)
    ]
    weights = jax.device_put(np.zeros(3, np.float32), NamedSharding(mesh, P()))
    step = jax.jit(lambda weights, *batch: weights - 0.1 * jax.grad(loss_of)(weights, *batch))
    for _ in range(3):
        weights = step(weights, rows, targets)
    residuals = jax.jit(lambda weights, rows, targets: rows @ weights - targets)(weights, rows, targets)
    return {"weights": weights, "residuals": residuals, "own": own(ROWS)}


def own_rows_of_a_whole_array(mesh: Mesh):
    """Each process fills the rows of its own device alone, and gives the array whole: the others have theirs."""

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"), check_vma=False)
    def centred(rows):
        return rows - jax.lax.pmean(rows.mean(axis=0), "data")

    mine = np.arange(len(ROWS)) * jax.process_count() // len(ROWS) == jax.process_index()
    weights = jax.jit(lambda rows: (rows**2).mean(axis=0))(centred(np.where(mine[:, None], ROWS, 0)))
    return {"weights": np.asarray(weights), "large": np.asarray(weights).sum() * np.ones((1200, 300), np.float32)}


def with_metrics(mesh: Mesh):
    """Each process computes a metric of its own rows, and gathers those of all; the first one alone returns a text."""

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(state, rows, targets):
        weights, speed = state
        speed = 0.5 * speed + jax.lax.pmean(jax.grad(loss_of)(weights, rows, targets), "data")
        return weights - 0.1 * speed, speed

    state = jax.device_put((np.zeros(3, np.float32),) * 2, NamedSharding(mesh, P()))
    for _ in range(2):
        state = step(state, ROWS, TARGETS)
    multihost_utils.sync_global_devices("trained")
    seen = multihost_utils.broadcast_one_to_all(np.int32(len(ROWS)))
    mine = loss_of(np.asarray(state[0]), own(ROWS), own(TARGETS))
    metric = float(np.mean(multihost_utils.process_allgather(mine)))
    found = {"state": state, "metric": metric, "seen": int(seen), "mine": float(mine)}
    return found | ({"only": "saved"} if jax.process_index() == 0 and jax.process_count() > 1 else {})


def first_alone_returns(mesh: Mesh):
    """Returns the result in the first process alone, as programs that print it do."""
    found = fit(mesh)
    if jax.process_count() > 1:
        found["own"] = {"rows": own(ROWS)}
    return found if jax.process_index() == 0 else None


def last_alone_returns(mesh: Mesh):
    found = fit(mesh)
    return found if jax.process_index() == jax.process_count() - 1 else None


def many_ways(mesh: Mesh):
    """Keys, operations outside of compiled functions, callbacks, donated arguments, loops and another mesh."""
    rows = jax.device_put(ROWS, NamedSharding(mesh, P("data")))
    noise = jax.jit(jax.random.normal, static_argnums=1)(jax.random.key(1), rows.shape)
    doubled = jax.jit(lambda x: (jax.debug.print("{}", x.sum()), x * 2)[1], donate_argnums=0)(rows + noise)
    scanned = jax.jit(lambda x: jax.lax.scan(lambda total, row: (total + row, total.sum()), jnp.zeros(3), x))(doubled)
    other = NamedSharding(Mesh(mesh.devices[::-1], ("other",)), P("other"))
    turned = jax.jit(lambda x: x * 3, out_shardings=other)(jax.device_put(ROWS, other))
    local = jax.jit(lambda x: x @ x.T)(np.full((3, 3), 1 + jax.process_index()))
    assert local.is_fully_addressable
    found = {"scanned": scanned, "turned": turned, "key": jax.random.key(2), "empty": ROWS[:0]}
    return found | {"flags": rows > 0, "half": rows.astype("bfloat16")}


def by_pmap(mesh: Mesh):
    """Each process gives `pmap` the rows of its own devices."""
    count = jax.local_device_count()
    step = jax.pmap(
        lambda weights, *batch: weights - 0.1 * jax.lax.pmean(jax.grad(loss_of)(weights, *batch), "data"),
        axis_name="data",
    )
    weights = jnp.zeros((count, 3))
    rows, targets = own(ROWS).reshape(count, -1, 3), own(TARGETS).reshape(count, -1)
    for _ in range(2):
        weights = step(weights, rows, targets)
    return {"weights": weights}
