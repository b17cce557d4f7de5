"""Figures of the structure: sizes of files, members of classes, annotations without information, the way of a value.

    python3 ci/run.py house

Prints a table, what is behind each figure that exceeds its bound, and ends with exit code 1 if one does. It reads the
syntax tree of what is shipped; only the walks run anything. It does not judge: a figure that is reached by pressing
unlike things into one file is missed.
"""

import ast
import re
import statistics
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ci import imports, walks

CORE = "simstrategy"
FILE_LINES_MAX = 320
CORE_LINES_MEDIAN_MAX = 130
MEMBERS_MAX = 20
ANY_PERCENT_MAX = 9.0

# Classes that may have more than 20 public members, and why.
FACES = {
    "Strategy": "a public face: TensorFlow's methods and properties",
    "DistributedVariable": "a public face: TensorFlow's own variable has these methods",
    "Dataset": "a public face: one method for each transformation",
    "Backend": "the contract of a device: what a backend has to have",
    "Elementwise": "a part of ArrayNamespace: the Array API standard's functions",
    "Operators": "a part of ArrayNamespace: the Array API standard's functions",
    "SimulatedGroup": "torch's process group: its operations under each of torch's names",
    "Semantics": "data: one field for each difference between versions of TensorFlow",
    "_Writer": "one method for each statement that a generated program may have",
}
# Classes that carry out a contract: the members that the contract names do not count.
CONTRACTS = (
    (re.compile(r"\w*Backend|Wrapper"), "Backend"),
    (re.compile(r"\w*Namespace"), "ArrayNamespace"),
    (re.compile(r"Study|\w*Runs"), "RepeatedRuns"),
)


class Figure(NamedTuple):
    """One row. bound: "" where there is none. behind: what makes the figure, one text each."""

    name: str
    value: str
    bound: str = ""
    is_kept: bool = True
    behind: Sequence[str] = ()


def sizes(lines: Mapping[str, int]) -> list[Figure]:
    """Returns the rows on sizes of files. lines: how many each module's file has."""
    large = [f"{module}: {count} lines" for module, count in lines.items() if count > FILE_LINES_MAX]
    core = [count for module, count in lines.items() if module.partition(".")[0] == CORE]
    median, most = statistics.median(core), CORE_LINES_MEDIAN_MAX
    return [
        Figure(f"files over {FILE_LINES_MAX} lines", str(len(large)), "0", not large, large),
        Figure("median lines of the core's files", f"{median:g}", f"< {most}", median < most),
    ]


def public_members(node: ast.ClassDef) -> set[str]:
    """Returns the names without leading underscore in a class's body and those that its methods set on it."""
    found: set[str] = set()
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(statement.name)
            found |= _set_by(statement)
        elif isinstance(statement, ast.ClassDef):
            found.add(statement.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            found |= {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def _set_by(method: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Returns what a method sets on its first argument."""
    arguments = [*method.args.posonlyargs, *method.args.args]
    if not arguments:
        return set()
    return {
        node.attr
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == arguments[0].arg
    }


def _contracted(name: str, named: Mapping[str, set[str]], bases: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the members of a contract and of those that it is made of."""
    return named.get(name, set()).union(*(_contracted(base, named, bases) for base in bases.get(name, ())))


def members(trees: Mapping[str, ast.Module]) -> Figure:
    """Returns the row on classes with many public members."""
    classes = [
        (module, node, public_members(node))
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    bases = {node.name: [ast.unparse(base) for base in node.bases] for _, node, _ in classes}
    named = {node.name: found for _, node, found in classes}
    named = {name: _contracted(name, named, bases) for _, name in CONTRACTS}
    large = []
    for module, node, found in classes:
        contract = next((name for pattern, name in CONTRACTS if pattern.fullmatch(node.name)), "")
        count = len(found - named.get(contract, set()))
        if count > MEMBERS_MAX and node.name not in FACES:
            large.append(f"{module}: {node.name} has {count}: {', '.join(sorted(found))}")
    return Figure(f"classes with over {MEMBERS_MAX} public members", str(len(large)), "0", not large, large)


def annotations(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yields the annotations at one node: of parameters ("parameter"), a return ("return"), a variable ("variable")."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        args = node.args
        for one in [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]:
            if one is not None and one.annotation is not None:
                yield "parameter", _parsed(one.annotation)
        if node.returns is not None:
            yield "return", _parsed(node.returns)
    elif isinstance(node, ast.AnnAssign):
        yield "variable", _parsed(node.annotation)


def _parsed(annotation: ast.expr) -> ast.expr:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


def is_any(annotation: ast.expr, aliases: Collection[str] = ()) -> bool:
    """Returns whether an annotation is Any, object or an alias of them."""
    name = annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "")
    return name in {"Any", "object", *aliases}


def aliases_of_any(trees: Mapping[str, ast.Module]) -> list[str]:
    """Returns `module.name` of each name that stands for Any or object at the top of a file."""
    found = []
    for module, tree in trees.items():
        for node in tree.body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and is_any(node.value):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                found.append(f"{module}.{ast.unparse(target)}")
    return found


def any_share(trees: Mapping[str, ast.Module]) -> list[Figure]:
    """Returns the rows on annotations without information.

    The bound is held against the share of the annotations of parameters and returns that ARE `Any` or `object`. At the
    review that set the bound this was 17.1 %, the figure that the review names. The other rows are for comparison: a
    bound that is reached by aliases, or by `Any | None`, shows there.
    """
    found = [pair for tree in trees.values() for node in ast.walk(tree) for pair in annotations(node)]
    signatures = [one for kind, one in found if kind != "variable"]
    everywhere = [one for _, one in found]
    aliases = aliases_of_any(trees)
    names = {alias.rpartition(".")[2] for alias in aliases}

    def percent(counted: Sequence[ast.expr], hits: int) -> float:
        return 100 * hits / max(1, len(counted))

    def holds(one: ast.expr) -> bool:
        return any(is_any(inner) for inner in ast.walk(one) if isinstance(inner, (ast.Name, ast.Attribute)))

    strict = percent(signatures, sum(is_any(one) for one in signatures))
    rows = {
        "  the same, aliases of Any too": percent(signatures, sum(is_any(one, names) for one in signatures)),
        "  the same, variables too": percent(everywhere, sum(is_any(one) for one in everywhere)),
        "  that contain Any or object": percent(signatures, sum(holds(one) for one in signatures)),
    }
    bound = f"<= {ANY_PERCENT_MAX:g} %"
    return [
        Figure("annotations that are Any or object", f"{strict:.1f} %", bound, strict <= ANY_PERCENT_MAX),
        *(Figure(name, f"{value:.1f} %") for name, value in rows.items()),
        Figure("  aliases of Any", str(len(aliases)), behind=aliases),
    ]


def walked(found: Mapping[str, Sequence[walks.Call]]) -> Iterator[Figure]:
    """Yields the rows on walks. found: the calls of each."""
    for name, calls in found.items():
        count, files, changes = walks.figures(calls)
        one = walks.WALKS[name]
        yield Figure(f"walk ({name}): calls", str(count))
        for what, value, most in (("files", files, one.files_max), ("changes of file", changes, one.changes_max)):
            kept = most is None or value <= most
            yield Figure(f"walk ({name}): {what}", str(value), "" if most is None else f"<= {most}", kept)


def any_on_the_way(calls: Sequence[walks.Call], trees: Mapping[str, ast.Module]) -> Figure:
    """Returns the row on annotations that are Any or object, from a replica's `all_reduce` to the simulator's addition.

    calls: walk (a), of which the part after the last replica has called counts.
    """
    name = next(call.function for call in calls if call.function.endswith(".all_reduce"))
    start = max(place for place, call in enumerate(calls) if call.function == name)
    end = max(place for place, call in enumerate(calls) if call.file == "sim/collectives.py")
    places = {(call.file, call.line) for call in calls[start : end + 1]}
    found = []
    for module, tree in trees.items():
        stem = module.partition(".")[2].replace(".", "/")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                lines = {node.lineno, *(one.lineno for one in node.decorator_list)}
                called = any((stem + ending, line) in places for ending in (".py", "/__init__.py") for line in lines)
                hits = sum(is_any(one) for _, one in annotations(node)) if called else 0
                found += [f"{module}:{node.lineno} {node.name}: {hits}"] if hits else []
    return Figure("functions with Any from all_reduce to the addition", str(len(found)), "0", not found, sorted(found))


def measure(root: Path) -> list[Figure]:
    """Returns all rows."""
    texts = {module: path.read_text(encoding="utf-8") for module, path in imports.module_files(root).items()}
    trees = {module: ast.parse(text) for module, text in texts.items()}
    core = {module: tree for module, tree in trees.items() if module.partition(".")[0] == CORE}
    calls = {name: walks.walk(name) for name in walks.WALKS}
    return [
        *sizes({module: len(text.splitlines()) for module, text in texts.items()}),
        members(trees),
        *any_share(core),
        any_on_the_way(calls["a"], core),
        *walked(calls),
    ]


def main() -> int:
    rows = measure(imports.ROOT)
    for row in rows:
        print(f"{row.name:52} {row.value:>8}  {row.bound:8} {'' if row.is_kept else 'EXCEEDED'}".rstrip())
    failed = [row for row in rows if not row.is_kept]
    for row in failed:
        print(f"\n{row.name}: {row.value}, bound {row.bound}", *row.behind, sep="\n  ")
    print(f"\nhouse: {len(failed)} bounds exceeded" if failed else "\nhouse: every bound kept")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
