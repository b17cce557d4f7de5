"""Variables: one component per replica, read and written by the rules of `policies.py`."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from simstrategy.device import Array, Cell, canonical_dtype
from simstrategy.errors import ContextError, InvalidArgument
from simstrategy.run import Sizes
from simstrategy.strategy.context import ReplicaContext, current_mode
from simstrategy.strategy.enums import (
    AGGREGATIONS,
    VariableAggregation,
    VariableSynchronization,
    aggregation_of,
    synchronization_of,
)
from simstrategy.strategy.policies import POLICIES
from simstrategy.strategy.reduction import MEAN_DTYPES
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import DistributedValues, Mirrored

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["Variable"]

_KINDS: Final = ("assign", "assign_add", "assign_sub")


@final
class Variable:
    """A value that every replica holds a component of.  Made inside `strategy.scope()`.

    initial_value: host data or an array; every component starts with worker 0's. dtype: by name, default
    the value's. Components change by `assign`, `assign_add` and `assign_sub` alone.

    Raises ContextError outside a scope or inside a replica function, and InvalidArgument for an
    impossible synchronization, aggregation or dtype.
    """

    def __init__(
        self,
        initial_value: Any,
        *,
        trainable: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        mode = current_mode()
        if mode is None or mode.replica is not None:
            where = "inside a replica function" if mode else "outside any strategy"
            raise ContextError(f'A Variable was made {where}. Make it in "with strategy.scope():", before run.')
        engine = mode.engine
        site = engine.source(sys._getframe(1))
        self._engine = engine
        self.name = f"Variable_{len(engine.created)}" if name is None else str(name)
        self.synchronization = synchronization_of(synchronization, self.name)
        self.aggregation = aggregation_of(aggregation, self.name)
        self._policy = POLICIES[self.synchronization, self.aggregation]
        on_read = self.synchronization is VariableSynchronization.ON_READ
        self.trainable = (not on_read) if trainable is None else bool(trainable)
        initial = _host(initial_value, dtype, engine)
        self.dtype = canonical_dtype(initial.dtype)
        self.shape: tuple[int, ...] = initial.shape
        engine.semantics_check(self)
        self._cells: tuple[Cell, ...] = engine.make_cells(initial, self.name, site)
        self._forms = tuple((self.shape, self.dtype, device.placement) for device in engine.local_devices)
        self._requests = {kind: self._request(kind, self.aggregation.value) for kind in _KINDS}
        """What replicas ask for when they write: one object for each kind, quickly compared."""
        self._coherent = True
        """All components are equal because the same was done to all: an update may be computed once."""
        engine.created.append(self)

    def __repr__(self) -> str:
        return (
            f"<Variable {self.name!r} {self.dtype}{list(self.shape)} {self.synchronization.name}, aggregation "
            f"{self.aggregation.name}, on {', '.join(device.placement for device in self._engine.local_devices[:4])}"
            f"{', …' if len(self._engine.local_devices) > 4 else ''}>"
        )

    # Reading.

    def value(self) -> Array:
        """Returns this replica's component; outside replicas, what the policy says (component 0, or all aggregated)."""
        mode = current_mode()
        if type(mode) is ReplicaContext and mode.engine is self._engine:
            return self._cells[mode.index].read()
        return self._read_across(self._engine.source(sys._getframe(1)))

    def read_value(self) -> Array:
        """The same as `value`."""
        replica = self._replica()
        if replica is not None:
            return self._cells[replica.index].read()
        return self._read_across(self._engine.source(sys._getframe(1)))

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns `value()` as a host copy."""
        replica = self._replica()
        site = self._engine.source(sys._getframe(1))
        array = self._read_across(site) if replica is None else self._cells[replica.index].read()
        return self._engine.backend.get(array)

    @property
    def native(self) -> Any:
        """This replica's variable of the framework; outside replicas, the first one's."""
        replica = self._replica()
        return self._cells[0 if replica is None else replica.index].native

    @property
    def components(self) -> tuple[Array, ...]:
        """The components of this process's replicas, in rank order."""
        return tuple(cell.read() for cell in self._cells)

    def _read_across(self, site: Site) -> Array:
        how = self._policy.cross_read
        if how == "refuse":
            raise InvalidArgument(
                f"Could not convert from VariableAggregation.NONE to ReduceOp: variable {self.name!r} is ON_READ "
                f"without an aggregation, so it has no value outside replicas ({describe_site(site)}). Give it "
                f"an aggregation, or read it inside run."
            )
        if how == "first":
            return self._cells[0].read()
        return self._engine.reduce_leaf(self.aggregation.value, Mirrored(self.components), None, site)

    # Writing.

    def assign(self, value: Any) -> "Variable | Mirrored":
        """Replaces the value; in a replica function by the aggregation of all replicas' values."""
        return self._write("assign", value, self._engine.source(sys._getframe(1)))

    def assign_add(self, delta: Any) -> "Variable | Mirrored":
        """Adds to the value; in a replica function the aggregation of all replicas' deltas."""
        return self._write("assign_add", delta, self._engine.source(sys._getframe(1)))

    def assign_sub(self, delta: Any) -> "Variable | Mirrored":
        """Subtracts from the value; in a replica function the aggregation of all replicas' deltas."""
        return self._write("assign_sub", delta, self._engine.source(sys._getframe(1)))

    def _replica(self) -> ReplicaContext | None:
        mode = current_mode()
        return mode.replica if mode is not None and mode.strategy is self._engine.strategy else None

    def _write(self, kind: str, value: Any, site: Site) -> "Variable | Mirrored":
        mode = current_mode()
        if type(mode) is ReplicaContext and mode.engine is self._engine:
            return self._write_in_replica(kind, value, mode, site)
        if mode is not None and mode.strategy is not self._engine.strategy:
            raise ContextError(
                f"Mixing different strategies: {kind} on variable {self.name!r} of {self._engine.strategy!r} inside "
                f"{mode.strategy!r} ({describe_site(site)}). Leave the other strategy's scope first."
            )
        return self._write_across(kind, value, site)

    def _request(self, kind: str, op: str | None) -> Request:
        return Request(kind, op, None, self.name, None, ((self.shape, self.dtype),))

    def _write_in_replica(self, kind: str, value: Any, replica: ReplicaContext, site: Site) -> "Variable":
        how = self._policy.replica_write
        if how == "profile":
            if self._engine.semantics.unaggregated_replica_write == "refuse":
                raise InvalidArgument(
                    f"You must specify an aggregation method to update variable {self.name!r} in a replica function: "
                    f"{kind} at {describe_site(site)} in replica {replica.replica_id_in_sync_group}. Make the variable "
                    f"with one of {AGGREGATIONS}; SUM adds the replicas' values, MEAN averages them."
                )
            how = "own"
        engine = self._engine
        array = self._adopt(value, replica.index, kind, site)
        if how == "own":
            with engine.backend.on(engine.local_devices[replica.index]):
                self._cells[replica.index].write(self._applied(kind, replica.index, array))
            self._coherent = False
            return self
        resolve = self._resolve_first if how == "first" else self._resolve_reduced
        replica.park((self._requests[kind], (value, array, site), site, resolve, None))
        return self

    def _resolve_reduced(self, request: Request, payloads: list[Any], sizes: Sizes) -> Sequence[None]:
        """Reduces the replicas' values and applies the result to every component."""
        first, _, site = payloads[0]
        deltas = tuple([array for _, array, _ in payloads])
        # Between processes nobody knows which objects are the same, and all have to take the same turn.
        alone = self._engine.room.processes == 1
        if alone and len(payloads) > 1 and all(value is first for value, _, _ in payloads):
            if request.op == "SUM":
                raise InvalidArgument(
                    f"A non-DistributedValues value {first!r} cannot be reduced with ReduceOp.SUM: all replicas gave "
                    f"the very same object to {request.kind} of variable {self.name!r} ({describe_site(site)}), so "
                    f"whether it counts once or once per replica is not known. Compute it in each replica, or divide "
                    f"by num_replicas_in_sync there."
                )
            self._apply(request.kind, deltas, coherent=True)
        else:
            if request.op == "MEAN" and self.dtype in MEAN_DTYPES and len(self._engine.devices) > 1:
                raise InvalidArgument(
                    f"{request.kind} of variable {self.name!r} ({describe_site(site)}): the mean of {self.dtype} is "
                    f"{MEAN_DTYPES[self.dtype]}, and a variable never changes its dtype. Make it float32, or choose "
                    f"another aggregation."
                )
            self._apply(request.kind, self._engine.reductions.all_reduce(request.op, deltas), coherent=True)
        return [None] * len(payloads)

    def _resolve_first(self, request: Request, payloads: list[Any], sizes: Sizes) -> Sequence[None]:
        """Applies replica 0's value to every component."""
        engine = self._engine
        array = payloads[0][1] if engine.local_devices[0].rank == 0 else None
        self._apply(request.kind, engine.from_rank_0(array, self.shape, self.dtype), coherent=True)
        return [None] * len(payloads)

    def _write_across(self, kind: str, value: Any, site: Site) -> Mirrored:
        if self._policy.cross_write == "share":
            if kind != "assign":
                raise InvalidArgument(
                    f"An ON_READ variable does not support `{kind}` in a cross-replica context when its aggregation is "
                    f"SUM: variable {self.name!r} at {describe_site(site)}. Whether each replica or the total should "
                    f"change is not known; use assign, or {kind} in a replica function."
                )
            value = self._shared_out(value, site)
        engine = self._engine
        given = value.values if isinstance(value, DistributedValues) else (value,) * len(self._cells)
        if len(given) != len(self._cells):
            raise InvalidArgument(
                f"{kind} of variable {self.name!r} at {describe_site(site)} got {len(given)} components for "
                f"{len(self._cells)} replicas. Pass a value made by this strategy."
            )
        arrays = tuple([self._adopt(one, index, kind, site) for index, one in enumerate(given)])
        engine.room.announce(self._request(kind, None), site)
        self._apply(kind, arrays, coherent=not isinstance(value, DistributedValues) or isinstance(value, Mirrored))
        return Mirrored(self.components)

    def _shared_out(self, value: Any, site: Site) -> Any:
        """Returns a total as each replica's share."""
        engine = self._engine
        if isinstance(value, DistributedValues):
            raise InvalidArgument(
                f"assign of the ON_READ variable {self.name!r} at {describe_site(site)} takes the total, not one value "
                f"per replica. Reduce it first, or assign inside a replica function."
            )
        array = self._adopt(value, 0, "assign", site)
        xp, count = engine.xp, len(engine.devices)
        integer = np.dtype(self.dtype).kind in "iu" if self.dtype != "bfloat16" else False
        if engine.semantics.on_read_sum_assign == "multiply":
            if integer:
                raise InvalidArgument(
                    f"assign of the ON_READ variable {self.name!r} at {describe_site(site)}: {self.dtype} cannot be "
                    f"shared out by multiplication. Use a floating dtype, or Semantics.TF2."
                )
            return xp.multiply(array, 1.0 / count)
        if integer:
            host = engine.backend.get(array)
            return np.asarray(np.trunc(host.astype(np.float64) / count), host.dtype)
        return xp.divide(array, float(count))

    def _apply(self, kind: str, arrays: tuple[Array, ...], *, coherent: bool) -> None:
        """Writes every component: the array itself, or component plus or minus it."""
        engine = self._engine
        backend = engine.backend
        once = coherent and self._coherent and backend.capabilities.unified_memory
        if once:
            with backend.on(engine.local_devices[0]):
                self._cells[0].write(self._applied(kind, 0, arrays[0]))
            written = self._cells[0].read()
            for cell, device in zip(self._cells[1:], engine.local_devices[1:], strict=True):
                cell.write(backend.put(written, device))
        else:
            for index, (cell, device) in enumerate(zip(self._cells, engine.local_devices, strict=True)):
                with backend.on(device):
                    cell.write(self._applied(kind, index, arrays[index]))
        self._coherent = coherent and (self._coherent or kind == "assign")

    def _applied(self, kind: str, index: int, array: Array) -> Array:
        if kind == "assign":
            return array
        function: Callable[[Array, Array], Array] = (
            self._engine.xp.add if kind == "assign_add" else self._engine.xp.subtract
        )
        return function(self._cells[index].read(), array)

    def _adopt(self, value: Any, index: int, kind: str, site: Site) -> Array:
        """Returns the value on a replica's device.  Raises InvalidArgument for another shape or dtype."""
        engine = self._engine
        if isinstance(value, engine.array_types) and engine.spec(value) == self._forms[index]:
            return value
        if isinstance(value, Variable):
            value = value.components[index]
        array = engine.adopt(value, index, dtype=self.dtype)
        shape, dtype, _ = engine.spec(array)
        if shape != self.shape or dtype != self.dtype:
            where = f"{describe_site(site)}, replica {engine.local_devices[index].rank}"
            raise InvalidArgument(
                f"{kind} of variable {self.name!r} ({where}) got {dtype}{list(shape)}, and the variable is "
                f"{self.dtype}{list(self.shape)}. Reshape or cast the value: a variable never changes its form."
            )
        return array


def _host(value: Any, dtype: Any, engine: "Engine") -> Any:
    """Returns the initial value as an array of the first device or of the host, in the wanted dtype."""
    if isinstance(value, Variable):
        value = value.value()
    if dtype is not None and canonical_dtype(dtype) not in engine.backend.capabilities.dtypes:
        raise InvalidArgument(
            f"There is no dtype {canonical_dtype(dtype)!r} on backend {engine.backend.name!r}; choose from "
            f"{', '.join(sorted(engine.backend.capabilities.dtypes))}."
        )
    with engine.backend.on(engine.local_devices[0]):
        array = engine.adopt(value, 0, dtype=None if dtype is None else canonical_dtype(dtype))
        if dtype is not None and engine.spec(array)[1] != canonical_dtype(dtype):
            array = engine.xp.astype(array, canonical_dtype(dtype))
    return engine.backend.get(array)
