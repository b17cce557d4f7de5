"""Distributed values: tuples with one component for each local replica, and their conversion from and to nests.

`select` returns the nest of one replica; `regroup` combines the nests of all replicas. A `Mirrored` value is replaced
by its component where it is used; a `PerReplica` value is not. Nothing here depends on devices.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Final, NoReturn, Protocol, final

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr, stable_repr

__all__ = [
    "MODE",
    "Component",
    "DistributedValues",
    "LocalValue",
    "Mirrored",
    "PerReplica",
    "component_rows",
    "regroup",
    "select",
]


class Mode(Protocol):
    """The part of the current mode that this module uses; `strategy/modes.py` defines modes."""

    @property
    def index(self) -> int:
        """The number of the running local replica; 0 outside replica functions."""
        ...

    @property
    def takes_captured(self) -> bool:
        """Whether a PerReplica value that a replica function captured is replaced by the replica's component."""
        ...


MODE: Final[ContextVar[Any]] = ContextVar("simstrategy.mode", default=None)
"""The current `Mode`, or None where no strategy is current.  Set by `strategy/modes.py` alone."""


class LocalValue:
    """A value that stands for one array where it is used: distributed values, variables and their components.

    Abstract, like `DistributedValues`.
    """

    __slots__ = ()
    here: Callable[[], Any]
    """Returns the array that the value stands for in the current mode.  A method of every final class."""


class DistributedValues(LocalValue):
    """The base class of `PerReplica` and `Mirrored`: `values`, a tuple of one component for each local replica.

    values: a list of components, in rank order. Raises InvalidType for anything but a list or tuple. Abstract, but no
    ABC: every argument of every replica goes through `isinstance`, which is slow for an ABC.
    """

    __slots__ = ("values",)
    values: tuple[Any, ...]

    # Makes NumPy's operators call ours instead of making an array of objects.
    __array_ufunc__ = None

    def __init__(self, values: Sequence[Any]) -> None:
        if not isinstance(values, (tuple, Sequence)) or isinstance(values, (str, bytes)):  # the ABC is slow
            raise InvalidType(
                f"A {type(self).__name__} takes a list of values, one per replica, got {short_repr(values)}. Pass a "
                f"list."
            )
        self.values = tuple(values)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {rank}: {stable_repr(value)}" for rank, value in enumerate(self.values))
        return f"{type(self).__name__}:{{\n{lines}\n}}"

    def component(self, index: int) -> Any:
        """Returns the component of a local replica.  Raises InvalidArgument if it has none."""
        if index >= len(self.values):
            count = f"{len(self.values)} component{'' if len(self.values) == 1 else 's'}"
            raise InvalidArgument(
                f"A {type(self).__name__} of {count} was given to replica {index}, which has no "
                f"component in it. Pass values that were made for this number of replicas."
            )
        return self.values[index]


def _refuse(self: DistributedValues, _other: object = None) -> NoReturn:
    raise InvalidType(
        f"A {type(self).__name__} has no arithmetic: it holds one value per replica, and here it is not known which "
        f"one is meant. Use strategy.reduce(...) or strategy.experimental_local_results(...), or compute in a replica "
        f"function."
    )


@final
class PerReplica(DistributedValues):
    """One value for each local replica; they may differ.  Compared by identity.

    values: the components, in rank order. `strategy.run` returns one, and `strategy.reduce` combines its components.
    Operators and conversions raise InvalidType, since they do not name a replica.

    >>> PerReplica([1.0, 2.0])
    PerReplica:{
      0: 1.0,
      1: 2.0
    }
    """

    __slots__ = ()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
    __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _refuse
    __float__ = __int__ = __index__ = __bool__ = __len__ = __iter__ = _refuse

    def here(self) -> Any:
        """Returns the component of the running replica, if the profile allows captured values (TF2).

        Raises InvalidType outside replica functions and under other profiles.
        """
        mode: Mode | None = MODE.get()
        if mode is None or not mode.takes_captured:
            raise InvalidType(
                "It looks like you are using a PerReplica object where the value of one replica is needed. Pass it to "
                "the replica function as an argument, strategy.run(fn, args=(value,)), or take its components with "
                "strategy.experimental_local_results(value)."
            )
        return self.component(mode.index)

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.here(), dtype, copy=copy)


def _unary(function: Callable[[Any], Any]) -> Callable[["Mirrored"], Any]:
    return lambda self: function(self.here())


def _binary(function: Callable[[Any, Any], Any]) -> Callable[["Mirrored", Any], Any]:
    return lambda self, other: function(self.here(), other.here() if isinstance(other, Mirrored) else other)


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[["Mirrored", Any], Any]:
    return lambda self, other: function(other, self.here())


@final
class Mirrored(DistributedValues):
    """One value for each local replica; all are equal.  Compared by identity.

    values: the components, in rank order. Operators, indexing and conversions are those of the component that `here`
    returns.

    >>> Mirrored([2.0, 2.0]) + 1
    3.0
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
        """Returns the component of the running replica; outside replica functions the first one."""
        mode: Mode | None = MODE.get()
        return self.component(0 if mode is None else mode.index)

    @property
    def shape(self) -> Any:
        """The shape of the component."""
        return self.here().shape

    @property
    def dtype(self) -> Any:
        """The dtype of the component, an object of its framework."""
        return self.here().dtype

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.here(), dtype, copy=copy)


class Component(LocalValue):
    """One component of a container, such as a variable.  `regroup` replaces all components by the container.

    Abstract, like `DistributedValues`. container: the whole. index: the local replica of this component.
    """

    __slots__ = ("container", "index")
    container: Any
    index: int


def select(index: int, nest: Any) -> Any:
    """Returns a nest for one local replica: its component in place of each distributed value.

    Raises InvalidArgument for a value that has no component for it.

    >>> select(1, {"x": PerReplica([1.0, 2.0]), "y": 3.0})
    {'x': 2.0, 'y': 3.0}
    """
    if isinstance(nest, DistributedValues):
        return nest.values[index] if index < len(nest.values) else nest.component(index)
    kind = tree.kind_of(type(nest))
    if kind == "leaf":
        return nest
    if kind == "sequence":
        return tree.rebuild_sequence(type(nest), [select(index, item) for item in nest])
    return tree.rebuild_mapping(type(nest), tuple(nest), [select(index, item) for item in nest.values()])


def component_rows(values: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
    """Returns [replicas][values]: the components of distributed values, or [] if one is no distributed value.

    Faster than `select` for each replica.
    """
    columns = [value.values for value in values if isinstance(value, DistributedValues)]
    if len(columns) < len(values) or any(len(column) != count for column in columns):
        return []
    return list(zip(*columns, strict=True))


def regroup(
    nests: Sequence[Any], *, always_wrap: bool = False, wrap: Callable[[Sequence[Any]], Any] = PerReplica
) -> Any:
    """Combines the nests of the local replicas to one nest of distributed values.

    wrap: makes one value of a leaf's components. A leaf that is the same object on every replica, or the leaf of a
    single replica, is not wrapped, unless `always_wrap`. All components of one variable become the variable. The
    types and the order of keys are those of the first replica. Raises InvalidArgument with the first place where the
    structures differ. Clauses: V-2, V-3. Source: TensorFlow 1.15.5 and 2.21.0, as recorded.

    >>> regroup([{"loss": 1.0, "step": [7]}, {"loss": 2.0, "step": [7]}])["loss"].values
    (1.0, 2.0)
    """
    return _regroup(list(nests), always_wrap, wrap, "result")


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
