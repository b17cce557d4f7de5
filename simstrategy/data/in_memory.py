"""Sources of elements in memory: arrays, numbers and generators.  Iterables of other libraries: `iterables.py`."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from simstrategy import tree
from simstrategy.data.elements import Element, ElementSpec, Specs, as_element, spec_of
from simstrategy.data.nodes import Elements, Iteration, Node, NodeType, probed_spec
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = [
    "GENERATOR",
    "RANGE",
    "SLICES",
    "TENSORS",
    "from_generator",
    "numbers",
    "row_count",
    "rows_of",
    "slices",
]


def _tensors(node: Node, iteration: Iteration) -> Elements:
    yield node.settings


def _slices(node: Node, iteration: Iteration) -> Elements:
    nest, leaves, structure = node.settings
    for i in range(len(leaves[0])):
        # A row of a vector is an array [], not a NumPy scalar.
        yield tree.refill(
            nest, structure, [leaf[i] if leaf.ndim > 1 else leaf[i : i + 1].reshape(()) for leaf in leaves]
        )


def row_count(node: Node) -> int:
    """Returns the number of elements of a node of type `SLICES`."""
    return len(node.settings[1][0])


def rows_of(node: Node, start: int, stop: int) -> Element:
    """Returns the elements start to stop - 1 of a node of type `SLICES` as one batch: views of its arrays."""
    nest, leaves, structure = node.settings
    rows: Element = tree.refill(nest, structure, [leaf[start:stop] for leaf in leaves])
    return rows


def _range(node: Node, iteration: Iteration) -> Elements:
    for number in node.settings:
        yield np.asarray(number, np.int64)


def _generator(node: Node, iteration: Iteration) -> Elements:
    make, signature = node.settings
    made = make()
    if not isinstance(made, Iterable):
        raise InvalidType(f"The function of from_generator must return an iterable, and returned {short_repr(made)}.")
    for number, value in enumerate(made):
        element = as_element(value, f"from_generator, element {number},", kept=iteration.kept)
        if signature is not None:
            _check_signature(element, signature, number)
        yield element


def _check_signature(element: Element, signature: Specs, number: int) -> None:
    found = spec_of(element)
    leaves, structure = tree.flatten(found)
    expected, expected_structure = tree.flatten(signature)
    fits = structure == expected_structure and all(
        one.dtype == other.dtype
        and len(one.shape) == len(other.shape)
        and all(size in (None, actual) for actual, size in zip(one.shape, other.shape, strict=True))
        for one, other in zip(leaves, expected, strict=True)
    )
    if not fits:
        raise InvalidArgument(
            f"from_generator: element {number} is {found}, but output_signature is {signature}. Yield elements of the "
            f"signature, or change it."
        )


TENSORS: Final = NodeType("from_tensors", _tensors, lambda node: spec_of(node.settings))
SLICES: Final = NodeType(
    "from_tensor_slices",
    _slices,
    lambda node: tree.map_leaves(lambda leaf: ElementSpec(leaf.shape[1:], leaf.dtype), spec_of(node.settings[0])),
)
RANGE: Final = NodeType("range", _range, lambda node: ElementSpec((), "int64"))
GENERATOR: Final = NodeType(
    "from_generator", _generator, lambda node: probed_spec(node) if node.settings[1] is None else node.settings[1]
)


def slices(tensors: Any) -> Node:
    """Makes the node of `Dataset.from_tensor_slices`.  Raises InvalidArgument for scalars and unequal sizes."""
    nest = as_element(tensors, "from_tensor_slices")
    leaves, structure = tree.flatten(nest)
    if not leaves or any(leaf.ndim == 0 for leaf in leaves):
        raise InvalidArgument(
            "from_tensor_slices takes arrays with at least one dimension, the one to slice along. Use "
            "from_tensors for a scalar."
        )
    sizes = [len(leaf) for leaf in leaves]
    if len(set(sizes)) != 1:
        raise InvalidArgument(
            f"from_tensor_slices got arrays of {sizes} rows; all need the same number. Cut them to one length."
        )
    return Node(SLICES, (), (nest, leaves, structure))


def numbers(limits: tuple[Any, ...]) -> Node:
    """Makes the node of `Dataset.range`.  Raises InvalidType and InvalidArgument where Python's range raises."""
    text = ", ".join(map(repr, limits))
    try:
        limited = range(*limits)
    except TypeError as error:
        raise InvalidType(f"range takes one to three ints, as Python's does, got ({text}): {error}.") from error
    except ValueError as error:
        raise InvalidArgument(f"range takes a step that is not 0, got ({text}).") from error
    if limited and not all(-(2**63) <= number < 2**63 for number in (limited[0], limited[-1])):
        raise InvalidArgument(
            f"range makes int64 numbers, and ({text}) goes beyond them. Use limits from -2**63 to 2**63."
        )
    return Node(RANGE, (), limited)


def from_generator(generator: Callable[[], Iterable[Any]], signature: Any) -> Node:
    """Makes the node of `Dataset.from_generator`.  Raises InvalidType for anything but a function, or a signature."""
    if not callable(generator):
        raise InvalidType(
            f"from_generator takes a function that starts a generator, so that the dataset can be iterated again, got "
            f"{short_repr(generator)}. Give the generator function itself, without calling it."
        )
    leaves = [] if signature is None else tree.flatten(signature)[0]
    if not all(isinstance(leaf, ElementSpec) for leaf in leaves):
        raise InvalidType(f"output_signature is a nest of simstrategy.data.ElementSpec, got {short_repr(signature)}.")
    return Node(GENERATOR, (), (generator, signature))
