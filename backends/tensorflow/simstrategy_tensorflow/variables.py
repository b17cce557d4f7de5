"""`tf.Variable(...)` in a strategy's scope: makes a variable of the strategy that TensorFlow accepts as a tf.Variable.

The core defines reads and writes; this file converts the calls.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final, NoReturn, final

import numpy as np
import tensorflow as tf

from simstrategy.device import MakeVariable
from simstrategy.errors import InvalidArgument, Unsupported

__all__ = ["DistributedVariable", "as_made", "make_cell_variable", "scope_of"]

_AS_ASKED: Final[ContextVar[bool]] = ContextVar("simstrategy.tensorflow.as_asked", default=False)
"""Whether `tf.Variable(...)` makes an ordinary variable, such as a component."""


def scope_of(make: MakeVariable) -> Callable[[], AbstractContextManager[None]]:
    """Returns a context manager: inside, `make` makes each `tf.Variable(...)`; see `Frontend.attach`."""
    known: dict[Any, DistributedVariable] = {}

    def creator(next_creator: Callable[..., Any], **settings: Any) -> Any:
        if _AS_ASKED.get():
            return next_creator(**settings)
        # Outside the graph that is traced: a variable is made once, and lives longer than the graph.
        with tf.init_scope():
            variable = make(**_translated(settings))
        if not variable.trainable:
            for cell in variable.state.storage.cells:
                cell.native._trainable = False  # noqa: SLF001 - keeps a tape from watching it
        # All replicas get the same object.
        return known.setdefault(variable, DistributedVariable(variable))

    @contextmanager
    def scope() -> Iterator[None]:
        with tf.variable_creator_scope(creator):
            yield

    return scope


def _translated(settings: dict[str, Any]) -> dict[str, Any]:
    if settings.get("constraint") is not None:
        raise Unsupported(
            "tf.Variable in a strategy's scope takes no constraint: apply the function to the value before assign."
        )
    initial = settings["initial_value"]
    initial = initial() if callable(initial) else initial
    dtype = settings.get("dtype")
    return {
        "initial_value": _known(initial, settings.get("name")),
        "trainable": settings.get("trainable"),
        "synchronization": _member(settings.get("synchronization"), "AUTO"),
        "aggregation": _member(settings.get("aggregation"), "NONE"),
        "dtype": None if dtype is None else tf.as_dtype(dtype).name,
        "name": settings.get("name"),
    }


def _member(setting: Any, default: str) -> str:
    return setting.name if isinstance(setting, Enum) else default


def _known(initial: Any, name: str | None) -> Any:
    """Returns an initial value as data.  Raises InvalidArgument for one that a traced function computes."""
    if isinstance(initial, tf.Variable):
        initial = initial.read_value()
    if not tf.is_tensor(initial):
        return initial
    if not tf.is_symbolic_tensor(initial):
        return initial.numpy()
    value = _captured(initial)
    if value is None:
        raise InvalidArgument(
            f"The variable {name or '(without a name)'} is made while a tf.function is traced, and its first value is "
            f"computed there. Give a function that makes it, tf.Variable(lambda: ...), or make the variable outside."
        )
    return value


def _captured(symbol: Any) -> Any:
    """Returns the value of a symbolic tensor that was captured from outside the graph, else None."""
    while symbol.op.type == "Identity":
        symbol = symbol.op.inputs[0]
    graph = symbol.graph
    for outer, inner in graph.captures if isinstance(graph, tf.__internal__.FuncGraph) else ():
        if inner is symbol:
            return _captured(outer) if tf.is_symbolic_tensor(outer) else outer.numpy()
    return tf.get_static_value(symbol)


def make_cell_variable(initial: Any) -> Any:
    """Makes an ordinary variable on the device of `initial`, once, even if a function is being traced."""
    placement = initial.device
    value = _known(initial, None) if tf.is_symbolic_tensor(initial) else initial
    with tf.init_scope(), as_made(), tf.device(placement):
        return tf.Variable(value, dtype=initial.dtype)


@contextmanager
def as_made() -> Iterator[None]:
    """Enters a context in which `tf.Variable(...)` makes ordinary variables."""
    token = _AS_ASKED.set(True)
    try:
        yield
    finally:
        _AS_ASKED.reset(token)


@final
class DistributedVariable(tf.Variable, tf.__internal__.types.Tensor):  # type: ignore[misc]  # or it is no variable
    """A variable of the strategy that operations, tapes and libraries of TensorFlow accept as a `tf.Variable`.

    In a replica function it is replaced by the replica's component; elsewhere it is read as `simstrategy.Variable` is.
    Assignments follow synchronization and aggregation. inner: the `simstrategy.Variable`.
    """

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self._dtype = tf.as_dtype(inner.dtype)
        # Optimizers use it as a key: one name for all components.
        self._known_by = inner.state.cell.native._unique_id  # noqa: SLF001 - TensorFlow has no other name for it
        # TensorFlow's tapes then use the handle.
        self._should_act_as_resource_variable = True

    # Attributes.

    name = property(lambda self: f"{self.inner.name}:0")
    dtype = property(lambda self: self._dtype)
    shape = property(lambda self: tf.TensorShape(self.inner.shape))
    trainable = property(lambda self: self.inner.trainable)
    synchronization = property(lambda self: tf.VariableSynchronization[self.inner.synchronization.name])
    aggregation = property(lambda self: tf.VariableAggregation[self.inner.aggregation.name])
    device = property(lambda self: self.inner.state.cell.native.device)
    handle = property(
        lambda self: self.inner.state.cell.native.handle, doc="The handle of this replica's component, for tapes."
    )
    op = property(lambda self: self.inner.state.cell.native.op)
    graph = property(lambda self: self.inner.state.cell.native.graph)
    constraint = property(lambda self: None)
    _shared_name = property(lambda self: self.inner.name)
    _unique_id = property(lambda self: self._known_by)

    def __repr__(self) -> str:
        return repr(self.inner)

    def get_shape(self) -> Any:
        return self.shape

    # Reading.

    def value(self) -> Any:
        return self.inner.value()

    def read_value(self) -> Any:
        return self.inner.read_value()

    def numpy(self) -> np.ndarray[Any, Any]:
        return self.inner.numpy()  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.inner.numpy(), dtype)

    def sparse_read(self, indices: Any, name: str | None = None) -> Any:
        return tf.gather(self.value(), indices, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Any:
        return tf.gather_nd(self.value(), indices, name=name)

    # Writing.

    def assign(self, value: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        self.inner.assign(self._own_kind(value), read_value=False)
        return self if read_value else None

    def assign_add(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        self.inner.assign_add(self._own_kind(delta), read_value=False)
        return self if read_value else None

    def assign_sub(self, delta: Any, use_locking: bool = False, name: Any = None, read_value: bool = True) -> Any:
        self.inner.assign_sub(self._own_kind(delta), read_value=False)
        return self if read_value else None

    def _own_kind(self, value: Any) -> Any:
        """Converts host data to the variable's dtype, as TensorFlow does; returns other values unchanged."""
        if isinstance(value, DistributedVariable):
            return value.inner
        if isinstance(value, (np.ndarray, np.generic, list)):
            return np.asarray(value, self._dtype.as_numpy_dtype)
        if isinstance(value, tf.IndexedSlices):
            return tf.convert_to_tensor(value)
        return value

    def _refuse_scatter(self, *_: Any, **__: Any) -> NoReturn:
        raise Unsupported(
            f"Variable {self.inner.name!r} of a strategy takes no scattered updates. Assign a whole value, for example "
            f"tf.tensor_scatter_nd_update(v, indices, updates)."
        )

    scatter_add = scatter_sub = scatter_mul = scatter_div = scatter_min = scatter_max = scatter_update = _refuse_scatter
    scatter_nd_add = scatter_nd_sub = scatter_nd_update = batch_scatter_update = _refuse_scatter


def _as_tensor(variable: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    if dtype is not None and dtype != variable.dtype:
        return NotImplemented
    return variable.value()


# Priority 0: before TensorFlow's conversion, which handles components only.
tf.register_tensor_conversion_function(DistributedVariable, _as_tensor, priority=0)
