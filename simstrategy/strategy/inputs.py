"""The dataset calls of `Strategy`: applies the rules of `simstrategy.data` to a group, its devices and its schedule."""

import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, TypeVar

import numpy as np

from simstrategy import data, tree
from simstrategy.errors import ContextError, InvalidArgument, InvalidType, Unsupported
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import current_mode
from simstrategy.trace import Request
from simstrategy.values import PerReplica

__all__ = [
    "dataset_iterator",
    "distribute_dataset",
    "distribute_from_function",
    "input_fn_iterator",
    "whole_step_iterator",
]

_Framed = TypeVar("_Framed", "data.DistributedDataset", "data.InputIterator")

_NEXT: Final = Request("next", None, None, None, None, ())
_USER: Final = 4
"""The stack level of the method of `Strategy`'s caller, counted from the call of `warnings.warn`."""


def distribute_dataset(group: Group, dataset: Any, options: "data.InputOptions | None") -> Any:
    """Returns the distributed dataset of a dataset of global batches; the default strategy's is the dataset itself."""
    chosen = _options(options)
    if chosen.experimental_replication_mode is data.InputReplicationMode.PER_REPLICA:
        raise Unsupported(
            "A dataset is split for the replicas, so InputReplicationMode.PER_REPLICA means nothing here. Use "
            "distribute_datasets_from_function, whose function can be called for each replica."
        )
    if group.kind is DEFAULT:
        return dataset
    return _framed(group, data.DistributedDataset(_split(group, _source(group, dataset), chosen), placement_of(group)))


def distribute_from_function(group: Group, dataset_fn: "Callable[[data.InputContext], Any]", options: Any) -> Any:
    """Returns the distributed dataset of what `dataset_fn` makes, which is called at once."""
    mode = _options(options).experimental_replication_mode
    if not callable(dataset_fn):
        raise InvalidType(
            f"dataset_fn is a function of an InputContext that returns a dataset, got {short_repr(dataset_fn)}. "
            f"Pass the function itself."
        )
    made = [dataset_fn(context) for context in _contexts(group, mode)]
    if group.kind is DEFAULT:
        return made[0]
    return _framed(group, data.DistributedDataset(_unsplit(group, made, always_whole=False), placement_of(group)))


def dataset_iterator(group: Group, dataset: Any) -> "data.InputIterator":
    """Returns the input iterator of a dataset of global batches."""
    placement, source = placement_of(group), _source(group, dataset)
    if group.semantics.dataset_iterator == "even":
        feed = data.equal_split_source(
            source, workers=placement.workers, worker=placement.worker, replicas=placement.replicas
        )
    else:
        feed = _split(group, source, data.InputOptions())
    return _framed(group, data.InputIterator(_stacked(group, feed), placement))


def input_fn_iterator(group: Group, input_fn: "Callable[[data.InputContext], Any]", mode: Any) -> "data.InputIterator":
    """Returns the input iterator of what `input_fn` makes: a dataset, or a function called for every element."""
    if mode is not data.InputReplicationMode.PER_WORKER:
        raise InvalidArgument(
            f"Input replication mode not supported: {short_repr(mode)}. Use InputReplicationMode.PER_WORKER, or "
            f"distribute_datasets_from_function."
        )
    if not callable(input_fn):
        raise InvalidType(f"input_fn is a function of an InputContext, got {short_repr(input_fn)}.")
    (context,) = _contexts(group, mode)
    made = input_fn(context)
    placement = placement_of(group)
    if callable(made):
        return _framed(group, data.InputIterator(data.callback_source(made, placement.replicas), placement))
    try:
        feed = _unsplit(group, [made], always_whole=group.semantics.input_fn_remainder == "drop")
    except InvalidType as error:
        raise InvalidArgument(
            f"input_fn must return a dataset or a callable; it returned {short_repr(made)}."
        ) from error
    return _framed(group, data.InputIterator(_stacked(group, feed), placement))


def whole_step_iterator(group: Group, dataset: Any) -> "data.InputIterator":
    """Returns the input iterator of a dataset of batches for one replica, as graphs of 1.x read it in every release.

    A step in which not every replica has a batch is dropped; batches of a step may differ in size.
    """
    return _framed(group, data.InputIterator(_unsplit(group, [dataset], always_whole=True), placement_of(group)))


def _stacked(group: Group, feed: "data.StepSource") -> "data.StepSource":
    return data.require_equal_parts(feed) if group.semantics.uneven_step == "refuse" else feed


def _source(group: Group, dataset: Any) -> "data.Source":
    if isinstance(dataset, (data.DistributedDataset, data.DistributedIterator, data.InputIterator)):
        raise InvalidType(
            "This dataset is distributed already: its steps have a part for each replica. Pass what it was made of."
        )
    return data.source_of(dataset if group.frontend.part is None else group.frontend.part.source(dataset))


def _framed(group: Group, dataset: _Framed) -> _Framed:
    """Returns distributed data in the form that the framework's loops take."""
    framed: _Framed = dataset if group.frontend.part is None else group.frontend.part.dataset(dataset)
    return framed


def placement_of(group: Group) -> "data.InputPlacement":
    """Returns a group's workers, replicas and devices for `simstrategy.data`."""
    observer, watches = group.coordinator.observer, group.settings.watches

    def agree(here: int, frame: FrameType) -> Sequence[int]:
        return group.coordinator.agree(_NEXT, group.source(frame), (here,))

    def distribute(values: Sequence[Any], *, structure: tree.Structure | None) -> Any:
        columns = [[_placed(group, leaf, index) for leaf in leaves] for index, leaves in enumerate(values)]
        placed: Sequence[Any] = columns[0]
        if len(columns) > 1:
            placed = [PerReplica(leaf) for leaf in zip(*columns, strict=True)]
        if observer is not None:
            observer.handed(placed)
        return tree.unflatten(structure, placed)

    return data.InputPlacement(
        workers=group.coordinator.processes,
        worker=group.coordinator.worker,
        replicas=len(group.local_devices),
        distribute=distribute,
        forbid=_forbid_in_replica,
        agree=agree if group.coordinator.processes > 1 else None,
        choose=group.settings.schedule.choose,
        copies=group.kind is not DEFAULT,
        watches=[make() for make in (watches.data, observer and observer.watch_steps) if make is not None],
    )


def _placed(group: Group, leaf: Any, index: int) -> Any:
    """Returns a host array on a replica's device; texts stay on the host, for no device holds them."""
    if type(leaf) is not np.ndarray and isinstance(leaf, data.CompositeBatch):
        return leaf.placed(group.local_devices[index].placement)
    if leaf.dtype.kind in "SUO" or group.kind is DEFAULT:
        return leaf
    return group.adopt(leaf, index)


def _split(group: Group, source: "data.Source", options: "data.InputOptions") -> "data.StepSource":
    """Decides how a source is split, warns where its files cannot be sharded, and makes the feed."""
    workers, worker, replicas = group.coordinator.processes, group.coordinator.worker, len(group.local_devices)
    rules = data.DatasetRules(data.SplitRule(group.semantics.dataset_split), group.semantics.too_few_files)
    plan = data.plan_split(source, options.over(source.options()), rules, workers=workers, replicas=replicas)
    if plan.sharding.warns:
        warnings.warn(
            data.ShardedByElement(
                f"The dataset reads {plan.files} file(s), fewer than the {workers} workers, so it is sharded by "
                f"element: every worker reads everything and keeps its part. Write at least {workers} files, or choose "
                f"AutoShardPolicy.DATA."
            ),
            stacklevel=_USER,
        )
    return data.split_source(source, plan, workers=workers, worker=worker, replicas=replicas)


def _unsplit(group: Group, made: Sequence[Any], *, always_whole: bool) -> "data.StepSource":
    sources = [_source(group, dataset) for dataset in made]
    replicas = len(group.local_devices)
    return data.unsplit_source(
        sources, workers=group.coordinator.processes, replicas=replicas, always_whole=always_whole
    )


def _contexts(group: Group, mode: "data.InputReplicationMode") -> "list[data.InputContext]":
    """Returns the contexts to call an input function with: one for this worker, or one for each of its replicas."""
    total = group.num_replicas
    if mode is data.InputReplicationMode.PER_WORKER:
        return [data.InputContext(group.coordinator.processes, group.coordinator.worker, total)]
    return [data.InputContext(total, device.rank, total) for device in group.local_devices]


def _options(options: Any) -> "data.InputOptions":
    if options is None:
        return data.InputOptions()
    if not isinstance(options, data.InputOptions):
        raise InvalidType(f"options are simstrategy.InputOptions, got {short_repr(options)}. Pass InputOptions(...).")
    return options


def _forbid_in_replica() -> None:
    mode = current_mode()
    if mode is not None and mode.replica is not None:
        raise ContextError(
            "next(iterator) should be called from outside of the replica function. Call "
            "strategy.run(replica_fn, args=(next(iterator),))."
        )
