"""Makes an outcome of what a process found, so that the laws compare it like that of any program.

An array of which devices have copies is declared equal on all of them. An array with a row for each device, in every
run, has a value for each replica, as what `jax.pmap` returns.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final

import numpy as np

from simstrategy.check.contents import Contents
from simstrategy.check.meaning import COPIES
from simstrategy.check.not_finite import not_finite_in
from simstrategy.check.outcome import Outcome, VariableKind, computed_in
from simstrategy_xla.mesh_check.jobs import Found
from simstrategy_xla.mesh_check.processes import Failure

__all__ = ["failed", "outcome_of"]

_UNSETTLED: Final = (
    "it began equal on all replicas and does not end so, and nothing else in the step is computed with it: it may be a "
    "statistic that each replica keeps for itself. Reduce it over the axis of the mesh, as by jax.lax.pmean, or exempt "
    "it, with the reason"
)

Leaves = list[tuple[str, np.ndarray[Any, Any]]]


def outcome_of(
    found: Found, rows: Collection[str] = (), state: Collection[str] = (), unsettled: Collection[str] = ()
) -> Outcome:
    """Returns a run as an outcome.

    rows: paths of arrays with a row for each replica. state: those of them that must be equal on all replicas.
    unsettled: those of which it is not known.
    """
    contents = found.contents
    leaves: Leaves = []
    structure = [*contents.structure]
    kinds: list[VariableKind] = []
    for path, leaf in contents.leaves:
        copies = found.unequal.get(path, (leaf,) * found.copies.get(path, 1))
        if path in rows:
            copies = tuple(leaf)
        if len(copies) == 1 and path not in rows:
            leaves.append((path, leaf))
            continue
        declared = path in found.copies or path in state
        structure.append((path, f"{'Mirrored' if declared else 'PerReplica'} of {len(copies)}"))
        leaves += [(f"{path} of local replica {rank}", copy) for rank, copy in enumerate(copies)]
        if path in found.unequal or (path in state and len({copy.tobytes() for copy in copies}) > 1):
            kinds.append(VariableKind(path, COPIES, "", "NONE"))
    made = Contents(structure, leaves, contents.on_host, contents.exempt, contents.partly)
    return Outcome(
        tuple(leaves),
        found.error,
        found.events,
        found.notes,
        next(_not_finite(leaves), None),
        structure=tuple(structure),
        computed=computed_in(made, (), found.dtypes),
        exempt=tuple(contents.exempt),
        variables=tuple(kinds),
        floats_put=any(name.startswith(("float", "bfloat")) for name in found.dtypes),
        partly=tuple(contents.partly),
        unsettled=tuple([(path, _UNSETTLED) for path, leaf in contents.leaves if path in unsettled and len(leaf) > 1]),
    )


def _not_finite(leaves: Leaves) -> Iterator[str]:
    """Yields a sentence for each returned value that is not finite."""
    for path, leaf in leaves:
        text = not_finite_in(leaf)
        if text is not None:
            yield f"{path}, {leaf.dtype.name}{list(leaf.shape)}, {text}"


def failed(failure: Failure) -> Outcome:
    """Returns the outcome of a process that ended without an answer."""
    printed = f"\nThe end of its output:\n{failure.output}" if failure.output else ""
    text = "The process of the program did not end in time" if failure.kind == "time limit" else "The process ended"
    return Outcome((), (failure.kind, f"{text}{printed}"), ())
