"""One model on one strategy: its variables by name, and the calls of its model function in the replicas.

It reads no input and writes no file.
"""

from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType, ReplicasDisagree
from simstrategy.estimator.context import ModelContext
from simstrategy.estimator.specs import EVAL, PREDICT, TRAIN, EstimatorSpec, Mean
from simstrategy.estimator.variables import ModelVariables
from simstrategy.short_repr import short_repr
from simstrategy.strategy import ReduceOp, ReplicaContext, Strategy, Variable, get_replica_context, group_of

__all__ = ["Model"]

Totals = Mapping[str, tuple[Any, Any]]
"""By the name of a metric: a sum and a count, both []."""


@final
class Model:
    """A model function on a strategy of its own, with its variables."""

    def __init__(
        self, model_fn: Callable[..., Any], strategy: Strategy, params: Any, variables: ModelVariables
    ) -> None:
        self.strategy = strategy
        self.variables = variables
        self.global_step = variables.global_step
        self._model_fn = model_fn
        self._params = params

    def train(self, features: Any, labels: Any, begin: Callable[[], None]) -> np.ndarray[Any, Any]:
        """Makes one step and returns its loss [].  begin: called when all variables are there, before they change."""
        found = self.strategy.run(self._trained, args=(features, labels))
        specs = self.strategy.experimental_local_results(found["spec"])
        _require_same(specs)
        spec, total = specs[0], ReduceOp.SUM
        variables = [variable for _, variable in spec.gradients]
        slots = [self._slots(variable, spec) for variable in variables]
        begin()
        pairs = list(zip(found["gradients"], variables, strict=True))
        summed = self.strategy.extended.batch_reduce_to(total, pairs)
        xp = self.strategy.xp

        def made(component: Any, gradient: Any, *others: Any) -> Any:
            return spec.optimizer.rule(xp, gradient, component.value(), *(one.value() for one in others))

        for variable, gradient, others in zip(variables, summed, slots, strict=True):
            new = self.strategy.extended.update(variable, made, args=(gradient, *others))
            for target, value in zip((variable, *others), new, strict=True):
                target.assign(value, read_value=False)
        self.global_step += 1
        reported = total if spec.loss_reduction == "SUM" else ReduceOp.MEAN
        return self._host(self.strategy.reduce(reported, found["loss"]))

    def _trained(self, features: Any, labels: Any) -> Any:
        spec = self._called(features, labels, TRAIN)
        xp, replica = self.strategy.xp, _replica()
        scale = 1.0 if spec.loss_reduction == "SUM" else 1.0 / replica.num_replicas_in_sync
        # A product is an array of this replica's own, also of a number that all replicas share.
        gradients = [xp.multiply(xp.asarray(gradient), scale) for gradient, _ in spec.gradients]
        return {"spec": spec, "gradients": gradients, "loss": xp.multiply(xp.asarray(spec.loss), 1.0)}

    def _slots(self, variable: Variable, spec: EstimatorSpec) -> list[Variable]:
        assert spec.optimizer is not None
        return [
            self.variables.get(f"{variable.name}/{name}", np.full(variable.shape, first, variable.dtype), {})
            for name, first in spec.optimizer.slots.items()
        ]

    def evaluate(self, features: Any, labels: Any, totals: Totals | None) -> tuple[Totals, Mapping[str, Mean]]:
        """Returns the totals of each replica with those of this step, and the metrics."""
        found = self.strategy.run(self._evaluated, args=(features, labels, totals))
        spec = self.strategy.experimental_local_results(found["spec"])[0]
        return found["totals"], spec.metrics

    def _evaluated(self, features: Any, labels: Any, totals: Totals | None) -> Any:
        spec = self._called(features, labels, EVAL)
        if "loss" in spec.metrics:
            raise InvalidArgument("A metric is named 'loss', as the mean of the loss is. Give it another name.")
        xp = self.strategy.xp
        added = {name: _contribution(xp, metric) for name, metric in {**spec.metrics, "loss": Mean(spec.loss)}.items()}
        if totals is not None:
            added = {name: (totals[name][0] + one[0], totals[name][1] + one[1]) for name, one in added.items()}
        return {"spec": spec, "totals": added}

    def means(self, totals: Totals, metrics: Mapping[str, Mean]) -> dict[str, Any]:
        """Returns each metric as a NumPy number: the sum over all replicas divided by their count."""
        found = {}
        for name, (total, count) in totals.items():
            summed, counted = (self._host(self.strategy.reduce(ReduceOp.SUM, one)) for one in (total, count))
            mean = summed / counted if counted else np.zeros_like(summed)
            then = None if name not in metrics else metrics[name].then
            found[name] = mean[()] if then is None else then(mean[()])
        return found

    def predict(self, features: Any) -> Any:
        """Returns the predictions of a batch as a nest of host arrays [batch, …]."""
        spec = self.strategy.run(lambda given: [self._called(given, None, PREDICT)], args=(features,))[0]
        return tree.map_leaves(lambda leaf: self._host(self.strategy.xp.asarray(leaf)), spec.predictions)

    def _called(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        spec = self._model_fn(features, labels, mode, ModelContext(self.variables, _replica(), self._params))
        if not isinstance(spec, EstimatorSpec):
            raise InvalidType(f"model_fn returned {short_repr(spec)}. Return an ss.estimator.EstimatorSpec.")
        if spec.mode != mode:
            raise InvalidArgument(
                f"model_fn was called with mode {mode!r} and returned {spec.mode!r}. Pass on the mode."
            )
        return spec

    def _host(self, array: Any) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = group_of(self.strategy).backend.get(array)
        return found


def _replica() -> ReplicaContext:
    replica = get_replica_context()
    assert replica is not None
    return replica


def _contribution(xp: Any, metric: Mean) -> tuple[Any, Any]:
    values = xp.asarray(metric.values)
    weights = xp.ones_like(values) if metric.weights is None else xp.asarray(metric.weights)
    return xp.sum(values * weights), xp.sum(weights)


def _require_same(specs: Any) -> None:
    names = [(spec.loss_reduction, [variable.name for _, variable in spec.gradients]) for spec in specs]
    if any(one != names[0] for one in names):
        lines = [f"  replica {rank}: {reduction}, {', '.join(each)}" for rank, (reduction, each) in enumerate(names)]
        advice = "Return gradients of the same variables in the same order in all replicas."
        raise ReplicasDisagree("\n".join(["model_fn returned unequal specs:", *lines, advice]))
