"""`simstrategy conform BACKEND`: the conformance kit on one backend.

A name such as c10d:gloo is that of a backend of `torch.distributed`, of which the kit has tests in a folder of its own.

Calls pytest with the kit's settings. The settings of the folder that it is called in have no effect.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from simstrategy.cli.options import clear_errors, import_from_here
from simstrategy.device import install_advice, open_backend
from simstrategy.errors import BackendUnavailable

__all__ = ["conform"]

_KIT = "simstrategy_conformance"
_KINDS = ("c10d",)
"""Kinds of backends that the kit opens itself, each in the folder of its tests."""
_NO_KIT = f"The conformance kit is not installed. {install_advice('pip install ./property_tests')}"


def conform(
    backend: Annotated[str, typer.Argument(help="A backend's name, or module:factory, or c10d:NAME of PyTorch's.")],
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
    import_from_here(backend)
    with clear_errors():
        kit = find_spec(_KIT) if find_spec("pytest") is not None else None
        if kit is None or kit.origin is None:
            raise BackendUnavailable(_NO_KIT)
        folder = Path(kit.origin).parent
        kind = next((one for one in _KINDS if backend.startswith(f"{one}:")), "")
        if not kind:
            # A backend that cannot be opened is reported once, and not by every test.
            open_backend(backend).close()
    files = {"exceptions": exceptions, "json": json, "markdown": markdown}
    options: dict[str, object] = {"backend": backend, "profile": profile, "seed": seed}
    options |= {name: file for name, file in files.items() if file} | ({"clauses": clauses} if clauses else {})
    arguments = [str(folder / kind / "clauses"), "-c", str(folder / "pytest.ini"), "--rootdir", str(folder), "-q"]
    arguments += [f"--simstrategy-{name}={value}" for name, value in options.items()]
    arguments += [f"--junitxml={junit}"] if junit else []
    arguments += ["-n", jobs] if jobs != "1" else []
    raise typer.Exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    import pytest  # noqa: PLC0415 - a dependency of the kit, not of this distribution

    code = int(pytest.main(arguments))
    return code if code in (0, 1) else 2
