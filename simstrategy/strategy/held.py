"""What `require_equal` compares: a nest as leaves on the host, each a form and bytes, equal exactly for equal values.

A leaf is an array of any library, a number, a text or None. Anything else is refused: an object whose parts are not
known cannot be found equal. Nothing here compares: see `equality.py`.
"""

import enum
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.errors import CannotCompile, InvalidType, Unsupported
from simstrategy.short_repr import short_repr, stable_repr
from simstrategy.strategy.bits import plain
from simstrategy.strategy.group import Group
from simstrategy.trace import Site, describe_site
from simstrategy.values import Component, DistributedValues, LocalValue

__all__ = ["Held", "Leaf", "held_by"]

_TEXTS: Final = (bool, int, str, bytes, enum.Enum, type(None))
_AS_TEXT: Final = frozenset("USMm")
"""Kinds of NumPy's dtypes whose bytes depend on more than their values."""


class Leaf(NamedTuple):
    """One value."""

    place: str
    """Where it is in the nest, as in ``['layers'][0]``; "" for the nest itself."""
    form: str
    """Its type; of an array the dtype and shape."""
    data: bytes
    """Of an array its elements in C order, with one zero and one NaN; else its text."""
    array: np.ndarray[Any, Any] | None
    """The array, for messages."""


class Held(NamedTuple):
    """A nest of one replica: its leaves, the first of which is its structure."""

    leaves: Sequence[Leaf]
    site: Site


def held_by(group: Group, value: Any, index: int, site: Site) -> Held:
    """Returns what a nest holds for a local replica.

    Raises InvalidType for a leaf that cannot be compared, and CannotCompile for arrays without a value.
    """
    leaves, structure = tree.flatten(value)
    shape = _described(structure)
    places = _places(structure, "")
    held = [Leaf("", "structure", shape.encode("utf-8", "surrogatepass"), None)]
    for leaf, place in zip(leaves, places, strict=True):
        try:
            held.append(_leaf(group, group.frontend.unwrap(leaf), index, place, site))
        except Unsupported as error:
            raise _without_value(site) from error
    return Held(held, site)


def _described(structure: tree.Structure | None) -> str:
    """Returns a text that is equal for equal structures alone: keys in full."""
    if structure is None:
        return "*"
    children = list(map(_described, structure.children))
    if structure.keys is not None:
        pairs = zip(map(stable_repr, structure.keys), children, strict=True)
        return f"{{{', '.join([f'{key}: {child}' for key, child in pairs])}}}"
    if issubclass(structure.container, list):
        return f"[{', '.join(children)}]"
    name = "" if structure.container is tuple else structure.container.__name__
    return f"{name}({', '.join(children)})"


def _places(structure: tree.Structure | None, before: str) -> list[str]:
    if structure is None:
        return [before]
    keys = range(len(structure.children)) if structure.keys is None else structure.keys
    pairs = zip(keys, structure.children, strict=True)
    return [place for key, child in pairs for place in _places(child, f"{before}[{short_repr(key)}]")]


def _leaf(group: Group, value: Any, index: int, place: str, site: Site) -> Leaf:
    if isinstance(value, DistributedValues):
        value = value.component(index)
    if isinstance(value, Component) or (isinstance(value, LocalValue) and not isinstance(value, DistributedValues)):
        value = _component_of(value, index)
    if isinstance(value, group.array_types):
        return _array_leaf(place, "", _on_host(group, value, site))
    if isinstance(value, _TEXTS) and not isinstance(value, np.generic):
        return Leaf(place, type(value).__name__, stable_repr(value).encode("utf-8", "surrogatepass"), None)
    if isinstance(value, (float, complex)) and not isinstance(value, np.generic):
        return _array_leaf(place, type(value).__name__, np.asarray(value))
    if isinstance(value, (set, frozenset)) and all(isinstance(one, _TEXTS) for one in value):
        text = repr(sorted(map(stable_repr, value)))
        return Leaf(place, type(value).__name__, text.encode("utf-8", "surrogatepass"), None)
    return _array_leaf(place, "", _foreign_array(value, place, site))


def _component_of(value: Any, index: int) -> Array:
    """Returns the array of a variable, or of a component of one, that a local replica has."""
    components: tuple[Array, ...] = (value.here(),) if isinstance(value, Component) else value.components
    return components[index if len(components) > 1 else 0]


def _on_host(group: Group, array: Array, site: Site) -> np.ndarray[Any, Any]:
    try:
        return group.backend.get(array)
    except (InvalidType, Unsupported) as error:
        raise _without_value(site) from error


def _without_value(site: Site) -> CannotCompile:
    return CannotCompile(
        f"require_equal at {describe_site(site)} reads values, and an array has none while a framework traces or "
        f"compiles. Call it outside of the compiled function, such as strategy.require_equal after the run."
    )


def _foreign_array(value: Any, place: str, site: Site) -> np.ndarray[Any, Any]:
    """Returns an array of another library on the host.  Raises InvalidType for anything else."""
    problem = f"it is of type {type(value).__qualname__}"
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(type(value), "__array__"):
        try:
            array = np.asarray(value)
        except Exception as error:  # noqa: BLE001 - of another library, whose text stands in ours
            problem = f"its values cannot be read: {type(error).__name__}: {str(error).splitlines()[:1]}"
        else:
            if not array.dtype.hasobject:
                return array
            problem = "it is an array of objects"
    raise InvalidType(
        f"require_equal at {describe_site(site)} compares nests of arrays, numbers and texts, and leaf "
        f"{place or 'value'} is none: {problem}. Give what it holds, such as its vars(...) or its state_dict()."
    )


def _array_leaf(place: str, form: str, array: np.ndarray[Any, Any]) -> Leaf:
    sizes = ",".join(map(str, array.shape))
    if array.dtype.kind in _AS_TEXT or array.dtype.names is not None:
        text = repr(array.tolist()).encode("utf-8", "surrogatepass")
        return Leaf(place, f"array of {array.dtype.kind}[{sizes}]", text, None)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return Leaf(place, form or f"{array.dtype.name}[{sizes}]", plain(native).tobytes(), array)
