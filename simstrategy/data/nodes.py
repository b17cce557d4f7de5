"""A pipeline as data: nodes with a type, inputs and settings, so that it can be inspected and rewritten.

The node types are in `in_memory.py`, `iterables.py`, `readers.py`, `transformations.py` and `grouping.py`.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from simstrategy.data.elements import Element, Specs, as_element, spec_of
from simstrategy.errors import InvalidType
from simstrategy.schedules import InOrder

__all__ = [
    "PLAIN_ITERATION",
    "Elements",
    "Iteration",
    "Node",
    "NodeType",
    "apply",
    "dataset_of",
    "first_element",
    "probed_spec",
]


class Iteration(NamedTuple):
    """One iteration over a pipeline: the source of its choices, and its number.

    choose: `Schedule.choose`. label: the label of its draws. epoch: the number of the iteration over the whole
    pipeline, then the number of the round of each `repeat` on the way; a seeded shuffle mixes them into its seed.
    kept: whether elements are used after the next one was requested. Where not, the arrays of the user's code need no
    copy; a step that keeps elements sets it for its inputs.
    """

    choose: Callable[[str, int], int]
    label: str = "shuffle"
    epoch: tuple[int, ...] = (0,)
    kept: bool = True

    def keeping(self) -> "Iteration":
        """Returns the iteration for the input of a step that keeps elements, or gives them to the user's code."""
        return self if self.kept else self._replace(kept=True)

    def passing(self) -> "Iteration":
        """Returns the iteration for a reader that copies each element before it requests the next one."""
        return self._replace(kept=False)


PLAIN_ITERATION: Final = Iteration(InOrder().choose)
"""An iteration without a strategy: a shuffle without a seed keeps the order."""

Elements = Iterator[Any]


class NodeType(NamedTuple):
    """What all nodes of one type have in common."""

    name: str
    elements: Callable[["Node", Iteration], Elements]
    """Starts an iteration."""
    spec: Callable[["Node"], Specs | None]
    """Returns the nest of `ElementSpec` of an element, or None where it cannot be determined.

    May compute the first element.
    """
    passes: bool = False
    """Whether each batch is passed on without a change, or left out."""
    new_state: Callable[[Any], Any] = lambda settings: settings
    """Makes the settings of a rewritten node: state, such as a cache, is not shared with the first one."""
    texts: Callable[["Node", Iteration], Iterator[bytes]] | None = None
    """Starts an iteration over texts as Python bytes, if the elements are texts; None for other types.

    `batch` makes one array of many of them.
    """


class Node(NamedTuple):
    """One step of a pipeline."""

    type: NodeType
    inputs: tuple["Node", ...]
    settings: Any

    def elements(self, iteration: Iteration) -> Elements:
        """Starts an iteration."""
        return self.type.elements(self, iteration)

    def spec(self) -> Specs | None:
        """Returns the nest of `ElementSpec` of an element, or None where it cannot be determined."""
        return self.type.spec(self)

    def rewritten(self, inputs: tuple["Node", ...]) -> "Node":
        """Returns the same step with other inputs and state of its own."""
        return Node(self.type, inputs, self.type.new_state(self.settings))


class _Nothing:
    """The type of NOTHING, which stands for the first element of an empty pipeline."""


NOTHING: Final = _Nothing()


def first_element(node: Node) -> Any:
    """Starts a new iteration and returns its first element, or NOTHING.  Calls the user's functions on the way."""
    return next(node.elements(PLAIN_ITERATION), NOTHING)


def probed_spec(node: Node) -> Specs | None:
    """Returns the nest of `ElementSpec` of the first element, or None where there is none."""
    element = first_element(node)
    return None if element is NOTHING else spec_of(element)


def apply(function: Callable[..., Any], element: Element) -> Any:
    """Calls a user's function on an element; a plain tuple is unpacked, as in TensorFlow."""
    return function(*element) if type(element) is tuple else function(element)


def dataset_of(node: Node, element: Element) -> Node:
    """Returns the pipeline that the function of a `flat_map` or `interleave` returns for an element.

    Raises InvalidType for another result.
    """
    made = apply(node.settings[0], element)
    inner = getattr(made, "node", None)
    if not isinstance(inner, Node):
        raise InvalidType(
            f"The function of {node.type.name} returns a simstrategy.data.Dataset, and returned a "
            f"{type(made).__name__}. Use map for functions that return elements."
        )
    return inner


def mapped(node: Node, element: Element, *, kept: bool = True) -> Element:
    """Returns the result of the function of a `map` for an element; kept: see `Iteration`."""
    return as_element(apply(node.settings[0], element), node.type.name, kept=kept)
