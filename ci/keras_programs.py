"""Keras and the reference page's loop under the real MirroredStrategy and ours, printed: one command for the evidence.

    python3 ci/keras_programs.py

Checks the lesson on several numbers of replicas, fits a model with our reductions and without, and runs the page's
loop. It exits with 1 if anything is not as expected. It is no test: it prints what tests compare.
"""

import sys
from collections import Counter

from evidence import COMMAND, ROOT, output

EXAMPLES = ROOT / "examples"
CHECKS = (("program", 0), ("usual", 1), ("normalized", 1))
EVERYWHERE = ("check", "examples/keras_everywhere.py", "--keras", "tensorflow,jax,torch")
"""One model on three libraries, in one report."""
REPLICAS = (1, 2, 4)
"""Not 3: Keras 3.15.1 itself refuses an `evaluate` whose first batch does not divide evenly."""


def checks():
    """Prints each check of the lesson; returns how many ended with an unexpected code."""
    wrong = 0
    runs = [(("check", "examples/keras_digits.py", "--function", name), expected) for name, expected in CHECKS]
    for given, expected in [*runs, (EVERYWHERE, 0)]:
        words = [*given, "--replicas", ",".join(map(str, REPLICAS))]
        print(f"$ simstrategy {' '.join(words)}", flush=True)
        code, printed = output([*COMMAND, *words])
        print(f"{printed}exit code {code}, expected {expected}\n", flush=True)
        wrong += code != expected
    return wrong


def fitted(strategy, ops, epochs=2):
    """Fits digits with BatchNormalization and Dropout, the last batch partial; returns what Keras says, and weights."""
    import keras
    from keras_digits import BATCH, digits

    layers = keras.layers
    with strategy.scope():
        hidden = [layers.Dense(32, activation="relu", name="hidden"), layers.BatchNormalization(name="norm")]
        rest = [layers.Dropout(0.3), layers.Dense(10, name="out")]
        model = keras.Sequential([layers.Input((64,)), *hidden, *rest])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.2), loss, metrics=["accuracy"])
    if ops is not None:
        ops.name_gradients(model.trainable_variables)
    images, labels = digits()
    history = model.fit(images, labels, batch_size=BATCH, epochs=epochs, shuffle=False, verbose=0).history
    return history, model.evaluate(images, labels, batch_size=BATCH, verbose=0), model.get_weights()


def fits():
    """Prints, for each number of replicas, whether fit has the same bits with our reductions, and what was traced."""
    import keras
    import tensorflow as tf

    import simstrategy as ss
    from simstrategy_tf_distribute import OrderedReduction
    from simstrategy_tf_distribute.devices import mirrored, names

    names(max(REPLICAS))
    wrong = 0
    for count in REPLICAS:
        trace = ss.trace.Trace(root=str(ROOT))
        found = []
        # TensorFlow's own default adds 4 in a ring, in another order, and spoils other strategies of its process.
        theirs = None if count <= 2 else tf.distribute.ReductionToOneDevice()
        for ops in (theirs, OrderedReduction(trace=trace)):
            keras.utils.clear_session()
            keras.utils.set_random_seed(3)
            found.append(fitted(mirrored(count, ops), ops if isinstance(ops, OrderedReduction) else None))
        (history, evaluation, weights), (our_history, our_evaluation, our_weights) = found
        same = (history, evaluation) == (our_history, our_evaluation) and all(
            one.tobytes() == two.tobytes() for one, two in zip(weights, our_weights, strict=True)
        )
        against = "TensorFlow's default" if theirs is None else "ReductionToOneDevice"
        print(f"fit, evaluate and {len(weights)} weights on {count} replicas, beside {against}: ", end="")
        print("the same bits" if same else "DIFFERENT", flush=True)
        wrong += not same
        subjects = Counter(event.subject for event in trace.events() if event.replica == 0)
        for subject, times in subjects.items():
            print(f"    traced from {count} replicas, {times} times: {subject}")
    print(flush=True)
    return wrong


def main():
    sys.path.insert(0, str(EXAMPLES))
    wrong = checks() + fits()
    print("$ python3 examples/reference_loop.py", flush=True)
    code, printed = output([sys.executable, str(EXAMPLES / "reference_loop.py")])
    print(printed, end="")
    wrong += code != 0
    print(f"\n{'all as expected' if not wrong else f'NOT as expected: {wrong}'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
