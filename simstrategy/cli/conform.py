"""`simstrategy conform BACKEND`: the conformance kit on one backend, or what it compiles for devices that are not here.

A thin face of pytest with the kit's own settings: nothing of the folder it is called in plays a part. With
`--compile-only`, of `check_compiled`.
"""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from simstrategy.check import check_compiled
from simstrategy.check.collectives import collectives
from simstrategy.check.outcome import Program
from simstrategy.check.programs import load_program
from simstrategy.cli.options import clear_errors, words
from simstrategy.device import open_backend
from simstrategy.errors import BackendUnavailable

__all__ = ["conform"]

_KIT = "simstrategy_conformance"
_TOPOLOGIES = "v4:2x2x1,v5e:2x4,v5p:2x2x2,v6e:2x4"
_OF_COMPILING = ("compile_only", "topology", "program")


def conform(
    context: typer.Context,
    backend: Annotated[str, typer.Argument(help="A backend's name, or module:factory.")],
    profile: Annotated[str, typer.Option(help="How many examples: quick, default or deep.")] = "default",
    seed: Annotated[int, typer.Option(help="What examples are drawn from.")] = 0,
    clauses: Annotated[str, typer.Option(help="Only tests of these, separated by commas, such as B-8,R-2.")] = "",
    exceptions: Annotated[Path | None, typer.Option(help="In place of the backend's conformance.toml.")] = None,
    json: Annotated[Path | None, typer.Option(help="Where to write the report as JSON.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Where to write the report as Markdown.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Where to write JUnit XML.")] = None,
    jobs: Annotated[str, typer.Option(help="Processes: a number or auto; needs pytest-xdist.")] = "1",
    compile_only: Annotated[bool, typer.Option("--compile-only", help="Compile for a topology; run no kit.")] = False,
    topology: Annotated[str, typer.Option(help="Of devices, separated by commas.")] = _TOPOLOGIES,
    program: Annotated[list[str] | None, typer.Option(help="FILE or FILE:FUNCTION with compiled steps.")] = None,
) -> None:
    """Run the conformance kit on a backend.

    Exit code 0: it conforms. 1: it does not, or an exception passes. 2: the kit could not be run.

    With --compile-only: compile the collectives, and the steps that each --program compiles, for topologies of devices
    that need not be here, and compare what is in the compiled programs with what the simulator's trace says was asked
    for. `tpu` needs libtpu, an extra of simstrategy-xla or the file that TPU_LIBRARY_PATH names. Exit code 0: as asked.
    1: not as asked. 2: it could not be compiled.
    """
    _require_one_purpose(context, compile_only)
    if ":" in backend:
        # A file in the folder at hand is a backend too, as for `python -m`.
        sys.path.insert(0, str(Path.cwd()))
    if compile_only:
        raise typer.Exit(_compile(backend, words(topology), program or []))
    with clear_errors():
        kit = find_spec(_KIT) if find_spec("pytest") is not None else None
        if kit is None or kit.origin is None:
            raise BackendUnavailable("The conformance kit is not installed: pip install simstrategy-conformance")
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


def _require_one_purpose(context: typer.Context, compile_only: bool) -> None:
    """Raises BadParameter for an option of the kit beside --compile-only, and the other way round."""
    for name in context.params:
        source = context.get_parameter_source(name)
        given = source is not None and source.name == "COMMANDLINE"
        if given and name != "backend" and (name in _OF_COMPILING) != compile_only:
            option = f"--{name.replace('_', '-')}"
            reason = "is the kit's, and --compile-only runs no kit" if compile_only else "needs --compile-only"
            raise typer.BadParameter(f"{option} {reason}")


def _compile(backend: str, topologies: Sequence[str], programs: Sequence[str]) -> int:
    """Prints what is in the compiled steps of each program for each topology; returns the exit code."""
    agree = True
    with clear_errors():
        loaded = [(word, _loaded(word)) for word in programs]
        for topology in topologies:
            for name, program in (("collectives", collectives), *loaded):
                report = check_compiled(program, backend=backend, topology=topology)
                agree = agree and report.agrees
                typer.echo(f"--- {name} on {topology}\n{report}")
    where = ", ".join(topologies)
    typer.echo(f"All compiled steps are as asked on {where}." if agree else "Not all compiled steps are as asked.")
    return 0 if agree else 1


def _loaded(word: str) -> Program:
    file, colon, function = word.rpartition(":")
    return load_program(file, function) if colon and function.isidentifier() else load_program(word)


def _run(arguments: list[str]) -> int:
    import pytest  # noqa: PLC0415 - the kit's, and no dependency of this package

    code = int(pytest.main(arguments))
    return code if code in (0, 1) else 2
