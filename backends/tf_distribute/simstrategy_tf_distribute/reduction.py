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
from simstrategy.trace import Request, Trace, describe_site
from simstrategy_tensorflow.conversion import Origins
from simstrategy_tf_distribute import devices
from simstrategy_tf_distribute.observing import Observer

__all__ = ["OrderedReduction"]

Site = tuple[str, int]
_BETWEEN = (__file__, devices.__file__)
_Form = tuple[tuple[int | None, ...] | None, str]


@final
class OrderedReduction(tf.distribute.CrossDeviceOps):  # type: ignore[misc]  # what a strategy takes
    """Adds the replicas' values in rank order, one rounding to the dtype at each addition, on the first device.

    It reduces what replicas all-reduce, above all gradients. TensorFlow 2.21.0 does not use it for `strategy.reduce` to
    a CPU, nor for int32.

    ``tf.distribute.MirroredStrategy(devices, cross_device_ops=OrderedReduction(trace=trace))``. MEAN divides the
    sum once. Slices (`tf.IndexedSlices`) are concatenated. trace: receives one event for each value and replica, in
    the order of TensorFlow's calls. observer: receives the values of each replica at every step. A reduction raises
    ReplicasDisagree, with one line per replica, for values of different shapes or dtypes.
    """

    def __init__(self, *, trace: Trace | None = None, observer: Observer | None = None) -> None:
        super().__init__()
        self.trace = trace
        self.observer = observer
        self._names: tuple[str, ...] = ()
        self._forms: tuple[_Form, ...] = ()
        self._origins = Origins()
        self._inner = tf.distribute.ReductionToOneDevice(accumulation_fn=_left_fold)

    def name_gradients(self, variables: Sequence[Any]) -> None:
        """Sets the names of gradients in the trace.

        variables: those whose gradients a step reduces, all at once and in this order, for example
        `model.trainable_variables`.
        """
        self._names = tuple([f"gradient of {getattr(one, 'path', one.name)}" for one in variables])
        self._forms = tuple([(tuple(one.shape), tf.as_dtype(one.dtype).name) for one in variables])

    # The methods that TensorFlow calls. It calls the first two even for one replica, whose value is the sum.

    def reduce(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any = None) -> Any:
        self._observe(reduce_op, [per_replica_value], sys._getframe(1))
        return tf.distribute.CrossDeviceOps.reduce(self, reduce_op, per_replica_value, destinations, options)

    def batch_reduce(self, reduce_op: Any, value_destination_pairs: Any, options: Any = None) -> Any:
        self._observe(reduce_op, [value for value, _ in value_destination_pairs], sys._getframe(1))
        return tf.distribute.CrossDeviceOps.batch_reduce(self, reduce_op, value_destination_pairs, options)

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any) -> Any:
        site = self._source(sys._getframe(1))
        (subject,) = self._subjects([per_replica_value], [destinations])
        self._check(reduce_op, per_replica_value, subject, site)
        return self._inner.reduce_implementation(reduce_op, per_replica_value, destinations, options)

    def batch_reduce_implementation(self, reduce_op: Any, value_destination_pairs: Any, options: Any) -> Any:
        site = self._source(sys._getframe(1))
        values, destinations = zip(*value_destination_pairs, strict=True)
        for value, subject in zip(values, self._subjects(values, destinations), strict=True):
            self._check(reduce_op, value, subject, site)
        return [
            self._inner.reduce_implementation(reduce_op, value, destination, options)
            for value, destination in value_destination_pairs
        ]

    def _gather_implementation(self, per_replica_value: Any, destinations: Any, axis: Any, options: Any) -> Any:
        site = self._source(sys._getframe(1))
        self._record("gather", None, axis, None, [_form(value) for value in per_replica_value.values], site)
        return self._inner._gather_implementation(per_replica_value, destinations, axis, options)  # noqa: SLF001

    # Checks and trace.

    def _observe(self, reduce_op: Any, values: Sequence[Any], frame: FrameType) -> None:
        if self.observer is not None:
            op = "MEAN" if reduce_op == tf.distribute.ReduceOp.MEAN else "SUM"
            site = describe_site(self._source(frame))
            for value in values:
                self.observer.sends(value, op, site)

    def _source(self, frame: FrameType) -> Site:
        """Returns the line of the user's call: not one of TensorFlow, nor of this package."""
        site: Site = self._origins.source(frame)
        while site[0] in _BETWEEN:
            nearest: FrameType | None = frame
            while nearest is not None and nearest.f_code.co_filename != site[0]:
                nearest = nearest.f_back
            if nearest is None or nearest.f_back is None:
                break
            frame = nearest.f_back
            site = self._origins.source(frame)
        return site

    def _subjects(self, values: Sequence[Any], destinations: Sequence[Any]) -> list[str | None]:
        """Returns a name for each value, or None: a gradient by its position, else a variable, else a number."""
        forms = tuple([_form(value.values[0]) for value in values])
        if self._names and forms == self._forms:
            return list(self._names)
        names = [one.name if isinstance(one, tf.Variable) else None for one in destinations]
        count = len(values)
        return [name or (f"value {number} of {count}" if count > 1 else None) for number, name in enumerate(names, 1)]

    def _check(self, reduce_op: Any, value: Any, subject: str | None, site: Site) -> None:
        forms = [_form(one) for one in value.values]
        if any(form != forms[0] for form in forms):
            what = f"reduce {reduce_op.name}" + (f" of {subject}" if subject else "")
            lines = [f"  replica {number}: {_written(form)}" for number, form in enumerate(forms)]
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
        self, kind: str, op: str | None, axis: Any, subject: str | None, forms: Sequence[_Form], site: Site
    ) -> None:
        if self.trace is None:
            return
        for number, (shape, dtype) in enumerate(forms):
            known = () if shape is None else shape
            request = Request(kind, op, axis, subject, None, ((known, dtype),))
            self.trace.record(0, request, (number,), (site,))


def _left_fold(values: Sequence[Any]) -> Any:
    if not values:
        raise InvalidArgument("A reduction got no values. Pass one for each replica.")
    total = values[0]
    for value in values[1:]:
        total = tf.add(total, value)
    return total


def _form(value: Any) -> _Form:
    """Returns shape and dtype; the number of rows of slices may differ between replicas, so it is None."""
    if isinstance(value, tf.IndexedSlices):
        return (None, *tuple(value.values.shape)[1:]), f"slices of {value.dtype.name}"
    shape = value.shape
    return None if shape.rank is None else tuple(shape), value.dtype.name


def _written(form: _Form) -> str:
    shape, dtype = form
    return f"{dtype}[{'…' if shape is None else ','.join('?' if size is None else str(size) for size in shape)}]"
