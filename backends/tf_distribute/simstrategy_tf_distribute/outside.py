"""Variables that a program makes outside of its strategy's scope, and that replica functions write.

Such a variable is one for all replicas of a process: each replica's write is made, one after the other. Variables that
nothing writes in a replica function are not of interest here.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any, Final, NamedTuple, final

import numpy as np
import tensorflow as tf

from simstrategy.short_repr import short_repr
from simstrategy.trace import describe_site
from simstrategy_tf_distribute.lines import Lines, Site
from simstrategy_tf_distribute.variables import WRITES, name_of, watched

__all__ = ["Outside", "Shared", "hints_of"]

_HINT: Final = (
    "{name!r}, made at {made} outside of strategy.scope(), is one variable for all replicas of a process, and each "
    "replica writes it by {operation} at {site}{values}. Make it in strategy.scope(), with an aggregation."
)


class Shared(NamedTuple):
    """A variable that replicas share and write.  made, site: where it is made, and written first. value: in the end."""

    name: str
    made: Site
    operation: str
    site: Site
    value: Any


@final
class Outside:
    """Those of one run.  lines: finds call sites."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._made: list[tuple[Any, Site]] = []
        self._written: dict[int, tuple[str, Site]] = {}
        """The operation and line that write each of them first, by its number."""

    def watch(self) -> Any:
        """Returns a context in which new variables are watched."""
        return tf.variable_creator_scope(self._create)

    def shared(self) -> tuple[Shared, ...]:
        """Returns the variables that replica functions write, with what they hold now."""
        return tuple(
            [
                Shared(name_of(self._made[number][0]), self._made[number][1], *found, _value(self._made[number][0]))
                for number, found in self._written.items()
            ]
        )

    def _create(self, next_creator: Any, **settings: Any) -> Any:
        variable = next_creator(**settings)
        made = None
        if tf.executing_eagerly() and not tf.distribute.has_strategy():
            made = self._lines.users(sys._getframe(1))
        if made is not None:
            note = partial(self._wrote, len(self._made))
            self._made.append((variable, made))
            for operation in WRITES:
                write = watched(getattr(variable, operation), partial(note, operation))
                setattr(variable, operation, tf.autograph.experimental.do_not_convert(write))
        return variable

    def _wrote(self, number: int, operation: str, frame: FrameType) -> None:
        if not tf.distribute.has_strategy() or tf.distribute.in_cross_replica_context() or number in self._written:
            return
        site = self._lines.users(frame)
        if site is not None:
            self._written[number] = operation, site


def hints_of(found: Sequence[Shared], reference: Sequence[Shared] | None) -> Iterator[str]:
    """Yields a sentence for each variable of a run that holds something else than in the reference.

    reference: None where what it holds there is not known; then all are stated.
    """
    known: Mapping[tuple[str, Site], Any] = {(one.name, one.made): one.value for one in reference or ()}
    for one in found:
        before, values = known.get((one.name, one.made)), ""
        if reference is not None:
            if before is None or np.array_equal(before, one.value):
                continue
            if one.value.ndim == 0:
                shown = [short_repr(value.item()) for value in (one.value, before)]
                values = f"; in the end it is {shown[0]}, and {shown[1]} in the reference"
        sites = {"made": describe_site(one.made), "site": describe_site(one.site)}
        yield _HINT.format(name=one.name, operation=one.operation, values=values, **sites)


def _value(variable: Any) -> Any:
    return np.asarray(variable.numpy())
