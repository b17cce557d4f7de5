"""The law of faults: whatever fails at whatever synchronisation point, the error is named and nothing is half-written.

Each fault is planted at each point of each replica in turn, in a run of its own, which the same strategy follows with a
run without one. What is demanded: clause J-30; how a fault is planted: `check/injection.py`.
"""

from collections.abc import Iterator
from typing import Final

from simstrategy.check.aftermath import clean_leaves, first_problem, survivors_problem
from simstrategy.check.attempts import Attempt, attempt, in_cluster
from simstrategy.check.fault_plan import WORDS, Planted, Tried, row_of_faults, spread
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

_KINDS: Final[tuple[FaultKind, ...]] = tuple(kind for kind in WORDS if kind != "stopped")
"""Those of replicas that are tasks: no signal reaches one of them alone."""
_CLUSTER: Final = "a dead worker"


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


def _planned(clean: Attempt, count: int, limit: int | None) -> dict[FaultKind, Planted]:
    """Returns the faults of each kind, at all points or at an even choice of them."""
    total = len(clean.injector.calls)
    per_kind = None if limit is None else max(1, limit // (len(_KINDS) * count))
    points = spread(range(1, total + 1), per_kind)
    planned = {
        kind: Planted([Fault(kind, rank, point) for point in points for rank in range(count)], total, len(points))
        for kind in _KINDS
    }
    inputs = [clean.injector.own_inputs(rank) for rank in range(count)]
    own = [Fault("inf in its input", rank, run, leaf) for rank, found in enumerate(inputs) for run, leaf in found]
    runs = sorted({one.point for one in own})
    chosen = spread(runs, per_kind)
    planned["inf in its input"] = Planted([one for one in own if one.point in chosen], len(runs), len(chosen))
    return planned


def _judged(study: Study, row: Row, clean: Attempt, planted: Planted, kind: FaultKind) -> Row | None:
    """Returns the row of one kind, with the first problem; None where no such fault can be planted."""
    row = row._replace(schedule=planted.words(WORDS[kind]))
    compared = len(clean.first.leaves)
    found = row_of_faults(row, (_tried(study, int(row.replicas), clean, one) for one in planted.faults), compared)
    if found is None or found.problem is not None or found.undecided is not None:
        return found
    left = [path for path, _ in clean.first.leaves if path not in clean_leaves(clean)]
    changing = f"{len(left)} values of the next run on the same strategy: they change without a fault as well"
    return found._replace(not_compared=(changing,) if left and kind != "slow" else ())


def _tried(study: Study, count: int, clean: Attempt, fault: Fault) -> Tried | None:
    """Runs the program with a fault; returns what came of it, or None where the replica brings no floats there."""
    found = _attempt(study, count, fault)
    if not found.fired and fault.kind == "inf":
        return None
    where = _where(fault, clean)
    if not found.fired:
        return Tried(where, is_reached=False)
    at = "" if fault.kind == "inf in its input" else clean.injector.calls[fault.point - 1].request.kind
    return Tried(where, problem=first_problem(fault, clean, found, at))


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
    points = spread(range(1, total + 1), None if limit is None else max(1, limit // (len(_KINDS) * count)))
    planted = [Fault("dead", rank, point) for point in points for rank in range(count)]
    row = row._replace(replicas=f"{count} × 1", schedule=Planted(planted, total, len(points)).words(_CLUSTER))
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
