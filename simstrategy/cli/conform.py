"""`simstrategy conform BACKEND`: the conformance kit on one backend; `--matrix`: its reports side by side.

A name such as c10d:gloo is that of a backend of `torch.distributed`, of which the kit has tests in a folder of its own.

Calls pytest with the kit's settings. The settings of the folder that it is called in have no effect.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from simstrategy.cli.ending import clear_errors
from simstrategy.cli.leaving import exits_named
from simstrategy.cli.texts import import_from_here
from simstrategy.cli.writing import write_text
from simstrategy.device import install_advice, open_backend
from simstrategy.errors import BackendUnavailable

__all__ = ["conform"]

_KIT = "simstrategy_conformance"
_KINDS = ("c10d",)
"""Kinds of backends that the kit opens itself, each in the folder of its tests."""
_NO_KIT = f"The conformance kit is not installed. {install_advice('pip install ./property_tests')}"
_DEFAULTS: Final[Mapping[str, object]] = {
    "clauses": "",
    "profile": "default",
    "seed": 0,
    "jobs": "1",
    "on": "here",
    "limit-s": None,
}
"""Of the options that examine a backend."""


def conform(
    names: Annotated[
        list[Path],
        typer.Argument(
            metavar="BACKEND", help="A backend's name, or module:factory, or c10d:NAME of PyTorch's; else reports."
        ),
    ],
    profile: Annotated[str, typer.Option(help="How many examples: quick, default or deep.")] = "default",
    seed: Annotated[int, typer.Option(help="What examples are drawn from.")] = 0,
    clauses: Annotated[str, typer.Option(help="Only tests of these, separated by commas, such as B-8,R-2.")] = "",
    exceptions: Annotated[Path | None, typer.Option(help="In place of the backend's conformance.toml.")] = None,
    json: Annotated[Path | None, typer.Option(help="Where to write the report as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Where to write the report as Markdown.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Where to write JUnit XML.")] = None,
    jobs: Annotated[str, typer.Option(help="Processes: a number or auto; needs pytest-xdist.")] = "1",
    on: Annotated[str, typer.Option(help="Where tests run: here, or ray[://HOST:PORT] for a Ray cluster.")] = "here",
    limit_s: Annotated[
        float | None, typer.Option(help="Seconds of one test, after which it has failed; shows where it is.")
    ] = None,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Examine nothing: the names are reports, written with --json.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="With --matrix: where to write the page of all reports.")] = None,
    badge: Annotated[Path | None, typer.Option(help="With --matrix and one report: where to write it as SVG.")] = None,
    law: Annotated[
        list[Path] | None, typer.Option(help="With --html: a page of clauses, for links to their text; repeatable.")
    ] = None,
) -> None:
    """Run the conformance kit on a backend.

    Exit code 0: it conforms. 1: it does not, an exception passes, or a test takes too long. 2: the kit could not run.

    With --matrix, put reports side by side: conform --matrix a.json b.json --html page.html. Exit code 0: the page is
    written, whatever the reports state. 2: a file is no report.
    """
    files = {"exceptions": exceptions, "json": json, "markdown": markdown, "junit": junit}
    if matrix:
        others = {"clauses": clauses, "profile": profile, "seed": seed, "jobs": jobs, "on": on, "limit-s": limit_s}
        given = [name for name, file in files.items() if file is not None]
        given += [name for name, value in others.items() if value != _DEFAULTS[name]]
        _refuse(given, "examines a backend, and --matrix examines none")
        _refuse(["law"] if law and html is None else [], "is of the page: add --html FILE")
        _write_matrix(names, html, badge, law or [])
        return
    shown = {"html": html, "badge": badge, "law": law or None}
    _refuse([name for name, value in shown.items() if value is not None], "is of reports: add --matrix")
    if len(names) > 1:
        raise typer.BadParameter(f"{len(names)} names: one backend is examined at a time, and --matrix takes reports")
    with exits_named():
        raise typer.Exit(_run([*_arguments(str(names[0]), profile, seed, clauses, files), *_places(jobs, on, limit_s)]))


def _places(jobs: str, on: str, limit_s: float | None) -> list[str]:
    """Returns the arguments of pytest for where the tests run, and how long each may take."""
    limit = [] if limit_s is None else [f"--simstrategy-limit={limit_s}"]
    if on == "here":
        # Where the tests have a process of their own, the run goes on after a test that takes too long.
        return [*limit, "-n", jobs] if jobs != "1" or (limit and find_spec("xdist") is not None) else limit
    given = [name for name, value in (("jobs", jobs), ("limit-s", limit_s)) if value != _DEFAULTS[name]]
    _refuse(given, "is of this machine, and the tests run on a cluster")
    return ["-p", f"{_KIT}.spread.tests", f"--simstrategy-on={on}"]


def _refuse(options: Sequence[str], reason: str) -> None:
    """Raises BadParameter that names the first of the options, if there is one."""
    if options:
        raise typer.BadParameter(f"--{options[0]} {reason}")


def _write_matrix(reports: Sequence[Path], html: Path | None, badge: Path | None, laws: Sequence[Path]) -> None:
    if html is None and badge is None:
        raise typer.BadParameter("--matrix writes nothing without --html FILE or --badge FILE")
    _folder_of_kit()
    made: Mapping[str, Callable[..., str]] = vars(import_module(f"{_KIT}.matrix"))
    # Both texts before either file: an error of the second leaves no first one behind.
    texts: list[tuple[str, Path, str]] = []
    if html is not None:
        texts.append(("--html", html, made["page_of_files"](reports, laws)))
    if badge is not None:
        texts.append(("--badge", badge, made["badge_of_files"](reports)))
    for option, file, text in texts:
        write_text(option, file, text)


def _folder_of_kit() -> Path:
    """Returns the folder of the kit's package.  Raises BackendUnavailable where it is not installed."""
    kit = find_spec(_KIT) if find_spec("pytest") is not None else None
    if kit is None or kit.origin is None:
        raise BackendUnavailable(_NO_KIT)
    return Path(kit.origin).parent


def _arguments(backend: str, profile: str, seed: int, clauses: str, files: Mapping[str, Path | None]) -> list[str]:
    """Returns the arguments of pytest for a backend, which is opened once before."""
    import_from_here(backend)
    with clear_errors():
        folder = _folder_of_kit()
        kind = next((one for one in _KINDS if backend.startswith(f"{one}:")), "")
        if not kind:
            # A backend that cannot be opened is reported once, and not by every test.
            open_backend(backend).close()
    options: dict[str, Any] = {"backend": backend, "profile": profile, "seed": seed}
    options |= {name: file for name, file in files.items() if file and name != "junit"}
    options |= {"clauses": clauses} if clauses else {}
    arguments = [str(folder / kind / "clauses"), "-c", str(folder / "pytest.ini"), "--rootdir", str(folder), "-q"]
    arguments += [f"--simstrategy-{name}={value}" for name, value in options.items()]
    return [*arguments, *([f"--junitxml={files['junit']}"] if files["junit"] else [])]


def _run(arguments: list[str]) -> int:
    import pytest  # noqa: PLC0415 - a dependency of the kit, not of this distribution

    code = int(pytest.main(arguments))
    return code if code in (0, 1) else 2
