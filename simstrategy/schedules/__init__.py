"""Schedules: the only source of choice in a run.

`choose(label, n)` returns one of `range(n)`. Every choice is made here (which task runs next, which element a shuffle
draws), so a run is replayed by replaying its draws. No schedule reads a clock, the environment or Python's random
state.
"""

from collections.abc import Iterator, Sequence
from operator import index
from typing import Protocol, final, runtime_checkable

from simstrategy.errors import InvalidArgument, InvalidType, OutOfRangeError
from simstrategy.short_repr import short_repr

__all__ = ["Draw", "Every", "InOrder", "Recorded", "Replayed", "Schedule", "Seeded", "require_schedule"]

Draw = tuple[str, int, int]
"""One choice: its label, the number of options, and the number of the option that was taken."""

_MASK = (1 << 64) - 1


@runtime_checkable
class Schedule(Protocol):
    """Makes the choices of a run."""

    @property
    def name(self) -> str:
        """The Python expression that makes the same schedule again, as in ``Seeded(1)``."""
        ...

    def choose(self, label: str, n: int) -> int:
        """Returns one of range(n); n is at least 1.  label: what is chosen, as in ``task``."""
        ...


def require_schedule(value: object) -> None:
    """Raises InvalidType for what is no schedule, such as the class of one."""
    if isinstance(value, type) or not isinstance(value, Schedule):
        raise InvalidType(
            f"A schedule has a name and choose(label, n), got {short_repr(value)}. Pass for example "
            f"ss.schedules.Seeded(1)."
        )


@final
class InOrder:
    """Always takes the first option: replicas run in rank order, as in TensorFlow.

    >>> InOrder().choose("task", 3)
    0
    """

    __slots__ = ()
    name = "InOrder()"

    def choose(self, label: str, n: int) -> int:
        return 0


@final
class Seeded:
    """Draws options with a 64-bit counter generator: the same ones on every machine and Python for equal seeds.

    Raises InvalidArgument for a seed that is no int. Source of the mixing function: SplitMix64, G. L. Steele, D. Lea,
    C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. The remainder modulo n favours low
    options by less than n / 2**64.

    >>> schedule = Seeded(1)
    >>> [schedule.choose("task", 3) for _ in range(5)]
    [2, 1, 0, 2, 0]
    """

    __slots__ = ("_state", "seed")

    def __init__(self, seed: int) -> None:
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise InvalidArgument(f"Seeded takes an int, got {short_repr(seed)}. Pass for example Seeded(1).")
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
    """Wraps a schedule and keeps each of its draws in `draws`, for `Replayed`.

    >>> recorded = Recorded(Seeded(1))
    >>> taken = [recorded.choose("task", 3) for _ in range(5)]
    >>> replayed = Replayed(recorded.draws)
    >>> [replayed.choose("task", 3) for _ in range(5)] == taken
    True
    """

    __slots__ = ("draws", "inner")

    def __init__(self, inner: Schedule) -> None:
        require_schedule(inner)
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
    """Returns recorded draws, one after the other.

    `choose` raises OutOfRangeError after the last draw, and InvalidArgument where label or number of options differ
    from the record: the program is not the one that was recorded, or it is not deterministic.
    """

    __slots__ = ("_next", "draws")

    def __init__(self, draws: Sequence[Draw]) -> None:
        try:
            self.draws = tuple((str(label), index(n), index(taken)) for label, n, taken in draws)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(
                f"Replayed takes draws of a label, the number of options and that of the one taken, got "
                f"{short_repr(draws)}. Pass the draws of a Recorded schedule."
            ) from error
        for label, n, taken in self.draws:
            if taken not in range(n):
                raise InvalidArgument(
                    f"Replayed got option {taken} of {n} for {label!r}: options are numbered from 0. Pass the draws of "
                    f"a Recorded schedule."
                )
        self._next = 0

    @property
    def name(self) -> str:
        return f"Replayed({list(self.draws)!r})"

    def choose(self, label: str, n: int) -> int:
        if self._next >= len(self.draws):
            draws = f"{len(self.draws)} draw{'' if len(self.draws) == 1 else 's'}"
            raise OutOfRangeError(
                f"The recorded schedule has {draws}, and the program needs one more ({label!r} of {n}). "
                f"Replay it with the program and the inputs of the record."
            )
        recorded_label, recorded_n, taken = self.draws[self._next]
        if (recorded_label, recorded_n) != (label, n):
            raise InvalidArgument(
                f"Draw {self._next} was recorded as {recorded_label!r} of {recorded_n}, and the program now needs "
                f"{label!r} of {n}: it is another program, or it is not deterministic. Use the recorded "
                f"program and inputs."
            )
        self._next += 1
        return taken


@final
class Every:
    """Enumerates the orders in which tasks can run: iterate, and run the program once under each schedule.

    limit: how many schedules at most. complete: whether the last iteration went through all of them. Other choices
    than that of the next task, such as those of a shuffle, stay the first option. Raises InvalidArgument for a limit
    below 1.

    >>> every = Every(10)
    >>> [[one.choose("task", n) for n in (3, 2, 1)] for one in every]
    [[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [2, 0, 0], [2, 1, 0]]
    >>> every.complete
    True
    """

    __slots__ = ("complete", "limit")

    def __init__(self, limit: int) -> None:
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
            raise InvalidArgument(f"Every takes a number of schedules above 0, got {short_repr(limit)}. Pass 100.")
        self.limit = limit
        self.complete = False

    def __iter__(self) -> Iterator["_Branch"]:
        self.complete = False
        branch = _Branch(())
        for _ in range(self.limit):
            yield branch
            following = branch.following()
            if following is None:
                self.complete = True
                return
            branch = _Branch(following)


@final
class _Branch:
    """One schedule of `Every`: takes the given options first, and then the first ones."""

    __slots__ = ("_given", "_taken")

    def __init__(self, given: tuple[int, ...]) -> None:
        self._given = given
        self._taken: list[tuple[int, int]] = []

    @property
    def name(self) -> str:
        return f"Replayed({[('task', n, taken) for taken, n in self._taken]!r})"

    def choose(self, label: str, n: int) -> int:
        if label != "task":
            return 0
        place = len(self._taken)
        taken = self._given[place] if place < len(self._given) else 0
        if taken >= n:
            raise InvalidArgument(
                f"Choice {place} had more than {taken} options before, and has {n} now: the program is not "
                f"deterministic. Give its random numbers a seed."
            )
        self._taken.append((taken, n))
        return taken

    def following(self) -> tuple[int, ...] | None:
        """Returns the options that the next schedule takes first; None after the last one."""
        for place in range(len(self._taken) - 1, -1, -1):
            taken, n = self._taken[place]
            if taken + 1 < n:
                return (*[one for one, _ in self._taken[:place]], taken + 1)
        return None
