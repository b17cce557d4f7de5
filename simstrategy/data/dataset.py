"""A small, introspectable pipeline: a source, and the steps after it, kept as data.

Immutable, lazy and re-iterable: each method returns a new dataset. Not a data-loading library.
"""

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import Any, final

from simstrategy import tree
from simstrategy.data import grouping, origins
from simstrategy.data import transformations as steps
from simstrategy.data.elements import as_element
from simstrategy.data.nodes import PLAIN_RUN, Node
from simstrategy.data.options import SHARD_HINT, Options
from simstrategy.data.showing import shown
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = ["Dataset"]


@final
class Dataset:
    """A sequence of nests of NumPy arrays, which are read-only.

    Tuples, named tuples and mappings are structure; a list is one array. Functions get an element's arrays;
    a plain tuple is unpacked into arguments. Clauses: D-9, D-10.
    """

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node
        """The last step: for those who walk pipelines."""

    # Sources.

    @staticmethod
    def from_tensors(tensors: Any) -> "Dataset":
        """Makes a dataset of one element, the nest itself."""
        return Dataset(Node(origins.TENSORS, (), as_element(tensors, "from_tensors")))

    @staticmethod
    def from_tensor_slices(tensors: Any) -> "Dataset":
        """Makes a dataset whose element i is row i of every array of a nest.

        tensors: a nest of arrays with equal first sizes; a list is stacked into one array first, as
        TensorFlow does. The arrays are not copied. Raises InvalidArgument for scalars and unequal sizes.
        """
        return Dataset(origins.slices(tensors))

    @staticmethod
    def range(*limits: int) -> "Dataset":
        """Makes a dataset of int64 scalars, with the arguments of Python's range."""
        return Dataset(origins.numbers(limits))

    @staticmethod
    def from_generator(generator: Callable[[], Iterable[Any]], output_signature: Any = None) -> "Dataset":
        """Makes a dataset of what `generator()` yields; it is called at every iteration.

        output_signature: a nest of `ElementSpec` that every element is held to; without one, the form is what
        the elements have. Raises InvalidType for what cannot be called.
        """
        return Dataset(origins.from_generator(generator, output_signature))

    @staticmethod
    def zip(datasets: Any) -> "Dataset":
        """Makes a dataset whose elements are nests of the elements of a nest of datasets, up to the shortest."""
        leaves, structure = tree.flatten(datasets)
        if not leaves or not all(isinstance(one, Dataset) for one in leaves):
            raise InvalidType(f"zip takes a nest of datasets, as in Dataset.zip((a, b)), got {shown(datasets)}.")
        return Dataset(Node(steps.ZIP, tuple(one.node for one in leaves), (structure,)))

    # One element at a time.

    def map(self, map_func: Callable[..., Any]) -> "Dataset":
        """Applies a function to every element."""
        return self._step(steps.MAP, _called(map_func, "map"))

    def filter(self, predicate: Callable[..., Any]) -> "Dataset":
        """Keeps the elements for which a function returns true."""
        return self._step(steps.FILTER, _called(predicate, "filter"))

    def flat_map(self, map_func: Callable[..., "Dataset"]) -> "Dataset":
        """Yields the elements of the datasets that a function makes of each element, one after the other."""
        return self._step(steps.FLAT_MAP, _called(map_func, "flat_map"))

    def interleave(self, map_func: Callable[..., "Dataset"], cycle_length: int, block_length: int = 1) -> "Dataset":
        """Yields `block_length` elements in turn of each of `cycle_length` datasets that a function makes.

        A dataset that has ended is replaced by the next one at its next turn.
        """
        sizes = (
            _positive(cycle_length, "interleave", "cycle_length"),
            _positive(block_length, "interleave", "block_length"),
        )
        return self._step(steps.INTERLEAVE, _called(map_func, "interleave"), *sizes)

    # Groups.

    def batch(self, batch_size: int, drop_remainder: bool = False) -> "Dataset":
        """Stacks `batch_size` successive elements; the last batch may be smaller, or is dropped."""
        return self._step(grouping.BATCH, _positive(batch_size, "batch", "batch_size"), bool(drop_remainder))

    def unbatch(self) -> "Dataset":
        """Yields the rows of every element."""
        return self._step(grouping.UNBATCH)

    def shuffle(self, buffer_size: int, seed: int | None = None, reshuffle_each_iteration: bool = True) -> "Dataset":
        """Yields elements drawn from a buffer of `buffer_size` that is filled in order.

        seed: without one, each draw is asked of the schedule of the strategy that iterates, per worker; under
        `InOrder`, and without a strategy, elements come in order. With one, the order depends on the seed, the
        number of the iteration over the distributed dataset, and the round of `repeat`, and on nothing else.
        reshuffle_each_iteration: False gives every iteration and round the same order, and needs a seed.
        """
        if seed is not None and not _is_whole(seed):
            raise InvalidArgument(f"shuffle takes an int as seed, or None, got {seed!r}.")
        if seed is None and not reshuffle_each_iteration:
            raise InvalidArgument("shuffle can only repeat an order that has a seed. Give one, as in shuffle(100, 1).")
        size = _positive(buffer_size, "shuffle", "buffer_size")
        return self._step(grouping.SHUFFLE, size, None if seed is None else int(seed), bool(reshuffle_each_iteration))

    # Counts.

    def repeat(self, count: int | None = None) -> "Dataset":
        """Iterates `count` times, or without end (None or -1)."""
        return self._step(steps.REPEAT, _count(count, "repeat"))

    def take(self, count: int) -> "Dataset":
        """Ends after `count` elements; -1 takes all."""
        return self._step(steps.TAKE, _count(count, "take"))

    def skip(self, count: int) -> "Dataset":
        """Leaves the first `count` elements out; -1 leaves all out."""
        return self._step(steps.SKIP, _count(count, "skip"))

    def shard(self, num_shards: int, index: int) -> "Dataset":
        """Keeps the elements whose number modulo `num_shards` is `index`; see `SHARD_HINT` for what is no number."""
        if num_shards != SHARD_HINT:
            _positive(num_shards, "shard", "num_shards")
            if not _is_whole(index) or not 0 <= index < num_shards:
                raise InvalidArgument(
                    f"shard takes an index from 0 to {num_shards - 1}, got {index!r}. Pass one of these."
                )
        return self._step(steps.SHARD, num_shards, index)

    # What changes no element.

    def prefetch(self, buffer_size: int) -> "Dataset":
        """Changes nothing that can be seen: elements are made when they are asked for."""
        _count(buffer_size, "prefetch")
        return self._step(steps.PREFETCH)

    def cache(self) -> "Dataset":
        """Keeps all elements in memory once an iteration has come to its end; each worker keeps its own."""
        return self._step(steps.CACHE, steps.Store())

    def with_options(self, options: Options) -> "Dataset":
        """Carries options for being distributed; what is None in them stays as it was."""
        if not isinstance(options, Options):
            raise InvalidType(f"with_options takes simstrategy.data.Options, got {shown(options)}.")
        return self._step(steps.OPTIONS, options)

    @property
    def element_spec(self) -> Any:
        """The nest of `ElementSpec` of an element.

        Where a function or a generator makes the elements, it is run for the first one. Raises
        InvalidArgument where there is none that could tell.
        """
        spec = self.node.spec()
        if spec is None:
            raise InvalidArgument(
                "The form of the elements is not known: the dataset is empty. Give from_generator an output_signature."
            )
        return spec

    def __iter__(self) -> Iterator[Any]:
        return self.node.elements(PLAIN_RUN)

    def __repr__(self) -> str:
        return f"Dataset({_shown(self.node)})"

    def _step(self, kind: Any, *settings: Any) -> "Dataset":
        return Dataset(Node(kind, (self.node,), settings))


def _shown(node: Node) -> str:
    """Returns the steps of a pipeline from its source on: the same text in every run."""
    before = ", ".join(map(_shown, node.inputs))
    return (
        f"({before}) → {node.kind.name}" if len(node.inputs) > 1 else " → ".join(filter(None, (before, node.kind.name)))
    )


def _called(function: Any, step: str) -> Any:
    if not callable(function):
        raise InvalidType(f"{step} takes a function of an element, got {shown(function)}.")
    return function


def _positive(number: Any, step: str, name: str) -> int:
    if not _is_whole(number) or number < 1:
        raise InvalidArgument(f"{step} takes a {name} of at least 1, got {number!r}. Pass an int, for example 2.")
    return int(number)


def _count(count: Any, step: str) -> int | None:
    if count is None and step == "repeat":
        return None
    if not _is_whole(count) or count < -1:
        raise InvalidArgument(f"{step} takes a count of at least 0, or -1 for all, got {count!r}. Pass such an int.")
    return None if count == -1 else int(count)


def _is_whole(number: Any) -> bool:
    """Tells whether a number is Python's or NumPy's integer."""
    return isinstance(number, Integral) and not isinstance(number, bool)
