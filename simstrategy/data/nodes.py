"""A pipeline as data: nodes of a kind, their inputs and settings, so that it can be walked and rewritten.

What the kinds do is in `in_memory.py`, `transformations.py` and `readers.py`; nothing here iterates over anything.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from simstrategy.data.elements import as_element, spec_of
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
    """One iteration over a pipeline: where its choices come from, and which it is.

    choose: of the schedule that decides. label: of its draws. epoch: which iteration of the whole, then which
    round of each `repeat` on the way: what a seeded shuffle mixes into its seed.
    """

    choose: Callable[[str, int], int]
    label: str = "shuffle"
    epoch: tuple[int, ...] = (0,)


PLAIN_ITERATION: Final = Iteration(InOrder().choose)
"""An iteration without a strategy: what is not seeded comes in order."""

Elements = Iterator[Any]


class NodeType(NamedTuple):
    """What nodes of one kind have in common."""

    name: str
    elements: Callable[["Node", Iteration], Elements]
    """Starts an iteration."""
    spec: Callable[["Node"], Any]
    """Returns the nest of forms of an element, or None where no element tells it; may look at the first one."""
    passes: bool = False
    """Whether batches come through as they are, or not at all."""
    new_state: Callable[[Any], Any] = lambda settings: settings
    """Makes settings for a rewritten node: what a node remembers is not shared."""
    texts: Callable[["Node", Iteration], Iterator[bytes]] | None = None
    """Starts an iteration over texts that are in no array yet, where elements are that: for who makes one of many."""


class Node(NamedTuple):
    """One step of a pipeline."""

    type: NodeType
    inputs: tuple["Node", ...]
    settings: Any

    def elements(self, iteration: Iteration) -> Elements:
        """Starts an iteration."""
        return self.type.elements(self, iteration)

    def spec(self) -> Any:
        """Returns the forms of an element, or None where that cannot be known."""
        return self.type.spec(self)

    def rewritten(self, inputs: tuple["Node", ...]) -> "Node":
        """Returns this step over other inputs."""
        return Node(self.type, inputs, self.type.new_state(self.settings))


class _Nothing:
    """Stands for the first element of nothing."""


NOTHING: Final = _Nothing()


def first_element(node: Node) -> Any:
    """Returns the first element of an iteration of its own, or NOTHING.  User functions on the way are called."""
    return next(node.elements(PLAIN_ITERATION), NOTHING)


def probed_spec(node: Node) -> Any:
    """Returns the forms of the first element as they are, or None where there is none."""
    element = first_element(node)
    return None if element is NOTHING else spec_of(element)


def apply(function: Callable[..., Any], element: Any) -> Any:
    """Calls a user's function on an element; a plain tuple is unpacked, as in TensorFlow."""
    return function(*element) if type(element) is tuple else function(element)


def dataset_of(node: Node, element: Any) -> Node:
    """Returns the pipeline that the function of a `flat_map` or `interleave` makes of an element."""
    made = apply(node.settings[0], element)
    inner = getattr(made, "node", None)
    if not isinstance(inner, Node):
        raise InvalidType(
            f"The function of {node.type.name} returns a simstrategy.data.Dataset, and returned a "
            f"{type(made).__name__}. Use map for functions that return elements."
        )
    return inner


def mapped(node: Node, element: Any) -> Any:
    """Returns what the function of a `map` makes of an element."""
    return as_element(apply(node.settings[0], element), node.type.name)
