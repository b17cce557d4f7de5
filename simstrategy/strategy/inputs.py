"""How data comes to a strategy: the dataset calls of `Strategy`, for an engine.

The rules are those of the room `data`; here they meet a profile, a group, its devices and its schedule.
"""

import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from simstrategy import tree
from simstrategy.data import (
    CompositeBatch,
    DatasetRules,
    DistributedDataset,
    DistributedIterator,
    InputContext,
    InputIterator,
    InputOptions,
    InputPlacement,
    InputReplicationMode,
    ShardedByElement,
    Source,
    SplitRule,
    StepSource,
    callback_source,
    equal_split_source,
    plan_split,
    require_equal_parts,
    source_of,
    split_source,
    unsplit_source,
)
from simstrategy.data.short_repr import short_repr
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, Unsupported
from simstrategy.strategy.context import current_mode
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.trace import Request
from simstrategy.values import PerReplica

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["dataset_iterator", "distribute_dataset", "distribute_from_function", "input_fn_iterator"]

_Framed = TypeVar("_Framed", DistributedDataset, InputIterator)

_NEXT: Final = Request("next", None, None, None, None, ())
_USER: Final = 4
"""The stack level of whoever called the method of `Strategy`, seen from where a warning is given."""


def distribute_dataset(engine: "Engine", dataset: Any, options: InputOptions | None) -> Any:
    """Returns the distributed dataset of a dataset of global batches; the default strategy's is the dataset itself."""
    chosen = _options(options)
    if chosen.experimental_replication_mode is InputReplicationMode.PER_REPLICA:
        raise Unsupported(
            "A dataset is split for the replicas, so InputReplicationMode.PER_REPLICA means nothing here. Use "
            "distribute_datasets_from_function, whose function can be called for each replica."
        )
    if engine.kind is DEFAULT:
        return dataset
    return _framed(engine, DistributedDataset(_split(engine, _source(engine, dataset), chosen), group_of(engine)))


def distribute_from_function(engine: "Engine", dataset_fn: Callable[[InputContext], Any], options: Any) -> Any:
    """Returns the distributed dataset of what `dataset_fn` makes, which is called at once."""
    mode = _options(options).experimental_replication_mode
    if not callable(dataset_fn):
        raise InvalidType(
            f"dataset_fn is a function of an InputContext that returns a dataset, got {short_repr(dataset_fn)}."
        )
    made = [dataset_fn(context) for context in _contexts(engine, mode)]
    if engine.kind is DEFAULT:
        return made[0]
    return _framed(engine, DistributedDataset(_dealt(engine, made, always_whole=False), group_of(engine)))


def dataset_iterator(engine: "Engine", dataset: Any) -> InputIterator:
    """Returns the input iterator of a dataset of global batches."""
    group, source = group_of(engine), _source(engine, dataset)
    if engine.semantics.dataset_iterator == "even":
        feed = equal_split_source(source, workers=group.workers, worker=group.worker, replicas=group.replicas)
    else:
        feed = _split(engine, source, InputOptions())
    return _framed(engine, InputIterator(_stacked(engine, feed), group))


def input_fn_iterator(engine: "Engine", input_fn: Callable[[InputContext], Any], mode: Any) -> InputIterator:
    """Returns the input iterator of what `input_fn` makes: a dataset, or a function called for every element."""
    if mode is not InputReplicationMode.PER_WORKER:
        raise InvalidArgument(
            f"Input replication mode not supported: {mode!r}. Use InputReplicationMode.PER_WORKER, or "
            f"distribute_datasets_from_function."
        )
    if not callable(input_fn):
        raise InvalidType(f"input_fn is a function of an InputContext, got {short_repr(input_fn)}.")
    (context,) = _contexts(engine, mode)
    made = input_fn(context)
    group = group_of(engine)
    if callable(made):
        return _framed(engine, InputIterator(callback_source(made, group.replicas), group))
    try:
        feed = _dealt(engine, [made], always_whole=engine.semantics.input_fn_remainder == "drop")
    except InvalidType as error:
        raise InvalidArgument(
            f"input_fn must return a dataset or a callable; it returned {short_repr(made)}."
        ) from error
    return _framed(engine, InputIterator(_stacked(engine, feed), group))


def _stacked(engine: "Engine", feed: StepSource) -> StepSource:
    return require_equal_parts(feed) if engine.semantics.uneven_step == "refuse" else feed


def _source(engine: "Engine", dataset: Any) -> Source:
    if isinstance(dataset, (DistributedDataset, DistributedIterator, InputIterator)):
        raise InvalidType(
            "This dataset is distributed already: its steps have a part for each replica. Pass what it was made of."
        )
    return source_of(dataset if engine.frontend is None else engine.frontend.source(dataset))


def _framed(engine: "Engine", dataset: _Framed) -> _Framed:
    """Returns what is distributed as the framework's own loops take it."""
    framed: _Framed = dataset if engine.frontend is None else engine.frontend.dataset(dataset)
    return framed


def group_of(engine: "Engine") -> InputPlacement:
    """Returns what the room `data` has to know of an engine."""

    def agree(here: int, frame: FrameType) -> Sequence[int]:
        return engine.room.announce(_NEXT, engine.source(frame), (here,))

    def distribute(values: Sequence[Any], *, structure: tree.Structure | None) -> Any:
        columns = [[_placed(engine, leaf, index) for leaf in leaves] for index, leaves in enumerate(values)]
        if len(columns) == 1:
            return tree.unflatten(structure, columns[0])
        return tree.unflatten(structure, [PerReplica(leaf) for leaf in zip(*columns, strict=True)])

    return InputPlacement(
        workers=engine.room.processes,
        worker=engine.room.worker,
        replicas=len(engine.local_devices),
        distribute=distribute,
        forbid=_forbid_in_replica,
        agree=agree if engine.room.processes > 1 else None,
        choose=engine.schedule.choose,
    )


def _placed(engine: "Engine", leaf: Any, index: int) -> Any:
    """Returns a host array on a replica's device; texts stay on the host, for no device holds them."""
    if type(leaf) is not np.ndarray and isinstance(leaf, CompositeBatch):
        return leaf.placed(engine.local_devices[index].placement)
    if leaf.dtype.kind in "SUO" or engine.kind is DEFAULT:
        return leaf
    return engine.adopt(leaf, index)


def _split(engine: "Engine", source: Source, options: InputOptions) -> StepSource:
    """Decides how a source is split, warns where files are there and cannot be dealt, and makes the feed."""
    workers, worker, replicas = engine.room.processes, engine.room.worker, len(engine.local_devices)
    rules = DatasetRules(SplitRule(engine.semantics.dataset_split), engine.semantics.too_few_files)
    plan = plan_split(source, options.over(source.options()), rules, workers=workers, replicas=replicas)
    if plan.sharding.warns:
        warnings.warn(
            ShardedByElement(
                f"The dataset reads {plan.files} file(s), fewer than the {workers} workers, so it is sharded by "
                f"element: every worker reads everything and keeps its part. Write at least {workers} files, or say so "
                f"with AutoShardPolicy.DATA."
            ),
            stacklevel=_USER,
        )
    return split_source(source, plan, workers=workers, worker=worker, replicas=replicas)


def _dealt(engine: "Engine", made: Sequence[Any], *, always_whole: bool) -> StepSource:
    sources = [_source(engine, dataset) for dataset in made]
    replicas = len(engine.local_devices)
    return unsplit_source(sources, workers=engine.room.processes, replicas=replicas, always_whole=always_whole)


def _contexts(engine: "Engine", mode: InputReplicationMode) -> list[InputContext]:
    """Returns the contexts to call an input function with: one for this worker, or one for each of its replicas."""
    total = engine.num_replicas
    if mode is InputReplicationMode.PER_WORKER:
        return [InputContext(engine.room.processes, engine.room.worker, total)]
    return [InputContext(total, device.rank, total) for device in engine.local_devices]


def _options(options: Any) -> InputOptions:
    if options is None:
        return InputOptions()
    if not isinstance(options, InputOptions):
        raise InvalidType(f"options are simstrategy.InputOptions, got {short_repr(options)}.")
    return options


def _forbid_in_replica() -> None:
    mode = current_mode()
    if mode is not None and mode.replica is not None:
        raise ContextError(
            "next(iterator) should be called from outside of the replica function: "
            "strategy.run(replica_fn, args=(next(iterator),))."
        )
