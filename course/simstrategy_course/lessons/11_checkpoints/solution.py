"""Lesson 11: a run that is stopped, and goes on with other replicas.

simstrategy run lesson_11.py --replicas 3 --semantics TF2        runs this file on three replicas
simstrategy grade lesson_11.py        grades it
"""

import copy

import numpy as np

import simstrategy as ss

LESSON = 11
SEED = ""
ANSWERS = {"prediction": ..., 1: ..., 2: ..., 3: ...}


def draw(seed):
    """Returns the inputs: [24] float32."""
    rng = np.random.default_rng(list(seed.encode()))
    return {"inputs": rng.integers(1, 80, size=24).astype(np.float32) / 8}


def checkpoint_of(strategy, variables, done):
    """Returns all that a new start needs, as a dictionary.

    variables: a list of the strategy's variables. done: how many batches are done, an int.
    """
    # hole: return what a new start needs
    return {"variables": strategy.save(variables), "done": done}
    # end of hole


def resume(strategy, variables, saved):
    """Puts what was saved into new variables, and returns how many batches are done.

    strategy, variables: new ones, perhaps with another number of replicas. saved: of checkpoint_of.
    """
    # hole: restore the variables, and return the number of batches that are done
    strategy.restore(variables, saved["variables"])
    return saved["done"]
    # end of hole


def step(weight, seen, inputs):
    """Moves the weight half the way to the mean of the batch, and counts the rows."""
    ctx = ss.get_replica_context()
    mean = ctx.all_reduce("SUM", ctx.xp.sum(inputs)) / ctx.all_reduce("SUM", np.float32(inputs.shape[0]))
    weight.assign_add(0.5 * (mean - weight.value()))
    seen.assign_add(np.float32(inputs.shape[0]))


def train(strategy, inputs, saved, last):
    """Trains until so many batches are done; returns the variables and a checkpoint."""
    with strategy.scope():
        weight = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA, name="weight")
        on_read = ss.VariableSynchronization.ON_READ
        total = ss.VariableAggregation.SUM
        seen = ss.Variable(np.float32(0), synchronization=on_read, aggregation=total, name="seen")
    done = 0 if saved is None else resume(strategy, [weight, seen], saved)
    dataset = ss.data.Dataset.from_tensor_slices(inputs).batch(6).skip(done)
    for part in strategy.experimental_distribute_dataset(dataset.take(max(last - done, 0))):
        strategy.run(step, args=(weight, seen, part))
        done += 1
    return {"weight": weight.numpy(), "seen": seen.numpy()}, checkpoint_of(strategy, [weight, seen], done)


def program(strategy, data=None):
    """Trains 2 batches, stops, and trains 2 more with one replica more; returns the weight and the rows seen."""
    data = draw(SEED) if data is None else data
    _, saved = train(strategy, data["inputs"], None, 2)
    saved = copy.deepcopy(saved)  # as if it was written to a file: of the first run nothing else is left
    replicas = strategy.num_replicas_in_sync + 1
    other = ss.Strategy.mirrored(ss.backend("sim", replicas=replicas), semantics=ss.Semantics.TF2)
    found, _ = train(other, data["inputs"], saved, 4)
    return found
