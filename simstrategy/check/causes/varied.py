"""Arguments in which two runs differ: what the runs are called after them, and whether a factor is their ratio.

Two runs that differ in an argument have one number of replicas. Where that is 1, no kind that is one of replicas is
named: nothing is combined there, and nothing is another replica's.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import FACTOR, LOST, NOT_RESTORED, OTHER_BATCHES, RATE, Finding
from simstrategy.check.causes.kinds import recognised, the_factor
from simstrategy.check.causes.scene import Scene

__all__ = ["NO_ARGUMENTS", "Arguments", "recognised_in"]

_NEAR: Final = 1e-3
"""How near a factor has to be to the ratio of two values of an argument."""
_OF_ONE_REPLICA: Final = (FACTOR, OTHER_BATCHES, NOT_RESTORED, LOST, RATE)
"""The kinds that a run of one replica can have."""


class Arguments(NamedTuple):
    """names: what the two runs are called, the reference first; None for their numbers of replicas.

    numbers: whole numbers that the runs were given, of the reference and of the other one, by name.
    """

    names: tuple[str, str] | None
    numbers: Mapping[str, tuple[float, float]]

    @classmethod
    def of(cls, first: Mapping[str, Any], other: Mapping[str, Any]) -> "Arguments":
        """Returns the arguments in which a run differs.  first: what the reference has in place of `other`.

        >>> Arguments.of({"accumulate": 1, "seed": 3}, {"accumulate": 2})
        Arguments(names=('accumulate=1', 'accumulate=2'), numbers={'accumulate': (1, 2)})
        """
        if not other:
            return NO_ARGUMENTS
        names = [", ".join(f"{name}={given[name]}" for name in other) for given in (first, other)]
        numbers = {name: (first[name], value) for name, value in other.items()}
        whole = {name: pair for name, pair in numbers.items() if type(pair[0]) is type(pair[1]) is int}
        return cls((names[0], names[1]), whole)


NO_ARGUMENTS: Final = Arguments(None, {})


def recognised_in(scene: Scene, numbers: Mapping[str, tuple[float, float]]) -> Finding | None:
    """Returns the kind that the numbers of a point show, or None.  numbers: as of `Arguments`.

    A factor that an argument has comes first: it may be a number of replicas, of steps or of a part by chance.
    """
    finding = _by_argument(scene.one, numbers) or recognised(scene)
    if scene.one.counts == (1, 1) and finding is not None and finding.kind not in (None, *_OF_ONE_REPLICA):
        return None
    return finding


def _by_argument(one: Combination, numbers: Mapping[str, tuple[float, float]]) -> Finding | None:
    """Recognises a factor that is the ratio of two values of an argument, or its inverse."""
    k = the_factor(one) if numbers else None
    if k is None:
        return None
    for name, (first, second) in numbers.items():
        ratio = second / first if first else 0.0
        for value, text, remedy in (
            (ratio, f"as {name} is", f"Divide by {name}, such as the loss of each part"),
            (1 / ratio if ratio else 0.0, f"as 1 / {name} is", f"Divide by {name} once"),
        ):
            if value not in (0.0, 1.0) and abs(k / value - 1) < _NEAR:
                reason = f"the found values are {k:.6g} times the expected ones, {text}"
                return Finding(FACTOR, reason, remedy, factor=k)
    return None
