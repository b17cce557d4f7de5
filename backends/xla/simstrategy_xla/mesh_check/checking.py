"""Judges a program of a JAX mesh on several numbers of host devices by the laws of the core."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from simstrategy.check import Report, Row
from simstrategy.check.annotations import foreign_annotation
from simstrategy.check.executed import require_arguments, script_of
from simstrategy.check.judging import judge_runs
from simstrategy.check.laws import OF_REPEATED, OF_SCRIPTS
from simstrategy.check.laws.as_they_are import of_scripts
from simstrategy.check.laws.in_processes import in_processes
from simstrategy.check.runs import Settings
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.strategy import Semantics
from simstrategy_xla.mesh_check.runs import MeshRuns
from simstrategy_xla.mesh_check.script_runs import NOTHING_KEPT
from simstrategy_xla.mesh_check.workers.runs import worker_runs

__all__ = ["programs_agree"]

AXIS: Final = "data"
"""The name of the mesh's axis where the annotation gives none."""

_WORDS: Final = ("replicas", "nudged")
"""What a check of such a program can try: JAX cuts arrays into parts of one size."""
_MESH: Final = "Mesh"
_SETTINGS: Final = Settings(Semantics.TF2)
_NOTHING: Final = "the program returned nothing. Return what matters, such as losses and parameters"
_NO_WORKERS: Final = (
    "A script of JAX is checked on several devices of one process: leave workers out, or move what it does into "
    "def program(mesh: jax.sharding.Mesh), which is checked in several processes too."
)
_UNDECLARED: Final = (
    "nothing that the program returns is declared equal on all devices: it has no array of which several devices have "
    "copies, and no rows of jax.pmap that returned to the step, began equal and do not end so. Return the parameters"
)
_UNEQUAL: Final = (
    "reduce it over the axis of the mesh, as by jax.lax.pmean, before it is returned as replicated: JAX does not "
    "compare the copies where check_vma=False, under pmap, and of arrays that are made of shards. What each device "
    "keeps for itself is returned in parts, with P(axis)"
)


def programs_agree(
    program: Callable[..., Any],
    *,
    replicas: Sequence[int] = (1, 2, 3, 4),
    settings: Settings = _SETTINGS,
    laws: Sequence[str] = ("replicas", "state"),
    require: Sequence[str] = (),
    on_row: Callable[[Row], None] = lambda row: None,
) -> Report:
    """Runs `program(mesh)` on each number of host devices, in processes of their own, and judges the runs.

    program: a function at the top level of a file. It returns what is compared: a nest of arrays and numbers. Its mesh
    has all devices of its process along one axis, `data`, or the axes that the annotation names:
    ``mesh: Annotated[jax.sharding.Mesh, "batch"]``; of several, the first one has all devices. replicas: the first
    number is the reference of the law of replicas. settings: its workers are numbers of processes, each with one device
    of the mesh, which `jax.distributed` connects. settings, laws, require, on_row: as `simstrategy.check.check` gives
    them to a checker. Raises InvalidArgument for a program that is no function of a file, that cannot be loaded in such
    a process, or whose result cannot be read; and Unsupported for another type than a Mesh.

    Source of what JAX does: JAX 0.10.2, as measured. Clauses: J-37, J-57 to J-74, J-82, J-83.
    """
    found = foreign_annotation(program)
    if found is not None and not found.text.endswith(_MESH):
        raise Unsupported(
            f"The program takes a {found.text}, and programs of JAX are checked with a jax.sharding.Mesh: let it take "
            f"one, as in program(mesh: jax.sharding.Mesh)."
        )
    require_arguments(program, replicas)
    is_script = script_of(program) is not None
    if is_script and settings.workers:
        raise InvalidArgument(_NO_WORKERS)
    nothing = NOTHING_KEPT if is_script else _NOTHING
    settings = settings._replace(nothing=nothing, undeclared=_UNDECLARED, unequal=_UNEQUAL)
    runs = MeshRuns(program, axes_of(program), replicas, settings)

    def workers(one_process: MeshRuns) -> Iterator[Row]:
        return in_processes(one_process, worker_runs(one_process), with_state="state" in laws)

    named: dict[str, Callable[[MeshRuns], Iterator[Row]]] = {**OF_REPEATED}
    if is_script:
        named = {**OF_SCRIPTS, "replicas": partial(of_scripts, other=runs.other_batches, drawn=runs.drawn)}
    return judge_runs(runs, named, laws, require, on_row, _WORDS, workers=workers, record=runs.recorded_again)


def axes_of(program: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the axes of a program's mesh.  Raises InvalidArgument for names that are no texts.

    >>> from jax.sharding import Mesh
    >>> def program(mesh: Annotated[Mesh, "batch", "model"]): ...
    >>> axes_of(program)
    ('batch', 'model')
    """
    try:
        parameter = next(iter(inspect.signature(program).parameters), "")
        hint = get_type_hints(program, include_extras=True).get(parameter)
    except (NameError, TypeError, ValueError):  # names that type checkers alone have
        return (AXIS,)
    if get_origin(hint) is not Annotated:
        return (AXIS,)
    names = get_args(hint)[1:]
    if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        raise InvalidArgument(
            f"The annotation of the program's {parameter!r} names the axes of its mesh by texts, each once, as in "
            f"Annotated[Mesh, 'batch'], got {', '.join(map(repr, names))}."
        )
    return names
