"""What the names of a script hold, line by line, and how the values of several replicas stand to the reference's.

It states nothing of causes: `lines.py` reads them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves
from simstrategy.check.causes.rounding import wide
from simstrategy.trace.recording import EventAt

__all__ = [
    "Change",
    "Held",
    "History",
    "Key",
    "Run",
    "Traced",
    "attributes",
    "companions",
    "event_of",
    "histories",
    "is_near",
    "rows_of",
    "unlike_in",
]

_NEAR: Final = 1e-4
"""How far values may be apart, relatively: they were computed from a state that rounding has moved."""

Key = tuple[str, tuple[str, ...], str]
"""A line, the lines that led there, and a name."""


class Held(NamedTuple):
    """A value that a name holds after a line has run.

    site: file and line, as in ``train.py:31``. callers: the lines that led there, the nearest first. name: as in
    ``loss``, ``self.total``, or ``mean()`` for what a function returns. attribute: class and name of an attribute, as
    in ``Metric.total``, or "". leaves: its numbers, [any shape] each. text: of a value that has none, else "". step: of
    the optimizers, from 1. frame: the number of the call of the function. is_graded: whether gradients may flow
    through.
    """

    site: str
    callers: tuple[str, ...]
    name: str
    attribute: str
    leaves: Leaves
    text: str
    step: int
    frame: int
    is_graded: bool

    @property
    def key(self) -> Key:
        return self.site, self.callers, self.name

    @property
    def place(self) -> str:
        """The line, with those that led there, as in ``train.py:31 (called from train.py:40)``."""
        shown = list(dict.fromkeys(one for one in self.callers if one != self.site))[:3]
        return f"{self.site} (called from {', '.join(shown)})" if shown else self.site

    @property
    def is_float(self) -> bool:
        return bool(self.leaves) and all(leaf.dtype.kind == "f" for leaf in self.leaves)

    @property
    def is_measured(self) -> bool:
        """Whether it has floats, or rows of whole numbers; other numbers may be those of ranks and sizes."""
        return any(leaf.dtype.kind == "f" or (leaf.ndim and leaf.dtype.kind in "iu") for leaf in self.leaves)

    @property
    def is_scalar(self) -> bool:
        return len(self.leaves) == 1 and self.leaves[0].size == 1


Run = Sequence[Sequence[Held]]
"""What the names held in one run: for each replica in order."""


class Change(NamedTuple):
    """A line that has written parameters, or given an optimizer another state.

    step: of the optimizers that comes next. digests: of all elements of each parameter then, as texts. is_state:
    whether it is the state of an optimizer.
    """

    site: str
    step: int
    digests: frozenset[str]
    is_state: bool = False


class Traced(NamedTuple):
    """What the names of a script held, and the lines that ran: for each replica, in order.

    lines: file and line, and the step of the optimizers that comes next. changes: of parameters and optimizers.
    """

    held: tuple[tuple[Held, ...], ...] = ()
    lines: tuple[tuple[tuple[str, int], ...], ...] = ()
    changes: tuple[tuple[Change, ...], ...] = ()

    def without(self, keys: Collection[Key]) -> "Traced":
        """Returns the same without the values of some names at some lines."""
        held = [tuple([one for one in values if one.key not in keys]) for values in self.held]
        return self._replace(held=tuple(held))


class History(NamedTuple):
    """What one name held at one line in a run: for each replica its values in order.  first: the place of the first."""

    first: int
    values: tuple[tuple[Held, ...], ...]

    @property
    def times(self) -> int | None:
        """How often, where that is equally often on all replicas."""
        found = {len(one) for one in self.values}
        return found.pop() if len(found) == 1 else None


def histories(run: Run, wanted: Callable[[Held], bool]) -> Mapping[Key, History]:
    """Returns the histories of a run, whose replicas' values are given, in the order in which the lines ran."""
    found: dict[Key, list[list[Held]]] = defaultdict(lambda: [[] for _ in run])
    places: dict[Key, int] = {}
    for rank, values in enumerate(run):
        for place, one in enumerate(values):
            if wanted(one):
                found[one.key][rank].append(one)
                places.setdefault(one.key, place)
    made = {key: History(places[key], tuple(map(tuple, values))) for key, values in found.items()}
    return dict(sorted(made.items(), key=lambda item: item[1].first))


def unlike_in(one: Run, other: Run) -> frozenset[Key]:
    """Returns which names, at which lines, have other values in two equal runs, such as times and addresses."""
    found, again = [histories(run, lambda _: True) for run in (one, other)]
    return frozenset(key for key in found if key not in again or _contents(found[key]) != _contents(again[key]))


def _contents(history: History) -> list[list[tuple[object, ...]]]:
    return [
        [(value.text, *[(leaf.dtype.str, leaf.shape, leaf.tobytes()) for leaf in value.leaves]) for value in values]
        for values in history.values
    ]


def event_of(run: Run, one: Held) -> EventAt:
    """Returns which event of the run's recording shows a value that a name held."""
    for rank, values in enumerate(run):
        turn = 0
        for other in values:
            if other is one:
                return EventAt(one.site, one.step, one.name, rank, turn)
            turn += bool(other.leaves) and (other.site, other.name) == (one.site, one.name)
    return EventAt(one.site, one.step)


def companions(run: Run, rank: int, one: Held) -> dict[str, Held]:
    """Returns what the other names of the same call of a function held last when a value was noted, by name."""
    found: dict[str, Held] = {}
    for other in run[rank]:
        if other is one:
            break
        if other.frame == one.frame and other.leaves:
            found[other.name] = other
    return found


def attributes(run: Run, rank: int, one: Held) -> dict[str, Held]:
    """Returns what attributes of objects held last when a value was noted, in any function, by class and name."""
    found: dict[str, Held] = {}
    for other in run[rank]:
        if other is one:
            break
        if other.attribute and other.leaves:
            found[other.attribute] = other
    return found


def is_near(expected: Host, found: Host) -> bool:
    """Returns whether an array [any shape] is the expected one, up to what an earlier state's rounding moves."""
    if expected.shape != found.shape:
        return False
    left, right = wide(expected), wide(found)
    finite = np.isfinite(left)
    if not np.array_equal(finite, np.isfinite(right)):
        return False
    with np.errstate(all="ignore"):
        size = float(np.abs(left[finite]).max(initial=0))
        return bool(np.abs(left - right)[finite].max(initial=0) <= _NEAR * size)


def rows_of(leaves: Leaves) -> Host:
    """Returns the rows of some leaves as one array [rows, elements], sorted; a number is a row of its own."""
    flat = [wide(leaf).reshape(len(leaf) if leaf.ndim else 1, -1) for leaf in leaves if leaf.size]
    if len({one.shape[1] for one in flat}) > 1:
        flat = [one.reshape(-1, 1) for one in flat]
    if not flat:
        return np.zeros((0, 1))
    rows = np.concatenate(flat)
    return rows[np.lexsort(rows.T[::-1])]
