"""The state that a program keeps in no variable: arrays that it gives to each run, the same to all replicas.

What a run receives there was made by the step before. So it is a value that the program keeps, of that step.
"""

from collections.abc import Iterator
from itertools import pairwise

from simstrategy.check.causes.examples import leaves_of
from simstrategy.check.causes.facts import Host, Leaves, PointFacts
from simstrategy.trace import Recording, SyncPoint

__all__ = ["carried"]


def carried(recording: Recording) -> Iterator[PointFacts]:
    """Yields the arrays that all replicas receive alike and that are not those of the run before, in order."""
    runs = [point for point in recording.points if point.kind == "run" and point.ended]
    for before, run in pairwise(runs):
        old, new = _alike(before), _alike(run)
        if old is None or new is None or len(old) != len(new) or before.sites[:1] != run.sites[:1]:
            continue
        for was, leaf in zip(old, new, strict=True):
            if was is None or leaf is None or (was.shape, was.dtype) != (leaf.shape, leaf.dtype):
                continue
            if was.tobytes() != leaf.tobytes():  # what stays as it is was not made by a step
                terms: tuple[Leaves, ...] = tuple([(leaf,)] * len(run.inputs))
                facts = PointFacts(before.step, run.sites[0], "run", None, None, terms, (leaf,), kept=True)
                yield facts._replace(before=(was,), number=run.number)


def _alike(run: SyncPoint) -> list[Host | None] | None:
    """Returns the arrays of floats among the arguments, None for one that is not the same on all replicas."""
    rows = [leaves_of(row) for row in run.inputs]
    known = [row for row in rows if row is not None]
    if not known or len(known) < len(rows) or len({len(row) for row in known}) > 1 or not run.sites:
        return None
    return [
        leaf if leaf.dtype.kind == "f" and all(row[number].tobytes() == leaf.tobytes() for row in known) else None
        for number, leaf in enumerate(known[0])
    ]
