"""The real strategies of one process under simstrategy's names: `open_reference`.

Calls are passed on to TensorFlow without corrections. Several processes are in `workers.py`.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import FunctionType, SimpleNamespace
from typing import Any, Literal, final, get_args

import tensorflow as tf

import simstrategy
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy_tf_distribute.devices import mirrored, names
from simstrategy_tf_distribute.ops import XP, VariableOps, inward, ops_of, outward

__all__ = ["Kind", "ReferenceStrategy", "open_reference"]

Kind = Literal["mirrored", "one_device", "central_storage", "multi_worker"]


@final
class ReferenceStrategy:
    """A strategy of TensorFlow with the methods of `simstrategy.Strategy`.

    inner: TensorFlow's strategy. ops: the names of `simstrategy`, implemented by TensorFlow; see `run_program`.
    """

    xp = XP

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.ops: SimpleNamespace = ops_of(self)

    def __repr__(self) -> str:
        return f"<ReferenceStrategy: {type(self.inner).__name__}, {self.num_replicas_in_sync} replicas>"

    @property
    def num_replicas_in_sync(self) -> int:
        return int(self.inner.num_replicas_in_sync)

    @property
    def extended(self) -> Any:
        """The `extended` of TensorFlow's strategy."""
        return self.inner.extended

    @contextmanager
    def _scope(self) -> Iterator["ReferenceStrategy"]:
        with self.inner.scope():
            yield self

    def scope(self) -> Any:
        return self._scope()

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        def step(*local: Any, **named: Any) -> Any:
            return inward(fn(*local, **named), self.inner, host=True)

        return outward(self.inner.run(step, inward(tuple(args), self.inner), inward(dict(kwargs or {}), self.inner)))

    experimental_run_v2 = run

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        op = reduce_op.name if isinstance(reduce_op, Enum) else reduce_op
        return outward(self.inner.reduce(op, inward(value, self.inner), axis))

    def gather(self, value: Any, axis: int) -> Any:
        return outward(self.inner.gather(inward(value, self.inner), axis))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, simstrategy.PerReplica):
            return value.values
        given = value.inner if isinstance(value, VariableOps) else inward(value, self.inner)
        components = self.inner.experimental_local_results(given)
        return tuple(tf.convert_to_tensor(one) if isinstance(one, tf.Variable) else one for one in components)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        return _Steps(self.inner.experimental_distribute_dataset(dataset, options))

    def distribute_datasets_from_function(self, dataset_fn: Callable[[Any], Any], options: Any = None) -> Any:
        return _Steps(self.inner.distribute_datasets_from_function(dataset_fn, options))

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        return outward(self.inner.experimental_distribute_values_from_function(value_fn))

    def run_program(self, program: Callable[..., Any]) -> Any:
        """Runs `program(strategy)` with `ops` in place of the module `simstrategy`, under whatever name it is imported.

        The program is not changed: its code runs with other global variables. Functions of other modules keep their
        global variables. Raises InvalidArgument for anything but a plain function.
        """
        if not isinstance(program, FunctionType):
            raise InvalidArgument(f"run_program takes a plain function program(strategy), got {short_repr(program)}.")
        replaced = {name: self.ops for name, value in program.__globals__.items() if value is simstrategy}
        scope = {**program.__globals__, **replaced}
        for name, value in program.__globals__.items():
            if isinstance(value, FunctionType) and value.__globals__ is program.__globals__:
                scope[name] = _among(value, scope)
        return _among(program, scope)(self)

    def close(self) -> None:
        """Does nothing: TensorFlow keeps its devices until the process ends."""


def _among(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


@final
class _Steps:
    """A distributed dataset that yields our classes of distributed values."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __iter__(self) -> Iterator[Any]:
        return map(outward, iter(self.inner))


def open_reference(kind: Kind, replicas: int = 1) -> ReferenceStrategy:
    """Opens a strategy of TensorFlow: MirroredStrategy, OneDeviceStrategy or CentralStorageStrategy.

    replicas: the number of logical CPUs. MirroredStrategy reduces by copies, because its default collectives fail if
    several strategies exist in one process (measured on 2.21.0). Raises InvalidArgument for an unknown kind, for
    several replicas of one device, and for "multi_worker", whose workers are processes: see `run_workers`.
    """
    if kind not in get_args(Kind):
        raise InvalidArgument(f"There is no reference strategy {kind!r}; choose from {', '.join(get_args(Kind))}.")
    if kind == "multi_worker":
        raise InvalidArgument("The workers of a multi_worker strategy are processes. Use run_workers(file, workers=2).")
    if kind == "mirrored":
        return ReferenceStrategy(mirrored(replicas, tf.distribute.ReductionToOneDevice()))
    devices = names(replicas)
    if kind == "central_storage":
        return ReferenceStrategy(tf.distribute.experimental.CentralStorageStrategy(devices, parameter_device="CPU:0"))
    if replicas != 1:
        raise InvalidArgument(f"A one_device strategy has one replica, not {replicas}. Use 'mirrored'.")
    return ReferenceStrategy(tf.distribute.OneDeviceStrategy(devices[0]))
