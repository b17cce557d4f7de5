"""Recognises a learning rate that is another one than in the reference, and the line that set it."""

from collections.abc import Iterator, Sequence
from typing import Final

from simstrategy.check.causes.facts import RATE, Finding
from simstrategy.check.causes.held import Held, History, Key, Run, histories, is_near
from simstrategy.check.causes.spots import Fault

__all__ = ["by_rate", "rates_apart"]

_SUFFIX: Final = ".lr"
_COUNT: Final = "Let the schedule count the steps of the optimizer"
_READ: Final = "Let what the schedule counts, or reads, not depend on the number of replicas"
_SAME: Final = (
    "Let what the schedule counts, or reads, be the same on all replicas, such as a loss that is reduced first"
)
_ONCE: Final = "Set it as it is with one replica, where the gradients are the mean over the whole batch"


def by_rate(reference: Run, other: Run, step: int) -> Fault | None:
    """Returns what set the learning rate of a step, where that is not the reference's.  step: from 1."""
    apart = rates_apart(other, step)
    if apart is not None:
        return apart
    before, now = _until(reference, 0, step), _until(other, 0, step)
    if not before or not now or is_near(before[-1].leaves[0], now[-1].leaves[0]):
        return None
    one = _innermost(now)
    often = [
        len([found for found in values if found.key == one.key and found.step == step]) for values in (before, now)
    ]
    reason = f"the learning rate of step {step} is {_number(now[-1])}, and {_number(before[-1])} in the reference"
    if often[0] != often[1]:
        reason += (
            f": this line sets it {_times(often[1])} since the step before, and {_times(often[0])} in the reference"
        )
    else:
        reason += _counter(reference, other, (before[-1], now[-1]))
    remedy = _ONCE if len(_values_of(now)) == 1 else _COUNT if often[0] != often[1] else _READ
    return Fault(one, Finding(RATE, reason, remedy))


def _counter(reference: Run, other: Run, rates: tuple[Held, Held]) -> str:
    """Returns what counts on otherwise than in the reference, and was set last before the rate; "" where nothing does.

    It is one number, the same on all replicas of a run, that changes during the run: not the number of replicas.
    """
    before, now = [_latest(run[0], rate) for run, rate in zip((reference, other), rates, strict=True)]
    numbers = [histories(run, _is_number) for run in (reference, other)]
    apart = [
        key
        for key, one in now.items()
        if key in before
        and not is_near(before[key].leaves[0], one.leaves[0])
        and not is_near(one.leaves[0], rates[1].leaves[0])
        and all(_changes(run[key]) for run in numbers)
    ]
    if not apart:
        return ""
    # Several names may hold it, such as an argument: the first of them was set where it is counted.
    last = apart[-1]
    one = next(
        now[key] for key in apart if all(is_near(side[key].leaves[0], side[last].leaves[0]) for side in (before, now))
    )
    return f". {one.name!r} at {one.place} is {_number(one)} then, and {_number(before[one.key])} in the reference"


def _latest(values: Sequence[Held], rate: Held) -> dict[Key, Held]:
    """Returns the last number under each name before a rate was set, in the order in which they were set."""
    found: dict[Key, Held] = {}
    for one in values:
        if one is rate:
            break
        if _is_number(one):
            found.pop(one.key, None)
            found[one.key] = one
    return found


def _is_number(one: Held) -> bool:
    return one.is_scalar and one.leaves[0].dtype.kind in "fiu"


def _changes(history: History) -> bool:
    """Returns whether a number changes during a run, in the same way on all replicas."""
    numbers = [[float(one.leaves[0].reshape(-1)[0]) for one in values] for values in history.values]
    return len({*numbers[0]}) > 1 and all(each == numbers[0] for each in numbers[1:])


def rates_apart(run: Run, step: int) -> Fault | None:
    """Returns what set the learning rate of a step on a replica, where replica 0 has another one.  Clause: G-91."""
    rates = [_until(run, rank, step) for rank in range(len(run))]
    if not all(rates):
        return None
    for rank, found in enumerate(rates):
        if not is_near(rates[0][-1].leaves[0], found[-1].leaves[0]):
            # The one of the two that was set last is where they part.
            one = _innermost(max((rates[0], found), key=lambda values: values[-1].step))
            numbers = f"{_number(rates[0][-1])} on replica 0 and {_number(found[-1])} on replica {rank}"
            return Fault(one, Finding(RATE, f"the learning rate of step {step} is {numbers}", _SAME))
    return None


def _until(run: Run, rank: int, step: int) -> list[Held]:
    return [one for one in _set(run[rank]) if one.step <= step]


def _values_of(found: Sequence[Held]) -> set[float]:
    return {float(value) for one in found for value in one.leaves[0].reshape(-1)}


def _set(values: Sequence[Held]) -> Iterator[Held]:
    yield from (one for one in values if one.attribute.endswith(_SUFFIX) and one.leaves)


def _innermost(values: Sequence[Held]) -> Held:
    """Returns the last value, as the line that was called from the most others has set it."""
    same = [one for one in values if is_near(values[-1].leaves[0], one.leaves[0]) and one.step == values[-1].step]
    return max(same, key=lambda one: len(one.callers))


def _number(one: Held) -> str:
    return f"{float(one.leaves[0].reshape(-1)[0]):.6g}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
