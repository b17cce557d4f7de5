"""The variables that a program makes in the scope of an observed strategy: their values, and what replicas write.

A mirrored variable has a component on each replica. A write inside a replica function to one without an aggregation
changes that replica's component alone.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any, Final, NamedTuple, final

import keras  # type: ignore[import-untyped]
import numpy as np
import tensorflow as tf

from simstrategy.check.outcome import VariableKind
from simstrategy.device.perturbed import perturb
from simstrategy.trace import describe_site
from simstrategy_tf_distribute.lines import Lines, Site

__all__ = ["MOVABLE", "WRITES", "Kept", "Variables", "is_own", "name_of", "nudged_variables", "watched"]

Host = np.ndarray[Any, Any]

MOVABLE: Final = (tf.float16, tf.float32, tf.float64)
"""The dtypes of values that can be changed by one ulp."""

WRITES: Final = ("assign", "assign_add", "assign_sub")

_METRIC: Final = "it is the state of a Keras metric, whose result is compared where the program returns it"

OnWrite = Callable[[int, str, str, Any, FrameType], None]
"""Receives the replica, the variable's name, the operation, the component and the caller's frame."""


class Kept(NamedTuple):
    """What the variables hold when a program has ended: leaves, kinds and exemptions of an `Outcome`."""

    leaves: tuple[tuple[str, Host], ...]
    kinds: tuple[VariableKind, ...]
    exempt: tuple[tuple[str, str], ...]


def name_of(variable: Any) -> str:
    """Returns a variable's name, which need not be unique."""
    return str(variable.name).removesuffix(":0")


def is_own(variable: Any) -> bool:
    """Returns whether each replica has a component of its own, which are combined where the variable is read."""
    return variable.synchronization is tf.VariableSynchronization.ON_READ


@final
class Variables:
    """All variables of one run, in the order in which they were made.

    on_write: is called after each write of one replica's component inside a replica function; None for no one. lines:
    finds the lines of writes to what is combined where it is read.
    """

    on_any_write: OnWrite | None = None
    """Is called after each write of a component, also of one outside replica functions."""

    def __init__(self, on_write: OnWrite | None, lines: Lines) -> None:
        self.made: list[Any] = []
        self.made_at: list[Site | None] = []
        """The user's line that made each of them; None where libraries alone did."""
        self.layers: list[Any] = []
        """The layers of Keras that have made some of them, also where the program does not return their model."""
        self._metrics: list[Any] = []
        self._on_write = on_write
        self._lines = lines
        self._written: dict[tuple[int, str, Site], None] = {}
        """The numbers of variables that replicas write alone, with the operations and lines, in order."""
        self._read: dict[Site, dict[int, None]] = {}
        """At which line which of them are combined."""

    def reads(self, variable: Any, site: Site) -> None:
        """Notes that the components of a variable are combined at a line."""
        numbers = [number for number, one in enumerate(self.made) if one is variable]
        self._read.setdefault(site, {}).update(dict.fromkeys(numbers))

    def combined(self) -> dict[Site, tuple[str, ...]]:
        """Returns for each line that combines components which replicas write how they write them, as texts."""
        found: dict[Site, tuple[str, ...]] = {}
        for place, numbers in self._read.items():
            found[place] = tuple(
                [
                    f"{name_of(self.made[number])!r} by {operation} at {describe_site(site)}"
                    for number, operation, site in self._written
                    if number in numbers
                ]
            )
        return found

    def scope(self) -> Any:
        """Returns a context, to be entered inside of a strategy's scope, in which new variables are noted."""
        return tf.variable_creator_scope(self._create)

    def title(self, variable: Any) -> str:
        """Returns a variable's name, with its number where another one has the same name."""
        name = name_of(variable)
        same = [number for number, one in enumerate(self.made) if name_of(one) == name]
        number = next((number for number in same if self.made[number] is variable), None)
        return name if number is None or number == same[0] else f"{name} (variable {number})"

    def has(self, variable: Any) -> bool:
        return any(variable is one for one in self.made)

    def of_metric(self, variable: Any) -> bool:
        """Returns whether a variable is the state of a Keras metric."""
        return any(variable is one for one in self._metrics)

    def has_floats(self) -> bool:
        """Returns whether the first value of a variable can be changed by one ulp."""
        return any(one.dtype in MOVABLE for one in self.made)

    def trained(self) -> list[Any]:
        """Returns the trainable variables, without those of metrics."""
        return [one for one in self.made if one.trainable and not self.of_metric(one)]

    def kept(self) -> Kept:
        """Returns the components of all variables, and what they are."""
        leaves, kinds, exempt = [], [], []
        for number, variable in enumerate(self.made):
            label = f"variable {number} {name_of(variable)!r}"
            kinds.append(
                VariableKind(label, "per_replica" if is_own(variable) else "mirrored", "", variable.aggregation.name)
            )
            leaves += [
                (f"{label}, replica {replica}", np.asarray(component.numpy()))
                for replica, component in enumerate(variable.values)
            ]
            if self.of_metric(variable):
                exempt.append((label, _METRIC))
        return Kept(tuple(leaves), tuple(kinds), tuple(exempt))

    def _create(self, next_creator: Callable[..., Any], **settings: Any) -> Any:
        variable = next_creator(**settings)
        if isinstance(variable, tf.distribute.DistributedValues) and not self.has(variable):
            self.made.append(variable)
            self.made_at.append(self._lines.users(sys._getframe(1)))
            if any(isinstance(one, keras.metrics.Metric) for one in _callers()):
                self._metrics.append(variable)
            layer = next((one for one in _callers() if isinstance(one, keras.layers.Layer)), None)
            if layer is not None and all(layer is not one for one in self.layers):
                self.layers.append(layer)
            if is_own(variable):
                self._watch(variable, partial(self._noted, len(self.made) - 1))
            elif self._on_write is not None:
                self._watch(variable, self._on_write)
        return variable

    def _watch(self, variable: Any, on_write: OnWrite) -> None:
        for replica, component in enumerate(variable.values):
            for operation in WRITES:
                note = partial(self._wrote, replica, name_of(variable), operation, component, on_write)
                setattr(component, operation, watched(getattr(component, operation), note))

    def _wrote(
        self, replica: int, name: str, operation: str, component: Any, on_write: OnWrite, frame: FrameType
    ) -> None:
        if not tf.distribute.in_cross_replica_context() and tf.distribute.get_replica_context() is not None:
            on_write(replica, name, operation, component, frame)
        if self.on_any_write is not None:
            self.on_any_write(replica, name, operation, component, frame)

    def _noted(self, number: int, _replica: int, _name: str, operation: str, _component: Any, frame: FrameType) -> None:
        site = self._lines.users(frame)
        if site is not None:
            self._written[number, operation, site] = None


def _callers() -> Iterator[Any]:
    """Yields the objects whose methods are running, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame.f_locals.get("self")
        frame = frame.f_back


def watched(write: Callable[..., Any], note: Callable[[FrameType], None]) -> Callable[..., Any]:
    """Returns the method of a variable or of its component, which notes each write after it was made."""

    def called(*args: Any, **settings: Any) -> Any:
        result = write(*args, **settings)
        note(sys._getframe(1))
        return result

    return called


def nudged_variables(pattern: int) -> Any:
    """Returns a context in which the initial values of new variables are changed by one ulp, in this pattern."""

    def create(next_creator: Callable[..., Any], **settings: Any) -> Any:
        initial = settings["initial_value"]
        # The components of other replicas copy the first one, which is changed already.
        if "/replica_" not in (settings.get("name") or ""):
            value = tf.convert_to_tensor(initial() if callable(initial) else initial, settings.get("dtype"))
            if tf.executing_eagerly() and value.dtype in MOVABLE:
                settings = {**settings, "initial_value": tf.constant(perturb(value.numpy(), pattern))}
        return next_creator(**settings)

    return tf.variable_creator_scope(create)
