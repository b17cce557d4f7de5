"""The arguments of a compiled step: arrays of one form on all replicas, and constants that are equal on all.

Programs are made and run in `compiling.py`.
"""

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import repeat
from operator import is_
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy import tree
from simstrategy.device import Array
from simstrategy.strategy.group import Group
from simstrategy.strategy.validation import is_host_zero
from simstrategy.values import DistributedValues, Parts, select

__all__ = ["ArgumentCache", "Constant", "Identity", "StepArguments", "bind_arguments"]

Form = tuple[tuple[int, ...], str]


class Constant(NamedTuple):
    """An argument that is part of the program: no array, and the same on all ranks."""

    value: Any
    is_shared: bool
    """All replicas receive one object, and not equal ones."""


class _Input(NamedTuple):
    """An argument that is an array on each local rank, all of one form."""

    arrays: tuple[Array, ...]
    form: Form
    is_shared: bool
    """All replicas receive one object, which is no zero of the host."""


_PLAIN: Final = frozenset({bool, int, float, complex, str, bytes, type(None), tuple})
"""Types of constants that are compared by value: two of one value are the same in every program."""
_UNEQUAL: Final = Constant("replicas have different ones", is_shared=False)


@final
class StepArguments:
    """The arguments of one call, as equal on all replicas as a program needs them.

    nest: one rank's arguments, by place and by name. structure: its structure.
    """

    __slots__ = ("arrays", "forms", "inputs", "nest", "structure")

    def __init__(self, nest: Any, structure: tree.Structure | None, inputs: "Sequence[_Input | Constant]") -> None:
        self.nest = nest
        self.structure = structure
        self.inputs = inputs
        taken = [one for one in inputs if isinstance(one, _Input)]
        self.arrays = [one.arrays for one in taken]
        """The local ranks' arrays of each input that is one."""
        self.forms: tuple[Form, ...] = tuple([one.form for one in taken])

    def leaves_of(self, arrays: Sequence[Array]) -> list[Any]:
        """Returns the leaves for arrays […] in the place of the inputs."""
        left = iter(arrays)
        return [one.value if isinstance(one, Constant) else next(left) for one in self.inputs]

    def shared_of(self, leaves: Sequence[Any], others: Sequence[Any]) -> list[Any]:
        """Returns the leaves that all replicas share, and those of other objects that are no leaves."""
        shared = [leaf for one, leaf in zip(self.inputs, leaves, strict=True) if one.is_shared]
        return shared + [other for other in others if not any(other is leaf for leaf in leaves)]

    @property
    def key(self) -> Any:
        """What programs differ by.  Hashed, it raises TypeError for a constant that cannot be."""
        kinds = tuple([(isinstance(one, _Input), one.is_shared) for one in self.inputs])
        constants = tuple([_constant_key(one.value) for one in self.inputs if isinstance(one, Constant)])
        return (self.structure, _keys_of(self.nest), kinds, self.forms, constants)


def bind_arguments(group: Group, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> StepArguments | None:
    """Returns the arguments on the replicas' devices; None where one program cannot serve all replicas."""
    nest, structure, columns = _columns(group, args, dict(kwargs))
    inputs = None if columns is None else [_as_input(group, column) for column in columns]
    if inputs is None or any(one is _UNEQUAL for one in inputs):
        return None
    return StepArguments(nest, structure, inputs)


Given = tuple[Array, ...] | Parts
"""The local ranks' arrays of an argument, or what makes them."""


class _Like(NamedTuple):
    """An argument of a call: its forms, that of its parts, and its arrays."""

    forms: list[object]
    of_parts: object
    arrays: tuple[Array, ...]


_Last = tuple[set[type], list[_Like], Any]
"""A call: the types of its arrays, its arguments, and its program."""
_NOTHING: Final[_Last] = (set(), [], None)


@final
class ArgumentCache:
    """The arguments of the last call, where each was an array on every replica: steps mostly get such ones again.

    They are compared by type and form, one C call each; those that a program returned together by one form. See
    docs/caches.md for when the entry is valid.
    """

    __slots__ = ("_form", "_last")

    def __init__(self, form: Callable[[Array], object]) -> None:
        self._form = form
        self._last = _NOTHING

    def lookup(self, args: tuple[Any, ...]) -> tuple[Any, list[Given]] | None:
        """Returns the last program and each argument's arrays, if all have the forms and devices of the last call's."""
        kinds, last, program = self._last
        if program is None or len(args) != len(last):
            return None
        found: list[Given] = []
        for number, like in enumerate(last):
            one = args[number]
            if not isinstance(one, DistributedValues):
                return None
            parts, of_parts = one.parts, like.of_parts
            if parts is not None and of_parts is not None:
                if parts.form != of_parts:
                    return None
                found.append(parts)
                continue
            values = one.values
            if values is not like.arrays and (
                not kinds.issuperset(map(type, values)) or list(map(self._form, values)) != like.forms
            ):
                return None
            found.append(values)
        return program, found

    def store(self, args: tuple[Any, ...], given: StepArguments, program: Any) -> None:
        """Keeps a call, if its arguments are nothing but arrays that were taken without a copy."""
        self._last = _NOTHING
        own_values = [one for one in args if isinstance(one, DistributedValues)]
        values = [one.values for one in own_values]
        if len(values) != len(args) or len(values) != len(given.arrays):
            return
        pairs = zip(values, given.arrays, strict=True)
        if all(len(own) == len(taken) and all(map(is_, own, taken)) for own, taken in pairs):
            kinds = {type(one) for own in values for one in own}
            forms_of_parts = [None if one.parts is None else one.parts.form for one in own_values]
            likes = zip(values, forms_of_parts, strict=True)
            last = [_Like(list(map(self._form, own)), of_parts, own) for own, of_parts in likes]
            self._last = (kinds, last, program)


def _columns(
    group: Group, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tree.Structure | None, list[tuple[Any, ...]] | None]:
    """Returns one rank's arguments, their structure, and each leaf's values; no values where ranks differ in it."""
    count = len(group.local_devices)
    leaves, structure = tree.flatten((args, kwargs))
    columns = [one.values if isinstance(one, DistributedValues) else (one,) * count for one in leaves]
    distributed = [one.values for one in leaves if isinstance(one, DistributedValues)]
    if all(len(one) == count and all(map(tree.is_leaf, one)) for one in distributed):
        return (args, kwargs), structure, columns
    nests = [select(index, (args, kwargs)) for index in range(count)]
    own, keys = [tree.flatten(nest) for nest in nests], _keys_of(nests[0])
    structure = own[0][1]
    same = all(other == structure for _, other in own) and all(_keys_of(nest) == keys for nest in nests)
    return nests[0], structure, list(zip(*(leaves for leaves, _ in own), strict=True)) if same else None


def _keys_of(nest: Any) -> Hashable:
    """Returns the keys of all mappings in a nest, in their order and by type: a step may ask for both.

    Two structures are equal also where one has True in the place of 1, or its keys in another order.
    """
    kind = tree.kind_of(type(nest))
    if kind == "leaf":
        return None
    if kind == "sequence":
        return tuple(map(_keys_of, nest))
    return tuple([(_constant_key(key), _keys_of(value)) for key, value in nest.items()])


def _as_input(group: Group, column: tuple[Any, ...]) -> _Input | Constant:
    """Returns local ranks' arrays, a constant, or _UNEQUAL."""
    first = column[0]
    kinds = (*group.array_types, np.ndarray, np.generic)
    is_one = all(map(is_, column, repeat(first)))
    if is_one and isinstance(first, kinds) and not isinstance(first, group.array_types):
        return _shared(group, first)
    if not isinstance(first, kinds):
        return Constant(first, is_one) if all(one is first or _same(one, first) for one in column) else _UNEQUAL
    if not all(isinstance(one, kinds) for one in column):
        return _UNEQUAL
    arrays, forms = [], []
    for index, (one, device) in enumerate(zip(column, group.local_devices, strict=True)):
        array = one if isinstance(one, group.array_types) else group.adopt(one, index)
        shape, dtype, placement = group.spec(array)
        arrays.append(array if placement == device.placement else group.adopt(array, index))
        forms.append((shape, dtype))
    if forms.count(forms[0]) < len(forms):
        return _UNEQUAL
    return _Input(tuple(arrays), forms[0], is_shared=is_one and len(column) > 1)


def _shared(group: Group, value: Any) -> _Input:
    """Returns host data [...] that all replicas take: one array, where all devices have one memory."""
    array = group.adopt(value, 0)
    shape, dtype, _ = group.spec(array)
    count, share = len(group.local_devices), group.reductions.share
    arrays = share(array) if share is not None else tuple([group.adopt(value, index) for index in range(count)])
    return _Input(arrays, (shape, dtype), is_shared=count > 1 and not is_host_zero(value, group.array_types))


def _same(one: Any, other: Any) -> bool:
    return type(one) in _PLAIN and type(one) is type(other) and _constant_key(one) == _constant_key(other)


def _constant_key(value: Any) -> Hashable:
    """Returns what programs differ by: plain values by type and bits, so 0.0 is not -0.0; all others by identity.

    Raises TypeError for an object that cannot be hashed, since it may change.
    """
    kind = type(value)
    if kind is float:
        return kind, struct.pack("d", value)
    if kind is complex:
        return kind, struct.pack("dd", value.real, value.imag)
    if kind is tuple:
        return kind, *map(_constant_key, value)
    if kind in _PLAIN:
        return kind, value
    frozenset((value,))  # raises TypeError for what cannot be hashed
    return Identity(value)


@final
class Identity:
    """Equal only to that of the same object, which it keeps alive."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __hash__(self) -> int:
        return object.__hash__(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._value is other._value
