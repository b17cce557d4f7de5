"""Variables: one component per replica, read and written by the rules of `policies.py`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

import numpy as np

from simstrategy.device import Array, Cell
from simstrategy.errors import ContextError, InvalidArgument
from simstrategy.run import Sizes
from simstrategy.strategy.context import Mode, ReplicaContext
from simstrategy.strategy.enums import VariableAggregation, VariableSynchronization
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import MODE, current_mode
from simstrategy.strategy.variables import creation, outside
from simstrategy.strategy.variables.policies import Policy
from simstrategy.strategy.variables.refusals import refuse_unaggregated, require_mean, require_sum
from simstrategy.strategy.variables.storage import Storage
from simstrategy.trace import Request, Site, describe_site
from simstrategy.values import Mirrored, PerReplica

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["Variable"]

_KINDS: Final = ("assign", "assign_add", "assign_sub")
_mode, _frame = MODE.get, sys._getframe


@final
class Variable:
    """A value that every replica holds a component of, or that all share.

    Made inside `strategy.scope()`; where no strategy is current, one value that is nobody's; or by all
    replicas of a run together, who then all get the one variable that comes of it: they make variables of
    equal names, forms and settings in equal order, but for a number at a name's end, and replica 0's
    number and initial value are taken.

    initial_value: host data or an array, or what returns one; every component starts with replica 0's.
    dtype: by name, default the value's. Components change by `assign`, `assign_add` and `assign_sub` alone.

    Raises InvalidArgument for an impossible synchronization, aggregation or dtype, and ReplicasDisagree.
    """

    __slots__ = (
        *("_cells", "_forms", "_home", "_requests", "aggregation", "dtype", "engine", "name", "policy", "shape"),
        *("storage", "synchronization", "trainable"),
    )
    engine: "Engine"
    """Of the strategy whose variable this is: for this project's own rooms, like `policy` and `storage`."""
    policy: Policy
    storage: Storage
    name: str
    synchronization: VariableSynchronization
    aggregation: VariableAggregation
    trainable: bool
    shape: tuple[int, ...]
    dtype: str
    _cells: tuple[Cell, ...]
    _home: "Engine | None"
    """The engine whose replicas each find a component at their own place."""
    _forms: tuple[object, ...]
    _requests: dict[str, Request]
    """What replicas ask for when they write: one object for each kind, quickly compared."""

    # What replicas make is one object, so it is not for a constructor of each to fill.
    def __new__(
        cls,
        initial_value: Any,
        *,
        trainable: bool | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        dtype: Any = None,
        name: str | None = None,
    ) -> "Variable":
        mode = current_mode()
        engine = creation.creator_in(mode)
        site = engine.source(sys._getframe(1))
        replica = None if mode is None else mode.replica
        value = initial_value.value_at(site) if isinstance(initial_value, Variable) else initial_value
        array = creation.initial_array(engine, value, dtype, 0 if replica is None else replica.index)
        plan = creation.plan_of(engine, array, name, synchronization, aggregation, trainable)
        if replica is None:
            engine.room.announce(plan.request(), site)
            return cls._of(plan, array)

        def resolve(request: Request, arrays: list[Array], sizes: Sizes) -> Sequence[Variable]:
            return [cls._of(plan.named(creation.name_of(plan, sizes[0])), arrays[0])] * len(arrays)

        request, number = creation.request_in_replica(plan)
        made: Variable = replica.park((request, array, site, resolve, number))
        return made

    @classmethod
    def _of(cls, plan: creation.Plan, array: Array) -> "Variable":
        """Makes the variable of a plan; `array` is what it begins with, and counts on rank 0 alone."""
        self = object.__new__(cls)
        engine = self.engine = plan.engine
        self.policy, self.name = plan.policy, plan.name
        self.synchronization, self.aggregation, self.trainable = plan.synchronization, plan.aggregation, plan.trainable
        self.shape, self.dtype = plan.shape, plan.dtype
        self._cells = creation.make_cells(plan, array)
        self.storage = Storage(engine, self._cells)
        self._home = None if plan.policy.layout == "central" else engine
        self._forms = creation.short_forms(engine, plan.policy, self._cells, self.shape, self.dtype)
        self._requests = {kind: self.request(kind, self.aggregation.value) for kind in _KINDS}
        if engine.kind is not DEFAULT:
            engine.created.append(self)
            engine.divergence.watch(self)
        return self

    def twin(self, engine: "Engine", cell: Cell) -> "Variable":
        """Returns what stands for this variable on an engine that traces: every rank's component in one cell."""
        other = object.__new__(Variable)
        other.engine, other.policy, other.name = engine, self.policy, self.name
        other.synchronization, other.aggregation = self.synchronization, self.aggregation
        other.trainable, other.shape, other.dtype = self.trainable, self.shape, self.dtype
        other._requests = self._requests
        other._cells = (cell,)
        other.storage = Storage(engine, other._cells)
        other._home = engine
        other._forms = creation.short_forms(engine, self.policy, other._cells, self.shape, self.dtype)
        return other

    def __repr__(self) -> str:
        devices = self.engine.local_devices[: len(self._cells)]
        return (
            f"<Variable {self.name!r} {self.dtype}{list(self.shape)} {self.synchronization.name}, aggregation "
            f"{self.aggregation.name}, on {', '.join(device.placement for device in devices[:4])}"
            f"{', …' if len(devices) > 4 else ''}>"
        )

    def __reduce__(self) -> NoReturn:
        raise ContextError(
            f"Variable {self.name!r} is its strategy's, and is neither copied nor pickled. Make another one that "
            f"begins with its value, Variable(variable), or keep its value: strategy.save([variable])."
        )

    # Reading.

    def value(self) -> Array:
        """Returns this replica's component; outside replicas, what the policy says (component 0, or all aggregated).

        Inside another strategy the value is brought to the device that computes there.
        """
        mode = _mode()
        if type(mode) is ReplicaContext and mode.engine is self._home:
            return self._cells[mode.index].read()
        return self.value_at(self.engine.source(_frame(1)))

    def value_at(self, site: Site) -> Array:
        """Returns `value()` for a call at this site: for this project's own rooms."""
        return outside.moved(self.read_at("value", site), self.engine, current_mode())

    def read_value(self) -> Array:
        """The same as `value`; outside every scope, always aggregated where the components are the replicas' own."""
        site = self.engine.source(_frame(1))
        return outside.moved(self.read_at("read_value", site), self.engine, current_mode())

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns `value()` as a host copy."""
        return self.engine.backend.get(self.read_at("numpy", self.engine.source(_frame(1))))

    def read_at(self, method: str, site: Site) -> Array:
        """Returns what a method of reading gives at a site: for this project's own rooms, like `write_at`."""
        mode = current_mode()
        if type(mode) is ReplicaContext and mode.engine is self._home:
            return self._cells[mode.index].read()
        twin = outside.traced(self, mode)
        return outside.read_outside(self, mode, method, site) if twin is None else twin.read_at(method, site)

    @property
    def native(self) -> Any:
        """This replica's variable of the framework; outside replicas, the first one's."""
        mode = current_mode()
        own = type(mode) is ReplicaContext and mode.engine is self._home
        return self._cells[mode.index if own and mode is not None else 0].native

    @property
    def components(self) -> tuple[Array, ...]:
        """The components of this process's replicas, in rank order; one, where the replicas share it."""
        return tuple(cell.read() for cell in self._cells)

    # Writing.

    def assign(self, value: Any, *, read_value: bool = True) -> Any:
        """Replaces the value; in a replica function by the aggregation of all replicas' values.

        Returns the new value as it is read there, as Mirrored of the components where they are equal and no
        replica runs; None without `read_value`, which spares the reading.
        """
        return self.write_at("assign", value, read_value, self.engine.source(_frame(1)))

    def assign_add(self, delta: Any, *, read_value: bool = True) -> Any:
        """Adds to the value; in a replica function the aggregation of all replicas' deltas.  See `assign`."""
        return self.write_at("assign_add", delta, read_value, self.engine.source(_frame(1)))

    def assign_sub(self, delta: Any, *, read_value: bool = True) -> Any:
        """Subtracts from the value; in a replica function the aggregation of all replicas' deltas.  See `assign`."""
        return self.write_at("assign_sub", delta, read_value, self.engine.source(_frame(1)))

    def write_at(self, kind: str, value: Any, read_value: bool, site: Site) -> Any:
        mode, engine = _mode(), self.engine
        if type(mode) is not ReplicaContext or mode.engine is not engine:
            twin = outside.traced(self, mode)
            if twin is not None:
                return twin.write_at(kind, value, read_value, site)
            return self._write_outside(kind, value, mode, read_value, site)
        forms = self._forms
        if forms and isinstance(value, engine.array_types) and engine.form(value) == forms[mode.index]:
            # The short way of an array that is as it should be.
            written = mode.park((self._requests[kind], (value, value, site), site, self._resolve_reduced, None))
            if written is not None:
                return written if read_value else None
        else:
            self._write_in_replica(kind, value, mode, site)
        if not read_value:
            return None
        if self._home is None:
            return outside.moved(self._cells[0].read(), self.engine, mode)
        return self._cells[mode.index].read()

    def request(self, kind: str, op: str | None = None) -> Request:
        """Returns what is asked of a meeting about this variable: for this project's own rooms."""
        return Request(kind, op, None, self.name, None, ((self.shape, self.dtype),))

    def _write_in_replica(self, kind: str, value: Any, replica: ReplicaContext, site: Site) -> None:
        how = self.policy.replica_write
        if how == "refuse":
            refuse_unaggregated(self, kind, replica, site)
        array = self._adopt(value, replica.index, kind, site)
        if how == "own":
            self._write_own(kind, array, replica.index, site)
            return
        if isinstance(value, PerReplica) or (isinstance(value, Variable) and value.policy.layout == "own"):
            value = array  # one object, and yet a value of each replica's own
        resolve = self._resolve_first if how == "first" else self._resolve_reduced
        replica.park((self._requests[kind], (value, array, site), site, resolve, None))

    def _write_own(self, kind: str, array: Array, index: int, site: Site) -> None:
        self.storage.write_own(kind, index, array)
        if self.policy.layout == "mirrored":
            self.engine.divergence.written(self, kind, site)

    def _resolve_reduced(self, request: Request, payloads: list[Any], sizes: Sizes) -> Sequence[Array | None]:
        """Reduces the replicas' values and applies the result to every component; returns them where they are known."""
        first, _, site = payloads[0]
        values, deltas, _ = zip(*payloads, strict=True)
        # Between processes nobody knows which objects are the same, and all have to take the same turn.
        alone = self.engine.room.processes == 1
        if alone and len(values) > 1 and values[1] is first and all(value is first for value in values):
            require_sum(self, request, first, site)
            if isinstance(first, Variable) and not first.storage.is_coherent:
                self.storage.write_different(request.kind, deltas)
            else:
                self.storage.write_equal(request.kind, deltas)
        else:
            require_mean(self, request, site)
            return self.storage.write_reduced(request.kind, request.op, deltas) or [None] * len(payloads)
        return [None] * len(payloads)

    def _resolve_first(self, request: Request, payloads: list[Any], sizes: Sizes) -> Sequence[None]:
        """Applies replica 0's value to every component."""
        engine = self.engine
        array = payloads[0][1] if engine.holds_rank_0 else None
        self.storage.write_equal(request.kind, engine.from_rank_0(array, self.shape, self.dtype))
        return [None] * len(payloads)

    def _write_outside(self, kind: str, value: Any, mode: Mode | None, read_value: bool, site: Site) -> Any:
        engine, layout = self.engine, self.policy.layout
        index = outside.updated_component(engine, mode)
        if index is not None:
            self._write_own(kind, self._adopt(value, index, kind, site), index, site)
            return self._cells[index].read() if read_value else None
        if layout == "plain" and mode is not None and outside.is_foreign(engine, mode):
            if isinstance(value, mode.engine.array_types) and not isinstance(value, engine.array_types):
                value = mode.engine.backend.get(value)
            self.storage.write_equal(kind, (self._adopt(value, 0, kind, site),))
        else:
            outside.require_own(self, mode, kind, site)
            self._write_across(kind, value, site)
        if not read_value:
            return None
        if layout == "mirrored":
            return Mirrored(self.components)
        if layout == "own":
            says = engine.semantics.on_read_cross_write_returns == "value" and self.policy.cross_read != "refuse"
            return outside.read_across(self, site) if says else None
        return outside.moved(self._cells[0].read(), engine, mode)

    def _write_across(self, kind: str, value: Any, site: Site) -> None:
        engine = self.engine
        arrays, apart = outside.arrays_across(self, kind, value, self._adopt, site)
        prints: tuple[int, ...] = ()
        if self.policy.layout == "mirrored":
            prints = engine.divergence.fingerprints(arrays, apart=apart)
        everywhere = engine.room.announce(self.request(kind), site, prints)
        engine.divergence.compare(everywhere, self, kind, site)
        if apart and not (prints and all(one == prints[0] for one in prints)):
            self.storage.write_different(kind, arrays)
        else:
            self.storage.write_equal(kind, arrays)

    def _adopt(self, value: Any, index: int, kind: str, site: Site) -> Array:
        """Returns the value on a replica's device.  Raises InvalidArgument for another shape or dtype."""
        engine = self.engine
        if isinstance(value, Variable):
            value = value.value_at(site)
        array = engine.adopt(value, index, dtype=self.dtype)
        shape, dtype, _ = engine.spec(array)
        if shape != self.shape or dtype != self.dtype:
            where = f"{describe_site(site)}, replica {engine.local_devices[index].rank}"
            raise InvalidArgument(
                f"{kind} of variable {self.name!r} ({where}) got {dtype}{list(shape)}, and the variable is "
                f"{self.dtype}{list(self.shape)}. Reshape or cast the value: a variable never changes its form."
            )
        return array
