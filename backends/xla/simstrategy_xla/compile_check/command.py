"""The command `simstrategy compile-check`: an entry point of the group `simstrategy.commands`."""

from collections.abc import Sequence
from typing import Annotated

import typer

from simstrategy.check.outcome import Program
from simstrategy.check.programs import load_program
from simstrategy.cli.options import clear_errors, import_from_here, words
from simstrategy_xla.compile_check.checking import check_compiled
from simstrategy_xla.compile_check.collectives import collectives

__all__ = ["compile_check"]

_TOPOLOGIES = "v4:2x2x1,v5e:2x4,v5p:2x2x2,v6e:2x4"


def compile_check(
    backend: Annotated[str, typer.Argument(help="One that examines what it compiles, or module:factory.")] = "tpu",
    topology: Annotated[str, typer.Option(help="Topologies of devices, separated by commas.")] = _TOPOLOGIES,
    program: Annotated[list[str] | None, typer.Option(help="FILE or FILE:FUNCTION with compiled steps.")] = None,
) -> None:
    """Compile for TPUs that are not here, and compare the compiled programs with the simulator's trace.

    Compile every collective, and the steps that each --program compiles, for each topology. `tpu` needs libtpu: an
    extra of simstrategy-xla, or the file that TPU_LIBRARY_PATH names.

    Exit code 0: as requested. 1: not as requested. 2: it could not be compiled.
    """
    import_from_here(backend)
    raise typer.Exit(_compile(backend, words(topology), program or []))


def _compile(backend: str, topologies: Sequence[str], programs: Sequence[str]) -> int:
    """Prints what the compiled steps of each program contain, for each topology; returns the exit code."""
    agree = True
    with clear_errors():
        loaded = [(word, _loaded(word)) for word in programs]
        for topology in topologies:
            for name, program in (("collectives", collectives), *loaded):
                report = check_compiled(program, backend=backend, topology=topology)
                agree = agree and report.agrees
                typer.echo(f"--- {name} on {topology}\n{report}")
    where = ", ".join(topologies)
    typer.echo(
        f"All compiled steps are as requested on {where}." if agree else "Not all compiled steps are as requested."
    )
    return 0 if agree else 1


def _loaded(word: str) -> Program:
    file, colon, function = word.rpartition(":")
    return load_program(file, function) if colon and function.isidentifier() else load_program(word)
