"""What an answer that is not known does wrong: the first symptom that its runs show, with a hint of its own.

The symptoms stand in the order in which a student should look at them: what ends a run, then what a run returns, then
where the numbers go wrong. A hint names what was seen and where to look, and never what to write.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy_course.comparing import Host, Mismatch
from simstrategy_course.failures import failed
from simstrategy_course.lesson import Lesson
from simstrategy_course.patterns import (
    every_count,
    not_finite,
    only_other_backends,
    only_other_orders,
    only_some_counts,
    other_form,
    replicas_differ,
    same_factor,
    times,
    with_one_replica,
)
from simstrategy_course.running import Run
from simstrategy_course.verdict import Idea

__all__ = ["SYMPTOMS", "facts_of", "symptom_of"]

_ELEMENTS_MAX: Final = 4


class Symptom(NamedTuple):
    """One row.  shows: returns whether it is there, of all that differs, with all runs."""

    name: str
    shows: Callable[[Sequence[Mismatch], Sequence[Run]], bool]
    hint: str


def symptom_of(lesson: Lesson, found: Sequence[Mismatch], runs: Sequence[Run]) -> Idea | None:
    """Returns the first symptom of what differs; None where none shows.  found: at least one."""
    raised = next((one.run for one in found if one.run.failure is not None), None)
    if raised is not None and raised.failure is not None:
        return failed(raised.failure, raised.setting)
    for symptom in SYMPTOMS:
        if symptom.shows(found, runs):
            hint = symptom.hint.format(alone=lesson.alone)
            return Idea(symptom.name, "symptom", hint, facts_of(found[0]))
    return None


def facts_of(one: Mismatch) -> tuple[str, ...]:
    """Returns sentences on one thing that differs, without the right value."""
    setting = one.run.setting
    if one.run.failure is not None:
        return failed(one.run.failure, setting).facts
    if one.found is None:
        return (
            f"With {setting} there is no result {one.name!r}." if one.name else f"With {setting} it left no record.",
        )
    return (f"With {setting}, {one.name} is not right. It is {_shown(one.found)}.",)


def _shown(found: Host) -> str:
    """Returns the first elements of a value [any shape], with its shape and dtype where it is no text."""
    values = found.reshape(-1)[:_ELEMENTS_MAX].tolist()
    shown = ", ".join(f"{value:.6g}" if isinstance(value, float) else str(value) for value in values)
    if found.dtype.kind == "U":
        return shown
    if not found.ndim:
        return f"{shown} ({found.dtype.name})"
    more = ", …" if found.size > _ELEMENTS_MAX else ""
    return f"[{shown}{more}] ({found.dtype.name}, shape {list(found.shape)})"


SYMPTOMS: Final = (
    Symptom(
        "the result has another form",
        other_form,
        "Read in the docstring what the function returns: its shape and its type. A forgotten return gives None.",
    ),
    Symptom(
        "it is right on the simulator alone",
        only_other_backends,
        "Another backend gives another result. Look for what is NumPy's alone, and use the functions of ctx.xp.",
    ),
    Symptom(
        "every result has the wrong sign",
        same_factor(-1.001, -0.999),
        "The size is right with every number of replicas. Look for a difference whose sides changed places.",
    ),
    Symptom(
        "every result is zero",
        same_factor(-1e-9, 1e-9),
        "Nothing of what was computed reaches the result. Look for a return that comes too early.",
    ),
    Symptom(
        "every result is wrong by the same factor",
        same_factor(-np.inf, np.inf),
        "The factor does not depend on the replicas. Look for what is counted twice, or divided once too often.",
    ),
    Symptom(
        "some results are right, and the others are wrong by the same factor",
        same_factor(-np.inf, np.inf, every=False),
        "What is different about the data of a wrong result? Compare them with those of a right one, row by row.",
    ),
    Symptom(
        "it is wrong with one replica already",
        with_one_replica,
        "{alone} Compute it by hand for two or three rows, and compare.",
    ),
    Symptom(
        "it depends on the order of the replicas",
        only_other_orders,
        "The usual order is right, and another order of additions or of replicas is not. Look for what replicas share.",
    ),
    Symptom(
        "the replicas hold different results",
        replicas_differ,
        "Every replica should end with the same value. Look for a value that never left its replica.",
    ),
    Symptom(
        "a value is not finite",
        not_finite,
        "Look for a division by the size of one part. A part can be empty. Look for inf in a sum, too.",
    ),
    Symptom(
        "it is too large by the number of replicas",
        times(1),
        "Something that is there once counts once for each replica. Look at what enters each sum.",
    ),
    Symptom(
        "it is too small by the number of replicas",
        times(-1),
        "The number of replicas divides once too often. Look for a mean where a sum is already scaled.",
    ),
    Symptom(
        "it is right with some numbers of replicas only",
        only_some_counts,
        "Compare the sizes of the parts in a right run and in a wrong one. Equal parts hide this mistake.",
    ),
    Symptom(
        "it is right with one replica only",
        every_count,
        "Each of several replicas has a part alone. Look for a value that is of a part, and should be of all rows.",
    ),
)
