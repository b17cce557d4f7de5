"""The command that repeats a check: `simstrategy check FILE …`, where the command line can express it."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from simstrategy.check.outcome import Program
from simstrategy.schedules import Every, InOrder, Seeded

__all__ = ["check_command"]


def check_command(program: Program, settings: Mapping[str, Any]) -> str | None:
    """Returns the command that repeats a check of a program with these settings; None where there is none.

    A function within another function, of a package, or made by a decorator cannot be loaded from its file alone. A
    setting that no option stands for, such as a schedule of a class of the user's, has no command either.
    """
    location = _location(program)
    words = None if location is None else _options(settings)
    if location is None or words is None:
        return None
    file, function = location
    named = [] if function == "program" else ["--function", function]
    return shlex.join(["simstrategy", "check", file, *named, *words])


def _location(program: Program) -> tuple[str, str] | None:
    """Returns the file and the name of a function that `load_program` would find there."""
    code = getattr(program, "__code__", None)
    name = getattr(program, "__qualname__", "")
    module = sys.modules.get(getattr(program, "__module__", ""))
    if code is None or module is None or not name.isidentifier() or vars(module).get(name) is not program:
        return None
    file = getattr(module, "__file__", None) or ""
    if getattr(module, "__package__", "") or not Path(file).is_file() or Path(file) != Path(code.co_filename):
        return None
    with suppress(OSError, ValueError):  # a removed folder, or another drive
        relative = os.path.relpath(file)
        file = file if relative.startswith(os.pardir) else relative
    return file, name


def _options(settings: Mapping[str, Any]) -> list[str] | None:
    """Returns the options that stand for settings; None where one has no option."""
    words: list[str] = []
    for name, value in settings.items():
        if name == "on_row" or value is None:
            continue
        option = _OPTIONS.get(name)
        try:
            found = None if option is None else [*option(value)]
        except (TypeError, ValueError):
            return None
        if found is None:
            return None
        words += found
    return words


def _listed(option: str) -> Callable[[Sequence[Any]], Iterator[str]]:
    def words(values: Sequence[Any]) -> Iterator[str]:
        if values:
            yield from (option, ",".join(map(str, values)))

    return words


def _schedules(makers: Sequence[Any]) -> Iterator[str]:
    names = []
    for maker in makers:
        made = maker if isinstance(maker, Every) else maker()
        if isinstance(made, Every):
            names.append(f"all:{made.limit}")
        elif isinstance(made, Seeded):
            names.append(f"seeded:{made.seed}")
        elif isinstance(made, InOrder):
            names.append("in-order")
        else:
            raise ValueError(f"no option stands for {made!r}")
    if names != ["in-order"]:
        yield from ("--schedules", ",".join(names))


def _exempt(reasons: Mapping[str, str]) -> Iterator[str]:
    for name, reason in reasons.items():
        yield from ("--exempt", f"{name}={reason}")


def _vary(values: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    for name, choices in values.items():
        if not all(type(one) in (int, float, bool) for one in choices):  # a text may have commas in it
            raise ValueError(f"no option stands for {choices!r}")
        yield from ("--vary", f"{name}={','.join(map(repr, choices))}")


_OPTIONS: Final[dict[str, Callable[[Any], Iterator[str]]]] = {
    "backends": _listed("--backends"),
    "replicas": _listed("--replicas"),
    "workers": _listed("--workers"),
    "laws": _listed("--laws"),
    "without": _listed("--not"),
    "same_on": _listed("--same-on"),
    "order": lambda name: iter(("--order", name)),
    "require": _listed("--require"),
    "schedules": _schedules,
    "exempt": _exempt,
    "vary": _vary,
    "semantics": lambda profile: iter(("--semantics", profile.name)),
    "timeout_s": lambda seconds: iter(("--timeout", f"{seconds:g}")),
    "allow_errors": lambda allowed: iter(("--allow-errors",) if allowed else ()),
}
"""What each setting of `check` is on the command line."""
