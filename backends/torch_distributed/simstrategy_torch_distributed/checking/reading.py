"""Reads the files of all ranks: the values of a run, and the steps of its optimizers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.check.causes.facts import Leaves, PointFacts, StepFacts
from simstrategy.check.scripts.facts import Inputs, Value, bits_equal
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.watched.entries import Entry, read

__all__ = ["Found", "found_in"]

Host = np.ndarray[Any, Any]
Form = Mapping[str, Any]

_BEGIN: Final = "before the first step"
_TOO_LARGE: Final = "they take more than 32 MiB"


class Found(NamedTuple):
    """values, steps, left as notes, draws, inputs, predicted, missing: as of a `ScriptRun`.

    steps_made: how many there were. steps_common: how many all ranks have made; None where none makes more.
    """

    values: tuple[Value, ...]
    steps: tuple[StepFacts, ...]
    steps_made: int
    left: tuple[str, ...]
    draws: bool
    inputs: tuple[Inputs, ...]
    predicted: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    steps_common: int | None = None


def found_in(files: Sequence[Path], *, detailed: bool) -> Found:
    """Returns what the files of all ranks hold, in rank order.  detailed: whether the steps are needed."""
    gathered = _Gathered()
    entries: list[list[Entry]] = []
    count = 0
    for file in files:
        gathered.begin_rank()
        entries.append([])
        for entry in read(file):
            gathered.add(entry)
            count = max(count, entry.facts["step"] if entry.what == "step" else 0)
            if detailed:
                entries[-1].append(entry)
    steps = tuple(_steps(entries)) if detailed else ()
    inputs, predicted, values = tuple(gathered.inputs), tuple(gathered.predicted), tuple(gathered.values())
    known = {value.path for value in values}
    missing = tuple((path, reason) for path, reason in gathered.missing.items() if path not in known)
    common = None if gathered.made_alike else min(gathered.made)
    return Found(values, steps, count, tuple(gathered.left), gathered.draws, inputs, predicted, missing, common)


@final
class _Gathered:
    """The values of all ranks by path, in the order of the first rank that has each."""

    def __init__(self) -> None:
        self.left: dict[str, None] = {}
        self.missing: dict[str, str] = {}  # why a parameter of some rank is not compared, by its path
        self._parts: dict[str, list[tuple[Host, Form]]] = {}
        self._after: dict[str, int] = {}
        """After which step a parameter is, by its path."""
        self._times: Counter[str] = Counter()
        self._unkept: dict[int, None] = {}
        self._generators: dict[int, set[int]] = {}
        self.inputs: list[Inputs] = []
        """What each rank gives its modules."""
        self.predicted: dict[str, None] = {}
        """Texts on the layers that predict."""
        self._ends: list[tuple[int, Entry]] = []
        """What each rank ends with."""
        self.made: list[int] = []
        """How many steps each rank has made."""

    @property
    def made_alike(self) -> bool:
        return len({*self.made}) == 1

    @property
    def draws(self) -> bool:
        """Whether the generators of the ranks differ at a step, and have moved since another step."""
        moved = len({frozenset(states) for states in self._generators.values()}) > 1
        return moved and any(len(states) > 1 for states in self._generators.values())

    def begin_rank(self) -> None:
        self._times.clear()
        self.made.append(0)
        self.inputs.append(Inputs())

    def add(self, entry: Entry) -> None:
        """Adds an entry of the present rank."""
        facts = entry.facts
        if entry.what == "observed":
            name = facts["name"]
            self._add(f"observed[{name!r}][{self._times[name]}]", entry.arrays[0], {})
            self._times[name] += 1
        elif entry.what == "input":
            self.inputs[-1] = self.inputs[-1]._replace(digest=facts["digest"])
        elif entry.what == "predicted":
            self.predicted[facts["text"]] = None
        elif entry.what == "rows":
            self.inputs[-1] = self.inputs[-1]._replace(rows=facts["rows"])
        elif entry.what == "step":
            self.made[-1] += 1
            self._generators.setdefault(facts["step"], set()).add(facts["generator"])
            self._add_parameters(entry)
        elif entry.what == "end":
            self._ends.append((len(self.made) - 1, entry))

    def _add_parameters(self, entry: Entry) -> None:
        facts = entry.facts
        if not facts["forms"]:
            self._unkept |= dict.fromkeys(facts["after"])
            self.missing |= {_path(*one): _TOO_LARGE for one in zip(facts["names"], facts["after"], strict=True)}
        for name, after, form, array in zip(*_kept(entry), entry.arrays, strict=False):
            path = _path(name, after)
            self._after[path] = after
            self._add(path, array, form)

    def _add(self, path: str, array: Host, form: Form) -> None:
        parts = self._parts.setdefault(path, [])
        if parts and not form.get("offset") and bits_equal([parts[0][0], array]):
            array = parts[0][0]  # so that one copy is kept
        parts.append((array, form))

    def values(self) -> Iterator[Value]:
        """Yields the values; notes what cannot be put together.

        Where some ranks make fewer steps than others, later parameters of all belong to other moments.
        """
        made, makers = self.made, {count for count in self.made if count}
        for rank, entry in self._ends:
            if made[rank] == max(made):
                self._add_parameters(entry)
        steps = "" if self.made_alike else f"the ranks make {min(made)} to {max(made)} steps"
        until = min(makers) if len(makers) > 1 else np.inf
        for path, parts in self._parts.items():
            is_part = parts[0][1].get("offset") and len(parts) < len(made)
            if steps and path in self._after and (is_part or self._after[path] >= until):
                self.missing[path] = steps
                continue
            reason = next((form["left"] for _, form in parts if "left" in form), None)
            if reason is not None:
                self.left[f"{path.partition('[')[2].rstrip(']')} is not compared: {reason}"] = None
                self.missing[path] = reason
                continue
            copies = _whole(parts)
            computed = parts[0][1].get("dtype", copies[0].dtype.name)
            if computed.startswith("float8"):
                computed = "bfloat16"
            yield Value(path, copies[:1] if bits_equal(copies) else copies, computed, path in self._after)
        if steps:
            which = f"after step {until} are not compared" if len(makers) > 1 else "are compared where ranks make steps"
            self.left[f"Parameters {which}: {steps}."] = None
        if self._unkept:
            first, last = min(self._unkept), max(self._unkept)
            text = f"Parameters after steps {first} to {last} are not compared: {_TOO_LARGE}."
            self.left[f"{text} Those before and those at the end are."] = None


def _path(name: str, after: int) -> str:
    """Returns the path of a parameter as it is after a step; 0 for the first one's beginning."""
    return f"{f'after step {after}' if after else _BEGIN}[{name!r}]"


def _kept(entry: Entry) -> tuple[Sequence[str], Sequence[int], Sequence[Form]]:
    """Returns the names of the parameters of a step or of the end, after which step each is, and their forms.

    Several optimizers may step one parameter, so what it has after a step stands before the next step of any of them.
    """
    return entry.facts["names"], entry.facts["after"], entry.facts["forms"]


def _whole(parts: Sequence[tuple[Host, Form]]) -> tuple[Host, ...]:
    """Returns a value's copies: of shards the whole one, twice, which differ where ranks hold a shard unequally."""
    if not parts[0][1].get("offset"):
        return tuple(array for array, _ in parts)
    found = []
    for ordered in (parts, parts[::-1]):
        whole = np.zeros(parts[0][1]["shape"], parts[0][0].dtype)
        for array, form in ordered:
            places = zip(form["offset"], array.shape, strict=True)
            whole[tuple(slice(start, start + size) for start, size in places)] = array
        found.append(whole)
    return tuple(found)


def _steps(ranks: Sequence[Sequence[Entry]]) -> Iterator[StepFacts]:
    """Yields the steps that all ranks have made alike, with all their arrays.

    Where some ranks make no step, those of one of the others stand for all.
    """
    calls = [_calls(entries) for entries in ranks]
    by_number = [{one.facts["step"]: one for one in entries if one.what == "step"} for entries in ranks]
    most = max(map(len, by_number))
    after = [_after(entries, with_end=len(steps) == most) for entries, steps in zip(ranks, by_number, strict=True)]
    for number in range(1, most + 1):
        makers = [rank for rank, steps in enumerate(by_number) if number in steps]
        if any(len(steps) == number < most for steps in by_number):
            return
        makers = makers if (alike := len(makers) == len(ranks)) else makers[:1]
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
            for place, (name, after, form, array) in enumerate(zip(*_kept(entry), entry.arrays, strict=False)):
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
    return (tuple(_whole([*zip(values, form, strict=True)])[0] for values, form in columns),)


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
