"""What runs in the process of one mutant: imports it from its folder, and runs tests of the kit until one fails.

It is forked from a process that has imported neither simstrategy nor the kit. It tells what it does line by line, so
that whoever waits for it knows where it hangs.
"""

import builtins
import contextlib
import os
import resource
import sys
import warnings
from collections import Counter
from contextvars import copy_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

__all__ = ["MEMORY", "Job", "Unit", "run"]

MEMORY = 4 << 30
"""Bytes of address space that a mutant may take."""
SUBJECTS = {"sim": "sim", "template": "simstrategy_template:open_template"}
"""How the kit opens what is examined, by its short name."""


class Unit(NamedTuple):
    """One run of one test of the kit.  setting: the number of what `parametrize` gives it."""

    test: str
    setting: int
    clause: str
    label: str

    def __str__(self) -> str:
        return f"{self.clause} {self.test}{f'[{self.label}]' if self.label else ''}"


class Job(NamedTuple):
    """What a process does.  folder: of the package to import. units: in the order to run, None for all that there are.

    probed: whether to count what statements each unit executes.
    """

    subject: str
    folder: Path
    profile: str
    units: tuple[Unit, ...] | None
    probed: bool = False


def run(job: Job, line: Connection) -> None:
    """Runs a job and ends the process; sends tuples of a word and what belongs to it, the last one of them "ended"."""
    _silence()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(job.folder))
    counts: Counter[tuple[str, int]] = Counter()
    if job.probed:
        vars(builtins)["_executed"] = lambda *statement: counts.update((statement,))
    try:
        opened = _opened(job)
    except BaseException as error:  # noqa: BLE001 - whatever it is, this is no backend that could be examined
        line.send(("not opened", _told(error)))
        os._exit(0)
    line.send(("opened", dict(counts)))
    counts.clear()
    for unit, test in opened.units(job.units):
        line.send(("begins", unit))
        error = copy_context().run(test)
        if error is not None and not job.probed:
            line.send(("fails", unit, _told(error)))
            os._exit(0)
        line.send(("passes" if error is None else "fails", unit, dict(counts) if job.probed else _told(error)))
        counts.clear()
    line.send(("ended",))
    os._exit(0)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    warnings.simplefilter("ignore")


def _told(error: BaseException | None) -> str:
    if error is None:
        return ""
    text = ""
    with contextlib.suppress(Exception):  # an error of a mutant may well have no text
        text = str(error)
    return f"{type(error).__name__}: {' '.join(text.split())}"[:300]


def _opened(job: Job) -> "_Kit":
    import simstrategy as ss
    import simstrategy.sim.backend

    files = [sys.modules[name].__file__ or "" for name in ("simstrategy", "simstrategy.sim.backend")]
    if job.subject != "sim":
        import simstrategy_template

        files.append(simstrategy_template.__file__)
    foreign = [file for file in files if not Path(file).is_relative_to(job.folder)]
    if foreign:
        raise RuntimeError(f"not the mutant was imported: {foreign}")
    backend = ss.backend(SUBJECTS[job.subject], replicas=2)
    backend.close()
    return _Kit(job)


class _Kit:
    """The kit's tests, and their subject."""

    def __init__(self, job: Job) -> None:
        from simstrategy_conformance import index
        from simstrategy_conformance.profiles import PROFILES
        from simstrategy_conformance.subject import Subject

        self._index = index
        # Smaller counterexamples take time, and nobody reads them here.
        profile = PROFILES[job.profile]._replace(shrink=False)
        self._subject = Subject(SUBJECTS[job.subject], profile=profile)
        self._entries = {entry.name: entry for entry in index.entries()}

    def units(self, wanted: tuple[Unit, ...] | None):
        """Yields each unit with what runs it and returns its error."""
        for unit in self._all() if wanted is None else wanted:
            entry = self._entries[unit.test]
            one = entry._replace(settings=(entry.settings[unit.setting],))
            yield unit, lambda one=one: self._index.failure_of(one, self._subject)

    def _all(self) -> list[Unit]:
        return [
            Unit(entry.name, number, " ".join(entry.clauses), "-".join(map(str, setting.values())))
            for entry in self._entries.values()
            for number, setting in enumerate(entry.settings)
        ]
