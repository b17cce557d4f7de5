"""A `tf.distribute.CrossDeviceOps` that adds in rank order, checks the values of replicas, and records a trace.

The strategy decides which values are reduced, and when. A traced function is reduced, and recorded, once: while it
is traced.
"""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any, final

import tensorflow as tf

from simstrategy.errors import InvalidArgument, ReplicasDisagree
from simstrategy.launch.calls import Form, written
from simstrategy.trace import Request, Trace, describe_site
from simstrategy_tf_distribute.forms import form_of
from simstrategy_tf_distribute.lines import Lines, Site
from simstrategy_tf_distribute.observing import Observer, largest_of, moved
from simstrategy_tf_distribute.subjects import Subjects
from simstrategy_tf_distribute.variables import Variables

__all__ = ["OrderedReduction"]


@final
class OrderedReduction(tf.distribute.CrossDeviceOps):  # type: ignore[misc]  # what a strategy takes
    """Adds the replicas' values in rank order, one rounding to the dtype at each addition, on the first device.

    It reduces what replicas all-reduce, above all gradients. TensorFlow 2.21.0 does not use it for `strategy.reduce` to
    a CPU, nor for int32.

    ``tf.distribute.MirroredStrategy(devices, cross_device_ops=OrderedReduction(trace=trace))``. MEAN divides the
    sum once. Slices (`tf.IndexedSlices`) are concatenated. trace: receives one event for each value and replica, in
    the order of TensorFlow's calls. observer: receives the values of each replica at every step. variables: those of
    the run, by which gradients are named. lines: finds call sites; None for lines of its own. A reduction raises
    ReplicasDisagree, with one line per replica, for values of different shapes or dtypes. pattern: moves sums of
    floats, as `device.perturbed.moved_sums` does; None leaves them. narrow: a dtype of `device.narrow` by whose units
    they move; None for their own.
    """

    def __init__(
        self,
        *,
        trace: Trace | None = None,
        observer: Observer | None = None,
        variables: Variables | None = None,
        lines: Lines | None = None,
        pattern: int | None = None,
        narrow: str | None = None,
    ) -> None:
        super().__init__()
        self.trace = trace
        self.observer = observer
        self._subjects = Subjects(variables)
        self._lines = lines or Lines()
        self._pattern = pattern
        self._narrow = narrow
        self._largest: Any = None
        self._inner = tf.distribute.ReductionToOneDevice(accumulation_fn=self._added)

    def name_gradients(self, variables: Sequence[Any]) -> None:
        """Sets the names of gradients in the trace.

        variables: those whose gradients a step reduces, all at once and in this order, for example
        `model.trainable_variables`.
        """
        self._subjects.name_gradients(variables)

    # The methods that TensorFlow calls. It calls the first two even for one replica, whose value is the sum.

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None) -> Any:
        self._observe(reduce_op, [per_replica_value], [destinations], sys._getframe(1))
        self._find_largest([per_replica_value])
        value = self._alone(per_replica_value)
        return tf.distribute.CrossDeviceOps.reduce(self, reduce_op, value, destinations, options)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> Any:
        values, destinations = zip(*value_destination_pairs, strict=True)
        self._observe(reduce_op, values, destinations, sys._getframe(1))
        self._find_largest(values)
        pairs = [(self._alone(value), destination) for value, destination in value_destination_pairs]
        return tf.distribute.CrossDeviceOps.batch_reduce(self, reduce_op, pairs, options)

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any) -> Any:
        site = self._lines.source(sys._getframe(1))
        (subject,) = self._subjects.of([per_replica_value], [destinations])
        self._check(reduce_op, per_replica_value, subject, site)
        return self._inner.reduce_implementation(reduce_op, per_replica_value, destinations, options)

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any, options: Any) -> Any:
        site = self._lines.source(sys._getframe(1))
        values, destinations = zip(*value_destination_pairs, strict=True)
        for value, subject in zip(values, self._subjects.of(values, destinations), strict=True):
            self._check(reduce_op, value, subject, site)
        return [
            self._inner.reduce_implementation(reduce_op, value, destination, options)
            for value, destination in value_destination_pairs
        ]

    def _gather_implementation(self, per_replica_value: Any, destinations: Any, axis: Any, options: Any) -> Any:
        site = self._lines.source(sys._getframe(1))
        self._record("gather", None, axis, None, [form_of(value) for value in per_replica_value.values], site)
        return self._inner._gather_implementation(per_replica_value, destinations, axis, options)  # noqa: SLF001

    def _find_largest(self, values: Sequence[Any]) -> None:
        """Finds the size of the largest element that a call adds, where sums are moved."""
        if self._pattern is not None:
            self._largest = largest_of([part for value in values for part in _parts(value)])

    def _alone(self, value: Any) -> Any:
        """Returns a value as it is, and moved where it is that of the only replica, which nothing adds."""
        parts = _parts(value)
        return value if self._pattern is None or len(parts) != 1 else self._moved(parts[0])

    def _added(self, values: Sequence[Any]) -> Any:
        return self._moved(_left_fold(values))

    def _moved(self, total: Any) -> Any:
        if self._pattern is None:
            return total
        return moved(total, self._pattern, beside=self._largest, narrow=self._narrow)

    # Checks and trace.

    def _observe(self, reduce_op: Any, values: Sequence[Any], destinations: Sequence[Any], frame: FrameType) -> None:
        if self.observer is not None:
            op = "MEAN" if reduce_op == tf.distribute.ReduceOp.MEAN else "SUM"
            site = self._lines.source(frame)
            for number, (value, subject) in enumerate(
                zip(values, self._subjects.of(values, destinations), strict=True), 1
            ):
                self.observer.sends("all_reduce", value, op, site, subject or f"value {number}")

    def _check(self, reduce_op: Any, value: Any, subject: str | None, site: Site) -> None:
        forms = [form_of(one) for one in value.values]
        if any(form != forms[0] for form in forms):
            what = f"reduce {reduce_op.name}" + (f" of {subject}" if subject else "")
            lines = [f"  replica {number}: {written(form)}" for number, form in enumerate(forms)]
            raise ReplicasDisagree(
                "\n".join(
                    [
                        f"Replicas contributed values that cannot be added, {what} at {describe_site(site)}:",
                        *lines,
                        "Use the same shape and dtype on all replicas: sum over the batch first, or pass its axis.",
                    ]
                )
            )
        self._record("reduce", reduce_op.name, None, subject, forms, site)

    def _record(
        self, kind: str, op: str | None, axis: Any, subject: str | None, forms: Sequence[Form], site: Site
    ) -> None:
        if self.trace is None:
            return
        for number, (shape, dtype) in enumerate(forms):
            known = () if shape is None else shape
            request = Request(kind, op, axis, subject, None, ((known, dtype),))
            self.trace.record(0, request, (number,), (site,))


def _parts(value: Any) -> Sequence[Any]:
    """Returns what the replicas gave; of one replica TensorFlow may have no list."""
    parts: Sequence[Any] = value.values if isinstance(value, tf.distribute.DistributedValues) else (value,)
    return parts


def _left_fold(values: Sequence[Any]) -> Any:
    if not values:
        raise InvalidArgument("A reduction got no values. Pass one for each replica.")
    total = values[0]
    for value in values[1:]:
        total = tf.add(total, value)
    return total
