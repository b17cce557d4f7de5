"""The law of faults: whatever fails at whatever synchronisation point, the error is named and nothing is half-written.

Each fault is planted at each point of each replica in turn, in a run of its own, which the same strategy follows with a
run without one. What is demanded: clause J-30; how a fault is planted: `check/injection.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from simstrategy.check.aftermath import clean_leaves, first_problem, survivors_problem
from simstrategy.check.attempts import Attempt, attempt, in_cluster
from simstrategy.check.injection import Fault, FaultKind
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.study import Study
from simstrategy.errors import SimStrategyError
from simstrategy.run.call_paths import path_text
from simstrategy.trace import describe_request

__all__ = ["FAULTS_MAX", "faults", "faults_of"]

FAULTS_MAX: Final = 200
"""The most faults at one number of replicas; of more, an even choice of points is made, and stated."""

_WORDS: Final[dict[FaultKind, str]] = {
    "exception": "an exception in one replica",
    "inf": "inf in one replica's value",
    "inf in its input": "inf in one replica's argument",
    "early end": "an early end of one replica",
    "slow": "a slow replica",
    "dead": "a dead replica",
    "answer": "an exception out of the answer",
}
_CLUSTER: Final = "a dead worker"


class _Planted(NamedTuple):
    """The faults of one kind, and out of how many points or runs they were chosen."""

    faults: Sequence[Fault]
    places: int
    chosen: int

    def words(self, what: str) -> str:
        unit = "argument" if what == _WORDS["inf in its input"] else "point"
        every = f"each of {self.places}" if self.chosen == self.places else f"{self.chosen} of {self.places}"
        return f"{what}, at {every} {unit}{'' if self.places == 1 else 's'}"


def faults(study: Study) -> Iterator[Row]:
    """Yields a row for each fault at each number of replicas above 1."""
    yield from faults_of(study, FAULTS_MAX)


def faults_of(study: Study, limit: int | None) -> Iterator[Row]:
    """Yields the rows of `faults`.  limit: the most faults at one number of replicas; None for all."""
    name = study.reference
    for count in study.replicas:
        if count == 1:
            continue
        row = law_row("faults", name, str(count))
        clean = _attempt(study, count, None)
        points = len(clean.injector.calls)
        error = clean.first.error
        if error is not None or not points:
            text = "has no synchronisation point" if error is None else f"raises {type(error).__name__} without a fault"
            why = "nothing to compare" if error is None else "it raises"
            asked = "faults" in study.settings.asked
            yield not_judged(row, why, f"no fault was planted: the program {text}", asked=asked)
            continue
        for kind, planted in _planned(clean, count, limit).items():
            found = _judged(study, row, clean, planted, kind)
            if found is not None:
                yield found
        if name in study.openings.simulated:
            yield from _dead_workers(study, row, count, limit)


def _attempt(study: Study, count: int, fault: Fault | None) -> Attempt:
    opened = study.openings.take(study.reference, count)
    return attempt(opened, study.program_with({}), study.settings.semantics, fault)


def _planned(clean: Attempt, count: int, limit: int | None) -> dict[FaultKind, _Planted]:
    """Returns the faults of each kind, at all points or at an even choice of them."""
    total = len(clean.injector.calls)
    per_kind = None if limit is None else max(1, limit // (len(_WORDS) * count))
    points = _spread(range(1, total + 1), per_kind)
    planned = {
        kind: _Planted([Fault(kind, rank, point) for point in points for rank in range(count)], total, len(points))
        for kind in _WORDS
    }
    inputs = [clean.injector.own_inputs(rank) for rank in range(count)]
    own = [Fault("inf in its input", rank, run, leaf) for rank, found in enumerate(inputs) for run, leaf in found]
    runs = sorted({one.point for one in own})
    chosen = _spread(runs, per_kind)
    planned["inf in its input"] = _Planted([one for one in own if one.point in chosen], len(runs), len(chosen))
    return planned


def _spread(places: Sequence[int], most: int | None) -> Sequence[int]:
    """Returns at most so many of these, evenly spread, with the first and the last."""
    if most is None or len(places) <= most:
        return places
    if most == 1:
        return places[:1]
    return [places[round(number * (len(places) - 1) / (most - 1))] for number in range(most)]


def _judged(study: Study, row: Row, clean: Attempt, planted: _Planted, kind: FaultKind) -> Row | None:
    """Returns the row of one kind, with the first problem; None where no such fault can be planted."""
    judged = 0
    row = row._replace(schedule=planted.words(_WORDS[kind]))
    for fault in planted.faults:
        found = _attempt(study, int(row.replicas), fault)
        if not found.fired and kind == "inf":
            continue  # the replica brings no floats there
        where = _where(fault, clean)
        if not found.fired:
            return row._replace(undecided=f"{where}: the point was not reached again", why="not the same run again")
        judged += 1
        calls = clean.injector.calls
        at = "" if kind == "inf in its input" else calls[fault.point - 1].request.kind
        problem = first_problem(fault, clean, found, at)
        if problem is not None:
            return row._replace(problem=f"{where}: {problem}", compared=len(clean.first.leaves))
    if not judged:
        return None
    left = [path for path, _ in clean.first.leaves if path not in clean_leaves(clean)]
    changing = f"{len(left)} values of the next run on the same strategy: they change without a fault as well"
    return row._replace(
        equal_bits=True,
        compared=len(clean.first.leaves),
        why=f"holds in {judged} run{'' if judged == 1 else 's'}",
        not_compared=(changing,) if left and kind != "slow" else (),
    )


def _where(fault: Fault, clean: Attempt) -> str:
    if fault.kind == "inf in its input":
        return f"replica {fault.replica}, run {fault.point}"
    call = clean.injector.calls[fault.point - 1]
    return f"replica {fault.replica}, point {fault.point}, {describe_request(call.request)} at {path_text(call.site)}"


def _dead_workers(study: Study, row: Row, count: int, limit: int | None) -> Iterator[Row]:
    """Yields the row of workers that die in a simulated cluster, if the program runs in one."""
    settings, program = study.settings, study.program_with({})
    try:
        clean = in_cluster(program, settings.semantics, count, None, settings.order)
    except SimStrategyError:
        return  # such as one whose replicas share a lock, which workers do not
    total = len(clean[0].injector.calls)
    if any(one.first.error is not None for one in clean) or not total:
        return
    points = _spread(range(1, total + 1), None if limit is None else max(1, limit // (len(_WORDS) * count)))
    planted = [Fault("dead", rank, point) for point in points for rank in range(count)]
    row = row._replace(replicas=f"{count} × 1", schedule=_Planted(planted, total, len(points)).words(_CLUSTER))
    for fault in planted:
        problem = _after_death(study, count, fault)
        if problem is not None:
            yield row._replace(problem=f"{_where(fault, clean[0])}: {problem}", compared=len(clean[0].first.leaves))
            return
    compared = len(clean[0].first.leaves)
    yield row._replace(equal_bits=True, compared=compared, why=f"holds in {len(planted)} runs")


def _after_death(study: Study, count: int, fault: Fault) -> str | None:
    """Returns what is wrong on the other workers after one died; None where nothing is."""
    try:
        settings = study.settings
        found = in_cluster(study.program_with({}), settings.semantics, count, fault, settings.order)
    except Exception as error:  # noqa: BLE001 - what ends a whole cluster is a problem, whatever it is
        return f"all workers end with {type(error).__name__}, and none of them names the one that died"
    return survivors_problem(fault, found)
