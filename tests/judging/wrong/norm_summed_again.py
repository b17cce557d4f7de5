"""Gradients are all-reduced, and then the squared norms of the totals are, too, as if they were shares."""

import numpy as np

import simstrategy as ss

LIMIT = 0.5


def program(strategy):
    rng = np.random.default_rng(101)
    x = rng.normal(size=(30, 4)).astype(np.float32)
    y = (x @ rng.normal(size=(4, 2))).astype(np.float32)
    with strategy.scope():
        layers = [
            ss.Variable(rng.normal(size=shape).astype(np.float32) * 0.5, name=name)
            for name, shape in (("encoder", (4, 3)), ("decoder", (3, 2)))
        ]

    def gradients_of(xp, x, y):
        encoder, decoder = (one.value() for one in layers)
        code = xp.matmul(x, encoder)
        errors = (xp.matmul(code, decoder) - y) / 10
        to_code = xp.matmul(errors, xp.matrix_transpose(decoder))
        return [xp.matmul(xp.matrix_transpose(x), to_code), xp.matmul(xp.matrix_transpose(code), errors)]

    def apply(merging, gradients):
        means = merging.extended.batch_reduce_to("MEAN", list(zip(gradients, layers, strict=True)))
        for variable, gradient in zip(layers, means, strict=True):
            merging.extended.update(variable, lambda v, g: v.assign_sub(g), args=(gradient,))

    def step(x, y):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        gradients = ctx.all_reduce("SUM", gradients_of(xp, x, y))
        squares = xp.stack([xp.sum(xp.square(one)) for one in gradients])
        norm = xp.sqrt(xp.sum(ctx.all_reduce("SUM", squares)))  # wrong: these are the squares of totals
        scale = LIMIT / xp.maximum(norm, LIMIT)
        ctx.merge_call(apply, args=([one * scale for one in gradients],))

    for batch in strategy.experimental_distribute_dataset(
        ss.data.Dataset.from_tensor_slices((x, y)).batch(10),
    ):
        strategy.run(step, args=batch)
    return [layer.numpy() for layer in layers]
