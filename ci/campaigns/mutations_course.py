"""Edits of what a student writes: of the holes of a lesson's solution, one at a time.

Whether an edit makes a wrong answer is not decided here: some change nothing.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import NamedTuple

from mutations import Edit, Source, is_call

__all__ = ["Mutant", "drawn", "mutants_of"]

HOLE = re.compile(r"^ *# hole: .+\n(?:.*\n)*? *# end of hole\n", re.MULTILINE)
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
OTHER = {
    "all_reduce": "all_gather",
    "replica_id_in_sync_group": "num_replicas_in_sync",
    "num_replicas_in_sync": "replica_id_in_sync_group",
    "sum": "mean",
    "mean": "sum",
    "SUM": "MEAN",
    "MEAN": "SUM",
    "ON_READ": "ON_WRITE",
    "assign_add": "assign_sub",
    "zeros_like": "ones_like",
    "max": "min",
    "min": "max",
    "isfinite": "isnan",
}
"""For a name or a text another one."""


class Mutant(NamedTuple):
    """One edit of a lesson's solution.  lesson: its number. what: the edit in words. text: of the whole file."""

    lesson: int
    what: str
    text: str


def drawn(solutions: dict[int, str], count: int, seed: int) -> list[Mutant]:
    """Returns mutants of all lessons by turns, drawn from a seed.  solutions: texts, by the number of the lesson."""
    rng = Random(seed)
    left = [[*mutants_of(number, text)] for number, text in solutions.items()]
    for one in left:
        rng.shuffle(one)
    found: list[Mutant] = []
    while len(found) < count and any(left):
        found += [one.pop() for one in left if one]
    return found[:count]


@cache
def mutants_of(lesson: int, solution: str) -> tuple[Mutant, ...]:
    """Returns every mutant of a lesson's solution, each text once."""
    found: dict[str, Mutant] = {}
    for number in range(len(list(edits(Source(solution), holes(solution))))):
        source = Source(solution)
        edit = list(edits(source, holes(solution)))[number]
        edit.apply(Random(0))
        text = source.text()
        if text != Source(solution).text():
            found.setdefault(text, Mutant(lesson, edit.name, text))
    return tuple(found.values())


def holes(solution: str) -> list[range]:
    """Returns the lines of each hole."""
    starts = [(one.start(), one.end()) for one in HOLE.finditer(solution)]
    return [range(solution.count("\n", 0, start) + 1, solution.count("\n", 0, end) + 1) for start, end in starts]


def edits(source: Source, lines: list[range]) -> Iterator[Edit]:
    """Yields the edits of all nodes in these lines."""
    for node in ast.walk(source.tree):
        number = getattr(node, "lineno", 0)
        if any(number in one for one in lines):
            for kind in KINDS:
                yield from kind(source, node)


def operators(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Another operator, swapped sides, or one side alone."""
    if not isinstance(node, ast.BinOp):
        return
    name = type(node.op).__name__
    for kind in OPERATORS:
        if isinstance(node.op, OPERATORS) and not isinstance(node.op, kind):
            other = ast.BinOp(node.left, kind(), node.right)
            yield Edit(f"{name} is {kind.__name__}", (), lambda _, n=other: source.put(node, n))
    if not isinstance(node.op, ast.Add | ast.Mult):
        other = ast.BinOp(node.right, node.op, node.left)
        yield Edit(f"swapped sides of {name}", (), lambda _, n=other: source.put(node, n))
    yield Edit(f"the left side of {name} alone", (), lambda _, n=node.left: source.put(node, n))
    yield Edit(f"the right side of {name} alone", (), lambda _, n=node.right: source.put(node, n))


def constants(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A number that is one more, and another text."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        other = ast.Constant(node.value + 1)
        yield Edit(f"{node.value} is {other.value}", (), lambda _: source.put(node, other))
    elif isinstance(node, ast.Constant) and node.value in OTHER:
        other = ast.Constant(OTHER[node.value])
        yield Edit(f"{node.value!r} is {other.value!r}", (), lambda _: source.put(node, other))


def names(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Another function or attribute."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    if name in OTHER:
        other = ast.Attribute(node.value, OTHER[name]) if isinstance(node, ast.Attribute) else ast.Name(OTHER[name])
        yield Edit(f"{name} is {OTHER[name]}", (), lambda _: source.put(node, other))


def dropped(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A collective that is not called, and a statement that is not there."""
    if is_call(node, "all_reduce", "all_gather"):
        value = node.args[1] if is_call(node, "all_reduce") else node.args[0]
        yield Edit("a collective is dropped", (), lambda _: source.put(node, value))
    if isinstance(node, ast.Expr | ast.Assign):
        yield Edit("a statement is dropped", (), lambda _: source.put(node, ast.Pass()))


def alone(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A statement that one replica carries out, or all but one."""
    in_replica = not any(one.args.args and one.args.args[0].arg == "strategy" for one in source.functions(node))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and in_replica:
        for sign in ("==", "!="):
            test = ast.parse(f"ss.get_replica_context().replica_id_in_sync_group {sign} 0", mode="eval").body
            guarded = ast.If(test, [node], [])
            yield Edit(f"where the rank is {sign} 0 alone", (), lambda _, n=guarded: source.put(node, n))


def scaled(source: Source, node: ast.AST) -> Iterator[Edit]:
    """What is returned, or enters a collective, times or divided by the number of replicas; negated; doubled."""
    count = "ss.get_replica_context().num_replicas_in_sync"
    value = None
    if isinstance(node, ast.Return) and not isinstance(node.value, ast.Tuple | ast.Dict | ast.Call):
        value = node.value
    elif is_call(node, "all_reduce"):
        value = node.args[1]
    if value is not None:
        for form in (f"v * {count}", f"v / {count}", "-v", "v + v"):
            text = form.replace(count, "N")
            yield Edit(f"{type(node).__name__}: {text}", (), lambda _, f=form: source.replace(value, f, v=value))


def results(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Results in another order."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        other = ast.Tuple([*node.value.elts[1:], node.value.elts[0]])
        yield Edit("results in another order", (), lambda _: source.put(node.value, other))


KINDS: tuple[Callable[[Source, ast.AST], Iterator[Edit]], ...] = (
    operators,
    constants,
    names,
    dropped,
    alone,
    scaled,
    results,
)
