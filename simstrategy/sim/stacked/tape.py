"""The tape of a step: the calls that it makes on arrays of one rank, in order, recorded without values.

Every recorded array has an example, an array of zeros of one rank's form: a call runs on examples first, so its errors
and the form of its result are those of the tasks. How a call is computed for all ranks is in `rules.py`.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.errors import CannotCompile
from simstrategy.sim.arrays import Host, SimArray
from simstrategy.values import DistributedValues

__all__ = ["TOGETHER", "Call", "Recorded", "Tape", "filled", "recorded_in"]

TOGETHER: Final = "together"
"""The rule of calls that take the arrays of all ranks, and whose result is the same on all."""
_NESTS: Final = (list, tuple)


class Recorded:
    """An array of a tape: `slot` is its place there, `example` one rank's array of its form.

    Abstract: `traced.TracedArray` is what the step sees.
    """

    __slots__ = ("example", "slot", "tape")
    example: SimArray
    slot: int
    tape: "Tape"


class Call(NamedTuple):
    """One call.  rule: how it is computed for all ranks, a name of `rules.py`."""

    rule: str
    function: Callable[..., Any]
    """Of one rank's arrays; with the rule `TOGETHER`, of an array [ranks, ...]."""
    arguments: tuple[Any, ...]
    """Nests with `Recorded` in the place of arrays."""
    settings: Mapping[str, Any]
    results: tuple[int, ...]
    """The slots of its results."""
    has_one: bool
    """Whether the function returns one array, and not several."""
    example: SimArray
    """Of the first result; of several that is rarely of use."""


@final
class Tape:
    """The calls of one step.

    kind: the class of arrays on the first device. made: makes the step's array of a tape, a slot and an example.
    """

    def __init__(self, kind: type[SimArray], made: Callable[["Tape", int, SimArray], Recorded]) -> None:
        self.calls: list[Call] = []
        self.constants: dict[int, SimArray] = {}
        """Arrays that are known, and the same on all ranks, by slot."""
        self.size = 0
        """How many slots there are."""
        self._kind = kind
        self._made = made

    def add(self, example: SimArray) -> Any:
        """Returns a new array of an example's form [...], without a value."""
        self.size += 1
        return self._made(self, self.size - 1, example)

    def constant(self, value: Host) -> Any:
        """Returns an array [...] that is the same on all ranks.  value: not used by the caller afterwards."""
        array = np.asarray(value)
        array.setflags(write=False)
        found = self.add(_zeros(array.shape, array.dtype, self._kind))
        self.constants[found.slot] = array.view(self._kind)
        return found

    def argument(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Returns an array of a form, for an argument of the program."""
        return self.add(_zeros(shape, dtype, self._kind))

    def call(self, rule: str, function: Callable[..., Any], *given: Any, **settings: Any) -> Any:
        """Records a call, and returns its result or results.  Raises what the function raises for examples."""
        arguments = tuple([_argument(one) for one in given])
        settings = {name: _argument(one) for name, one in settings.items()}
        self.require_own((arguments, settings))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zeros in place of values
            found = function(*_examples(arguments), **_examples(settings))
        several = isinstance(found, _NESTS)
        examples = [np.asarray(one).view(self._kind) for one in (found if several else [found])]
        if not recorded_in((arguments, settings)):
            values = [self.constant(np.array(one)) for one in examples]
            return type(found)(values) if several else values[0]
        results = [self.add(one) for one in examples]
        slots = tuple([one.slot for one in results])
        example = examples[0] if examples else _zeros((), np.dtype(np.float32), self._kind)
        self.calls.append(Call(rule, function, arguments, settings, slots, not several, example))
        return type(found)(results) if several else results[0]

    def together(self, function: Callable[..., Host], array: Recorded, example: SimArray, **settings: Any) -> Any:
        """Records a call that takes the arrays of all ranks, and returns its result, of the example's form [...]."""
        self.require_own(array)
        found = self.add(example)
        self.calls.append(Call(TOGETHER, function, (array,), settings, (found.slot,), True, example))
        return found

    def require_own(self, nest: Any) -> None:
        """Raises CannotCompile where an array of a nest is of another tape: its slot is another array in this one."""
        for one in recorded_in(nest):
            if one.tape is not self:
                raise CannotCompile(
                    f"The step takes {one!r} that was kept from an earlier call of the step, or is of another one, and "
                    f"has no value in this one. Make it anew in each call, or outside of the step."
                )


def _zeros(shape: Sequence[int], dtype: np.dtype[Any], kind: type[SimArray]) -> SimArray:
    return np.zeros(shape, dtype).view(kind)


def _argument(value: Any) -> Any:
    """Returns an argument as a tape keeps it: of what is mirrored one, and a copy of what the program may write to."""
    if type(value) in _NESTS:
        return type(value)([_argument(one) for one in value])
    if isinstance(value, DistributedValues):
        return value.here()
    return value.copy(order="K") if isinstance(value, np.ndarray) else value


def _examples(nest: Any) -> Any:
    return filled(nest, lambda one: one.example)


def filled(nest: Any, value_of: Callable[[Recorded], Any]) -> Any:
    """Returns lists, tuples and a dict of arguments with a value in the place of each recorded array."""
    if isinstance(nest, Recorded):
        return value_of(nest)
    if type(nest) in _NESTS:
        return type(nest)([filled(one, value_of) for one in nest])
    return {name: filled(one, value_of) for name, one in nest.items()} if isinstance(nest, dict) else nest


def recorded_in(nest: Any) -> list[Recorded]:
    """Returns the recorded arrays of arguments, in order."""
    found: list[Recorded] = []
    filled(nest, found.append)
    return found
