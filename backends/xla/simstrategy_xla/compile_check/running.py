"""Runs `simstrategy compile-check`: compiles programs for topologies and prints what their compiled steps contain."""

from collections.abc import Sequence

import typer

from simstrategy.check.outcome import Program
from simstrategy.check.programs import load_program
from simstrategy.cli.ending import clear_errors
from simstrategy_xla.compile_check.checking import check_compiled
from simstrategy_xla.compile_check.collectives import collectives

__all__ = ["compile_programs"]


def compile_programs(backend: str, topologies: Sequence[str], programs: Sequence[str]) -> int:
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
