"""The F1 score of a classifier is computed from each replica's counts, and the scores are averaged."""

import numpy as np

import simstrategy as ss


def f_score(xp, guesses, truth):
    both = xp.sum(guesses * truth)
    return 2 * both / xp.maximum(xp.sum(guesses) + xp.sum(truth), 1.0)  # wrong: of the counts of this part


def program(strategy):
    rng = np.random.default_rng(409)
    truth = (rng.uniform(size=36) < 0.4).astype(np.float32)
    scores = np.clip(0.5 * truth + rng.uniform(0, 0.6, size=36), 0, 1).astype(np.float32)
    curve = {}
    for threshold in (0.3, 0.5, 0.7):

        def evaluate(scores, truth, threshold=threshold):
            ctx = ss.get_replica_context()
            guesses = ctx.xp.astype(scores > threshold, "float32")
            return ctx.all_reduce(ss.ReduceOp.MEAN, f_score(ctx.xp, guesses, truth))  # shows

        marks = []
        for batch in strategy.experimental_distribute_dataset(
            ss.data.Dataset.from_tensor_slices((scores, truth)).batch(18)
        ):
            marks.append(float(strategy.experimental_local_results(strategy.run(evaluate, args=batch))[0]))  # shows
        curve[str(threshold)] = np.mean(marks)
    return curve
