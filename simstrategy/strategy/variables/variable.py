"""Variables: one component per replica, read and written by the rules of `policies.py`."""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, NoReturn, final

import numpy as np

from simstrategy.device import Array, Cell
from simstrategy.run import Sizes
from simstrategy.strategy.cards import variable_card
from simstrategy.strategy.enums import VariableAggregation, VariableSynchronization
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import MODE, Mode, Replica, current_mode, require_each_replica
from simstrategy.strategy.variables import creation, cross_replica
from simstrategy.strategy.variables.state import VariableState, expose, refuse_copy
from simstrategy.strategy.variables.write_checks import refuse_unaggregated, require_form, require_sum, require_summable
from simstrategy.trace import Request, Site
from simstrategy.values import LocalValue, PerReplica

__all__ = ["Variable"]

_mode: Final = MODE.get
_frame: Final = sys._getframe

_NO_GROUP: Final = object()

Write = tuple[Any, Array, Site]
"""A replica's part in a write: the value as given, the same on the replica's device, the call site."""


@final
class Variable(LocalValue):
    """A value with one component for each replica, or one that all replicas share.  Clauses: U-1 to U-14.

    Made inside `strategy.scope()`; where no strategy is current, one value of no strategy; or by all replicas of a run
    together, which then all receive one variable: they make variables of equal names, forms and settings in equal
    order, except for a number at a name's end, and replica 0's number and initial value are taken.

    >>> import simstrategy as ss
    >>> strategy = ss.Strategy.mirrored("sim", replicas=2)
    >>> with strategy.scope():
    ...     weights = ss.Variable([1.0, 2.0], aggregation=ss.VariableAggregation.MEAN)
    >>> strategy.run(lambda: weights.assign_add([0.5, 0.5], read_value=False))
    >>> weights.numpy()
    array([1.5, 2.5], dtype=float32)

    initial_value: host data or an array, [any shape], or a function that returns one; every component starts with
    replica 0's. dtype: by name, default the value's. Components change by `assign`, `assign_add`, `assign_sub` alone.
    Raises InvalidArgument for an impossible synchronization, aggregation or dtype, and ReplicasDisagree.
    """

    __slots__ = ("_cells", "_home", "_source", "state")
    state: VariableState
    """For the modules of this package."""
    _cells: tuple[Cell, ...]
    _home: Any
    """`state.home`, or an object that is no group, so that one comparison is enough."""
    _source: Callable[[FrameType], Site]

    _repr_html_ = variable_card

    # Replicas make one object together, so it cannot be filled by a constructor for each.
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
        group = creation.creator_in(mode)
        site = group.source(sys._getframe(1))
        replica = None if mode is None else mode.replica
        value = initial_value.value_at(site) if isinstance(initial_value, Variable) else initial_value
        array = creation.initial_array(group, value, dtype, 0 if replica is None else replica.index)
        plan = creation.plan_of(group, array, name, synchronization, aggregation, trainable)
        if replica is None:
            return creation.made_outside(plan, array, site, cls._made)

        def resolve(request: Request, arrays: Sequence[Array], sizes: Sizes) -> Sequence[Variable]:
            return [cls._made(plan.named(creation.name_of(plan, sizes[0])), arrays[0], site)] * len(arrays)

        request, number = creation.request_in_replica(plan)
        return replica.suspend(request, array, site, resolve, number)

    @classmethod
    def _made(cls, plan: creation.Plan, array: Array, site: Site) -> "Variable":
        """Makes the variable of a plan.  array: its initial value, which counts on rank 0 alone."""
        variable = cls.of(creation.make_state(plan, array, site))
        if plan.group.kind is not DEFAULT:
            plan.group.variables.add(variable, variable.state)
        return variable

    @classmethod
    def of(cls, state: VariableState) -> "Variable":
        """Returns a variable of this state: for the modules of this package."""
        self = object.__new__(cls)
        self.state = state
        self._cells = state.storage.cells
        self._home = _NO_GROUP if state.home is None else state.home
        self._source = state.group.source
        return self

    def __repr__(self) -> str:
        return self.state.description()

    def __reduce__(self) -> NoReturn:
        refuse_copy(self.state)

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.state.shape

    @property
    def dtype(self) -> str:
        """The Array API name of the dtype."""
        return self.state.dtype

    @property
    def synchronization(self) -> VariableSynchronization:
        return self.state.synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        return self.state.aggregation

    @property
    def trainable(self) -> bool:
        return self.state.trainable

    def value(self) -> Array:
        """Returns this replica's component [shape]; outside replicas, component 0 or all aggregated, by the policy.

        Inside another strategy the value is copied to the device that computes there.
        """
        mode = _mode()
        if mode is not None and mode.home is self._home:
            return self._cells[mode.index].read()
        return self.value_at(self._source(_frame(1)))

    here = value

    def value_at(self, site: Site) -> Array:
        """Returns `value()` for a call at this site: for the modules of this package."""
        return cross_replica.move_to_current(self.read_at("value", site), self.state.group, current_mode())

    def read_value(self) -> Array:
        """Returns `value()`; outside every scope, a variable with a component for each replica is always aggregated."""
        site = self._source(_frame(1))
        return cross_replica.move_to_current(self.read_at("read_value", site), self.state.group, current_mode())

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns `value()` as a host copy [shape]."""
        return self.state.group.backend.get(self.read_at("numpy", self._source(_frame(1))))

    def read_at(self, method: str, site: Site) -> Array:
        """Returns what a method of reading gives at a site: for the modules of this package, like `write_at`."""
        mode = current_mode()
        if mode is not None and mode.home is self._home:
            return self._cells[mode.index].read()
        twin = cross_replica.tracing_twin(self, self.state.group, mode)
        if twin is not None:
            return twin.read_at(method, site)
        return cross_replica.read_outside(self.state, mode, method, site)

    @property
    def native(self) -> Any:
        """This replica's variable of the framework; outside replicas, the first one's.

        A write to it, as of an optimizer, changes this component alone, so components are compared after each run.
        """
        if not self.state.storage.is_exposed:
            expose(self.state, self.state.cell, self._source(_frame(1)))
        return self.state.cell.native

    @property
    def components(self) -> tuple[Array, ...]:
        """The components of this process's replicas, in rank order; one, where the replicas share it."""
        require_each_replica(self.state.group, "the components of a variable")
        return self.state.components

    def assign(self, value: Any, *, read_value: bool = True) -> Any:
        """Replaces the value; in a replica function by the aggregation of all replicas' values.

        value: [shape], of the variable's dtype. Returns the new value as it is read there, as Mirrored of the
        components where they are equal and no replica runs; None without `read_value`, which saves the reading. Raises
        InvalidArgument for another shape or dtype, ContextError and ReplicasDisagree.
        """
        return self.write_at("assign", value, read_value, self._source(_frame(1)))

    def assign_add(self, delta: Any, *, read_value: bool = True) -> Any:
        """Adds to the value; in a replica function the aggregation of all replicas' deltas.  See `assign`."""
        return self.write_at("assign_add", delta, read_value, self._source(_frame(1)))

    def assign_sub(self, delta: Any, *, read_value: bool = True) -> Any:
        """Subtracts from the value; in a replica function the aggregation of all replicas' deltas.  See `assign`."""
        return self.write_at("assign_sub", delta, read_value, self._source(_frame(1)))

    def write_at(self, kind: str, value: Any, read_value: bool, site: Site) -> Any:
        """Writes for a call at this site.  kind: assign, assign_add or assign_sub."""
        mode: Any = _mode()
        if mode is None or (group := mode.home) is not self._home:
            return self._write_elsewhere(kind, value, mode, read_value, site)
        state = self.state
        if isinstance(value, group.array_types) and group.form(value) == state.forms[mode.index]:
            written = mode.suspend(state.requests[kind], (value, value, site), site, self._resolve_reduced, None)
        else:
            written = self._write_converted(kind, value, mode, site)
        return (self._cells[mode.index].read() if written is None else written) if read_value else None

    def _write_elsewhere(self, kind: str, value: Any, mode: Mode | None, read_value: bool, site: Site) -> Any:
        """Writes where no replica with a component of its own runs: outside, or to what all replicas share."""
        group = self.state.group
        if mode is None or mode.home is not group:
            twin = cross_replica.tracing_twin(self, group, mode)
            if twin is not None:
                return twin.write_at(kind, value, read_value, site)
            return group.coordinator.one_thread.call(site, self._write_outside, kind, value, mode, read_value, site)
        assert mode.replica is not None  # its home is the group
        self._write_in_replica(kind, value, mode.replica, site)
        return cross_replica.move_to_current(self._cells[0].read(), group, mode) if read_value else None

    def _write_converted(self, kind: str, value: Any, replica: Replica, site: Site) -> Array | None:
        """Writes in a replica what is no array of the variable's form yet; returns the new component if it is known."""
        state, index = self.state, replica.index
        group, form = state.group, state.forms[index]
        if form is not None and type(value) is np.ndarray:
            # Not examined, for its form is compared with one that was.
            array = group.settings.backend.put(value, group.local_devices[index])
            if group.form(array) == form:
                return replica.suspend(state.requests[kind], (value, array, site), site, self._resolve_reduced, None)
        self._write_in_replica(kind, value, replica, site)
        return None

    def _write_in_replica(self, kind: str, value: Any, replica: Replica, site: Site) -> None:
        state = self.state
        how = state.policy.replica_write
        if how == "refuse":
            refuse_unaggregated(state, kind, replica, site)
        array = self._adopt(value, replica.index, kind, site)
        if how == "component":
            state.storage.write_component(kind, replica.index, array, site)
            if state.policy.layout == "mirrored":
                state.group.variables.written(state, kind, site)
            return
        if isinstance(value, PerReplica) or (
            isinstance(value, Variable) and value.state.policy.layout == "per_replica"
        ):
            value = array  # one object, and yet another value on each replica
        request, write = state.requests[kind], (value, array, site)
        replica.suspend(request, write, site, self._resolve_first if how == "first" else self._resolve_reduced, None)

    def _resolve_reduced(self, request: Request, payloads: Sequence[Write], sizes: Sizes) -> Sequence[Array | None]:
        """Reduces the replicas' values and applies the result to every component; returns the components if known."""
        first, _, site = payloads[0]
        values, deltas, _ = zip(*payloads, strict=True)
        state = self.state
        # Objects of two processes cannot be compared, and all processes must take the same way.
        alone = state.group.coordinator.processes == 1
        if alone and len(values) > 1 and values[1] is first and all(value is first for value in values):
            require_sum(state, request, first, site)
            if isinstance(first, Variable) and not first.state.storage.are_equal:
                state.storage.write_each(request.kind, deltas)
            else:
                state.storage.write_same(request.kind, deltas)
        else:
            if state.group.tracing is not None and state.group.tracing.is_shared(first):
                require_sum(state, request, first, site)
            require_summable(state, request, site)
            return state.storage.write_reduced(request.kind, request.op, deltas) or [None] * len(payloads)
        return [None] * len(payloads)

    def _resolve_first(self, request: Request, payloads: Sequence[Write], sizes: Sizes) -> Sequence[None]:
        """Applies replica 0's value to every component."""
        state, value = self.state, payloads[0][1]
        state.storage.write_same(request.kind, state.group.reductions.from_rank_0(value, state.shape, state.dtype))
        return [None] * len(payloads)

    def _write_outside(self, kind: str, value: Any, mode: Mode | None, read_value: bool, site: Site) -> Any:
        group, layout = self.state.group, self.state.policy.layout
        index = cross_replica.updated_component(group, mode)
        if index is not None:
            array = self._adopt(value, index, kind, site)
            self.state.storage.write_in_update(kind, index, array, site, group.variables.journal)
            if layout == "mirrored":
                group.variables.written(self.state, kind, site)
            return self._cells[index].read() if read_value else None
        if layout == "single" and mode is not None and cross_replica.is_foreign(group, mode):
            if isinstance(value, mode.group.array_types) and not isinstance(value, group.array_types):
                value = mode.group.backend.get(value)
            self.state.storage.write_same(kind, (self._adopt(value, 0, kind, site),), site)
        else:
            cross_replica.require_own(self.state, mode, kind, site)
            self._write_across(kind, value, site)
        return cross_replica.read_written(self.state, mode, site) if read_value else None

    def _write_across(self, kind: str, value: Any, site: Site) -> None:
        state = self.state
        cross_replica.require_cross_write(state, kind, site)
        if isinstance(value, Variable):
            components = cross_replica.operand(state, value.state)
            value = value.value_at(site) if components is None else components
        cross_replica.write_across(state, kind, value, self._adopt, site)

    def _adopt(self, value: Any, index: int, kind: str, site: Site) -> Array:
        """Returns the value on a replica's device.  Raises InvalidArgument for another shape or dtype."""
        group = self.state.group
        given = value.value_at(site) if isinstance(value, Variable) else value
        array = group.adopt(given, index, dtype=self.state.dtype)
        require_form(self.state, group.spec(array), kind, index, site)
        return array
