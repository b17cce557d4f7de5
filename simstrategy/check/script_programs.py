"""A script that makes a MirroredStrategy itself, as a program: each run executes it with the strategy of that run.

The text of the script is changed where it makes the strategy, and nowhere else; lines stay where they are.
"""

import ast
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import InspectLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Final, final

from simstrategy.check.outcome import Program
from simstrategy.check.sources import LAUNCHED, imported_by
from simstrategy.errors import InvalidArgument

__all__ = ["makes_mirrored", "script_program"]

_STRATEGY: Final = "MirroredStrategy"
_OF: Final = "tensorflow"
_MADE: Final = "__simstrategy_made__"
"""The name of the function that stands in the script where it makes its strategy."""


def makes_mirrored(tree: ast.Module) -> bool:
    """Returns whether a script that imports TensorFlow, and not torch, calls MirroredStrategy by any of its names."""
    packages = imported_by(tree)
    named = _names_of(tree)
    return _OF in packages and not packages & LAUNCHED and any(_is_made(node, named) for node in ast.walk(tree))


def script_program(file: Path, tree: ast.Module) -> Program:
    """Returns a program whose runs execute a script as `python` does, without its own strategy.

    A run has no result: the variables that the script makes in the scope of the strategy are compared. tree: of the
    script; it is changed. Raises, when it runs, InvalidArgument where the script makes no strategy in a run.
    """
    changed = ast.fix_missing_locations(_Replaced(_names_of(tree)).visit(tree))
    loader = _Changed(file, compile(changed, str(file), "exec"))

    def script(strategy: "tensorflow.distribute.Strategy") -> None:  # type: ignore[name-defined]  # noqa: F821
        loader.run(strategy)

    code = script.__code__.replace(co_filename=str(file))  # by which reports name a program
    space = {"__name__": f"script_{file.stem}", "__file__": str(file)}
    program = FunctionType(code, space, script.__name__, None, script.__closure__)
    program.__annotations__ = script.__annotations__
    return program


@final
class _Changed(InspectLoader):
    """Loads a script whose text has another function in place of the class.  code: of the changed text."""

    def __init__(self, file: Path, code: CodeType) -> None:
        self._file = file
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def get_source(self, fullname: str) -> None:
        """Returns None: the text of the file is another one."""
        return

    def run(self, strategy: object) -> None:
        """Executes the script as the module `__main__`.  An exit with 0 is its end."""
        made: list[bool] = []

        def make(*arguments: object, **settings: object) -> object:
            made.append(True)
            return strategy

        module = ModuleType("__main__")
        module.__file__ = str(self._file)
        vars(module)[_MADE] = make
        with _in_place_of_main(module, [str(self._file)]):
            try:
                self.exec_module(module)
            except SystemExit as ended:
                if ended.code not in (None, 0):
                    raise
        if not made:
            raise InvalidArgument(
                f"{self._file.name} made no {_STRATEGY} in this run, so nothing of it was observed. Does it make one "
                f"only where there are GPUs? Let it make one here too."
            )


@contextmanager
def _in_place_of_main(module: ModuleType, arguments: Sequence[str]) -> Iterator[None]:
    before, given = sys.modules["__main__"], [*sys.argv]
    sys.modules["__main__"], sys.argv[:] = module, arguments
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv[:] = before, given


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
