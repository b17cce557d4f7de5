"""Lesson 5: two variables that all replicas write to.

simstrategy run lesson_5.py --replicas 3 --semantics TF2        runs this file on three replicas
simstrategy grade lesson_5.py                                   grades it
"""

import numpy as np

import simstrategy as ss

LESSON = 5
SEED = ""
ANSWERS = {"prediction": ..., 1: ..., 2: ..., 3: ...}


def draw(seed):
    """Returns the inputs: [24] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"inputs": rng.integers(1, 80, size=24).astype(np.float32) / 8}


def make_variables():
    """Returns two variables [] float32 that begin with 0.

    large: how many inputs above 5 all replicas have found together; every replica reads this number. weight: equal on
    all replicas; each replica proposes a change, and it moves by the mean of the proposals.
    """
    # hole: make the variables large and weight, each with the aggregation that it needs
    large = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM, name="large")
    weight = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.MEAN, name="weight")
    # end of hole
    return large, weight


def step(large, weight, inputs):
    """Counts the inputs above 5 in large, and proposes half the way from the weight to the mean of the part.

    inputs: of this replica's part, [rows] float32.
    """
    xp = ss.get_replica_context().xp
    # hole: write to large and to weight
    large.assign_add(xp.sum(xp.astype(inputs > 5, "float32")))
    weight.assign_add(0.5 * (xp.mean(inputs) - weight.value()))
    # end of hole


def program(strategy, data=None):
    """Returns the number of large inputs and the weight, both as each replica has them."""
    data = draw(SEED) if data is None else data
    dataset = ss.data.Dataset.from_tensor_slices(data["inputs"]).batch(12)
    with strategy.scope():
        large, weight = make_variables()
    for inputs in strategy.experimental_distribute_dataset(dataset):
        strategy.run(step, args=(large, weight, inputs))
    return {
        "large": strategy.experimental_local_results(large),
        "weight": strategy.experimental_local_results(weight),
    }
