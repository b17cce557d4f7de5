"""Values that have one component per local replica, and the two ways between them and nests.

`select` hands a replica its share of a nest; `regroup` makes one nest of what the replicas returned.
No arithmetic and no devices: a distributed value is a labelled tuple.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, final

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = ["DistributedValues", "Mirrored", "PerReplica", "regroup", "select"]


class DistributedValues:
    """What `PerReplica` and `Mirrored` have in common: `values`, one component per local replica.

    Abstract, though no ABC: whether a value is distributed is asked of every argument of every replica,
    and an ABC answers that slowly.
    """

    __slots__ = ("values",)
    values: tuple[Any, ...]

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = tuple(values)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {rank}: {value!r}" for rank, value in enumerate(self.values))
        return f"{type(self).__name__}:{{\n{lines}\n}}"

    def _refuse(self, _other: object = None) -> NoReturn:
        name = type(self).__name__
        raise InvalidType(
            f"A {name} has no arithmetic: it holds one value per replica, and which one is meant is not known here. "
            f"Use strategy.reduce(...) or strategy.experimental_local_results(...), or compute in a replica function."
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __matmul__ = __rmatmul__ = __neg__ = __float__ = __int__ = __bool__ = __iter__ = _refuse


@final
class PerReplica(DistributedValues):
    """One value per local replica, not known to be equal.  Compared by identity."""

    __slots__ = ()


@final
class Mirrored(DistributedValues):
    """One value per local replica, equal by construction.  Compared by identity."""

    __slots__ = ()


def select(index: int, nest: Any) -> Any:
    """Returns the nest as local replica `index` sees it: distributed values become its component."""
    if isinstance(nest, DistributedValues):
        if index >= len(nest.values):
            raise InvalidArgument(
                f"A {type(nest).__name__} of {len(nest.values)} components was given to replica {index}, which has "
                f"none in it. Pass values that were made for this number of replicas."
            )
        return nest.values[index]
    kind = tree.kind_of(type(nest))
    if kind == "leaf":
        return nest
    if kind == "sequence":
        return tree.rebuild_sequence(type(nest), [select(index, item) for item in nest])
    return tree.rebuild_mapping(type(nest), tuple(nest), [select(index, item) for item in nest.values()])


def regroup(nests: Sequence[Any], *, always_wrap: bool = False) -> Any:
    """Makes one nest of the replicas' nests: `PerReplica` at its leaves, or the one object all returned.

    A leaf that is the very same object on every replica comes back unwrapped, unless `always_wrap`;
    so does the value of a single replica. Structures must agree, mappings in their set of keys; types
    and key order are the first replica's. Raises `InvalidArgument` with the place that differs.
    Source: recorded behaviour of TensorFlow 1.15.5 and 2.21.0.
    """
    return _regroup(list(nests), always_wrap, "result")


def _regroup(values: list[Any], always_wrap: bool, where: str) -> Any:
    first = values[0]
    kind = tree.kind_of(type(first))
    if kind == "mapping":
        _require_mappings(values, where)
        items = [_regroup([v[key] for v in values], always_wrap, f"{where}[{key!r}]") for key in first]
        return tree.rebuild_mapping(type(first), tuple(first), items)
    if kind == "sequence":
        _require_sequences(values, where)
        items = [_regroup([v[i] for v in values], always_wrap, f"{where}[{i}]") for i in range(len(first))]
        return tree.rebuild_sequence(type(first), items)
    if not always_wrap and all(value is first for value in values):
        return first
    return PerReplica(values)


def _require_mappings(values: list[Any], where: str) -> None:
    keys = set(values[0])
    for replica, value in enumerate(values):
        if not isinstance(value, Mapping) or set(value) != keys:
            raise InvalidArgument(_mismatch(where, replica, values[0], value))


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
        return f"a {type(value).__name__} with keys {list(tree.sorted_keys(value))}"
    if isinstance(value, (list, tuple)):
        return f"a {type(value).__name__} of length {len(value)}"
    return f"a {type(value).__name__}"
