"""The four sources of the steps of a distributed dataset, for one worker.

A dataset of global batches that is split; the elements of an input function, not split; a function that is called for
each replica; and the equal split of TensorFlow 1.13. Devices and the agreement of workers are in `iterators.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from simstrategy import tree
from simstrategy.data.distributable import Source
from simstrategy.data.elements import ElementSpec, Specs, as_element, has_scalars, is_static
from simstrategy.data.nodes import NOTHING, Iteration
from simstrategy.data.options import AutoShardPolicy, Options
from simstrategy.data.parts import EMPTY, by_stream, worker_parts
from simstrategy.data.sharding import DatasetRules, Sharding, ShardUnit, decide
from simstrategy.data.splitting import SplitRule
from simstrategy.errors import InvalidArgument, OutOfRangeError

__all__ = [
    "Plan",
    "Step",
    "StepSource",
    "callback_source",
    "equal_split_source",
    "plan_split",
    "require_equal_parts",
    "split_source",
    "unsplit_source",
]


class Step(NamedTuple):
    """One step of one worker: one part for each local replica."""

    parts: list[Any]
    """One for each local replica; EMPTY where the replica has no elements."""
    complete: bool
    """Whether every replica has its part; a part that is empty by the rule counts."""


class StepSource(NamedTuple):
    """A source of steps for one worker."""

    steps: Callable[[Iteration], Iterator[Step]]
    """Starts an iteration."""
    spec: Callable[[], Any]
    """Returns the nest of `ElementSpec` of a part, or None where it cannot be determined."""
    drops_incomplete: Callable[[Any], bool]
    """Returns whether an incomplete step is dropped and ends the iteration; called with a part of it, or EMPTY."""


class Plan(NamedTuple):
    """How a dataset of global batches is split: the same for all workers."""

    sharding: Sharding
    batch_size: int | None
    files: int | None
    """The number of files, at most the number of workers; None where no files are read."""


def plan_split(source: Source, options: Options, rules: DatasetRules, *, workers: int, replicas: int) -> Plan:
    """Plans how a source is split.  Raises InvalidArgument for a policy that cannot be used with it."""
    if workers * replicas == 1:
        # There is nothing to decide, so the source is not inspected.
        return Plan(decide(options, rules, workers=1, files=None, batch_size=None), None, None)
    known = source.by_hint(1, 0) if options.auto_shard_policy is AutoShardPolicy.HINT else source
    batch_size, files = known.batch_size(), known.files(workers)
    return Plan(decide(options, rules, workers=workers, files=files, batch_size=batch_size), batch_size, files)


def split_source(source: Source, plan: Plan, *, workers: int, worker: int, replicas: int) -> StepSource:
    """Makes the steps of a dataset of global batches [batch, …].  Clauses: D-1, D-3 to D-8."""
    sharding = plan.sharding
    read = known = source
    if sharding.unit is ShardUnit.FILES:
        read = source.by_file(workers, worker)
    elif sharding.unit is ShardUnit.HINT:
        # `element_spec` needs a number of shards: 1 changes nothing.
        read, known = source.by_hint(workers, worker), source.by_hint(1, 0)

    # Parts of one batch reach the devices before the next batch is read; a stream keeps rows of several.
    keeps = sharding.rule is not SplitRule.PER_BATCH and workers * replicas > 1

    def steps(iteration: Iteration) -> Iterator[Step]:
        elements = read.elements(iteration.keeping() if keeps else iteration)
        parts = worker_parts(elements, sharding, plan.batch_size, workers=workers, worker=worker, replicas=replicas)
        return _in_groups(parts, replicas)

    total = workers * replicas
    return StepSource(steps, lambda: _split_spec(known.element_spec(), total, workers), lambda part: False)


def unsplit_source(sources: Sequence[Source], *, workers: int, replicas: int, always_whole: bool) -> StepSource:
    """Makes the steps of an input function, from one source for all replicas of the worker, or one for each.

    Each replica takes one element in each step, in replica order. An incomplete step is dropped if no empty element
    can replace a missing one: for scalars, and for one worker with elements of one fixed spec; or always, with
    always_whole.
    Clauses: D-13. Source: TensorFlow 2.21.0, as measured.
    """

    def steps(iteration: Iteration) -> Iterator[Step]:
        # A step has an element for each replica.
        kept = iteration if replicas == 1 else iteration.keeping()
        if len(sources) == 1:
            return _in_groups(sources[0].elements(kept), replicas)
        return _side_by_side([source.elements(kept) for source in sources])

    def drops_incomplete(part: Any) -> bool:
        if always_whole or (part is not EMPTY and has_scalars(part)):
            return True
        spec = sources[0].element_spec()
        return spec is not None and (has_scalars(spec) or (workers == 1 and is_static(spec)))

    return StepSource(steps, sources[0].element_spec, drops_incomplete)


def callback_source(function: Callable[[], Any], replicas: int) -> StepSource:
    """Makes the steps of a function that returns one element; it is called once for each replica in each step.

    The iteration ends where the function raises StopIteration or OutOfRangeError; an incomplete step is dropped.
    """

    def elements() -> Iterator[Any]:
        while True:
            try:
                value = function()
            except (StopIteration, OutOfRangeError):
                return
            yield as_element(value, "the input function")

    return StepSource(lambda iteration: _in_groups(elements(), replicas), lambda: None, lambda part: True)


def equal_split_source(source: Source, *, workers: int, worker: int, replicas: int) -> StepSource:
    """Makes the steps of a dataset whose batches are split into equal parts, as in TensorFlow 1.13.

    Elements that do not fill a step are dropped. Raises InvalidArgument where the size of the last `batch` is not
    known, or is not a multiple of the number of replicas.
    Clauses: D-14. Source: TensorFlow 1.13.2, as recorded.
    """
    total = workers * replicas

    def drops_incomplete(part: Any) -> bool:
        return True

    size = source.last_batch_size()
    if size is None:
        raise InvalidArgument(
            "Unable to get batched dataset from the input dataset. `batch` needs to be its last step; a prefetch may "
            "follow. Put batch last, or use make_input_fn_iterator."
        )
    if size % total:
        raise InvalidArgument(
            f"Batch size {size} cannot be sharded evenly across replicas {total}. Take a multiple of {total}."
        )

    if total == 1:
        # A single replica keeps a short last batch.
        return StepSource(
            lambda iteration: _in_groups(source.elements(iteration), 1), source.element_spec, drops_incomplete
        )

    def steps(iteration: Iteration) -> Iterator[Step]:
        for step in _in_groups(by_stream(source.elements(iteration.keeping()), [size // total]), total):
            # A step that is incomplete for one worker is dropped by all.
            if not step.complete:
                return
            yield Step(step.parts[worker::workers], complete=True)

    return StepSource(steps, lambda: _split_spec(source.element_spec(), total, workers), drops_incomplete)


def require_equal_parts(step_source: StepSource) -> StepSource:
    """Wraps a source: a complete step raises InvalidArgument if its parts differ in shape, as in eager TensorFlow 1.13.

    Clauses: D-14. Source: TensorFlow 1.13.2, as recorded.
    """

    def steps(iteration: Iteration) -> Iterator[Step]:
        for step in step_source.steps(iteration):
            if step.complete:
                _check_shapes(step.parts)
            yield step

    return StepSource(steps, step_source.spec, step_source.drops_incomplete)


def _check_shapes(parts: Sequence[Any]) -> None:
    shapes = [[leaf.shape for leaf in tree.flatten(part)[0]] for part in parts]
    for number, found in enumerate(shapes):
        for component, (one, other) in enumerate(zip(shapes[0], found, strict=True)):
            if one != other:
                raise InvalidArgument(
                    f"Cannot batch tensors with different shapes in component {component}. First element had shape "
                    f"{list(one)} and element {number} had shape {list(other)}: TensorFlow 1.13 stacks the parts of a "
                    f"step. Drop the remainder in batch, or use Semantics.TF1_15 or TF2, which deliver such a step."
                )


def _in_groups(parts: Iterator[Any], replicas: int) -> Iterator[Step]:
    while group := list(islice(parts, replicas)):
        missing = replicas - len(group)
        yield Step(group + [EMPTY] * missing, complete=not missing)


def _side_by_side(elements: Sequence[Iterator[Any]]) -> Iterator[Step]:
    while True:
        row = [next(one, NOTHING) for one in elements]
        complete = all(part is not NOTHING for part in row)
        if not complete and all(part is NOTHING for part in row):
            return
        yield Step([EMPTY if part is NOTHING else part for part in row], complete)


def _split_spec(spec: Specs | None, total: int, workers: int) -> Specs | None:
    """Returns the specs of a part: its size is fixed if the batch size is fixed and divisible by the replicas."""
    if spec is None or total == 1:
        return spec

    def of_leaf(leaf: ElementSpec) -> ElementSpec:
        size = leaf.shape[0] if leaf.shape else None
        even = size is not None and workers == 1 and size % total == 0
        return replace(leaf, shape=(size // total if even and size is not None else None, *leaf.shape[1:]))

    return tree.map_leaves(of_leaf, spec)
