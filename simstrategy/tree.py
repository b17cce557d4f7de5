"""Nests of lists, tuples, named tuples and mappings: flattened, compared, rebuilt.

Everything else is a leaf, `PerReplica` and arrays included. The rules are TensorFlow's (mappings are
flattened in sorted key order), which is why no tree library stands here. It knows nothing of replicas.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple

__all__ = ["Structure", "describe", "flatten", "is_leaf", "kind_of", "leaves_like", "map_leaves", "refill", "unflatten"]


class Structure(NamedTuple):
    """The shape of a nest without its leaves; `None` in place of a Structure means one leaf."""

    container: type
    keys: tuple[Any, ...] | None
    """The keys of a mapping, in sorted order; None for sequences."""
    children: tuple["Structure | None", ...]


_new_structure: Final[Callable[..., Structure]] = tuple.__new__
"""The quickest way to make a named tuple: nests are walked in every collective."""


def _kind(container: type) -> str:
    if issubclass(container, (list, tuple)):
        return "sequence"
    return "mapping" if issubclass(container, Mapping) else "leaf"


kind_of: Final[Callable[[type], str]] = lru_cache(maxsize=1024)(_kind)
"""Returns what values of a type are in a nest: "leaf", "sequence" or "mapping"."""


def is_leaf(value: object) -> bool:
    """Tells whether `value` is no container of a nest."""
    return kind_of(type(value)) == "leaf"


def sorted_keys(mapping: Mapping[Any, Any]) -> tuple[Any, ...]:
    """Returns the keys in sorted order; keys that do not compare are sorted by type and text."""
    try:
        return tuple(sorted(mapping))
    except TypeError:
        return tuple(sorted(mapping, key=lambda key: (type(key).__name__, repr(key))))


def flatten(value: object) -> tuple[list[Any], Structure | None]:
    """Returns the leaves in order and the structure that `unflatten` needs."""
    kind = kind_of(type(value))
    if kind == "leaf":
        return [value], None
    leaves: list[Any] = []
    return leaves, _flatten_into(leaves, value, kind)


def _flatten_into(leaves: list[Any], nest: Any, kind: str) -> Structure:
    keys = None if kind == "sequence" else sorted_keys(nest)
    children: list[Structure | None] = []
    # Leaves are taken here, without a call for each: nests are walked by every replica in every collective.
    for item in nest if keys is None else map(nest.__getitem__, keys):
        kind = kind_of(type(item))
        if kind == "leaf":
            leaves.append(item)
            children.append(None)
        else:
            children.append(_flatten_into(leaves, item, kind))
    return _new_structure(Structure, (type(nest), keys, tuple(children)))


def leaves_like(value: object, structure: Structure) -> list[Any] | None:
    """Returns the leaves in order if the value is plain lists, tuples and dicts of this structure, else None.

    Quicker than `flatten`, and says less: what the structure has as a leaf is not looked at, so one of
    the leaves may turn out to be a container.
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


def unflatten(structure: Structure | None, leaves: Sequence[Any]) -> Any:
    """Rebuilds a nest from a structure and as many leaves as it has."""
    return leaves[0] if structure is None else _unflatten_from(structure, iter(leaves))


def _unflatten_from(structure: Structure, leaves: Iterator[Any]) -> Any:
    container, keys, children = structure
    items = [next(leaves) if child is None else _unflatten_from(child, leaves) for child in children]
    if keys is not None:
        return rebuild_mapping(container, keys, items)
    return rebuild_sequence(container, items)


def refill(nest: Any, structure: Structure | None, leaves: Sequence[Any]) -> Any:
    """Returns the nest, whose structure is given, with other leaves; mappings keep their own key order."""
    return leaves[0] if structure is None else _refill_from(nest, structure, iter(leaves))


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
        return {**nest, **by_key}  # in its own order
    own = tuple(nest)
    return rebuild_mapping(container, own, [by_key[key] for key in own])


def rebuild_sequence(container: type, items: list[Any]) -> Any:
    """Makes a list, tuple or named tuple of the given type from its items."""
    if container is list:
        return items
    make = getattr(container, "_make", None)
    return make(items) if make is not None else container(items)


def rebuild_mapping(container: type, keys: tuple[Any, ...], items: list[Any]) -> Any:
    """Makes a mapping of the given type; a type that takes no pairs becomes a plain dict."""
    pairs = zip(keys, items, strict=True)
    if container is dict:
        return dict(pairs)
    try:
        return container(list(pairs))
    except TypeError:
        return dict(zip(keys, items, strict=True))


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Applies `function` to every leaf and keeps containers, their types and their key order."""
    kind = kind_of(type(value))
    if kind == "leaf":
        return function(value)
    if kind == "sequence":
        return rebuild_sequence(type(value), [map_leaves(function, item) for item in value])
    return rebuild_mapping(type(value), tuple(value), [map_leaves(function, item) for item in value.values()])


def describe(structure: Structure | None, leaves: list[str]) -> str:
    """Writes the nest with a text for each leaf, e.g. ``{'a': float32[2], 'b': [int32[]]}``."""
    return _describe_from(structure, iter(leaves))


def _describe_from(structure: Structure | None, leaves: Iterator[str]) -> str:
    if structure is None:
        return next(leaves, "*")
    items = [_describe_from(child, leaves) for child in structure.children]
    if structure.keys is not None:
        return "{" + ", ".join(f"{key!r}: {item}" for key, item in zip(structure.keys, items, strict=True)) + "}"
    if issubclass(structure.container, list):
        return "[" + ", ".join(items) + "]"
    name = "" if structure.container is tuple else structure.container.__name__
    return name + "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"
