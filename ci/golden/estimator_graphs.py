"""The models of cases of `estimator` as TensorFlow's graphs: a custom model function, and canned estimators.

Runs on Python 3.7 as well as on today's. It asks nothing itself.
"""

import threading

import numpy
from estimator_rows import INITIAL

REDUCTIONS = {
    "SUM": "weighted_sum",
    "MEAN": "weighted_mean",
    "SUM_OVER_BATCH_SIZE": "weighted_sum_over_batch_size",
    "SUM_BY_NONZERO_WEIGHTS": "weighted_sum_by_nonzero_weights",
}


class Written:
    """What each replica wrote down, in its own order: the first column of its batch, and its gradients."""

    def __init__(self):
        self._lock = threading.Lock()
        self._by_name = {}

    def operation(self, tf, name, values):
        """Returns an operation of the current replica that writes down the values of tensors."""
        context = tf.distribute.get_replica_context()
        rank = tf.convert_to_tensor(context.replica_id_in_sync_group)

        def write(rank, *arrays):
            with self._lock:
                self._by_name.setdefault(name, {}).setdefault(int(rank), []).append(
                    [numpy.asarray(one).tolist() for one in arrays]
                )
            return numpy.int32(0)

        return tf.py_func(write, [rank, *values], tf.int32)

    def steps(self, count, replicas):
        """Returns the first `count` entries, [step][replica], of each name."""
        told = {}
        for name in ("parts", "gradients"):
            entries = self._by_name.get(name, {})
            told[name] = [[entries[rank][step] for rank in range(replicas)] for step in range(count if entries else 0)]
        return told


def optimizer(tf, name):
    return {
        "sgd": lambda: tf.train.GradientDescentOptimizer(0.25),
        "momentum": lambda: tf.train.MomentumOptimizer(0.25, 0.5),
        "adagrad": lambda: tf.train.AdagradOptimizer(0.25),
    }[name]()


def custom(tf, case, written):
    """Returns the model function x · w + b with the case's loss and optimizer."""

    def model_fn(features, labels, mode):
        w = tf.get_variable("w", initializer=tf.constant(INITIAL["w"]))
        b = tf.get_variable("b", initializer=tf.constant(INITIAL["b"]))
        with tf.control_dependencies([written.operation(tf, "parts", [features["x"][:, 0]])]):
            x = tf.identity(features["x"])
        predictions = tf.reduce_sum(x * w, axis=1) + b
        if mode == "infer":
            return tf.estimator.EstimatorSpec(mode, predictions={"predictions": predictions})
        wanted = features["w"] if labels is None else labels[:, 0]
        weights = features["w"] if case["weights"] else tf.ones_like(wanted)
        loss = _loss(tf, case["loss"], wanted, predictions, weights)
        if mode == "eval":
            metrics = {
                "absolute": tf.metrics.mean_absolute_error(wanted, predictions, weights),
                "root": tf.metrics.root_mean_squared_error(wanted, predictions),
                "mean": tf.metrics.mean(predictions),
            }
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
        chosen = optimizer(tf, case["optimizer"])
        pairs = chosen.compute_gradients(loss, [w, b])
        with tf.control_dependencies([written.operation(tf, "gradients", [one for one, _ in pairs])]):
            logged = [(tf.identity(one), variable) for one, variable in pairs]
        train_op = chosen.apply_gradients(logged, global_step=tf.train.get_or_create_global_step())
        if case["without_loss"]:
            return tf.estimator.EstimatorSpec(mode, train_op=train_op)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return model_fn


def _loss(tf, name, wanted, predictions, weights):
    if name == "own_mean":
        return tf.reduce_mean(weights * tf.square(predictions - wanted))
    if name == "own_sum":
        return tf.reduce_sum(weights * tf.square(predictions - wanted))
    return tf.losses.mean_squared_error(wanted, predictions, weights, reduction=REDUCTIONS[name])


def made(tf, case, config):
    """Returns a canned estimator of the class that the case names."""
    columns = [tf.feature_column.numeric_column("x", shape=(2,))]
    options = {"config": config, "optimizer": optimizer(tf, case["optimizer"])}
    if case["weights"]:
        options["weight_column"] = "w"
    if case["loss"] != "default":
        options["loss_reduction"] = REDUCTIONS[case["loss"]]
    if case["model"].startswith("DNN"):
        options["hidden_units"] = [3]
    return getattr(tf.estimator, case["model"])(feature_columns=columns, **options)
