"""A small, introspectable pipeline over in-memory data: a source and the steps after it.

Immutable and re-iterable: each method returns a new dataset. Not a data-loading library.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument

__all__ = ["Dataset"]

Host = np.ndarray[Any, Any]
Elements = Callable[[], Iterator[list[Host]]]
"""Starts an iteration; each element is the list of its nest's leaves."""


@final
class Dataset:
    """A sequence of nests of NumPy arrays.  Made by `from_tensor_slices` or `range`."""

    __slots__ = ("_elements", "structure")

    def __init__(self, elements: Elements, structure: tree.Structure | None) -> None:
        self._elements = elements
        self.structure = structure

    @staticmethod
    def from_tensor_slices(tensors: Any) -> "Dataset":
        """Makes a dataset whose element i is row i of every array of a nest.

        tensors: a nest of arrays with equal first sizes; a list is stacked into one array first, as
        TensorFlow does. The arrays are not copied. Raises InvalidArgument for scalars and unequal sizes.
        """
        leaves, structure = tree.flatten(_stack_lists(tensors))
        arrays = [np.asarray(leaf) for leaf in leaves]
        if not arrays or any(array.ndim == 0 for array in arrays):
            raise InvalidArgument(
                "from_tensor_slices takes arrays with at least one dimension, the one to slice along."
            )
        sizes = [len(array) for array in arrays]
        if len(set(sizes)) != 1:
            raise InvalidArgument(f"from_tensor_slices got arrays of {sizes} rows; all need the same number.")
        return Dataset(lambda: ([array[i] for array in arrays] for i in range(sizes[0])), structure)

    @staticmethod
    def range(*limits: int) -> "Dataset":
        """Makes a dataset of int64 scalars, with the arguments of Python's range."""
        numbers = range(*limits)
        return Dataset(lambda: ([np.asarray(number, np.int64)] for number in numbers), None)

    def batch(self, batch_size: int, *, drop_remainder: bool = False) -> "Dataset":
        """Stacks `batch_size` successive elements; the last batch may be smaller, or is dropped."""
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
            raise InvalidArgument(f"batch takes a number of elements of at least 1, got {batch_size!r}.")

        def elements() -> Iterator[list[Host]]:
            rows: list[list[Host]] = []
            for row in self._elements():
                rows.append(row)
                if len(rows) == batch_size:
                    yield _stack(rows)
                    rows = []
            if rows and not drop_remainder:
                yield _stack(rows)

        return Dataset(elements, self.structure)

    def repeat(self, count: int | None = None) -> "Dataset":
        """Iterates `count` times, or without end."""
        if count is not None and (not isinstance(count, int) or count < 0):
            raise InvalidArgument(f"repeat takes a count of at least 0, or None for no end, got {count!r}.")

        def elements() -> Iterator[list[Host]]:
            rounds = 0
            while count is None or rounds < count:
                rounds += 1
                empty = True
                for row in self._elements():
                    empty = False
                    yield row
                if empty:
                    return

        return Dataset(elements, self.structure)

    def take(self, count: int) -> "Dataset":
        """Ends after `count` elements."""
        if not isinstance(count, int) or count < 0:
            raise InvalidArgument(f"take takes a count of at least 0, got {count!r}.")

        def elements() -> Iterator[list[Host]]:
            # Counted before asking, so that nothing is drawn beyond the last element.
            rows = self._elements()
            for _ in range(count):
                row = next(rows, None)
                if row is None:
                    return
                yield row

        return Dataset(elements, self.structure)

    def __iter__(self) -> Iterator[Any]:
        for leaves in self._elements():
            yield tree.unflatten(self.structure, leaves)


def _stack_lists(value: Any) -> Any:
    """Turns lists into arrays, as TensorFlow does: only tuples and mappings are structure in a dataset."""
    if isinstance(value, list):
        return np.asarray(value)
    if isinstance(value, tuple):
        return tree.rebuild_sequence(type(value), [_stack_lists(item) for item in value])
    if isinstance(value, Mapping):
        return tree.rebuild_mapping(type(value), tuple(value), [_stack_lists(item) for item in value.values()])
    return value


def _stack(rows: list[list[Host]]) -> list[Host]:
    shapes = [{leaf.shape for leaf in column} for column in zip(*rows, strict=True)]
    ragged = [sorted(shape) for shape in shapes if len(shape) > 1]
    if ragged:
        raise InvalidArgument(f"batch cannot stack rows of different shapes: {ragged[0]}. Pad them to one shape first.")
    return [np.stack(column) for column in zip(*rows, strict=True)]
