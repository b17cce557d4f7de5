"""Layers in stages, one for each device: micro-batches go from stage to stage, and the last one has the loss."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

LAYERS, WIDTH, MICRO, ROWS = 12, 4, 4, 3
DRAW = np.random.default_rng(0)
WEIGHTS = DRAW.normal(size=(LAYERS, WIDTH, WIDTH)).astype(np.float32) * 0.5
INPUTS = DRAW.normal(size=(MICRO, ROWS, WIDTH)).astype(np.float32)
TARGETS = DRAW.normal(size=(MICRO, ROWS, WIDTH)).astype(np.float32)


def forward(weights, inputs):
    stage, stages = jax.lax.axis_index("data"), jax.lax.axis_size("data")
    ring = [(one, (one + 1) % stages) for one in range(stages)]

    def tick(carry, time):
        held, outputs = carry
        held = jnp.where(stage == 0, inputs[jnp.minimum(time, MICRO - 1)], held)
        held, _ = jax.lax.scan(lambda value, layer: (value + jnp.tanh(value @ layer), None), held, weights)
        done = time - stages + 1
        ready = (stage == stages - 1) & (done >= 0)
        outputs = jnp.where(ready, outputs.at[jnp.maximum(done, 0)].set(held), outputs)
        return (jax.lax.ppermute(held, "data", ring), outputs), None

    begin = (jnp.zeros((ROWS, WIDTH)), jnp.zeros((MICRO, ROWS, WIDTH)))
    (_, outputs), _ = jax.lax.scan(tick, begin, jnp.arange(MICRO + stages - 1))
    return outputs


def loss_of(weights, inputs, targets):
    is_last = jax.lax.axis_index("data") == jax.lax.axis_size("data") - 1
    return jnp.where(is_last, jnp.mean((forward(weights, inputs) - targets) ** 2), 0.0)


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P(), P()), out_specs=(P("data"), P()), check_vma=False)
    def step(weights, inputs, targets):
        loss, gradient = jax.value_and_grad(loss_of)(weights, inputs, targets)
        return weights - 0.2 * gradient, jax.lax.psum(loss, "data")

    weights, losses = WEIGHTS, []
    for _ in range(3):
        weights, loss = step(weights, INPUTS, TARGETS)
        losses.append(loss)
    return {"weights": weights, "losses": jnp.stack(losses)}
