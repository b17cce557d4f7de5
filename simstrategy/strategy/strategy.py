"""`Strategy`: the whole public surface of a strategy, one final class; `extended.py` has the calls for libraries."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Unpack, final

import numpy as np

from simstrategy.data import Dataset, InputContext, InputIterator, InputOptions, InputReplicationMode
from simstrategy.device import ArrayNamespace, Backend
from simstrategy.errors import ContextError, InvalidType
from simstrategy.strategy import inputs
from simstrategy.strategy.compiling import CompiledStep, run_step
from simstrategy.strategy.enums import ReduceOp
from simstrategy.strategy.extended import StrategyExtended
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import CENTRAL_STORAGE, DEFAULT, MIRRORED, MULTI_WORKER, ONE_DEVICE, Kind
from simstrategy.strategy.library.local_results import ValueContext, local_results, values_from_function
from simstrategy.strategy.library.session_config import updated_config
from simstrategy.strategy.modes import active_group, require_cross_replica, require_library_context
from simstrategy.strategy.opening import Settings, make_group, open_group
from simstrategy.strategy.programs import CompiledProgram
from simstrategy.strategy.reductions.gathering import gather
from simstrategy.strategy.reductions.reducing import op_in, plain_axis, reduce_nest
from simstrategy.strategy.running import Runner
from simstrategy.strategy.scope import Scope
from simstrategy.strategy.variables.framework import make_variable
from simstrategy.strategy.variables.saving import restore, save
from simstrategy.strategy.variables.variable import Variable

__all__ = ["Strategy", "group_of", "programs_of"]


@final
class Strategy:
    """Runs a program's replicas and combines their values.  Made by `Strategy.mirrored` and its siblings."""

    def __init__(self, extended: StrategyExtended) -> None:
        self._extended = extended
        self._runner = extended.attach(self, self.run)
        self._group = self._runner.group

    @classmethod
    def mirrored(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy whose replicas all run in this process, each with a component of every variable.

        backend: a name or an opened backend. settings: see `Settings`. Raises InvalidArgument for a backend
        that spans processes, and what opening the backend raises; so do the other constructors.
        """
        return cls(_opened(MIRRORED, backend, settings))

    @classmethod
    def one_device(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy of one replica, whose values are never distributed ones.

        backend: a name, or a backend opened with one device. Raises InvalidArgument for several.
        """
        return cls(_opened(ONE_DEVICE, backend, settings))

    @classmethod
    def central_storage(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes a strategy whose replicas run in this process and share variables, which live on the first device."""
        return cls(_opened(CENTRAL_STORAGE, backend, settings))

    @classmethod
    def multi_worker(cls, backend: str | Backend, **settings: Unpack[Settings]) -> "Strategy":
        """Makes the strategy of this process, which is one worker of a cluster.

        backend: a name or an opened backend; where the other workers are, it finds in the environment.
        settings: `replicas` are those of this process.
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
    def xp(self) -> ArrayNamespace:
        """The array namespace of the backend; creates on the first local device outside replica functions."""
        return self._group.xp

    def __repr__(self) -> str:
        backend = self._group.backend
        return (
            f"<Strategy on {backend.name!r}: {self.num_replicas_in_sync} replicas, {len(backend.local_devices)} here>"
        )

    def __copy__(self) -> "Strategy":
        raise ContextError(
            "copy.copy of a Strategy is not supported: must only deepcopy it. Use copy.deepcopy(strategy)."
        )

    def __deepcopy__(self, _memo: object) -> "Strategy":
        """Returns another strategy of the same kind and settings on the same backend, without variables."""
        if self._group.kind is DEFAULT:
            raise ContextError("The default strategy is one, and cannot be copied. Make a strategy of your own.")
        again = self._group.settings._replace(schedule=deepcopy(self._group.settings.schedule))
        return Strategy(StrategyExtended(Runner(make_group(again, make_variable))))

    def scope(self) -> Scope["Strategy"]:
        """Returns a context manager: inside, this strategy is current, and variables belong to it."""
        return Scope(self, self._group)

    def run(self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Runs `fn` on each replica; returns what they return, regrouped.

        args, kwargs: nests; PerReplica values reach each replica as its component. Leaves that every
        replica returned as the very same object come back as that object, others as PerReplica. An
        exception comes out unchanged, with a note on who raised it and who was waiting.
        """
        return run_step(self._runner, fn, args, kwargs, self._group.source(sys._getframe(1)), self.run)

    def compile(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Returns what `run` can be given in place of a replica function: one program, where the backend makes one.

        The function is traced once for each form of its arguments, for all replicas together: its replica id
        has no value yet, what is no array is part of the program, and Python's own effects happen then alone.
        Inside: all_reduce, all_gather, variables, and merge_call with a function that reduces, broadcasts or
        updates. Replicas with unequal shapes run the function itself, for that step. On a backend without compilation
        it is the function itself. Raises CannotCompile, before anything has run, and InvalidType.
        """
        if not callable(step):
            raise InvalidType(f"compile takes a replica function, got {step!r}.")
        compilation = self._group.backend.compilation
        return step if compilation is None else CompiledStep(self._runner, compilation, step)

    def experimental_run_v2(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """The older name of `run`."""
        return run_step(self._runner, fn, args, kwargs, self._group.source(sys._getframe(1)), self.run)

    def experimental_run(self, fn: Callable[..., Any], input_iterator: Any = None) -> Any:
        """Runs `fn` on each replica, with what one `get_next` of the iterator gives it as its one argument."""
        require_cross_replica(self._group, "experimental_run")
        try:
            get_next = None if input_iterator is None else input_iterator.get_next
        except AttributeError as error:
            raise InvalidType(
                f"experimental_run takes an iterator with get_next(), got {input_iterator!r}. Make it with "
                f"strategy.make_dataset_iterator(dataset)."
            ) from error
        args = () if get_next is None else (get_next(),)
        return run_step(self._runner, fn, args, None, self._group.source(sys._getframe(1)), self.run)

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: int | tuple[int, ...] | None = None) -> Any:
        """Reduces a nest of per-replica values to one value each.

        axis: None adds or averages elementwise over the replicas, which need equal shapes. An axis, or a
        tuple of them, is reduced as well; replicas may differ in size along it, and MEAN divides by the
        number of all their elements. Both empty: SUM 0, MEAN NaN. MEAN of integers is float64 (8- and
        16-bit ones: float32). Raises InvalidArgument with the form of each replica's value.
        """
        require_library_context(self._group, "reduce")
        group, site = active_group(self._group), self._group.source(sys._getframe(1))
        return reduce_nest(group, op_in(group, reduce_op), value, plain_axis(group, axis), site)

    def gather(self, value: Any, axis: int) -> Any:
        """Concatenates the components of each leaf of a nest, over all workers, in rank order.

        value: arrays whose sizes may differ along the axis alone; a value that is not distributed comes
        back as it is. axis: an int, negative ones count from the end. Raises InvalidArgument with one line
        per replica, also for a scalar and an axis out of range.
        """
        return gather(active_group(self._group), value, axis, self._group.source(sys._getframe(1)))

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """Returns this process's components of a value, as a tuple; (value,) of what has none.

        A nest counts as one value, or comes as a nest for each local replica, as the semantics have it.
        """
        return local_results(self._group, value)

    def unwrap(self, value: Any) -> tuple[Any, ...]:
        """The older name of `experimental_local_results`."""
        return local_results(self._group, value)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Calls `value_fn` for each local replica and returns PerReplica values of what it returned.

        They are PerReplica even if they are the same, and for one replica; a strategy whose values are
        never distributed returns the value itself. Raises InvalidArgument for nests of different structure.
        """
        return values_from_function(self._group, value_fn)

    def experimental_distribute_dataset(self, dataset: Any, options: InputOptions | None = None) -> Any:
        """Splits a dataset of global batches over the workers and replicas; returns a `DistributedDataset`.

        dataset: a `simstrategy.data.Dataset`, or any iterable of nests whose arrays have the batch first.
        options: stand above the dataset's own. Which worker reads what, and how a batch is cut, is in
        `docs/semantics.md`, clauses D-1 to D-8; the last replicas of a step may get fewer elements or none. A
        single replica's part comes unwrapped. Raises InvalidArgument for a policy that does not fit the
        dataset, and warns `data.ShardedByElement`.
        """
        require_cross_replica(self._group, "experimental_distribute_dataset")
        return inputs.distribute_dataset(self._group, dataset, options)

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
    ) -> Any:
        """Distributes what `dataset_fn` returns for this worker; nothing is split: a replica takes an element a step.

        dataset_fn: called at once with an `InputContext`; its batches are of the size for one replica. options:
        with replication mode PER_REPLICA it is called for each replica.
        """
        require_cross_replica(self._group, "distribute_datasets_from_function")
        return inputs.distribute_from_function(self._group, dataset_fn, options)

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
    ) -> Any:
        """The older name of `distribute_datasets_from_function`."""
        require_cross_replica(self._group, "experimental_distribute_datasets_from_function")
        return inputs.distribute_from_function(self._group, dataset_fn, options)

    def experimental_make_numpy_dataset(self, numpy_input: Any) -> Dataset:
        """Makes a dataset of the rows of a nest of NumPy arrays; lists are stacked into one array first."""
        require_cross_replica(self._group, "experimental_make_numpy_dataset")
        return Dataset.from_tensor_slices(numpy_input)

    def make_dataset_iterator(self, dataset: Any) -> InputIterator:
        """Makes an iterator over a dataset of global batches, which `initialize()` begins anew.

        Under TF1_13 every batch is shared out evenly, and what is left at the end is dropped; raises
        InvalidArgument where the batch size is not a multiple of the replicas.
        """
        require_cross_replica(self._group, "make_dataset_iterator")
        return inputs.dataset_iterator(self._group, dataset)

    def make_input_fn_iterator(
        self,
        input_fn: Callable[[InputContext], Any],
        replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
    ) -> InputIterator:
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

        mirrored and central_storage isolate the session's state; multi_worker has collectives joined, and
        names a group leader and this worker's device filter. Raises InvalidType for what lacks them.
        """
        return updated_config(self._group, config_proto)

    def save(self, variables: Iterable[Variable]) -> dict[str, np.ndarray[Any, Any]]:
        """Returns the values of variables as host arrays by name; all workers take part and get the same.

        An ON_WRITE variable is replica 0's component; an ON_READ one is aggregated, whatever the scope: the
        total with SUM, the mean with MEAN, replica 0's with ONLY_FIRST_REPLICA. Raises InvalidArgument, with a
        line for each, for names that come twice, variables of another strategy, and those without a value.
        """
        require_cross_replica(self._group, "save")
        return save(self._group, variables, self._group.source(sys._getframe(1)))

    def restore(self, variables: Iterable[Variable], saved: Mapping[str, Any]) -> None:
        """Gives variables the values that `save` returned, on as many replicas as there are now.

        Every component gets the value; of a total, a share. Raises InvalidArgument, with a line for each, for
        names that are missing or left over and for other shapes and dtypes, and ReplicasDisagree where
        workers bring different values: then nothing is changed.
        """
        require_cross_replica(self._group, "restore")
        restore(self._group, variables, saved, self._group.source(sys._getframe(1)))

    def close(self) -> None:
        """Ends the threads that ran replicas.  The same happens when a strategy is deleted."""
        self._runner.close()


def group_of(strategy: Strategy) -> Group:
    """Returns a strategy's group: for the other packages of the core, and for tests."""
    return strategy._group  # noqa: SLF001 - this module's own class


def programs_of(strategy: Strategy) -> list[CompiledProgram]:
    """Returns what a strategy's steps were compiled to, in order: for the other packages, and for tests."""
    return strategy._runner.programs  # noqa: SLF001 - this module's own class


def _opened(kind: Kind, backend: str | Backend, settings: Settings) -> StrategyExtended:
    return StrategyExtended(Runner(open_group(kind, backend, settings, make_variable)))
