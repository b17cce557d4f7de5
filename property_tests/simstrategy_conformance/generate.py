"""Draws programs.  Everything shrinks at once: workers, replicas, steps, structure, numbers, schedule.

Numbers are quarters of small integers, and sums are made of nothing that was rounded before, so that every sum is
exact whatever the order of its additions, and programs have one right result, to the bit.
"""

import functools
from collections.abc import Iterator, Sequence
from itertools import chain, count, cycle
from typing import Any, final

from hypothesis import strategies as st

from simstrategy_conformance import program as p
from simstrategy_conformance.cross_replica import CrossReplicaWriter, earlier
from simstrategy_conformance.grammar import Grammar, Value, filled, patterned, shape_of
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

__all__ = ["programs"]


# Hypothesis examines each strategy once: those that are drawn from often are kept.


@functools.cache
def _one(dtype: str) -> st.SearchStrategy[Any]:
    if dtype.startswith("float"):
        return st.integers(-16, 16).map(lambda quarters: quarters / 4)
    return st.integers(0, 255) if dtype == "uint8" else st.integers(-9, 9)


@functools.cache
def _few(dtype: str) -> st.SearchStrategy[Any]:
    return st.lists(_one(dtype), max_size=8)


@functools.cache
def _sizes(sizes: tuple[int, ...]) -> st.SearchStrategy[Any]:
    return st.lists(sampled(sizes), max_size=8)


@final
class _Writer:
    """Draws one program: its replica function here, its cross-replica statements through another writer."""

    def __init__(self, draw: Any, subject: Subject, grammar: Grammar) -> None:
        self.draw = draw
        self.grammar = grammar
        dtypes = subject.dtypes
        # Most arrays are float32, which comes first and is what the others shrink to.
        self.dtypes = tuple(one for one in grammar.dtypes if one in dtypes)
        self.wide = "float64" in dtypes
        workers_max = grammar.workers_max if subject.is_simulator else 1
        few = st.integers(1, workers_max)
        # One in four: most programs have one worker.
        self.workers = draw(few) if workers_max > 1 and draw(st.integers(0, 3)) == 3 else 1
        most = max(subject.profile.replicas_max // 2 if self.workers > 1 else subject.profile.replicas_max, 1)
        counts = [n for n in (1, 2, 2, 3, 3, 4, most) if grammar.replicas_min <= n <= most]
        self.replicas: int = draw(sampled(counts))
        self.ranks = self.workers * self.replicas
        self.profile: str = draw(sampled(grammar.profiles))
        self.values: list[Value | None] = []
        self.body: list[Any] = []
        self.variables: list[p.VariableSpec] = []
        self.exact: list[bool] = []
        """Whether the components of a variable can be added without rounding."""
        self.data: p.Data | None = None
        self.cross_replica = CrossReplicaWriter(self)

    # Numbers and arrays.

    def number(self, dtype: str) -> float | int:
        drawn: float | int = self.draw(_one(dtype))
        return drawn

    def array(self, dtype: str, shape: tuple[int, ...]) -> Any:
        return filled(shape, self.numbers(dtype))

    def numbers(self, dtype: str) -> Iterator[float | int]:
        """Draws numbers without end: a few of their own, and then those of a pattern, of which 0 is all zeros.

        What is drawn has the same form for any number of replicas and any shape, so that these shrink separately.
        """
        pattern = self.draw(st.integers(0, 31))
        own = self.draw(_few(dtype))
        return chain(own, (patterned(dtype, pattern, place) for place in count()))

    def given(self, *, ragged: bool = False, dtype: str | None = None, shape: tuple[int, ...] | None = None) -> Any:
        """Draws host data; ragged: of a size along the first axis that each rank has for itself."""
        drawn = self.draw(sampled(self.dtypes))
        dtype = drawn if dtype is None else dtype
        shape = self.draw(sampled(self.grammar.shapes)) if shape is None else shape
        shapes = [shape] * self.ranks
        if ragged:
            sizes = chain(self.draw(_sizes(self.grammar.sizes)), cycle(self.grammar.sizes[:1]))
            shapes = [(size, *shape[1:]) if shape else shape for size, _ in zip(sizes, shapes, strict=False)]
        numbers = self.numbers(dtype)
        parts = tuple(filled(one, numbers) for one in shapes)
        return p.Given(dtype, parts, tuple(shape[1:])), Value(dtype, tuple(shapes), 5)

    def value(self, *, ragged: bool = False, wanted: Any = lambda value: True) -> Any:
        """Draws an earlier result that fits, or new host data."""
        fits = earlier(self.values, lambda value: value.summable and (ragged or value.even) and wanted(value))
        # Drawn whether or not there is a choice, so that a statement shrinks apart from those before it.
        if self.draw(st.booleans()) and fits:
            number = fits[-1 - self.draw(st.integers(0, self.grammar.body_max)) % len(fits)]
            return p.Use(number), self.values[number]
        return self.given(ragged=ragged)

    def nest(self, leaf: Any) -> tuple[Any, list[Value], bool]:
        """Draws a leaf, or a container of up to three; returns it, its values, and whether it is one leaf."""
        if self.draw(st.integers(0, 3)) < 3:
            one, value = leaf()
            return one, [value], True
        container = self.draw(sampled(("list", "tuple", "dict")))
        drawn = [leaf() for _ in range(self.draw(st.integers(1, 3)))]
        return p.Node(container, tuple(one for one, _ in drawn)), [value for _, value in drawn], False

    # Statements of the replica function: each appends itself and the facts about its result.

    def add(self, statement: Any, value: Value | None) -> None:
        self.body.append(statement)
        self.values.append(value)

    def mean_of(self, value: Value) -> bool:
        """Returns whether the backend can hold the mean of such a value."""
        return self.wide or value.dtype not in ("int32", "int64")

    def op(self, values: Sequence[Value]) -> str:
        may = ("SUM", "MEAN") if all(self.mean_of(value) for value in values) else ("SUM",)
        return str(self.draw(sampled(may)))

    def all_reduce(self) -> None:
        nest, values, single = self.nest(self.value)
        op = self.op(values)
        bits = (values[0].bits or 0) + 3 if op == "SUM" else None
        dtype = values[0].dtype
        known = single and (op == "SUM" or not dtype.startswith(("int", "uint")))
        self.add(p.AllReduce(op, nest), Value(dtype, values[0].shapes, bits) if known else None)  # type: ignore[arg-type]

    def all_gather(self) -> None:
        nest, values, single = self.nest(self._gatherable)
        value = values[0]
        known = None
        if single and value.shapes is not None:
            whole = (sum(shape[0] for shape in value.shapes), *value.shapes[0][1:])
            known = Value(value.dtype, (whole,) * self.ranks, value.bits)
        self.add(p.AllGather(0, nest), known)

    def _gatherable(self) -> Any:
        if self.draw(st.booleans()) and self.data is not None:
            return p.Batch(), Value(self.data.dtype, None, 5)
        one, value = self.value(ragged=True, wanted=lambda value: value.shapes is None or value.shapes[0] != ())
        return (one, value) if value.shapes is None or value.shapes[0] else self.given(ragged=True, shape=(2,))

    def merge(self) -> None:
        value, known = self.value(wanted=lambda value: not value.shared)
        how: Any = self.draw(sampled(self.grammar.merges))
        how = how if how != "mean" or self.mean_of(known) else self.grammar.merges[0]
        kept = {"nested": Value(known.dtype, known.shapes, (known.bits or 0) + 3), "same": known}
        kept["sum"] = Value(known.dtype, known.shapes, (known.bits or 0) + 3, shared=True)
        # What has one object on all ranks is no value of each replica: later statements leave it alone.
        self.add(p.Merge(how, value), kept[how] if how in ("nested", "same") else None)

    def write(self) -> None:
        if not self.variables:
            return self.all_reduce()
        number = self.draw(st.integers(0, len(self.variables) - 1))
        spec = self.variables[number]
        refused = spec.synchronization == "ON_WRITE" and spec.aggregation == "NONE" and self.profile != "TF2"
        if refused and self.draw(st.integers(0, 2)):
            return self.read()
        method = self.draw(sampled(("assign_add", "assign", "assign_sub")))
        value, _ = self.given(dtype=spec.dtype, shape=shape_of(spec.initial))
        if spec.aggregation == "MEAN" and spec.synchronization == "ON_WRITE":
            self.exact[number] = False
        return self.add(p.Write(number, method, value), None)

    def read(self) -> None:
        if not self.variables:
            return self.give()
        return self.add(p.Read(self.draw(st.integers(0, len(self.variables) - 1))), None)

    def compute(self) -> None:
        if self.draw(st.booleans()) and self.data is not None:
            value, known = p.Batch(), Value(self.data.dtype, None, 5)
        else:
            value, known = self.value(ragged=True)
        how = self.draw(sampled(("total", "double", "add")))
        bits = (known.bits or 0) + (3 if how == "total" else 1)
        shapes = ((),) * self.ranks if how == "total" else known.shapes
        self.add(p.Compute(how, value), Value(known.dtype, shapes, bits))

    def give(self) -> None:
        if self.draw(st.booleans()) and self.data is not None:
            return self.add(p.Give(p.Batch()), Value(self.data.dtype, None, 5))
        nest, values, single = self.nest(lambda: self.value(ragged=True))
        return self.add(p.Give(nest), values[0] if single else None)

    def share(self) -> None:
        self.add(p.Share(), None)

    def seed(self) -> None:
        self.add(p.Seed(self.draw(sampled(("a", "b")))), None)

    def look(self) -> None:
        self.add(p.Look(), None)

    def stop(self) -> None:
        hows = self.grammar.stop_kinds if self.ranks > 1 else ("raise",)
        how = self.draw(sampled(hows))
        # A worker that fails alone is examined by the tests of the processes' synchronisation points.
        if self.workers == 1:
            self.add(p.Stop(how, self.draw(st.integers(0, self.ranks - 1))), None)

    # The whole.

    def variable(self) -> None:
        synchronization, aggregation = self.draw(sampled(self.grammar.kinds))
        may = [one for one in ("float32", "int32", "float64") if one in self.dtypes]
        # The mean of integers is no integer, and they are not shared out: refusals that have tests of their own.
        integers = aggregation in ("NONE", "ONLY_FIRST_REPLICA") or (aggregation, synchronization) == (
            "SUM",
            "ON_WRITE",
        )
        dtype = self.draw(sampled(may if integers else [one for one in may if one != "int32"]))
        initial = self.array(dtype, self.draw(sampled(((), (), (), (2,), (0,)))))
        self.variables.append(p.VariableSpec(synchronization, aggregation, dtype, initial))
        self.exact.append(True)

    def dataset(self) -> None:
        dtype = self.draw(sampled([one for one in ("float32", "int32") if one in self.dtypes]))
        numbers = [self.number(dtype) for _ in range(self.draw(st.integers(1, 7)))]
        self.data = p.Data(dtype, tuple(numbers), self.draw(st.integers(1, 4)))

    def program(self) -> p.Program:
        grammar, draw = self.grammar, self.draw
        runs = 1
        if grammar.data or (grammar.data is None and draw(st.integers(0, 2)) == 2):
            self.dataset()
        else:
            runs = draw(sampled((1, 1, 2, 3)))
        for number in range(3 if grammar.variables else 0):
            if not draw(_another(self, ("variable",), share=2, certain=number < grammar.variables_min)):
                break
        for _ in range(grammar.body_max):
            if not draw(_another(self, grammar.body)):
                break
        # Rare enough that most programs reach the statements after a run, common enough for every kind of stop.
        if grammar.stops and (grammar.stop_certain or draw(st.integers(0, 1))):
            self.stop()
        if not self.body or self.body[-1].kind != "stop":
            for _ in range(grammar.after_max if grammar.after else 0):
                if not draw(_another(self.cross_replica, grammar.after)):
                    break
        draws = draw(st.lists(st.integers(0, 5), max_size=10)) if grammar.draws and draw(st.booleans()) else ()
        return p.Program(
            replicas=self.replicas,
            body=tuple(self.body),
            after=tuple(self.cross_replica.statements),
            variables=tuple(self.variables),
            data=self.data,
            runs=runs,
            scoped=draw(st.booleans()),
            profile=self.profile,  # type: ignore[arg-type]
            workers=self.workers,
            draws=tuple(draws),
        )


@st.composite
def _another(
    draw: Any, writer: _Writer | CrossReplicaWriter, kinds: tuple[str, ...], *, share: int = 15, certain: bool = False
) -> bool:
    """Draws one more statement, or in one case of share + 1 none.

    A draw of its own, so that a program that shrinks can lose it alone.
    """
    if not certain and not draw(st.integers(0, share)):
        return False
    getattr(writer, draw(sampled(kinds)))()
    return True


@st.composite
def _programs(draw: Any, subject: Subject, grammar: Grammar) -> p.Program:
    return _Writer(draw, subject, grammar).program()


def programs(subject: Subject, **grammar: Any) -> st.SearchStrategy[p.Program]:
    """Returns a strategy of programs that the subject can run; grammar: the fields of `Grammar`."""
    return _programs(subject, Grammar(**grammar))
