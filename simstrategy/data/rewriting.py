"""Inspects pipelines and rewrites them: finds the size of their batches, and inserts shards before readers.

The decision to shard is made in `sharding.py`.
"""

from collections.abc import Callable
from itertools import islice
from typing import Final

from simstrategy import tree
from simstrategy.data.elements import is_static, leading_sizes
from simstrategy.data.grouping import BATCH
from simstrategy.data.in_memory import GENERATOR
from simstrategy.data.iterables import ITERABLE
from simstrategy.data.nodes import (
    NOTHING,
    PLAIN_ITERATION,
    Elements,
    Iteration,
    Node,
    NodeType,
    dataset_of,
    first_element,
    mapped,
)
from simstrategy.data.options import SHARD_HINT, Options
from simstrategy.data.readers import READ
from simstrategy.data.sharding import belongs_to
from simstrategy.data.transformations import FLAT_MAP, INTERLEAVE, MAP, OPTIONS, PREFETCH, SHARD, ZIP
from simstrategy.errors import InvalidArgument

__all__ = [
    "batch_size_at_the_end",
    "batch_size_known",
    "by_file",
    "by_hint",
    "files_counted",
    "options_of",
    "with_new_state",
]


# Batches.


def batch_size_known(node: Node) -> int | None:
    """Returns the size of the global batch if it can be determined without the elements, else None.

    It is the first size of the elements if that is fixed, else the size of the last `batch`, if no step after it
    can change batches. Source: TensorFlow 2.21.0, as recorded. Clauses: D-4.
    """
    fixed = _leading(node)
    if fixed is not None:
        return fixed
    while node.type.passes:
        (node,) = node.inputs
    return node.settings[0] if node.type is BATCH else None


def batch_size_at_the_end(node: Node) -> int | None:
    """Returns the size of a `batch` that is the last step except prefetches, else None: TensorFlow 1.13's rule."""
    while node.type in (PREFETCH, OPTIONS):
        (node,) = node.inputs
    return node.settings[0] if node.type is BATCH else None


def _leading(node: Node, *, made: bool = False) -> int | None:
    """Returns the first size of all arrays of every element if it is fixed, else None.

    A user's function is called for the first element, if nothing else determines the size. made: whether a
    function returned this pipeline for one element of varying size; then its size holds for that element alone.
    """
    node_type = node.type
    if node_type is BATCH:
        size, drop_remainder = node.settings
        return size if drop_remainder else None
    if node_type.passes or node_type is MAP:
        size = _leading(node.inputs[0], made=made)
        return size if node_type is not MAP or size is None or _keeps(node, size) else None
    if node_type is ZIP:
        return _common([_leading(one, made=made) for one in node.inputs])
    if node_type in (FLAT_MAP, INTERLEAVE):
        return _leading_of_made(node, made=made)
    if made or node_type is READ or node_type is ITERABLE or (node_type is GENERATOR and node.settings[1] is None):
        return None
    spec = node.spec()
    return None if spec is None else _common([leaf.shape[0] if leaf.shape else None for leaf in tree.flatten(spec)[0]])


def _leading_of_made(node: Node, *, made: bool) -> int | None:
    element = first_element(node.inputs[0])
    if element is NOTHING:
        return None
    return _leading(dataset_of(node, element), made=made or not is_static(node.inputs[0].spec()))


def _common(sizes: list[int | None]) -> int | None:
    return sizes[0] if sizes and all(size == sizes[0] for size in sizes) else None


def _keeps(node: Node, size: int) -> bool:
    element = first_element(node.inputs[0])
    if element is NOTHING:
        return True
    result = mapped(node, element)
    return all(leaf.ndim for leaf in tree.flatten(result)[0]) and all(one == size for one in leading_sizes(result))


# Files.


def files_counted(node: Node, up_to: int) -> int | None:
    """Counts the file names of each reader of a pipeline, at most `up_to`, and returns the least count.

    Returns None where a branch reads no files.
    """
    counts: list[int] = []

    def count(names: Node) -> Node:
        counts.append(sum(1 for _ in islice(names.elements(PLAIN_ITERATION), up_to)))
        return names

    return min(counts) if _before_readers(node, count) is not None else None


def by_file(node: Node, workers: int, worker: int) -> Node:
    """Returns the pipeline that reads the files of one worker: a shard is inserted directly before each reader.

    Steps after the reader apply to the files of each worker separately. Source: TensorFlow 2.21.0, as recorded.
    Clauses: D-7.
    """
    settings = (workers, worker, _TOO_FEW_FILES)
    sharded = _before_readers(node, lambda names: Node(_WORKER_SHARD, (names,), settings))
    assert sharded is not None, "a decision to shard by file follows a count of files"
    return sharded


def _before_readers(node: Node, insert: Callable[[Node], Node]) -> Node | None:
    """Returns the pipeline with a node inserted before each reader; None where a branch has no reader."""
    if node.type is READ or (node.type in (FLAT_MAP, INTERLEAVE) and _opens_files(node)):
        return node.rewritten((insert(node.inputs[0]),))
    inputs = [_before_readers(one, insert) for one in node.inputs]
    found = tuple(one for one in inputs if one is not None)
    return node.rewritten(found) if inputs and len(found) == len(inputs) else None


def _opens_files(node: Node) -> bool:
    """Returns whether the function of a `flat_map` or `interleave` returns a reader for the first element."""
    element = first_element(node.inputs[0])
    return element is not NOTHING and _reads(dataset_of(node, element))


def _reads(node: Node) -> bool:
    if node.type is READ or (node.type in (FLAT_MAP, INTERLEAVE) and _opens_files(node)):
        return True
    return any(_reads(one) for one in node.inputs)


def _worker_shard(node: Node, iteration: Iteration) -> Elements:
    workers, worker, too_few = node.settings
    elements = node.inputs[0].elements(iteration)
    # Every worker reads these elements, so that all workers raise. An empty dataset is no error.
    first = list(islice(elements, workers))
    if 0 < len(first) < workers:
        raise InvalidArgument(too_few.format(len(first), workers))
    yield from first[worker : worker + 1]
    for number, element in enumerate(elements):
        if belongs_to(number, workers, worker):
            yield element


_WORKER_SHARD: Final = NodeType("a worker's shard", _worker_shard, lambda node: node.inputs[0].spec(), passes=True)
_TOO_FEW_FILES: Final = (
    "Could not apply FILE based sharding: the dataset only has {0} file(s), which is not enough for {1} workers. "
    "Write at least {1} files, or choose AutoShardPolicy.DATA."
)
_TOO_FEW_ELEMENTS: Final = (
    "Could not apply HINT based sharding: there are only {0} element(s) before shard(SHARD_HINT, 0), which is not "
    "enough for {1} workers. Move it to a step with at least {1} elements, or choose AutoShardPolicy.DATA."
)


# Hints, state, options.


def by_hint(node: Node, workers: int, worker: int) -> Node:
    """Replaces every `shard(SHARD_HINT, 0)` of a pipeline by the shard of a worker.

    The iteration raises InvalidArgument if that step has fewer elements than there are workers, as TensorFlow
    2.21.0 does. Clauses: D-8.
    """
    inputs = tuple(by_hint(one, workers, worker) for one in node.inputs)
    if node.type is SHARD and node.settings[0] == SHARD_HINT:
        return Node(_WORKER_SHARD, inputs, (workers, worker, _TOO_FEW_ELEMENTS))
    return node.rewritten(inputs)


def with_new_state(node: Node) -> Node:
    """Returns the pipeline with new state: workers share no `cache`."""
    return node.rewritten(tuple(with_new_state(one) for one in node.inputs))


def options_of(node: Node) -> Options:
    """Returns the options of a pipeline: later steps override earlier ones, the first branch of a zip the others."""
    inherited = Options()
    for one in node.inputs:
        inherited = inherited.over(options_of(one))
    options: Options = node.settings[0] if node.type is OPTIONS else Options()
    return options.over(inherited)
