"""TensorFlow 1's Estimator: training, evaluation and prediction with a strategy, from a model function.

It has no canned models, layers or automatic gradients: a model function computes its own.
"""

from simstrategy.estimator.context import ModelContext
from simstrategy.estimator.estimating import Estimator
from simstrategy.estimator.specs import EstimatorSpec, Mean, Optimizer, RunConfig, loss_factors

__all__ = ["Estimator", "EstimatorSpec", "Mean", "ModelContext", "Optimizer", "RunConfig", "loss_factors"]
