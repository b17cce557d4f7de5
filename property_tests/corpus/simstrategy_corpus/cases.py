"""The corpus as data: bugs with a wrong and a right program each, and healthy programs.

It runs nothing. The files are in `programs/`: `bugs/NAME/` has wrong.py, right.py and bug.toml, `healthy/NAME/` has
program.py and healthy.toml.
"""

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True, slots=True)
class Run:
    """One way to run a program.  arguments: those of the program, with every placeholder replaced."""

    replicas: int
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([f"{self.replicas} replicas", *([shlex.join(self.arguments)] if self.arguments else [])])


@dataclass(frozen=True, slots=True)
class Case:
    """A program and the runs that should give the same lines.

    file: the program.  launcher: "torchrun", "tensorflow" or "jax".  replicas: the numbers to run it with.
    template: its arguments, in which `{replicas}`, `{64//replicas}` and the names of `vary` are placeholders.
    vary: values for each name.  same_output: a pattern of the lines that should not depend on the run.
    """

    name: str
    file: Path
    launcher: str
    replicas: tuple[int, ...]
    template: tuple[str, ...]
    vary: Mapping[str, tuple[int, ...]]
    same_output: str

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every number of replicas with every combination of what varies; the last one shows the bug."""
        combinations = itertools.product(self.replicas, *self.vary.values())
        return tuple(self._run(one[0], one[1:]) for one in combinations)

    def _run(self, replicas: int, values: Sequence[int]) -> Run:
        numbers = {"replicas": replicas, **dict(zip(self.vary, values, strict=True))}
        return Run(replicas, tuple(expanded(word, numbers) for word in self.template))


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug that was public.

    source: the thread.  fix: the change that corrected it, or "" where none is public.  laws: those that it breaks.
    shows: how a plain run shows it, a key of `proof.SHOWS`.  kind: what a finding has to name, a key of `kinds.KINDS`.
    lines: lines of wrong.py, one of which a finding has to name.
    """

    name: str
    source: str
    fix: str
    symptom: str
    cause: str
    laws: tuple[str, ...]
    shows: str
    kind: str
    lines: tuple[int, ...]
    wrong: Case
    right: Case


@dataclass(frozen=True, slots=True)
class Healthy:
    """A lawful program.  why: what it does that a tool may take for a mistake, or what it covers."""

    name: str
    why: str
    suspicious: bool
    case: Case


def expanded(word: str, numbers: Mapping[str, int]) -> str:
    """Returns an argument with each `{name}` and `{64//name}` replaced.

    >>> expanded("{12//replicas}", {"replicas": 3})
    '4'
    """

    def number(text: str) -> int:
        return int(text) if text.isdecimal() else numbers[text]

    def value(found: re.Match[str]) -> str:
        return str(number(found[1]) // number(found[2]) if found[2] else number(found[1]))

    return re.sub(r"\{(\w+)(?://(\w+))?\}", value, word)
