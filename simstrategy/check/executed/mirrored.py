"""Scripts that make a MirroredStrategy themselves: each run gives them its strategy in place of that one."""

import ast
from collections.abc import Sequence
from typing import Any, Final

from simstrategy.check.executed.program import Library
from simstrategy.check.executed.running import Executed
from simstrategy.check.sources import LAUNCHED, imported_by
from simstrategy.errors import InvalidArgument

__all__ = ["MIRRORED", "makes_mirrored"]

_STRATEGY: Final = "MirroredStrategy"
_OF: Final = "tensorflow"
_MADE: Final = "__simstrategy_made__"
"""The name of the function that stands in the script where it makes its strategy."""


def makes_mirrored(tree: ast.Module) -> bool:
    """Returns whether a script that imports TensorFlow, and not torch, calls MirroredStrategy by any of its names."""
    packages = imported_by(tree)
    named = _names_of(tree)
    return _OF in packages and not packages & LAUNCHED and any(_is_made(node, named) for node in ast.walk(tree))


def _changed(tree: ast.Module) -> ast.Module:
    changed: ast.Module = _Replaced(_names_of(tree)).visit(tree)
    return changed


def _run(executed: Executed, strategy: Any, arguments: Sequence[str]) -> None:
    """Executes the script; a run has no result: the variables that it makes in the strategy's scope are compared.

    Raises InvalidArgument where the script makes no strategy.
    """
    made: list[bool] = []

    def make(*arguments: object, **settings: object) -> object:
        made.append(True)
        return strategy

    executed.run({_MADE: make}, arguments)
    if not made:
        raise InvalidArgument(
            f"{executed.file.name} made no {_STRATEGY} in this run, so nothing of it was observed. Does it make one "
            f"only where there are GPUs? Let it make one here too."
        )


MIRRORED: Final = Library(
    "tensorflow.distribute.Strategy", lambda strategy: int(strategy.num_replicas_in_sync), _changed, _run
)
"""How such scripts are executed."""


def _names_of(tree: ast.Module) -> frozenset[str]:
    """Returns the names under which a script imports the class itself."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module is not None]
    return frozenset(alias.asname or alias.name for node in imports for alias in node.names if alias.name == _STRATEGY)


def _is_made(node: ast.AST, named: frozenset[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == _STRATEGY
        case ast.Call(func=ast.Name(id=name)):
            return name in named
        case _:
            return False


class _Replaced(ast.NodeTransformer):
    """Puts another function in place of the class, where it is called.  named: as of `_names_of`."""

    def __init__(self, named: frozenset[str]) -> None:
        self._named = named

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _is_made(node, self._named):
            node.func = ast.copy_location(ast.Name(_MADE, ast.Load()), node.func)
        return node
