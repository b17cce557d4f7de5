"""`StrategyExtended`: the calls of a strategy for library code, such as optimizers and training loops."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, final

from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.not_copied import EXTENDED, NotCopied
from simstrategy.short_repr import short_repr
from simstrategy.strategy.compiling import step_runner
from simstrategy.strategy.enums import ReduceOp, VariableSynchronization
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.library.destinations import batch_reduce_to, broadcast_to, reduce_to
from simstrategy.strategy.library.updating import non_slot_devices, update, update_non_slot
from simstrategy.strategy.modes import active_group, current_mode, require_cross_replica, require_library_context
from simstrategy.strategy.reductions.reducing import op_in
from simstrategy.strategy.running import Runner, RunStep
from simstrategy.strategy.variables.components import container_of
from simstrategy.strategy.variables.cross_replica import move_to_current, read_outside
from simstrategy.strategy.variables.variable import Variable

__all__ = ["StrategyExtended"]

Named = Mapping[str, Any] | None


@final
class StrategyExtended(NotCopied):
    """The calls of a strategy for library code: `Strategy.extended`.  Source of names: TensorFlow's class.

    >>> import simstrategy as ss
    >>> strategy = ss.Strategy.mirrored("sim", replicas=2)
    >>> strategy.extended.worker_devices
    ('sim:0', 'sim:1')
    >>> with strategy.scope():
    ...     strategy.extended.broadcast_to(strategy.xp.ones([2]))
    Mirrored:{
      0: SimArray([1., 1.], dtype=float32),
      1: SimArray([1., 1.], dtype=float32)
    }
    """

    __slots__ = ("_group", "_run_step", "_runner")
    not_copied = EXTENDED

    experimental_require_static_shapes = False
    """Whether shapes have to be known before a run: never."""
    experimental_should_init = True
    """Whether this process initializes its variables: always."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._group = runner.group
        self._run_step: RunStep | None = None

    def attach(self, strategy: object, run: Callable[..., Any]) -> tuple[Runner, RunStep]:
        """Binds these calls to their strategy, once; returns what runs its replicas and steps.  `Strategy` calls it.

        run: `Strategy.run`. Raises InvalidArgument the second time.
        """
        if self._run_step is not None:
            raise InvalidArgument(
                "This StrategyExtended already belongs to a Strategy: Strategy(extended) takes a new one. Use "
                "copy.deepcopy(strategy) for another."
            )
        self._group.owner = strategy
        self._run_step = step_runner(self._runner, run)
        return self._runner, self._run_step

    # Where things are.

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The placements of this process's replicas.  Raises ContextError for the default strategy."""
        return self._devices("worker_devices")

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The placements of variables: the replicas', or the first one's in central storage."""
        devices = self._devices("parameter_devices")
        return devices[:1] if self._group.kind.central else devices

    def _devices(self, name: str) -> tuple[str, ...]:
        if self._group.kind is DEFAULT:
            raise ContextError(
                f"{name} is unsupported by the default strategy, which places nothing. Enter the scope of one "
                f'that you made, for example Strategy.mirrored("sim", replicas=2).'
            )
        return tuple(device.placement for device in self._group.local_devices)

    def non_slot_devices(self, var_list: Sequence[Variable]) -> Any:
        """Returns where an optimizer's state that belongs to no one variable is kept: for `update_non_slot`.

        The replicas' placements; in central storage the first of the variables by name.
        """
        return non_slot_devices(self._group, var_list)

    def colocate_vars_with(self, colocate_with_variable: Variable) -> AbstractContextManager[None]:
        """Returns a context manager: variables made inside are on a variable's devices, as all of a strategy's are.

        Raises ContextError outside the strategy's scope, and InvalidArgument for anything else than its variables.
        """
        group, mode = self._group, current_mode()
        if mode is None and group.kind is not DEFAULT:
            raise ContextError(
                f'Need to be inside "with strategy.scope()" for {group.owner!r}: colocate_vars_with was called '
                f"outside. Enter the scope."
            )
        if mode is None or mode.group.owner is not group.owner:
            require_cross_replica(group, "colocate_vars_with")
        found = group.frontend.unwrap(colocate_with_variable)
        if not isinstance(found, Variable) or found.state.group is not group:
            raise InvalidArgument(
                f"`colocate_vars_with` must only be passed a variable created in this strategy's scope, not: "
                f"{short_repr(found)}. Pass such a variable."
            )
        return nullcontext()

    # Running and reducing.

    def call_for_each_replica(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Named = None) -> Any:
        """Runs `fn` once for each local replica and regroups the results.

        args, kwargs: nests; each replica gets its component of distributed values. Raises an exception of a
        replica unchanged, and ReplicasDisagree.
        """
        require_library_context(self._group, "call_for_each_replica")
        assert self._run_step is not None
        return self._run_step(fn, args, kwargs, self._group.source(sys._getframe(1)))

    def reduce_to(self, reduce_op: ReduceOp | str, value: Any, destinations: Any) -> Any:
        """Reduces a nest of per-replica values onto the devices of `destinations`.

        value: leaves [any shape], equal on all replicas. destinations: a variable or a distributed value, for a
        Mirrored result on every local replica's device; an array, a variable's component or a device's name, for one
        array there. A value that all replicas share is its own mean and has no sum. Raises InvalidArgument, InvalidType
        and ContextError.
        """
        require_library_context(self._group, "reduce_to")
        target = active_group(self._group)
        op = op_in(target, reduce_op)
        return reduce_to(target, op, value, destinations, target.source(sys._getframe(1)))

    def batch_reduce_to(self, reduce_op: ReduceOp | str, value_destination_pairs: Sequence[Any]) -> list[Any]:
        """Reduces each value of a list of (value, destination) pairs like `reduce_to`."""
        require_library_context(self._group, "batch_reduce_to")
        target = active_group(self._group)
        op = op_in(target, reduce_op)
        return batch_reduce_to(target, op, value_destination_pairs, target.source(sys._getframe(1)))

    def broadcast_to(self, tensor: Any, destinations: Any = None) -> Any:
        """Copies one value to each device of `destinations`; never returns `tensor` itself.

        tensor: an array or host data [any shape] of this worker; a Python number is returned unchanged. destinations:
        see `reduce_to`; None is every local replica's device.
        """
        require_library_context(self._group, "broadcast_to")
        target = active_group(self._group)
        return broadcast_to(target, tensor, destinations, target.source(sys._getframe(1)))

    # Variables.

    def update(
        self, var: Variable, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Named = None, group: bool = True
    ) -> Any:
        """Calls `fn(component, *args, **kwargs)` for each component of a variable, on its device.

        fn: reads and writes the component alone (`assign`, `assign_add`, `assign_sub`, `value`), in a
        cross-replica context. args, kwargs: `fn` gets the components of Mirrored values and of variables, and
        of PerReplica values where the semantics allow it. group: False for tuples of results in place of
        Mirrored values; an object that all calls return is returned once. Where there is a single component
        (central storage, one device), `fn` gets the variable. In a replica function this is a merge call of all
        replicas, where the semantics allow it, and each gets its own result. Raises what `fn` raises.
        """
        target = active_group(self._group)
        return update(target, var, fn, args, kwargs, group, target.source(sys._getframe(1)))

    def update_non_slot(
        self,
        colocate_with: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Named = None,
        group: bool = True,
    ) -> Any:
        """Calls `fn(*args, **kwargs)` on each device that `non_slot_devices` returned; see `update`."""
        site = self._group.source(sys._getframe(1))
        return update_non_slot(self._group, colocate_with, fn, args, kwargs, group, site)

    def read_var(self, v: Variable) -> Any:
        """Returns a variable's value; of an ON_READ one the aggregate of all replicas, outside replica functions."""
        v = self._group.frontend.unwrap(v)
        if not isinstance(v, Variable):
            raise InvalidType(f"read_var takes a variable, got {short_repr(v)}. Pass a variable.")
        mode = current_mode()
        if mode is not None and mode.replica is not None and mode.group is v.state.group:
            if v.synchronization is VariableSynchronization.ON_READ:
                require_cross_replica(self._group, "read_var of an ON_READ variable")
            return v.read_value()
        site = self._group.source(sys._getframe(1))
        return move_to_current(read_outside(v.state, mode, "read_value", site), v.state.group, mode)

    def value_container(self, value: Any) -> Any:
        """Returns the variable of which `value` is a component; any other value as it is."""
        return container_of(self._group, value)

    def variable_created_in_scope(self, v: Any) -> bool:
        """Returns whether a variable, or the one whose component this is, was made in this strategy's scope."""
        container = container_of(self._group, v)
        if not isinstance(container, Variable):
            raise InvalidType(f"variable_created_in_scope takes a variable, got {short_repr(v)}. Pass a variable.")
        return container.state.group is self._group

    # For training loops of several processes.

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each process runs a program of its own: True for multi_worker and central_storage."""
        return self._group.kind.spans_processes or self._group.kind.central

    @property
    def should_checkpoint(self) -> bool:
        """Whether this process writes checkpoints: worker 0 does."""
        return self._group.coordinator.worker == 0

    @property
    def should_save_summary(self) -> bool:
        """Whether this process writes summaries: worker 0 does."""
        return self._group.coordinator.worker == 0
