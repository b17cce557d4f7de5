"""Which edits of backends become mutants: all that can be made of the sources, drawn by turns from a seed.

It examines nothing. Reasons why an edit makes no wrong backend stand in backend_mutants.toml, which is read here.
"""

import hashlib
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from backend_edits import Edit, edits_of, same_code
from backend_operators import OPERATORS
from backend_runs import ROOT, texts_of
from backend_tables import HELPERS

__all__ = ["FILES", "Mutant", "all_edits", "drawn", "key_of", "left_out", "read_reasons"]

REASONS = Path(__file__).with_name("backend_mutants.toml")
NAMES = (
    "arrays", "backend", "collectives", "dtypes", "fabric", "functions", "host_functions", "mistakes", "mixed",
    "namespace",
)  # fmt: skip
FILES = dict.fromkeys([f"simstrategy/sim/{name}.py" for name in NAMES], "sim") | {
    "backends/template/simstrategy_template/__init__.py": "template"
}
"""The files of which mutants are made, each with what is examined: the simulator's device layer, and the template.

The simulator's clusters, costs, times and stacked steps are no part of the contract that the kit examines.
"""


class Mutant(NamedTuple):
    """One edit.  name: a digest of the edit and its place. seed: what it was drawn from."""

    name: str
    edit: Edit
    subject: str
    seed: str


def key_of(edit: Edit) -> tuple[str, str, str, str, str]:
    """Returns what an edit is recognised by, whatever line it is in."""
    return edit.file, edit.function, edit.operator, edit.before, edit.after


def all_edits() -> list[tuple[str, Edit]]:
    """Returns every edit of every file, with a name that no other one has."""
    found, seen = [], Counter()
    for file in FILES:
        for edit in edits_of(file, (ROOT / file).read_text(encoding="utf-8")):
            seen[key_of(edit)] += 1
            text = "\n".join((*key_of(edit), str(seen[key_of(edit)])))
            found.append((f"m{hashlib.sha256(text.encode()).hexdigest()[:8]}", edit))
    return found


def drawn(edits: Sequence[tuple[str, Edit]], seed: str, taken: frozenset[str]) -> Iterator[Mutant]:
    """Yields mutants in an order drawn from a seed, operators and subjects by turns.  taken: names to leave out."""
    queues = []
    for operator in OPERATORS:
        for subject in ("sim", "template"):
            own = [one for one in edits if one[1].operator == operator and FILES[one[1].file] == subject]
            Random(f"{seed}/{operator}/{subject}").shuffle(own)
            queues.append([Mutant(name, edit, subject, seed) for name, edit in own if name not in taken])
    while any(queues):
        for queue in queues:
            if queue:
                yield queue.pop()


def left_out(edit: Edit) -> str:
    """Returns why an edit makes no mutant at all; empty where it makes one."""
    (text,) = texts_of(edit).values()
    try:
        same = same_code(text, (ROOT / edit.file).read_text(encoding="utf-8") + HELPERS, edit.file)
    except (SyntaxError, ValueError):
        return "no Python"
    return "the same code" if same else ""


def read_reasons(edits: Sequence[tuple[str, Edit]]) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Reads the reasons of those that are equivalent, by name, and of functions that no test reaches.

    A reason with a `line` is for the edits in lines of that text alone, and with `nth` for one of them, counted from 1
    in the order of the file. Raises SystemExit for a reason of an edit that
    nothing makes.
    """
    tables = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    lines = {file: (ROOT / file).read_text(encoding="utf-8").splitlines() for file in FILES}
    names: dict[tuple[str, ...], list[str]] = {}
    for name, edit in sorted(edits, key=lambda one: one[1].place):
        names.setdefault(key_of(edit), []).append(name)
        names.setdefault((*key_of(edit), lines[edit.file][edit.line - 1].strip()), []).append(name)
    equivalent = {}
    for one in tables.get("equivalent", []):
        fields = ("file", "function", "operator", "before", "after", *(("line",) if "line" in one else ()))
        key = tuple(one[field] for field in fields)
        if key not in names:
            sys.exit(f"{REASONS.name}: no edit is {key}; take the reason out, or write what the edit is now.")
        chosen = names[key] if "nth" not in one else names[key][one["nth"] - 1 : one["nth"]]
        equivalent |= dict.fromkeys(chosen, one["reason"])
    return equivalent, {(one["file"], one["function"]): one["reason"] for one in tables.get("unreached", [])}
