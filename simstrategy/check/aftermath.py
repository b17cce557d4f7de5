"""What a run with a planted fault leaves behind, judged: errors, components of variables, and the next run."""

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from simstrategy.check.attempts import Attempt, Components, Run
from simstrategy.check.injection import Fault, InjectedFault, ReplicaKilled
from simstrategy.errors import ReplicasBlocked, ReplicasDisagree, SimStrategyError
from simstrategy.short_repr import error_notes, error_text

__all__ = ["clean_leaves", "first_problem", "survivors_problem"]

Host = np.ndarray[Any, Any]

_CORE: Final = Path(__file__).parents[1]
_PLANTED: Final = (InjectedFault, ReplicaKilled)
_OWN_CODE: Final = ("merge_call", "update")
"""Calls whose answer is made by the user's function: its exception has no note of the call."""


def clean_leaves(clean: Attempt) -> dict[str, Host]:
    """Returns the values that two runs without a fault, on one strategy, give alike: a retry gives them as well."""
    again = dict(clean.again.leaves)
    return {path: one for path, one in clean.first.leaves if path in again and _same(one, again[path])}


def first_problem(fault: Fault, clean: Attempt, found: Attempt, kind: str) -> str | None:
    """Returns what is wrong after a fault, as a sentence; None where nothing is.

    clean: a run without a fault, and the next one. kind: of the request at the fault's point.
    """
    if fault.kind == "slow":
        return _changed(clean.first, found.first)
    problems = [
        None if found.lost is None else f"the exception is lost: {found.lost} catches it, and no error is raised",
        _unnamed(fault, found.first.error, kind),
        _half_written(clean.first.variables, found.first.variables),
        _some_skip(clean, found) if fault.kind.startswith("inf") else None,
        _retried(clean, found.again),
    ]
    return next((text for text in problems if text is not None), None)


def survivors_problem(fault: Fault, found: Sequence[Attempt]) -> str | None:
    """Returns what is wrong on the other workers after one died.  found: of each worker."""
    others = [one for worker, one in enumerate(found) if worker != fault.replica]
    for one in others:
        text = _unnamed(fault, one.first.error, "")
        if text is not None:
            return text
    if {one.first.error is None for one in others} == {True, False}:
        return "some workers raise, and others do not"
    rows = zip(*[one.first.variables for one in others], strict=False)
    together = [
        first._replace(values=tuple(one.values[0] for one in row), writes=tuple(w for one in row for w in one.writes))
        for row in rows
        for first in row[:1]
    ]
    return _half_written((), together)


def _unnamed(fault: Fault, error: BaseException | None, kind: str) -> str | None:
    """Returns why an error does not name what happened; None for no error, which the program has handled."""
    if error is None:
        return None
    if isinstance(error, ReplicasBlocked):
        return f"it hangs: {_text(error)}"
    if isinstance(error, _PLANTED):
        notes = "\n".join(error_notes(error))
        wanted = "In the answer to" if fault.kind == "answer" else f"In replica {fault.replica}:"
        named = wanted in notes or (fault.kind == "answer" and kind in _OWN_CODE)
        return None if named else f"{type(error).__name__} comes out without a note that names the replica and the line"
    # What the program raises itself is its own answer to the fault.
    last = Path(list(traceback.walk_tb(error.__traceback__))[-1][0].f_code.co_filename)
    if any(isinstance(one, (SimStrategyError, *_PLANTED)) for one in _chain(error)) or _CORE not in last.parents:
        return None
    return f"an error of {last.relative_to(_CORE.parent)} comes out that does not name the fault: {_text(error)}"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _half_written(clean: Sequence[Components], found: Sequence[Components]) -> str | None:
    """Returns which variable was written by some replicas only, unless that is so without a fault."""
    for number, one in enumerate(found):
        if not one.together or (number < len(clean) and _unequal(clean[number]) is not None):
            continue
        replica = _unequal(one)
        if replica is not None:
            return (
                f"variable {one.name!r} is half-written: replica {replica} holds another value than the first one, and "
                f"a retry would begin with it"
            )
    return None


def _unequal(one: Components) -> int | None:
    return next((rank for rank, value in enumerate(one.values) if not _same(value, one.values[0])), None)


def _some_skip(clean: Attempt, found: Attempt) -> str | None:
    """Returns whether only some replicas skip a step when one of them has a value that is not finite."""
    error = found.first.error
    if clean.first.error is None and isinstance(error, ReplicasDisagree):
        return f"only some replicas skip a step where a value is not finite: {_text(error)}"
    if error is not None:
        return None
    for one, other in zip(clean.first.variables, found.first.variables, strict=False):
        if len(set(one.writes)) == 1 and len(set(other.writes)) > 1:
            return (
                f"only some replicas skip a step where a value is not finite: they write variable {one.name!r} "
                f"{list(other.writes)} times"
            )
    return None


def _changed(clean: Run, found: Run) -> str | None:
    if found.error is not None:
        return None if clean.error is not None else f"raises {_text(found.error)}"
    return _different(dict(clean.leaves), found, "a slow replica changes")


def _retried(clean: Attempt, again: Run) -> str | None:
    """Returns how the next run of the program on the same strategy differs from one where nothing failed before."""
    if clean.again.error is not None:
        return None
    if again.error is not None:
        return f"the next run of the program on the same strategy raises {_text(again.error)}"
    return _different(clean_leaves(clean), again, "the next run of the program on the same strategy changes")


def _different(expected: dict[str, Host], found: Run, what: str) -> str | None:
    values = dict(found.leaves)
    for path, value in expected.items():
        if path not in values:
            return f"{what} the result: {path} is missing"
        if not _same(value, values[path]):
            return f"{what} {path}: {_short(values[path])} against {_short(value)}"
    return None


def _same(one: Host, other: Host) -> bool:
    return (one.shape, one.dtype) == (other.shape, other.dtype) and one.tobytes() == other.tobytes()


def _short(value: Host) -> str:
    flat = value.reshape(-1)
    return str(flat[0]) if flat.size == 1 else f"[{', '.join(map(str, flat[:3]))}{', …' if flat.size > 3 else ''}]"


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error_text(error)}"
