"""What one rank did, in its order: its calls, its steps of optimizers, and what the names of the script held."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simstrategy.trace import Unreadable
from simstrategy_torch_distributed.calls import Call
from simstrategy_torch_distributed.checking.merging import Moment
from simstrategy_torch_distributed.record import Record
from simstrategy_torch_distributed.watched.entries import Entry, read

__all__ = ["Leaf", "NamedMoment", "Shared", "StepMoment", "calls_of", "moments_of"]

Leaf = np.ndarray[Any, Any] | Unreadable


class Shared(NamedTuple):
    """A call of one rank.  brought, got: its tensors, [any shape] each."""

    call: Call
    brought: tuple[Leaf, ...]
    got: tuple[Leaf, ...]


class StepMoment(NamedTuple):
    """A step of an optimizer on one rank.  site: file and line. names: of its parameters.

    gradients, before, after: of these parameters, [any shape] each; those that are not known are left out.
    """

    number: int
    site: tuple[str, int]
    names: tuple[str, ...]
    gradients: Mapping[str, Leaf]
    before: Mapping[str, Leaf]
    after: Mapping[str, Leaf]


class NamedMoment(NamedTuple):
    """A value that a name holds on one rank after a line has run, [any shape].  step: of the optimizers, from 1."""

    name: str
    site: tuple[str, int]
    step: int
    value: np.ndarray[Any, Any]


def calls_of(file: Path, calls: Sequence[Call]) -> list[Shared]:
    """Returns calls of a rank with their tensors.  file: what the rank has recorded."""
    found: dict[tuple[str, int], tuple[Leaf, ...]] = {}
    for entry in read(file):
        if entry.what in ("brought", "got"):
            found[entry.what, entry.facts["number"]] = tuple(_leaves(entry))
    return [
        Shared(one, found.get(("brought", one.number), ()), found.get(("got", one.number), ()))
        for one in sorted(calls, key=lambda one: one.number)
    ]


def _leaves(entry: Entry) -> Iterator[Leaf]:
    arrays = iter(entry.arrays)
    for shape, dtype, is_kept in entry.facts["forms"]:
        yield next(arrays) if is_kept else Unreadable(tuple(shape), dtype)


def moments_of(file: Path, rank: int, record: Record) -> list[Moment]:
    """Returns what a rank did, in its order.  file: what it has recorded. record: of the run."""
    together = record.together()
    placed: list[tuple[tuple[int, int, int], Moment]] = []
    for shared in calls_of(file, record.calls_of(rank)):
        number = shared.call.number
        key, members = together[rank, number]
        placed.append(((number, -1, 0), Moment(("call", key), members, shared)))
    times: Counter[Hashable] = Counter()
    entries = [entry for entry in read(file) if entry.what in ("step", "end", "held")]
    after = _after(entries)
    for entry in entries:
        if entry.what == "step":
            number, calls = entry.facts["step"], entry.facts["calls"]
            step = _step(entry, after.get(number))
            placed.append(((calls, number, 1), Moment(("step", number), None, step)))
        elif entry.what == "held" and entry.arrays:
            facts = entry.facts
            line = (facts["name"], *facts["site"], repr(facts["callers"]))
            times[line] += 1
            what = NamedMoment(facts["name"], tuple(facts["site"]), facts["step"], _joined(entry.arrays))
            placed.append(((facts["calls"], facts["step"], 0), Moment(("held", line, times[line]), None, what)))
    placed.sort(key=lambda one: one[0])
    return [moment for _, moment in placed]


def _joined(leaves: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Returns the numbers of a value, [any shape] each, as one array: of several, their elements one after another."""
    return leaves[0] if len(leaves) == 1 else np.concatenate([leaf.reshape(-1) for leaf in leaves])


def _after(entries: Sequence[Entry]) -> dict[int, dict[str, Leaf]]:
    """Returns the parameters after each step, as the next step that writes them, or the end, has them."""
    found: dict[int, dict[str, Leaf]] = defaultdict(dict)
    for entry in entries:
        if entry.what in ("step", "end"):
            values = _parameters(entry)
            for name, after in zip(entry.facts["names"], entry.facts["after"], strict=True):
                found[after] |= {name: values[name]} if name in values else {}
    return found


def _parameters(entry: Entry) -> dict[str, Leaf]:
    facts = entry.facts
    if not facts["forms"]:
        return {}
    return dict(zip(facts["names"], entry.arrays, strict=False))


def _step(entry: Entry, after: Mapping[str, Leaf] | None) -> StepMoment:
    facts, names = entry.facts, tuple(entry.facts["names"])
    given = iter(entry.arrays[len(names) :])
    gradients = {names[place]: next(given) for place, _ in facts["gradients"]}
    site = (str(facts["site"][0]), int(facts["site"][1]))
    return StepMoment(facts["step"], site, names, gradients, _parameters(entry), after or {})
