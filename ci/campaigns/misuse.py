"""Programs that misuse Python, composed of fragments of text at random.  Runs none of them and compares nothing.

The fragments are tables in `misuses/*.toml`. A fragment has lines for the replica function (`step`), for the program
before and after the run, and for what becomes of the replica function (`around`). A wrapper is a fragment with a line
`$body`, where other fragments stand. `$name` is one of the texts that `[options]` lists, drawn for each fragment;
`$n` is the fragment's number in its program. Program k of a seed is always the same text.
"""

import contextlib
import itertools
import random
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

__all__ = ["FOLDER", "FORMS", "HEAD", "Form", "Misuse", "Piece", "Program", "drawn", "misuses", "piece", "smaller"]

FOLDER = Path(__file__).parent / "misuses"
KINDS = ("returns", "refused", "any")
PIECES_MAX, DEPTH_MAX = 4, 2
_BODY = "$body"
_PARTS = ("before", "around", "step", "after")
HEAD = """\
import abc, asyncio, collections, contextlib, copy, contextvars, dataclasses, enum, fractions, decimal, functools, gc
import inspect, itertools, operator, pickle, queue, random, signal, sys, threading, types, warnings, weakref
import numpy as np
import simstrategy as ss


"""
_START = """\
def program(strategy, found):
    after = []
"""
_STEP = """\
    def step(x):
        ctx = ss.get_replica_context()
        r = ctx.replica_id_in_sync_group
        out = found.setdefault(r, [])
"""
_RUN = """\
        return list(out)
    args = (strategy.experimental_distribute_values_from_function(
        lambda c: np.array([1.5, 2.0], "float32") * (c.replica_id_in_sync_group + 1)),)
"""
_CALL = "    result = strategy.run(step, args=args)\n"
_TAIL = """\
    return result, after


if __name__ == "__main__":
    found = {}
    print(program(ss.Strategy.mirrored(sys.argv[1] if sys.argv[1:] else "sim", replicas=2SETTINGS), found), found)
"""


class Misuse(NamedTuple):
    """A fragment.  kind: whether it has to return, has to be refused, or may do either, the same way everywhere.

    error: the class of the refusal; empty for any. shares: whether it depends on which replicas are in one process.
    process: whether it changes state of the process. swallows: whether errors in its body are caught. hides: whether
    its body may not run, or its errors come out elsewhere. weight: how often it is drawn, 1 as a rule.
    """

    name: str
    clause: str
    kind: str
    error: str
    shares: bool
    process: bool
    swallows: bool
    hides: bool
    weight: float
    options: Mapping[str, tuple[str, ...]]
    texts: Mapping[str, str]

    @property
    def wraps(self) -> bool:
        """Whether it is a wrapper."""
        return any(line.strip() == _BODY for line in self.texts["step"].splitlines())


class Piece(NamedTuple):
    """A fragment of one program.  choices: which of the texts of each option it has. inner: of a wrapper's body."""

    misuse: Misuse
    choices: tuple[tuple[str, int], ...]
    inner: tuple["Piece", ...] = ()

    def every(self) -> Iterator["Piece"]:
        """Yields the piece and those inside it."""
        yield self
        for one in self.inner:
            yield from one.every()

    def kinds(self) -> list[tuple[str, str]]:
        """Returns kind and error of each fragment."""
        misuse = self.misuse
        found = [] if misuse.wraps and misuse.kind == "returns" else [(misuse.kind, misuse.error)]
        found += [kind for one in self.inner for kind in one.kinds()]
        if misuse.hides:
            return [("any", "")]
        if misuse.swallows and sum(kind != "returns" for kind, _ in found) > 1:
            return [("any", "")]  # what is swallowed first takes the rest with it
        # What replicas disagree about comes out of every try: see M-2.
        return [_swallowed(*one) for one in found] if misuse.swallows else found


def _swallowed(kind: str, error: str) -> tuple[str, str]:
    return ("any", "") if kind == "refused" and error != "ReplicasDisagree" else (kind, error)


class Form(NamedTuple):
    """The settings of a program's strategy."""

    semantics: str = "TF1_15"
    strict: bool = False
    seed: int | None = None

    def __str__(self) -> str:
        texts = [f"semantics=ss.Semantics.{self.semantics}"] if self.semantics != "TF1_15" else []
        texts += ['checks="strict"'] if self.strict else []
        texts += [] if self.seed is None else [f"schedule=ss.schedules.Seeded({self.seed})"]
        return "".join(f", {text}" for text in texts)


FORMS = (Form(), Form(), Form(), Form("TF2"), Form("TF2"), Form(strict=True), Form(seed=1), Form("TF2", True, 2))


class Program(NamedTuple):
    """Fragments in order, and the settings of the strategy."""

    pieces: tuple[Piece, ...]
    form: Form = Form()

    def every(self) -> list[Piece]:
        """Returns all pieces, those in wrappers too, each before what it wraps."""
        return [one for piece_ in self.pieces for one in piece_.every()]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fragments."""
        return tuple(one.misuse.name for one in self.every())

    @property
    def shares(self) -> bool:
        """Whether replicas of one process share Python objects."""
        return any(one.misuse.shares for one in self.every())

    @property
    def process(self) -> bool:
        """Whether state of the process changes."""
        return any(one.misuse.process for one in self.every())

    def expected(self) -> tuple[str, str]:
        """Returns what has to become of the program: one of KINDS, and the class of the error where it is known."""
        notable = [one for piece_ in self.pieces for one in piece_.kinds() if one[0] != "returns"]
        if len(notable) == 1:
            return notable[0]
        # Which of several comes first depends on who waits where: any error will do.
        refused = any(kind == "refused" for kind, _ in notable)
        return ("refused" if refused else "any" if notable else "returns"), ""

    def text(self) -> str:
        """Returns the program as a Python file."""
        parts: dict[str, list[str]] = {part: [] for part in _PARTS}
        numbers: dict[int, int] = {}
        for number, one in enumerate(self.every()):
            numbers[id(one)] = number
            for part in ("before", "around", "after"):
                parts[part] += _lines(one, part, number)
        for one in self.pieces:
            parts["step"] += _step_lines(one, numbers)
        inside = {part: "".join(f"    {line}\n" if line else "\n" for line in parts[part]) for part in _PARTS}
        step = "".join(f"        {line}\n" if line else "\n" for line in parts["step"])
        tail = _TAIL.replace("SETTINGS", str(self.form))
        title = f'"""{"; ".join(self.names)}."""\n\n'
        body = f"{inside['before']}{_STEP}{step}{_RUN}{inside['around']}{_CALL}{inside['after']}"
        return title + HEAD + _START + body + tail


def _lines(one: Piece, part: str, number: int) -> list[str]:
    chosen = {name: Template(one.misuse.options[name][index]).substitute(n=number) for name, index in one.choices}
    return Template(one.misuse.texts[part]).substitute(chosen, n=number, body=_BODY).splitlines()


def _step_lines(one: Piece, numbers: Mapping[int, int]) -> list[str]:
    found = []
    for line in _lines(one, "step", numbers[id(one)]):
        if line.strip() == _BODY:
            indent = line[: len(line) - len(line.lstrip())]
            inner = [text for piece_ in one.inner for text in _step_lines(piece_, numbers)]
            found += [f"{indent}{text}" for text in inner or ["pass"]]
        else:
            found.append(line)
    return found


def misuses() -> dict[str, Misuse]:
    """Reads all fragments; raises ValueError for one without a kind or a clause, or two of one name."""
    found: dict[str, Misuse] = {}
    shared = tomllib.loads((FOLDER / "options.toml").read_text(encoding="utf-8"))["options"]
    for file in sorted(FOLDER.glob("of_*.toml")):
        tables = tomllib.loads(file.read_text(encoding="utf-8"))["misuse"]
        for table in tables:
            one = _misuse(table, shared, f"{file.name}, {table.get('name')}")
            if one.name in found:
                raise ValueError(f"{file.name}: two misuses are called {one.name!r}.")
            found[one.name] = one
    return found


def _misuse(table: dict[str, Any], shared: Mapping[str, list[str]], where: str) -> Misuse:
    rest = dict(table)
    texts = {part: str(rest.pop(part, "")).strip("\n") for part in _PARTS}
    own = rest.pop("options", {})
    used = {name for text in texts.values() for name in Template(text).get_identifiers() if name not in ("n", "body")}
    missing = sorted(used - set(own) - set(shared))
    if missing or rest.get("kind") not in KINDS or not rest.get("clause"):
        raise ValueError(f"{where}: it needs a kind of {KINDS}, a clause, and texts for {missing}.")
    options = {name: tuple(own.get(name, shared.get(name))) for name in sorted(used)}
    given = {"error": "", "shares": False, "process": False, "swallows": False, "hides": False, "weight": 1.0, **rest}
    return Misuse(options=options, texts=texts, **given)


def piece(misuse: Misuse, given: Mapping[str, int] | None = None, inner: tuple[Piece, ...] = ()) -> Piece:
    """Returns a piece with the given choices, and the first text of every other option."""
    chosen = {**dict.fromkeys(misuse.options, 0), **(given or {})}
    return Piece(misuse, tuple(sorted(chosen.items())), inner)


def drawn(table: Mapping[str, Misuse], seed: int, number: int) -> Program:
    """Returns program `number` of a seed: the first that is Python, for some fragments cannot stand in others."""
    for attempt in itertools.count():
        program = _drawn(table, random.Random(f"{seed}/{number}/{attempt}"))
        with contextlib.suppress(SyntaxError):
            compile(program.text(), "program.py", "exec")
            return program
    raise AssertionError


def _drawn(table: Mapping[str, Misuse], rng: random.Random) -> Program:
    plain = [one for one in table.values() if not one.wraps]
    wrappers = [one for one in table.values() if one.wraps]

    def draw(depth: int) -> Piece:
        wraps = depth < DEPTH_MAX and rng.random() < 0.3
        of = wrappers if wraps else plain
        misuse = rng.choices(of, [one.weight for one in of])[0]
        given = {name: rng.randrange(len(texts)) for name, texts in misuse.options.items()}
        count = rng.choice((1, 1, 2)) if wraps else 0
        return piece(misuse, given, tuple(draw(depth + 1) for _ in range(count)))

    pieces = tuple(draw(0) for _ in range(rng.randint(1, PIECES_MAX)))
    return Program(pieces, rng.choice(FORMS))


def smaller(program: Program) -> Iterator[Program]:
    """Yields programs that are simpler by one step, the simplest first."""
    for pieces in _fewer(program.pieces):
        if pieces:
            yield program._replace(pieces=pieces)
    if program.form != Form():
        yield program._replace(form=Form())
    for pieces in _plainer(program.pieces):
        yield program._replace(pieces=pieces)


def _fewer(pieces: tuple[Piece, ...]) -> Iterator[tuple[Piece, ...]]:
    for place, one in enumerate(pieces):
        yield (*pieces[:place], *pieces[place + 1 :])
        if one.inner:
            yield (*pieces[:place], *one.inner, *pieces[place + 1 :])
            for inner in _fewer(one.inner):
                if inner:
                    yield (*pieces[:place], one._replace(inner=inner), *pieces[place + 1 :])


def _plainer(pieces: tuple[Piece, ...]) -> Iterator[tuple[Piece, ...]]:
    for place, one in enumerate(pieces):
        for name, index in one.choices:
            if index:
                choices = tuple((key, 0 if key == name else value) for key, value in one.choices)
                yield (*pieces[:place], one._replace(choices=choices), *pieces[place + 1 :])
        for inner in _plainer(one.inner):
            yield (*pieces[:place], one._replace(inner=inner), *pieces[place + 1 :])
