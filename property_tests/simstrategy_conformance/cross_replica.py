"""Draws the cross-replica statements of a program: reductions, gathers, assignments and reads after its runs.

Which statements may be drawn depends on the results of the replica function and on the variables. No sum that
rounds is drawn.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, final

from hypothesis import strategies as st

from simstrategy_conformance import program as p
from simstrategy_conformance.grammar import Value, shape_of
from simstrategy_conformance.sampled import sampled

__all__ = ["CrossReplicaWriter", "Draft", "earlier"]


class Draft(Protocol):
    """The part of a program that has been drawn, and how numbers and operations are drawn for it."""

    @property
    def draw(self) -> Any: ...

    @property
    def ranks(self) -> int: ...

    @property
    def values(self) -> Sequence[Value | None]: ...

    @property
    def variables(self) -> Sequence[p.VariableSpec]: ...

    @property
    def exact(self) -> list[bool]: ...

    def op(self, values: Sequence[Value]) -> str: ...

    def number(self, dtype: str) -> float | int: ...


def earlier(values: Sequence[Value | None], wanted: Callable[[Value], bool]) -> list[int]:
    """Returns the numbers of the statements whose values are known and fit."""
    return [number for number, value in enumerate(values) if value is not None and wanted(value)]


@final
class CrossReplicaWriter:
    """Draws statements for a draft, and keeps them."""

    __slots__ = ("_draft", "_draw", "statements")

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._draw = draft.draw
        self.statements: list[Any] = []

    def reduce(self) -> None:
        fits = earlier(self._draft.values, lambda value: not value.shared and value.bits is not None)
        fits = [n for n in fits if _axes(self._draft.values[n])]
        if not fits:
            return self.local()
        number = self._draw(sampled(fits))
        value = self._draft.values[number]
        assert value is not None
        self.statements.append(p.Reduce(self._draft.op([value]), number, self._draw(sampled(_axes(value)))))  # type: ignore[arg-type]
        return None

    def gather(self) -> None:
        fits = earlier(self._draft.values, lambda v: not v.shared and (v.shapes is None or v.shapes[0] != ()))
        if fits:
            self.statements.append(p.Gather(self._draw(sampled(fits)), 0))

    def local(self) -> None:
        fits = earlier(self._draft.values, lambda value: not value.shared)
        if fits:
            self.statements.append(p.Local(self._draw(sampled(fits))))

    def assign(self) -> None:
        if not self._draft.variables:
            return self.local()
        # A number is given, and a variable keeps its shape.
        scalars = [number for number, spec in enumerate(self._draft.variables) if shape_of(spec.initial) == ()]
        if not scalars:
            return self.fetch()
        number = self._draw(sampled(scalars))
        spec = self._draft.variables[number]
        total = spec.synchronization == "ON_READ" and spec.aggregation == "SUM"
        methods = ("assign",) if total and self._draw(st.integers(0, 3)) else ("assign", "assign_add", "assign_sub")
        if total and self._draft.ranks & (self._draft.ranks - 1):
            self._draft.exact[number] = False
        self.statements.append(p.Assign(number, self._draw(sampled(methods)), self._draft.number(spec.dtype)))
        return None

    def fetch(self) -> None:
        may = [
            n
            for n, spec in enumerate(self._draft.variables)
            if self._draft.exact[n] or spec.synchronization == "ON_WRITE"
        ]
        if may:
            self.statements.append(p.Fetch(self._draw(sampled(may))))


def _axes(value: Value | None) -> list[Any]:
    """Returns the axes along which a value can be reduced without a sum that rounds."""
    assert value is not None
    if value.shapes is None:
        return [0, -1]
    found: list[Any] = [None] if value.even and value.summable else []
    dimensions = len(value.shapes[0])
    tails = {shape[1:] for shape in value.shapes}
    if dimensions and len(tails) == 1 and value.dtype != "float16":
        found += [0]
    if dimensions == 2 and value.dtype != "float16":
        found += [(0, 1), -2]
    return found
