"""The law of state: what is declared equal on all replicas is equal on all of them, to the bit, when the program ends.

Declared are variables whose components are mirrored, and `Mirrored` values in the result. What a program names in
`require_equal` or `require_equal_after_run` is compared while it runs, by the strategy: a difference is an error there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from simstrategy.check.clusters import run_cluster
from simstrategy.check.contents import is_mirrored
from simstrategy.check.exempt import reason_for
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row, shown_in
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.runs import RecordedRuns
from simstrategy.check.shown import Way, of_replicas
from simstrategy.check.study import Study
from simstrategy.strategy.bits import plain
from simstrategy.trace import Recording, VariableWrite

__all__ = ["state", "state_in_process"]

Host = np.ndarray[Any, Any]
Held = dict[str, dict[int, Host]]
"""For each value that is declared equal, what each replica holds, by rank."""


def state(study: Study) -> Iterator[Row]:
    """Yields a row for each number of replicas and of workers above 1.

    Where the law was not asked for by name, it yields those with a problem alone: that state is equal within a run
    is no agreement of two runs.
    """
    asked = "state" in study.settings.asked
    if study.has_reference:
        yield from state_in_process(study)
    for count in study.workers:
        if count > 1:
            row = law_row("state", study.openings.cluster, f"{count} × 1")
            yield from _rows(study, row, run_cluster(study, count), None, asked=asked)


def state_in_process(runs: RecordedRuns) -> Iterator[Row]:
    """Yields a row for each number of replicas above 1, as `state` does; no worker has a part in it."""
    for count in runs.replicas:
        if count > 1:
            found, row = runs.measured(count), law_row("state", runs.reference, str(count))
            asked = "state" in runs.settings.asked
            recorded = (of_replicas(count), runs.recorded(count))
            yield from _rows(runs, row, (found.first,), recorded, asked=asked)


def _rows(
    runs: RecordedRuns, row: Row, outcomes: Sequence[Outcome], recorded: tuple[Way, Recording] | None, *, asked: bool
) -> Iterator[Row]:
    """Yields the row, where there is one.  recorded: the run in which all components are, with its way."""
    shown = asked or "all" in runs.settings.asked
    error = next((one.error for one in outcomes if one.error is not None), None)
    if error is not None:
        if shown:
            yield not_judged(row, "it raises", f"its run raises {error[0]}", asked=asked)
        return
    held, exempt = _declared(outcomes, runs.settings.exempt)
    texts = {name: text for name, one in held.items() if (text := _unequal(one)) is not None}
    row = row._replace(compared=len(held), equal_bits=not texts, exempt=exempt)
    if texts:
        advice = runs.settings.unequal
        problems = [f"{name} must be equal on all replicas, and is not: {text}" for name, text in texts.items()]
        writes = [*_first_writes(recorded[1], list(texts))] if recorded is not None else []
        alone = [*_lone_writes(recorded[1], list(texts))] if recorded is not None else []
        row = row._replace(problem="\n  ".join([*problems, *map(_left, writes), *map(_alone, alone), advice]))
        first = next((write.number for write in (*writes, *alone)), None)
        yield row if recorded is None else shown_in(row, (recorded[0],), first)
    elif unsettled := _unsettled(outcomes, runs.settings.exempt):
        yield not_judged(row, "it may be each replica's own", "\n  ".join(unsettled), asked=True)
    elif shown:
        yield row if held else not_judged(row, "nothing declared", runs.settings.undeclared, asked=asked)


def _declared(outcomes: Sequence[Outcome], patterns: Mapping[str, str]) -> tuple[Held, tuple[str, ...]]:
    """Returns what is declared equal, and sentences on what is exempt of it."""
    held: Held = {}
    exempt: dict[str, None] = {}
    for outcome in outcomes:
        labels = {kind.path: kind.path for kind in outcome.variables if kind.layout == "mirrored"}
        labels |= {path: path for path, text in outcome.structure if is_mirrored(text)}
        for path, leaf in outcome.leaves:
            label, rank, rest = _parted(path)
            if label not in labels:
                continue
            reason = reason_for(label, dict(outcome.exempt), patterns)
            if reason is not None:
                exempt[f"{label}: {reason}"] = None
                continue
            held.setdefault(label + rest, {})[rank] = leaf
    return held, tuple(exempt)


def _unsettled(outcomes: Sequence[Outcome], patterns: Mapping[str, str]) -> list[str]:
    """Returns a sentence for each value of which it is not known whether it should be equal, unless it is exempt."""
    pairs = [(one, pair) for one in outcomes for pair in one.unsettled]
    return [f"{path}: {text}" for one, (path, text) in pairs if not reason_for(path, dict(one.exempt), patterns)]


def _parted(path: str) -> tuple[str, int, str]:
    """Returns what a leaf is a component of, of which replica, and where in the component it is.

    >>> _parted("variable 0 'w', replica 2"), _parted("result['a'] of local replica 1[0]")
    (("variable 0 'w'", 2, ''), ("result['a']", 1, '[0]'))
    """
    for sign in (", replica ", " of local replica "):
        label, found, rest = path.partition(sign)
        if found:
            digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
            return label, int(digits or -1), rest[len(digits) :]
    return path, -1, ""


def _unequal(components: Mapping[int, Host]) -> str | None:
    """Returns the first replica that differs from the first one, as a sentence; None where all are equal."""
    (first, one), *others = components.items()
    for rank, other in others:
        if one.shape != other.shape or one.dtype != other.dtype:
            forms = f"{one.dtype}{list(one.shape)}", f"{other.dtype}{list(other.shape)}"
            return f"in the end replica {first} holds {forms[0]}, and replica {rank} {forms[1]}"
        if plain(one).tobytes() != plain(other).tobytes():
            differs = plain(one).reshape(-1) != plain(other).reshape(-1)
            if one.dtype.kind == "c":
                differs = (one != other).reshape(-1)
            flat = int(np.argmax(differs))
            where = f"element {list(map(int, np.unravel_index(flat, one.shape)))} is " if one.ndim else ""
            values = one.reshape(-1)[flat], other.reshape(-1)[flat]
            return f"in the end {where}{values[0]} on replica {first} and {values[1]} on replica {rank}"
    return None


def _first_writes(recording: Recording, paths: Sequence[str]) -> Iterator[VariableWrite]:
    """Yields the write with which each of these variables was left unequal first, if the recording has it."""
    names = _names(paths)
    held: dict[str, dict[int, str]] = {}
    last: dict[str, VariableWrite] = {}
    for write in recording.writes:
        if write.variable not in names:
            continue
        found = held.setdefault(write.variable, {})
        if write.step != last.get(write.variable, write).step and len({*found.values()}) > 1:
            yield last[write.variable]
            names.discard(write.variable)
            continue
        last[write.variable] = write
        if write.replica is None:
            found.update(enumerate(value.digest for value in write.after))
        else:
            found[write.replica] = write.after[0].digest
    for name in sorted(names):
        if len({*held.get(name, {}).values()}) > 1:
            yield last[name]


def _lone_writes(recording: Recording, paths: Sequence[str]) -> Iterator[VariableWrite]:
    """Yields the first write of each of these variables that one replica alone writes, if the recording has it."""
    for name in sorted(_names(paths)):
        writes = [write for write in recording.writes if write.variable == name]
        if writes and writes[0].replica is not None and {write.replica for write in writes} == {writes[0].replica}:
            yield writes[0]


def _names(paths: Sequence[str]) -> set[str]:
    return {path.partition("'")[2].rpartition("'")[0] for path in paths}


def _alone(write: VariableWrite) -> str:
    return (
        f"apart from what all replicas write together, {write.variable!r} is written on replica {write.replica} alone, "
        f"first by {write.operation} at {write.site}, {_when(write)}"
    )


def _when(write: VariableWrite) -> str:
    return f"in run {write.step}" if write.step else "before the first run"


def _left(write: VariableWrite) -> str:
    return f"{write.variable!r} is left unequal first by {write.operation} at {write.site}, {_when(write)}"
