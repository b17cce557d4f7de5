"""What identifies an examination: the versions of all that took part, the law of the kit, and the command.

Cells of two reports stand for the same only where the law is the same.
"""

import hashlib
import platform
import re
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points, packages_distributions
from typing import Final

from simstrategy_conformance.c10d.names import GROUP, PREFIX, is_c10d
from simstrategy_conformance.titles import TITLES

__all__ = ["command_of", "law_of", "versions_of"]

_ALWAYS: Final = ("simstrategy", "simstrategy-conformance", "numpy", "hypothesis")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_OF_INSTALLING: Final = frozenset({"editables"})
"""What the way of installing adds to the requirements of a distribution, and no examination uses."""
_LENGTH: Final = 12
"""Characters of a law's digest."""


def versions_of(backend: str) -> dict[str, str]:
    """Returns the versions of Python, the kit, a backend's distribution, and what that requires, by name.

    A requirement that is not installed is left out; of a backend in a plain file nothing is added.
    """
    found = {"python": platform.python_version()} | {name: _version(name) or "not installed" for name in _ALWAYS}
    names = ["torch"] if is_c10d(backend) else []
    of_backend = _distribution(backend)
    if of_backend is not None:
        required = [one for one in of_backend.requires or () if "extra ==" not in one.replace("'", '"')]
        names += [of_backend.name, *(match.group() for one in required if (match := _NAME.match(one)))]
    return found | {name: text for name in names if name not in {*found, *_OF_INSTALLING} and (text := _version(name))}


def _version(name: str) -> str | None:
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return None


def _distribution(backend: str) -> Distribution | None:
    """Returns what has installed a backend, None where it is in no distribution."""
    name = backend.removeprefix(PREFIX)
    if ":" not in name:
        points = tuple(entry_points(group=GROUP if is_c10d(backend) else "simstrategy.backends", name=name))
        return points[0].dist if points else None
    holders = packages_distributions().get(name.partition(":")[0].partition(".")[0], ())
    return distribution(holders[0]) if holders else None


def law_of(known: Mapping[str, Sequence[str]]) -> str:
    """Returns a digest of what is examined: clauses with their titles, and the names of their tests.

    known: the tests of each clause. It is another one when a clause or a test is added, renamed or taken away.

    >>> law_of({"B-8": ["test_sum"]}) == law_of({"B-8": ["test_sum", "test_wrap"]})
    False
    """
    lines = [f"{clause} {TITLES.get(clause, '')}: {' '.join(sorted(tests))}" for clause, tests in sorted(known.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_LENGTH]


def command_of(backend: str, profile: str, seed: int, *, exceptions: str = "", clause: str = "") -> str:
    """Returns the command that repeats an examination, or of it one clause.

    >>> command_of("sim", "quick", 0, clause="B-8")
    'simstrategy conform sim --profile quick --seed 0 --clauses B-8'
    """
    words = ["simstrategy", "conform", backend, "--profile", profile, "--seed", str(seed)]
    words += ["--exceptions", exceptions] if exceptions else []
    return shlex.join([*words, *(["--clauses", clause] if clause else [])])
