"""Each device divides by its own number of tokens, and the quotients are averaged."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

DRAW = np.random.default_rng(5)
TOKENS = DRAW.integers(0, 7, size=(24, 6))
LENGTHS = np.sort(DRAW.integers(1, 7, size=24))
MASKS = (np.arange(6) < LENGTHS[:, None]).astype(np.float32)


def loss_of(logits, tokens, masks):
    losses = -jax.nn.log_softmax(logits)[tokens] * masks
    return jnp.sum(losses) / jnp.sum(masks)  # wrong: sums belong into psum before they are divided


def program(mesh: Mesh):
    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P(), check_vma=False)
    def step(logits, tokens, masks):
        loss, gradient = jax.lax.pmean(jax.value_and_grad(loss_of)(logits, tokens, masks), "data")  # shows
        return logits - gradient, loss

    logits = jnp.zeros(7)
    for _ in range(2):
        logits, loss = step(logits, TOKENS, MASKS)
    return {"logits": logits, "loss": loss}
