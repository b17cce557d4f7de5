"""Libraries that a script imports, so that they are imported once for all ranks of a check's later runs.

A rank of the first run lists them, in the order in which they were imported. A forkserver imports them before it forks
ranks, and ends where an import did what it would do otherwise in a rank. Modules of the user's are never among them.
"""

import contextlib
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any, Final

import torch

from simstrategy_torch_distributed.environment import OF_RANKS
from simstrategy_torch_distributed.hooks.samplers import replace_samplers
from simstrategy_torch_distributed.seeding import imported_before, replace_global
from simstrategy_torch_distributed.untouched import Touched, touched_by_imports, untouched
from simstrategy_torch_distributed.watched.uncompiled import run_uncompiled

__all__ = ["import_listed", "list_libraries", "show_printed"]

_PACKAGES: Final = "site-packages"
_printed: Final[list[str]] = []
"""What libraries have printed in the forkserver: output, errors."""


def list_libraries(listing: Path) -> Callable[[], None]:
    """Begins to note what this process imports; returns what is called at the end of the script.

    That writes which modules of libraries were imported, and which variables the script has changed; nothing where it
    is known already that an import is not the same in each rank, or where the script has changed torch's defaults.
    """
    before, environment, defaults = {*sys.modules}, dict(os.environ), _defaults()
    touched = touched_by_imports(OF_RANKS)

    def end() -> None:
        modules = [[name, file] for name, file in _of_libraries() if name not in before]
        changed = {name for name, _ in {*environment.items()} ^ {*os.environ.items()}}
        if not touched and _defaults() == defaults:
            listing.write_text(json.dumps({"modules": modules, "changed": sorted(changed)}), encoding="utf-8")

    return end


def show_printed() -> None:
    """Prints what libraries have printed in the forkserver, as if this process had imported them."""
    for stream, text in zip((sys.stdout, sys.stderr), _printed, strict=False):
        stream.write(text)


def _defaults() -> tuple[Any, ...]:
    return torch.get_default_dtype(), torch.empty(0).device, torch.is_grad_enabled()


def import_listed(listing: str) -> None:
    """Imports the modules of a list, for a forkserver; ends the process where that is not what it is in each rank.

    So it is where an import reads a variable that ranks have a value of their own of, or that the script has changed;
    sets one; draws from a global generator; starts a thread; fails; or finds another file.
    """
    found = json.loads(Path(listing).read_text(encoding="utf-8"))
    replace_global()
    replace_samplers()
    run_uncompiled(speaks=False)
    try:
        with _captured(_printed), untouched({*found["changed"], *OF_RANKS}):
            imported_before([_imported(name, file) for name, file in found["modules"]])
    except (Exception, Touched):  # noqa: BLE001 - whatever a library raises: each rank imports it itself then
        raise SystemExit(1) from None


def _of_libraries() -> Iterator[tuple[str, str]]:
    """Yields names and files of modules of libraries that can be imported by these names."""
    for name, module in list(sys.modules.items()):
        spec = vars(module).get("__spec__") if isinstance(module, type(sys)) else None
        if spec is not None and spec.name == name and spec.origin and _PACKAGES in PurePath(spec.origin).parts:
            yield name, spec.origin


def _imported(name: str, file: str) -> ModuleType:
    """Imports a module.  Raises ImportError, or what the module raises; Touched where it is another file."""
    module = importlib.import_module(name)
    spec: Any = vars(module).get("__spec__")
    if spec is None or spec.origin != file:
        raise Touched(f"{name} is not {file}")
    return module


@contextlib.contextmanager
def _captured(texts: list[str]) -> Iterator[None]:
    """Takes what is printed meanwhile to this process's output, and then to its errors."""
    kept = [os.dup(one) for one in (1, 2)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            for one, file in zip((1, 2), (output, errors), strict=True):
                os.dup2(file.fileno(), one)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for one, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, one)
                os.close(copy)
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
