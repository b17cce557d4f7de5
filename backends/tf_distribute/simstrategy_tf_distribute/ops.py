"""The names of `simstrategy` that portable programs use, implemented by TensorFlow.

Contexts, variables and enums of tf.distribute under our names, so that one program runs on both. A name that TensorFlow
does not have raises Unsupported; errors of TensorFlow are passed on.
"""

from collections.abc import Callable
from enum import Enum
from types import SimpleNamespace
from typing import Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.errors import Unsupported
from simstrategy.values import DistributedValues, Mirrored, PerReplica
from simstrategy_tensorflow.namespace import TensorFlowNamespace

__all__ = ["ReplicaOps", "VariableOps", "inward", "ops_of", "outward"]

XP: Final = TensorFlowNamespace("")


def outward(value: Any) -> Any:
    """Converts a result of TensorFlow: its distributed values in a nest become our classes."""
    if isinstance(value, tf.distribute.DistributedValues) and not isinstance(value, tf.Variable):
        kind = Mirrored if type(value).__name__ == "Mirrored" else PerReplica
        return kind(value.values)
    return _map(outward, value)


def inward(value: Any, strategy: Any, *, host: bool = False) -> Any:
    """Converts an argument for TensorFlow: our distributed values become its classes, and host data tensors.

    host: True leaves host data as it is; TensorFlow does not change it in the results of replica functions.
    """
    if isinstance(value, VariableOps):
        return value.inner
    if isinstance(value, DistributedValues):
        parts = [_tensor(one) for one in value.values]
        return strategy.experimental_distribute_values_from_function(
            lambda context: parts[int(context.replica_id_in_sync_group)]
        )
    return _map(lambda one: inward(one, strategy, host=host), value if host else _tensor(value))


def _tensor(value: Any) -> Any:
    return tf.constant(value) if isinstance(value, (np.ndarray, np.generic)) else value


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple):
        items = [function(one) for one in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [function(one) for one in value]
    if isinstance(value, dict):
        return {key: function(one) for key, one in value.items()}
    return value


@final
class ReplicaOps:
    """A replica context of TensorFlow with the methods of `simstrategy.ReplicaContext`."""

    xp = XP

    def __init__(self, inner: Any, reference: Any) -> None:
        self._inner, self._reference = inner, reference

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReplicaOps) and self._inner is other._inner

    __hash__ = None  # type: ignore[assignment]

    strategy = property(lambda self: self._reference)
    num_replicas_in_sync = property(lambda self: self._inner.num_replicas_in_sync)
    devices = property(lambda self: tuple(self._inner.devices))

    @property
    def replica_id_in_sync_group(self) -> int:
        """The number of the replica: an int if TensorFlow has its value now, else a tensor."""
        number = tf.get_static_value(self._inner.replica_id_in_sync_group)
        return self._inner.replica_id_in_sync_group if number is None else int(number)

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        return self._inner.all_reduce(_op(reduce_op), inward(value, self._reference.inner))

    def all_gather(self, value: Any, axis: int) -> Any:
        return self._inner.all_gather(inward(value, self._reference.inner), axis)

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        def merged(_: Any, *values: Any, **named: Any) -> Any:
            return inward(merge_fn(self._reference, *outward(values), **outward(named)), self._reference.inner)

        given = inward(tuple(args), self._reference.inner), inward(dict(kwargs or {}), self._reference.inner)
        return self._inner.merge_call(merged, *given)

    def seed(self, label: str) -> int:
        """Raises Unsupported: TensorFlow has no seeds for replicas."""
        raise Unsupported(
            "tf.distribute gives replicas no seeds. Leave ctx.seed out of programs for a reference strategy."
        )


@final
class VariableOps:
    """A variable of TensorFlow with the methods of `simstrategy.Variable`; inner: the tf.Variable."""

    inner: Any

    def __init__(
        self,
        initial_value: Any,
        *,
        trainable: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self.inner = tf.Variable(
            initial_value.inner if isinstance(initial_value, VariableOps) else initial_value,
            trainable=trainable,
            synchronization=tf.VariableSynchronization[_member(synchronization, "AUTO")],
            aggregation=tf.VariableAggregation[_member(aggregation, "NONE")],
            dtype=dtype,
            name=name,
        )

    native = property(lambda self: self.inner)
    dtype = property(lambda self: self.inner.dtype.name)
    shape = property(lambda self: tuple(self.inner.shape))

    @property
    def name(self) -> str:
        return str(self.inner.name).removesuffix(":0")

    def value(self) -> Any:
        return tf.convert_to_tensor(self.inner)

    def read_value(self) -> Any:
        return self.inner.read_value()

    def numpy(self) -> Any:
        return self.inner.numpy()

    def assign(self, value: Any) -> Any:
        return outward(self.inner.assign(self._taken(value)))

    def assign_add(self, delta: Any) -> Any:
        return outward(self.inner.assign_add(self._taken(delta)))

    def assign_sub(self, delta: Any) -> Any:
        return outward(self.inner.assign_sub(self._taken(delta)))

    def _taken(self, value: Any) -> Any:
        return inward(value, tf.distribute.get_strategy())


def _member(setting: Any, default: str) -> str:
    return setting.name if isinstance(setting, Enum) else default


def _op(reduce_op: Any) -> Any:
    return reduce_op.name if isinstance(reduce_op, Enum) else reduce_op


def ops_of(reference: Any) -> SimpleNamespace:
    """Returns the names of `simstrategy` that a program uses, for one reference strategy."""

    def get_replica_context() -> ReplicaOps | None:
        inner = tf.distribute.get_replica_context()
        # One object for each context of TensorFlow, so that `is` works.
        return None if inner is None else vars(inner).setdefault("_simstrategy_ops", ReplicaOps(inner, reference))

    def get_strategy() -> Any:
        return reference if tf.distribute.get_strategy() is reference.inner else tf.distribute.get_strategy()

    return SimpleNamespace(
        get_replica_context=get_replica_context,
        get_strategy=get_strategy,
        has_strategy=tf.distribute.has_strategy,
        in_cross_replica_context=tf.distribute.in_cross_replica_context,
        Variable=VariableOps,
        PerReplica=PerReplica,
        Mirrored=Mirrored,
        ReduceOp=tf.distribute.ReduceOp,
        VariableSynchronization=tf.VariableSynchronization,
        VariableAggregation=tf.VariableAggregation,
        data=SimpleNamespace(Dataset=tf.data.Dataset, TextLineDataset=tf.data.TextLineDataset),
    )
