"""Draws programs of Keras under MirroredStrategy: metrics and losses over a distributed dataset, `evaluate` and `fit`.

The documentation states that the global batch is what the model is trained on, and that metrics and losses are of all
examples: www.tensorflow.org/tutorials/distribute/keras and keras.io/guides/distributed_training_with_tensorflow.
"""

from typing import Final

from ci.campaigns.upstream.programs import Library, calls_of

__all__ = ["LIBRARY"]

CALLS: Final = calls_of("keras")


def draw(random):
    """Returns subject, title and body of a program."""
    return _of_metric(random) if random.random() < 0.96 else _of_model(random)


def _of_metric(random):
    kind = random.choice(["regression", "binary", "classes", "one_hot", "values"])
    rows, batch, seeds = random.randint(7, 17), random.choice([4, 6, 8]), [random.randrange(10**6) for _ in range(3)]
    target, predicted = {
        "regression": (f"drawn({seeds[0]}, {rows}, 2)", f"drawn({seeds[1]}, {rows}, 2)"),
        "binary": (f"labels({seeds[0]}, 2, {rows}, 2)", f"drawn({seeds[1]}, {rows}, 2)"),
        "classes": (f"labels({seeds[0]}, 3, {rows})", f"drawn({seeds[1]}, {rows}, 3)"),
        "one_hot": (f"np.eye(3, dtype=np.float32)[labels({seeds[0]}, 3, {rows})]", f"drawn({seeds[1]}, {rows}, 3)"),
        "values": (f"drawn({seeds[0]}, {rows}, 2)", None),
    }[kind]
    metric = random.choice(CALLS[kind])
    arrays = [one for one in (target, predicted) if one is not None]
    weighted = random.random() < 0.4
    if weighted:
        arrays.append(f"drawn({seeds[2]}, {rows})")
    lines = [
        "with strategy.scope():",
        f"    metric = keras.metrics.{metric}",
        f"return updated(strategy, metric, ({', '.join(arrays)},), {batch})",
    ]
    return metric, f"{metric} of {rows} rows in batches of {batch}{', weighted' if weighted else ''}", "\n".join(lines)


def _of_model(random):
    name = random.choice([*CALLS["models"]])
    layers, inputs = CALLS["models"][name]
    loss, optimizer, out = random.choice(CALLS["losses"]), random.choice(CALLS["optimizers"]), random.choice([1, 2])
    rows, batch = random.choice([24, 24, 30, 31]), 12
    shape = inputs.strip("()").rstrip(",")
    weights = random.choice(["", "", f", sample_weight=drawn({random.randrange(10**6)}, {rows})"])
    steps = random.choice(["", "", ", steps_per_execution=2"])
    lines = [
        f"inputs = drawn({random.randrange(10**6)}, {rows}, {shape})",
        f"targets = drawn({random.randrange(10**6)}, {rows}, {out})",
        "with strategy.scope():",
        f"    model = model_of({layers.format(out=out)}, {inputs})",
        f"    optimizer = keras.optimizers.{optimizer}",
        "    metrics = {'metrics': ['mean_absolute_error'], 'weighted_metrics': ['mean_squared_error']}",
        f"    model.compile(optimizer, {loss}, **metrics{steps})",
        f"history = model.fit(inputs, targets, batch_size={batch}, epochs=2, shuffle=False, verbose=0{weights})",
        f"found = model.evaluate(inputs, targets, batch_size={batch}, verbose=0, return_dict=True{weights})",
        f"predicted = model.predict(inputs, batch_size={batch}, verbose=0)",
        "return [history.history, found, predicted, model.get_weights()]",
    ]
    title = f"fit of {name}, {loss}, {optimizer}, {rows} rows{', weighted' if weights else ''}{steps}"
    return f"fit: {name}, {loss}, {optimizer}, {'even' if rows == 24 else 'partial'} batches", title, "\n".join(lines)


LIBRARY = Library("keras", "strategy", (1, 2, 3), "strategy", draw, ("keras", "tensorflow"))
