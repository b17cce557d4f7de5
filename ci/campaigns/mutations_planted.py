"""Edits of a program's syntax tree that make it depend on the number of replicas, each with the kind that it plants.

Whether a mutant really depends on the replicas is not decided here: `mutated.py` measures it.
"""

import ast
from collections.abc import Iterator
from random import Random

from mutations import Edit, Source, calls, is_call, op_of, parts_of

__all__ = ["KINDS", "PLANTED"]

SUMMED = ("summed where averaged was meant", "scaled by the number of replicas")
DIVIDED = ("divided by the number of replicas once too often",)
UNREDUCED = ("missing reduction", "written by one replica only")
ROOT = ("scaled by the square root of the number of replicas",)


def values(source: Source) -> Iterator[tuple[ast.expr, ast.Call]]:
    """Yields what goes into reductions and aggregated writes, with the call."""
    for call in calls(source, "all_reduce", "reduce"):
        yield call.args[1], call
    for call in calls(source, "assign_sub", "assign_add"):
        yield call.args[0], call


def factors(source: Source) -> Iterator[Edit]:
    """A value is multiplied on its way into a reduction or a variable."""
    forms = {"value * N": SUMMED, "value / N": DIVIDED, "value * N ** 0.5": ROOT}
    for value, call in values(source):
        count = source.replicas(call)
        if count is None or (is_call(call, "reduce") and not isinstance(value, ast.BinOp)):
            continue
        for form, kinds in forms.items():
            text = form.replace("N", count)
            yield Edit(f"factor: {form}", kinds, lambda _, v=value, t=text: source.replace(v, t, value=v))


def rates(source: Source) -> Iterator[Edit]:
    """A constant named RATE is scaled by the replicas."""
    forms = {"rate * N": SUMMED[::-1], "rate / N": DIVIDED, "rate * N ** 0.5": ROOT}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name) and "RATE" in node.id and isinstance(node.ctx, ast.Load):
            count = source.replicas(node)
            for form, kinds in forms.items() if count else ():
                text = form.replace("N", str(count))
                yield Edit(f"rate: {form}", kinds, lambda _, n=node, t=text: source.replace(n, t, rate=n))


def other_ops(source: Source) -> Iterator[Edit]:
    """SUM becomes MEAN, and MEAN becomes SUM: in collectives, in reduces, and in variables."""
    for call in calls(source, "all_reduce", "reduce"):
        op = op_of(call)
        if op in ("SUM", "MEAN") and not (call.keywords and op == "MEAN"):
            new, kinds = ("MEAN", DIVIDED) if op == "SUM" else ("SUM", SUMMED)
            yield Edit(f"{op} for {new}", kinds, lambda _, c=call, n=new: setattr(c.args[0], "value", n))
    for node in aggregations(source):
        if node.attr in ("SUM", "MEAN"):
            new, kinds = ("MEAN", DIVIDED) if node.attr == "SUM" else ("SUM", SUMMED)
            yield Edit(f"variable: {node.attr} for {new}", kinds, lambda _, a=node, n=new: setattr(a, "attr", n))


def aggregations(source: Source) -> list[ast.Attribute]:
    return [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "VariableAggregation"
    ]


def kinds_of_dropped(source: Source, call: ast.Call) -> tuple[str, ...]:
    """Returns what a judge may call an all_reduce that is left out: it depends on what the value is for.

    In a helper of the replica function it is a statistic, which is that of a part then. A divisor that is left the
    part's makes the sum of the replicas' values a sum of means, and their mean a mean of means: these are other names
    of the same mistake.
    """
    function = source.functions(call)[0]
    kinds = UNREDUCED
    if function not in list(source.replica_functions()):
        kinds += ("statistics per replica",)
    parent = source.parents[call]
    named = {one.id for one in parent.targets if isinstance(one, ast.Name)} if isinstance(parent, ast.Assign) else set()
    divisors = [
        node.right for node in ast.walk(function) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    ]
    if any(one is call or (isinstance(one, ast.Name) and one.id in named) for one in divisors):
        kinds += ("sum of means", "mean of means")
    return kinds


def dropped(source: Source) -> Iterator[Edit]:
    """A reduction is left out, or one replica's value is taken for that of all."""
    for call in calls(source, "all_reduce"):
        kinds = kinds_of_dropped(source, call)
        yield Edit("dropped all_reduce", kinds, lambda _, c=call: source.replace(c, "v", v=c.args[1]))
    for call in calls(source, "reduce"):
        if not call.keywords:
            text = "strategy.run(lambda *all: all, args=(v,))"
            text = f"[strategy.unwrap(one)[0] for one in {text}][0]" if isinstance(call.args[1], ast.Call) else ""
            text = text or "[strategy.unwrap(one)[0] for one in v]"
            yield Edit("dropped reduce", UNREDUCED, lambda _, c=call, t=text: source.replace(c, t, v=c.args[1]))
    for node in aggregations(source):
        if node.attr == "SUM":
            yield Edit(
                "first replica's value",
                UNREDUCED[::-1],
                lambda _, a=node: setattr(a, "attr", "ONLY_FIRST_REPLICA"),
            )


def inside(call: ast.Call, node: ast.AST) -> bool:
    return any(one is node for one in ast.walk(call))


def local_means(source: Source) -> Iterator[Edit]:
    """Divides by the rows of a part, and adds the quotients up, or averages them."""
    sizes = [
        (node, function)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Name) and node.id == "BATCH"
        for function in [source.in_replica(node)]
        if function is not None and parts_of(function)
    ]

    def divide(op: str) -> None:
        for node, function in sizes:
            source.replace(node, f"max(1, {parts_of(function)[0]}.shape[0])")
        for call in calls(source, "all_reduce") if op == "MEAN" else ():
            call.args[0] = ast.Constant("MEAN")
        for node in aggregations(source) if op == "MEAN" else ():
            node.attr = "MEAN"

    if sizes:
        yield Edit("sum of means", ("sum of means", *SUMMED[:1]), lambda _: divide("SUM"))
        # Calls whose value no number of rows divides become means as well: these are divided once too often.
        plain = [call for call in calls(source, "all_reduce") if not any(inside(call, node) for node, _ in sizes)]
        yield Edit("mean of means", ("mean of means", *(DIVIDED if plain else ())), lambda _: divide("MEAN"))
    for call in calls(source, "reduce"):
        if call.keywords and op_of(call) == "MEAN":
            text = "strategy.run(lambda one: ss.get_replica_context().xp.mean(one, axis=0), args=(v,))"
            new = f"strategy.reduce('MEAN', {text})"
            yield Edit(
                "mean of each part", ("mean of means",), lambda _, c=call, t=new: source.replace(c, t, v=c.args[1])
            )
    for call in calls(source, "sum"):
        function = source.in_replica(call)
        axis = next((one.value for one in call.keywords if one.arg == "axis"), None)
        if function is not None and isinstance(axis, ast.Constant) and axis.value == 0:
            yield Edit("mean for sum", ("sum of means", *SUMMED[:1]), lambda _, c=call: setattr(c.func, "attr", "mean"))


def averaged_quotients(source: Source) -> Iterator[Edit]:
    """Sums and counts are divided by the rows of the part, and averaged: their quotient is a mean of means."""
    for function in [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef)]:
        counted = [ast.unparse(node.args[1]) for node in ast.walk(function) if is_call(node, "full")]
        inside = [node for node in ast.walk(function) if is_call(node, "all_reduce")]
        if function.name == "program" or len(inside) < 2 or not counted or ".shape[0]" not in counted[0]:
            continue

        def average(_: Random, found: list[ast.Call] = inside, rows: str = counted[0]) -> None:
            for call in found:
                call.args[0] = ast.Constant("MEAN")
                source.replace(call.args[1], f"v / max(1, {rows})", v=call.args[1])

        yield Edit("averaged quotients", ("mean of means",), average)


def clips(source: Source) -> Iterator[Edit]:
    """A share is clipped before it is added up: a clip that was behind the sum, or a new one."""
    kinds = ("clipping before the sum",)
    for call in calls(source, "clip"):
        if is_call(call.args[0], "all_reduce"):
            inner = call.args[0]

            def swap(_: Random, outer: ast.Call = call, inner: ast.Call = inner) -> None:
                source.replace(outer, "reduced", reduced=inner)
                outer.args[0], inner.args[1] = inner.args[1], outer

            yield Edit("clip moved before the sum", kinds, swap)
    for value, call in values(source):
        if source.in_replica(call) is None:
            continue
        xp = "ss.get_replica_context().xp"
        by_value = f"{xp}.clip(v, -LIMIT_, LIMIT_)"
        norm = f"{xp}.maximum({xp}.sqrt({xp}.sum({xp}.square(g))), LIMIT_)"
        for name, text in {"value": by_value, "norm": f"(lambda g: g * (LIMIT_ / {norm}))(v)"}.items():

            def clip(rng: Random, v: ast.expr = value, t: str = text) -> None:
                source.replace(v, t.replace("LIMIT_", str(round(rng.uniform(0.02, 0.4), 3))), v=v)

            yield Edit(f"clip by {name} before the sum", kinds, clip)


def first_lines(source: Source) -> Iterator[Edit]:
    """Something is done to a replica's part before all else: statistics, draws, rows twice, rows never."""
    for function in source.replica_functions():
        parts = parts_of(function)
        if not parts:
            continue
        first, every, xp = parts[0], ", ".join(parts), "ss.get_replica_context().xp"
        keep = f"{xp}.asarray((np.random.default_rng(SEED_).random({first}.shape) < 0.7).astype(np.float32))"
        lines = {
            f"{first} = {first} - {xp}.mean({first}, axis=0)": "statistics per replica",
            f"{first} = {first} / ({xp}.std({first}, axis=0) + 0.1)": "statistics per replica",
            f"{first} = {first} / ({xp}.max({xp}.abs({first})) + 0.1)": "statistics per replica",
            f"{first} = {first} * {keep}": "different draws",
            f"{every}, = ({xp}.concat([one, one[:1]]) for one in ({every},))": "duplicated samples",
            f"{every}, = ({xp}.concat([one, one]) if rank_ == 0 else one for one in ({every},))": "duplicated samples",
            f"{every}, = (one[1:] for one in ({every},))": "missing samples",
            f"{every}, = (one[: one.shape[0] // 2 * 2] for one in ({every},))": "missing samples",
        }
        for line, kind in lines.items():

            def insert(rng: Random, f: ast.FunctionDef = function, t: str = line) -> None:
                t = t.replace("SEED_", str(rng.randrange(1000)))
                t = t.replace("rank_", "ss.get_replica_context().replica_id_in_sync_group")
                f.body.insert(0, ast.parse(t).body[0])

            yield Edit(f"first line: {line}", (kind,), insert)


def own_slices(source: Source) -> Iterator[Edit]:
    """Rows that each replica slices for itself: some twice, or the remainder never."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.step is not None:
            step = ast.unparse(node.slice.step)
            rows = ast.unparse(node.value)
            start = ast.unparse(node.slice.lower) if node.slice.lower else "0"
            if "num_replicas" not in step:
                continue
            lost = f"{rows}[{start}:len({rows}) // {step} * {step}:{step}]"
            padded = f"np.concatenate([{rows}, {rows}[:-len({rows}) % {step}]])[{start}::{step}]"
            yield Edit("remainder lost", ("missing samples",), lambda _, n=node, t=lost: source.replace(n, t))
            yield Edit("padded", ("duplicated samples",), lambda _, n=node, t=padded: source.replace(n, t))


def statistics(source: Source) -> Iterator[Edit]:
    """A helper that reduces what it computes is left without its reductions."""
    for function in source.tree.body:
        if isinstance(function, ast.FunctionDef) and function.name != "program":
            inside = [node for node in ast.walk(function) if is_call(node, "all_reduce")]

            def drop(_: Random, found: list[ast.AST] = inside) -> None:
                for call in found:
                    source.replace(call, "v", v=call.args[1])  # type: ignore[attr-defined]  # a call

            if len(inside) > 1:
                yield Edit("statistic of a part", ("statistics per replica",), drop)


def norms(source: Source) -> Iterator[Edit]:
    """The squared norm of what is reduced is reduced again."""
    for root in calls(source, "sqrt"):
        inner = root.args[0]
        if is_call(inner, "sum") and is_call(inner.args[0], "square") and source.in_replica(root):  # type: ignore[attr-defined]  # a call
            text = "ss.get_replica_context().all_reduce('SUM', v)"
            yield Edit(
                "squared norm summed again",
                ("squared norms summed again",),
                lambda _, i=inner, t=text: source.replace(i, t, v=i),
            )


PLANTED = (
    factors,
    rates,
    other_ops,
    dropped,
    local_means,
    averaged_quotients,
    clips,
    first_lines,
    own_slices,
    statistics,
    norms,
)

KINDS = (
    "clipping before the sum",
    "different draws",
    "divided by the number of replicas once too often",
    "duplicated samples",
    "mean of means",
    "missing reduction",
    "missing samples",
    "scaled by the number of replicas",
    "scaled by the square root of the number of replicas",
    "squared norms summed again",
    "statistics per replica",
    "sum of means",
    "summed where averaged was meant",
    "written by one replica only",
)
"""What an edit may plant: the first of its kinds is one of these."""
