"""All tests of the kit with the clauses that each examines; can run them without pytest."""

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from simstrategy_conformance import clauses
from simstrategy_conformance.c10d import clauses as c10d_clauses
from simstrategy_conformance.c10d.names import is_c10d
from simstrategy_conformance.checking import Test, clauses_of

__all__ = ["Entry", "by_clause", "entries", "failure_of"]


class Entry(NamedTuple):
    """One test.  settings: what `parametrize` gives it, one run for each."""

    name: str
    clauses: tuple[str, ...]
    test: Test
    settings: tuple[dict[str, Any], ...]


def _modules(backend: str) -> Iterator[ModuleType]:
    package = c10d_clauses if is_c10d(backend) else clauses
    for found in pkgutil.iter_modules(package.__path__):
        if found.name.startswith("test_"):
            yield importlib.import_module(f"{package.__name__}.{found.name}")


def entries(backend: str = "sim") -> tuple[Entry, ...]:
    """Returns every test of backends of the kind of one, module by module."""
    found = []
    for module in _modules(backend):
        for name, test in vars(module).items():
            if name.startswith("test_"):
                marks = [mark for mark in vars(test).get("pytestmark", ()) if mark.name == "parametrize"]
                settings = [{mark.args[0]: value} for mark in marks for value in mark.args[1]] or [{}]
                found.append(Entry(name, clauses_of(test), test, tuple(settings)))
    return tuple(found)


def by_clause(backend: str = "sim") -> dict[str, tuple[str, ...]]:
    """Returns the names of the tests of each clause, for backends of the kind of one."""
    found: dict[str, list[str]] = {}
    for entry in entries(backend):
        for one in entry.clauses:
            found.setdefault(one, []).append(entry.name)
    return {one: tuple(found[one]) for one in sorted(found, key=lambda one: (one[0], int(one[2:])))}


def failure_of(entry: Entry, subject: Any) -> BaseException | None:
    """Runs a test; returns the error that it raised, None where it passed or was skipped."""
    for settings in entry.settings:
        try:
            entry.test(subject, **settings)
        except pytest.skip.Exception:
            continue
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever it is, the subject has failed
            return error
    return None
