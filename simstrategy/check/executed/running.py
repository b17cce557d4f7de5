"""Executes the changed text of a script as the module `__main__`, as often as a check has runs."""

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import InspectLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import final

__all__ = ["Executed"]


@final
class Executed(InspectLoader):
    """Loads a script of another text than its file has.  tree: of that text."""

    def __init__(self, file: Path, tree: ast.Module) -> None:
        self.file = file
        self._code = compile(ast.fix_missing_locations(tree), str(file), "exec")

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def get_source(self, fullname: str) -> None:
        """Returns None: the text of the file is another one."""
        return

    def run(self, names: Mapping[str, object], arguments: Sequence[str]) -> None:
        """Executes the script as the module `__main__`.  An exit with 0 is its end.

        names: that its text has, and nothing in it defines. arguments: of the command line, after its name.
        """
        module = ModuleType("__main__")
        module.__file__ = str(self.file)
        vars(module).update(names)
        with _in_place_of_main(module, [str(self.file), *arguments]):
            try:
                self.exec_module(module)
            except SystemExit as ended:
                if ended.code not in (None, 0):
                    raise


@contextmanager
def _in_place_of_main(module: ModuleType, arguments: Sequence[str]) -> Iterator[None]:
    before, given = sys.modules["__main__"], [*sys.argv]
    sys.modules["__main__"], sys.argv[:] = module, arguments
    try:
        yield
    finally:
        sys.modules["__main__"], sys.argv[:] = before, given
