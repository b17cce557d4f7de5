"""What a program passes to an Estimator: the configuration, and what a model function returns.  Nothing runs here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Strategy, Variable

__all__ = ["EVAL", "PREDICT", "TRAIN", "EstimatorSpec", "Mean", "Optimizer", "RunConfig", "loss_factors", "whole"]

TRAIN: Final = "train"
EVAL: Final = "eval"
PREDICT: Final = "infer"
REDUCTIONS: Final = ("SUM", "MEAN", "SUM_OVER_BATCH_SIZE", "SUM_BY_NONZERO_WEIGHTS")


def whole(name: str, value: Any, least: int = 1) -> int:
    """Returns a number that is an int of at least `least`.  Raises InvalidArgument and InvalidType."""
    if type(value) is not int:
        raise InvalidType(f"{name} is an int, got {short_repr(value)}. Pass a whole number.")
    if value < least:
        raise InvalidArgument(f"Must specify {name} >= {least}, given: {value}. Pass a larger number, or leave it out.")
    return value


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Where an Estimator keeps its checkpoints, and which strategies train and evaluate.

    model_dir: a folder, made where it is missing; None for one that lasts as long as the Estimator. train_distribute,
    eval_distribute: None for one replica without a strategy. backend: the name of the backend of what is not
    distributed; default that of a strategy given here, or "sim". save_checkpoints_steps: None for a checkpoint at the
    begin and at the end of each training alone. keep_checkpoint_max: older ones are deleted; None keeps all. Raises
    InvalidType and InvalidArgument. Source of names: `tf.estimator.RunConfig` of 1.15.

    >>> RunConfig(keep_checkpoint_max=2).keep_checkpoint_max
    2
    """

    model_dir: str | None = None
    train_distribute: Strategy | None = None
    eval_distribute: Strategy | None = None
    backend: str | None = None
    save_checkpoints_steps: int | None = None
    keep_checkpoint_max: int | None = 5

    def __post_init__(self) -> None:
        for name in ("train_distribute", "eval_distribute"):
            given = getattr(self, name)
            if not isinstance(given, (Strategy, type(None))):
                raise InvalidType(
                    f"RunConfig takes a strategy or None as {name}, got {short_repr(given)}. Make one, for example "
                    f'ss.Strategy.mirrored("sim", replicas=2).'
                )
        for name in ("save_checkpoints_steps", "keep_checkpoint_max"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))


@final
@dataclass(frozen=True, slots=True)
class Optimizer:
    """A rule that makes new values of a variable and its slots.

    rule: a function of (xp, gradient, value, *slots), all arrays [shape of the variable], the gradient summed over all
    replicas; returns a tuple of the new value and the new slots. slots: the first number of each by name.

    >>> momentum = Optimizer(lambda xp, g, x, m: (x - 0.1 * (0.9 * m + g), 0.9 * m + g), {"Momentum": 0.0})
    >>> momentum.rule(None, 1.0, 2.0, 0.0)
    (1.9, 1.0)
    """

    rule: Callable[..., tuple[Any, ...]]
    slots: Mapping[str, float] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """A metric: the mean of values over all steps and replicas.

    values: [any shape] floats; weights: None or the same shape. then: a function of the mean, a NumPy number, such as
    `numpy.sqrt`. The mean of nothing is 0.

    >>> Mean([1.0, 3.0]).then is None
    True
    """

    values: Any
    weights: Any = None
    then: Callable[[Any], Any] | None = None


@final
@dataclass(frozen=True, slots=True, eq=False)
class EstimatorSpec:
    """What a model function returns for one replica's batch.

    mode: as it was passed. loss: a scalar, except for predictions. gradients: pairs of the loss's gradient [shape of
    the variable] and a variable. loss_reduction: how the loss was reduced over the batch; where it is not SUM, the
    gradients are divided by the number of replicas before they are summed. metrics: `Mean`s by name. predictions: an
    array [batch, …] or a dict of them. Raises InvalidArgument where the mode needs what is missing.

    >>> EstimatorSpec("infer", predictions={"y": [1.0]}).predictions
    {'y': [1.0]}
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    gradients: Sequence[tuple[Any, Variable]] = ()
    optimizer: Optimizer | None = None
    loss_reduction: str = "MEAN"
    metrics: Mapping[str, Mean] = field(default_factory=dict)

    def __post_init__(self) -> None:
        needed = {TRAIN: ("loss", "optimizer"), EVAL: ("loss",), PREDICT: ("predictions",)}
        if self.mode not in needed:
            raise InvalidArgument(f"mode is one of {', '.join(needed)}, got {short_repr(self.mode)}. Pass on the mode.")
        for name in needed[self.mode]:
            if getattr(self, name) is None:
                raise InvalidArgument(f"Missing {name}: an EstimatorSpec of mode {self.mode!r} has one. Pass {name}=.")
        if self.loss_reduction not in REDUCTIONS:
            raise InvalidArgument(
                f"loss_reduction is one of {', '.join(REDUCTIONS)}, got {short_repr(self.loss_reduction)}."
            )


def loss_factors(xp: Any, weights: Any, reduction: str) -> Any:
    """Returns by what each example's loss counts in the reduced loss: [batch], which is also the loss's derivative.

    weights: [batch] floats. reduction: of `tf.losses.Reduction`. A division by zero gives 0, as of an empty batch.
    Raises InvalidArgument for another reduction. Clauses: Y-5.

    >>> import numpy as np
    >>> loss_factors(np, np.float32([1.0, 0.0, 3.0]), "SUM_BY_NONZERO_WEIGHTS").tolist()
    [0.5, 0.0, 1.5]
    """
    counts = {
        "SUM": lambda: xp.ones_like(xp.sum(weights)),
        "MEAN": lambda: xp.sum(weights),
        "SUM_OVER_BATCH_SIZE": lambda: xp.sum(xp.ones_like(weights)),
        "SUM_BY_NONZERO_WEIGHTS": lambda: xp.sum(xp.where(weights != 0, xp.ones_like(weights), xp.zeros_like(weights))),
    }
    if reduction not in counts:
        raise InvalidArgument(f"reduction is one of {', '.join(counts)}, got {short_repr(reduction)}.")
    count = counts[reduction]()
    safe = xp.where(count == 0, xp.ones_like(count), count)
    return xp.where(count == 0, xp.zeros_like(weights), weights / safe)
