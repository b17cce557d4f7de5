"""The steps of the optimizers of a run, of the entries of all ranks: what each takes, and what it leaves."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from simstrategy.check.causes.facts import Leaves, PointFacts, StepFacts
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.watched.entries import Entry

__all__ = ["Form", "Host", "Together", "kept", "steps_of", "together", "whole"]

Host = np.ndarray[Any, Any]
Form = Mapping[str, Any]
"""What a rank states of an array: its dtype, and its place in the whole of which it is a shard."""


class Together(NamedTuple):
    """common: how many steps all ranks make at the same time; None where none makes more than another.

    until: the step after which parameters are those of other moments on other ranks; infinite where there is none.
    leading: the ranks that make every step, where the others make some of these steps; empty where that is not known.
    """

    common: int | None
    until: float
    leading: frozenset[int]


def together(called: Sequence[Sequence[int]]) -> Together:
    """Returns which steps are made at the same time: after as many calls of each rank.

    A rank that has joined, as under `join`, makes the calls of the others without their steps: its next step is a later
    one of theirs. called: how many calls each rank has made before each of its steps.
    """
    counts = [len(calls) for calls in called]
    if len({*counts}) == 1:
        return Together(None, np.inf, frozenset())
    makers = [calls for calls in called if calls]
    fewest, most = min(map(len, makers)), max(counts)
    leading = frozenset(rank for rank, count in enumerate(counts) if count == most)
    if fewest == most:
        return Together(0, np.inf, leading)
    moments = [len({*calls}) == 1 for calls in zip(*makers, strict=False)]
    if not moments[0]:  # ranks that make calls of their own: the numbers of calls show no time
        return Together(min(counts), fewest, frozenset())
    until = moments.index(False) if False in moments else fewest
    all_of_them = {*called[min(leading)]}
    is_known = all(all_of_them >= {*calls} for calls in makers)
    return Together(min(*counts, until), until, leading if is_known else frozenset())


def kept(entry: Entry) -> tuple[Sequence[str], Sequence[int], Sequence[Form]]:
    """Returns the names of the parameters of a step or of the end, after which step each is, and their forms.

    Several optimizers may step one parameter, so what it has after a step stands before the next step of any of them.
    """
    return entry.facts["names"], entry.facts["after"], entry.facts["forms"]


def whole(parts: Sequence[tuple[Host, Form]]) -> tuple[Host, ...]:
    """Returns a value's copies: of shards the whole one, twice, which differ where ranks hold a shard unequally."""
    if not parts[0][1].get("offset"):
        return tuple(array for array, _ in parts)
    found = []
    for ordered in (parts, parts[::-1]):
        joined = np.zeros(parts[0][1]["shape"], parts[0][0].dtype)
        for array, form in ordered:
            places = zip(form["offset"], array.shape, strict=True)
            joined[tuple(slice(start, start + size) for start, size in places)] = array
        found.append(joined)
    return tuple(found)


def steps_of(ranks: Sequence[Sequence[Entry]], moments: Together) -> Iterator[StepFacts]:
    """Yields the steps that all ranks have made alike, with all their arrays.

    Where some ranks make no step, those of one of the others stand for all; so do those of a rank that makes all steps
    where the others make some of them, as under `join`.
    """
    calls = [_calls(entries) for entries in ranks]
    by_number = [{one.facts["step"]: one for one in entries if one.what == "step"} for entries in ranks]
    combined = [{one.facts["step"]: one for one in entries if one.what == "combined"} for entries in ranks]
    most = max(max(steps, default=0) for steps in by_number)
    is_numbered = any(len(steps) < max(steps, default=0) for steps in by_number)
    after = [
        _after(entries, with_end=is_numbered or len(steps) == most)
        for entries, steps in zip(ranks, by_number, strict=True)
    ]
    for number in range(1, most + 1):
        makers = [rank for rank, steps in enumerate(by_number) if number in steps]
        if number >= moments.until:
            makers = [rank for rank in makers if rank in moments.leading]
        if is_numbered:  # what a rank has after its last step before it joined is that of a later one
            makers = [rank for rank in makers if number in after[rank]]
        if not makers:
            return
        makers = makers if (alike := len(makers) == len(ranks)) else makers[:1]
        ones = [_as_combined(by_number[rank][number], combined[rank].get(number)) for rank in makers]
        if len({_digest(one) for one in ones}) > 1:  # a step that makes calls for something else
            ones = [by_number[rank][number] for rank in makers]
        ends = [after[rank].get(number, {}) for rank in makers]
        names = {tuple(one.facts["names"]) for one in ones}
        if len(names) > 1 or not all(one.facts["forms"] for one in ones):
            return
        if not alike and any(form.get("offset") for form in ones[0].facts["forms"]):
            return
        if not all(end.keys() >= {*one.facts["names"]} for one, end in zip(ones, ends, strict=True)):
            return
        step = _step(number, ones, ends, _points(number, calls) if alike else ())
        yield step if alike else step._replace(terms=())


def _as_combined(one: Entry, combined: Entry | None) -> Entry:
    """Returns a step with the gradients as they are after it, where the step makes calls, and does not clear them."""
    if combined is None or len(combined.facts["gradients"]) != len(one.facts["gradients"]):
        return one
    if not any(leaf.any() for leaf in combined.arrays):
        return one
    begin = len(one.facts["names"])
    end = begin + len(combined.arrays)
    return one._replace(arrays=(*one.arrays[:begin], *combined.arrays, *one.arrays[end:]))


def _digest(one: Entry) -> int:
    """Returns a number that is equal for equal gradients of a step."""
    begin = len(one.facts["names"])
    return hash(b"".join(leaf.tobytes() for leaf in one.arrays[begin : begin + len(one.facts["gradients"])]))


class _Next(NamedTuple):
    """What a parameter has at its next step, or at the end.  made: what it had right after the step before.

    until: as in "step 9", where it was written in between; "" where nothing has written it.
    """

    array: Host
    form: Form
    made: Host
    until: str


def _after(entries: Iterable[Entry], *, with_end: bool) -> dict[int, dict[str, _Next]]:
    """Returns for each step of a rank what each parameter has after it, by its name.

    with_end: whether what the rank ends with belongs to its last step.
    """
    found: dict[int, dict[str, _Next]] = {}
    for entry in entries:
        if entry.what == "step" or (with_end and entry.what == "end"):
            places = entry.facts.get("made", [])
            made = dict(zip(places, entry.arrays[len(entry.arrays) - len(places) :], strict=True))
            until = f"step {entry.facts['step']}" if entry.what == "step" else "the end"
            for place, (name, after, form, array) in enumerate(zip(*kept(entry), entry.arrays, strict=False)):
                one = _Next(array, form, made.get(place, array), until if place in made else "")
                found.setdefault(after, {})[name] = one
    return found


def _step(
    number: int,
    ones: Sequence[Entry],
    ends: Sequence[Mapping[str, _Next]],
    calls: tuple[PointFacts, ...],
) -> StepFacts:
    names = tuple(ones[0].facts["names"])
    forms = [one.facts["forms"] for one in ones]
    before = _leaves(forms, [one.arrays[: len(names)] for one in ones])
    later = [[end[name].form for name in names] for end in ends]
    after = _leaves(later, [[end[name].array for name in names] for end in ends])
    until = next((end[name].until for end in ends for name in names if end[name].until), "")
    made = _leaves(later, [[end[name].made for name in names] for end in ends]) if until else ()
    gradients: list[list[Host]] = []
    terms: list[list[Host]] = []
    for one, form in zip(ones, forms, strict=True):
        given = iter(one.arrays[len(names) :])
        for kind, target in (("gradients", gradients), ("terms", terms)):
            found = {place: next(given) for place, _ in one.facts[kind]}
            zeros = [np.zeros(array.shape, array.dtype) for array in one.arrays[: len(names)]]
            target.append([found.get(place, zeros[place]) for place in range(len(form))])
    first = ones[0].facts
    known = all(one.facts["terms"] for one in ones)
    return StepFacts(
        number,
        _site(first["site"]),
        _site(first["gradient_site"]) or _site(first["site"]),
        names,
        before,
        _leaves(forms, gradients),
        tuple(tuple(leaves) for leaves in terms) if known else (),
        after,
        calls,
        made,
        until,
    )


def _leaves(forms: Sequence[Sequence[Form]], arrays: Sequence[Sequence[Host]]) -> tuple[Leaves, ...]:
    """Returns for each rank its arrays; once for all where they are shards."""
    if not any(form.get("offset") for form in forms[0]):
        return tuple(tuple(one) for one in arrays)
    columns = zip(zip(*arrays, strict=True), zip(*forms, strict=True), strict=True)
    return (tuple(whole([*zip(values, form, strict=True)])[0] for values, form in columns),)


def _calls(entries: Iterable[Entry]) -> dict[int, list[Entry]]:
    """Returns the calls of a rank by the step that they come before, in the order in which they were made."""
    found = sorted((one for one in entries if one.what == "call"), key=lambda one: int(one.facts["number"]))
    return {step: list(group) for step, group in groupby(found, key=lambda one: int(one.facts["step"]))}


def _points(number: int, calls: Sequence[Mapping[int, Sequence[Entry]]]) -> tuple[PointFacts, ...]:
    """Returns the calls before a step that all ranks made alike."""
    of_ranks = [by_step.get(number, ()) for by_step in calls]
    points = []
    for ones in zip(*of_ranks, strict=False):
        first, half = ones[0].facts, len(ones[0].arrays) // 2
        inputs = tuple(one.arrays[:half] for one in ones)
        outputs = ones[0].arrays[half:]
        points.append(PointFacts(number, _site(first["site"]), "all_reduce", None, first["op"], inputs, outputs))
    return tuple(points)


def _site(site: Sequence[Any]) -> str:
    """Returns file and line; "" where no line of the script was in the stack."""
    return describe_site((site[0], site[1])) if site[0] else ""
