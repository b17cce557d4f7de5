"""What a compiled step is given: arrays that replicas have of one form, and what is the same for all.

It knows arguments and their forms; programs are made and run in `compiling.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.values import DistributedValues, component_rows, select

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["Constant", "Given", "Usual", "given_to"]

Form = tuple[tuple[int, ...], str]


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument that is part of the program: no array, and the same on all ranks."""

    value: Any


@dataclass(frozen=True, slots=True)
class _Input:
    """An argument that is an array on each local rank, all of one form."""

    arrays: tuple[Array, ...]
    form: Form


_UNEQUAL: Final = Constant("replicas have different ones")


@final
class Given:
    """The arguments of one call, as equal on all replicas as a program needs them."""

    __slots__ = ("arrays", "forms", "inputs", "structure")

    def __init__(self, structure: tree.Structure | None, inputs: "Sequence[_Input | Constant]") -> None:
        self.structure = structure
        """Of one rank's arguments."""
        self.inputs = inputs
        taken = [one for one in inputs if isinstance(one, _Input)]
        self.arrays = [one.arrays for one in taken]
        """The local ranks' arrays of each input that is one."""
        self.forms: tuple[Form, ...] = tuple([one.form for one in taken])

    @property
    def key(self) -> Any:
        """What programs differ by.  Hashed, it raises TypeError for a constant that cannot be."""
        kinds = tuple([isinstance(one, _Input) for one in self.inputs])
        constants = tuple([(type(one.value), one.value) for one in self.inputs if isinstance(one, Constant)])
        return (self.structure, kinds, self.forms, constants)


def given_to(engine: "Engine", args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Given | None:
    """Returns what replicas are given, on their devices; None where it is not equal enough for one program."""
    structure, columns = _columns(engine, args, dict(kwargs))
    inputs = None if columns is None else [_as_input(engine, column) for column in columns]
    if inputs is None or any(one is _UNEQUAL for one in inputs):
        return None
    return Given(structure, inputs)


_Last = tuple[set[type], list[list[object]], Any]
"""What is known of a call: its arrays' types, their forms, and `what`."""
_NOTHING: Final[_Last] = (set(), [], None)


@final
class Usual:
    """The arguments of the last call, where each was an array on every replica: steps mostly get such ones again.

    They are known by what one C call each tells; `what` is whatever the caller makes of them.
    """

    __slots__ = ("_form", "_last")

    def __init__(self, form: Callable[[Array], object]) -> None:
        self._form = form
        self._last = _NOTHING

    def known(self, args: tuple[Any, ...]) -> tuple[Any, list[tuple[Array, ...]]] | None:
        """Returns `what` and each argument's arrays, if all are of the forms and on the devices of the last call's."""
        kinds, forms, what = self._last
        if not args or len(args) != len(forms):
            return None
        found, form = [], self._form
        for one, wanted in zip(args, forms, strict=True):
            if not isinstance(one, DistributedValues) or not kinds.issuperset(map(type, one.values)):
                return None
            if list(map(form, one.values)) != wanted:
                return None
            found.append(one.values)
        return what, found

    def keep(self, args: tuple[Any, ...], given: Given, what: Any) -> None:
        """Remembers a call, if its arguments are nothing but arrays that were taken as they are."""
        self._last = _NOTHING
        values = [one.values for one in args if isinstance(one, DistributedValues)]
        if len(values) != len(args) or len(values) != len(given.arrays):
            return
        pairs = zip(values, given.arrays, strict=True)
        if all(len(own) == len(taken) and all(map(is_, own, taken)) for own, taken in pairs):
            kinds = {type(one) for own in values for one in own}
            self._last = (kinds, [list(map(self._form, own)) for own in values], what)


def _columns(
    engine: "Engine", args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tree.Structure | None, list[tuple[Any, ...]] | None]:
    """Returns the structure of one rank's arguments, and each leaf's values; no values where ranks differ in it."""
    rows = [] if kwargs else component_rows(args, len(engine.local_devices))
    columns = list(zip(*rows, strict=True))
    if columns and all(isinstance(one, engine.array_types) for column in columns for one in column):
        return tree.flatten((rows[0], {}))[1], columns
    own = [tree.flatten(select(index, (args, kwargs))) for index in range(len(engine.local_devices))]
    structure = own[0][1]
    same = all(other == structure for _, other in own)
    return structure, list(zip(*(leaves for leaves, _ in own), strict=True)) if same else None


def _as_input(engine: "Engine", column: tuple[Any, ...]) -> _Input | Constant:
    """Returns local ranks' arrays, a constant, or _UNEQUAL."""
    first = column[0]
    kinds = (*engine.array_types, np.ndarray, np.generic)
    if not isinstance(first, kinds):
        return Constant(first) if all(one is first or _same(one, first) for one in column) else _UNEQUAL
    if not all(isinstance(one, kinds) for one in column):
        return _UNEQUAL
    arrays, forms = [], []
    for index, (one, device) in enumerate(zip(column, engine.local_devices, strict=True)):
        array = one if isinstance(one, engine.array_types) else engine.adopt(one, index)
        shape, dtype, placement = engine.spec(array)
        arrays.append(array if placement == device.placement else engine.adopt(array, index))
        forms.append((shape, dtype))
    return _Input(tuple(arrays), forms[0]) if forms.count(forms[0]) == len(forms) else _UNEQUAL


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, (bool, int, float, complex, str)) and one == other
