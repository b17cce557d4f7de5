"""The examples of each step of a recording: of the data that was drawn, or of the arguments of a `run`."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from simstrategy.check.causes.facts import Host, Leaves
from simstrategy.trace import Recording, StepParts, SyncPoint, Value

__all__ = ["Examples", "examples_of", "leaves_of"]

Rows = tuple[tuple[str, ...], ...]


class Examples(NamedTuple):
    """The sizes of the parts of a step, and for each replica a text for each example; None where not known.

    site: the line that distributed them; "" where it is not known.
    """

    parts: tuple[int, ...] | None
    rows: Rows | None
    site: str = ""


def leaves_of(row: Sequence[Value]) -> Leaves | None:
    """Returns the arrays of a row of recorded values; None where one was not kept, or is no number."""
    found = []
    for value in row:
        array: Host | None = value.array
        if array is None or array.dtype.kind not in "biufcV":
            return None
        found.append(array)
    return tuple(found)


def examples_of(recording: Recording) -> Iterator[tuple[int, Examples]]:
    """Yields for each step the sizes of its parts and a text for each example: of the data drawn, or of arguments."""
    drawn: dict[int, list[StepParts]] = {}
    for parts in recording.parts:
        drawn.setdefault(parts.step + 1, []).append(parts)
    for point in recording.points:
        if point.kind != "run":
            continue
        given = _arguments(point)
        found = [
            Examples(
                tuple([count for _, count in parts.rows]),
                parts.digests
                if all(len(d) == n for d, (_, n) in zip(parts.digests, parts.rows, strict=True))
                else None,
                parts.site,
            )
            for parts in drawn.get(point.step, ())
        ]
        # With one replica all arrays look like examples, also a state that the step receives.
        alone = len(point.inputs) == 1
        matching = [one for one in found if given is None or alone or one.parts == given.parts]
        if len(matching) == 1 or (matching and len({one.parts for one in matching}) == 1):
            yield point.step, matching[-1]
        elif given is not None and not found:
            yield point.step, given


def _arguments(point: SyncPoint) -> Examples | None:
    """Returns the examples in the arguments of a `run`: arrays that are not the same on all replicas.

    None where there are none, where the sizes of several arrays differ, and for one replica without a sign of them.
    """
    rows = [leaves_of(row) for row in point.inputs]
    if len(rows) < 1 or any(row is None for row in rows):
        return None
    known = [row for row in rows if row is not None]
    if len({len(row) for row in known}) != 1:
        return None
    usable = [
        number
        for number in range(len(known[0]))
        if all(row[number].ndim for row in known)
        and (len(known) == 1 or any(row[number].tobytes() != known[0][number].tobytes() for row in known))
    ]
    sizes = {tuple([len(row[number]) for row in known]) for number in usable}
    if len(sizes) != 1:
        return None
    parts = sizes.pop()
    return Examples(parts, tuple([_digests([row[number] for number in usable], len(row[usable[0]])) for row in known]))


def _digests(arrays: list[Host], count: int) -> tuple[str, ...]:
    return tuple(
        [
            blake2b(
                b"\0".join([np.ascontiguousarray(array[row]).tobytes() for array in arrays]), digest_size=8
            ).hexdigest()
            for row in range(count)
        ]
    )
