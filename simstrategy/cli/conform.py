"""`simstrategy conform BACKEND`: the conformance kit on one backend.

A thin face of pytest with the kit's own settings: nothing of the folder it is called in plays a part.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from simstrategy.cli.options import clear_errors
from simstrategy.device import open_backend
from simstrategy.errors import BackendUnavailable

__all__ = ["conform"]

_KIT = "simstrategy_conformance"


def conform(
    backend: Annotated[str, typer.Argument(help="A backend's name, or module:factory.")],
    profile: Annotated[str, typer.Option(help="How many examples: quick, default or deep.")] = "default",
    seed: Annotated[int, typer.Option(help="What examples are drawn from.")] = 0,
    clauses: Annotated[str, typer.Option(help="Only tests of these, separated by commas, such as B-8,R-2.")] = "",
    exceptions: Annotated[Path | None, typer.Option(help="In place of the backend's conformance.toml.")] = None,
    json: Annotated[Path | None, typer.Option(help="Where to write the report as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Where to write the report as Markdown.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Where to write JUnit XML.")] = None,
    jobs: Annotated[str, typer.Option(help="Processes: a number or auto; needs pytest-xdist.")] = "1",
) -> None:
    """Run the conformance kit on a backend.

    Exit code 0: it conforms. 1: it does not, or an exception passes. 2: the kit could not be run.
    """
    with clear_errors():
        kit = find_spec(_KIT) if find_spec("pytest") is not None else None
        if kit is None or kit.origin is None:
            raise BackendUnavailable("The conformance kit is not installed: pip install simstrategy-conformance")
        if ":" in backend:
            # A file in the folder at hand is a backend too, as for `python -m`.
            sys.path.insert(0, str(Path.cwd()))
        # Told here, in one line, in place of once for each test.
        open_backend(backend).close()
    folder = Path(kit.origin).parent
    files = {"exceptions": exceptions, "json": json, "markdown": markdown}
    told: dict[str, object] = {"backend": backend, "profile": profile, "seed": seed}
    told |= {name: file for name, file in files.items() if file} | ({"clauses": clauses} if clauses else {})
    arguments = [str(folder / "clauses"), "-c", str(folder / "pytest.ini"), "--rootdir", str(folder), "-q"]
    arguments += [f"--simstrategy-{name}={value}" for name, value in told.items()]
    arguments += [f"--junitxml={junit}"] if junit else []
    arguments += ["-n", jobs] if jobs != "1" else []
    raise typer.Exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    import pytest  # noqa: PLC0415 - the kit's, and no dependency of this package

    code = int(pytest.main(arguments))
    return code if code in (0, 1) else 2
