"""`Strategy`: the whole public surface of a strategy, one final class.  The work is done in `extended`."""

import sys
from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Unpack, final

from simstrategy.data import DistributedDataset
from simstrategy.device import ArrayNamespace, Backend
from simstrategy.errors import ContextError, InvalidArgument
from simstrategy.strategy.context import Scope, current_mode, require_cross_replica
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.extended import StrategyExtended
from simstrategy.strategy.kinds import CENTRAL_STORAGE, DEFAULT, MIRRORED, MULTI_WORKER, ONE_DEVICE
from simstrategy.strategy.opening import Settings, open_engine
from simstrategy.strategy.variables import Variable
from simstrategy.values import DistributedValues

__all__ = ["Strategy"]


@final
class Strategy:
    """How a program's replicas run and meet.  Made by `Strategy.mirrored` and its siblings."""

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._engine = extended.engine
        self._engine.attach(self)

    @classmethod
    def mirrored(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy whose replicas all run in this process, each with a component of every variable.

        backend: a name or an opened backend. settings: see `Settings`. Raises InvalidArgument for a backend
        that spans processes, and what opening the backend raises; so do the other constructors.
        """
        return cls(StrategyExtended(open_engine(MIRRORED, backend, settings)))

    @classmethod
    def one_device(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy of one replica, whose values are never distributed ones.

        backend: a name, or a backend opened with one device. Raises InvalidArgument for several.
        """
        return cls(StrategyExtended(open_engine(ONE_DEVICE, backend, settings)))

    @classmethod
    def central_storage(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy whose replicas run in this process and share variables, which live on the first device."""
        return cls(StrategyExtended(open_engine(CENTRAL_STORAGE, backend, settings)))

    @classmethod
    def multi_worker(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes the strategy of this process, which is one worker of a cluster.

        backend: a name or an opened backend; where the other workers are, it finds in the environment.
        settings: `replicas` are those of this process.
        """
        return cls(StrategyExtended(open_engine(MULTI_WORKER, backend, settings)))

    @property
    def extended(self) -> StrategyExtended:
        """The calls for library code."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which values are reduced, over all workers."""
        return self._engine.num_replicas

    @property
    def xp(self) -> ArrayNamespace:
        """The array namespace of the backend; creates on the first local device outside replica functions."""
        return self._engine.xp

    def __repr__(self) -> str:
        backend = self._engine.backend
        return (
            f"<Strategy on {backend.name!r}: {self.num_replicas_in_sync} replicas, {len(backend.local_devices)} here>"
        )

    def __copy__(self) -> "Strategy":
        raise ContextError("A Strategy cannot be copied flatly: must only deepcopy it. Use copy.deepcopy(strategy).")

    def __deepcopy__(self, _memo: object) -> "Strategy":
        """Returns another strategy of the same kind and settings on the same backend, without variables."""
        if self._engine.kind is DEFAULT:
            raise ContextError("The default strategy is one, and cannot be copied. Make a strategy of your own.")
        return Strategy(StrategyExtended(self._engine.another()))

    def scope(self) -> Scope:
        """Returns a context manager: inside, this strategy is current, and variables are its own."""
        return Scope(self)

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Runs `fn` on each replica; returns what they return, regrouped.

        args, kwargs: nests; PerReplica values reach each replica as its component. Leaves that every
        replica returned as the very same object come back as that object, others as PerReplica. An
        exception comes out unchanged, with a note on who raised it and who was waiting.
        """
        return self._engine.run(fn, args, kwargs, self._engine.source(sys._getframe(1)))

    def experimental_run_v2(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """The older name of `run`."""
        return self._engine.run(fn, args, kwargs, self._engine.source(sys._getframe(1)))

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | tuple[int, ...] | None = None) -> Any:
        """Reduces a nest of per-replica values to one value each.

        axis: None adds or averages elementwise over the replicas, which need equal shapes. An axis, or a
        tuple of them, is reduced as well; replicas may differ in size along it, and MEAN divides by the
        number of all their elements. Both empty: SUM 0, MEAN NaN. MEAN of integers is float64 (8- and
        16-bit ones: float32). Raises InvalidArgument with the form of each replica's value.
        """
        require_cross_replica(self, "reduce")
        op = ReduceOp.of(reduce_op)
        return self._engine.reduce(op.value, value, _plain_axis(axis), self._engine.source(sys._getframe(1)))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns this process's components of a value, as a tuple; (value,) of what has none."""
        if isinstance(value, DistributedValues):
            return value.values
        if isinstance(value, Variable):
            return value.components
        return (value,)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> DistributedDataset:
        """Splits a dataset of global batches over the replicas.

        dataset: a `simstrategy.data.Dataset`, or any iterable of nests whose arrays have the batch first.
        Each batch of b elements is cut into ceil(b / N) elements for each of N replicas; the last ones may
        get fewer or none. A single replica's part comes unwrapped.
        """
        require_cross_replica(self, "experimental_distribute_dataset")
        engine = self._engine
        return DistributedDataset(
            dataset,
            workers=engine.room.processes,
            worker=engine.room.worker,
            replicas=len(engine.local_devices),
            distribute=engine.distribute,
            forbid=self._forbid_in_replica,
        )

    def close(self) -> None:
        """Ends the threads that carried replicas.  A strategy that is dropped does so too."""
        self._engine.close()

    def _forbid_in_replica(self) -> None:
        mode = current_mode()
        if mode is not None and mode.replica is not None:
            raise ContextError(
                "next(iterator) should be called from outside of the replica function: "
                "strategy.run(replica_fn, args=(next(iterator),))."
            )


def _plain_axis(axis: Any) -> int | tuple[int, ...] | None:
    """Returns the axis in Python's integers; NumPy's are taken too."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    if axis is None:
        return None
    if not all(isinstance(one, Integral) and not isinstance(one, bool) for one in axes):
        raise InvalidArgument(f"reduce takes an int, a tuple of ints or None as axis, got {axis!r}.")
    return tuple(map(int, axis)) if isinstance(axis, tuple) else int(axis)
