"""Reads bug.toml and healthy.toml. What is wrong with one is an error with the file, the key and what to do."""

import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from simstrategy_corpus.cases import PROGRAMS, Bug, Case, Healthy
from simstrategy_corpus.kinds import KINDS
from simstrategy_corpus.proof import SHOWS

LAUNCHERS = ("torchrun", "tensorflow", "jax")
LAWS = ("agreement", "coverage", "cut", "faults", "ledger", "random", "replicas", "resume", "state")
_OF_BUG = ("source", "symptom", "cause", "laws", "shows", "kind", "place", "run")
_OF_HEALTHY = ("why", "suspicious", "run")
_OF_RUN = ("launcher", "replicas", "same_output")


class CorpusError(ValueError):
    """A file of the corpus that is not as this package describes it."""


def bugs(folder: Path = PROGRAMS) -> list[Bug]:
    """Returns the bugs of a corpus in the order of their names."""
    return [read_bug(one) for one in _folders(folder / "bugs")]


def healthy(folder: Path = PROGRAMS) -> list[Healthy]:
    """Returns the healthy programs of a corpus in the order of their names."""
    return [read_healthy(one) for one in _folders(folder / "healthy")]


def read_bug(folder: Path) -> Bug:
    """Returns the bug of a folder with wrong.py, right.py and bug.toml.

    Raises `CorpusError`.
    """
    file = folder / "bug.toml"
    table = _table(file, _OF_BUG, ("fix",))
    texts = {key: _text(file, table, key) for key in ("source", "symptom", "cause")}
    wrong, right = (_case(file, table, folder.name, script) for script in ("wrong.py", "right.py"))
    place = _words(file, table, "place")
    return Bug(
        folder.name,
        **texts,
        fix=_text(file, table, "fix") if "fix" in table else "",
        laws=tuple(_one_of(file, "laws", law, LAWS) for law in _words(file, table, "laws")),
        shows=_one_of(file, "shows", table["shows"], SHOWS),
        kind=_one_of(file, "kind", table["kind"], KINDS),
        lines=tuple(number for text in place for number in _lines(file, wrong.file, text)),
        wrong=wrong,
        right=right,
    )


def read_healthy(folder: Path) -> Healthy:
    """Returns the healthy program of a folder with program.py and healthy.toml.

    Raises `CorpusError`.
    """
    file = folder / "healthy.toml"
    table = _table(file, _OF_HEALTHY)
    suspicious = table["suspicious"]
    if not isinstance(suspicious, bool):
        raise CorpusError(f"{file}: suspicious is {suspicious!r}. Give true or false.")
    return Healthy(folder.name, _text(file, table, "why"), suspicious, _case(file, table, folder.name, "program.py"))


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise CorpusError(f"{folder} is no folder. Give a folder that holds bugs/ and healthy/.")
    return sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith(("_", ".")))


def _table(file: Path, keys: Collection[str], optional: Collection[str] = ()) -> Mapping[str, object]:
    """Returns a file's content, which has these keys and no others."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CorpusError(f"{file} is missing. Each folder of the corpus has one.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CorpusError(f"{file} is no TOML: {error}. Correct it.") from None
    return _checked(file, "", table, keys, optional)


def _checked(
    file: Path, where: str, table: object, keys: Collection[str], optional: Collection[str]
) -> Mapping[str, object]:
    if not isinstance(table, Mapping):
        raise CorpusError(f"{file}: {where} is no table. Write it as [{where}] with the keys {', '.join(keys)}.")
    named = f"[{where}] " if where else ""
    missing = [key for key in keys if key not in table]
    unknown = [key for key in table if key not in (*keys, *optional)]
    if missing:
        raise CorpusError(f"{file}: {named}lacks {', '.join(missing)}. Add what is missing.")
    if unknown:
        raise CorpusError(f"{file}: {named}has {', '.join(unknown)}, which nothing reads. Known: {', '.join(keys)}.")
    return table


def _case(file: Path, table: Mapping[str, object], name: str, script: str) -> Case:
    run = _checked(file, "run", table["run"], _OF_RUN, ("arguments", "vary"))
    program = file.with_name(script)
    if not program.is_file():
        raise CorpusError(f"{program} is missing. Write the program, or remove the folder.")
    vary = run.get("vary", {})
    if not isinstance(vary, Mapping):
        raise CorpusError(f"{file}: vary is {vary!r}. Give a table of a list of numbers for each name.")
    case = Case(
        name,
        program,
        launcher=_one_of(file, "launcher", run["launcher"], LAUNCHERS),
        replicas=_numbers(file, "replicas", run["replicas"]),
        template=_words(file, run, "arguments") if "arguments" in run else (),
        vary={str(key): _numbers(file, f"vary.{key}", values) for key, values in vary.items()},
        same_output=_text(file, run, "same_output"),
    )
    try:
        _ = case.runs
    except (KeyError, ZeroDivisionError) as error:
        raise CorpusError(
            f"{file}: the arguments {shlex.join(case.template)} have a placeholder without a number: {error}. "
            f"Names: replicas{''.join(f', {key}' for key in case.vary)}."
        ) from None
    return case


def _lines(file: Path, program: Path, text: str) -> Iterator[int]:
    found = [number for number, line in enumerate(program.read_text("utf-8").splitlines(), 1) if line.strip() == text]
    if not found:
        raise CorpusError(f"{file}: no line of {program.name} is {text!r}. Correct place, or the program.")
    yield from found


def _text(file: Path, table: Mapping[str, object], key: str) -> str:
    value = table[key]
    if not isinstance(value, str) or not value.strip():
        raise CorpusError(f"{file}: {key} is {value!r}. Give a text.")
    return value


def _words(file: Path, table: Mapping[str, object], key: str) -> tuple[str, ...]:
    return tuple(_list(file, key, table[key], lambda one: isinstance(one, str), "texts"))


def _numbers(file: Path, key: str, value: object) -> tuple[int, ...]:
    return tuple(_list(file, key, value, lambda one: type(one) is int and one >= 0, "whole numbers"))


def _list(file: Path, key: str, value: object, fits: Callable[[object], bool], what: str) -> list[Any]:
    if not isinstance(value, list) or not value or not all(map(fits, value)):
        raise CorpusError(f"{file}: {key} is {value!r}. Give a list of {what}, at least one.")
    return value


def _one_of(file: Path, key: str, value: object, known: Collection[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise CorpusError(f"{file}: {key} is {value!r}. Give one of {', '.join(known)}.")
    return value
