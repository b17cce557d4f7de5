"""Values that have one component per local replica, and the two ways between them and nests.

`select` hands a replica its share of a nest; `regroup` makes one nest of what the replicas returned. A
`Mirrored` value stands for its component where it is used; a `PerReplica` one never does. No devices, and no
arithmetic of its own: a distributed value is a labelled tuple.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NoReturn, Protocol, final

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = ["MODE", "Component", "DistributedValues", "Mirrored", "PerReplica", "component_rows", "regroup", "select"]


class Mode(Protocol):
    """What this module has to know of the current mode; `strategy/modes.py` says what a mode is."""

    @property
    def index(self) -> int:
        """The local replica whose component is meant here; 0 where no replica runs."""
        ...

    @property
    def takes_captured(self) -> bool:
        """Whether a PerReplica value that a replica function captured stands for the replica's component."""
        ...


MODE: Final[ContextVar[Any]] = ContextVar("simstrategy.mode", default=None)
"""The current `Mode`, or None where no strategy is current.  Set by `strategy/modes.py` alone."""


class DistributedValues:
    """What `PerReplica` and `Mirrored` have in common: `values`, one component per local replica.

    Abstract, though no ABC: whether a value is distributed is asked of every argument of every replica,
    and an ABC answers that slowly.
    """

    __slots__ = ("values",)
    values: tuple[Any, ...]

    # NumPy's operators leave the work to ours, in place of making an array of objects.
    __array_ufunc__ = None

    def __init__(self, values: Sequence[Any]) -> None:
        if not isinstance(values, (tuple, Sequence)) or isinstance(values, (str, bytes)):  # an ABC is asked slowly
            raise InvalidType(
                f"A {type(self).__name__} takes a list of values, one per replica, got {values!r}. Pass a list."
            )
        self.values = tuple(values)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {rank}: {value!r}" for rank, value in enumerate(self.values))
        return f"{type(self).__name__}:{{\n{lines}\n}}"

    def component(self, index: int) -> Any:
        """Returns local replica `index`'s component.  Raises InvalidArgument where there is none."""
        if index >= len(self.values):
            raise InvalidArgument(
                f"A {type(self).__name__} of {len(self.values)} components was given to replica {index}, which has "
                f"none in it. Pass values that were made for this number of replicas."
            )
        return self.values[index]


def _refuse(self: DistributedValues, _other: object = None) -> NoReturn:
    raise InvalidType(
        f"A {type(self).__name__} has no arithmetic: it holds one value per replica, and which one is meant is not "
        f"known here. Use strategy.reduce(...) or strategy.experimental_local_results(...), or compute in a replica "
        f"function."
    )


@final
class PerReplica(DistributedValues):
    """One value per local replica, not known to be equal.  Compared by identity."""

    __slots__ = ()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
    __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _refuse
    __float__ = __int__ = __index__ = __bool__ = __len__ = __iter__ = _refuse

    def here(self) -> Any:
        """Returns the running replica's component, where the semantics take a captured value for it.

        Raises InvalidType outside replica functions and under other semantics.
        """
        mode: Mode | None = MODE.get()
        if mode is None or not mode.takes_captured:
            raise InvalidType(
                "It looks like you are using a PerReplica object where one replica's value is wanted. Pass it to the "
                "replica function as an argument, strategy.run(fn, args=(value,)), or take its components with "
                "strategy.experimental_local_results(value)."
            )
        return self.component(mode.index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.here(), dtype, copy=copy)


def _unary(function: Callable[[Any], Any]) -> Callable[["Mirrored"], Any]:
    return lambda self: function(self.here())


def _binary(function: Callable[[Any, Any], Any]) -> Callable[["Mirrored", Any], Any]:
    return lambda self, other: function(self.here(), other.here() if isinstance(other, Mirrored) else other)


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[["Mirrored", Any], Any]:
    return lambda self, other: function(other, self.here())


@final
class Mirrored(DistributedValues):
    """One value per local replica, equal by construction.  Compared by identity.

    Operators, indexing and conversions are those of the component that `here` returns.
    """

    __slots__ = ()

    __add__, __radd__ = _binary(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _binary(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _binary(operator.mod), _reflected(operator.mod)
    __pow__, __rpow__ = _binary(operator.pow), _reflected(operator.pow)
    __matmul__, __rmatmul__ = _binary(operator.matmul), _reflected(operator.matmul)
    __lt__, __le__, __gt__, __ge__ = map(_binary, (operator.lt, operator.le, operator.gt, operator.ge))
    __getitem__ = _binary(operator.getitem)
    __neg__, __abs__ = _unary(operator.neg), _unary(abs)
    __float__, __int__, __index__ = _unary(float), _unary(int), _unary(operator.index)
    __bool__, __len__, __iter__ = _unary(bool), _unary(len), _unary(iter)

    def here(self) -> Any:
        """Returns the running replica's component; outside replica functions the first."""
        mode: Mode | None = MODE.get()
        return self.component(0 if mode is None else mode.index)

    @property
    def shape(self) -> Any:
        """The shape of the component."""
        return self.here().shape

    @property
    def dtype(self) -> Any:
        """The dtype of the component, as its framework writes it."""
        return self.here().dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.here(), dtype, copy=copy)


class Component:
    """A part of something that has one part on each device: all its parts together come back as the whole.

    Abstract, like `DistributedValues`. container: the whole. index: the local replica whose part it is.
    """

    __slots__ = ("container", "index")
    container: Any
    index: int


def select(index: int, nest: Any) -> Any:
    """Returns the nest as local replica `index` sees it: distributed values become its component."""
    if isinstance(nest, DistributedValues):
        return nest.values[index] if index < len(nest.values) else nest.component(index)
    kind = tree.kind_of(type(nest))
    if kind == "leaf":
        return nest
    if kind == "sequence":
        return tree.rebuild_sequence(type(nest), [select(index, item) for item in nest])
    return tree.rebuild_mapping(type(nest), tuple(nest), [select(index, item) for item in nest.values()])


def component_rows(values: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
    """Returns each of `count` replicas' components of distributed values, where all are such; else nothing.

    The quick way of what `select` does one by one.
    """
    columns = [value.values for value in values if isinstance(value, DistributedValues)]
    if len(columns) < len(values) or any(len(column) != count for column in columns):
        return []
    return list(zip(*columns, strict=True))


def regroup(
    nests: Sequence[Any], *, always_wrap: bool = False, wrap: Callable[[Sequence[Any]], Any] = PerReplica
) -> Any:
    """Makes one nest of the replicas' nests: `wrap` of its leaves, or the one object all returned.

    A leaf that is the very same object on every replica comes back unwrapped, unless `always_wrap`;
    so does the value of a single replica. All parts of one variable come back as the variable. Structures
    must agree, mappings in their set of keys; types and key order are the first replica's. Raises
    `InvalidArgument` with the place that differs.
    Source: recorded behaviour of TensorFlow 1.15.5 and 2.21.0.
    """
    return _regroup(list(nests), always_wrap, wrap, "result")


def _regroup(values: list[Any], always_wrap: bool, wrap: Callable[[Sequence[Any]], Any], where: str) -> Any:
    first = values[0]
    kind = tree.kind_of(type(first))
    if kind == "mapping":
        _require_mappings(values, where)
        items = [_regroup([v[key] for v in values], always_wrap, wrap, f"{where}[{key!r}]") for key in first]
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
