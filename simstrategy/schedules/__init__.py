"""Schedules: the only source of choice in a run.

`choose(label, n)` returns one of `range(n)`. Everything that could go one way or another (which lane
runs next, what a shuffle draws) asks here, so a run is replayed by replaying its draws. No schedule
reads a clock, the environment or Python's own random state.
"""

from collections.abc import Sequence
from typing import Protocol, final

from simstrategy.errors import InvalidArgument, OutOfRangeError

__all__ = ["Draw", "InOrder", "Recorded", "Replayed", "Schedule", "Seeded"]

Draw = tuple[str, int, int]
"""One choice: its label, the number of options, the option taken."""

_MASK = (1 << 64) - 1


class Schedule(Protocol):
    """Decides; `name` is the expression that makes the same schedule again."""

    @property
    def name(self) -> str: ...

    def choose(self, label: str, n: int) -> int:
        """Returns one of range(n); n is at least 1."""
        ...


@final
class InOrder:
    """Always the first option: replicas in rank order, as TensorFlow runs them."""

    __slots__ = ()
    name = "InOrder()"

    def choose(self, label: str, n: int) -> int:
        return 0


@final
class Seeded:
    """Options drawn by a 64-bit counter generator from `seed`: the same on every machine and Python.

    Source of the mixing function: SplitMix64, G. L. Steele, D. Lea, C. H. Flood, "Fast splittable
    pseudorandom number generators", OOPSLA 2014. The remainder modulo n favours low options by less
    than n / 2**64.
    """

    __slots__ = ("_state", "seed")

    def __init__(self, seed: int) -> None:
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise InvalidArgument(f"Seeded takes an int, got {seed!r}. Pass for example Seeded(1).")
        self.seed = seed
        self._state = seed & _MASK

    @property
    def name(self) -> str:
        return f"Seeded({self.seed})"

    def choose(self, label: str, n: int) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self._state
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
        return (mixed ^ (mixed >> 31)) % n


@final
class Recorded:
    """Keeps every draw of an inner schedule in `draws`, for `Replayed`."""

    __slots__ = ("draws", "inner")

    def __init__(self, inner: Schedule) -> None:
        self.inner = inner
        self.draws: list[Draw] = []

    @property
    def name(self) -> str:
        return self.inner.name

    def choose(self, label: str, n: int) -> int:
        taken = self.inner.choose(label, n)
        self.draws.append((label, n, taken))
        return taken


@final
class Replayed:
    """Gives recorded draws back, and raises where the program asks for anything else.

    Raises `OutOfRangeError` past the last draw and `InvalidArgument` where label or number of options
    differ from the record: the program is not the one that was recorded, or it is not deterministic.
    """

    __slots__ = ("_next", "draws")

    def __init__(self, draws: Sequence[Draw]) -> None:
        self.draws = tuple((str(label), int(n), int(taken)) for label, n, taken in draws)
        self._next = 0

    @property
    def name(self) -> str:
        return f"Replayed({list(self.draws)!r})"

    def choose(self, label: str, n: int) -> int:
        if self._next >= len(self.draws):
            raise OutOfRangeError(
                f"The recorded schedule has {len(self.draws)} draws and the program asks for one more "
                f"({label!r} of {n}). Replay it with the program and inputs it was recorded with."
            )
        recorded_label, recorded_n, taken = self.draws[self._next]
        if (recorded_label, recorded_n) != (label, n):
            raise InvalidArgument(
                f"Draw {self._next} was recorded as {recorded_label!r} of {recorded_n}, and the program now asks for "
                f"{label!r} of {n}: it is not the program that was recorded, or it chooses outside the schedule. "
                f"Replay the recorded program, and draw from the schedule alone."
            )
        self._next += 1
        return taken
