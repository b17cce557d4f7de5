"""`StrategyExtended`: what library code calls on a strategy, such as optimizers and loops.

A thin face over the engine, like `strategy.py`.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.strategy.engine import Engine
from simstrategy.strategy.enums import ReduceOp, VariableSynchronization
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.library.destinations import batch_reduce_to, broadcast_to, reduce_to
from simstrategy.strategy.library.updating import non_slot_devices, update, update_non_slot
from simstrategy.strategy.modes import current_mode, engine_here, require_cross_replica, require_library_context
from simstrategy.strategy.reductions.reducing import op_in
from simstrategy.strategy.variables.components import container_of
from simstrategy.strategy.variables.outside import moved, read_outside
from simstrategy.strategy.variables.variable import Variable

__all__ = ["StrategyExtended"]

Named = Mapping[str, Any] | None


@final
class StrategyExtended:
    """What `Strategy.extended` returns."""

    __slots__ = ("engine",)

    experimental_require_static_shapes = False
    """Whether shapes have to be known before a run: they never have."""
    experimental_should_init = True
    """Whether this process initializes its variables itself."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        """What runs the replicas: for this project's own rooms."""

    # Where things are.

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The placements of this process's replicas.  Raises ContextError for the default strategy."""
        return self._devices("worker_devices")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The placements of variables: the replicas', or the first one's in central storage."""
        devices = self._devices("parameter_devices")
        return devices[:1] if self.engine.kind.central else devices

    def _devices(self, name: str) -> tuple[str, ...]:
        if self.engine.kind is DEFAULT:
            raise ContextError(
                f"{name} is unsupported by the default strategy, which places nothing. Enter the scope of one "
                f'that you made, for example Strategy.mirrored("sim", replicas=2).'
            )
        return tuple(device.placement for device in self.engine.local_devices)

    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any:
        """Returns where an optimizer's state that belongs to no one variable is kept: for `update_non_slot`.

        The replicas' placements; in central storage the first of the variables by name.
        """
        return non_slot_devices(self.engine, var_list)

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[None]:
        """Returns a context manager: variables made inside are on a variable's devices, as all of a strategy's are.

        Raises ContextError outside the strategy's scope, and InvalidArgument for what is no variable of it.
        """
        strategy, mode = self.engine.strategy, current_mode()
        if mode is None and self.engine.kind is not DEFAULT:
            raise ContextError(
                f'Need to be inside "with strategy.scope()" for {strategy!r}: colocate_vars_with was called outside.'
            )
        if mode is None or mode.strategy is not strategy:
            require_cross_replica(strategy, "colocate_vars_with")
        found = self.engine.own(colocate_with_variable)
        if not isinstance(found, Variable) or found.engine is not self.engine:
            raise InvalidArgument(
                f"`colocate_vars_with` must only be passed a variable created in this strategy's scope, not: {found!r}."
            )
        return nullcontext()

    # Running and reducing.

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Named = None) -> Any:
        """Runs `fn` once per local replica and regroups what they return.

        args, kwargs: nests; distributed values become each replica's component. Raises what a replica
        raises, unchanged, and ReplicasDisagree.
        """
        require_library_context(self.engine.strategy, "call_for_each_replica")
        return self.engine.run(fn, args, kwargs, self.engine.source(sys._getframe(1)))

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any) -> Any:
        """Reduces a nest of per-replica values to where a library wants the result.

        destinations: a variable or a distributed value, for a Mirrored result on every local replica's
        device; an array, a variable's component or a device's name, for one array there. A value that all
        replicas share is its own mean and has no sum. Raises InvalidArgument, InvalidType and ContextError.
        """
        require_library_context(self.engine.strategy, "reduce_to")
        engine = engine_here(self.engine)
        op = op_in(engine, reduce_op)
        return reduce_to(engine, op, value, destinations, engine.source(sys._getframe(1)))

    def batch_reduce_to(self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """Reduces each value of a list of (value, destination) pairs like `reduce_to`."""
        require_library_context(self.engine.strategy, "batch_reduce_to")
        engine = engine_here(self.engine)
        op = op_in(engine, reduce_op)
        return batch_reduce_to(engine, op, value_destination_pairs, engine.source(sys._getframe(1)))

    def broadcast_to(self, tensor: Any, destinations: Any = None) -> Any:
        """Returns one value where a library wants it: a copy for each device, never `tensor` itself.

        tensor: an array or host data of this worker; a Python number comes back as it is. destinations:
        see `reduce_to`; None is every local replica's device.
        """
        require_library_context(self.engine.strategy, "broadcast_to")
        engine = engine_here(self.engine)
        return broadcast_to(engine, tensor, destinations, engine.source(sys._getframe(1)))

    # Variables.

    def update(
        self, var: Variable, fn: Callable[..., Any], args: Any = (), kwargs: Named = None, group: bool = True
    ) -> Any:
        """Calls `fn(component, *args, **kwargs)` for each component of a variable, on its device.

        fn: reads and writes the component alone (`assign`, `assign_add`, `assign_sub`, `value`), in a
        cross-replica context. args, kwargs: Mirrored values and variables become their components, and so
        do PerReplica ones where the semantics allow it. group: False for tuples of results in place of
        Mirrored values; what all calls returned comes back once. Where there is one component on its own
        (central storage, one device), `fn` gets the variable. In a replica function all replicas meet, where
        the semantics allow it, and each gets its own result. Raises what `fn` raises.
        """
        engine = engine_here(self.engine)
        return update(engine, var, fn, args, kwargs, group, engine.source(sys._getframe(1)))

    def update_non_slot(
        self, colocate_with: Any, fn: Callable[..., Any], args: Any = (), kwargs: Named = None, group: bool = True
    ) -> Any:
        """Calls `fn(*args, **kwargs)` on each device that `non_slot_devices` returned; see `update`."""
        site = self.engine.source(sys._getframe(1))
        return update_non_slot(self.engine, colocate_with, fn, args, kwargs, group, site)

    def read_var(self, v: Variable) -> Any:
        """Returns a variable's value; of an ON_READ one the aggregate of all replicas, outside replica functions."""
        v = self.engine.own(v)
        if not isinstance(v, Variable):
            raise InvalidType(f"read_var takes a variable, got {v!r}.")
        mode = current_mode()
        if mode is not None and mode.replica is not None and mode.engine is v.engine:
            if v.synchronization is VariableSynchronization.ON_READ:
                require_cross_replica(self.engine.strategy, "read_var of an ON_READ variable")
            return v.read_value()
        return moved(read_outside(v, mode, "read_value", self.engine.source(sys._getframe(1))), v.engine, mode)

    def value_container(self, value: Any) -> Any:
        """Returns the variable of which `value` is a component; any other value as it is."""
        return container_of(self.engine, value)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Tells whether a variable, or the one whose component this is, was made in this strategy's scope."""
        container = container_of(self.engine, v)
        if not isinstance(container, Variable):
            raise InvalidType(f"variable_created_in_scope takes a variable, got {v!r}.")
        return container.engine is self.engine

    # What a training loop of several processes asks.

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each process runs a program of its own: True for multi_worker and central_storage."""
        return self.engine.kind.spans_processes or self.engine.kind.central

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process writes checkpoints: worker 0 does."""
        return self.engine.room.worker == 0

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries: worker 0 does."""
        return self.engine.room.worker == 0
