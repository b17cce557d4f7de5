"""What a simulated rank calls for a test: it imports the test's file as pytest does, and calls the body.

It is imported in the processes of ranks alone. Assertions are rewritten as in pytest's own process, so a failure has
the values; pytest has no public function for that outside of a session.
"""

import ast
import base64
import importlib
import importlib.util
import multiprocessing
import pickle
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from _pytest.assertion.rewrite import rewrite_asserts

from simstrategy_torch_distributed.inherited import Inherited

__all__ = ["call_spawned", "call_test"]


def call_test(_rank: int, data: str, _files: Sequence[int]) -> str | None:
    """Calls the body of a test; returns how it ended if it was skipped.

    data: a pickled dict of the test, in base64, as `ranks.py` makes it.
    """
    test = pickle.loads(base64.b64decode(data))  # noqa: S301 - the command's own data, over an anonymous socket
    sys.path[:] = test["path"]
    module = _imported(test["module"], test["file"])
    values = {name: pickle.loads(value) for name, value in test["values"].items()}  # noqa: S301 - as above
    try:
        returned = vars(module)[test["name"]](**values)
    except pytest.skip.Exception as skipped:
        return f"skipped: {skipped.msg}"
    if returned is not None:
        pytest.fail(f"The test returned {returned!r}: a test returns nothing.", pytrace=False)
    return None


def call_spawned(rank: int, data: str, files: Sequence[int]) -> None:
    """Calls a function that a test spawns, with the number of its rank and the arguments.

    data: a pickled dict, in base64, as `simstrategy_torch_distributed.spawning` makes it. files: for what the arguments
    share with the test.
    """
    spawned = pickle.loads(base64.b64decode(data))  # noqa: S301 - the command's own data, over an anonymous socket
    sys.path[:] = spawned["path"]
    multiprocessing.current_process().authkey = spawned["key"]
    if spawned["file"] is not None:
        _imported(spawned["module"], spawned["file"])
    Inherited.receive(files)
    function, arguments = pickle.loads(spawned["call"])  # noqa: S301 - as above
    function(rank, *arguments)


def _imported(name: str, file: str) -> Any:
    """Returns a module of this name and file, with rewritten assertions."""
    package = name.rpartition(".")[0]
    if package:
        with suppress(ImportError):  # pytest's import mode importlib makes names of packages that there are not
            importlib.import_module(package)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    with open(file, "rb") as stream:
        source = stream.read()
    tree = ast.parse(source, filename=file)
    rewrite_asserts(tree, source, file)
    exec(compile(tree, file, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the test's file
    return module
