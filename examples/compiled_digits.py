"""The steps of `train_digits.py`, each as one compiled program on all ranks, where the backend compiles.

    python examples/compiled_digits.py                                   # XLA: compiled and uncompiled steps
    simstrategy compile-check --program examples/compiled_digits.py:first_steps

The last batch has 5 examples, which split unevenly: that step runs uncompiled. The model is that of `train_digits.py`.
"""

import sys

import numpy as np
from train_digits import BATCH_SIZE, images_and_labels, mlp_model, mlp_step, softmax_model, softmax_step, train

import simstrategy as ss

REPLICAS = 8


def program(strategy):
    """Returns the mean loss of every step [steps], as `train_digits.program` does."""
    return {
        "softmax": train(strategy, softmax_model, strategy.compile(softmax_step)),
        "mlp": train(strategy, mlp_model, strategy.compile(mlp_step)),
    }


def first_steps(strategy, *, compiles=True):
    """Runs each step once, on a batch of full size; returns each example's loss and the weights, for each model."""
    images, labels = (array[:BATCH_SIZE] for array in images_and_labels())
    found = {}
    for make_model, step in ((softmax_model, softmax_step), (mlp_model, mlp_step)):
        with strategy.scope():
            variables = make_model(np.random.default_rng(1))
        run = strategy.compile(step) if compiles else step
        for batch in strategy.experimental_distribute_dataset([(images, labels)]):
            losses = strategy.run(run, args=(variables, *batch))
            found[step.__name__] = [strategy.gather(losses, axis=0), *(one.numpy() for one in variables)]
    return found


def uncompiled_program(strategy):
    """Returns the same without compiling."""
    return {"softmax": train(strategy, softmax_model, softmax_step), "mlp": train(strategy, mlp_model, mlp_step)}


def main(backend="xla", replicas=REPLICAS):
    """Prints a line for each model: the last loss of both ways, and the largest difference of any step."""
    ways = (program, uncompiled_program)
    compiled, uncompiled = (way(ss.Strategy.mirrored(backend, replicas=int(replicas))) for way in ways)
    for name, losses in uncompiled.items():
        one, other = np.asarray(compiled[name]), np.asarray(losses)
        print(
            f"{name:8} {len(one)} steps on {replicas} replicas of {backend}: compiled {one[-2]:.6f}, "
            f"uncompiled {other[-2]:.6f}, largest difference {np.max(np.abs(one - other)):.1e}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
