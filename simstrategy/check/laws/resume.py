"""The law of resume: a run that is stopped and starts again from what it saved gives what a run without a stop gives.

A program takes part with a parameter `checkpoint` (`check/checkpoint.py`): each of its saves is a place to stop. The
new start has the saved bytes alone. It is made with the same number of replicas, and with another one.
"""

import pickle
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.across import compare_across, counted
from simstrategy.check.checkpoint import Checkpoint, takes_checkpoint
from simstrategy.check.contents import contents_of
from simstrategy.check.laws.like_first import like_first
from simstrategy.check.laws.tails import tail_of
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.runs import RepeatedRuns

__all__ = ["resume"]

_HOW: Final = (
    "the program takes no checkpoint. Define program(strategy, checkpoint), begin with checkpoint.restore(), which "
    "returns None at the first start, and call checkpoint.save(nest) after each step, with all that a new start needs"
)


class _Stopped(NamedTuple):
    """A run that saved, on a number of replicas."""

    replicas: int
    checkpoint: Checkpoint


def resume(study: RepeatedRuns) -> Iterator[Row]:
    """Yields rows for up to three places to stop at each number of replicas, and for one start with another number."""
    if not takes_checkpoint(study.program):
        row = law_row("resume", study.reference, ", ".join(map(str, study.replicas)))._replace(
            schedule="without a checkpoint"
        )
        yield not_judged(row, "no checkpoint", _HOW, asked="resume" in study.settings.asked)
        return
    for number, count in enumerate(study.replicas):
        stopped = _Stopped(count, Checkpoint())
        study.run_with(count, {"checkpoint": stopped.checkpoint})
        places = _places(stopped.checkpoint)
        other = study.replicas[(number + 1) % len(study.replicas)]
        starts = [(count, place) for place in places or [0]]
        starts += [(other, place) for place in places[len(places) // 2 :][:1] if other != count]
        for replicas, place in starts:
            row = _row(study, replicas, stopped, place)
            yield row
            if row.problem is not None:
                break  # the other places have the same cause


def _places(checkpoint: Checkpoint) -> list[int]:
    """Returns the numbers of the first save, one in the middle, and the last but one; of one save, this one."""
    numbers = [number for number in checkpoint.saved if number < checkpoint.saves] or [*checkpoint.saved]
    return list(dict.fromkeys(numbers[index] for index in (0, len(numbers) // 2, -1))) if numbers else []


def _row(study: RepeatedRuns, count: int, stopped: _Stopped, place: int) -> Row:
    saves = stopped.checkpoint.saves
    by = "" if stopped.replicas == count else f" by {counted(stopped.replicas)}"
    what = f"restored from save {place} of {saves}{by}" if place else "without a save"
    row = law_row("resume", study.reference, str(count))._replace(schedule=what)
    if place == 0:
        error = study.measured(stopped.replicas).first.error
        text = "the program saved nothing" if error is None else f"it raises {error[0]} before its first save"
        text += ": call checkpoint.save(nest) after each step"
        return row._replace(undecided=text, why="nothing was saved")
    checkpoint = Checkpoint(stopped.checkpoint.saved[place])
    other = study.run_with(count, {"checkpoint": checkpoint})
    if not checkpoint.restored:
        text = "the program saves and does not restore: begin with checkpoint.restore()"
        return row._replace(undecided=text, why="nothing was restored")
    if stopped.replicas != count:
        reason = _why_not(study, stopped.replicas, count, other)
        if reason is not None:
            return row._replace(undecided=reason, why="the number of replicas matters without a stop")
    row = like_first(
        study,
        count,
        other,
        row,
        ("the run without a stop", "the run that restored"),
        lambda one: tail_of(one, other).outcome,
    )
    row = row._replace(not_compared=row.not_compared + tail_of(study.measured(count).first, other).left)
    return _explained(row, stopped, place, checkpoint, count)


def _why_not(study: RepeatedRuns, saved_by: int, count: int, other: Outcome) -> str | None:
    """Returns why a start with another number of replicas is not judged; None where it is.

    Without a stop both numbers must give the same. A program may refuse what another number saved.
    """
    sides = [study.measured(saved_by), study.measured(count)]
    if other.error is not None and not any(side.first.error for side in sides):
        return f"with {counted(count)} it refuses what {counted(saved_by)} saved: {other.error[0]}: {other.error[1]}"
    found = compare_across(sides[0].side(saved_by), sides[1].side(count), study.settings.exempt)
    if not found.problems and not any(side.first.seeds for side in sides):
        return None
    reason = next((f"{path}: {text}" for path, text in found.problems.items()), "it draws seeds of each replica")
    return f"{counted(saved_by)} and {counted(count)} need not give the same without a stop either: {reason}"


def _explained(row: Row, stopped: _Stopped, place: int, checkpoint: Checkpoint, count: int) -> Row:
    """Returns a row with what else is known: how often the new start saved, and where its saves first differ."""
    left = stopped.checkpoint.saves - place
    if checkpoint.saves != left and not row.raised:
        text = f"it saved {checkpoint.saves} times after the restore, and {left} were left"
        if row.problem is not None:
            return row._replace(problem=f"{row.problem}\n  {text}")
        return row._replace(undecided=f"{text}: did it begin again?", why="other steps than were left")
    if row.problem is not None and stopped.replicas == count:
        found = _first_unequal(stopped.checkpoint, place, checkpoint)
        return row if found is None else row._replace(problem=f"{row.problem}\n  {found}")
    return row


def _first_unequal(whole: Checkpoint, place: int, checkpoint: Checkpoint) -> str | None:
    """Returns where the saves of the two runs first differ, as a sentence; None where they do not."""
    for number, kept in checkpoint.saved.items():
        other = whole.saved.get(place + number)
        if other is None:
            continue
        one, two = [dict(_leaves(pickle.loads(saved))) for saved in (other, kept)]  # noqa: S301 - bytes of this process
        names = [
            path.replace("result", "saved", 1)
            for path in one
            if path not in two or (one[path].dtype, one[path].tobytes()) != (two[path].dtype, two[path].tobytes())
        ]
        if names:
            return f"what it saves differs since save {place + number}: {', '.join(names[:3])}"
    return None


def _leaves(saved: Any) -> list[tuple[str, np.ndarray[Any, Any]]]:
    return contents_of(saved, np.asarray, (), lambda value: value).leaves
