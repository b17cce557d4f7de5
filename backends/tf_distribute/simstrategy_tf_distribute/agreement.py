"""Compares the results of a program under MirroredStrategy on several numbers of replicas.

Every run adds in rank order and is traced. The effect of rounding is measured: the first number of replicas runs again,
with its data and the initial values of its variables changed by one ulp. `simstrategy.check.causes` finds the causes of
differences.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, NamedTuple

import keras  # type: ignore[import-untyped]

from simstrategy.check import Report, Row
from simstrategy.check.causes import explain, units_of
from simstrategy.check.compare import Sensitivity, compare, exactly, sensitivity
from simstrategy.check.outcome import Outcome, program_folder, program_name
from simstrategy.check.rows import NOT_REPEATABLE, largest
from simstrategy.errors import InvalidArgument
from simstrategy.run import raised_where
from simstrategy.schedules import InOrder
from simstrategy.short_repr import without_addresses
from simstrategy.trace import Trace
from simstrategy_tf_distribute.devices import ObservedStrategy, names
from simstrategy_tf_distribute.layers import coarsest_ulp, layers_on_their_own
from simstrategy_tf_distribute.observing import Observer, Step, facts_of, first_not_finite, nudged_variables
from simstrategy_tf_distribute.reduction import OrderedReduction
from simstrategy_tf_distribute.results import leaves_of

__all__ = ["replicas_agree"]

_NUDGES: Final = (1, 2, 3)
_NAMED_MAX: Final = 6
"""The most differences that are listed one by one."""


class _Run(NamedTuple):
    outcome: Outcome
    steps: list[Step]
    models: list[Any]


def replicas_agree(
    program: Callable[[Any], Any],
    *,
    replicas: Sequence[int] = (1, 2, 4),
    seed: int = 0,
    allow_errors: bool = False,
    on_row: Callable[[Row], None] = lambda row: None,
) -> Report:
    """Runs `program(strategy)` under the real MirroredStrategy with each number of replicas, and compares.

    program: builds, compiles and fits in `strategy.scope()`, and returns the fitted model, whose weights are compared
    by name, or a nest of models, histories, arrays and numbers. Before each run Keras's names and seeds are reset
    (`keras.utils.clear_session`). The first number is the reference, and runs twice: both runs must give equal bits.
    Two numbers agree if no leaf differs by more than 5 times (`simstrategy.check`) the change that one ulp of all data
    and of every variable's initial value makes in it. allow_errors: a program may raise an error, if every run raises
    the same. Raises InvalidArgument for no numbers, and for a program whose result cannot be compared;
    BackendUnavailable if TensorFlow has started with fewer devices.

    Source of what Keras and MirroredStrategy do: Keras 3.15.1 and TensorFlow 2.21.0, as measured.
    """
    if not replicas or not callable(program):
        raise InvalidArgument("replicas_agree takes a program(strategy) and at least one number of replicas.")
    names(max(replicas))  # TensorFlow makes its devices once, so the largest number comes first
    run = partial(_run, program, seed)
    first, again = run(replicas[0]), run(replicas[0])
    nudged = [run(replicas[0], pattern) for pattern in _NUDGES]
    moved = sensitivity(first.outcome, [one.outcome for one in nudged])
    ulp = coarsest_ulp(first.models)
    one_ulp = tuple([leaf.at_least(ulp) for leaf in moved])
    rows = [_reference_row(replicas[0], first, again, one_ulp, allow_errors)]
    on_row(rows[0])
    for count in replicas[1:]:
        rows.append(_row((replicas[0], count), first, run(count), nudged, one_ulp))
        on_row(rows[-1])
    return Report(program_name(program), rows)


def _run(program: Callable[[Any], Any], seed: int, count: int, pattern: int | None = None) -> _Run:
    """Runs a program once; if it raises, once more without an observer, which XLA cannot compile."""
    run = _attempt(program, seed, count, pattern, Observer())
    return run if run.outcome.error is None else _attempt(program, seed, count, pattern, None)


def _attempt(
    program: Callable[[Any], Any], seed: int, count: int, pattern: int | None, observer: Observer | None
) -> _Run:
    trace, steps = Trace(root=program_folder(program)), [] if observer is None else observer.steps
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    ops = OrderedReduction(trace=trace, observer=observer)
    strategy = ObservedStrategy(count, ops, observer, pattern=pattern)
    models: list[Any] = []
    try:
        with nullcontext() if pattern is None else nudged_variables(pattern):
            result = program(strategy)
        leaves = tuple(leaves_of(result, "result", models))
    except (InvalidArgument, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - compared like a value: both may raise the same
        # TensorFlow numbers its traced functions, and never starts again.
        raised = (type(error).__name__, re.sub(r"_\d+", "_N", without_addresses(str(error))))
        return _Run(Outcome((), raised, tuple(trace.events()), (raised_where(error, with_text=False),)), steps, models)
    if not leaves:
        raise InvalidArgument(
            "The program returned no model, and no other value that can be compared. Return the fitted keras.Model, "
            "or weights, or a history: return model."
        )
    return _Run(Outcome(leaves, None, tuple(trace.events()), not_finite=first_not_finite(steps)), steps, models)


def _reference_row(count: int, first: _Run, again: _Run, one_ulp: Sensitivity, allow_errors: bool) -> Row:
    found = compare(first.outcome, again.outcome, exactly(first.outcome))
    error, problem = first.outcome.error, None
    if not found.equal_bits:
        problem = f"{NOT_REPEATABLE}: {found.problem}"
    elif error is not None and not allow_errors:
        problem = "\n".join([f"raises {error[0]}: {error[1]}", *first.outcome.notes])
    measured = {"equal_bits": True, "one_ulp": largest([one_ulp]), "compared": 0}
    return _filled(str(count), first, problem, law="repeat", reference=True, **measured)


def _row(counts: tuple[int, int], first: _Run, other: _Run, nudged: Sequence[_Run], one_ulp: Sensitivity) -> Row:
    found = compare(first.outcome, other.outcome, one_ulp)
    problem = found.problem
    if problem is not None and first.outcome.error is None and other.outcome.error is None:
        lines = [*_differences(first, other, one_ulp), *_reasons(counts, first, other, nudged)]
        problem = "\n".join([lines[0], *[f"  {line}" for line in lines[1:]]])
    elif problem is not None:
        problem = "\n".join([problem, *other.outcome.notes])
    measured = {
        "equal_bits": found.equal_bits,
        "distance": found.distance,
        "one_ulp": found.one_ulp,
        "compared": len(other.outcome.leaves),
    }
    runs, undecided = f"{counts[1]} against {counts[0]}", found.undecided
    return _filled(runs, other, problem, law="replicas", reference=False, undecided=undecided, **measured)


def _filled(runs: str, run: _Run, problem: str | None, **found: Any) -> Row:
    settings = {"distance": 0.0, **found}
    return Row(
        "MirroredStrategy",
        runs,
        InOrder.name,
        events=len(run.outcome.events),
        trace_compared=False,
        problem=problem,
        raised=run.outcome.error is not None,
        not_finite=run.outcome.not_finite,
        **settings,
    )


def _differences(first: _Run, other: _Run, one_ulp: Sensitivity) -> Iterator[str]:
    """Yields the number of differences and each of them; moving statistics first, because they have another cause."""
    if [path for path, _ in first.outcome.leaves] != [path for path, _ in other.outcome.leaves]:
        yield str(compare(first.outcome, other.outcome, one_ulp).problem)
        return
    found: list[tuple[bool, str]] = []
    for one, two, units in zip(first.outcome.leaves, other.outcome.leaves, one_ulp, strict=True):
        alone = compare(Outcome((one,), None, ()), Outcome((two,), None, ()), (units,))
        if alone.problem is not None:
            moving = "/moving_" in one[0]
            found.append((not moving, f"{'moving statistics: ' if moving else ''}{alone.problem}"))
    found.sort(key=lambda pair: pair[0])
    yield f"{len(found)} of {len(one_ulp)} results differ:"
    yield from [text for _, text in found[:_NAMED_MAX]]
    if len(found) > _NAMED_MAX:
        yield f"… and {len(found) - _NAMED_MAX} more"


def _reasons(counts: tuple[int, int], first: _Run, other: _Run, nudged: Sequence[_Run]) -> Iterator[str]:
    """Yields the cause, as far as the reductions of the steps show it, and layers that may be another one."""
    names = [one.path for one in first.models[0].trainable_variables] if first.models else []
    expected = facts_of(first.steps, names)
    coarsest = coarsest_ulp(first.models)
    units = [
        [max(unit, coarsest) if unit else unit for unit in row]
        for row in units_of(expected, [facts_of(one.steps, names) for one in nudged])
    ]
    cause = explain(expected, facts_of(other.steps, names), units=units, counts=counts)
    if cause.step is not None:
        yield cause.text
    if len(first.steps) != len(other.steps):
        yield (
            f"{len(first.steps)} step(s) became {len(other.steps)}: the number of batches depends on the number of "
            f"replicas"
        )
    if not cause.certain:
        yield from layers_on_their_own(first.models)
