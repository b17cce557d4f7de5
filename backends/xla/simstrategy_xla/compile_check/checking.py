"""Compares compiled steps with the simulator's trace of the same program, collective by collective.

The backend describes what its compiler produced (`device.Facts`). Nothing here compiles, and no device of the kind
that was compiled for is needed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, final

from simstrategy.check.outcome import Program, program_folder
from simstrategy.device import Backend, Collective, Facts, open_backend
from simstrategy.errors import Difference, InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.strategy import Semantics, Strategy, programs_of
from simstrategy.trace import Event, Trace

__all__ = ["CompiledReport", "StepReport", "check_compiled"]

_REDUCED = ("all_reduce", "reduce", "assign", "assign_add", "assign_sub")

_EXAMINES_NOT = (
    "Backend {!r} does not examine what it compiles. Use backend='tpu' with a topology, such as topology='v5e:2x4'."
)


class StepReport(NamedTuple):
    """One compiled program of a step.  problems: each difference from what the step requests, as a sentence."""

    step: str
    facts: Facts
    requested: tuple[str, ...]
    """The collectives that the step requests, in order."""
    problems: tuple[str, ...]


@final
class CompiledReport:
    """The compiled programs of one run, in order."""

    def __init__(self, steps: Sequence[StepReport], ranks: int) -> None:
        self.steps = tuple(steps)
        self.ranks = ranks

    @property
    def agrees(self) -> bool:
        """Whether there is a program, and no program has a problem."""
        return bool(self.steps) and not any(step.problems for step in self.steps)

    def __str__(self) -> str:
        lines = []
        for step in self.steps:
            facts = step.facts
            kinds = Counter(
                " ".join([one.kind, *([one.reducer] if one.reducer else []), one.dtype]) for one in facts.collectives
            )
            verdict = "NOT AS REQUESTED" if step.problems else "as requested"
            lines.append(f"{step.step} on {facts.target}, {self.ranks} ranks: {verdict}")
            lines.append(
                f"  collectives: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items())) or 'none'}"
            )
            lines.append(
                f"  a rank: {facts.bytes_accessed:,.0f} bytes accessed, {facts.flops:,.0f} flops, "
                f"{facts.seconds * 1e6:,.2f} µs by the compiler's estimate"
            )
            lines.append(
                f"  memory: {facts.argument_bytes:,} bytes of arguments, {facts.output_bytes:,} of outputs, "
                f"{facts.temporary_bytes:,} temporary"
            )
            lines += [f"  {problem}" for problem in step.problems]
        return "\n".join(lines or ["No step was compiled: give strategy.run what strategy.compile(step) returns."])

    def raise_for_difference(self) -> None:
        """Raises Difference with the whole report where a program has a problem, or there is no program."""
        if not self.agrees:
            raise Difference(str(self))


def check_compiled(
    program: Program, *, backend: str | Backend = "tpu", semantics: Semantics | None = None, **options: Any
) -> CompiledReport:
    """Runs a program whose steps are compiled, and compares every compiled program with the simulator's trace.

    backend: one that examines what it compiles, by name or opened. options: for opening it, such as
    topology="v5e:2x4". The same program also runs on the simulator, with as many replicas: the trace holds the
    collectives that its steps request. Raises InvalidArgument for a backend that examines nothing, and what the
    program raises.  Clauses: P-6.
    """
    if not callable(program):
        raise InvalidArgument(f"check_compiled takes a function program(strategy), got {short_repr(program)}.")
    opened = _opened(backend, options) if isinstance(backend, str) else backend
    with closing(opened):
        compilation = opened.compilation
        if compilation is None or compilation.examined is None:
            raise InvalidArgument(_EXAMINES_NOT.format(opened.name))
        before, ranks = len(compilation.examined), len(opened.devices)
        with closing(Strategy.mirrored(opened, semantics=semantics)) as strategy:
            program(strategy)
            made, found = programs_of(strategy), compilation.examined[before:]
            requested = _requested_on_simulator(program, ranks, semantics)
            steps = [
                _examine(one.step, one.asked, facts, requested.get(one.step, []), ranks)
                for one, facts in zip(made, found, strict=True)
            ]
    return CompiledReport(steps, ranks)


def _opened(name: str, options: dict[str, Any]) -> Backend:
    try:
        return open_backend(name, **options)
    except TypeError as error:
        if "topology" in options and "topology" in str(error):
            raise InvalidArgument(_EXAMINES_NOT.format(name)) from error
        raise


def _requested_on_simulator(
    program: Program, ranks: int, semantics: Semantics | None
) -> dict[str, list[tuple[str, ...]]]:
    """Returns what each run of each step requested on the simulator, as replica 0 requested it."""
    trace = Trace(root=program_folder(program))
    with closing(Strategy.mirrored("sim", replicas=ranks, semantics=semantics, trace=trace)) as strategy:
        program(strategy)
    found: dict[str, list[tuple[str, ...]]] = {}
    of_run: list[Event] | None = None
    runs: list[tuple[str, list[Event]]] = []
    for event in trace.events():
        if event.kind == "run":
            of_run = []
            runs.append((str(event.subject), of_run))
        elif of_run is not None and event.replica in (None, 0):
            of_run.append(event)
    for step, events in runs:
        found.setdefault(step, []).append(_texts(events))
    return found


def _texts(events: Iterable[Event]) -> tuple[str, ...]:
    return tuple(
        f"{event.kind} {event.op or ''} {event.axis if event.axis is not None else ''} "
        f"{' '.join(f'{dtype}{list(shape)}' for shape, dtype in zip(event.shapes, event.dtypes, strict=True))}"
        for event in events
        if event.shapes
    )


def _examine(
    step: str, requested: Sequence[Event], facts: Facts, simulated: list[tuple[str, ...]], ranks: int
) -> StepReport:
    texts = _texts(requested)
    problems = []
    if not any(texts == run[: len(texts)] for run in simulated):
        problems.append(f"requested other collectives than on the simulator: {list(texts)}, there {simulated[:1]}")
    all_ranks = tuple(range(ranks))
    problems += [
        f"{_name(one)} is among the ranks {one.groups}, and should be among all {ranks}"
        for one in facts.collectives
        if one.groups and tuple(sorted(one.groups[0])) != all_ranks
    ]
    problems += _differences(_expected(requested, ranks), facts.collectives)
    return StepReport(step, facts, texts, tuple(problems))


def _expected(requested: Sequence[Event], ranks: int) -> list[Collective]:
    """Returns the collectives that a program needs for its step's requests: one for each array."""
    found = []
    for event in requested:
        for shape, dtype in zip(event.shapes, event.dtypes, strict=True):
            elements = math.prod(size for size in shape if size is not None)
            if event.kind in _REDUCED and event.op in ("SUM", "MEAN"):
                found.append(Collective("all-reduce", "SUM", dtype, elements, ()))
            elif event.kind in _REDUCED and event.op is not None:  # replica 0's value, for all
                found.append(Collective("all-gather", None, dtype, elements * ranks, ()))
            elif event.kind in ("all_gather", "gather"):
                found.append(Collective("all-gather", None, dtype, -elements, ()))
    return found


def _differences(expected: Sequence[Collective], found: Sequence[Collective]) -> list[str]:
    """Compares without order.  A gather may be a sum of arrays, each zero outside its rank's part."""
    left = list(found)
    missing = []
    for one in expected:
        fits = [other for other in left if _fits(one, other)]
        if fits:
            left.remove(fits[0])
        else:
            missing.append(one)
    return [
        *(f"{_name(one)} is not in the program: it was removed or replaced" for one in missing),
        *(f"{_name(one)} is in the program, and no step requested it" for one in left),
    ]


def _fits(expected: Collective, found: Collective) -> bool:
    if expected.dtype != found.dtype:
        return False
    if expected.kind == "all-reduce":
        return (found.kind, found.reducer, found.elements) == ("all-reduce", "SUM", expected.elements)
    as_sum = found.kind == "all-reduce" and found.reducer in ("SUM", "OR")
    if found.kind != "all-gather" and not as_sum:
        return False
    # For a gather along an axis whose size may differ, the trace holds the other sizes only.
    return (
        found.elements == expected.elements
        if expected.elements >= 0
        else found.elements % (-expected.elements or 1) == 0
    )


def _name(one: Collective) -> str:
    return f"{one.kind} {one.reducer or ''} of {abs(one.elements)} {one.dtype}".replace("  ", " ")
