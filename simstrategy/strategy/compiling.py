"""`Strategy.compile`: a replica function that runs as one program on all ranks, where the backend can make one.

The function is traced once, by a second group whose one local replica stands for every rank. What it does to variables
becomes inputs and outputs of the program; its collective calls become part of it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from simstrategy import tree
from simstrategy.device import Array, Backend, Compilation
from simstrategy.errors import CannotCompile
from simstrategy.run import function_key
from simstrategy.strategy.arguments import ArgumentCache, StepArguments, bind_arguments
from simstrategy.strategy.equality import require_equal_after
from simstrategy.strategy.frontend import FrontendBinding
from simstrategy.strategy.group import Group
from simstrategy.strategy.programs import CompiledProgram, Output
from simstrategy.strategy.running import Runner, RunStep
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Request, Site, Trace
from simstrategy.values import Parts, PerReplica

__all__ = ["CompiledStep", "step_runner"]


def step_runner(runner: Runner, strategy_run: Callable[..., Any]) -> RunStep:
    """Returns what runs a function on each replica: `runner.run`, where neither backend nor framework compiles.

    Else it runs it as one program, in the framework's compiled form, or as it is. strategy_run: `Strategy.run`, which a
    function that the framework compiles calls while it is traced.
    """
    frontend = runner.group.frontend

    def run_step(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None, site: Site) -> Any:
        if type(fn) is CompiledStep and fn.runner is not runner:
            fn = fn.__wrapped__  # of another strategy, whose program is for that one's replicas
        if type(fn) is not CompiledStep and runner.compiled_as is not None:
            fn = runner.compiled_as(fn) or fn
        if type(fn) is CompiledStep:
            named = runner.checked(fn, args, kwargs, site)
            if not runner.after_run:
                return fn.run(args, named, site)
            return _compared(runner, lambda: fn.run(args, named, site), site)
        if frontend.part is not None:
            named = runner.checked(fn, args, kwargs, site)
            compiled = frontend.compiled(fn, strategy_run)
            if compiled is not None:
                runner.record(fn, site)
                return _compared(runner, lambda: compiled(args, named), site)
        return runner.run(fn, args, kwargs, site)

    return runner.run if frontend.part is None and runner.group.backend.compilation is None else run_step


def _compared(runner: Runner, run: Callable[[], Any], site: Site) -> Any:
    """Returns the result of a compiled step, and then compares what is compared at the end of every run.

    Not inside: runs of replicas that a framework traces have no values yet.
    """
    if not runner.after_run:
        return run()
    getters, runner.after_run = runner.after_run, {}
    try:
        result = run()
    finally:
        runner.after_run = getters | runner.after_run
    require_equal_after(runner.group, getters, site)
    return result


@final
class _Tracing:
    """One call of a step while it is traced: see `group.Tracing`.

    backend: its local device stands for every rank. given: arrays that stand for the values of variables.
    """

    def __init__(self, origin: Group, backend: Backend, rank: Array, given: Mapping[Variable, Array]) -> None:
        self.summed: list[Any] = []
        """What the step gave to be summed into variables."""
        self.shared: list[Any] = []
        """What all replicas have in common: that of the trace before, and arguments."""
        self.origin = origin
        self.rank = rank
        self.trace = Trace()
        settings = origin.settings._replace(backend=backend, checks=False, trace=self.trace, executor="auto")
        self.group = Group(settings, frontend=FrontendBinding(unwrap=self._unwrap), tracing=self)
        self.group.owner = origin.owner
        self._given = given
        self._twins: dict[Variable, Variable] = {}
        self._initial: dict[Variable, Array] = {}

    def is_shared(self, value: Any) -> bool:
        """Returns whether all replicas give the very same object to be summed: U-3."""
        if self.origin.coordinator.processes > 1 or len(self.origin.local_devices) == 1:
            return False  # as in tasks: objects of two processes cannot be compared
        self.summed.append(value)
        return any(value is one for one in self.shared)

    def traced_variable(self, variable: Variable) -> Variable:
        if variable not in self._twins:
            # The first trace only looks for the variables that are used: rank 0's value is enough.
            value = self._given[variable] if variable in self._given else variable.state.components[0]
            array = self.group.adopt(value, 0)
            self._initial[variable] = array
            self._twins[variable] = Variable.of(variable.state.on(self.group, self.group.backend.cell(array)))
        return self._twins[variable]

    def _unwrap(self, value: Any) -> Any:
        """Returns the variable that replaces one of the strategy, or of the framework, while the step is traced."""
        value = self.origin.frontend.unwrap(value)
        ours = isinstance(value, Variable) and value.state.group is self.origin
        return self.traced_variable(value) if ours else value

    def untraced(self, value: Any) -> Any:
        return next((variable for variable, twin in self._twins.items() if twin is value), value)

    @property
    def used(self) -> tuple[Variable, ...]:
        """The variables that the step read or wrote, in the order of their first use."""
        return tuple(self._twins)

    def written(self) -> dict[Variable, Array]:
        """Returns the last values of the variables that the step wrote."""
        last = {variable: twin.components[0] for variable, twin in self._twins.items()}
        return {variable: value for variable, value in last.items() if value is not self._initial[variable]}


@final
class CompiledStep:
    """What `Strategy.compile` returns: pass it to `Strategy.run` in place of the function it was made of.

    Called inside a replica function, it calls that function.
    """

    def __init__(self, runner: Runner, compilation: Compilation, step: Callable[..., Any]) -> None:
        self.runner = runner
        self._group = runner.group
        self._compilation = compilation
        self._step = step
        self._made: dict[Any, CompiledProgram | None] = {}
        """The programs by the forms of arguments; None where the step uses a variable that replicas share."""
        self._usual = ArgumentCache(runner.group.form)
        self.error: str | None = None
        """What the last attempt to make or run a program has raised; None where none has."""
        self.runs_as_tasks = 0
        """How often the function itself was run, since one program could not serve all replicas."""
        self.__wrapped__ = step

    def __repr__(self) -> str:
        return f"<compiled {function_key(self._step)}: {sum(one is not None for one in self._made.values())} programs>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._step(*args, **kwargs)

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any], site: Site) -> Any:
        """Runs the program for arguments of these forms.

        Runs the function itself where replicas have unequal ones, and where replicas share a variable that it uses.
        """
        args = tuple(args)
        known = None if kwargs else self._usual.lookup(args)
        arrays: Sequence[tuple[Array, ...] | Parts]
        if known is not None:
            made, arrays = known
        else:
            given = bind_arguments(self._group, args, kwargs)
            made = None if given is None else self._made_for(given)
            if given is None or made is None:
                self.runs_as_tasks += 1
                return self.runner.run(self._step, args, kwargs, site)
            if not kwargs:
                self._usual.store(args, given, made)
            arrays = given.arrays
        coordinator = self._group.coordinator
        if made.read or coordinator.processes > 1:  # else it changes nothing that another thread could see
            return coordinator.one_thread.call(site, self._call, made, arrays, site)
        return self._call(made, arrays, site)

    def _made_for(self, given: StepArguments) -> CompiledProgram | None:
        """Returns the program for arguments of these forms, which it makes at the first call: see `_make`."""
        try:
            key = given.key
            known_key = key in self._made
        except TypeError as error:
            self.error = (
                f"An argument of {function_key(self._step)} is no array and cannot be compared with the next call's: "
                f"{error}. Pass arrays, numbers, texts or None, or close the function over it."
            )
            raise CannotCompile(self.error) from error
        if not known_key:
            try:
                self._made[key] = self._make(given)
            except BaseException as error:
                self.error = str(error)
                raise
        return self._made[key]

    def _call(self, made: CompiledProgram, arrays: Sequence[tuple[Array, ...] | Parts], site: Site) -> Any:
        """Runs a program on the local ranks' arrays."""
        group = self._group
        if group.coordinator.trace is not None:
            group.coordinator.trace.record(group.coordinator.worker, made.request, (None,), (site,))
        try:
            outputs = made.program(arrays, made.read_cells, made.written_cells)
        except BaseException as error:
            self.error = str(error)
            raise
        for variable in made.written:
            variable.storage.mark_diverged()
        for variable in made.diverging:
            group.variables.written(variable, "assign", site)
        if group.variables.pending:
            group.variables.end_run()
        count = len(group.local_devices)
        if type(made.result) is Output:
            return _per_replica(made.result, outputs, count)
        return tree.map_leaves(lambda leaf: _per_replica(leaf, outputs, count), made.result)

    def _make(self, given: StepArguments) -> CompiledProgram | None:
        """Traces the step twice: to find the variables that it uses, and with them as inputs.

        Returns None where it uses a variable of which this process's replicas share one component: a program has one
        for each.
        """
        forms = given.forms
        seen: list[_Tracing] = []
        result: list[Any] = []

        def body(backend: Backend, rank: Array, values: tuple[Array, ...], /) -> tuple[Array, ...]:
            count = len(forms)
            tracing = _Tracing(self._group, backend, rank, dict(zip(read, values[count:], strict=True)))
            leaves = given.leaves_of(values[:count])
            tracing.shared = given.shared_of(leaves, seen[0].summed if seen else [])
            args, kwargs = tree.refill(given.nest, given.structure, leaves)
            returned = Runner(tracing.group).run(self._step, args, kwargs, _place_of(self._step))
            seen[:] = [tracing]
            written = [*tracing.written().values()]
            returned = tree.map_leaves(tracing.untraced, returned)
            arrays, template = _split(returned, backend.array_types)
            result[:] = [template]
            return (*written, *arrays)

        read: tuple[Variable, ...] = ()
        self._compilation.trace(body, forms)
        read = seen[0].used
        if any(len(one.state.storage.cells) != len(self._group.local_devices) for one in read):
            return None
        program = self._compilation.compile(body, (*forms, *((one.shape, one.dtype) for one in read)))
        # The first event is the run itself.
        asked = tuple(event for event in seen[0].trace.events() if event.kind != "run")
        key = function_key(self._step)
        request = Request("compiled", None, None, key, given.structure, forms)
        states = tuple([variable.state for variable in read])
        written = tuple([variable.state for variable in seen[0].written()])
        made = CompiledProgram(
            step=str(key),
            program=program,
            request=request,
            asked=asked,
            read=states,
            written=written,
            read_cells=tuple([variable.storage.cells for variable in states]),
            written_cells=tuple([variable.storage.cells for variable in written]),
            diverging=tuple([one for one in written if one.policy.may_diverge]),
            result=result[0],
        )
        self.runner.programs.append(made)
        return made


def _place_of(step: Callable[..., Any]) -> Site:
    code = getattr(step, "__code__", None)
    return ("<compiled>", 0) if code is None else (code.co_filename, code.co_firstlineno)


def _split(nest: Any, array_types: tuple[type[Array], ...]) -> tuple[list[Array], Any]:
    """Returns the arrays of a nest, and the nest with their places among the outputs."""
    arrays: list[Array] = []

    def place(leaf: Any) -> Any:
        if not isinstance(leaf, array_types):
            return leaf
        arrays.append(leaf)
        return Output(len(arrays) - 1)

    return arrays, tree.map_leaves(place, nest)


def _per_replica(leaf: Any, outputs: Sequence[tuple[Array, ...] | Parts], count: int) -> Any:
    """Returns what one of the results is to the program.  count: of the local replicas."""
    if not isinstance(leaf, Output):
        return leaf.copy() if isinstance(leaf, np.ndarray) else leaf  # the program's own may be written to
    found = outputs[leaf.number]
    if count == 1:
        return (found if isinstance(found, tuple) else found.arrays)[0]
    return PerReplica(found) if isinstance(found, tuple) else PerReplica.of(found)
