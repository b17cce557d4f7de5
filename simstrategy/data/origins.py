"""Where elements come from: arrays in memory, numbers, generators, and other people's iterables."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from simstrategy import tree
from simstrategy.data.elements import ElementSpec, as_element, spec_of
from simstrategy.data.nodes import Elements, Kind, Node, Run, probed_spec
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = [
    "GENERATOR",
    "ITERABLE",
    "RANGE",
    "SLICES",
    "TENSORS",
    "from_generator",
    "from_iterable",
    "row_count",
    "rows_of",
    "slices",
]


def _tensors(node: Node, run: Run) -> Elements:
    yield node.settings


def _slices(node: Node, run: Run) -> Elements:
    nest, leaves, structure = node.settings
    for i in range(len(leaves[0])):
        # A row of a vector is an array of no dimension, not a NumPy scalar.
        yield tree.refill(
            nest, structure, [leaf[i] if leaf.ndim > 1 else leaf[i : i + 1].reshape(()) for leaf in leaves]
        )


def row_count(node: Node) -> int:
    """Returns how many elements a node of `SLICES` has."""
    return len(node.settings[1][0])


def rows_of(node: Node, start: int, stop: int) -> Any:
    """Returns elements of a node of `SLICES` as one batch: views of its arrays."""
    nest, leaves, structure = node.settings
    return tree.refill(nest, structure, [leaf[start:stop] for leaf in leaves])


def _range(node: Node, run: Run) -> Elements:
    for number in node.settings:
        yield np.asarray(number, np.int64)


def _generator(node: Node, run: Run) -> Elements:
    make, signature = node.settings
    made = make()
    if not isinstance(made, Iterable):
        raise InvalidType(f"The function of from_generator returns something to iterate over, not {made!r:.80}.")
    for number, value in enumerate(made):
        element = as_element(value, f"from_generator, element {number},")
        if signature is not None:
            _check_signature(element, signature, number)
        yield element


def _check_signature(element: Any, signature: Any, number: int) -> None:
    found, wanted = spec_of(element), signature
    leaves, structure = tree.flatten(found)
    promised, promised_structure = tree.flatten(wanted)
    fits = structure == promised_structure and all(
        one.dtype == other.dtype
        and len(one.shape) == len(other.shape)
        and all(size in (None, own) for own, size in zip(one.shape, other.shape, strict=True))
        for one, other in zip(leaves, promised, strict=True)
    )
    if not fits:
        raise InvalidArgument(
            f"from_generator: element {number} is {found}, and the signature promises {wanted}. Yield what it says."
        )


def _iterable(node: Node, run: Run) -> Elements:
    for number, value in enumerate(node.settings):
        yield _element_of(value, number)


def _element_of(value: Any, number: int) -> Any:
    # Here a list may be a nest, as it always was: whoever brings batches of their own brings their own containers.
    leaves, structure = tree.flatten(value)
    return tree.refill(value, structure, [as_element(leaf, f"the dataset, element {number},") for leaf in leaves])


TENSORS: Final = Kind("from_tensors", _tensors, lambda node: spec_of(node.settings))
SLICES: Final = Kind(
    "from_tensor_slices",
    _slices,
    lambda node: tree.map_leaves(lambda leaf: ElementSpec(leaf.shape[1:], leaf.dtype), spec_of(node.settings[0])),
)
RANGE: Final = Kind("range", _range, lambda node: ElementSpec((), "int64"))
GENERATOR: Final = Kind(
    "from_generator", _generator, lambda node: probed_spec(node) if node.settings[1] is None else node.settings[1]
)
ITERABLE: Final = Kind("an iterable", _iterable, lambda node: None)


def slices(tensors: Any) -> Node:
    """Makes the node of `Dataset.from_tensor_slices`."""
    nest = as_element(tensors, "from_tensor_slices")
    leaves, structure = tree.flatten(nest)
    if not leaves or any(leaf.ndim == 0 for leaf in leaves):
        raise InvalidArgument("from_tensor_slices takes arrays with at least one dimension, the one to slice along.")
    sizes = [len(leaf) for leaf in leaves]
    if len(set(sizes)) != 1:
        raise InvalidArgument(f"from_tensor_slices got arrays of {sizes} rows; all need the same number.")
    return Node(SLICES, (), (nest, leaves, structure))


def from_generator(generator: Callable[[], Iterable[Any]], signature: Any) -> Node:
    """Makes the node of `Dataset.from_generator`."""
    if not callable(generator):
        raise InvalidType(
            f"from_generator takes a function that starts a generator, so that the dataset can be iterated again, got "
            f"{generator!r:.80}. Give the generator function itself, without calling it."
        )
    leaves = [] if signature is None else tree.flatten(signature)[0]
    if not all(isinstance(leaf, ElementSpec) for leaf in leaves):
        raise InvalidType(f"output_signature is a nest of simstrategy.data.ElementSpec, got {signature!r:.80}.")
    return Node(GENERATOR, (), (generator, signature))


def from_iterable(batches: Any) -> Node:
    """Makes the node of any iterable of batches.  Raises InvalidType for what is none."""
    if not isinstance(batches, Iterable) or isinstance(batches, (str, bytes, dict)):
        raise InvalidType(
            f"Expected a dataset or an iterable of batches, got a {type(batches).__name__}. "
            f"Use simstrategy.data.Dataset.from_tensor_slices(...).batch(...)."
        )
    return Node(ITERABLE, (), batches)
