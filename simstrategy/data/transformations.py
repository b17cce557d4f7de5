"""Steps that handle one element at a time: functions, counts, joins, and the cache.

They are lazy, and all but the cache use bounded memory. Batches are in `grouping.py`.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from simstrategy import tree
from simstrategy.data.elements import ElementSpec, Specs, is_static, spec_of
from simstrategy.data.nodes import (
    NOTHING,
    Elements,
    Iteration,
    Node,
    NodeType,
    apply,
    dataset_of,
    first_element,
    mapped,
)
from simstrategy.data.options import SHARD_HINT
from simstrategy.data.sharding import belongs_to
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = [
    "CACHE",
    "FILTER",
    "FLAT_MAP",
    "INTERLEAVE",
    "MAP",
    "OPTIONS",
    "PREFETCH",
    "REPEAT",
    "SHARD",
    "SKIP",
    "TAKE",
    "ZIP",
    "Store",
]


def _same(node: Node, iteration: Iteration) -> Elements:
    return node.inputs[0].elements(iteration)


def _spec_of_input(node: Node) -> Specs | None:
    return node.inputs[0].spec()


# Functions.


def _map(node: Node, iteration: Iteration) -> Elements:
    for element in node.inputs[0].elements(iteration.keeping()):
        yield mapped(node, element, kept=iteration.kept)


def _map_spec(node: Node) -> Specs | None:
    """Calls the function for the first element; the first size becomes None unless all sizes of the input are fixed."""
    element = first_element(node.inputs[0])
    if element is NOTHING:
        return None
    return _as_varying_as_the_input(node, spec_of(mapped(node, element)))


def _as_varying_as_the_input(node: Node, spec: Specs | None) -> Specs | None:
    if spec is None or is_static(node.inputs[0].spec()):
        return spec
    return tree.map_leaves(lambda leaf: ElementSpec((None, *leaf.shape[1:])[: len(leaf.shape)], leaf.dtype), spec)


def _filter(node: Node, iteration: Iteration) -> Elements:
    for element in node.inputs[0].elements(iteration.keeping()):
        kept = np.asarray(apply(node.settings[0], element))
        if kept.dtype != np.bool_ or kept.size != 1:
            raise InvalidType(
                f"The function of filter returns one truth value, and returned {kept.dtype}{list(kept.shape)}."
            )
        if kept.item():
            yield element


def _flat_map(node: Node, iteration: Iteration) -> Elements:
    for element in node.inputs[0].elements(iteration.keeping()):
        yield from dataset_of(node, element).elements(iteration)


def _spec_of_function(node: Node) -> Specs | None:
    element = first_element(node.inputs[0])
    return None if element is NOTHING else _as_varying_as_the_input(node, dataset_of(node, element).spec())


def _interleave(node: Node, iteration: Iteration) -> Elements:
    """Takes `block_length` elements of each of `cycle_length` slots in turn.

    A slot whose dataset has ended, or was empty, gets the next dataset at its next turn.
    """
    _, cycle_length, block_length = node.settings
    source = node.inputs[0].elements(iteration.keeping())
    # There are as many slots as datasets were begun: `cycle_length` may be any number.
    slots: list[Iterator[Any] | None] = []
    left, turn, open_slots = True, 0, 0
    while left or open_slots:
        if turn == len(slots) and left:
            slots.append(None)
        if slots[turn] is None and left:
            element: Any = next(source, NOTHING)
            left = element is not NOTHING
            slots[turn] = dataset_of(node, element).elements(iteration) if left else None
            open_slots += left
        slot = slots[turn]
        if slot is not None:
            for _ in range(block_length):
                found = next(slot, NOTHING)
                if found is NOTHING:
                    slots[turn] = None
                    open_slots -= 1
                    break
                yield found
        turn += 1
        if turn == cycle_length or (turn == len(slots) and not left):
            turn = 0


# Counts.


def _repeat(node: Node, iteration: Iteration) -> Elements:
    (count,) = node.settings
    rounds = 0
    while count is None or rounds < count:
        empty = True
        for element in node.inputs[0].elements(iteration._replace(epoch=(*iteration.epoch, rounds))):
            empty = False
            yield element
        if empty:
            # Without this, an endless repetition of an empty dataset would never return.
            return
        rounds += 1


def _take(node: Node, iteration: Iteration) -> Elements:
    (count,) = node.settings
    elements = node.inputs[0].elements(iteration)
    taken = 0
    # Counted before `next`, so that no element after the last one is computed.
    while count is None or taken < count:
        element = next(elements, NOTHING)
        if element is NOTHING:
            return
        yield element
        taken += 1


def _skip(node: Node, iteration: Iteration) -> Elements:
    (count,) = node.settings
    if count is None:
        return
    elements = node.inputs[0].elements(iteration)
    for _ in range(count):
        if next(elements, NOTHING) is NOTHING:
            return
    yield from elements


def _shard(node: Node, iteration: Iteration) -> Elements:
    count, index = node.settings
    if count == SHARD_HINT:
        raise InvalidArgument(
            "shard(SHARD_HINT, 0) has no number of shards before a strategy distributes the dataset with "
            "AutoShardPolicy.HINT. Use that policy, or pass the number of shards."
        )
    for number, element in enumerate(node.inputs[0].elements(iteration)):
        if belongs_to(number, count, index):
            yield element


# Joins and memory.


def _zip(node: Node, iteration: Iteration) -> Elements:
    (structure,) = node.settings
    sources = [one.elements(iteration.keeping()) for one in node.inputs]
    while True:
        row = []
        for source in sources:
            element = next(source, NOTHING)
            if element is NOTHING:
                return
            row.append(element)
        yield tree.unflatten(structure, row)


def _zip_spec(node: Node) -> Any:
    specs = [one.spec() for one in node.inputs]
    return None if None in specs else tree.unflatten(node.settings[0], specs)


class Store:
    """The elements of a `cache`; None before the first complete iteration."""

    __slots__ = ("elements",)

    def __init__(self) -> None:
        self.elements: list[Any] | None = None


def _cache(node: Node, iteration: Iteration) -> Elements:
    (store,) = node.settings
    if store.elements is not None:
        yield from store.elements
        return
    kept = []
    for element in node.inputs[0].elements(iteration.keeping()):
        kept.append(element)
        yield element
    store.elements = kept


MAP: Final = NodeType("map", _map, _map_spec)
FILTER: Final = NodeType("filter", _filter, _spec_of_input, passes=True)
FLAT_MAP: Final = NodeType("flat_map", _flat_map, _spec_of_function)
INTERLEAVE: Final = NodeType("interleave", _interleave, _spec_of_function)
REPEAT: Final = NodeType("repeat", _repeat, _spec_of_input, passes=True)
TAKE: Final = NodeType("take", _take, _spec_of_input, passes=True)
SKIP: Final = NodeType("skip", _skip, _spec_of_input, passes=True)
SHARD: Final = NodeType("shard", _shard, _spec_of_input, passes=True)
PREFETCH: Final = NodeType("prefetch", _same, _spec_of_input, passes=True)
OPTIONS: Final = NodeType("with_options", _same, _spec_of_input, passes=True)
ZIP: Final = NodeType("zip", _zip, _zip_spec)
CACHE: Final = NodeType("cache", _cache, _spec_of_input, passes=True, new_state=lambda settings: (Store(),))
