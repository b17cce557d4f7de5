"""`check --keras tensorflow,jax,torch`: a file with Keras on several libraries, and one report.

Keras computes with the library that KERAS_BACKEND names when it is imported, so each library has a process of its own:
the same command without --keras, whose report comes back as data.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from simstrategy.check import Report
from simstrategy.check.formats import joined, not_run, report_of
from simstrategy.cli.script_options import OF_FUNCTIONS, OF_SCRIPTS
from simstrategy.errors import InvalidArgument
from simstrategy.launch import Launcher

__all__ = ["check_on_libraries", "libraries_named"]

_LAUNCHERS: Final = {"tensorflow": "", "jax": "", "torch": "torchrun"}
"""What starts the file, by the library: Keras has no strategy on PyTorch, so there the file is a script."""
_KEPT: Final = frozenset({"program", "arguments", "launcher", "keras", "json", "junit", "markdown", "html"})
"""Parameters of the command that no library's own command is given as they are."""
_NOTE: Final = "Each library is compared with itself: what Keras computes on one is not compared with another."
_LINES: Final = 15
_LIMIT_S: Final = 7 * 24 * 3600.0
_OF_WORKERS: Final = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What a launcher gives its workers: here the command decides for itself what it starts."""


def libraries_named(names: Sequence[str], launcher: str) -> list[str]:
    """Returns the libraries of Keras that are named, each once.

    Raises InvalidArgument for another one, and beside --as.
    """
    for name in names:
        if name not in _LAUNCHERS:
            raise InvalidArgument(
                f"Keras computes with one of {', '.join(_LAUNCHERS)}, got --keras {name!r}. Correct it."
            )
    if names and launcher:
        raise InvalidArgument(f"--keras starts the file as each library needs it: leave out --as {launcher}.")
    return list(dict.fromkeys(names))


def check_on_libraries(context: typer.Context, libraries: Sequence[str]) -> Callable[..., Report]:
    """Returns what checks the command's program with each library in turn.  It drops what the program prints."""
    program: Path = context.params["program"]

    def run(*, on_row: Callable[..., None]) -> Report:
        reports = {}
        for library in libraries:
            report = reports[library] = _checked(program, library, context)
            for row in report.rows[-1:]:
                on_row(row)
        return joined(program.name, reports, _NOTE)

    return run


def _checked(program: Path, library: str, context: typer.Context) -> Report:
    launcher_name = _LAUNCHERS[library]
    words = ["check", str(program), *_options(context, is_script=bool(launcher_name))]
    with Launcher(1) as launcher:
        file = launcher.folder / "report.json"
        words.append(f"--json={file}")
        if launcher_name:
            words += ["--as", launcher_name, "--", *(context.params["arguments"] or ())]
        environment = {**dict.fromkeys(_OF_WORKERS), "KERAS_BACKEND": library}
        (ended,) = launcher.run("simstrategy.cli:main", [words], timeout_s=_LIMIT_S, environment=environment)
        if file.exists():
            return report_of(json.loads(file.read_text(encoding="utf-8")))
    lines = ended.output.strip().splitlines()[-_LINES:]
    why = "\n".join(lines) or f"its process ended with code {ended.code} and printed nothing"
    return not_run(program.name, "none", context.params["replicas"], why)


def _options(context: typer.Context, *, is_script: bool) -> list[str]:
    """Returns the options that were given, but for those that this kind of program does not have."""
    found: list[str] = []
    left = {*_KEPT, *(OF_FUNCTIONS if is_script else OF_SCRIPTS)}
    for parameter in context.command.params:
        name: Any = parameter.name
        source = context.get_parameter_source(name)
        if name in left or source is None or source.name != "COMMANDLINE":
            continue
        option, value = max(parameter.opts, key=len), context.params[name]
        if value is True:
            found.append(option)
        else:
            found += [f"{option}={one}" for one in (value if isinstance(value, list) else [value])]
    return found
