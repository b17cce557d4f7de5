"""Edits of a program's syntax tree that plant nothing: other names, other order, other constants, other data.

`lookalikes` are edits that look like planted ones, and are none.

Some of them may change what a program computes, but in the same way for every number of replicas. Where one does not,
as a batch size that leaves parts of means unequal, `mutated.py` measures it and drops the mutant.
"""

import ast
from collections.abc import Iterator
from random import Random

from mutations import Edit, Source, calls, is_call, op_of, parts_of

__all__ = ["NEUTRAL"]

WORDS = ("alpha", "beta", "chunk", "current", "found", "given", "inner", "item", "left", "result", "thing", "total_")


def renamed(source: Source) -> Iterator[Edit]:
    """A name that the program binds gets another one everywhere."""
    kept = {"program", "strategy", "ctx", "np", "ss"}
    keywords = {one.arg for node in ast.walk(source.tree) if isinstance(node, ast.Call) for one in node.keywords}
    bound = [
        node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    bound += [node.arg for node in ast.walk(source.tree) if isinstance(node, ast.arg)]
    bound += [node.name for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)]
    names = [name for name in dict.fromkeys(bound) if name not in kept | keywords and name not in WORDS]
    for name in names:

        def rename(rng: Random, old: str = name) -> None:
            new = f"{rng.choice(WORDS)}_{rng.randrange(100)}"
            for node in ast.walk(source.tree):
                if isinstance(node, ast.Name) and node.id == old:
                    node.id = new
                elif isinstance(node, ast.arg) and node.arg == old:
                    node.arg = new
                elif isinstance(node, ast.FunctionDef) and node.name == old:
                    node.name = new

        yield Edit(f"renamed: {name}", (), rename)


def commuted(source: Source) -> Iterator[Edit]:
    """The two sides of a sum or a product change places."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):

            def swap(_: Random, one: ast.BinOp = node) -> None:
                one.left, one.right = one.right, one.left

            yield Edit("commuted", (), swap)


def reordered(source: Source) -> Iterator[Edit]:
    """Two neighbouring lines that use nothing of each other change places."""
    for node in ast.walk(source.tree):
        body = node.body if isinstance(node, (ast.FunctionDef, ast.For, ast.With)) else []
        for place in range(len(body) - 1):
            one, two = body[place : place + 2]
            if all(isinstance(line, (ast.Assign, ast.Expr)) for line in (one, two)) and not clash(one, two):

                def swap(_: Random, lines: list[ast.stmt] = body, at: int = place) -> None:
                    lines[at], lines[at + 1] = lines[at + 1], lines[at]

                yield Edit("reordered", (), swap)


def clash(one: ast.stmt, two: ast.stmt) -> bool:
    """Returns whether a line changes a name that the other one uses; a call of a method changes its object."""
    return bool(changed(one) & used(two) or changed(two) & used(one))


def used(line: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(line) if isinstance(node, ast.Name)}


def changed(line: ast.stmt) -> set[str]:
    stored = {node.id for node in ast.walk(line) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    methods = [
        node.func.value
        for node in ast.walk(line)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    return stored | {node.id for node in methods if isinstance(node, ast.Name)} - {"ss", "np", "xp", "ctx"}


def constants(source: Source) -> Iterator[Edit]:
    """A constant of the module, or a float in the program, gets another value."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign):
            for one in ast.walk(node.value):
                if isinstance(one, ast.Constant) and isinstance(one.value, (int, float)):
                    yield Edit(f"constant {ast.unparse(node.targets[0])}", (), lambda rng, c=one: change(c, rng))
    for node in ast.walk(source.tree):
        is_float = isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value not in (0.0, 1.0)
        if is_float and source.functions(node):
            yield Edit("float", (), lambda rng, c=node: change(c, rng))


def change(node: ast.Constant, rng: Random) -> None:
    if isinstance(node.value, int):
        node.value = max(1, node.value + rng.choice((-2, -1, 1, 2, 3)))
    else:
        node.value = round(node.value * rng.uniform(0.5, 1.5), 4)


def data(source: Source) -> Iterator[Edit]:
    """Other random numbers, of the same or of another distribution."""
    for call in calls(source, "default_rng"):
        yield Edit("seed", (), lambda rng, c=call: c.args.__setitem__(0, ast.Constant(rng.randrange(10_000))))
    for call in calls(source, "normal"):
        yield Edit("distribution", (), lambda rng, c=call: setattr(c.func, "attr", rng.choice(("laplace", "logistic"))))


def respelled(source: Source) -> Iterator[Edit]:
    """The same call in another spelling: a member of ReduceOp for its name, a negative addition for a subtraction."""
    for call in calls(source, "all_reduce", "reduce"):
        if op_of(call):
            new = ast.parse(f"ss.ReduceOp.{op_of(call)}", mode="eval").body
            yield Edit("member of ReduceOp", (), lambda _, c=call, n=new: c.args.__setitem__(0, n))
    for call in calls(source, "assign_sub"):

        def negate(_: Random, c: ast.Call = call) -> None:
            c.func.attr = "assign_add"  # type: ignore[attr-defined]  # of a method
            c.args[0] = ast.UnaryOp(ast.USub(), c.args[0])

        yield Edit("negative addition", (), negate)


def lookalikes(source: Source) -> Iterator[Edit]:
    """Changes that look wrong: a mean of N times a share, a clip that never clips, draws and sums that nothing uses."""
    for call in calls(source, "all_reduce", "reduce"):
        count = source.replicas(call)
        one_array = isinstance(call.args[1], (ast.Call, ast.BinOp)) and not is_call(call.args[1], "run")
        if count and op_of(call) == "SUM" and not call.keywords and one_array:

            def average(_: Random, c: ast.Call = call, n: str = count) -> None:
                source.replace(c.args[1], f"{n} * v", v=c.args[1])
                c.args[0] = ast.Constant("MEAN")

            yield Edit("mean of N times a share", (), average)
    for call in calls(source, "all_reduce", "assign_sub", "assign_add"):
        value = call.args[-1]
        if source.in_replica(call) is not None and not isinstance(value, ast.Tuple):
            text = "ss.get_replica_context().xp.clip(v, -1e6, 1e6)"
            yield Edit("clip without effect", (), lambda _, v=value, t=text: source.replace(v, t, v=v))
    for function in source.replica_functions():
        yield from unused_lines(function)


def unused_lines(function: ast.FunctionDef) -> Iterator[Edit]:
    """First lines that change nothing but the order of rows."""
    ctx = "ss.get_replica_context()"
    lines = [f"{ctx}.seed('unused')", f"{ctx}.all_reduce('MEAN', 1.0 + {ctx}.replica_id_in_sync_group)"]
    parts = parts_of(function)
    if parts:
        first, every = parts[0], ", ".join(parts)
        lines += [
            f"{first} = {ctx}.xp.concat([{first}, {first}])[: {first}.shape[0]]",
            f"{every}, = ({ctx}.xp.flip(one, axis=0) for one in ({every},))",
            f"{first} = {first} + 0.0 * {ctx}.replica_id_in_sync_group",
            f"{ctx}.all_reduce('SUM', {ctx}.xp.sum({first}))",
            f"{ctx}.xp.clip({first}, -0.1, 0.1)",
        ]
    for line in lines:
        yield Edit(f"first line: {line}", (), lambda _, t=line: function.body.insert(0, ast.parse(t).body[0]))


# Lookalikes are drawn twice as often as each other way.
NEUTRAL = (renamed, commuted, reordered, constants, data, respelled, lookalikes, lookalikes)
