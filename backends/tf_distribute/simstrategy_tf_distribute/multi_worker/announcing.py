"""Reports each call that needs all workers before it is made, in a traced function too, and records what is reduced.

TensorFlow waits without a limit for a worker that does not make a call. Here every entry to such a call is put behind
one that reports what is about to be called: reductions, gathers, and first values of variables, which TensorFlow sends
from the first worker to the others.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.launch.calls import Call, Form, any_size, message_of
from simstrategy.launch.reporting import Reporter
from simstrategy_tf_distribute.forms import form_of
from simstrategy_tf_distribute.host_calls import HostCalls
from simstrategy_tf_distribute.lines import Site, reads_data
from simstrategy_tf_distribute.observation import Observation
from simstrategy_tf_distribute.subjects import Subjects

__all__ = ["Announcer", "watch"]

_NEXT: Final = "next batch of a distributed dataset"
_FIRST: Final = "first value of a variable"


@final
class Announcer:
    """Reports calls.  traced: whether those of traced functions; XLA does not compile what reports them."""

    def __init__(self, reporter: Reporter, *, traced: bool) -> None:
        self._report, self._traced = reporter.report, traced
        self._host = HostCalls()

    @contextmanager
    def before(self, what: str, values: Sequence[Any], site: Site, *, axis: int | None = None) -> Iterator[None]:
        """Reports a call before its operations, which are made inside of the context, run.

        values: one of this worker's replicas each. axis: along which sizes may differ; None for no axis.
        """
        forms = [form_of(value) for value in values]

        def reported(*shapes: Any) -> Any:
            known = [_with_shape(form, shape) for form, shape in zip(forms, shapes or [None] * len(forms), strict=True)]
            shown = known if axis is None else [any_size(form, axis) for form in known]
            self.now(what, shown, site)
            return np.int32(0)

        if tf.executing_eagerly():
            reported()
            yield
        elif not self._traced:
            yield
        else:
            shapes = [tf.shape(value.values if isinstance(value, tf.IndexedSlices) else value) for value in values]
            with tf.control_dependencies([self._host.add(reported, shapes, tf.int32)]):
                yield

    def now(self, what: str, forms: Sequence[Form], site: Site) -> None:
        """Reports a call here, also where a function is being traced."""
        self._report(message_of(Call(what, tuple(forms), site)))


def _with_shape(form: Form, shape: Any) -> Form:
    """Returns a form with the sizes that a value has where a traced function runs; slices may have any first one."""
    if shape is None:
        return form
    sizes = tuple([int(size) for size in shape])
    return ((None, *sizes[1:]) if form[1].startswith("slices") else sizes), form[1]


def watch(extended: Any, announcer: Announcer, observation: Observation) -> None:
    """Puts the announcer before all calls of a MultiWorkerMirroredStrategy that need all workers.

    extended: the strategy's. Source of which calls these are: TensorFlow 2.21.0.
    """
    # A value with as many parts as this worker has devices is reduced by the first, any other one by the second.
    for ops in (extended._cross_device_ops, extended._host_cross_device_ops):  # noqa: SLF001
        _watch_reductions(ops, announcer, observation)
    _watch_variables(extended, announcer, observation)


def _watch_reductions(ops: Any, announcer: Announcer, observation: Observation) -> None:
    reduce, batch_reduce, gather = ops.reduce, ops.batch_reduce, ops._gather  # noqa: SLF001
    subjects = Subjects(observation.variables)

    @contextmanager
    def reduction(op: Any, values: Sequence[Any], destinations: Sequence[Any], frame: FrameType) -> Iterator[None]:
        site, for_data = observation.lines.source(frame), reads_data(frame)
        op = "MEAN" if op == tf.distribute.ReduceOp.MEAN else "SUM"
        kind = f"reduce {op}" if observation.reduces else f"all_reduce {op}"
        if observation.observer is not None and not observation.reduces and not for_data:
            named = zip(values, subjects.of(values, destinations), strict=True)
            for number, (value, subject) in enumerate(named, 1):
                observation.observer.sends("all_reduce", value, op, site, subject or f"value {number}")
        with announcer.before(_NEXT if for_data else kind, [_local(value) for value in values], site):
            yield

    def reduced(reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        with reduction(reduce_op, [value], [destinations], sys._getframe(1)):
            return reduce(reduce_op, value, destinations, options)

    def batch_reduced(reduce_op: Any, pairs: Any, options: Any = None) -> Any:
        values, destinations = zip(*pairs, strict=True)
        with reduction(reduce_op, values, destinations, sys._getframe(1)):
            return batch_reduce(reduce_op, pairs, options)

    def gathered(value: Any, destinations: Any, axis: Any, options: Any = None) -> Any:
        site = observation.lines.source(sys._getframe(1))
        with announcer.before(f"gather axis {axis}", [_local(value)], site, axis=axis):
            return gather(value, destinations, axis, options)

    ops.reduce, ops.batch_reduce, ops._gather = reduced, batch_reduced, gathered  # noqa: SLF001


def _watch_variables(extended: Any, announcer: Announcer, observation: Observation) -> None:
    creator = extended._get_variable_creator_initial_value  # noqa: SLF001

    def initial_value(replica_id: int, device: Any, primary_var: Any, **settings: Any) -> Any:
        if replica_id != 0 or "initial_value" not in settings:
            return creator(replica_id=replica_id, device=device, primary_var=primary_var, **settings)
        site = observation.lines.source(sys._getframe(1))
        given = settings["initial_value"]

        def first() -> Any:
            value = given() if callable(given) else given
            shown = tf.convert_to_tensor(value, settings.get("dtype"))
            announcer.now(_FIRST, [form_of(shown)], site)
            return shown

        changed = {**settings, "initial_value": first}
        return creator(replica_id=replica_id, device=device, primary_var=primary_var, **changed)

    extended._get_variable_creator_initial_value = initial_value  # noqa: SLF001


def _local(value: Any) -> Any:
    return value.values[0] if isinstance(value, tf.distribute.DistributedValues) else value
