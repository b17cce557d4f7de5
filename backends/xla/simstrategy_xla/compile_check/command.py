"""The command `simstrategy compile-check`: an entry point of the group `simstrategy.commands`."""

from typing import Annotated

import typer

from simstrategy.cli.texts import import_from_here, words

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
    from simstrategy_xla.compile_check.running import compile_programs  # noqa: PLC0415 - JAX is slow, and help lists this

    raise typer.Exit(compile_programs(backend, words(topology), program or []))
