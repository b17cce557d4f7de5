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


class Found(NamedTuple):
    """values, steps, left as notes, draws, inputs, predicted: as of a `ScriptRun`. steps_made: how many there were.

    narrow: the names of narrow dtypes in which a recorded run computes.
    """

    values: tuple[Value, ...]
    steps: tuple[StepFacts, ...]
    steps_made: int
    left: tuple[str, ...]
    draws: bool
    inputs: tuple[Inputs, ...]
    predicted: tuple[str, ...] = ()
    narrow: frozenset[str] = frozenset()


def found_in(files: Sequence[Path], *, detailed: bool) -> Found:
    """Returns what the files of all ranks hold, in rank order.  detailed: whether the steps are needed."""
    gathered = _Gathered()
    entries: list[list[Entry]] = []
    count = 0
    for file in files:
        kept = []
        for entry in read(file):
            gathered.add(entry)
            count = max(count, entry.facts["step"] if entry.what == "step" else 0)
            if detailed:
                kept.append(entry)
        gathered.next_rank()
        entries.append(kept)
    steps = tuple(_steps(entries)) if detailed else ()
    values, left = tuple(gathered.values()), tuple(gathered.left)
    inputs, predicted = tuple(gathered.inputs[:-1]), tuple(gathered.predicted)
    return Found(values, steps, count, left, gathered.draws, inputs, predicted, frozenset(gathered.narrow))


@final
class _Gathered:
    """The values of all ranks by path, in the order of the first rank that has each."""

    def __init__(self) -> None:
        self.left: dict[str, None] = {}
        self._parts: dict[str, list[tuple[Host, Form]]] = {}
        self._state: set[str] = set()
        self._times: Counter[str] = Counter()
        self._unkept: dict[int, None] = {}
        self._generators: dict[int, set[int]] = {}
        self.inputs = [Inputs()]
        """What each rank gives its modules."""
        self.predicted: dict[str, None] = {}
        """Texts on the layers that predict."""
        self.narrow: set[str] = set()
        self._after: dict[str, int] = {}
        """After which step a value is, by its path."""
        self._made: list[int] = [0]
        """How many steps each rank has made."""

    @property
    def draws(self) -> bool:
        """Whether the generators of the ranks differ at a step, and have moved since another step."""
        moved = len({frozenset(states) for states in self._generators.values()}) > 1
        return moved and any(len(states) > 1 for states in self._generators.values())

    def next_rank(self) -> None:
        self._times.clear()
        self._made.append(0)
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
        elif entry.what == "narrow":
            self.narrow |= {*facts["dtypes"]}
        elif entry.what == "rows":
            self.inputs[-1] = self.inputs[-1]._replace(rows=facts["rows"])
        elif entry.what in ("step", "end"):
            after = facts["after"] if entry.what == "step" else facts["step"]
            if entry.what == "step":
                self._made[-1] += 1
                self._generators.setdefault(facts["step"], set()).add(facts["generator"])
            if not facts["forms"] and facts["names"]:
                self._unkept[after] = None
            for name, form, array in zip(facts["names"], facts["forms"], entry.arrays, strict=False):
                path = f"{f'after step {after}' if after else _BEGIN}[{name!r}]"
                self._state.add(path)
                self._after[path] = after
                self._add(path, array, form)

    def _add(self, path: str, array: Host, form: Form) -> None:
        parts = self._parts.setdefault(path, [])
        if parts and not form.get("offset") and bits_equal([parts[0][0], array]):
            array = parts[0][0]  # so that one copy is kept
        parts.append((array, form))

    def values(self) -> Iterator[Value]:
        """Yields the values; notes what cannot be put together."""
        made = self._made[:-1]
        for path, parts in self._parts.items():
            if len({*made}) > 1 and self._after.get(path, -1) >= min(made):
                continue
            reason = next((form["left"] for _, form in parts if "left" in form), None)
            if reason is not None:
                self.left[f"{path.partition('[')[2].rstrip(']')} is not compared: {reason}"] = None
                continue
            copies = _whole(parts)
            computed = parts[0][1].get("dtype", copies[0].dtype.name)
            if computed.startswith("float8"):
                computed = "bfloat16"
            yield Value(path, copies[:1] if bits_equal(copies) else copies, computed, path in self._state)
        if len({*made}) > 1:
            text = (
                f"Parameters after step {min(made)} are not compared: the ranks make {min(made)} to {max(made)} steps."
            )
            self.left[text] = None
        if self._unkept:
            first, last = min(self._unkept), max(self._unkept)
            text = f"Parameters after steps {first} to {last} are not compared: they take more than 32 MiB."
            self.left[f"{text} Those before and those at the end are."] = None


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
    """Yields the steps that all ranks have made alike, with all their arrays."""
    calls = [_calls(entries) for entries in ranks]
    by_number = [{one.facts["step"]: one for one in entries if one.what == "step"} for entries in ranks]
    after = [
        {one.facts["after" if one.what == "step" else "step"]: one for one in entries if one.what in ("step", "end")}
        for entries in ranks
    ]
    for number in sorted(by_number[0]):
        ones = [steps.get(number) for steps in by_number]
        ends = [nexts.get(number) for nexts in after]
        whole = [one for one in (*ones, *ends) if one is not None and one.facts["forms"]]
        if len(whole) < 2 * len(ranks) or len({tuple(one.facts["names"]) for one in whole}) > 1:
            return
        yield _step(number, whole[: len(ranks)], whole[len(ranks) :], _points(number, calls))


def _step(number: int, ones: Sequence[Entry], ends: Sequence[Entry], calls: tuple[PointFacts, ...]) -> StepFacts:
    names = tuple(ones[0].facts["names"])
    forms = [one.facts["forms"] for one in ones]
    before = _leaves(forms, [one.arrays[: len(names)] for one in ones])
    after = _leaves([one.facts["forms"] for one in ends], [one.arrays[: len(names)] for one in ends])
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
