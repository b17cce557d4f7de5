"""`Strategy.compile`: a replica function that runs as one program on all ranks, where the backend can make one.

The function is traced once, by a second engine whose one local replica stands for every rank. What it does to
variables becomes inputs and outputs of the program; what it asks of the other replicas becomes part of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from simstrategy import tree
from simstrategy.device import Array, Backend, Cell, Compilation, Program
from simstrategy.errors import CannotCompile
from simstrategy.run import function_key
from simstrategy.strategy.given import Constant, Given, Usual, given_to
from simstrategy.trace import Event, Request, Site, Trace
from simstrategy.values import PerReplica

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine
    from simstrategy.strategy.variables.variable import Variable

__all__ = ["CompiledStep", "Made", "Tracing"]


class Made(NamedTuple):
    """A program, and what its inputs and outputs are."""

    step: str
    """The function that it was made of, and where that is."""
    program: Program
    request: Request
    """What its runs are in a trace."""
    asked: tuple[Event, ...]
    """What the step asked of the other ranks while it was traced, in order."""
    read: tuple["Variable", ...]
    """Whose cells are inputs, after the arguments."""
    written: tuple["Variable", ...]
    """Whose cells take the first outputs."""
    read_cells: tuple[tuple[Cell, ...], ...]
    written_cells: tuple[tuple[Cell, ...], ...]
    diverging: tuple["Variable", ...]
    """Those written whose components may come to differ."""
    result: Any
    """What one rank returns, with `_Output` in the place of arrays."""


@dataclass(frozen=True, slots=True)
class _Output:
    """The place of a result among a program's outputs.  No named tuple, which would be a nest."""

    number: int


@final
class Tracing:
    """One call of a step while it is traced: the stand-ins of the variables that it touches."""

    def __init__(self, origin: "Engine", backend: Backend, rank: Array, given: Mapping["Variable", Array]) -> None:
        self.origin = origin
        """The engine whose step is traced."""
        self.rank = rank
        self.trace = Trace()
        self.engine = origin.traced(backend, self)
        self._given = given
        self._twins: dict[Variable, Variable] = {}
        self._initial: dict[Variable, Array] = {}

    def twin(self, variable: "Variable") -> "Variable":
        """Returns what stands for a variable of the strategy while its step is traced."""
        if variable not in self._twins:
            # Where a first trace only looks for what is touched, rank 0's value will do.
            value = self._given[variable] if variable in self._given else variable.components[0]
            array = self.engine.adopt(value, 0)
            self._initial[variable] = array
            self._twins[variable] = variable.twin(self.engine, self.engine.backend.cell(array))
        return self._twins[variable]

    def own(self, value: Any) -> Any:
        """Returns what stands for a variable of the strategy, or for the framework's variable of one."""
        value = self.origin.own(value)
        return self.twin(value) if type(value).__name__ == "Variable" and value.engine is self.origin else value

    def original(self, value: Any) -> Any:
        """Returns the strategy's variable that a stand-in stands for; anything else as it is."""
        return next((variable for variable, twin in self._twins.items() if twin is value), value)

    @property
    def touched(self) -> tuple["Variable", ...]:
        """The variables that the step read or wrote, in the order of their first use."""
        return tuple(self._twins)

    def written(self) -> dict["Variable", Array]:
        """Returns the last values of the variables that the step wrote."""
        last = {variable: twin.components[0] for variable, twin in self._twins.items()}
        return {variable: value for variable, value in last.items() if value is not self._initial[variable]}


@final
class CompiledStep:
    """What `Strategy.compile` returns: give it to `Strategy.run` in place of the function it was made of.

    Called inside a replica function, it is that function.
    """

    def __init__(self, engine: "Engine", compilation: Compilation, step: Callable[..., Any]) -> None:
        self._engine = engine
        self._compilation = compilation
        self._step = step
        self._made: dict[Any, Made] = {}
        self._usual = Usual(engine.form)
        self.__wrapped__ = step

    def __repr__(self) -> str:
        return f"<compiled {function_key(self._step)}: {len(self._made)} programs>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._step(*args, **kwargs)

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any], site: Site) -> Any:
        """Runs the program for arguments of these forms; by lanes where replicas have unequal ones."""
        args = tuple(args)
        known = None if kwargs else self._usual.known(args)
        if known is not None:
            return self._call(*known, site)
        given = given_to(self._engine, args, kwargs)
        if given is None:
            return self._engine.run(self._step, args, kwargs, site)
        key = given.key
        try:
            made = self._made.get(key)
        except TypeError as error:
            raise CannotCompile(
                f"An argument of {function_key(self._step)} is no array and cannot tell whether it is the same next "
                f"time: {error}. Pass arrays, numbers, texts or None, or close the function over it."
            ) from error
        if made is None:
            made = self._made[key] = self._make(given)
        if not kwargs:
            self._usual.keep(args, given, made)
        return self._call(made, given.arrays, site)

    def _call(self, made: Made, arrays: Sequence[tuple[Array, ...]], site: Site) -> Any:
        """Runs a program on the local ranks' arrays."""
        engine = self._engine
        if engine.room.trace is not None:
            engine.room.trace.record(engine.room.worker, made.request, (None,), (site,))
        outputs = made.program(arrays, made.read_cells, made.written_cells)
        for variable in made.written:
            variable.storage.replaced()
        for variable in made.diverging:
            engine.divergence.written(variable, "assign", site)
        if engine.divergence.pending:
            engine.divergence.end_run()
        return tree.map_leaves(lambda leaf: _per_replica(leaf, outputs), made.result)

    def _make(self, given: Given) -> Made:
        """Traces the step twice: for the variables that it touches, and with them as inputs."""
        forms = given.forms
        seen: list[Tracing] = []
        result: list[Any] = []

        def body(backend: Backend, rank: Array, values: tuple[Array, ...], /) -> tuple[Array, ...]:
            count = len(forms)
            tracing = Tracing(self._engine, backend, rank, dict(zip(read, values[count:], strict=True)))
            own = iter(values[:count])
            leaves = [one.value if isinstance(one, Constant) else next(own) for one in given.inputs]
            args, kwargs = tree.unflatten(given.structure, leaves)
            returned = tracing.engine.run(self._step, args, kwargs, _place_of(self._step))
            seen[:] = [tracing]
            written = [*tracing.written().values()]
            returned = tree.map_leaves(tracing.original, returned)
            arrays, template = _split(returned, backend.array_types)
            result[:] = [template]
            return (*written, *arrays)

        read: tuple[Variable, ...] = ()
        self._compilation.trace(body, forms)
        read = seen[0].touched
        program = self._compilation.compile(body, (*forms, *((one.shape, one.dtype) for one in read)))
        # The first event is the run itself.
        asked = tuple(event for event in seen[0].trace.events() if event.kind != "run")
        key = function_key(self._step)
        request = Request("compiled", None, None, key, given.structure, forms)
        written = tuple(seen[0].written())
        made = Made(
            step=str(key),
            program=program,
            request=request,
            asked=asked,
            read=read,
            written=written,
            read_cells=tuple([variable.storage.cells for variable in read]),
            written_cells=tuple([variable.storage.cells for variable in written]),
            diverging=tuple([one for one in written if one.policy.may_diverge]),
            result=result[0],
        )
        self._engine.programs.append(made)
        return made


def _place_of(step: Callable[..., Any]) -> Site:
    code = getattr(step, "__code__", None)
    return ("<compiled>", 0) if code is None else (code.co_filename, code.co_firstlineno)


def _split(nest: Any, array_types: tuple[type, ...]) -> tuple[list[Array], Any]:
    """Returns the arrays of a nest, and the nest with their places among the outputs."""
    arrays: list[Array] = []

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, array_types):
            return leaf
        arrays.append(leaf)
        return _Output(len(arrays) - 1)

    return arrays, tree.map_leaves(place, nest)


def _per_replica(leaf: Any, outputs: Sequence[tuple[Array, ...]]) -> Any:
    if not isinstance(leaf, _Output):
        return leaf
    values = outputs[leaf.number]
    return values[0] if len(values) == 1 else PerReplica(values)
