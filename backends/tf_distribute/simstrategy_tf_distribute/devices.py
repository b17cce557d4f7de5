"""The logical CPUs of the reference strategies, made by simstrategy's TensorFlow backend, and an observed strategy."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, final

import tensorflow as tf

from simstrategy.errors import ReplicasDisagree
from simstrategy.trace import Request, Trace, describe_site
from simstrategy_tensorflow import open_tensorflow
from simstrategy_tf_distribute.calls import Calls, unconverted
from simstrategy_tf_distribute.forms import form_of, written
from simstrategy_tf_distribute.lines import Lines, Site
from simstrategy_tf_distribute.observing import Observer, nudged_dataset
from simstrategy_tf_distribute.reduction import OrderedReduction
from simstrategy_tf_distribute.variables import MOVABLE, Variables

__all__ = ["ObservedStrategy", "mirrored", "names"]


def names(replicas: int) -> list[str]:
    """Returns the names of `replicas` logical CPUs.  Raises InvalidArgument, or BackendUnavailable for too few."""
    return [f"CPU:{device.rank}" for device in open_tensorflow(replicas=replicas).devices]


def mirrored(replicas: int, cross_device_ops: tf.distribute.CrossDeviceOps | None) -> tf.distribute.MirroredStrategy:
    """Returns a tf.distribute.MirroredStrategy on `replicas` logical CPUs."""
    return tf.distribute.MirroredStrategy(names(replicas), cross_device_ops=cross_device_ops)


_iterators: Final[list[Any]] = []
"""The iterators of the last observed strategy: see `_kept`."""


def _kept(dataset: Any) -> Any:
    """Makes a distributed dataset keep its iterators until the next strategy is made.

    TensorFlow 2.21.0 sometimes ends the process if an iterator is deleted while its thread still reads ahead
    (`MultiDeviceBuffer::BackgroundThread` reads from the deleted iterator), and Keras deletes each one directly after
    its last step.
    """
    kind = type(dataset)

    def iterate(self: Any) -> Any:
        iterator = kind.__iter__(self)
        _iterators.append(iterator)
        return iterator

    dataset.__class__ = type(kind.__name__, (kind,), {"__iter__": iterate})
    return dataset


@final
class ObservedStrategy(tf.distribute.MirroredStrategy):  # type: ignore[misc]  # Keras tests for this class
    """A MirroredStrategy on logical CPUs whose replicas' calls are compared, and whose variables are noted.

    trace: receives an event for each reduction, as `OrderedReduction` makes it, and for each `run`. observer: makes
    what records the values, of an object that finds lines; None for no record. pattern: changes the data that it
    distributes by one ulp, in this pattern; None leaves the data.
    """

    def __init__(
        self,
        replicas: int,
        trace: Trace,
        observer: Callable[[Lines], Observer] | None = None,
        *,
        pattern: int | None = None,
    ) -> None:
        lines = Lines()
        self._lines, self._trace, self._pattern = lines, trace, pattern
        self._observer = None if observer is None else observer(lines)
        self.variables = Variables(None if self._observer is None else self._observer.wrote)
        self.disagreement: ReplicasDisagree | None = None
        """The error for calls of replicas that differ, also where the program has caught it."""
        self.distributes_floats = False
        self._data: set[Site] = set()
        ops = OrderedReduction(trace=trace, observer=self._observer, variables=self.variables, lines=lines)
        tf.distribute.MirroredStrategy.__init__(self, names(replicas), cross_device_ops=ops)
        _iterators.clear()

    def scope(self) -> Any:
        return _scope(tf.distribute.MirroredStrategy.scope(self), self.variables)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        changed = self._taken(dataset, sys._getframe(1))
        return _kept(tf.distribute.MirroredStrategy.experimental_distribute_dataset(self, changed, options))

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        frame = sys._getframe(1)
        made = unconverted(lambda context: self._taken(dataset_fn(context), frame))
        return _kept(tf.distribute.MirroredStrategy.distribute_datasets_from_function(self, made, options))

    def run(self, fn: Any, args: Sequence[Any] = (), kwargs: Any = None, options: Any = None) -> Any:
        site, count = self._lines.source(sys._getframe(1)), int(self.num_replicas_in_sync)
        if self._observer is not None:
            data = next(iter(self._data)) if len(self._data) == 1 else None
            self._observer.starts([args, kwargs or {}], count, site, data)
        self._trace.record(0, Request("run", None, None, None, None, ()), (None,), (site,))
        if isinstance(fn, tf.types.experimental.PolymorphicFunction):
            # TensorFlow runs the replicas inside of such a function, and lifts them out of it by its class.
            return tf.distribute.MirroredStrategy.run(self, fn, args, kwargs, options)
        calls = Calls(count, fn, self._lines, site)
        try:
            return tf.distribute.MirroredStrategy.run(self, calls.watched(), args, kwargs, options)
        except Exception as error:
            found = error if isinstance(error, ReplicasDisagree) else calls.disagreement()
            if found is None or found is error:
                self.disagreement = self.disagreement or found
                raise
            self.disagreement = found
            raise found from error

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        site = self._lines.source(sys._getframe(1))
        op = reduce_op.upper() if isinstance(reduce_op, str) else reduce_op.name
        if axis is None:
            self._require_equal_forms(op, value, site)
            for number, leaf in enumerate(tf.nest.flatten(value), 1):
                if self._observer is not None and isinstance(leaf, (tf.Tensor, tf.distribute.DistributedValues)):
                    self._observer.sends("reduce", leaf, op, site, f"value {number}")
        return tf.distribute.MirroredStrategy.reduce(self, reduce_op, value, axis)

    def _taken(self, dataset: Any, frame: FrameType) -> Any:
        """Returns a dataset as it is distributed: nudged where that was asked for."""
        self._data.add(self._lines.source(frame))
        specs = tf.nest.flatten(dataset.element_spec)
        self.distributes_floats |= any(isinstance(one, tf.TensorSpec) and one.dtype in MOVABLE for one in specs)
        taken = dataset if self._pattern is None else nudged_dataset(dataset, self._pattern)
        # The thread that tunes a pipeline sleeps for up to a minute, and an iterator that is let go waits for it.
        options = tf.data.Options()
        options.autotune.enabled = False
        return taken.with_options(options)

    def _require_equal_forms(self, op: str, value: Any, site: Site) -> None:
        """Raises ReplicasDisagree for a SUM or MEAN over replicas of values of unequal shapes."""
        for leaf in tf.nest.flatten(value):
            parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else ()
            forms = [form_of(part) for part in parts if isinstance(part, tf.Tensor)]
            if any(form != forms[0] and None not in (*(form[0] or ()), *(forms[0][0] or ())) for form in forms):
                lines = [f"  replica {replica}: {written(form)}" for replica, form in enumerate(forms)]
                raise ReplicasDisagree("\n".join([_UNEQUAL.format(op=op, site=describe_site(site)), *lines, _ADVICE]))


_UNEQUAL: Final = "strategy.reduce {op} at {site} got values of unequal shapes, which cannot be added:"
_ADVICE: Final = (
    "Reduce over the examples first, or pass axis=0. Keras 3.15 makes such a call in `fit` and `evaluate`, with the "
    "first batch: there, choose a batch size that this number of replicas divides, or leave the number out."
)


@contextmanager
def _scope(entered: Any, variables: Variables) -> Iterator[Any]:
    with entered as strategy, variables.scope():
        yield strategy


for _function in (
    ObservedStrategy.run,
    ObservedStrategy.reduce,
    ObservedStrategy.experimental_distribute_dataset,
    ObservedStrategy.distribute_datasets_from_function,
):
    unconverted(_function)
