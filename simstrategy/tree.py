"""Functions on nests of lists, tuples, named tuples and mappings: flatten, compare, rebuild.

Every other value is a leaf, `PerReplica` and arrays included. The rules are TensorFlow's (mappings are flattened in
sorted key order), so no tree library is used. Nothing here depends on replicas.
"""

import enum
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr, stable_repr

__all__ = [
    "Nest",
    "Structure",
    "alike",
    "describe",
    "flatten",
    "is_leaf",
    "kind_of",
    "leaves_like",
    "map_leaves",
    "refill",
    "same_keys",
    "sorted_keys",
    "too_deep",
    "unflatten",
]


L = TypeVar("L")
"""The leaves of a nest."""
M = TypeVar("M")
"""Other leaves."""
N = TypeVar("N")
"""A nest whose containers, and the kind of its leaves, stay."""

Nest: TypeAlias = L | tuple["Nest[L]", ...] | list["Nest[L]"] | Mapping[Any, "Nest[L]"]


class Structure(NamedTuple):
    """A nest without its leaves; None in place of a Structure means one leaf."""

    container: type
    keys: tuple[Any, ...] | None
    """The keys of a mapping, in sorted order; None for sequences."""
    children: tuple["Structure | None", ...]


_new_structure: Final[Callable[..., Structure]] = tuple.__new__
"""The fastest way to make a named tuple: every collective flattens nests."""


def _kind(container: type) -> str:
    if issubclass(container, (list, tuple)):
        return "sequence"
    return "mapping" if issubclass(container, Mapping) else "leaf"


kind_of: Final[Callable[[type], str]] = lru_cache(maxsize=1024)(_kind)
"""Returns the role of a type in nests: "leaf", "sequence" or "mapping"."""


def is_leaf(value: object) -> bool:
    """Returns whether a value is a leaf, and no list, tuple or mapping."""
    return kind_of(type(value)) == "leaf"


def sorted_keys(mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Returns the keys in sorted order; keys that cannot be compared are sorted by type and text without addresses."""
    try:
        return tuple(sorted(mapping))
    except TypeError:
        return tuple(sorted(mapping, key=lambda key: (type(key).__name__, stable_repr(key))))


def flatten(value: object) -> tuple[list[Any], Structure | None]:
    """Returns the leaves of a nest in order, and its structure, for `unflatten`.

    Raises InvalidArgument for a nest that contains itself.

    >>> flatten({"b": [1, 2], "a": 0})[0]
    [0, 1, 2]
    """
    kind = kind_of(type(value))
    if kind == "leaf":
        return [value], None
    leaves: list[Any] = []
    try:
        return leaves, _flatten_into(leaves, value, kind)
    except RecursionError:
        raise too_deep() from None


def too_deep() -> InvalidArgument:
    """Returns the error for a nest in which Python's limit of recursion was reached."""
    return InvalidArgument(
        f"A value contains itself, or has more levels of lists, tuples and mappings than Python's limit of recursion, "
        f"{sys.getrecursionlimit()}. Pass and return nests of arrays without such a cycle."
    )


def _flatten_into(leaves: list[Any], nest: Any, kind: str) -> Structure:
    keys = None if kind == "sequence" else sorted_keys(nest)
    children: list[Structure | None] = []
    # Leaves are collected here, without a call for each: every replica flattens nests in every collective.
    for item in nest if keys is None else map(nest.__getitem__, keys):
        kind = kind_of(type(item))
        if kind == "leaf":
            leaves.append(item)
            children.append(None)
        else:
            children.append(_flatten_into(leaves, item, kind))
    return _new_structure(Structure, (type(nest), keys, tuple(children)))


def leaves_like(value: object, structure: Structure) -> list[Any] | None:
    """Returns the leaves in order if the value consists of plain lists, tuples and dicts of this structure, else None.

    Faster than `flatten`, with a weaker check: a value in place of a leaf is not examined, so it may be a container.
    """
    leaves: list[Any] = []
    return leaves if _collect_like(leaves, value, structure) else None


def _collect_like(leaves: list[Any], nest: Any, structure: Structure) -> bool:
    container, keys, children = structure
    kind = type(nest)
    if kind is not container or len(nest) != len(children):
        return False
    if container is dict:
        try:
            nest = list(map(nest.__getitem__, keys or ()))
        except KeyError:
            return False
    elif container is not list and container is not tuple:
        return False
    if children.count(None) == len(children):
        leaves += nest
        return True
    for item, child in zip(nest, children, strict=True):
        if child is None:
            leaves.append(item)
        elif not _collect_like(leaves, item, child):
            return False
    return True


def unflatten(structure: Structure | None, leaves: Sequence[L]) -> Nest[L]:
    """Makes a nest from a structure and its leaves, in order.

    >>> leaves, structure = flatten({"b": [1, 2], "a": 0})
    >>> unflatten(structure, [one * 10 for one in leaves])
    {'a': 0, 'b': [10, 20]}
    """
    return leaves[0] if structure is None else _unflatten_from(structure, iter(leaves))


def _unflatten_from(structure: Structure, leaves: Iterator[L]) -> Nest[L]:
    container, keys, children = structure
    items = [next(leaves) if child is None else _unflatten_from(child, leaves) for child in children]
    if keys is not None:
        return rebuild_mapping(container, keys, items)
    return rebuild_sequence(container, items)


def refill(nest: N, structure: Structure | None, leaves: Sequence[Any]) -> N:
    """Returns a nest with other leaves; its mappings keep the order of their keys.

    structure: that of the nest, from `flatten`.
    """
    refilled: N = leaves[0] if structure is None else _refill_from(nest, structure, iter(leaves))
    return refilled


def _refill_from(nest: Any, structure: Structure, leaves: Iterator[Any]) -> Any:
    container, keys, children = structure
    places = range(len(children)) if keys is None else keys
    if children.count(None) == len(children):
        items = list(islice(leaves, len(children)))
    else:
        items = [
            next(leaves) if child is None else _refill_from(nest[place], child, leaves)
            for place, child in zip(places, children, strict=True)
        ]
    if container is list:
        return items
    if keys is None:
        return rebuild_sequence(container, items)
    by_key = dict(zip(keys, items, strict=True))
    if container is dict:
        return {**nest, **by_key}  # in the order of the nest
    order = tuple(nest)
    return rebuild_mapping(container, order, [by_key[key] for key in order])


def rebuild_sequence(container: type, items: list[Nest[L]]) -> Nest[L]:
    """Makes a list, tuple or named tuple of the given type from its items."""
    if container is list:
        return items
    make: Callable[[list[Nest[L]]], Nest[L]] | None = getattr(container, "_make", None)
    made: Nest[L] = make(items) if make is not None else container(items)
    return made


def rebuild_mapping(container: type, keys: tuple[Any, ...], items: list[Nest[L]]) -> Nest[L]:
    """Makes a mapping of the given type: empty and then filled, from pairs, or else a plain dict."""
    by_key = dict(zip(keys, items, strict=True))
    if container is dict:
        return by_key
    if issubclass(container, MutableMapping):
        with suppress(TypeError):
            # Not from pairs: a Counter would count them.
            made: Any = container()
            for key, item in by_key.items():
                made[key] = item
            return made  # type: ignore[no-any-return]  # of the given type
    try:
        found: Nest[L] = container([*by_key.items()])
        return found
    except TypeError:
        return by_key


def map_leaves(function: Callable[[L], M], value: Nest[L]) -> Nest[M]:
    """Applies a function to every leaf; containers keep their types and the order of their keys.

    Raises InvalidArgument for a nest that contains itself.

    >>> map_leaves(str, {"b": [1, 2], "a": 0})
    {'b': ['1', '2'], 'a': '0'}
    """
    try:
        return _mapped(function, value)
    except RecursionError:
        flatten(value)  # raises for such a nest; else the function has raised
        raise


def _mapped(function: Callable[[Any], M], nest: Any) -> Nest[M]:
    kind = kind_of(type(nest))
    if kind == "leaf":
        return function(nest)
    if kind == "sequence":
        return rebuild_sequence(type(nest), [_mapped(function, item) for item in nest])
    return rebuild_mapping(type(nest), tuple(nest), [_mapped(function, item) for item in nest.values()])


def describe(structure: Structure | None, leaves: list[str]) -> str:
    """Returns a nest as text, with a text for each leaf, as in ``{'a': float32[2], 'b': [int32[]]}``."""
    return _describe_from(structure, iter(leaves))


def _describe_from(structure: Structure | None, leaves: Iterator[str]) -> str:
    if structure is None:
        return next(leaves, "*")
    items = [_describe_from(child, leaves) for child in structure.children]
    if structure.keys is not None:
        return (
            "{" + ", ".join(f"{short_repr(key)}: {item}" for key, item in zip(structure.keys, items, strict=True)) + "}"
        )
    if issubclass(structure.container, list):
        return "[" + ", ".join(items) + "]"
    name = "" if structure.container is tuple else structure.container.__name__
    fields = _fields(structure.container)
    if fields:
        items = [f"{field}={item}" for field, item in zip(fields, items, strict=True)]
    return name + "(" + ", ".join(items) + ("," if len(items) == 1 and not fields else "") + ")"


def _fields(container: type) -> tuple[str, ...]:
    """Returns the names of a named tuple's fields, and nothing for any other container."""
    return tuple(vars(container).get("_fields", ())) if issubclass(container, tuple) else ()


def alike(one: Structure | None, other: Structure | None) -> bool:
    """Returns whether two structures are one, as far as processes can compare them, which share no objects.

    Named tuples of one name and the same fields are, members of enums of one name, and keys that are NaN: each replica
    may have made its own.

    >>> alike(flatten({float("nan"): 1})[1], flatten({float("nan"): 2})[1])
    True
    """
    if one is None or other is None:
        return one is other
    classes = [(kind.__qualname__, _fields(kind)) for kind in (one.container, other.container)]
    if one.container is not other.container and not (classes[0] == classes[1] and classes[0][1]):
        return False
    return (
        same_keys(one.keys or (), other.keys or ())
        and len(one.children) == len(other.children)
        and all(map(alike, one.children, other.children))
    )


def same_keys(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Returns whether sorted keys of two mappings are equal, members of enums of one name, or both NaN."""
    return len(one) == len(other) and all(map(_same_key, one, other))


def _same_key(one: Any, other: Any) -> bool:
    if isinstance(one, enum.Enum) and isinstance(other, enum.Enum):
        return (type(one).__qualname__, one.name) == (type(other).__qualname__, other.name)
    both_nan = isinstance(one, float) and isinstance(other, float) and one != one and other != other
    return both_nan or bool(one == other)
