"""The models of cases of `estimator` on the Array API, with gradients by hand: what `estimator_graphs.py` is in graphs.

It opens no strategy and reads no answers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from estimator_rows import INITIAL

from simstrategy.estimator import EstimatorSpec, Mean, ModelContext, Optimizer, loss_factors

Backward = Callable[[Any], list[tuple[Any, Any]]]
"""From the derivative by the outputs [batch, …] to pairs of gradient and variable."""

WHERE_OWN = {"own_mean": "SUM_OVER_BATCH_SIZE", "own_sum": "SUM"}
"""How losses are reduced that TensorFlow's own functions do not make."""


def optimizer(name: str, note: Callable[[Any], None]) -> Optimizer:
    """Returns the optimizer of a name; note: called with each gradient that it receives."""

    def sgd(xp: Any, gradient: Any, value: Any) -> tuple[Any, ...]:
        note(gradient)
        return (value - 0.25 * gradient,)

    def momentum(xp: Any, gradient: Any, value: Any, kept: Any) -> tuple[Any, ...]:
        note(gradient)
        kept = 0.5 * kept + gradient
        return value - 0.25 * kept, kept

    def adagrad(xp: Any, gradient: Any, value: Any, kept: Any) -> tuple[Any, ...]:
        note(gradient)
        kept = kept + gradient * gradient
        return value - 0.25 * gradient / xp.sqrt(kept), kept

    rules = {"sgd": (sgd, {}), "momentum": (momentum, {"Momentum": 0.0}), "adagrad": (adagrad, {"Adagrad": 0.1})}
    rule, slots = rules[name]
    return Optimizer(rule, slots)


def custom(ctx: ModelContext, x: Any, initial: Any) -> tuple[Any, Backward]:
    xp, w, b = ctx.xp, ctx.variable("w", INITIAL["w"]), ctx.variable("b", INITIAL["b"])
    outputs = xp.sum(x * w.value(), axis=1) + b.value()
    return outputs, lambda d: [(xp.sum(x * xp.reshape(d, (-1, 1)), axis=0), w), (xp.sum(d), b)]


def linear(ctx: ModelContext, x: Any, initial: Any) -> tuple[Any, Backward]:
    xp = ctx.xp
    w = ctx.variable("linear/linear_model/x/weights", np.zeros((2, 1), np.float32))
    b = ctx.variable("linear/linear_model/bias_weights", np.zeros(1, np.float32))
    outputs = xp.matmul(x, w.value()) + b.value()
    return outputs, lambda d: [(xp.matmul(xp.permute_dims(x, (1, 0)), d), w), (xp.sum(d, axis=0), b)]


def deep(ctx: ModelContext, x: Any, initial: Any) -> tuple[Any, Backward]:
    xp = ctx.xp
    names = ("hiddenlayer_0/kernel", "hiddenlayer_0/bias", "logits/kernel", "logits/bias")
    first = [np.zeros(shape, np.float32) for shape in ((2, 3), (3,), (3, 1), (1,))]
    # What TensorFlow drew is in its first checkpoint.
    given = [initial.get(f"dnn/{name}", zeros) for name, zeros in zip(names, first, strict=True)]
    k0, b0, k1, b1 = (ctx.variable(f"dnn/{name}", value) for name, value in zip(names, given, strict=True))
    before = xp.matmul(x, k0.value()) + b0.value()
    hidden = xp.where(before > 0, before, xp.zeros_like(before))

    def backward(d: Any) -> list[tuple[Any, Any]]:
        back = xp.matmul(d, xp.permute_dims(k1.value(), (1, 0)))
        back = xp.where(before > 0, back, xp.zeros_like(back))
        out = [(xp.matmul(xp.permute_dims(hidden, (1, 0)), d), k1), (xp.sum(d, axis=0), b1)]
        return [(xp.matmul(xp.permute_dims(x, (1, 0)), back), k0), (xp.sum(back, axis=0), b0), *out]

    return xp.matmul(hidden, k1.value()) + b1.value(), backward


def model_fn(features: Any, labels: Any, mode: str, ctx: ModelContext) -> Any:
    """The model function of a case.  ctx.params: the case, what is noted of a batch, the optimizer, first values."""
    case, note, chosen, initial = ctx.params
    xp, x = ctx.xp, features["x"]
    note(ctx.replica.replica_id_in_sync_group, x[:, 0])
    build = custom if case["model"] == "custom" else linear if case["model"].startswith("Linear") else deep
    outputs, backward = build(ctx, x, initial)
    classifies = case["model"].endswith("Classifier")
    predictions = 1 / (1 + xp.exp(-outputs)) if classifies else outputs
    if mode == "infer":
        return EstimatorSpec(mode, predictions=predictions)
    wanted = xp.reshape(features["w"] if labels is None else labels, outputs.shape)
    weights = xp.reshape(features["w"], outputs.shape) if case["weights"] else xp.ones_like(wanted)
    losses, slopes = _classes(xp, outputs, wanted) if classifies else ((outputs - wanted) ** 2, 2 * (outputs - wanted))
    reduction = "SUM" if case["loss"] == "default" else WHERE_OWN.get(case["loss"], case["loss"])
    factors = loss_factors(xp, weights, reduction)
    own = case["loss"] in WHERE_OWN
    return EstimatorSpec(
        mode,
        loss=None if case["without_loss"] else xp.sum(losses * factors),
        gradients=backward(slopes * factors) if mode == "train" else (),
        optimizer=chosen,
        **({} if own else {"loss_reduction": reduction}),
        metrics=_metrics(xp, case, wanted, predictions, losses, weights) if mode == "eval" else {},
    )


def _classes(xp: Any, outputs: Any, wanted: Any) -> tuple[Any, Any]:
    """Returns the sigmoid cross-entropy, and its derivative by the outputs."""
    size = xp.abs(outputs)
    losses = (outputs + size) / 2 - outputs * wanted + xp.log1p(xp.exp(-size))
    return losses, 1 / (1 + xp.exp(-outputs)) - wanted


def _metrics(xp: Any, case: Any, wanted: Any, predictions: Any, losses: Any, weights: Any) -> dict[str, Mean]:
    if case["model"] == "custom":
        return {
            "absolute": Mean(xp.abs(wanted - predictions), weights),
            "root": Mean((wanted - predictions) ** 2, then=np.sqrt),
            "mean": Mean(predictions),
        }
    found = {"average_loss": losses, "label/mean": wanted, "prediction/mean": predictions}
    metrics = {name: Mean(values, weights) for name, values in found.items()}
    if not case["model"].endswith("Classifier"):
        return metrics
    one, zero = xp.ones_like(wanted), xp.zeros_like(wanted)
    positive = xp.where(predictions > 0.5, one, zero)
    return {
        **metrics,
        "accuracy": Mean(xp.where(positive == wanted, one, zero), weights),
        "accuracy_baseline": Mean(wanted, weights, then=lambda mean: np.maximum(mean, 1 - mean)),
        "precision": Mean(wanted, positive * weights),
        "recall": Mean(positive, wanted * weights),
    }
