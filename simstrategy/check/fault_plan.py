"""Which faults are planted, out of how many places, and the row of those of one kind.  It plants nothing.

Shared by the law of faults for programs that take a strategy and by that for scripts.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from simstrategy.check.injection import Fault, FaultKind
from simstrategy.check.row import Row
from simstrategy.schedules import Seeded

__all__ = ["WORDS", "Planted", "Tried", "row_of_faults", "spread"]

WORDS: Final[dict[FaultKind, str]] = {
    "exception": "an exception in one replica",
    "inf": "inf in one replica's value",
    "inf in its input": "inf in one replica's argument",
    "early end": "an early end of one replica",
    "slow": "a slow replica",
    "dead": "a dead replica",
    "stopped": "a stopped replica",
    "answer": "an exception out of the answer",
}
"""What rows state of each kind."""


class Planted(NamedTuple):
    """The faults of one kind, and out of how many points or runs they were chosen."""

    faults: Sequence[Fault]
    places: int
    chosen: int

    def words(self, what: str) -> str:
        unit = "argument" if what == WORDS["inf in its input"] else "point"
        every = f"each of {self.places}" if self.chosen == self.places else f"{self.chosen} of {self.places}"
        return f"{what}, at {every} {unit}{'' if self.places == 1 else 's'}"


class Tried(NamedTuple):
    """What came of one fault.  where: replica and point, in words. is_reached: whether the run came there again.

    problem, undecided: what is wrong, and what could not be judged, as sentences; None for nothing.
    """

    where: str
    is_reached: bool = True
    problem: str | None = None
    undecided: str | None = None


def spread(places: Sequence[int], most: int | None, seed: int = 0) -> Sequence[int]:
    """Returns at most so many of these, with the first and the last.

    Evenly spread for the seed 0; by another one the others are drawn, the same ones for the same seed.

    >>> spread(range(1, 11), 4)
    [1, 4, 7, 10]
    """
    if most is None or len(places) <= most:
        return places
    if most == 1:
        return places[:1]
    if seed:
        schedule, left = Seeded(seed), [*places[1:-1]]
        drawn = [left.pop(schedule.choose("point", len(left))) for _ in range(most - 2)]
        return [places[0], *sorted(drawn), places[-1]]
    return [places[round(number * (len(places) - 1) / (most - 1))] for number in range(most)]


def row_of_faults(row: Row, every: Iterable[Tried | None], compared: int) -> Row | None:
    """Returns the row of the faults of one kind, up to the first problem; None where no such fault can be planted.

    every: what came of each; None for one that cannot be planted there. compared: how many values a run has.
    """
    judged = 0
    undecided: Tried | None = None
    for one in every:
        if one is None:
            continue
        if not one.is_reached:
            text = f"{one.where}: the point was not reached again"
            return row._replace(undecided=text, why="not the same run again")
        judged += 1
        if one.problem is not None:
            return row._replace(problem=f"{one.where}: {one.problem}", compared=compared)
        undecided = undecided or (one if one.undecided is not None else None)
    if undecided is not None:
        return row._replace(undecided=f"{undecided.where}: {undecided.undecided}", why="not ended")
    if not judged:
        return None
    why = f"holds in {judged} run{'' if judged == 1 else 's'}"
    return row._replace(equal_bits=True, compared=compared, why=why)
