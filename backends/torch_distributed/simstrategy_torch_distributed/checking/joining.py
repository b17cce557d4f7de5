"""Numbers the steps of ranks that join early, as under `torch.distributed.algorithms.join.Join`, by their time.

A rank that has joined makes the calls of the others without their steps, so its next step is a later one of theirs. The
number of calls that all ranks make is their common time.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simstrategy_torch_distributed.watched.entries import Entry

__all__ = ["Numbers", "numbers_of", "renumbered"]

Facts = Mapping[str, Any]


class Numbers(NamedTuple):
    """of: for each rank the numbers of its steps, in order.  stepping: the steps of each parameter, on any rank."""

    of: tuple[tuple[int, ...], ...]
    stepping: Mapping[str, Sequence[int]]


def numbers_of(ranks: Sequence[Sequence[Facts]]) -> Numbers | None:
    """Returns the numbers of all steps in the order of their time; None where no rank has joined before another one.

    ranks: for each the facts of its steps and of its end, in order. Clause: G-23.
    """
    if any(not facts or "joined" not in facts[-1] for facts in ranks):
        return None
    times = [_times(facts) for facts in ranks]
    order = sorted({time for found in times for time in found})
    if all(len(found) == len(order) for found in times):
        return None
    if not all(_has_joined(facts, found, order) for facts, found in zip(ranks, times, strict=True)):
        return None
    place = {time: number for number, time in enumerate(order, 1)}
    numbers = tuple(tuple(place[time] for time in found) for found in times)
    stepping: dict[str, set[int]] = defaultdict(set)
    for facts, found in zip(ranks, numbers, strict=True):
        for one, number in zip(facts, found, strict=False):
            for name in one["names"]:
                stepping[name].add(number)
    return Numbers(numbers, {name: sorted(steps) for name, steps in stepping.items()})


def _times(ranks_facts: Sequence[Facts]) -> list[tuple[int, int]]:
    """Returns for each step of a rank after how many calls it is, and its place among those after as many."""
    taken: Counter[int] = Counter()
    found = []
    for facts in ranks_facts:
        if "step" in facts:
            calls = facts["joined"][0]
            found.append((calls, taken[calls]))
            taken[calls] += 1
    return found


def _has_joined(facts: Sequence[Facts], times: Sequence[tuple[int, int]], order: Sequence[tuple[int, int]]) -> bool:
    """Returns whether a rank has made calls where `Join` ends whenever others make steps that it does not make."""
    before = 0
    for number, one in enumerate(facts):
        place = bisect_left(order, times[number]) if number < len(times) else len(order)
        joined = facts[number - 1]["joined"][1] if number else 0
        if place > before and one["joined"][1] == joined:
            return False
        before = place + 1
    return True


def renumbered(entries: Iterator[Entry], rank: int, numbers: Numbers) -> Iterator[Entry]:
    """Yields the entries of a rank with the numbers of steps by their time.

    What a parameter has before a step is what the last step of any rank has left that steps it: ranks have that when
    all of them have joined.
    """
    own = numbers.of[rank]
    last = max(steps[-1] for steps in numbers.stepping.values())
    for entry in entries:
        facts = dict(entry.facts)
        if "step" in facts:
            number = facts["step"]
            facts["step"] = own[number - 1] if number <= len(own) else last + 1
        if entry.what not in ("step", "end"):
            yield entry._replace(facts=facts)
            continue
        until = facts.get("step", last + 1)
        after = [_before(numbers.stepping[name], until) for name in facts["names"]]
        kept = [one == (own[old - 1] if old else 0) for one, old in zip(after, facts["after"], strict=True)]
        made = facts.get("made", [])
        arrays, values = entry.arrays[: len(entry.arrays) - len(made)], entry.arrays[len(entry.arrays) - len(made) :]
        values = tuple(value for place, value in zip(made, values, strict=True) if kept[place])
        facts |= {"after": after, "made": [place for place in made if kept[place]]}
        yield Entry(entry.what, facts, (*arrays, *values))


def _before(steps: Sequence[int], until: int) -> int:
    """Returns the last of some steps before another one; 0 where there is none."""
    place = bisect_left(steps, until)
    return steps[place - 1] if place else 0
