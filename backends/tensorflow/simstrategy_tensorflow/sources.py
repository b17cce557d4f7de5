"""A `tf.data.Dataset` as a `simstrategy.data.Source`: the size of its batches, whether it reads files, its elements.

The pipeline is inspected and not changed. `simstrategy.data` decides how it is distributed.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.data import AutoShardPolicy, Options, Source
from simstrategy.errors import Unsupported
from simstrategy_tensorflow.rows import COMPOSED, KNOWN, TensorFlowCompositeBatch, form_of

__all__ = ["TensorFlowSource"]

_PASSING: Final = frozenset(("Repeat", "Prefetch", "Take", "Skip", "Filter", "Shard", "Cache", "Shuffle", "Options"))
"""The steps that pass batches on without a change, or leave them out: TensorFlow's class names without `Dataset`."""
_BATCHING: Final = frozenset(("Batch", "ParallelBatch", "PaddedBatch"))
_READERS: Final = ("TextLineDataset", "TFRecordDataset", "FixedLengthRecordDataset")


@final
class TensorFlowSource:
    """A pipeline of tf.data with batches of the global size."""

    __slots__ = ("_dataset",)

    def __init__(self, dataset: Any) -> None:
        leaves = tf.nest.flatten(dataset.element_spec)
        other = [type(leaf).__name__.removesuffix("Spec") for leaf in leaves if not isinstance(leaf, KNOWN)]
        if other:
            raise Unsupported(
                f"A distributed dataset has elements of dense, ragged and sparse tensors, and this one has a "
                f"{other[0]}. Make tensors of it before it is distributed, or let each replica make its own in "
                f"distribute_datasets_from_function."
            )
        if tf.is_symbolic_tensor(dataset._variant_tensor):  # noqa: SLF001 - there is no public name
            raise Unsupported(
                "This dataset is made inside a tf.function, and is distributed there. Make and distribute it outside, "
                "and loop over the distributed dataset inside."
            )
        self._dataset = dataset

    def options(self) -> Options:
        policy = self._dataset.options().experimental_distribute.auto_shard_policy
        return Options(auto_shard_policy=AutoShardPolicy[policy.name])

    def batch_size(self) -> int | None:
        sizes = {leaf.shape[0] for leaf in tf.nest.flatten(self._dataset.element_spec) if leaf.shape.rank}
        if len(sizes) == 1 and None not in sizes:
            return int(sizes.pop())
        one = self._dataset
        while _kind(one) in _PASSING:
            (one,) = _inputs(one)
        return _size(one)

    def last_batch_size(self) -> int | None:
        one = self._dataset
        while _kind(one) in ("Prefetch", "Options"):
            (one,) = _inputs(one)
        return _size(one)

    def files(self, up_to: int) -> int | None:
        # One process reads all files, so only whether there are any matters.
        return up_to if _reads_files(self._dataset) else None

    def by_file(self, workers: int, worker: int) -> "TensorFlowSource":
        return self._whole(workers)

    def by_hint(self, workers: int, worker: int) -> "TensorFlowSource":
        return self._whole(workers)

    def _whole(self, workers: int) -> "TensorFlowSource":
        assert workers == 1, "TensorFlow's backend is one process"
        return self

    def element_spec(self) -> Any:
        spec = self._dataset.element_spec
        if any(leaf.shape.rank is None for leaf in tf.nest.flatten(spec)):
            return None
        return tf.nest.map_structure(form_of, spec)

    def elements(self, run: Any) -> Iterator[Any]:
        for element in self._dataset:
            yield tf.nest.map_structure(_host, element)


def _host(tensor: Any) -> Any:
    if isinstance(tensor, COMPOSED):
        return TensorFlowCompositeBatch(tensor)
    value = tensor.numpy()
    # NumPy's kind S would lose trailing zero bytes.
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def _kind(dataset: Any) -> str:
    return type(dataset).__name__.lstrip("_").removesuffix("V2").removesuffix("Dataset")


def _inputs(dataset: Any) -> tuple[Any, ...]:
    return tuple(dataset._inputs())  # noqa: SLF001 - tf.data shows its pipelines by this name alone


def _size(dataset: Any) -> int | None:
    if _kind(dataset) not in _BATCHING:
        return None
    size = tf.get_static_value(dataset._batch_size)  # noqa: SLF001 - as above
    return None if size is None else int(size)


def _reads_files(dataset: Any) -> bool:
    if f"{_kind(dataset)}Dataset" in _READERS:
        return True
    graph = getattr(getattr(getattr(dataset, "_map_func", None), "function", None), "graph", None)
    if graph is not None:
        definition = graph.as_graph_def()
        nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
        if any(node.op.removesuffix("V2") in _READERS for node in nodes):
            return True
    return any(map(_reads_files, _inputs(dataset)))


if TYPE_CHECKING:
    _: Source = TensorFlowSource(None)
