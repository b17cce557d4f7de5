"""Distributed values: tuples with one component for each local replica; and `select`, the nest of one replica.

`regrouping.py` combines the nests of all replicas. A `Mirrored` value is replaced
by its component where it is used; a `PerReplica` value is not. Nothing here depends on devices.
"""

import operator
from collections.abc import Callable, Hashable, Sequence
from contextvars import ContextVar
from typing import Any, Final, NoReturn, Protocol, final

import numpy as np

from simstrategy import tree
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.notebook import components_html
from simstrategy.short_repr import short_repr, stable_repr

__all__ = [
    "MODE",
    "Component",
    "DistributedValues",
    "LocalValue",
    "Mirrored",
    "Parts",
    "PerReplica",
    "component_rows",
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


class Parts(Protocol):
    """The arrays of all local replicas, which a backend's program returned together, and makes when they are read."""

    @property
    def arrays(self) -> tuple[Any, ...]:
        """In rank order: read-only, and the same ones at each reading."""
        ...

    @property
    def form(self) -> Hashable:
        """An object that is equal for two of them only where the forms of all their arrays are."""
        ...


class LocalValue:
    """A value that stands for one array where it is used: distributed values, variables and their components.

    Abstract, like `DistributedValues`.
    """

    __slots__ = ()
    here: Callable[[], Any]
    """Returns the array that the value stands for in the current mode.  A method of every final class."""


class DistributedValues(LocalValue):
    """The base class of `PerReplica` and `Mirrored`: `values`, a tuple of one component for each local replica.

    values: a list of components, in rank order. Raises InvalidType for others. Abstract; an ABC is slow in isinstance.
    """

    __slots__ = ("_values", "parts")
    parts: Parts | None
    """What the components are made of, where a program returned them together; else None."""

    # Makes NumPy's operators call ours instead of making an array of objects.
    __array_ufunc__ = None
    _repr_html_ = components_html

    def __init__(self, values: Sequence[Any]) -> None:
        if not isinstance(values, (tuple, Sequence)) or isinstance(values, (str, bytes)):  # the ABC is slow
            raise InvalidType(
                f"A {type(self).__name__} takes a list of values, one per replica, got {short_repr(values)}. Pass a "
                f"list."
            )
        self._values: tuple[Any, ...] | None = tuple(values)
        self.parts = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The components, in rank order."""
        found = self._values
        if found is None:
            assert self.parts is not None  # one of the two is there
            found = self._values = self.parts.arrays
        return found

    def __reduce__(self) -> Any:
        return (type(self), (self.values,))

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

    values: in rank order. `strategy.run` returns one, `strategy.reduce` combines it; its operators raise InvalidType.

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

    @classmethod
    def of(cls, parts: Parts) -> "PerReplica":
        """Returns the value of arrays that a program returned together: for the modules that run programs."""
        found = cls.__new__(cls)
        found._values, found.parts = None, parts  # noqa: SLF001 - this class's own
        return found

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

    Raises InvalidArgument for a value that has no component for it, and for a nest that contains itself.

    >>> select(1, {"x": PerReplica([1.0, 2.0]), "y": 3.0})
    {'x': 2.0, 'y': 3.0}
    """
    try:
        return _select(index, nest)
    except RecursionError:
        raise tree.too_deep() from None


def _select(index: int, nest: Any) -> Any:
    if isinstance(nest, DistributedValues):
        return nest.values[index] if index < len(nest.values) else nest.component(index)
    kind = tree.kind_of(type(nest))
    if kind == "leaf":
        return nest
    if kind == "sequence":
        return tree.rebuild_sequence(type(nest), [_select(index, item) for item in nest])
    return tree.rebuild_mapping(type(nest), tuple(nest), [_select(index, item) for item in nest.values()])


def component_rows(values: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
    """Returns [replicas][values]: the components of distributed values, or [] if one is no distributed value.

    Faster than `select` for each replica.
    """
    columns = [value.values for value in values if isinstance(value, DistributedValues)]
    if len(columns) < len(values) or any(len(column) != count for column in columns):
        return []
    return list(zip(*columns, strict=True))
