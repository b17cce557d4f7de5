"""What a script's run with a planted fault left behind, judged: how its replicas ended, and what they hold.

A launcher ends the others where one replica fails, so what is demanded of these is that they end, and that a job which
has lost a replica does not end as if all was well. What a script itself raises is its own answer to a fault.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.fault_plan import WORDS
from simstrategy.check.injection import Fault
from simstrategy.check.scripts.facts import Ended, Ending, ScriptRun, Value

__all__ = ["Aftermath", "aftermath_of"]

Host = np.ndarray[Any, Any]

_LINES_MAX: Final = 6
_NOT_FINITE: Final = ("inf", "inf in its input")
_NAMED_MAX: Final = 3


class Aftermath(NamedTuple):
    """problem, undecided: sentences, or None.  notes: what is worth knowing and breaks no law."""

    problem: str | None = None
    undecided: str | None = None
    notes: tuple[str, ...] = ()


def aftermath_of(fault: Fault, clean: ScriptRun, found: ScriptRun) -> Aftermath:
    """Returns what is to be stated of a run with a fault.  clean: a run without one."""
    assert clean.ended is not None
    assert found.ended is not None
    ended = found.ended
    undecided = _busy(fault, ended)
    problem = _not_ended(fault, ended)
    if problem is None and undecided is None:
        if fault.kind in _NOT_FINITE:
            problem = _after_inf(fault, clean.ended, ended)
        else:
            problem = _after_loss(fault, clean.ended, ended)
    return Aftermath(problem, None if problem else undecided, tuple(_notes(fault, ended)))


def _busy(fault: Fault, ended: Ended) -> str | None:
    """Returns which replica may not have received the failure, because it computed all the time."""
    for replica, one in enumerate(ended.endings):
        if one.is_forced and one.was_busy and replica != fault.replica:
            return f"replica {replica} computes for longer than the run waits for it"
    return None


def _not_ended(fault: Fault, ended: Ended) -> str | None:
    """Returns which replica goes on where it should end, or ends without a named error."""
    forced = {replica for replica, one in enumerate(ended.endings) if one.is_forced}
    if ended.finding == "overdue" and (fault.kind != "stopped" or forced - {fault.replica}):
        return f"it hangs: {_short(ended.text)}"
    for replica, one in enumerate(ended.endings):
        if replica == fault.replica:
            continue
        if one.is_forced and not one.was_busy:
            where = f", whose error it catches at {one.caught}" if one.caught else ""
            return f"replica {replica} does not end after the failure{where}"
        if one.code < 0 and not one.is_forced:
            return f"replica {replica} {one.text}, without an error that names the failure"
    return None


def _after_inf(fault: Fault, clean: Ended, found: Ended) -> str | None:
    """Returns whether only some replicas skip a step when one of them has a value that is not finite."""
    if found.finding in ("disagreement", "blocked"):
        return f"only some replicas skip a step where a value of one is not finite: {_short(found.text)}"
    if any(one.code for one in found.endings):
        return None  # the script's own answer
    steps = [one.steps for one in found.endings]
    if len(set(steps)) > 1 and len({one.steps for one in clean.endings}) == 1:
        return f"only some replicas skip a step where a value of one is not finite: they make {steps} steps"
    before = {one.path: one for one in clean.values}
    unequal = [one for one in found.values if _is_equal(before.get(one.path)) and not _is_equal(one)]
    if not unequal:
        return None
    names = ", ".join(one.path for one in unequal[:_NAMED_MAX])
    replica, place = _first_difference(unequal[0])
    values = [str(copy.reshape(-1)[place]) for copy in (unequal[0].copies[0], unequal[0].copies[replica])]
    return (
        f"what the replicas decide by a value that is not finite is not reduced: {names} not equal on all replicas any "
        f"more, element {place} is {values[0]} on replica 0 and {values[1]} on replica {replica}. Combine the "
        f"decision, such as a scale or a skipped step, with an all_reduce"
    )


def _after_loss(fault: Fault, clean: Ended, found: Ended) -> str | None:
    """Returns whether a job ends as if all was well, or goes on with other calls, after one replica has failed."""
    own = found.endings[fault.replica]
    if fault.kind == "exception" and found.finding in ("disagreement", "blocked") and own.caught:
        return (
            f"the exception is caught at {own.caught}, and the replica goes on without the call that the others make: "
            f"{_short(found.text)}. Raise it again, or let all replicas decide together"
        )
    if any(one.code for one in found.endings):
        return None
    different = _different(clean, found)
    if different is None and found.finding is None:
        return None  # handled: all ended with what a run without the fault gives
    places = [f"replica {rank} catches the error at {one.caught}" for rank, one in _catching(found)]
    texts = [*places, *([different] if different else [])]
    return f"every replica ends with exit code 0 although replica {fault.replica} failed: {'; '.join(texts)}"


def _different(clean: Ended, found: Ended) -> str | None:
    """Returns what of the end is another value than in the run without a fault, in words."""
    values = {one.path: one for one in found.values}
    for one in clean.values:
        other = values.get(one.path)
        if other is None:
            return f"{one.path} is missing in the end"
        if len(one.copies) != len(other.copies) or not all(map(_same, one.copies, other.copies)):
            return f"{one.path} is not what it is without the fault"
    return None


def _notes(fault: Fault, ended: Ended) -> Iterator[str]:
    """Yields who has lost another replica and ends with exit code 0, where that replica's own code is not 0."""
    if ended.finding is None or not ended.endings[fault.replica].code:
        return
    for replica, one in _catching(ended):
        if replica != fault.replica and not one.code:
            yield (
                f"With {WORDS[fault.kind]}, number {fault.replica}, replica {replica} catches the error at "
                f"{one.caught} and ends with exit code 0; the job ends with the code of the other one."
            )


def _catching(ended: Ended) -> Iterator[tuple[int, Ending]]:
    return ((replica, one) for replica, one in enumerate(ended.endings) if one.caught)


def _is_equal(value: Value | None) -> bool:
    """Returns whether all replicas hold one value."""
    return value is not None and all(_same(one, value.copies[0]) for one in value.copies)


def _same(one: Host, other: Host) -> bool:
    """Returns whether two arrays […] are one value; every NaN is one."""
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    return one.tobytes() == other.tobytes() or (one.dtype.kind in "fc" and np.array_equal(one, other, equal_nan=True))


def _first_difference(value: Value) -> tuple[int, int]:
    """Returns the first replica that holds another value than replica 0, and the first element that differs."""
    first = value.copies[0].reshape(-1)
    for replica, copy in enumerate(value.copies):
        flat = copy.reshape(-1)
        if not _same(copy, value.copies[0]) and len(flat) == len(first):
            is_same = (first == flat) | ((first != first) & (flat != flat))
            return replica, int(np.flatnonzero(~is_same)[0])
    return 0, 0


def _short(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:_LINES_MAX])
