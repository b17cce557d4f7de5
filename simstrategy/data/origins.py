"""Where elements come from: arrays in memory, numbers and generators.  Other people's iterables: `foreign.py`."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from simstrategy import tree
from simstrategy.data.elements import ElementSpec, as_element, spec_of
from simstrategy.data.nodes import Elements, Kind, Node, Run, probed_spec
from simstrategy.data.showing import shown
from simstrategy.errors import InvalidArgument, InvalidType

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
        raise InvalidType(f"The function of from_generator returns something to iterate over, not {shown(made)}.")
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


def slices(tensors: Any) -> Node:
    """Makes the node of `Dataset.from_tensor_slices`."""
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
    """Makes the node of `Dataset.range`.  Raises InvalidType and InvalidArgument for what Python's range refuses."""
    shown = ", ".join(map(repr, limits))
    try:
        asked = range(*limits)
    except TypeError as error:
        raise InvalidType(f"range takes one to three ints, as Python's does, got ({shown}): {error}.") from error
    except ValueError as error:
        raise InvalidArgument(f"range takes a step that is not 0, got ({shown}).") from error
    if asked and not all(-(2**63) <= number < 2**63 for number in (asked[0], asked[-1])):
        raise InvalidArgument(f"range makes numbers of int64, and ({shown}) reaches beyond them.")
    return Node(RANGE, (), asked)


def from_generator(generator: Callable[[], Iterable[Any]], signature: Any) -> Node:
    """Makes the node of `Dataset.from_generator`."""
    if not callable(generator):
        raise InvalidType(
            f"from_generator takes a function that starts a generator, so that the dataset can be iterated again, got "
            f"{shown(generator)}. Give the generator function itself, without calling it."
        )
    leaves = [] if signature is None else tree.flatten(signature)[0]
    if not all(isinstance(leaf, ElementSpec) for leaf in leaves):
        raise InvalidType(f"output_signature is a nest of simstrategy.data.ElementSpec, got {shown(signature)}.")
    return Node(GENERATOR, (), (generator, signature))
