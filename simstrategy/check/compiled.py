"""Compiled steps against what they should be: the simulator's trace of the same program, collective by collective.

What a compiler made of a step is told by the backend (`device.Facts`); nothing here compiles, and no device of
the kind that was compiled for is needed.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, final

from simstrategy.check.outcome import Program, program_folder
from simstrategy.device import Backend, Collective, Facts, open_backend
from simstrategy.errors import Difference, InvalidArgument
from simstrategy.strategy import Semantics, Strategy, programs_of
from simstrategy.trace import Event, Trace

__all__ = ["CompiledReport", "StepReport", "check_compiled"]

_REDUCED = ("all_reduce", "reduce", "assign", "assign_add", "assign_sub")

_EXAMINES_NOT = (
    "Backend {!r} does not examine what it compiles. Use backend='tpu' with a topology, such as topology='v5e:2x4'."
)


class StepReport(NamedTuple):
    """One program of a step; problems: what is not as it should be, in words."""

    step: str
    facts: Facts
    asked: tuple[str, ...]
    """What the step asks of the other ranks, in order."""
    problems: tuple[str, ...]


@final
class CompiledReport:
    """The programs of one run, in order."""

    def __init__(self, steps: Sequence[StepReport], ranks: int) -> None:
        self.steps = tuple(steps)
        self.ranks = ranks

    @property
    def agrees(self) -> bool:
        """Whether there are programs, and each is as it should be."""
        return bool(self.steps) and not any(step.problems for step in self.steps)

    def __str__(self) -> str:
        lines = []
        for step in self.steps:
            facts = step.facts
            kinds = Counter(
                " ".join([one.kind, *([one.reducer] if one.reducer else []), one.dtype]) for one in facts.collectives
            )
            verdict = "NOT AS ASKED" if step.problems else "as asked"
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
        """Raises Difference with the whole report, unless all programs are as they should be."""
        if not self.agrees:
            raise Difference(str(self))


def check_compiled(
    program: Program, *, backend: str | Backend = "tpu", semantics: Semantics | None = None, **options: Any
) -> CompiledReport:
    """Runs a program whose steps are compiled, and examines every compiled program.

    backend: one that examines what it compiles, by name or opened; options: for opening it, such as
    topology="v5e:2x4". The same program is run on the simulator, with as many replicas, for what its steps
    ask of each other. Raises InvalidArgument for a backend that examines nothing, and what the program raises.
    """
    if not callable(program):
        raise InvalidArgument(f"check_compiled takes a function program(strategy), got {program!r}.")
    opened = _opened(backend, options) if isinstance(backend, str) else backend
    with closing(opened):
        compilation = opened.compilation
        if compilation is None or compilation.examined is None:
            raise InvalidArgument(_EXAMINES_NOT.format(opened.name))
        before, ranks = len(compilation.examined), len(opened.devices)
        with closing(Strategy.mirrored(opened, semantics=semantics)) as strategy:
            program(strategy)
            made, found = programs_of(strategy), compilation.examined[before:]
            asked = _asked_on_simulator(program, ranks, semantics)
            steps = [
                _examine(one.step, one.asked, facts, asked.get(one.step, []), ranks)
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


def _asked_on_simulator(program: Program, ranks: int, semantics: Semantics | None) -> dict[str, list[tuple[str, ...]]]:
    """Returns what each replica function's runs asked for on the simulator, replica 0 speaking for all."""
    trace = Trace(root=program_folder(program))
    with closing(Strategy.mirrored("sim", replicas=ranks, semantics=semantics, trace=trace)) as strategy:
        program(strategy)
    found: dict[str, list[tuple[str, ...]]] = {}
    own: list[Event] | None = None
    runs: list[tuple[str, list[Event]]] = []
    for event in trace.events():
        if event.kind == "run":
            own = []
            runs.append((str(event.subject), own))
        elif own is not None and event.replica in (None, 0):
            own.append(event)
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
    step: str, asked: Sequence[Event], facts: Facts, simulated: list[tuple[str, ...]], ranks: int
) -> StepReport:
    texts = _texts(asked)
    problems = []
    if not any(texts == run[: len(texts)] for run in simulated):
        problems.append(f"asked for something else than on the simulator: {list(texts)}, there {simulated[:1]}")
    everybody = tuple(range(ranks))
    problems += [
        f"{_name(one)} is among the ranks {one.groups}, and all of {ranks} are meant"
        for one in facts.collectives
        if one.groups and tuple(sorted(one.groups[0])) != everybody
    ]
    problems += _unlike(_wanted(asked, ranks), facts.collectives)
    return StepReport(step, facts, texts, tuple(problems))


def _wanted(asked: Sequence[Event], ranks: int) -> list[Collective]:
    """Returns what a program needs for what its step asks for: one collective for each array."""
    found = []
    for event in asked:
        for shape, dtype in zip(event.shapes, event.dtypes, strict=True):
            elements = math.prod(size for size in shape if size is not None)
            if event.kind in _REDUCED and event.op in ("SUM", "MEAN"):
                found.append(Collective("all-reduce", "SUM", dtype, elements, ()))
            elif event.kind in _REDUCED and event.op is not None:  # replica 0's value, for all
                found.append(Collective("all-gather", None, dtype, elements * ranks, ()))
            elif event.kind in ("all_gather", "gather"):
                found.append(Collective("all-gather", None, dtype, -elements, ()))
    return found


def _unlike(wanted: Sequence[Collective], found: Sequence[Collective]) -> list[str]:
    """Compares as bags; a gather may as well be a sum of arrays that are zero but for one's own part."""
    left = list(found)
    missing = []
    for one in wanted:
        fits = [other for other in left if _fits(one, other)]
        if fits:
            left.remove(fits[0])
        else:
            missing.append(one)
    return [
        *(f"{_name(one)} is not in the program: it was removed, or became another" for one in missing),
        *(f"{_name(one)} is in the program, and nobody asked for it" for one in left),
    ]


def _fits(wanted: Collective, found: Collective) -> bool:
    if wanted.dtype != found.dtype:
        return False
    if wanted.kind == "all-reduce":
        return (found.kind, found.reducer, found.elements) == ("all-reduce", "SUM", wanted.elements)
    as_sum = found.kind == "all-reduce" and found.reducer in ("SUM", "OR")
    if found.kind != "all-gather" and not as_sum:
        return False
    # Of a gather along an axis of free size, the trace tells the other sizes alone.
    return found.elements == wanted.elements if wanted.elements >= 0 else found.elements % (-wanted.elements or 1) == 0


def _name(one: Collective) -> str:
    return f"{one.kind} {one.reducer or ''} of {abs(one.elements)} {one.dtype}".replace("  ", " ")
