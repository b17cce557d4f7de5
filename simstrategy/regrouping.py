"""Combines the nests of all replicas to one nest of distributed values: the reverse of `values.select`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from simstrategy import tree
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.values import Component, PerReplica

__all__ = ["regroup"]

_NOTHING: Final = {type(None)}


def regroup(
    nests: Sequence[Any], *, always_wrap: bool = False, wrap: Callable[[Sequence[Any]], Any] = PerReplica
) -> Any:
    """Combines the nests of the local replicas to one nest of distributed values.

    wrap: makes one value of a leaf's components. A leaf that is the same object on every replica, or the leaf of a
    single replica, is not wrapped, unless `always_wrap`. All components of one variable become the variable. The
    types and the order of keys are those of the first replica. Raises InvalidArgument with the first place where the
    structures differ, and for a nest that contains itself. Clauses: V-2, V-3. Source: TensorFlow 1.15.5 and 2.21.0, as
    recorded.

    >>> regroup([{"loss": 1.0, "step": [7]}, {"loss": 2.0, "step": [7]}])["loss"].values
    (1.0, 2.0)
    """
    if not always_wrap and set(map(type, nests)) == _NOTHING:  # most functions of a training step return nothing
        return None
    try:
        return _regroup(list(nests), always_wrap, wrap, "result")
    except RecursionError:
        raise tree.too_deep() from None


def _regroup(values: list[Any], always_wrap: bool, wrap: Callable[[Sequence[Any]], Any], where: str) -> Any:
    first = values[0]
    kind = tree.kind_of(type(first))
    if kind == "mapping":
        values = _with_keys_of_first(values, where)
        items = [_regroup([v[key] for v in values], always_wrap, wrap, f"{where}[{short_repr(key)}]") for key in first]
        return tree.rebuild_mapping(type(first), tuple(first), items)
    if kind == "sequence":
        _require_sequences(values, where)
        items = [_regroup([v[i] for v in values], always_wrap, wrap, f"{where}[{i}]") for i in range(len(first))]
        return tree.rebuild_sequence(type(first), items)
    if not always_wrap and all(value is first for value in values) and not isinstance(first, Component):
        return first
    if isinstance(first, Component) and _are_all_parts(values, first):
        return first.container
    return wrap(values)


def _are_all_parts(values: list[Any], first: Component) -> bool:
    return all(
        isinstance(value, Component) and value.container is first.container and value.index == index
        for index, value in enumerate(values)
    )


def _with_keys_of_first(values: list[Any], where: str) -> list[Any]:
    """Returns mappings that have the first one's keys: replicas may have made keys of their own, see `tree.same_keys`.

    Raises InvalidArgument for other keys.
    """
    keys, found = set(values[0]), []
    for replica, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise InvalidArgument(_mismatch(where, replica, values[0], value))
        if set(value) == keys:
            found.append(value)
            continue
        wanted, own = tree.sorted_keys(values[0]), tree.sorted_keys(value)
        if not tree.same_keys(wanted, own):
            raise InvalidArgument(_mismatch(where, replica, values[0], value))
        found.append({key: value[mine] for key, mine in zip(wanted, own, strict=True)})
    return found


def _require_sequences(values: list[Any], where: str) -> None:
    kind = list if isinstance(values[0], list) else tuple
    for replica, value in enumerate(values):
        if not isinstance(value, kind) or len(value) != len(values[0]):
            raise InvalidArgument(_mismatch(where, replica, values[0], value))


def _mismatch(where: str, replica: int, first: object, other: object) -> str:
    return (
        f"Replicas returned nests of different structure at {where}: local replica 0 has {_outline(first)}, "
        f"local replica {replica} has {_outline(other)}. Return the same containers, lengths and keys everywhere."
    )


def _outline(value: object) -> str:
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with keys {short_repr(list(tree.sorted_keys(value)))}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a {type(value).__name__}"
