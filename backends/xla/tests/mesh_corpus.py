"""The programs of mesh_programs/: what the table states of each, and what is not right in an answer to one.

A bare run needs none of the code that it is measured against: a process that calls the program and saves its arrays.
"""

import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simstrategy.check.programs import load_program

FOLDER = Path(__file__).parent / "mesh_programs"
BARE = Path(__file__).parent / "mesh_bare.py"


class Wrong(NamedTuple):
    name: str
    file: Path
    kinds: tuple[str, ...]
    steps: tuple[int, ...]
    laws: tuple[str, ...]
    held_back: bool

    @property
    def program(self):
        return load_program(self.file)

    @property
    def lines(self):
        """The lines that may be given: of the mistake, and where values first differ."""
        found = set()
        for number, line in enumerate(self.file.read_text(encoding="utf-8").splitlines(), 1):
            comment = line.partition("#")[2]
            if "shows" in comment or comment.strip().startswith("wrong"):
                found.add(number)
            if line.strip().startswith("# wrong"):
                found.add(number + 1)
        return found


class Lawful(NamedTuple):
    name: str
    file: Path
    verdicts: tuple[str, ...]
    held_back: bool

    @property
    def program(self):
        return load_program(self.file)


@cache
def table():
    return tomllib.loads((FOLDER / "table.toml").read_text(encoding="utf-8"))


def _file(kind, name, row):
    return FOLDER / ("held_back" if row.get("held_back") else kind) / f"{name}.py"


def wrong():
    return [
        Wrong(
            name,
            _file("wrong", name, row),
            tuple(row["kinds"]),
            tuple(row["steps"]),
            tuple(row.get("laws", ["replicas"])),
            row.get("held_back", False),
        )
        for name, row in table()["wrong"].items()
    ]


def lawful():
    return [
        Lawful(name, _file("lawful", name, row), tuple(row.get("verdicts", ["agree"])), row.get("held_back", False))
        for name, row in table()["lawful"].items()
    ]


def faults(row, report):
    """Returns what is not right in the report on a wrong program: its verdict, laws, kind, step and line."""
    found = {one.law: one for one in reversed(report.findings)}
    if report.verdict != "differ":
        return [f"verdict {report.verdict}"]
    problems = [f"law of {law} finds nothing" for law in row.laws if law not in found]
    first = found.get("replicas")
    if first is None:
        return problems
    line = int(first.site.rpartition(":")[2]) if first.site else None
    kinds = {first.kind or "not recognised", *first.also}
    right = {
        f"kind {first.kind}": bool(kinds & {*row.kinds}),
        f"step {first.step}": first.step in row.steps,
        f"line {line}": line in row.lines,
    }
    return problems + [text for text, good in right.items() if not good]


def accusations(row, report):
    """Returns what is not right in the report on a lawful program."""
    wrong_verdict = [] if report.verdict in row.verdicts else [f"verdict {report.verdict}"]
    return wrong_verdict + [f"finding: {one.kind}: {one.text}" for one in report.findings]


def bare_run(file, devices, folder):
    """Runs a program in a process of its own, without the check; returns its arrays by path."""
    target = Path(folder) / f"{Path(file).stem}{devices}.npz"
    environment = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    command = [sys.executable, str(BARE), str(file), str(devices), str(target)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    with np.load(target) as arrays:
        return {name: arrays[name] for name in arrays.files}
