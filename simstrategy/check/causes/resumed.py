"""Recognises a run that stops and begins again in between, and does not go on with what it had.

The sign is a function that the run enters again with what an earlier call of it has returned: the reference enters it
less often, and its first call agrees with the reference's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import NOT_RESTORED, Finding
from simstrategy.check.causes.held import Held, Run, is_near
from simstrategy.check.causes.spots import Fault

__all__ = ["by_resume"]

_NAMED_MAX: Final = 4
_REMEDY: Final = "Save all that the next batch depends on, and restore it before that batch is read"


def by_resume(reference: Run, other: Run, who: tuple[str, str]) -> Fault | None:
    """Returns what a new start sets otherwise than the run had it when it stopped.  who: what the runs are called."""
    calls = _calls(other[0])
    before = _calls(reference[0])
    for name, frames in sorted(calls.items(), key=lambda call: call[1][-1]):
        if len(frames) <= len(before.get(name, ())) or len(before.get(name, ())) != 1:
            continue
        again = [one for one in other[0] if one.frame >= frames[-1]]
        until = [one for one in other[0] if one.frame < frames[-1]]
        own = _differs(until, again)
        found = own if own is not None and own[0].attribute else _begun_anew(reference, other, name) or own
        if found is not None:
            one, what = found
            often = f"with {who[1]} {name} runs {len(frames)} times, and once with {who[0]}"
            reason = f"{often}: the run stops and resumes. {what[0].upper()}{what[1:]}"
            return Fault(one, Finding(NOT_RESTORED, reason, _REMEDY))
    return None


def _calls(values: Sequence[Held]) -> Mapping[str, list[int]]:
    """Returns for each function that returned something the numbers of its calls."""
    found: dict[str, list[int]] = {}
    for one in values:
        if one.name.endswith("()") and one.frame not in found.setdefault(one.name, []):
            found[one.name].append(one.frame)
    return found


def _differs(until: Sequence[Held], again: Sequence[Held]) -> tuple[Held, str] | None:
    """Returns a value that the new start sets before its first turn of a loop, and a sentence on all of them.

    It is one that was another when the run stopped, or else one that was restored.
    """
    ends = {_named(one): one for one in until}
    begun = {_named(one): one for one in reversed(until)}
    turns = Counter(one.key for one in again)
    loop = next((number for number, one in enumerate(again) if turns[one.key] > 1), len(again))
    last = {_named(one): one for one in again[:loop] if _named(one) in ends}
    differing = [one for name, one in last.items() if not _is_equal(one, ends[name])]
    restored = [one for name, one in last.items() if one not in differing and not _is_equal(one, begun[name])]
    late = [
        one
        for one in again[loop:]
        if one.attribute and turns[one.key] == 1 and _is_equal(one, ends.get(_named(one), one))
    ]
    chosen = [one for one in differing if one.attribute] or differing
    if not chosen and not restored:
        return None
    texts = [f"the new start sets {_listed(chosen)} otherwise than when it stopped"] if chosen else []
    texts += [f"it restores {_listed(restored)} as the stop left it"] if restored else []
    if late and loop < len(again):
        texts.append(f"{_listed(late[:1])} is restored after {again[loop].name} was made at {again[loop].site}")
    return (chosen or restored[::-1])[0], "; ".join(texts)


def _begun_anew(reference: Run, other: Run, name: str) -> tuple[Held, str] | None:
    """Returns an attribute that replica 0 restores and another replica begins anew, and a sentence on it.

    name: of the function that the new start enters again. With the new start, replica 0 has what the stop left, and the
    other replica what all replicas of the reference begin with, though each of them comes to the restored value there.
    """
    before = [_entering(values, name) for values in other]
    begun = [_entering(values, name) for values in reference]
    for attribute, one in before[0].items():
        stopped = _stopped(other[0], one)
        firsts = [found.get(attribute) for found in begun]
        if stopped is None or not _is_equal(one, stopped) or any(first is None for first in firsts):
            continue
        first = firsts[0]
        if first is None or _is_equal(one, first) or not all(_is_equal(first, found) for found in firsts[1:] if found):
            continue
        if not all(any(held.attribute == attribute and _is_equal(held, one) for held in run) for run in reference):
            continue  # it is one replica's own, such as what that one alone measures
        anew = [rank for rank, found in enumerate(before) if attribute in found and _is_equal(found[attribute], first)]
        if anew:
            left, begins = _shown(one), _shown(first)
            text = (
                f"replica 0 restores {one.name} at {one.site} as the stop left it ({left}), and replica {anew[0]} "
                f"begins anew with {begins}"
            )
            return one, text
    return None


def _entering(values: Sequence[Held], name: str) -> dict[str, Held]:
    """Returns what attributes held last when a function was entered for the last time, by class and name."""
    frames = [one.frame for one in values if one.name == name]
    found: dict[str, Held] = {}
    for one in values:
        if frames and one.frame == frames[-1]:
            return found
        if one.attribute and one.leaves:
            found[one.attribute] = one
    return {}


def _stopped(values: Sequence[Held], restored: Held) -> Held | None:
    """Returns what an attribute held before the new start set it anew; None where that is not known.

    restored: what it held after the new start.
    """
    history = []
    for one in values:
        if one is restored:
            break
        if one.attribute == restored.attribute:
            history.append(one)
    return history[-2] if len(history) > 1 and not _is_equal(history[-1], restored) else None


def _shown(one: Held) -> str:
    """Returns the first elements of a value, for a sentence."""
    numbers = [f"{number:g}" for leaf in one.leaves for number in leaf.reshape(-1)[:_NAMED_MAX].tolist()]
    return ", ".join(numbers[:_NAMED_MAX])


def _named(one: Held) -> str:
    return one.attribute or one.name


def _is_equal(one: Held, other: Held) -> bool:
    if one.text or other.text:
        return one.text == other.text
    if len(one.leaves) != len(other.leaves):
        return False
    return all(
        is_near(left, right) or np.array_equal(left, right)
        for left, right in zip(one.leaves, other.leaves, strict=True)
    )


def _listed(values: Sequence[Held]) -> str:
    texts = dict.fromkeys(f"{one.name} at {one.site}" for one in values)
    more = f" and {len(texts) - _NAMED_MAX} more" if len(texts) > _NAMED_MAX else ""
    return ", ".join([*texts][:_NAMED_MAX]) + more
