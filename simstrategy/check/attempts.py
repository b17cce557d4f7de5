"""Runs of a program with a planted fault, and what each leaves behind: components, writes, and what a retry gives."""

import traceback
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.checkpoint import with_checkpoint
from simstrategy.check.contents import contents_of
from simstrategy.check.injection import Fault, FaultyBackend, Injector, Slow, WatchedCell
from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import Program, program_folder, read_after_error
from simstrategy.check.probe import GroupCallProbe
from simstrategy.device import Backend
from simstrategy.errors import ReplicaWaits
from simstrategy.schedules import InOrder
from simstrategy.sim import Cluster
from simstrategy.strategy import Semantics, Strategy, group_of
from simstrategy.trace import Trace

__all__ = ["Attempt", "Components", "Run", "attempt", "in_cluster", "ours"]

Host = np.ndarray[Any, Any]

_WAIT_LIMIT_S: Final = 10.0
"""After which a replica that waits for one with a fault is reported."""

_OURS: Final = Path(__file__).parents[1]


class Components(NamedTuple):
    """A variable after a run.  values: of each replica [shape of the variable]. writes: how many, () if not counted.

    together: whether all replicas write it together, so that its components are equal.
    """

    name: str
    together: bool
    values: tuple[Host, ...]
    writes: tuple[int, ...]


class Run(NamedTuple):
    """One run of the program.  leaves: path and value of all that it returned, and of the variables that it made."""

    leaves: tuple[tuple[str, Host], ...]
    variables: tuple[Components, ...]
    error: BaseException | None


class Attempt(NamedTuple):
    """A run with a fault, and the next run of the program on the same strategy, without one.

    fired: whether the fault's point was reached. lost: the file of the core that caught the planted exception and did
    not raise it again. not_finite: the first value that is not finite and entered a group-call, in words.
    """

    first: Run
    again: Run
    fired: bool
    lost: str | None
    not_finite: str | None
    injector: Injector


def attempt(opened: Backend, program: Program, semantics: Semantics | None, fault: Fault | None) -> Attempt:
    """Runs the program with a fault, and once more without; closes the backend."""
    injector = Injector(fault)
    trace = Trace(root=program_folder(program))
    with closing(opened) as backend:
        probe = GroupCallProbe(backend, trace)
        schedule = Slow(injector, len(backend.devices)) if fault is not None and fault.kind == "slow" else InOrder()
        strategy = Strategy.mirrored(
            FaultyBackend(probe, injector),
            semantics=semantics,
            schedule=schedule,
            trace=trace,
            checks="paths",
            wait_limit_s=_WAIT_LIMIT_S,
        )
        group_of(strategy).reductions.probe = probe.watch
        with closing(strategy), warnings.catch_warnings():
            _only_long_waits()
            first = _run(strategy, program)
            not_finite, lost = probe.found, ours(injector.raised) if first.error is None else None
            injector.disarm()
            again = _run(strategy, program)
    return Attempt(first, again, injector.fired, lost, not_finite, injector)


def in_cluster(
    program: Program, semantics: Semantics | None, workers: int, fault: Fault | None, order: str = LINEAR
) -> list[Attempt]:
    """Runs the program in a simulated cluster of workers of one replica each, one of which dies; once.

    Returns what became of each worker. A worker that died has no error of its own to be read by the others.
    """
    injector = Injector(fault)
    trace = Trace(root=program_folder(program))

    def main(strategy: Strategy) -> Run:
        return _run(strategy, program)

    cluster = Cluster(
        workers,
        1,
        semantics=semantics,
        trace=trace,
        wrap=lambda backend: FaultyBackend(GroupCallProbe(backend, trace), injector),
        order=order,
        isolate=True,
        wait_limit_s=_WAIT_LIMIT_S,
    )
    with warnings.catch_warnings():
        _only_long_waits()
        runs: Sequence[Run] = cluster.run(main)
    return [Attempt(run, run, injector.fired, None, None, injector) for run in runs]


def _only_long_waits() -> None:
    """Makes a long wait end the run, if it could end or not; what else is warned of shows in what is left behind."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", ReplicaWaits)


def _run(strategy: Strategy, program: Program) -> Run:
    """Runs the program; keeps what it returned, its error, and all variables of this run."""
    group = group_of(strategy)
    before, error = len(group.variables.created), None
    leaves: list[tuple[str, Host]] = []
    try:
        result = with_checkpoint(program)(strategy)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # noqa: BLE001 - a killed task raises what no `except Exception` catches
        error = raised
        group.coordinator.disconnect(raised)
    else:
        leaves += contents_of(result, group.backend.get, group.array_types, group.frontend.unwrap).leaves
    variables = []
    for number, variable in enumerate(group.variables.created[before:]):
        state = variable.state
        cells = state.storage.cells
        values = tuple([read_after_error(group.backend.get, cell.read()) for cell in cells])
        writes = tuple([cell.writes for cell in cells if isinstance(cell, WatchedCell)])
        alone = state.policy.replica_write == "component" or state.storage.is_exposed
        together = state.policy.layout == "mirrored" and not alone
        variables.append(Components(variable.name, together, values, writes))
        leaves += [(f"variable {number} {variable.name!r}, replica {rank}", one) for rank, one in enumerate(values)]
    return Run(tuple(leaves), tuple(variables), error)


def ours(error: BaseException | None) -> str | None:
    """Returns the place where the core caught an exception without raising it again; None where the program did."""
    frames = [] if error is None else list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return None
    frame, line = frames[0]
    file = Path(frame.f_code.co_filename)
    inside = _OURS in file.parents and not _is_judge(file)
    return f"{file.relative_to(_OURS.parent)}:{line}" if inside else None


def _is_judge(file: Path) -> bool:
    return _OURS / "check" in file.parents
