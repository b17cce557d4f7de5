"""What a dotted name in an annotation stands for, where it is bound for type checkers alone.

The file is read and not executed: names that `if TYPE_CHECKING:` imports do not exist when the program runs.
"""

import ast
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import resolve_name
from pathlib import Path
from typing import Any, Final

__all__ = ["alternatives", "imported_path"]

_WRAPPERS: Final = ("Optional", "Union", "Annotated")


def alternatives(text: str) -> list[str]:
    """Returns the dotted names that an annotation allows, without None.

    >>> alternatives("Optional[ss.Strategy] | 'jax.sharding.Mesh'")
    ['ss.Strategy', 'jax.sharding.Mesh']
    """
    try:
        return _names(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        return []


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _names(node.left) + _names(node.right)
    if isinstance(node, ast.Subscript):
        wrapper = _dotted(node.value).rpartition(".")[2]
        if wrapper not in _WRAPPERS:
            return _names(node.value)
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [name for one in (inner[:1] if wrapper == "Annotated" else inner) for name in _names(one)]
    if isinstance(node, ast.Constant):
        return alternatives(node.value) if isinstance(node.value, str) else []
    return [dotted] if (dotted := _dotted(node)) else []


def _dotted(node: ast.expr) -> str:
    """Returns a name, or names joined by dots; "" for another expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def imported_path(name: str, names: Mapping[str, Any]) -> str:
    """Returns the full path of a dotted name: by the imports of its file, else as a path that begins with a package.

    names: the globals of the program, with the file of its module. Returns "" for a name alone that nothing imports.

    >>> imported_path("jax.sharding.Mesh", {})
    'jax.sharding.Mesh'
    >>> imported_path("Mesh", {})
    ''
    """
    bound = _bound_in(str(names.get("__file__") or ""), str(names.get("__package__") or ""))
    first, dot, rest = name.partition(".")
    for _ in range(len(bound) + 1):  # a name may stand for another one
        if first not in bound:
            break
        if not bound[first]:
            return ""
        path = f"{bound[first]}{dot}{rest}"
        if path.partition(".")[0] == first:
            return path
        first, dot, rest = path.partition(".")
    return f"{first}{dot}{rest}" if dot else ""


@lru_cache(maxsize=16)
def _bound_in(file: str, package: str) -> dict[str, str]:
    """Returns the path of each name that a file imports, or makes an alias of; "" for a class that it defines."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                bound[one.asname or first] = one.name if one.asname else first
        elif isinstance(node, ast.ImportFrom):
            module = _absolute("." * node.level + (node.module or ""), package)
            bound |= {one.asname or one.name: f"{module}.{one.name}" for one in node.names if module}
        elif isinstance(node, ast.ClassDef):
            bound.setdefault(node.name, "")
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            path = _dotted(node.value)
            if path:
                bound.setdefault(node.targets[0].id, path)
    return bound


def _absolute(module: str, package: str) -> str:
    try:
        return resolve_name(module, package or None)
    except ImportError:  # a relative import of a file that is in no package
        return ""
