"""Draws programs.  Everything shrinks at once: workers, replicas, steps, structure, numbers, schedule.

Numbers are quarters of small integers, and sums are made of nothing that was rounded before, so that every sum is
exact whatever the order of its additions, and programs have one right result, to the bit.
"""

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from simstrategy_conformance import program as p
from simstrategy_conformance.grammar import Grammar, Value, shape_of
from simstrategy_conformance.subject import Subject

__all__ = ["programs"]

_SHAPES: Final = ((), (1,), (2,), (0,), (3,), (2, 2))


class _Writer:
    """Draws the statements of one program, and knows what has been drawn so far."""

    def __init__(self, draw: Any, subject: Subject, grammar: Grammar) -> None:
        self.draw = draw
        self.grammar = grammar
        dtypes = subject.dtypes
        # Most arrays are float32, which comes first and is what the others shrink to.
        pool = ("float32", "float32", "float32", "int32", "float64", "float16", "int64", "uint8")
        self.dtypes = tuple(one for one in pool if one in dtypes)
        self.wide = "float64" in dtypes
        workers_max = grammar.workers_max if subject.clusters else 1
        few = st.integers(1, workers_max)
        # One in four: most programs have one worker.
        self.workers = draw(few) if workers_max > 1 and draw(st.integers(0, 3)) == 3 else 1
        most = max(subject.profile.replicas_max // 2 if self.workers > 1 else subject.profile.replicas_max, 1)
        counts = [n for n in (1, 2, 2, 3, 3, 4, most) if grammar.replicas_min <= n <= most]
        self.replicas: int = draw(st.sampled_from(counts))
        self.ranks = self.workers * self.replicas
        self.profile: str = draw(st.sampled_from(grammar.profiles))
        self.values: list[Value | None] = []
        self.body: list[Any] = []
        self.after: list[Any] = []
        self.variables: list[p.VariableSpec] = []
        self.exact: list[bool] = []
        """Whether the components of a variable can be added without rounding."""
        self.data: p.Data | None = None

    # Numbers and arrays.

    def number(self, dtype: str) -> float | int:
        if dtype.startswith("float"):
            return float(self.draw(st.integers(-16, 16))) / 4
        return int(self.draw(st.integers(0, 255) if dtype == "uint8" else st.integers(-9, 9)))

    def array(self, dtype: str, shape: tuple[int, ...]) -> Any:
        if not shape:
            return self.number(dtype)
        return tuple(self.array(dtype, shape[1:]) for _ in range(shape[0]))

    def given(self, *, ragged: bool = False, dtype: str | None = None, shape: tuple[int, ...] | None = None) -> Any:
        """Draws host data; ragged: of a size along the first axis that each rank has for itself."""
        dtype = self.draw(st.sampled_from(self.dtypes)) if dtype is None else dtype
        if shape is None:
            shape = self.draw(st.sampled_from(_SHAPES))
        shapes = [shape] * self.ranks
        if ragged and shape and len(shape) < 3:
            shapes = [(self.draw(st.integers(0, 3)), *shape[1:]) for _ in shapes]
        parts = tuple(self.array(dtype, one) for one in shapes)
        assert dtype is not None
        return p.Given(dtype, parts, tuple(shape[1:])), Value(dtype, tuple(shapes), 5)

    def earlier(self, wanted: Any) -> list[int]:
        return [number for number, value in enumerate(self.values) if value is not None and wanted(value)]

    def value(self, *, ragged: bool = False, wanted: Any = lambda value: True) -> Any:
        """Draws an earlier result that fits, or new host data."""
        fits = self.earlier(lambda value: value.summable and (ragged or value.even) and wanted(value))
        if fits and self.draw(st.booleans()):
            number = self.draw(st.sampled_from(fits))
            return p.Use(number), self.values[number]
        return self.given(ragged=ragged)

    def nest(self, leaf: Any) -> tuple[Any, list[Value], bool]:
        """Draws a leaf, or a container of up to three; returns it, its values, and whether it is one leaf."""
        if self.draw(st.integers(0, 3)) < 3:
            one, value = leaf()
            return one, [value], True
        container = self.draw(st.sampled_from(("list", "tuple", "dict")))
        drawn = [leaf() for _ in range(self.draw(st.integers(1, 3)))]
        return p.Node(container, tuple(one for one, _ in drawn)), [value for _, value in drawn], False

    # Statements of the replica function: each appends itself and what is known of its result.

    def add(self, statement: Any, value: Value | None) -> None:
        self.body.append(statement)
        self.values.append(value)

    def mean_of(self, value: Value) -> bool:
        """Tells whether the backend can hold the mean of such a value."""
        return self.wide or value.dtype not in ("int32", "int64")

    def op(self, values: Sequence[Value]) -> str:
        may = ("SUM", "MEAN") if all(self.mean_of(value) for value in values) else ("SUM",)
        return str(self.draw(st.sampled_from(may)))

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
        if self.data is not None and self.draw(st.booleans()):
            return p.Batch(), Value(self.data.dtype, None, 5)
        one, value = self.value(ragged=True, wanted=lambda value: value.shapes is None or value.shapes[0] != ())
        return (one, value) if value.shapes is None or value.shapes[0] else self.given(ragged=True, shape=(2,))

    def merge(self) -> None:
        value, known = self.value(wanted=lambda value: not value.shared)
        hows = ("sum", "nested", "nested", "local", "same", *(("mean",) if self.mean_of(known) else ()))
        how = self.draw(st.sampled_from(hows))
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
        method = self.draw(st.sampled_from(("assign_add", "assign", "assign_sub")))
        value, _ = self.given(dtype=spec.dtype, shape=shape_of(spec.initial))
        if spec.aggregation == "MEAN" and spec.synchronization == "ON_WRITE":
            self.exact[number] = False
        return self.add(p.Write(number, method, value), None)

    def read(self) -> None:
        if not self.variables:
            return self.give()
        return self.add(p.Read(self.draw(st.integers(0, len(self.variables) - 1))), None)

    def compute(self) -> None:
        if self.data is not None and self.draw(st.booleans()):
            value, known = p.Batch(), Value(self.data.dtype, None, 5)
        else:
            value, known = self.value(ragged=True)
        how = self.draw(st.sampled_from(("total", "double", "add")))
        bits = (known.bits or 0) + (3 if how == "total" else 1)
        shapes = ((),) * self.ranks if how == "total" else known.shapes
        self.add(p.Compute(how, value), Value(known.dtype, shapes, bits))

    def give(self) -> None:
        if self.data is not None and self.draw(st.booleans()):
            return self.add(p.Give(p.Batch()), Value(self.data.dtype, None, 5))
        nest, values, single = self.nest(lambda: self.value(ragged=True))
        return self.add(p.Give(nest), values[0] if single else None)

    def share(self) -> None:
        self.add(p.Share(), None)

    def seed(self) -> None:
        self.add(p.Seed(self.draw(st.sampled_from(("a", "b")))), None)

    def look(self) -> None:
        self.add(p.Look(), None)

    def stop(self) -> None:
        hows = self.grammar.stop_kinds if self.ranks > 1 else ("raise",)
        how = self.draw(st.sampled_from(hows))
        # Workers that fail apart from each other are a matter of the meetings between processes.
        if self.workers == 1:
            self.add(p.Stop(how, self.draw(st.integers(0, self.ranks - 1))), None)

    # Statements after the runs.

    def reduce(self) -> None:
        fits = self.earlier(lambda value: not value.shared and value.bits is not None)
        fits = [n for n in fits if self._axes(self.values[n])]
        if not fits:
            return
        number = self.draw(st.sampled_from(fits))
        value = self.values[number]
        assert value is not None
        self.after.append(p.Reduce(self.op([value]), number, self.draw(st.sampled_from(self._axes(value)))))  # type: ignore[arg-type]

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

    # The whole.

    def variable(self) -> None:
        synchronization, aggregation = self.draw(st.sampled_from(self.grammar.kinds))
        may = [one for one in ("float32", "int32", "float64") if one in self.dtypes]
        # The mean of integers is no integer, and they are not shared out: refusals that have tests of their own.
        integers = aggregation in ("NONE", "ONLY_FIRST_REPLICA") or (aggregation, synchronization) == (
            "SUM",
            "ON_WRITE",
        )
        dtype = self.draw(st.sampled_from(may if integers else [one for one in may if one != "int32"]))
        initial = self.array(dtype, self.draw(st.sampled_from(((), (), (), (2,), (0,)))))
        self.variables.append(p.VariableSpec(synchronization, aggregation, dtype, initial))
        self.exact.append(True)

    def dataset(self) -> None:
        dtype = self.draw(st.sampled_from([one for one in ("float32", "int32") if one in self.dtypes]))
        numbers = [self.number(dtype) for _ in range(self.draw(st.integers(1, 7)))]
        self.data = p.Data(dtype, tuple(numbers), self.draw(st.integers(1, 4)))

    def program(self) -> p.Program:
        grammar, draw = self.grammar, self.draw
        runs = 1
        if grammar.data or (grammar.data is None and draw(st.integers(0, 3)) == 3):
            self.dataset()
        else:
            runs = draw(st.sampled_from((1, 1, 2, 3)))
        for number in range(3 if grammar.variables else 0):
            if not draw(_another(self, ("variable",), share=2, certain=number < grammar.variables_min)):
                break
        for _ in range(grammar.body_max):
            if not draw(_another(self, grammar.body)):
                break
        if grammar.stops and (grammar.stop_certain or draw(st.integers(0, 1))):
            self.stop()
        if not self.body or self.body[-1].kind != "stop":
            for _ in range(grammar.after_max if grammar.after else 0):
                if not draw(_another(self, grammar.after)):
                    break
        draws = draw(st.lists(st.integers(0, 5), max_size=10)) if grammar.draws and draw(st.booleans()) else ()
        return p.Program(
            replicas=self.replicas,
            body=tuple(self.body),
            after=tuple(self.after),
            variables=tuple(self.variables),
            data=self.data,
            runs=runs,
            scoped=draw(st.booleans()),
            profile=self.profile,  # type: ignore[arg-type]
            workers=self.workers,
            draws=tuple(draws),
        )


@st.composite
def _another(draw: Any, writer: _Writer, kinds: tuple[str, ...], *, share: int = 9, certain: bool = False) -> bool:
    """Draws one more statement, or in one case of share + 1 none.

    A draw of its own, so that a program that shrinks can lose it alone.
    """
    if not certain and not draw(st.integers(0, share)):
        return False
    vars(_Writer)[draw(st.sampled_from(kinds))](writer)
    return True


@st.composite
def _programs(draw: Any, subject: Subject, grammar: Grammar) -> p.Program:
    return _Writer(draw, subject, grammar).program()


def programs(subject: Subject, **grammar: Any) -> st.SearchStrategy[p.Program]:
    """Returns a strategy of programs that the subject can run; grammar: the fields of `Grammar`."""
    return _programs(subject, Grammar(**grammar))
