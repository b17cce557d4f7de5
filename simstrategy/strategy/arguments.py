"""The arguments of a compiled step: arrays of one form on all replicas, and constants that are equal on all.

Programs are made and run in `compiling.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, final

import numpy as np

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.strategy.group import Group
from simstrategy.values import DistributedValues, component_rows, select

__all__ = ["ArgumentCache", "Constant", "StepArguments", "bind_arguments"]

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
class StepArguments:
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


def bind_arguments(group: Group, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> StepArguments | None:
    """Returns the arguments on the replicas' devices; None where one program cannot serve all replicas."""
    structure, columns = _columns(group, args, dict(kwargs))
    inputs = None if columns is None else [_as_input(group, column) for column in columns]
    if inputs is None or any(one is _UNEQUAL for one in inputs):
        return None
    return StepArguments(structure, inputs)


_Last = tuple[set[type], list[list[object]], Any]
"""A call: the types of its arrays, their forms, and its program."""
_NOTHING: Final[_Last] = (set(), [], None)


@final
class ArgumentCache:
    """The arguments of the last call, where each was an array on every replica: steps mostly get such ones again.

    They are compared by type and form, one C call each. See docs/caches.md for when the entry is valid.
    """

    __slots__ = ("_form", "_last")

    def __init__(self, form: Callable[[Array], object]) -> None:
        self._form = form
        self._last = _NOTHING

    def lookup(self, args: tuple[Any, ...]) -> tuple[Any, list[tuple[Array, ...]]] | None:
        """Returns the last program and each argument's arrays, if all have the forms and devices of the last call's."""
        kinds, forms, program = self._last
        if not args or len(args) != len(forms):
            return None
        found, form = [], self._form
        for one, wanted in zip(args, forms, strict=True):
            if not isinstance(one, DistributedValues) or not kinds.issuperset(map(type, one.values)):
                return None
            if list(map(form, one.values)) != wanted:
                return None
            found.append(one.values)
        return program, found

    def store(self, args: tuple[Any, ...], given: StepArguments, program: Any) -> None:
        """Keeps a call, if its arguments are nothing but arrays that were taken without a copy."""
        self._last = _NOTHING
        values = [one.values for one in args if isinstance(one, DistributedValues)]
        if len(values) != len(args) or len(values) != len(given.arrays):
            return
        pairs = zip(values, given.arrays, strict=True)
        if all(len(own) == len(taken) and all(map(is_, own, taken)) for own, taken in pairs):
            kinds = {type(one) for own in values for one in own}
            self._last = (kinds, [list(map(self._form, own)) for own in values], program)


def _columns(
    group: Group, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tree.Structure | None, list[tuple[Any, ...]] | None]:
    """Returns the structure of one rank's arguments, and each leaf's values; no values where ranks differ in it."""
    rows = [] if kwargs else component_rows(args, len(group.local_devices))
    columns = list(zip(*rows, strict=True))
    if columns and all(isinstance(one, group.array_types) for column in columns for one in column):
        return tree.flatten((rows[0], {}))[1], columns
    own = [tree.flatten(select(index, (args, kwargs))) for index in range(len(group.local_devices))]
    structure = own[0][1]
    same = all(other == structure for _, other in own)
    return structure, list(zip(*(leaves for leaves, _ in own), strict=True)) if same else None


def _as_input(group: Group, column: tuple[Any, ...]) -> _Input | Constant:
    """Returns local ranks' arrays, a constant, or _UNEQUAL."""
    first = column[0]
    kinds = (*group.array_types, np.ndarray, np.generic)
    if not isinstance(first, kinds):
        return Constant(first) if all(one is first or _same(one, first) for one in column) else _UNEQUAL
    if not all(isinstance(one, kinds) for one in column):
        return _UNEQUAL
    arrays, forms = [], []
    for index, (one, device) in enumerate(zip(column, group.local_devices, strict=True)):
        array = one if isinstance(one, group.array_types) else group.adopt(one, index)
        shape, dtype, placement = group.spec(array)
        arrays.append(array if placement == device.placement else group.adopt(array, index))
        forms.append((shape, dtype))
    return _Input(tuple(arrays), forms[0]) if forms.count(forms[0]) == len(forms) else _UNEQUAL


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and isinstance(one, (bool, int, float, complex, str)) and one == other
