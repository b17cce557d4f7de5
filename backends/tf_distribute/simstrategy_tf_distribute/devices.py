"""The logical CPUs of the reference strategies, made by simstrategy's TensorFlow backend, and an observed strategy."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, final

import tensorflow as tf

from simstrategy.trace import Trace
from simstrategy_tensorflow import open_tensorflow
from simstrategy_tf_distribute.calls import unconverted
from simstrategy_tf_distribute.lines import Lines
from simstrategy_tf_distribute.observation import Observation
from simstrategy_tf_distribute.observing import Observer
from simstrategy_tf_distribute.reduction import OrderedReduction

__all__ = ["ObservedStrategy", "mirrored", "names"]


def names(replicas: int) -> list[str]:
    """Returns the names of `replicas` logical CPUs.  Raises InvalidArgument, or BackendUnavailable for too few."""
    return [f"CPU:{device.rank}" for device in open_tensorflow(replicas=replicas).devices]


def mirrored(replicas: int, cross_device_ops: tf.distribute.CrossDeviceOps | None) -> tf.distribute.MirroredStrategy:
    """Returns a tf.distribute.MirroredStrategy on `replicas` logical CPUs."""
    return tf.distribute.MirroredStrategy(names(replicas), cross_device_ops=cross_device_ops)


@final
class ObservedStrategy(tf.distribute.MirroredStrategy):  # type: ignore[misc]  # Keras tests for this class
    """A MirroredStrategy on logical CPUs whose replicas' calls are compared, and whose variables are noted.

    trace: receives an event for each reduction, as `OrderedReduction` makes it, and for each `run`. observer: makes
    what records the values, of an object that finds lines; None for no record. pattern: as of an `Observation`. sums:
    whether what replicas reduce is changed as well. narrow: as of an `Observation`, of both.
    """

    def __init__(
        self,
        replicas: int,
        trace: Trace,
        observer: Callable[[Lines], Observer] | None = None,
        *,
        pattern: int | None = None,
        sums: bool = False,
        narrow: str | None = None,
    ) -> None:
        lines = Lines()
        observing = None if observer is None else observer(lines)
        self.observation = Observation(lines, trace, observing, replicas, pattern=pattern, narrow=narrow)
        variables = self.observation.variables
        ops = OrderedReduction(
            trace=trace,
            observer=observing,
            variables=variables,
            lines=lines,
            pattern=pattern if sums else None,
            narrow=narrow,
        )
        tf.distribute.MirroredStrategy.__init__(self, names(replicas), cross_device_ops=ops)

    def scope(self) -> Any:
        return self.observation.scope(tf.distribute.MirroredStrategy.scope(self))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        def distribute(one: Any) -> Any:
            return tf.distribute.MirroredStrategy.experimental_distribute_dataset(self, one, options)

        return self.observation.dataset(distribute, dataset, sys._getframe(1))

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        def distribute(made: Any) -> Any:
            return tf.distribute.MirroredStrategy.distribute_datasets_from_function(self, made, options)

        return self.observation.datasets(distribute, dataset_fn, sys._getframe(1))

    def run(self, fn: Any, args: Sequence[Any] = (), kwargs: Any = None, options: Any = None) -> Any:
        def run(function: Any) -> Any:
            return tf.distribute.MirroredStrategy.run(self, function, args, kwargs, options)

        return self.observation.run(run, fn, args, kwargs, sys._getframe(1))

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        def reduce() -> Any:
            return tf.distribute.MirroredStrategy.reduce(self, reduce_op, value, axis)

        return self.observation.reduce(reduce, reduce_op, value, axis, sys._getframe(1))

    def gather(self, value: Any, axis: int) -> Any:
        gathered = tf.distribute.MirroredStrategy.gather(self, value, axis)
        return self.observation.gather(value, axis, gathered, sys._getframe(1))


for _function in (
    ObservedStrategy.gather,
    ObservedStrategy.run,
    ObservedStrategy.reduce,
    ObservedStrategy.experimental_distribute_dataset,
    ObservedStrategy.distribute_datasets_from_function,
):
    unconverted(_function)
