"""Trains a softmax classifier and a small MLP on scikit-learn's digits, by data-parallel SGD.

Real data: 1,797 images of 8 × 8 pixels, in batches of 64, so that the last batch has 5 and splits
unevenly. Written once, with `ctx.xp` alone: the arithmetic is done by whatever backend runs it.

    simstrategy check examples/train_digits.py --backends sim,tensorflow,torch,xla --replicas 1,2,4
"""

import numpy as np
from sklearn.datasets import load_digits

import simstrategy as ss

BATCH_SIZE = 64
LEARNING_RATE = 0.5
HIDDEN = 32
CLASSES = 10
EPOCHS = 2


def images_and_labels():
    """Returns images [1797, 64] float32 in 0..1 and labels [1797, 10] float32, one-hot."""
    images, labels = load_digits(return_X_y=True)
    return (images / 16.0).astype(np.float32), np.eye(CLASSES, dtype=np.float32)[labels]


def initial_weights(rng, inputs, outputs):
    return (rng.standard_normal((inputs, outputs)) / np.sqrt(inputs)).astype(np.float32)


def softmax(xp, logits):
    shifted = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return shifted / xp.sum(shifted, axis=1, keepdims=True)


def losses_and_errors(xp, logits, labels):
    """Returns the cross-entropy of each example [batch], and its gradient to the logits [batch, 10]."""
    probabilities = softmax(xp, logits)
    losses = -xp.log(xp.sum(probabilities * labels, axis=1) + 1e-7)
    return losses, probabilities - labels


def train(strategy, make_model, train_step):
    """Returns the mean loss of every step [steps]: right on the last, partial batch too."""
    dataset = ss.data.Dataset.from_tensor_slices(images_and_labels()).batch(BATCH_SIZE)
    with strategy.scope():
        variables = make_model(np.random.default_rng(1))
    losses = []
    for _ in range(EPOCHS):
        for batch in strategy.experimental_distribute_dataset(dataset):
            per_example = strategy.experimental_run_v2(train_step, args=(variables, *batch))
            losses.append(strategy.reduce(ss.ReduceOp.MEAN, per_example, axis=0))
    return strategy.xp.stack(losses)


def summed(values, name):
    return ss.Variable(values, aggregation=ss.VariableAggregation.SUM, name=name)


def softmax_model(rng):
    return [summed(initial_weights(rng, 64, CLASSES), "weights"), summed(np.zeros(CLASSES, np.float32), "bias")]


def softmax_step(variables, images, labels):
    """One step of this replica's share: its gradients are summed with the others' by the variables."""
    xp = ss.get_replica_context().xp
    weights, bias = variables
    losses, errors = losses_and_errors(xp, xp.matmul(images, weights.value()) + bias.value(), labels)
    rate = LEARNING_RATE / BATCH_SIZE
    weights.assign_sub(rate * xp.matmul(xp.permute_dims(images, (1, 0)), errors))
    bias.assign_sub(rate * xp.sum(errors, axis=0))
    return losses


def mlp_model(rng):
    return [
        summed(initial_weights(rng, 64, HIDDEN), "weights_in"),
        summed(np.zeros(HIDDEN, np.float32), "bias_in"),
        summed(initial_weights(rng, HIDDEN, CLASSES), "weights_out"),
        summed(np.zeros(CLASSES, np.float32), "bias_out"),
    ]


def mlp_step(variables, images, labels):
    xp = ss.get_replica_context().xp
    weights_in, bias_in, weights_out, bias_out = variables
    hidden = xp.tanh(xp.matmul(images, weights_in.value()) + bias_in.value())
    losses, errors = losses_and_errors(xp, xp.matmul(hidden, weights_out.value()) + bias_out.value(), labels)
    hidden_errors = xp.matmul(errors, xp.permute_dims(weights_out.value(), (1, 0))) * (1.0 - hidden * hidden)
    rate = LEARNING_RATE / BATCH_SIZE
    weights_out.assign_sub(rate * xp.matmul(xp.permute_dims(hidden, (1, 0)), errors))
    bias_out.assign_sub(rate * xp.sum(errors, axis=0))
    weights_in.assign_sub(rate * xp.matmul(xp.permute_dims(images, (1, 0)), hidden_errors))
    bias_in.assign_sub(rate * xp.sum(hidden_errors, axis=0))
    return losses


def program(strategy):
    return {
        "softmax": train(strategy, softmax_model, softmax_step),
        "mlp": train(strategy, mlp_model, mlp_step),
    }
