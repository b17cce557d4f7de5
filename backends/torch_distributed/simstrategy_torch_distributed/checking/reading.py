"""Reads the files of all ranks: the values of a run.  The steps of its optimizers are made in `steps.py`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, final

import numpy as np

from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.scripts.facts import Inputs, Order, Predicted, Value, bits_equal
from simstrategy_torch_distributed.checking.joining import Facts, Numbers, numbers_of, renumbered
from simstrategy_torch_distributed.checking.orders import orders_of
from simstrategy_torch_distributed.checking.steps import Form, Host, Together, kept, steps_of, together, whole
from simstrategy_torch_distributed.watched.entries import Entry, read

__all__ = ["Found", "found_in"]

_BEGIN: Final = "before the first step"
_UNCOMPILED: Final = "Nothing is compiled by torch.compile, as at {place}: a check runs what it is given as it is."
_TOO_LARGE: Final = "they take more than 32 MiB"


class Found(NamedTuple):
    """values, steps, left as notes, draws, inputs, predicted, missing, seeds, orders: as of a `ScriptRun`.

    steps_made: how many there were. steps_common: how many all ranks have made at the same time; None where none makes
    more. narrow: the names of narrow dtypes in which a recorded run computes. joined: whether ranks join before others.
    """

    values: tuple[Value, ...]
    steps: tuple[StepFacts, ...]
    steps_made: int
    left: tuple[str, ...]
    draws: tuple[str, ...]
    inputs: tuple[Inputs, ...]
    predicted: tuple[Predicted, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    steps_common: int | None = None
    narrow: frozenset[str] = frozenset()
    seeds: tuple[tuple[str, str], ...] = ()
    joined: bool = False
    orders: tuple[Order, ...] = ()


def found_in(files: Sequence[Path], *, detailed: bool) -> Found:
    """Returns what the files of all ranks hold, in rank order.  detailed: whether the steps are needed."""
    gathered, entries, count = _gathered([read(file) for file in files], detailed=detailed)
    numbers = gathered.numbers
    if numbers is not None:
        ranks = [renumbered(read(file), rank, numbers) for rank, file in enumerate(files)]
        gathered, entries, count = _gathered(ranks, detailed=detailed, are_numbered=True)
    moments = gathered.together
    steps = tuple(steps_of(entries, moments)) if detailed else ()
    inputs, predicted, values = tuple(gathered.inputs), tuple(gathered.predicted), tuple(gathered.values())
    known = {value.path for value in values}
    missing = tuple((path, reason) for path, reason in gathered.missing.items() if path not in known)
    left, narrow = tuple(gathered.left), frozenset(gathered.narrow)
    return Found(
        values,
        steps,
        count,
        left,
        gathered.draws,
        inputs,
        predicted,
        missing,
        moments.common,
        narrow,
        gathered.seeds,
        numbers is not None,
        tuple(orders_of(gathered.orders)),
    )


def _gathered(
    ranks: Sequence[Iterable[Entry]], *, detailed: bool, are_numbered: bool = False
) -> tuple["_Gathered", list[list[Entry]], int]:
    """Returns what ranks have, their entries where these are needed, and the number of the last step."""
    gathered = _Gathered(are_numbered=are_numbered)
    entries: list[list[Entry]] = []
    count = 0
    for found in ranks:
        gathered.begin_rank()
        entries.append([])
        for entry in found:
            gathered.add(entry)
            count = max(count, entry.facts["step"] if entry.what == "step" else 0)
            if detailed:
                entries[-1].append(entry)
    return gathered, entries, count


@final
class _Gathered:
    """The values of all ranks by path, in the order of the first rank that has each.

    are_numbered: whether the steps have numbers by their time, as where ranks have joined.
    """

    def __init__(self, *, are_numbered: bool = False) -> None:
        self._are_numbered = are_numbered
        self._facts: list[list[Facts]] = []
        """Of each rank those of its steps and of its end."""
        self.left: dict[str, None] = {}
        self.missing: dict[str, str] = {}  # why a parameter of some rank is not compared, by its path
        self._parts: dict[str, list[tuple[Host, Form]]] = {}
        self._ranks: dict[str, list[int]] = {}
        """Which ranks have a value, by its path."""
        self._after: dict[str, int] = {}
        """After which step a parameter is, by its path."""
        self._named: dict[str, str] = {}
        """The name of a parameter, by its path."""
        self._times: Counter[str] = Counter()
        self._unkept: dict[int, None] = {}
        self._generators: dict[str, dict[int, set[int]]] = {}
        """Of each global generator its states before each step."""
        self._seeds: dict[str, dict[int, Facts]] = {}
        """Of each line that seeds a generator, what each rank states of its seeds."""
        self.inputs: list[Inputs] = []
        """What each rank gives its modules."""
        self.predicted: dict[Predicted, None] = {}
        """The layers and functions that predict."""
        self.narrow: set[str] = set()
        """The names of narrow dtypes in which a rank computes."""
        self.orders: list[dict[str, Entry]] = []
        """What each rank notes of passes over its rows, by line."""
        self._ends: list[tuple[int, Entry]] = []
        """What each rank ends with."""
        self.made: list[int] = []
        """How many steps each rank has made."""

    @property
    def made_alike(self) -> bool:
        return len({*self.made}) == 1

    @property
    def numbers(self) -> Numbers | None:
        """The numbers of the steps by their time, where ranks have joined before others."""
        return numbers_of(self._facts)

    @property
    def together(self) -> Together:
        if not self._are_numbered:
            return together([[facts["calls"] for facts in found if "step" in facts] for found in self._facts])
        steps = [{facts["step"] for facts in found if "step" in facts} for found in self._facts]
        missed = set.union(*steps) - set.intersection(*steps)
        return Together(min(missed) - 1, np.inf, frozenset())

    @property
    def draws(self) -> tuple[str, ...]:
        """From what each rank draws numbers of its own.

        Global generators that differ over the ranks at a step, and have moved since another one; and lines that give
        ranks other seeds. Ranks that seed with the same numbers, and one more often than another, have the same.
        """
        found = []
        for name, states_of in self._generators.items():
            steps = states_of.values()
            if len(set(map(frozenset, steps))) > 1 and any(len(states) > 1 for states in steps):
                found.append(name)
        lines = [
            line
            for line, seeds in self._seeds.items()
            if len(seeds) < len(self.made) or not _are_one_sequence([*seeds.values()])
        ]
        return (*found, *lines)

    @property
    def seeds(self) -> tuple[tuple[str, str], ...]:
        """What each line seeds with, on all ranks together, in any order: a text that is equal for equal seeds."""
        sums = [
            (line, *[sum(of_rank[name] for of_rank in seeds.values()) for name in ("count", "total")])
            for line, seeds in self._seeds.items()
        ]
        return tuple([(line, f"{count} {total}") for line, count, total in sums])

    def begin_rank(self) -> None:
        self._times.clear()
        self.made.append(0)
        self._facts.append([])
        self.inputs.append(Inputs())
        self.orders.append({})

    def add(self, entry: Entry) -> None:
        """Adds an entry of the present rank."""
        facts = entry.facts
        if entry.what in ("step", "end"):
            self._facts[-1].append(facts)
        if entry.what == "observed":
            name = facts["name"]
            self._add(f"observed[{name!r}][{self._times[name]}]", entry.arrays[0], {})
            self._times[name] += 1
        elif entry.what in ("input", "rows"):
            self.inputs[-1] = self.inputs[-1]._replace(**facts)
        elif entry.what == "uncompiled":
            self.left[_UNCOMPILED.format(**facts)] = None
        elif entry.what == "order":
            self.orders[-1].setdefault(facts["site"], entry)
        elif entry.what == "narrow":
            self.narrow |= {*facts["dtypes"]}
        elif entry.what == "step":
            self.made[-1] += 1
            for name, state in facts["generators"].items():
                self._generators.setdefault(name, {}).setdefault(facts["step"], set()).add(state)
            self._add_parameters(entry, len(self.made) - 1)
        elif entry.what == "end":
            self._ends.append((len(self.made) - 1, entry))
        else:
            self._add_draws(entry)

    def _add_draws(self, entry: Entry) -> None:
        facts = entry.facts
        if entry.what == "predicted":
            self.predicted[Predicted(**facts)] = None
        elif entry.what == "seeds":
            self._seeds.setdefault(facts["source"], {})[len(self.made) - 1] = facts

    def _add_parameters(self, entry: Entry, rank: int) -> None:
        facts = entry.facts
        if not facts["forms"]:
            self._unkept |= dict.fromkeys(facts["after"])
            self.missing |= {_path(*one): _TOO_LARGE for one in zip(facts["names"], facts["after"], strict=True)}
        for name, after, form, array in zip(*kept(entry), entry.arrays, strict=False):
            path = _path(name, after)
            self._after[path] = after
            self._named[path] = name
            self._ranks.setdefault(path, []).append(rank)
            self._add(path, array, form)

    def _add(self, path: str, array: Host, form: Form) -> None:
        parts = self._parts.setdefault(path, [])
        if parts and not form.get("offset") and bits_equal([parts[0][0], array]):
            array = parts[0][0]  # so that one copy is kept
        parts.append((array, form))

    def _at_one_time(self, path: str, moments: Together) -> list[tuple[Host, Form]]:
        """Returns the parts of a value, of the ranks that have it at one time; nothing where that is not known."""
        parts = self._parts[path]
        if path not in self._after or (self.made_alike and not self._are_numbered):
            return parts
        if parts[0][1].get("offset") and len(parts) < len(self.made):
            return []
        if self._are_numbered:
            return parts
        (_, until, leading), late = moments, self._after[path]
        return [part for part, rank in zip(parts, self._ranks[path], strict=True) if late < until or rank in leading]

    def _at_times(self) -> str:
        """Returns how many steps each rank makes, where they join at unequal times."""
        made = " and ".join(map(str, sorted({*self.made})))
        most = max(facts["step"] for found in self._facts for facts in found if "step" in facts)
        return f"ranks join early, and make {made} of {most} steps"

    def values(self) -> Iterator[Value]:
        """Yields the values; notes what cannot be put together.

        Where some ranks make fewer steps than others, later parameters of all belong to other moments.
        """
        made, moments = self.made, self.together
        _, until, leading = moments
        for rank, entry in self._ends:
            if made[rank] == max(made) or self._are_numbered:
                self._add_parameters(entry, rank)
        alone = f"the ranks make {min(made)} to {max(made)} steps"
        steps = self._at_times() if self._are_numbered else "" if self.made_alike else alone
        for path in self._parts:
            parts = self._at_one_time(path, moments)
            if not parts:
                self.missing[path] = steps
                continue
            reason = next((form["left"] for _, form in parts if "left" in form), None)
            if reason is not None:
                self.left[f"{path.partition('[')[2].rstrip(']')} is not compared: {reason}"] = None
                self.missing[path] = reason
                continue
            copies = whole(parts)
            computed = parts[0][1].get("dtype", copies[0].dtype.name)
            if computed.startswith("float8"):
                computed = "bfloat16"
            copies, after = copies[:1] if bits_equal(copies) else copies, self._after.get(path)
            yield Value(path, copies, computed, after is not None, after == 0, self._named.get(path, ""))
        if self._are_numbered:
            self.left[f"Steps are compared at their time: {steps}."] = None
        elif steps:
            where = "compared where ranks make all steps" if leading else "not compared"
            which = "are compared where ranks make steps" if until == np.inf else f"after step {until} are {where}"
            self.left[f"Parameters {which}: {steps}."] = None
        if self._unkept:
            first, last = min(self._unkept), max(self._unkept)
            text = f"Parameters after steps {first} to {last} are not compared: {_TOO_LARGE}."
            self.left[f"{text} Those before and those at the end are."] = None


def _path(name: str, after: int) -> str:
    """Returns the path of a parameter as it is after a step; 0 for the first one's beginning."""
    return f"{f'after step {after}' if after else _BEGIN}[{name!r}]"


def _are_one_sequence(seeds: Sequence[Facts]) -> bool:
    """Returns whether ranks seed with one sequence of numbers, of which some use less: the others began with the same.

    Of a long sequence only the first numbers are known each: ranks that differ and have more of them are no sequence.
    """
    longest = max(seeds, key=lambda of_rank: int(of_rank["count"]))
    return all(
        of_rank["digest"] == longest["digest"]
        or (of_rank["count"] == len(of_rank["first"]) and longest["first"][: of_rank["count"]] == of_rank["first"])
        for of_rank in seeds
    )
