"""`Strategy`: the whole public surface of a strategy, one final class; `extended.py` has the calls for libraries."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack, final

import numpy as np

from simstrategy import data
from simstrategy.device import Backend
from simstrategy.errors import ContextError, InvalidType
from simstrategy.not_copied import COPY_OF_STRATEGY, STRATEGY, NotCopied
from simstrategy.short_repr import short_repr
from simstrategy.strategy import inputs
from simstrategy.strategy.cards import strategy_card, strategy_text
from simstrategy.strategy.compiling import CompiledStep
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.equality import require_equal_across
from simstrategy.strategy.extended import StrategyExtended
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import CENTRAL_STORAGE, DEFAULT, MIRRORED, MULTI_WORKER, ONE_DEVICE, Kind
from simstrategy.strategy.library.local_results import ValueContext, local_results, values_from_function
from simstrategy.strategy.library.session_config import updated_config
from simstrategy.strategy.modes import active_group, require_cross_replica, require_library_context
from simstrategy.strategy.opening import Settings, copied_group, open_group
from simstrategy.strategy.programs import CompiledProgram
from simstrategy.strategy.reductions.gathering import gather
from simstrategy.strategy.reductions.reducing import op_in, plain_axis, reduce_nest
from simstrategy.strategy.running import Runner
from simstrategy.strategy.scope import Scope
from simstrategy.strategy.validation import get_next_of, require_getter, text_in
from simstrategy.strategy.variables.framework import make_variable
from simstrategy.strategy.variables.saving import restore, save
from simstrategy.strategy.variables.variable import Variable

__all__ = ["Strategy", "group_of", "programs_of", "runner_of"]


@final
class Strategy(NotCopied):
    """Runs a function on all replicas and combines their values.  Made by `mirrored` and the other class methods.

    Source of names and behaviour: `tf.distribute.Strategy` of TensorFlow; the profile `semantics` selects the version.

    >>> import simstrategy as ss
    >>> strategy = ss.Strategy.mirrored("sim", replicas=2)
    >>> strategy.run(lambda: ss.get_replica_context().replica_id_in_sync_group).values
    (0, 1)
    >>> strategy.reduce("SUM", strategy.run(lambda: strategy.xp.ones(3)), axis=0)  # of 2 × 3 elements
    SimArray(6., dtype=float32)
    """

    not_copied = STRATEGY
    __repr__, _repr_html_ = strategy_text, strategy_card

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._runner, self._run_step = extended.attach(self, self.run)
        self._group = self._runner.group

    @classmethod
    def mirrored(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy whose replicas all run in this process, each with a component of every variable.

        backend: a name or an opened backend. settings: see `Settings`. Raises InvalidArgument for a backend
        that spans processes, and what opening the backend raises, as the other constructors do.
        """
        return cls(_opened(MIRRORED, backend, settings))

    @classmethod
    def one_device(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy of one replica, whose values are never distributed values.

        backend: a name, or a backend opened with one device. Raises InvalidArgument for several devices.
        """
        return cls(_opened(ONE_DEVICE, backend, settings))

    @classmethod
    def central_storage(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy whose replicas run in this process and share variables on the first device."""
        return cls(_opened(CENTRAL_STORAGE, backend, settings))

    @classmethod
    def multi_worker(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes the strategy of this process, which is one worker of a cluster.

        backend: a name or an opened backend, which reads the addresses of the other workers from the environment.
        settings: `replicas` is the number in this process. Raises PeerFailed where another worker does not answer.
        """
        return cls(_opened(MULTI_WORKER, backend, settings))

    @property
    def extended(self) -> StrategyExtended:
        """The calls for library code."""
        return self._extended

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas over which values are reduced, over all workers."""
        return self._group.num_replicas

    @property
    def xp(self) -> Any:
        """The backend's `ArrayNamespace`; outside replica functions it creates arrays on the first local device."""
        return self._group.xp

    def __copy__(self) -> "Strategy":
        raise ContextError(COPY_OF_STRATEGY)

    def __deepcopy__(self, _memo: object) -> "Strategy":
        """Returns another strategy of the same kind and settings on the same backend, without variables."""
        if self._group.kind is DEFAULT:
            raise ContextError("The default strategy is one, and cannot be copied. Make a strategy of your own.")
        return Strategy(StrategyExtended(Runner(copied_group(self._group, make_variable))))

    def scope(self) -> Scope["Strategy"]:
        """Returns a context manager: inside, this strategy is current, and new variables belong to it."""
        return Scope(self, self._group)

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Runs `fn` once on each local replica and regroups the results.

        args, kwargs: nests; each replica gets its component of PerReplica values. A leaf that is one object on all
        replicas is returned as that object, other leaves as PerReplica. Raises an exception of `fn` unchanged, with a
        note that names its replica and those that were waiting, and ReplicasDisagree. Clauses: M-1 to M-4, V-1, V-2.
        """
        return self._run_step(fn, args, kwargs, self._group.source(sys._getframe(1)))

    def compile(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a step for `run`: one compiled program for all replicas, where the backend compiles.

        step: a replica function, traced once for each form of its arguments, for all replicas together. While it is
        traced, the replica id has no value, arguments that are no arrays are constants, and effects of Python code
        happen once. It may use all_reduce, all_gather, variables, and merge_call with a function that reduces,
        broadcasts or updates. Replicas with unequal shapes, or that share a variable that it uses (central storage),
        run it uncompiled. A backend without compilation returns `step` itself. Raises CannotCompile and InvalidType.
        """
        if not callable(step):
            raise InvalidType(f"compile takes a replica function, got {short_repr(step)}.")
        compilation = self._group.backend.compilation
        return step if compilation is None else CompiledStep(self._runner, compilation, step)

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls `run`, of which this is the older name."""
        return self._run_step(fn, args, kwargs, self._group.source(sys._getframe(1)))

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Calls `get_next` of the iterator once, and runs `fn` on each replica with the result as its one argument."""
        require_cross_replica(self._group, "experimental_run")
        args = () if input_iterator is None else (get_next_of(input_iterator)(),)
        return self._run_step(fn, args, None, self._group.source(sys._getframe(1)))

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | tuple[int, ...] | None = None) -> Any:
        """Reduces each leaf of a nest of per-replica values to one array.

        reduce_op: SUM or MEAN. value: leaves [any shape]. axis: None adds or averages elementwise over the replicas,
        whose shapes are equal. An axis, or a tuple of them, is reduced as well: sizes may differ along it, and MEAN
        divides by the number of elements of all replicas; without elements SUM is 0, MEAN is NaN. MEAN of integers is
        float64 (8- and 16-bit ones: float32). Raises InvalidArgument with the form of each replica's value.
        """
        require_library_context(self._group, "reduce")
        group, site = active_group(self._group), self._group.source(sys._getframe(1))
        return reduce_nest(group, op_in(group, reduce_op), value, plain_axis(group, axis), site)

    def gather(self, value: Any, axis: int) -> Any:
        """Concatenates the components of each leaf of a nest, over all workers, in rank order.

        value: arrays […, n, …], where n, the size along the axis, may differ; a value that is not distributed is
        returned unchanged. axis: an int, negative ones count from the end. Raises InvalidArgument with one line
        per replica, also for a scalar and an axis out of range.
        """
        return gather(active_group(self._group), value, axis, self._group.source(sys._getframe(1)))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns this process's components of a distributed value or variable; (value,) of any other value.

        The result for a nest depends on the semantics: the nest itself, or a nest for each local replica.
        """
        return local_results(self._group, value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """Calls `experimental_local_results`, of which this is the older name."""
        return local_results(self._group, value)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Calls `value_fn` once for each local replica and returns the results as PerReplica values.

        Equal results, and the result of one replica, are PerReplica too; a strategy whose values are never
        distributed returns the value itself. Raises InvalidArgument for nests of different structure.
        """
        return values_from_function(self._group, value_fn)

    def experimental_distribute_dataset(self, dataset: Any, options: "data.InputOptions | None" = None) -> Any:
        """Splits a dataset of global batches over the workers and replicas; returns a `DistributedDataset`.

        dataset: a `simstrategy.data.Dataset`, or any iterable of nests of arrays [batch, …].
        options: take precedence over the dataset's. Which worker reads what, and how a batch is cut, is in
        `docs/semantics.md`, clauses D-1 to D-8; the last replicas of a step may get fewer elements or none. A
        single replica's part is not wrapped. Raises InvalidArgument for a policy that does not fit the
        dataset, and warns `data.ShardedByElement`.
        """
        require_cross_replica(self._group, "experimental_distribute_dataset")
        return inputs.distribute_dataset(self._group, dataset, options)

    def distribute_datasets_from_function(
        self, dataset_fn: "Callable[[data.InputContext], Any]", options: "data.InputOptions | None" = None
    ) -> Any:
        """Distributes a dataset made for this worker, without splitting: each replica takes one element a step.

        dataset_fn: called at once with an `InputContext`, once for the worker, or for each replica with
        options.experimental_replication_mode PER_REPLICA; returns a dataset of batches for one replica.
        """
        require_cross_replica(self._group, "distribute_datasets_from_function")
        return inputs.distribute_from_function(self._group, dataset_fn, options)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: "Callable[[data.InputContext], Any]", options: "data.InputOptions | None" = None
    ) -> Any:
        """Calls `distribute_datasets_from_function`, of which this is the older name."""
        require_cross_replica(self._group, "experimental_distribute_datasets_from_function")
        return inputs.distribute_from_function(self._group, dataset_fn, options)

    def experimental_make_numpy_dataset(self, numpy_input: Any) -> "data.Dataset":
        """Makes a dataset of the rows of a nest of NumPy arrays [rows, …]; lists are stacked into one array first."""
        require_cross_replica(self._group, "experimental_make_numpy_dataset")
        return data.Dataset.from_tensor_slices(numpy_input)

    def make_dataset_iterator(self, dataset: Any) -> "data.InputIterator":
        """Makes an iterator over a dataset of global batches, which `initialize()` starts again.

        Under TF1_13 all replicas get equal parts of every batch, and an incomplete last step is dropped. Raises
        InvalidArgument there where the batch size is not a multiple of the number of replicas.
        """
        require_cross_replica(self._group, "make_dataset_iterator")
        return inputs.dataset_iterator(self._group, dataset)

    def make_input_fn_iterator(
        self,
        input_fn: "Callable[[data.InputContext], Any]",
        replication_mode: "data.InputReplicationMode" = data.InputReplicationMode.PER_WORKER,
    ) -> "data.InputIterator":
        """Makes an iterator over what `input_fn` returns: a dataset, or a function of no arguments.

        Each replica takes one element a step, or one result. An incomplete last step is dropped, but under
        TF1_15 treated as `distribute_datasets_from_function` does.
        """
        require_cross_replica(self._group, "make_input_fn_iterator")
        return inputs.input_fn_iterator(self._group, input_fn, replication_mode)

    def experimental_initialize(self) -> list[Any]:
        """Does nothing, and returns the empty list: there is nothing to be done before a first run."""
        return []

    def experimental_finalize(self) -> list[Any]:
        """Does nothing, and returns the empty list: there is nothing to be done after a last run."""
        return []

    def update_config_proto(self, config_proto: Any) -> Any:
        """Returns a copy of a ConfigProto, or of an object with its attributes, for this kind of strategy.

        mirrored and central_storage isolate the session's state; multi_worker enables the collectives of the group,
        and sets its leader and this worker's device filter. Raises InvalidType for an object without them.
        """
        return updated_config(self._group, config_proto)

    def save(self, variables: Iterable[Variable]) -> dict[str, np.ndarray[Any, Any]]:
        """Returns the values of variables as host arrays [shape] by name, equal on all workers, which all call it.

        An ON_WRITE variable gives replica 0's component; an ON_READ one is aggregated, whatever the scope: the
        total with SUM, the mean with MEAN, replica 0's with ONLY_FIRST_REPLICA. Raises InvalidArgument, with a
        line for each, for names that come twice, variables of another strategy, and those without a value.
        """
        require_cross_replica(self._group, "save")
        return save(self._group, variables, self._group.source(sys._getframe(1)))

    def restore(self, variables: Iterable[Variable], saved: Mapping[str, Any]) -> None:
        """Writes the values that `save` returned into variables, for any number of replicas.

        saved: host arrays [shape] by name. Every component gets the value, or its share of a total. Raises
        InvalidArgument, with a line for each, for missing names, surplus names, and other shapes and dtypes, and
        ReplicasDisagree where workers pass different values: then nothing is changed.
        """
        require_cross_replica(self._group, "restore")
        restore(self._group, variables, saved, self._group.source(sys._getframe(1)))

    def require_equal(self, value: Any, *, name: str | None = None) -> None:
        """Raises ReplicasDisagree unless a nest's components are equal: see `ReplicaContext.require_equal`."""
        require_cross_replica(self._group, "require_equal")
        text = None if name is None else text_in(name, "require_equal")
        require_equal_across(self._group, value, text, self._group.source(sys._getframe(1)))

    def require_equal_after_run(self, name: str, getter: Callable[[], Any]) -> None:
        """Compares what `getter()` returns, as in `require_equal`, after every later run; one for each name."""
        require_getter(name, getter)
        self._runner.after_run[name] = getter

    def close(self) -> None:
        """Ends the threads that ran replicas.  The same happens when a strategy is deleted."""
        self._runner.close()


def group_of(strategy: Strategy) -> Group:
    """Returns a strategy's group: for the other packages of the core, and for tests."""
    return strategy._group  # noqa: SLF001 - this module's own class


def programs_of(strategy: Strategy) -> list[CompiledProgram]:
    """Returns what a strategy's steps were compiled to, in order: for the other packages, and for tests."""
    return runner_of(strategy).programs


def runner_of(strategy: Strategy) -> Runner:
    """Returns what runs a strategy's replicas: for the other packages of the core."""
    return strategy._runner  # noqa: SLF001 - this module's own class


def _opened(kind: Kind, backend: str | Backend, settings: Settings) -> StrategyExtended:
    return StrategyExtended(Runner(open_group(kind, backend, settings, make_variable)))
