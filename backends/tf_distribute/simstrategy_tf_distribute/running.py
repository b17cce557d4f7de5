"""Runs a program once under an observed MirroredStrategy, and returns its outcome and recording."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import keras  # type: ignore[import-untyped]

from simstrategy.check.causes.watching import NamedValue
from simstrategy.check.contents import Contents
from simstrategy.check.folder import same_folder
from simstrategy.check.outcome import Outcome, computed_in, program_folder, source_of
from simstrategy.errors import InvalidArgument
from simstrategy.run import stated_site
from simstrategy.trace import Recorder, Recording, Trace
from simstrategy_tf_distribute.closely import StepsEnded, line_by_line
from simstrategy_tf_distribute.devices import ObservedStrategy
from simstrategy_tf_distribute.error_texts import shown_error, where_raised
from simstrategy_tf_distribute.layers import at_most, coarsest_dtype
from simstrategy_tf_distribute.lines import Site
from simstrategy_tf_distribute.narrow import narrow_of
from simstrategy_tf_distribute.observation import Observation
from simstrategy_tf_distribute.observing import Observer, Steps, first_not_finite
from simstrategy_tf_distribute.outside import Shared
from simstrategy_tf_distribute.results import contents_of_result, models_of
from simstrategy_tf_distribute.undistributed import Undistributed
from simstrategy_tf_distribute.variables import nudged_variables

__all__ = ["WHOLE_BYTES", "Run", "begin", "run_closely", "run_once", "run_under"]

WHOLE_BYTES: Final = 1 << 20
"""Up to which size reduced values are kept whole; larger ones are not compared."""

Program = Callable[[Any], Any]


class Run(NamedTuple):
    """One run.

    models: the Keras models in its result. combined: as of `Variables`. undistributed: where all replicas are given the
    same examples. named: the named values of its replica functions, where it ran line by line. narrow: the coarsest
    narrow dtype in which it computes, or None. shared: the variables made outside of the scope that replicas write.
    layers: the layers of Keras that made variables in the scope, also of models that are not in the result.
    """

    outcome: Outcome
    recording: Recording
    models: tuple[Any, ...]
    combined: Mapping[Site, Sequence[str]]
    undistributed: Sequence[Undistributed]
    named: Sequence[NamedValue] = ()
    narrow: str | None = None
    shared: Sequence[Shared] = ()
    layers: Sequence[Any] = ()


def run_once(
    program: Program,
    seed: int,
    count: int,
    pattern: int | None = None,
    *,
    sums: bool = False,
    narrow: str | None = None,
) -> Run:
    """Runs a program; if it raises, once more without a record of values, which XLA cannot compile.

    seed: of Keras and TensorFlow. count: of replicas. pattern: of nudged inputs, or None. sums: whether what replicas
    reduce is nudged as well. narrow: a dtype of `device.narrow` by whose units both are nudged; None for their own.
    """
    run = _attempt(program, seed, count, pattern, recorded=True, sums=sums, narrow=narrow)
    error = run.outcome.error
    if error is None or error[0] == "ReplicasDisagree":
        return run
    return _attempt(program, seed, count, pattern, sums=sums, narrow=narrow)


def run_closely(program: Program, seed: int, count: int, pattern: int | None = None, last: int | None = None) -> Run:
    """Runs a program line by line and records all of `Closely`.  seed, count, pattern: as of `run_once`.

    last: the last step that is run; None for all. A run that it ends has no result.
    """
    return _attempt(program, seed, count, pattern, recorded=True, closely=True, last=last)


def _attempt(
    program: Program,
    seed: int,
    count: int,
    pattern: int | None,
    *,
    recorded: bool = False,
    sums: bool = False,
    narrow: str | None = None,
    closely: bool = False,
    last: int | None = None,
) -> Run:
    recorder = Recorder(root=program_folder(program), whole_bytes=WHOLE_BYTES)
    recorder.describe(replicas=count, workers=1, arrivals="not recorded", source=source_of(program))
    begin(seed)
    observer = partial(Observer, Steps(recorder)) if recorded else None
    trace = Trace(root=program_folder(program))
    strategy = ObservedStrategy(count, trace, observer, pattern=pattern, sums=sums, narrow=narrow)
    observation = strategy.observation
    more = observation.record_closely(recorder, last) if closely else None
    with nullcontext() if more is None else line_by_line():
        try:
            outcome, models = run_under(program, strategy, observation, pattern)
        except StepsEnded:
            outcome, models = Outcome((), None, ()), ()
    site = stated_site(outcome.notes, Path(program_folder(program)))
    if more is not None:
        more.changes()
    recorder.ended(0, outcome.leaves, outcome.error, site=site)
    recorder.close()
    recording = recorder.recording()
    return Run(
        outcome._replace(not_finite=first_not_finite(recording)),
        recording,
        models,
        observation.variables.combined(),
        tuple(observation.undistributed),
        () if more is None else more.named,
        narrow_of(() if observation.observer is None else observation.observer.graphs.found, models),
        observation.outside.shared(),
        tuple(observation.variables.layers),
    )


def begin(seed: int) -> None:
    """Resets Keras's names, and sets the seeds of Python, NumPy, Keras and TensorFlow."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)


def run_under(
    program: Program, strategy: Any, observation: Observation, pattern: int | None = None
) -> tuple[Outcome, tuple[Any, ...]]:
    """Runs a program once under an observed strategy; returns its outcome, and the Keras models in its result.

    pattern: of nudged inputs, or None.
    """
    raised: tuple[str, str] | None = None
    notes: tuple[str, ...] = ()
    found, models = Contents.none(), []
    try:
        with (
            same_folder(),
            observation.outside.watch(),
            nullcontext() if pattern is None else nudged_variables(pattern),
        ):
            result = program(strategy)
        models = models_of(result)
        if result is not None:
            found = contents_of_result(result, observation.variables.has)
    except (InvalidArgument, KeyboardInterrupt):
        raise
    except BaseException as caught:  # noqa: BLE001 - compared like a value: both may raise the same
        error = observation.disagreement or caught
        raised, notes = (type(error).__name__, shown_error(error)), (where_raised(caught),)
    kept = observation.variables.kept()
    found.leaves.extend(kept.leaves)
    # A layer may compute in a narrower dtype than its variables have.
    events, coarsest = tuple(observation.trace.events()), coarsest_dtype(models)
    outcome = Outcome(
        tuple(found.leaves),
        raised,
        events,
        notes,
        structure=tuple(found.structure),
        computed=tuple([at_most(coarsest, one) for one in computed_in(found, events, ())]),
        exempt=(*found.exempt, *kept.exempt),
        variables=kept.kinds,
        floats_put=observation.variables.has_floats() or observation.distributes_floats,
        partly=tuple(found.partly),
    )
    return outcome, tuple(models)
