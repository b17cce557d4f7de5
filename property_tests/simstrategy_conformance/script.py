"""A program as Python: the kit compiles and runs it, and prints it for a bug report.

One line for each statement, so that a counterexample fits into 25 lines. Draws nothing and compares nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from simstrategy_conformance.program import Fed, Given, Node, Program

__all__ = ["FILE", "Step", "function_of", "function_text", "script_text"]

Step = Literal["plain", "fed", "compiled"]
"""How a replica function gets its host data: its own, or as arguments; and whether it is compiled besides."""

FILE = "program.py"
"""The file name that call sites in traces and messages show."""

_MERGES = {
    "sum": 's.reduce("SUM", v)',
    "mean": 's.reduce("MEAN", v)',
    "local": "s.experimental_local_results(v)",
    "same": "v",
    "nested": 's.run(lambda y: ss.get_replica_context().all_reduce("SUM", y), args=(v,))',
}
_COMPUTATIONS = {"double": "ctx.xp.multiply({}, 2)", "add": "ctx.xp.add({0}, {0})", "total": "ctx.xp.sum({})"}
_LOOK = (
    "[ss.has_strategy(), ss.in_cross_replica_context(), ss.get_replica_context() is ctx, ctx.num_replicas_in_sync, r]"
)


def _numbers(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_numbers(one) for one in value)}]"
    return repr(value)


def _array(numbers: str, dtype: str) -> str:
    return f'np.array({numbers}, "{dtype}")'


def _value(value: Any, *, adopted: bool = False) -> str:
    """Writes a value of the replica function; adopted: as an array of the device, in place of host data."""
    if isinstance(value, Given):
        text = _array(f"{_numbers(value.parts)}[r]", value.dtype)
        text += f".reshape(-1, {', '.join(map(str, value.tails))})" if value.tails else ""
        return f"ctx.xp.asarray({text})" if adopted else text
    if isinstance(value, Node):
        items = [_value(item, adopted=adopted) for item in value.items]
        if value.container == "dict":
            keys = "abcdefgh"[: len(items)]
            pairs = [f"{key!r}: {item}" for key, item in zip(reversed(keys), items, strict=True)]
            return f"{{{', '.join(pairs)}}}"
        inner = ", ".join(items) + ("," if value.container == "tuple" and len(items) == 1 else "")
        return f"[{inner}]" if value.container == "list" else f"({inner})"
    return "batch" if value.kind == "batch" else f"{'g' if value.kind == 'fed' else 'a'}{value.number}"


_TEXTS: Final[dict[str, Callable[[Any], str]]] = {
    "all_reduce": lambda one: f'ctx.all_reduce("{one.op}", {_value(one.nest)})',
    "all_gather": lambda one: f"ctx.all_gather({_value(one.nest)}, axis={one.axis})",
    "merge": lambda one: f"ctx.merge_call(lambda s, v: {_MERGES[one.how]}, args=({_value(one.value)},))",
    "read": lambda one: f"v{one.variable}.value()",
    "compute": lambda one: _COMPUTATIONS[one.how].format(_value(one.value, adopted=True)),
    "give": lambda one: _value(one.nest, adopted=True),
    "share": lambda one: '(None, "text", shared)',
    "seed": lambda one: f"ctx.seed({one.label!r})",
    "look": lambda one: _LOOK,
}
"""What each kind of statement of the replica function returns."""


def _statement(statement: Any, number: int) -> list[str]:
    """Returns the lines of a statement of the replica function; its result is called `a{number}`."""
    name = f"a{number}"
    if statement.kind == "stop":
        return _stop(statement, name)
    if statement.kind == "write":
        v = f"v{statement.variable}"
        return [f"{v}.{statement.method}({_value(statement.value)}); {name} = {v}.value()"]
    return [f"{name} = {_TEXTS[statement.kind](statement)}"]


def _stop(statement: Any, name: str) -> list[str]:
    who = f"r == {statement.replica}"
    if statement.how == "raise":
        return [f'if {who}: raise KeyError("stop")', f'{name} = "went on"']
    if statement.how == "leave":
        return [f"if {who}: return None", f'{name} = ctx.all_reduce("SUM", np.float32(1))']
    return [f'{name} = ctx.all_reduce("MEAN" if {who} else "SUM", np.float32(1))']


_AFTER: Final[dict[str, Callable[[Any, str], str]]] = {
    "reduce": lambda one, b: f'{b} = strategy.reduce("{one.op}", out[-1][{one.number}], axis={one.axis})',
    "gather": lambda one, b: f"{b} = strategy.gather(out[-1][{one.number}], axis={one.axis})",
    "local": lambda one, b: f"{b} = strategy.experimental_local_results(out[-1][{one.number}])",
    "assign": lambda one, b: f"v{one.variable}.{one.method}({one.number!r}); {b} = None",
    "fetch": lambda one, b: f"with strategy.scope(): {b} = v{one.variable}.read_value()",
}


def _variables(program: Program) -> list[str]:
    lines = []
    for number, variable in enumerate(program.variables):
        initial = _array(_numbers(variable.initial), variable.dtype)
        how = (
            f"synchronization=ss.VariableSynchronization.{variable.synchronization}, "
            f"aggregation=ss.VariableAggregation.{variable.aggregation}"
        )
        lines.append(f'v{number} = ss.Variable({initial}, {how}, name="v{number}")')
    return lines


def _fed(program: Program) -> tuple[Program, list[Given]]:
    """Returns a program whose host data are arguments of its replica function, and what they are.

    A rank has no value while a step is compiled, so nothing can be chosen by it.
    """
    found: list[Given] = []

    def feed(value: Any) -> Any:
        if isinstance(value, Node):
            return replace(value, items=tuple(feed(item) for item in value.items))
        if not isinstance(value, Given):
            return value
        found.append(value)
        return Fed(len(found) - 1)

    body: list[Any] = []
    for statement in program.body:
        names = [name for name in ("nest", "value") if name in statement.__slots__]
        body.append(replace(statement, **{name: feed(getattr(statement, name)) for name in names}))
    return replace(program, body=tuple(body)), found


def function_text(program: Program, step: Step = "plain") -> list[str]:
    """Returns the lines of `def program(strategy)`."""
    program, given = (program, []) if step == "plain" else _fed(program)
    shares = any(statement.kind == "share" for statement in program.body)
    lines = [f"def program(strategy{', shared=np.zeros(2)' if shares else ''}):"]
    if program.variables:
        lines += ["    with strategy.scope():", *(f"        {line}" for line in _variables(program))]
    lines += [
        f"    g{number} = strategy.experimental_distribute_values_from_function("
        f"lambda c: {_value(one).replace('[r]', '[c.replica_id_in_sync_group]')})"
        for number, one in enumerate(given)
    ]
    names = [*(["batch"] if program.data else []), *(f"g{number}" for number in range(len(given)))]
    lines += [f"    def step({', '.join(names)}):"]
    lines += ["        ctx = ss.get_replica_context(); r = ctx.replica_id_in_sync_group"]
    for number, statement in enumerate(program.body):
        lines += [f"        {line}" for line in _statement(statement, number)]
    results = "".join(f"a{number}, " for number in range(len(program.body)))
    lines += [f"        return ({results.rstrip(' ')})"]
    lines += ["    step = strategy.compile(step)"] if step == "compiled" else []
    args = f", args=({', '.join(names)},)" if names else ""
    if program.data is not None:
        data = program.data
        source = f"ss.data.Dataset.from_tensor_slices({_array(_numbers(data.numbers), data.dtype)}).batch({data.batch})"
        lines.append(f"    batches = strategy.experimental_distribute_dataset({source})")
        run = f"[strategy.run(step{args}) for batch in batches]"
    else:
        run = f"[strategy.run(step{args}) for _ in range({program.runs})]"
    lines.append(f"    {'with strategy.scope(): ' if program.scoped else ''}out = {run}")
    lines += [
        f"    {_AFTER[statement.kind](statement, f'b{number}')}" for number, statement in enumerate(program.after)
    ]
    found = ", ".join(f"b{number}" for number in range(len(program.after)))
    held = ", ".join(f"strategy.experimental_local_results(v{number})" for number in range(len(program.variables)))
    return [*lines, f"    return out, [{found}], [{held}]"]


def script_text(program: Program, backend: str, draws: Sequence[Any] = (), step: Step = "plain") -> str:
    """Returns a self-contained script that shows a program on a backend; needs `simstrategy` alone.

    backend: a name, or module:factory. draws: what a schedule drew, for `Replayed`; none for InOrder.
    """
    lines = ["import numpy as np, simstrategy as ss", *function_text(program, step)]
    semantics = f"ss.Semantics.{program.profile}"
    if program.workers > 1:
        made = f"ss.sim.Cluster({program.workers}, {program.replicas}, semantics={semantics})"
        return "\n".join([*lines, f"print({made}.run(program))"])
    schedule = f", schedule=ss.schedules.Replayed({list(draws)!r})" if draws else ""
    lines.append(f'for backend in dict.fromkeys(["sim", {backend!r}]):')
    made = f"ss.Strategy.mirrored(backend, replicas={program.replicas}, semantics={semantics}{schedule})"
    return "\n".join([*lines, f'    print(f"{{backend}}:", program({made}))'])


def function_of(program: Program, step: Step = "plain") -> tuple[Callable[[Any], Any], str]:
    """Returns the compiled `program(strategy)`, and its text."""
    text = "\n".join(["import numpy as np, simstrategy as ss", *function_text(program, step), ""])
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, FILE, "exec"), names)  # noqa: S102 - text that this module has written itself
    function: Callable[[Any], Any] = names["program"]
    return function, text
