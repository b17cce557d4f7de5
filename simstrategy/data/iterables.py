"""Any iterable of batches as the source of a pipeline: a list, a generator, or the loader of another library.

Only `iter()` is used, so the spec of the batches is not known before the first one. The loader makes the batches
and shuffles; nothing here does.
"""

from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any, Final, final

import numpy as np

from simstrategy import tree
from simstrategy.data.elements import Element, ElementSpec, Specs, as_leaf, spec_of
from simstrategy.data.nodes import Elements, Iteration, Node, NodeType
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = ["ITERABLE", "from_iterable"]

_PLAIN: Final = (bool, int, float, complex, str, bytes, np.generic)
"""A list of these is one array."""


@final
class _IterableState:
    """An iterable, the spec of its elements, and whether it is an iterator that was used already."""

    __slots__ = ("_begun", "_iterable", "_spec")

    def __init__(self, iterable: Iterable[Any]) -> None:
        self._iterable = iterable
        self._begun = isinstance(iterable, GeneratorType) and iterable.gi_frame is None
        self._spec: Specs | None = None

    def elements(self, *, kept: bool = True) -> Elements:
        """Starts an iteration; kept: see `Iteration`.

        Raises InvalidArgument for the second iteration over an iterator.
        """
        if self._begun:
            raise InvalidArgument(
                f"The dataset was made from a {type(self._iterable).__name__}, which can be iterated over only once, "
                f"and that was done already. Distribute a new one for each pass, or use a list, a loader, or "
                f"Dataset.from_generator with the function that makes it."
            )
        self._begun = isinstance(self._iterable, Iterator)
        for number, value in enumerate(self._iterable):
            element = _nest(value, f"the dataset, element {number},", kept=kept, outermost=True)
            self._spec = self._spec or _of_any_size(element)
            yield element

    def spec(self) -> Specs | None:
        """Returns the spec of the first element, with any number of rows; reads one if the iterable is no iterator."""
        if self._spec is None and not isinstance(self._iterable, Iterator):
            next(self.elements(), None)
        return self._spec


def _of_any_size(element: Element) -> Specs:
    # The number of rows may change: the last batch is usually smaller.
    return tree.map_leaves(
        lambda one: ElementSpec((None, *one.shape[1:])[: len(one.shape)], one.dtype), spec_of(element)
    )


def _nest(value: Any, where: str, *, kept: bool, outermost: bool = False) -> Element:
    """Converts an element to a nest of host arrays; containers are kept, lists too: loaders make lists of columns.

    A list of numbers or texts is one column. So is a plain tuple of texts that is not the element itself: PyTorch's
    loader does not convert texts.
    """
    kind = tree.kind_of(type(value))
    texts = type(value) is tuple and not outermost and all(isinstance(one, (str, bytes)) for one in value)
    if kind == "leaf" or (value and (texts or _is_column(value))):
        return as_leaf([*value] if texts else value, where, kept=kept)
    if kind == "mapping":
        return tree.rebuild_mapping(type(value), tuple(value), [_nest(one, where, kept=kept) for one in value.values()])
    return tree.rebuild_sequence(type(value), [_nest(one, where, kept=kept) for one in value])


def _is_column(value: Any) -> bool:
    return type(value) is list and all(isinstance(one, _PLAIN) or _is_column(one) for one in value)


def _elements(node: Node, iteration: Iteration) -> Elements:
    state: _IterableState = node.settings
    return state.elements(kept=iteration.kept)


ITERABLE: Final = NodeType("an iterable", _elements, lambda node: node.settings.spec())


def from_iterable(batches: Any) -> Node:
    """Makes the node of an iterable of batches.  Raises InvalidType for anything else."""
    if not isinstance(batches, Iterable) or isinstance(batches, (str, bytes, dict, set, frozenset)):
        raise InvalidType(
            f"Expected a dataset or an iterable of batches, got a {type(batches).__name__}. "
            f"Use simstrategy.data.Dataset.from_tensor_slices(...).batch(...)."
        )
    if isinstance(batches, np.ndarray) and not batches.ndim:
        raise InvalidType(
            f"Expected a dataset or an iterable of batches, got an array without dimensions: {short_repr(batches)}. "
            f"Put it into a list, as in [batch]."
        )
    return Node(ITERABLE, (), _IterableState(batches))
