"""Distributed datasets in TensorFlow's loops: a `for` in a traced function becomes a loop of the graph.

The core makes the steps, eagerly, each when the graph needs it, so a traced loop gets the same steps as an eager one.
No data becomes a constant of a graph.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, final

import tensorflow as tf

from simstrategy.device import Device
from simstrategy.errors import InvalidArgument, OutOfRangeError, Unsupported
from simstrategy.not_copied import DISTRIBUTED_DATA, NotCopied
from simstrategy_tensorflow.rows import COMPOSED, TensorFlowCompositeBatch, spec_of

__all__ = ["TensorFlowDataset", "TensorFlowIterator"]

Put = Callable[[tf.Tensor, Device], tf.Tensor]

_TRACED_MAX: Final = 200
"""The most steps of one pass in one graph: more come from a Python loop that would never end."""


@final
class _Steps:
    """Converts steps for a graph: a flat list with one tensor for each leaf and replica, and back, on the devices."""

    def __init__(self, spec: Any, devices: tuple[Device, ...], put: Put) -> None:
        self._spec, self._devices, self._put = spec, devices, put
        self._counted: tuple[Any, int] = (None, 0)

    def count(self) -> None:
        """Counts one more step of a graph.  Raises Unsupported in a Python loop that would never end."""
        graph, number = self._counted
        here = tf.compat.v1.get_default_graph()
        self._counted = (here, number + 1 if graph is here else 1)
        if self._counted[1] > _TRACED_MAX:
            raise Unsupported(
                f"A loop over a distributed dataset was traced for {_TRACED_MAX} steps without an end: AutoGraph did "
                f"not convert it to a loop of the graph. If AutoGraph warns that it could not transform the function, "
                f"simplify the function; or loop outside and pass each step to the tf.function."
            )

    @property
    def signature(self) -> tuple[Any, ...]:
        """The spec of each tensor."""
        return tuple([spec_of(one) for one in tf.nest.flatten(self._spec)])

    def flow(self, start: Callable[[], Iterator[Any]]) -> Any:
        """Returns a `tf.data.Dataset` of flat steps; it calls `start` at the beginning of each pass of the graph."""

        def steps() -> Iterator[tuple[Any, ...]]:
            for step in start():
                yield tuple(tf.nest.flatten(step))

        options = tf.data.Options()
        # No step is computed early: other draws and requests may come before it.
        options.experimental_optimization.apply_default_optimizations = False
        options.autotune.enabled = False
        return tf.data.Dataset.from_generator(steps, output_signature=self.signature).with_options(options)

    def pack(self, flat: tuple[Any, ...]) -> Any:
        """Returns a step for the program: each component on its device; texts stay on the host."""
        count = len(self._devices)
        placed = [
            one if one.dtype == tf.string else self._put_on(one, self._devices[number % count])
            for number, one in enumerate(flat)
        ]
        return tf.nest.pack_sequence_as(self._spec, placed)

    def _put_on(self, value: Any, device: Device) -> Any:
        if isinstance(value, COMPOSED):
            return TensorFlowCompositeBatch(value).placed(device.placement)
        return self._put(value, device)


@final
class _Optional:
    """A step that may be missing: the methods that TensorFlow's loops use."""

    def __init__(self, optional: Any, steps: _Steps) -> None:
        self._optional, self._steps = optional, steps

    def has_value(self) -> Any:
        """Returns a bool tensor."""
        return self._optional.has_value()

    def get_value(self) -> Any:
        """Returns the step."""
        return self._steps.pack(self._optional.get_value())


@final
class TensorFlowIterator(NotCopied, tf.distribute.DistributedIterator):  # type: ignore[misc]  # what AutoGraph makes loops of
    """One pass over a distributed dataset; eager code and graphs take steps of the same pass."""

    not_copied = DISTRIBUTED_DATA

    def __init__(self, inner: Any, devices: tuple[Device, ...], put: Put) -> None:
        self._inner, self._devices, self._put = inner, devices, put
        self._traced: tuple[_Steps, Any] | None = None

    @property
    def element_spec(self) -> Any:
        """The nest of specs of a step, as in `simstrategy.data`."""
        return self._inner.element_spec

    def __iter__(self) -> "TensorFlowIterator":
        return self

    def initialize(self) -> Any:
        """Goes back to the first step, if the source can be iterated over again."""
        return self._inner.initialize()

    def __next__(self) -> Any:
        return next(self._inner) if tf.executing_eagerly() else self.get_next()

    def get_next(self) -> Any:
        """Returns the next step.  At the end raises OutOfRangeError; a graph that runs, tf.errors.OutOfRangeError."""
        if tf.executing_eagerly():
            return self._inner.get_next()
        steps, flow = self._in_graphs()
        steps.count()
        return steps.pack(flow.get_next())

    def get_next_as_optional(self) -> Any:
        """Returns the next step, or an optional without a value."""
        if tf.executing_eagerly():
            return self._inner.get_next_as_optional()
        steps, flow = self._in_graphs()
        return _Optional(flow.get_next_as_optional(), steps)

    def _in_graphs(self) -> tuple[_Steps, Any]:
        if self._traced is None:
            steps = _steps_of(self._inner, self._devices, self._put)
            with tf.init_scope():
                self._traced = steps, iter(steps.flow(self._rest))
        return self._traced

    def _rest(self) -> Iterator[Any]:
        while True:
            try:
                yield self._inner.get_next()
            except OutOfRangeError:
                return


@final
class TensorFlowDataset(NotCopied, tf.distribute.DistributedDataset):  # type: ignore[misc]  # what AutoGraph makes loops of
    """A distributed dataset that can be iterated over eagerly, and in a loop of a traced function.

    Each time the compiled function runs, its loop begins a new pass, as `iter` does.
    """

    not_copied = DISTRIBUTED_DATA

    def __init__(self, inner: Any, devices: tuple[Device, ...], put: Put) -> None:
        self._inner, self._devices, self._put = inner, devices, put

    @property
    def element_spec(self) -> Any:
        """The nest of specs of a step, as in `simstrategy.data`."""
        return self._inner.element_spec

    def __iter__(self) -> Any:
        if tf.executing_eagerly():
            return TensorFlowIterator(iter(self._inner), self._devices, self._put)
        steps = _steps_of(self._inner, self._devices, self._put)
        return _TracedPass(iter(steps.flow(lambda: iter(self._inner))), steps)

    def reduce(self, initial_state: Any, reduce_func: Callable[[Any, Any], Any]) -> Any:
        """Carries a state through a pass: AutoGraph converts a `for` over this dataset to it."""
        state = initial_state
        if tf.executing_eagerly():
            for step in self:
                state = reduce_func(state, step)
            return state
        flow = iter(self)
        first = flow.flow.get_next_as_optional()

        def one_more(optional: Any, state: Any) -> tuple[Any, Any]:
            state = reduce_func(state, flow.steps.pack(optional.get_value()))
            return flow.flow.get_next_as_optional(), state

        _, state = tf.while_loop(
            lambda optional, _: optional.has_value(), one_more, (first, initial_state), parallel_iterations=1
        )
        return state


@final
class _TracedPass(tf.distribute.DistributedIterator):  # type: ignore[misc]
    """A pass that begins and ends in one run of a graph."""

    def __init__(self, flow: Any, steps: _Steps) -> None:
        self.flow, self.steps = flow, steps

    def __iter__(self) -> "_TracedPass":
        return self

    def __next__(self) -> Any:
        return self.get_next()

    def get_next(self) -> Any:
        self.steps.count()
        return self.steps.pack(self.flow.get_next())

    def get_next_as_optional(self) -> Any:
        return _Optional(self.flow.get_next_as_optional(), self.steps)


def _steps_of(inner: Any, devices: tuple[Device, ...], put: Put) -> _Steps:
    try:
        spec = inner.element_spec
    except InvalidArgument as error:
        raise InvalidArgument(
            f"A tf.function cannot loop over this dataset: {error} Or iterate over it outside and pass each step to "
            f"the tf.function."
        ) from error
    return _Steps(spec, devices, put)
