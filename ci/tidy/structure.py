"""Rules 3, 4 and 6 of STYLE.md on what is shipped: where imports stand, probes, patches, names of backends.

A probe is `hasattr`, `getattr` with a default, or `except AttributeError`. Names with two underscores at both ends are
not probed for but read: Python itself gives them to some objects and not to others. So are a named tuple's.
"""

import ast
from collections.abc import Iterator

from ci.tidy.violation import Violation, is_examination, is_shipped

BACKENDS = frozenset({"sim", "tensorflow", "torch", "gloo", "nccl", "xla", "xla_processes", "tpu", "template"})
READ_NAMES = frozenset({"_make", "_fields"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def check_structure(file: str, tree: ast.Module) -> Iterator[Violation]:
    """Checks one Python file of what is shipped; the kit's tests are written like tests."""
    if not is_shipped(file) or is_examination(file):
        return
    checks = (_late_imports, _probes, _inheritance, _patches, _backend_names, _class_names)
    for check in checks:
        for line, rule in check(tree):
            yield Violation(file, line, rule)


def _late_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    late = {
        node
        for function in ast.walk(tree)
        if isinstance(function, _FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    for node in sorted(late, key=lambda one: one.lineno):
        yield node.lineno, f"import in a function: {ast.unparse(node)}; move what both need to a file below"


def _probes(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "hasattr" and not _is_read(node.args[1]):
                yield node.lineno, f"probe: {ast.unparse(node)}; test the type, or make the part None"
            if node.func.id == "getattr" and len(node.args) > 2 and not _is_read(node.args[1]):
                yield node.lineno, f"probe: {ast.unparse(node)}; test the type, or make the part None"
        caught = node.type if isinstance(node, ast.ExceptHandler) else None
        if caught is not None and "AttributeError" in {_last(one) for one in _members(caught)}:
            yield node.lineno, "probe: except AttributeError; test the type, or make the part None"


def _is_read(name: ast.expr) -> bool:
    text = name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ""
    return text in READ_NAMES or (text.startswith("__") and text.endswith("__"))


def _inheritance(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            yield node.lineno, "super(): wrap, do not subclass"
        if isinstance(node, _FUNCTIONS) and node.name in {"__getattr__", "__getattribute__"}:
            yield node.lineno, f"{node.name}: write the members down"
        if isinstance(node, ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Raise) and inner.exc is not None:
                    raised = inner.exc.func if isinstance(inner.exc, ast.Call) else inner.exc
                    if _last(raised) == "NotImplementedError":
                        yield inner.lineno, f"raise NotImplementedError in class {node.name}: take a function, wrap it"


def _patches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    made_here = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in ast.walk(tree):
        for target in _targets(node):
            if isinstance(target, ast.Attribute) and _root(target) in imported:
                yield node.lineno, f"patch: {ast.unparse(target)} is another module's"
        sets = isinstance(node, ast.Call) and _last(node.func) in {"setattr", "delattr"}
        if sets and isinstance(node.func, ast.Name) and _root(node.args[0]) not in made_here:
            yield node.lineno, f"patch: {ast.unparse(node)}"


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Assign, ast.Delete)):
        return [one for target in node.targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _backend_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for one in _compared(node):
            named = {part.value for part in _members(one) if isinstance(part, ast.Constant)} & BACKENDS
            asked = isinstance(one, ast.Attribute) and one.attr == "name" and "backend" in _last(one.value).lower()
            if named or asked:
                yield one.lineno, f"a backend's name compared: {ast.unparse(one)}; read its capabilities"


def _class_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for one in _compared(node):
            if isinstance(one, ast.Attribute) and one.attr in {"__name__", "__qualname__"}:
                of = one.value
                if _last(of) == "__class__" or (isinstance(of, ast.Call) and _last(of.func) == "type"):
                    yield one.lineno, f"a class recognised by its name: {ast.unparse(one)}; use isinstance"


def _compared(node: ast.AST) -> list[ast.expr]:
    """Returns what is compared at a node: by an operator, a case of a match, or as a name's start or end."""
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Match):
        cases = [part for case in node.cases for part in ast.walk(case.pattern)]
        return [node.subject, *(part.value for part in cases if isinstance(part, ast.MatchValue))]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [node.func.value, *node.args] if node.func.attr in {"startswith", "endswith"} else []
    return []


def _members(node: ast.expr) -> list[ast.expr]:
    """Returns the elements of a display of values, also within frozenset(...) and the like; else the node itself."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and _last(node.func) in {"frozenset", "set", "tuple"}:
        node = node.args[0]
    return node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]


def _last(node: ast.expr) -> str:
    """Returns the last word of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
