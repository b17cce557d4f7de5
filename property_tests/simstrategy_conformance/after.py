"""Draws what a program does after its runs, outside replica functions: reductions, gathers, assignments, reads.

What may be drawn depends on what replicas have returned, and on their variables; no sum is drawn that rounds.
"""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from simstrategy_conformance import program as p
from simstrategy_conformance.grammar import Value, shape_of

__all__ = ["AfterWriter"]


class AfterWriter:
    """The statements after the runs; what has been drawn before is the whole writer's."""

    draw: Any
    ranks: int
    values: list[Value | None]
    after: list[Any]
    variables: list[p.VariableSpec]
    exact: list[bool]

    def earlier(self, wanted: Any) -> list[int]:
        return [number for number, value in enumerate(self.values) if value is not None and wanted(value)]

    def op(self, values: Sequence[Value]) -> str:
        raise NotImplementedError

    def number(self, dtype: str) -> float | int:
        raise NotImplementedError

    def reduce(self) -> None:
        fits = self.earlier(lambda value: not value.shared and value.bits is not None)
        fits = [n for n in fits if self._axes(self.values[n])]
        if not fits:
            return self.local()
        number = self.draw(st.sampled_from(fits))
        value = self.values[number]
        assert value is not None
        self.after.append(p.Reduce(self.op([value]), number, self.draw(st.sampled_from(self._axes(value)))))  # type: ignore[arg-type]
        return None

    def _axes(self, value: Value | None) -> list[Any]:
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

    def gather(self) -> None:
        fits = self.earlier(lambda v: not v.shared and (v.shapes is None or v.shapes[0] != ()))
        if fits:
            self.after.append(p.Gather(self.draw(st.sampled_from(fits)), 0))

    def local(self) -> None:
        fits = self.earlier(lambda value: not value.shared)
        if fits:
            self.after.append(p.Local(self.draw(st.sampled_from(fits))))

    def assign(self) -> None:
        if not self.variables:
            return self.local()
        # A number is given, and a variable keeps its shape.
        scalars = [number for number, spec in enumerate(self.variables) if shape_of(spec.initial) == ()]
        if not scalars:
            return self.fetch()
        number = self.draw(st.sampled_from(scalars))
        spec = self.variables[number]
        total = spec.synchronization == "ON_READ" and spec.aggregation == "SUM"
        methods = ("assign",) if total and self.draw(st.integers(0, 3)) else ("assign", "assign_add", "assign_sub")
        if total and self.ranks & (self.ranks - 1):
            self.exact[number] = False
        self.after.append(p.Assign(number, self.draw(st.sampled_from(methods)), self.number(spec.dtype)))
        return None

    def fetch(self) -> None:
        may = [n for n, spec in enumerate(self.variables) if self.exact[n] or spec.synchronization == "ON_WRITE"]
        if may:
            self.after.append(p.Fetch(self.draw(st.sampled_from(may))))
