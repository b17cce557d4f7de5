"""Ranking metrics need all scores at once: they are gathered, so that every replica sorts the same list."""

import numpy as np

import simstrategy as ss


def program(strategy):
    rng = np.random.default_rng(87)
    scores = rng.normal(size=19).astype(np.float32)
    relevant = (scores + rng.normal(size=19) > 0).astype(np.float32)

    def area_under_curve(scores, relevant):
        ctx = ss.get_replica_context()
        xp = ctx.xp
        scores = ctx.all_gather(scores, axis=0)
        relevant = ctx.all_gather(relevant, axis=0)
        above = xp.astype(xp.expand_dims(scores, axis=1) > scores, "float32")
        pairs = xp.expand_dims(relevant, axis=1) * (1.0 - relevant)
        return xp.sum(above * pairs) / xp.sum(pairs), xp.max(scores)

    for batch in strategy.experimental_distribute_dataset([(scores, relevant)]):
        area, top = strategy.run(area_under_curve, args=batch)
    return {"auc": strategy.unwrap(area)[0], "top": strategy.unwrap(top)[0], "all": strategy.gather(batch[0], axis=0)}
