"""What a simulated rank, or a process that a test spawns, calls for a test: it imports tests' files as pytest does.

It is imported in those processes alone. Assertions are rewritten as in pytest's own process, so a failure has the
values; pytest has no public function for that outside of a session.
"""

import ast
import base64
import importlib
import importlib.util
import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import final

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

__all__ = ["call_test", "import_from"]


def call_test(data: str) -> str | None:
    """Calls the body of a test; returns how it ended if it was skipped.

    data: a pickled dict of the test, in base64, as `ranks.py` makes it.
    """
    test = pickle.loads(base64.b64decode(data))  # noqa: S301 - the command's own data, over an anonymous socket
    sys.path[:] = test["path"]
    import_from(test["files"])
    module = importlib.import_module(test["module"])
    values = {name: pickle.loads(value) for name, value in test["values"].items()}  # noqa: S301 - as above
    try:
        returned = vars(module)[test["name"]](**values)
    except pytest.skip.Exception as skipped:
        return f"skipped: {skipped.msg}"
    if returned is not None:
        pytest.fail(f"The test returned {returned!r}: a test returns nothing.", pytrace=False)
    return None


def import_from(files: Mapping[str, str]) -> None:
    """Makes these modules, by their names, import from these files, with rewritten assertions."""
    sys.meta_path.insert(0, _Rewritten(files))
    sys.meta_path.append(_Above(files))


@final
class _Rewritten:
    """Finds and loads the modules of some files."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        file = self._files.get(name)
        if file is None or not os.path.exists(file):
            return None
        folders = [os.path.dirname(file)] if os.path.basename(file) == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, file, loader=self, submodule_search_locations=folders)  # type: ignore[arg-type]

    def create_module(self, _spec: ModuleSpec) -> None:
        """Leaves it to Python, which makes an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        file = str(module.__file__)
        with open(file, "rb") as stream:
            source = stream.read()
        tree = ast.parse(source, filename=file)
        rewrite_asserts(tree, source, file)
        exec(compile(tree, file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the test's file


@final
class _Above:
    """Finds the packages above some modules that there are not: pytest's import mode importlib makes such names."""

    def __init__(self, files: Mapping[str, str]) -> None:
        parts = [name.split(".") for name in files]
        self._names = {".".join(one[:count]) for one in parts for count in range(1, len(one))}

    def find_spec(self, name: str, _path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, None, is_package=True) if name in self._names else None
