"""Runs a program on two numbers of replicas, records both, and explains why its results differ."""

from collections.abc import Sequence
from contextlib import closing, nullcontext
from typing import Final

from simstrategy.check.causes.explaining import explain
from simstrategy.check.causes.facts import Cause, Host, PointFacts
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.recordings import facts_of
from simstrategy.check.causes.restoring import Experiment, Given, RestoredBackend, given_at
from simstrategy.check.causes.units import units_of
from simstrategy.check.causes.watching import NamedValue, Watch
from simstrategy.check.compare import NUDGES
from simstrategy.check.folder import same_folder
from simstrategy.check.outcome import Program, program_folder, run_program
from simstrategy.device import Backend, UlpPerturbed, open_backend
from simstrategy.schedules import InOrder
from simstrategy.strategy import Semantics, Strategy
from simstrategy.strategy.modes import current_mode
from simstrategy.trace import Recorder, Recording

__all__ = ["explain_difference", "explain_recordings", "record"]

_WHOLE_BYTES: Final = 1 << 20
"""Up to which size values are kept whole; larger ones are not compared."""


def explain_difference(
    program: Program, counts: tuple[int, int], *, backend: str = "sim", semantics: Semantics = Semantics.TF1_15
) -> Cause:
    """Runs a program with both numbers of replicas and returns the cause of the difference of its results.

    program: as for `check`. counts: of the reference and of the other run. It runs five times: three of the runs
    measure rounding. In the other two the named values of its replica functions are recorded, where a thread of their
    own does not run them. Where points differ before the first kept value, it runs up to twelve times more, each time
    with the reference's result at one of them. Raises what opening a backend raises; an exception of the program ends
    its recording.
    """
    named: list[list[NamedValue]] = [[], []]
    both = [
        record(program, count, backend=backend, semantics=semantics, named=values)
        for count, values in zip(counts, named, strict=True)
    ]
    nudged = [record(program, counts[0], backend=backend, semantics=semantics, pattern=one) for one in NUDGES]

    def restored(number: int, leaves: Sequence[Host | None]) -> Sequence[PointFacts]:
        given = given_at(both[1], number, leaves)
        return facts_of(record(program, counts[1], backend=backend, semantics=semantics, given=given))

    return explain_recordings(
        both[0], both[1], nudged, counts=counts, named=Named(named[0], named[1]), restored=restored
    )


def explain_recordings(
    reference: Recording,
    other: Recording,
    nudged: Sequence[Recording] = (),
    *,
    counts: tuple[int, int],
    named: Named | None = None,
    restored: Experiment | None = None,
    steps: int = 0,
) -> Cause:
    """Returns the cause of a difference between two recordings of one program.  It runs nothing but `restored`.

    nudged: recordings of the reference with its inputs moved by one ulp, which measure rounding. named: the named
    values of both runs, where they were recorded. restored, steps: as for `explain`.
    """
    expected = facts_of(reference)
    units = units_of(expected, [facts_of(one) for one in nudged])
    return explain(expected, facts_of(other), units=units, counts=counts, named=named, restored=restored, steps=steps)


def record(
    program: Program,
    replicas: int,
    *,
    backend: str = "sim",
    semantics: Semantics = Semantics.TF1_15,
    pattern: int | None = None,
    named: list[NamedValue] | None = None,
    given: Given | None = None,
) -> Recording:
    """Runs a program once and returns its recording, with its results.

    pattern: of `UlpPerturbed`, or None. named: receives the named values of the replica functions. given: to
    `RestoredBackend`, or None.
    """
    with same_folder(), closing(open_backend(backend, replicas=replicas)) as opened:
        used: Backend = opened if pattern is None else UlpPerturbed(opened, pattern, functions=True)
        used = used if given is None else RestoredBackend(used, given)
        recorder = Recorder(root=program_folder(program), whole_bytes=_WHOLE_BYTES)
        strategy = Strategy.mirrored(used, semantics=semantics, schedule=InOrder(), trace=recorder)
        worker = opened.local_devices[0].process
        watch = Watch(lambda: recorder.position(worker), opened.get, opened.array_types, _replica)
        with closing(strategy), nullcontext() if named is None else watch.on():
            run_program(program, strategy, recorder)
        if named is not None:
            named += watch.values
        return recorder.recording()


def _replica() -> int | None:
    """Returns the number of the replica whose function runs; None outside of one."""
    mode = current_mode()
    return None if mode is None or mode.replica is None else mode.index
