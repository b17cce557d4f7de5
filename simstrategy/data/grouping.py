"""Steps that combine elements or take them apart: batch, unbatch and shuffle."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from simstrategy import tree
from simstrategy.data.elements import ElementSpec, Specs, leading_sizes, texts_of
from simstrategy.data.in_memory import SLICES, row_count, rows_of
from simstrategy.data.nodes import NOTHING, Elements, Iteration, Node, NodeType
from simstrategy.data.stacking import batches_of
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Seeded
from simstrategy.schedules.remaining import taken_from

__all__ = ["BATCH", "SHUFFLE", "UNBATCH"]


def _batch(node: Node, iteration: Iteration) -> Elements:
    size, drop_remainder = node.settings
    (source,) = node.inputs
    if source.type is SLICES:
        # Rows of one array are a slice of it: no copy of each row is needed.
        yield from (rows_of(source, *piece) for piece in _pieces(row_count(source), size, drop_remainder))
    elif source.type.texts is not None:
        # Many texts become one array at once, without an array for each.
        yield from map(texts_of, _groups(source.type.texts(source, iteration), size, drop_remainder))
    else:
        yield from batches_of(source.elements(iteration.passing()), size, drop_remainder)


def _groups(rows: Iterator[Any], size: int, drop_remainder: bool) -> Iterator[list[Any]]:
    while len(group := list(islice(rows, size))) == size:
        yield group
    if group and not drop_remainder:
        yield group


def _pieces(count: int, size: int, drop_remainder: bool) -> Iterator[tuple[int, int]]:
    for start in range(0, count, size):
        if start + size <= count or not drop_remainder:
            yield start, min(start + size, count)


def _batch_spec(node: Node) -> Specs | None:
    size, drop_remainder = node.settings
    spec = node.inputs[0].spec()
    if spec is None:
        return None
    return tree.map_leaves(lambda leaf: ElementSpec((size if drop_remainder else None, *leaf.shape), leaf.dtype), spec)


def _unbatch(node: Node, iteration: Iteration) -> Elements:
    for number, element in enumerate(node.inputs[0].elements(iteration)):
        leaves, structure = tree.flatten(element)
        if any(leaf.ndim == 0 for leaf in leaves):
            raise InvalidArgument(
                f"unbatch takes arrays with at least one dimension; element {number} has a scalar. Give it a dimension."
            )
        sizes = leading_sizes(element)
        if len(set(sizes)) > 1:
            raise InvalidArgument(
                f"unbatch got arrays of {sizes} rows in element {number}; all need the same number. Cut them to "
                f"one length."
            )
        for i in range(sizes[0] if sizes else 0):
            yield tree.refill(element, structure, [leaf[i : i + 1].reshape(leaf.shape[1:]) for leaf in leaves])


def _unbatch_spec(node: Node) -> Specs | None:
    spec = node.inputs[0].spec()
    return spec and tree.map_leaves(lambda leaf: ElementSpec(leaf.shape[1:], leaf.dtype), spec)


def _shuffle(node: Node, iteration: Iteration) -> Elements:
    """Keeps `buffer_size` elements; yields one of them, then reads the next one.  Draw 0 is the oldest element."""
    buffer_size, seed, every_time = node.settings
    choose, label = iteration.choose, iteration.label
    if seed is not None:
        choose = Seeded(_mixed(seed, iteration.epoch if every_time else ())).choose
    source = node.inputs[0].elements(iteration.keeping())
    buffer = taken_from(islice(source, buffer_size), buffer_size)
    count = len(buffer)  # counted here: it is read for each element
    while count:
        yield buffer.pop(choose(label, count) if count > 1 else 0)
        element = next(source, NOTHING)
        if element is NOTHING:
            count -= 1
        else:
            buffer.append(element)


def _mixed(seed: int, epoch: tuple[int, ...]) -> int:
    """Returns another seed for each iteration and round, the same in every run."""
    for number in epoch:
        seed = Seeded(seed + number).choose("", 1 << 64)
    return seed


BATCH: Final = NodeType("batch", _batch, _batch_spec)
UNBATCH: Final = NodeType("unbatch", _unbatch, _unbatch_spec)
SHUFFLE: Final = NodeType("shuffle", _shuffle, lambda node: node.inputs[0].spec(), passes=True)
