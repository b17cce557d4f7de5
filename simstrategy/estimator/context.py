"""`ModelContext`: what a model function receives beside its batch."""

from typing import Any, final

from simstrategy.estimator.variables import ModelVariables
from simstrategy.strategy import ReplicaContext, Variable

__all__ = ["ModelContext"]


@final
class ModelContext:
    """What a model function receives of its replica, as its last argument.

    >>> import simstrategy as ss
    >>> def model_fn(features, labels, mode, ctx):
    ...     scale = ctx.variable("scale", 2.0)
    ...     return ss.estimator.EstimatorSpec(mode, predictions=features * scale.value())
    >>> estimator = ss.estimator.Estimator(model_fn)
    """

    __slots__ = ("_replica", "_variables", "params")

    def __init__(self, variables: ModelVariables, replica: ReplicaContext, params: Any) -> None:
        self._variables = variables
        self._replica = replica
        self.params = params
        """What the Estimator was made with."""

    @property
    def xp(self) -> Any:
        """The `ArrayNamespace` of this replica's device."""
        return self._replica.xp

    @property
    def replica(self) -> ReplicaContext:
        """The replica context, with its collectives; one of 1 where nothing is distributed."""
        return self._replica

    def variable(self, name: str, initial_value: Any, **settings: Any) -> Variable:
        """Returns the variable of a name, made by the first call in all replicas, from a checkpoint where there is one.

        initial_value: host data or an array [any shape]. settings: as of `Variable`. Raises InvalidArgument for the
        name global_step, and where the checkpoint has no such variable, or one of another shape or dtype.
        """
        return self._variables.get(name, initial_value, settings)
