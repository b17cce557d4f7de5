"""A small pipeline that can be inspected: a source, and the steps after it, kept as data.

Immutable, lazy and re-iterable: each method returns a new dataset. This is not a data-loading library.
"""

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any, Final, final

from simstrategy import tree
from simstrategy.data import grouping, in_memory
from simstrategy.data import transformations as steps
from simstrategy.data.elements import as_element
from simstrategy.data.nodes import PLAIN_ITERATION, Node, NodeType
from simstrategy.data.options import SHARD_HINT, Options
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.not_copied import DATASET, NotCopied
from simstrategy.short_repr import short_repr

__all__ = ["Dataset"]


@final
class Dataset(NotCopied):
    """A sequence of elements; each element is a nest of read-only NumPy arrays.

    Tuples, named tuples and mappings are structure; a list is one array. A function receives the arrays of an
    element; a plain tuple is unpacked into its arguments. Clauses: D-9, D-10.

    >>> dataset = Dataset.range(5).map(lambda x: x * x).batch(2)
    >>> [batch.tolist() for batch in dataset]
    [[0, 1], [4, 9], [16]]
    >>> dataset.element_spec
    ElementSpec(shape=(None,), dtype='int64')
    """

    __slots__ = ("node",)
    not_copied = DATASET

    def __init__(self, node: Node) -> None:
        self.node = node
        """The last step of the pipeline, with the steps before it as its inputs."""

    # Sources.

    @staticmethod
    def from_tensors(tensors: Any) -> "Dataset":
        """Makes a dataset of one element, the nest itself.

        Raises InvalidType for a value that is no array, number or text, and InvalidArgument for ragged lists.
        """
        return Dataset(Node(in_memory.TENSORS, (), as_element(tensors, "from_tensors")))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> "Dataset":
        """Makes a dataset whose element i is row i of every array of a nest.

        tensors: a nest of arrays [rows, …] with equal numbers of rows; a list becomes one array first, as in
        TensorFlow. Arrays are copied, but for read-only ones, such as those of `np.load(file, mmap_mode="r")`.
        Raises InvalidArgument for scalars and unequal numbers of rows, and InvalidType for a value that is no array.

        >>> rows = Dataset.from_tensor_slices({"x": [[1.0, 2.0], [3.0, 4.0]], "y": [0, 1]})
        >>> [(row["x"].tolist(), int(row["y"])) for row in rows]
        [([1.0, 2.0], 0), ([3.0, 4.0], 1)]
        """
        return Dataset(in_memory.slices(tensors))

    @staticmethod
    def range(*limits: int) -> "Dataset":
        """Makes a dataset of int64 scalars [], with the arguments of Python's range.

        Raises InvalidType for arguments that are no ints, and InvalidArgument for a step of 0 and for numbers
        outside int64.
        """
        return Dataset(in_memory.numbers(limits))

    @staticmethod
    def from_generator(generator: Callable[[], Iterable[Any]], output_signature: Any = None) -> "Dataset":
        """Makes a dataset of the elements that `generator()` yields; every iteration calls it again.

        output_signature: a nest of `ElementSpec` to which every element must conform; without one, the first
        element defines `element_spec`. Raises InvalidType for a generator that cannot be called and for another
        signature; the iteration raises InvalidArgument for an element that does not conform.
        """
        return Dataset(in_memory.from_generator(generator, output_signature))

    @staticmethod
    def zip(datasets: Any) -> "Dataset":
        """Combines a nest of datasets: each element is a nest of their elements.  Ends with the shortest dataset.

        Raises InvalidType for anything but a nest of datasets.

        >>> list(Dataset.zip((Dataset.range(2), Dataset.range(5, 9))))
        [(array(0), array(5)), (array(1), array(6))]
        """
        leaves, structure = tree.flatten(datasets)
        if not leaves or not all(isinstance(one, Dataset) for one in leaves):
            raise InvalidType(f"zip takes a nest of datasets, as in Dataset.zip((a, b)), got {short_repr(datasets)}.")
        return Dataset(Node(steps.ZIP, tuple(one.node for one in leaves), (structure,)))

    # One element at a time.

    def map(self, map_func: Callable[..., Any]) -> "Dataset":
        """Applies a function to every element.  Raises InvalidType for anything but a function."""
        return self._step(steps.MAP, _called(map_func, "map"))

    def filter(self, predicate: Callable[..., Any]) -> "Dataset":
        """Keeps the elements for which a function returns true, as one boolean.

        Raises InvalidType for anything but a function; so does the iteration for another result.
        """
        return self._step(steps.FILTER, _called(predicate, "filter"))

    def flat_map(self, map_func: Callable[..., "Dataset"]) -> "Dataset":
        """Calls a function that returns a dataset for each element, and yields the elements of one after the other.

        Raises InvalidType for anything but a function; so does the iteration for another result.
        """
        return self._step(steps.FLAT_MAP, _called(map_func, "flat_map"))

    def interleave(self, map_func: Callable[..., "Dataset"], cycle_length: int, block_length: int = 1) -> "Dataset":
        """Yields `block_length` elements of each of `cycle_length` datasets in turn, which a function returns.

        A dataset that has ended is replaced by the next one at its next turn. Raises InvalidType for anything but a
        function, and InvalidArgument for lengths below 1.
        """
        sizes = (
            _positive(cycle_length, "interleave", "cycle_length"),
            _positive(block_length, "interleave", "block_length"),
        )
        return self._step(steps.INTERLEAVE, _called(map_func, "interleave"), *sizes)

    # Batches.

    def batch(self, batch_size: int, drop_remainder: bool = False) -> "Dataset":
        """Stacks `batch_size` successive elements [...] to one [batch_size, ...].

        The last batch may be smaller; drop_remainder leaves it out. Raises InvalidArgument for a size below 1; so
        does the iteration for elements of different shapes or dtypes.
        """
        return self._step(grouping.BATCH, _positive(batch_size, "batch", "batch_size"), bool(drop_remainder))

    def unbatch(self) -> "Dataset":
        """Yields the rows of every element: arrays [rows, ...] become arrays [...].

        The iteration raises InvalidArgument for scalars and for unequal numbers of rows.
        """
        return self._step(grouping.UNBATCH)

    def shuffle(self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool = True) -> "Dataset":
        """Yields elements that are drawn from a buffer of `buffer_size` elements, which is filled in order.

        seed: without one, the schedule of the strategy makes each draw, for each worker separately; under `InOrder`,
        and without a strategy, the order does not change. With a seed, the order depends on the seed, on the number
        of the iteration over the distributed dataset and on the round of `repeat`, and on nothing else.
        reshuffle_each_iteration: False gives every iteration and round the same order, and needs a seed. Raises
        InvalidArgument for a buffer size below 1, a seed that is no int, and False without a seed.
        """
        if seed is not None and not _is_whole(seed):
            raise InvalidArgument(
                f"shuffle takes an int as seed, or None, got {short_repr(seed)}. Pass for example shuffle(100, seed=1)."
            )
        if seed is None and not reshuffle_each_iteration:
            raise InvalidArgument(
                "shuffle can repeat its order only with a seed. Pass one, as in shuffle(100, seed=1)."
            )
        size = _positive(buffer_size, "shuffle", "buffer_size")
        return self._step(grouping.SHUFFLE, size, None if seed is None else int(seed), bool(reshuffle_each_iteration))

    # Counts.

    def repeat(self, count: int | None = None) -> "Dataset":
        """Iterates `count` times, or without end for None or -1.  Raises InvalidArgument for counts below -1."""
        return self._step(steps.REPEAT, _count(count, "repeat"))

    def take(self, count: int) -> "Dataset":
        """Ends after `count` elements; -1 takes all.  Raises InvalidArgument for counts below -1."""
        return self._step(steps.TAKE, _count(count, "take"))

    def skip(self, count: int) -> "Dataset":
        """Leaves out the first `count` elements; -1 leaves out all.  Raises InvalidArgument for counts below -1."""
        return self._step(steps.SKIP, _count(count, "skip"))

    def shard(self, num_shards: int, index: int) -> "Dataset":
        """Keeps the elements whose number modulo `num_shards` is `index`.

        num_shards: `SHARD_HINT` stands for the number of workers; see there. Raises InvalidArgument for less than
        one shard, and for an index that is not one of range(num_shards).

        >>> [int(one) for one in Dataset.range(7).shard(3, 1)]
        [1, 4]
        """
        if num_shards != SHARD_HINT:
            _positive(num_shards, "shard", "num_shards")
            if not _is_whole(index) or not 0 <= index < num_shards:
                raise InvalidArgument(
                    f"shard takes an index from 0 to {num_shards - 1}, got {short_repr(index)}. Pass one of these."
                )
        return self._step(steps.SHARD, num_shards, index)

    # Steps that change no element.

    def prefetch(self, buffer_size: int) -> "Dataset":
        """Has no effect on the elements; they are computed when the iteration needs them.

        Raises InvalidArgument for counts below -1.
        """
        _count(buffer_size, "prefetch")
        return self._step(steps.PREFETCH)

    def cache(self) -> "Dataset":
        """Keeps all elements in memory after the first complete iteration; each worker has a cache of its own."""
        return self._step(steps.CACHE, steps.Store())

    def with_options(self, options: Options) -> "Dataset":
        """Sets options of distribution; None in them leaves the earlier value.

        Raises InvalidType for anything but `simstrategy.data.Options`.
        """
        if not isinstance(options, Options):
            raise InvalidType(f"with_options takes simstrategy.data.Options, got {short_repr(options)}.")
        return self._step(steps.OPTIONS, options)

    @property
    def element_spec(self) -> Any:
        """The nest of `ElementSpec` of an element.

        Where a function or a generator makes the elements, it is called for the first one. Raises InvalidArgument
        where there is no first element.
        """
        spec = self.node.spec()
        if spec is None:
            raise InvalidArgument(
                "The spec of the elements cannot be determined: the dataset is empty. Pass an output_signature to "
                "from_generator."
            )
        return spec

    def __iter__(self) -> Iterator[Any]:
        return self.node.elements(PLAIN_ITERATION)

    def __copy__(self) -> "Dataset":
        return self  # nothing of it changes

    def __deepcopy__(self, _memo: object) -> "Dataset":
        return self

    def __repr__(self) -> str:
        return f"Dataset({_pipeline_text(self.node)})"

    def _step(self, node_type: NodeType, *settings: Any) -> "Dataset":
        return Dataset(Node(node_type, (self.node,), settings))


def _pipeline_text(node: Node) -> str:
    """Returns the names of the steps of a pipeline, source first: the same text in every run."""
    before = ", ".join(map(_pipeline_text, node.inputs))
    return (
        f"({before}) → {node.type.name}" if len(node.inputs) > 1 else " → ".join(filter(None, (before, node.type.name)))
    )


def _called(function: Any, step: str) -> Any:
    if not callable(function):
        raise InvalidType(f"{step} takes a function of an element, got {short_repr(function)}.")
    return function


_LARGEST: Final = 2**63 - 1
"""The largest count and size, as in TensorFlow: an int64."""


def _positive(number: Any, step: str, name: str) -> int:
    if not _is_whole(number) or number < 1:
        raise InvalidArgument(
            f"{step} takes a {name} of at least 1, got {short_repr(number)}. Pass an int, for example 2."
        )
    return _limited(number, step, name)


def _limited(number: Any, step: str, name: str) -> int:
    if number > _LARGEST:
        bits = int(number).bit_length()
        raise InvalidArgument(f"{step} takes a {name} below 2**63, got an int of {bits} bits. Pass a smaller one.")
    return int(number)


def _count(count: Any, step: str) -> int | None:
    if count is None and step == "repeat":
        return None
    if not _is_whole(count) or count < -1:
        raise InvalidArgument(
            f"{step} takes a count of at least 0, or -1 for all, got {short_repr(count)}. Pass such an int."
        )
    return None if count == -1 else _limited(count, step, "count")


def _is_whole(number: Any) -> bool:
    """Returns whether a value is an integer of Python or NumPy, and no bool."""
    return isinstance(number, Integral) and not isinstance(number, bool)
