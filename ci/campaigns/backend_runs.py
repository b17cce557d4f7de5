"""Runs mutants in processes of their own, several at a time, with a limit for each test; tells how each one ended.

Mutants are made in copies of the packages, one copy for each process that runs at a time. The campaign's own process
imports neither simstrategy nor the kit: every process is forked from it and imports what it examines.
"""

import ast
import contextlib
import os
import py_compile
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.util import cache_from_source
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

# What every process needs is imported once, before any is forked.
import hypothesis.stateful
import hypothesis.strategies  # noqa: F401
import numpy  # noqa: F401
import pytest  # noqa: F401
from backend_child import Job, Unit, run
from backend_edits import Edit, Text

__all__ = ["PACKAGES", "ROOT", "Copies", "Ended", "counts_of", "probed_text", "texts_of", "watched"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"simstrategy": "simstrategy", "simstrategy_template": "backends/template/simstrategy_template"}
"""Where each package is copied from."""
OPENING_S = 60.0


class Ended(NamedTuple):
    """How a process ended.  verdict: "passes", "fails", "hangs", "dies" or "not opened".

    unit: the one that it ended in. told: its error in one line. lines: all that it has sent, with the seconds since
    its beginning.
    """

    verdict: str
    unit: Unit | None
    told: str
    lines: list[tuple[float, tuple[Any, ...]]]


Seconds = Callable[[Unit], float]
"""The limit of a unit."""


class Copies:
    """Copies of the packages in a folder, one for each process at a time."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folders = [folder / f"copy{number}" for number in range(count)]
        for copy in self.folders:
            for name, source in PACKAGES.items():
                shutil.copytree(ROOT / source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            for file in copy.rglob("*.py"):
                py_compile.compile(str(file), doraise=True)

    @contextlib.contextmanager
    def changed(self, number: int, texts: dict[str, str]) -> Iterator[Path]:
        """Puts other texts in the place of files, by their names in the repository, until the context ends."""
        folder, before = self.folders[number], {}
        for file, text in texts.items():
            compiled, source = _files(folder, file)
            compiled.unlink(missing_ok=True)  # Python would take it for the old text's if the times are equal
            before[source] = source.read_text(encoding="utf-8")
            source.write_text(text, encoding="utf-8")
        try:
            yield folder
        finally:
            for source, text in before.items():
                source.write_text(text, encoding="utf-8")
                py_compile.compile(str(source), doraise=True)


def _files(folder: Path, file: str) -> tuple[Path, Path]:
    """Returns the compiled file and the source of a file of the repository, in a copy."""
    name, source = next((name, source) for name, source in PACKAGES.items() if file.startswith(f"{source}/"))
    found = folder / name / Path(file).relative_to(source)
    return Path(cache_from_source(str(found))), found


def probed_text(file: str, text: str) -> str:
    """Returns a file's text that counts each statement before it is executed, by the statement's first line."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if not isinstance(block, list) or not block:
                continue
            made: list[ast.stmt] = []
            for number, one in enumerate(block):
                is_docstring = number == 0 and isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
                if not is_docstring:
                    made.append(ast.parse(f"_executed({file!r}, {one.lineno})").body[0])
                made.append(one)
            setattr(node, field, made)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Running(NamedTuple):
    key: Any
    slot: int
    process: Any
    line: Connection
    undo: contextlib.ExitStack
    began: float
    lines: list[tuple[float, tuple[Any, ...]]]


Task = tuple[Any, dict[str, str], str, str, tuple[Unit, ...] | None, bool]
"""A key, other texts of files, then the fields of a `Job` but its folder."""


def watched(tasks: Iterable[Task], copies: Copies, seconds: Seconds) -> Iterator[tuple[Any, Ended]]:
    """Runs each task in a process; yields the keys with how they ended, in the order in which they end."""
    waiting, running = iter(tasks), dict[Connection, _Running]()
    free = list(range(len(copies.folders)))
    try:
        while True:
            while free and (task := next(waiting, None)) is not None:
                one = _started(task, copies, free.pop())
                running[one.line] = one
            if not running:
                return
            ready = wait(list(running), timeout=1.0)
            for line, one in list(running.items()):
                ended = _heard(one) if line in ready else None
                ended = ended or _late(one, seconds)
                if ended is not None:
                    del running[line]
                    _stop(one)
                    free.append(one.slot)
                    yield one.key, ended
    finally:
        for one in running.values():
            _stop(one)


def _started(task: Task, copies: Copies, slot: int) -> _Running:
    key, texts, subject, profile, units, probed = task
    undo = contextlib.ExitStack()
    folder = undo.enter_context(copies.changed(slot, texts))
    context = get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=run, args=(Job(subject, folder, profile, units, probed), there))
    process.start()
    there.close()
    return _Running(key, slot, process, here, undo, time.monotonic(), [])


def _heard(one: _Running) -> Ended | None:
    """Reads what a process has sent; returns how it ended, if it has."""
    try:
        while one.line.poll():
            sent = one.line.recv()
            one.lines.append((time.monotonic() - one.began, sent))
            if sent[0] == "ended":
                failed = [told for _, told in one.lines if told[0] == "fails"]
                return Ended("fails" if failed else "passes", failed[0][1] if failed else None, "", one.lines)
            if sent[0] == "not opened":
                return Ended("not opened", None, sent[1], one.lines)
    except EOFError:
        last = one.lines[-1][1] if one.lines else ("",)
        if last[0] == "fails":
            return Ended("fails", last[1], last[2], one.lines)
        return Ended("dies", last[1] if last[0] == "begins" else None, "its process has ended", one.lines)
    return None


def _late(one: _Running, seconds: Seconds) -> Ended | None:
    since, last = one.lines[-1] if one.lines else (0.0, ("",))
    unit = last[1] if last[0] == "begins" else None
    limit = OPENING_S if unit is None else seconds(unit)
    if time.monotonic() - one.began - since <= limit:
        return None
    return Ended("hangs", unit, "did not end in time", one.lines)


def _stop(one: _Running) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(one.process.pid, 9)
    one.process.join()
    one.line.close()
    one.undo.close()


def texts_of(edit: Edit) -> dict[str, str]:
    """Returns the text of the one file that an edit changes, by its name."""
    text = (ROOT / edit.file).read_text(encoding="utf-8")
    return {edit.file: Text(edit.file, text).with_edit(edit)}


def counts_of(ended: Ended) -> tuple[Counter[tuple[str, int]], dict[Unit, Counter[tuple[str, int]]], dict[Unit, float]]:
    """Returns of a probed run: what opening executed, what each unit did, and the seconds of each."""
    opened: Counter[tuple[str, int]] = Counter()
    by_unit, taken, begun = {}, {}, 0.0
    for since, told in ended.lines:
        if told[0] == "opened":
            opened = Counter(told[1])
        elif told[0] == "begins":
            begun = since
        elif told[0] in ("passes", "fails"):
            by_unit[told[1]], taken[told[1]] = Counter(told[2]), since - begun
    return opened, by_unit, taken
