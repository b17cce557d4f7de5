"""Recognises a value of which one replica's counts for all, where the values of all replicas are meant.

Every replica computes it from its own part, and a broadcast then replaces it by that of one: a decision to skip a
step, a scale, a metric. The proof: together the replicas' own values give the reference's, and the one that was sent
does not.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import ONE_REPLICA, Finding, Leaves
from simstrategy.check.causes.held import Held, History, Key, Run, companions, histories
from simstrategy.check.causes.rounding import wide
from simstrategy.check.causes.spots import Fault
from simstrategy.check.causes.standing import all_near, failing_times, turns_of

__all__ = ["by_one_replica"]

_BROADCAST: Final = "broadcast"
"""The name under which a replica notes such a call."""
_REMEDY: Final = "Combine the values of all replicas instead, as by an all_reduce"

Both = Mapping[Key, tuple[History, History]]


def by_one_replica(reference: Run, other: Run, counts: tuple[int, int]) -> Fault | None:
    """Returns the first value that is one replica's, where nothing before it differs; None where there is none.

    The reference has one replica: with several it may have the same mistake.
    """
    if counts[0] != 1 or counts[1] < 2:
        return None
    sites = {one.site for one in other[0] if one.name == one.text == _BROADCAST}
    if not sites:
        return None
    expected, found = [histories(run, lambda one: bool(one.leaves)) for run in (reference, other)]
    both = {key: (expected[key], history) for key, history in found.items() if key in expected}
    faults = [fault for key, pair in both.items() if key[0] in sites for fault in _of_name(other, *pair)]
    if not faults:
        return None
    first = min(faults, key=lambda fault: _place(other, fault.one))
    return None if _differs_before(both, other, _place(other, first.one)) else first


def _of_name(other: Run, expected: History, found: History) -> list[Fault]:
    """Returns the first value that was sent and is another one than all give together; [] for none."""
    if expected.times is None or expected.times != found.times:
        return []
    for time in range(found.times or 0):
        wanted, values = expected.values[0][time], [of_rank[time] for of_rank in found.values]
        if all_near(wanted.leaves, values[0].leaves):
            continue
        finding = _is_of_one(other, wanted, values)
        return [] if finding is None else [Fault(values[0], finding)]
    return []


def _is_of_one(other: Run, wanted: Held, values: Sequence[Held]) -> Finding | None:
    """Returns what a value shows that all replicas hold, by what each of them held before under this name."""
    sent = values[0]
    if not all(all_near(sent.leaves, one.leaves) for one in values[1:]):
        return None
    own = [companions(other, rank, one).get(one.name) for rank, one in enumerate(values)]
    computed = [one for one in own if one is not None and one.site != sent.site]
    if len(computed) < len(values) or len({one.site for one in computed}) > 1:
        return None  # what replicas do not compute alike is a place for what they receive
    from_rank = next((rank for rank, one in enumerate(computed) if all_near(one.leaves, sent.leaves)), None)
    others = [one for one in computed if not all_near(one.leaves, sent.leaves)]
    shapes = {tuple(leaf.shape for leaf in one.leaves) for one in (wanted, *computed)}
    if from_rank is None or not others or len(shapes) > 1:
        return None
    for name, rule in _RULES.items():
        if all_near(wanted.leaves, _together([one.leaves for one in computed], rule)):
            reason = (
                f"it is replica {from_rank}'s own value, which a broadcast gives to all replicas, though they have "
                f"computed different ones at {computed[0].site}. The {name} of all replicas' is the reference's"
            )
            return Finding(ONE_REPLICA, reason, _REMEDY)
    return None


_RULES: Final[Mapping[str, Callable[[Sequence[np.ndarray]], np.ndarray]]] = {
    "largest": lambda values: np.max(values, axis=0),
    "smallest": lambda values: np.min(values, axis=0),
    "mean": lambda values: np.mean(values, axis=0),
    "sum": lambda values: np.sum(values, axis=0),
}


def _together(values: Sequence[Leaves], rule: Callable[[Sequence[np.ndarray]], np.ndarray]) -> Leaves:
    with np.errstate(all="ignore"):
        return tuple([np.asarray(rule([wide(leaf) for leaf in column])) for column in zip(*values, strict=True)])


def _differs_before(both: Both, other: Run, place: int) -> bool:
    """Returns whether a value before a place of replica 0 is another one, of all replicas together, by every rule."""
    for expected, found in both.values():
        if found.first >= place or not any(one.is_measured for one in found.values[0]):
            continue
        if turns_of(expected, found) is None:
            continue  # where turns do not belong together, only the ends are compared
        for time in failing_times(expected, found):
            if _place(other, found.values[0][min(time, len(found.values[0]) - 1)]) >= place:
                break
            if not _follows_a_rule(expected, found, time):
                return True
    return False


def _follows_a_rule(expected: History, found: History, time: int) -> bool:
    if expected.times is None or expected.times != found.times:
        return False
    wanted, values = expected.values[0][time].leaves, [of_rank[time].leaves for of_rank in found.values]
    if len({tuple(leaf.shape for leaf in leaves) for leaves in (wanted, *values)}) > 1:
        return False
    return any(all_near(wanted, _together(values, rule)) for rule in _RULES.values())


def _place(run: Run, wanted: Held) -> int:
    return next(place for place, one in enumerate(run[0]) if one is wanted)
