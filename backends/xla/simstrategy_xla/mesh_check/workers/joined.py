"""Makes one outcome of what all workers found, as a run in one process with as many devices has it.

Arrays whose devices belong to several processes are put together; what else a worker returns is its own value, or one
that is equal in all workers.
"""

from collections.abc import Collection, Sequence

import numpy as np

from simstrategy.check.contents import Contents
from simstrategy.check.distances import same_bits
from simstrategy.check.meaning import COPIES
from simstrategy.check.merging import described_values, merged, of_worker
from simstrategy.check.outcome import Outcome, VariableKind
from simstrategy_xla.mesh_check.jobs import Found, Spread
from simstrategy_xla.mesh_check.outcomes import outcome_of
from simstrategy_xla.mesh_check.shards import copies_of

__all__ = ["joined"]


def joined(
    founds: Sequence[Found], one_process: Outcome, rows: Collection[str], state: Collection[str], *, diverged: bool
) -> Outcome:
    """Returns the outcome of all workers.

    founds: one for each worker, none of which raised. one_process: of a run in one process with as many devices. rows,
    state: as of `outcome_of`. diverged: whether a replicated value was not equal in all workers: then what a worker
    returns of its own is a copy of what one process returns, and is compared with it.
    """
    workers = [outcome_of(_without_spread(found), rows, state) for found in founds]
    spread = outcome_of(_whole(founds), rows, state)
    not_finite = next((one.not_finite for one in [*workers, spread] if one.not_finite is not None), None)
    own = merged(workers, one_process, not_finite)
    kinds = own.variables + spread.variables + (_copies(own, len(founds)) if diverged else ())
    return own._replace(
        leaves=own.leaves + spread.leaves,
        structure=own.structure + spread.structure,
        computed=own.computed + spread.computed,
        variables=kinds,
        partly=own.partly + spread.partly,
    )


def _without_spread(found: Found) -> Found:
    contents = found.contents
    return found._replace(
        contents=contents._replace(leaves=[one for one in contents.leaves if one[0] not in found.spread])
    )


def _whole(founds: Sequence[Found]) -> Found:
    """Returns the arrays whose devices belong to several processes, as one process has them."""
    contents = Contents.none()
    copies: dict[str, int] = {}
    unequal: dict[str, tuple[np.ndarray, ...]] = {}
    rows: set[str] = set()
    for path in dict.fromkeys(path for found in founds for path in found.spread):
        whole = _together([found.spread[path] for found in founds if path in found.spread])
        found = copies_of(whole)
        if not found:
            _add_parts(contents, path, founds)
            continue
        contents.leaves.append((path, found[0]))
        if len(found) > 1:
            copies[path] = len(found)
        if not all(same_bits(found[0], other) for other in found[1:]):
            unequal[path] = found
        if whole.shape[:1] == (len(founds),) and all(shard.data.shape[:1] == (1,) for shard in whole.shards):
            rows.add(path)
    dtypes = tuple(dict.fromkeys(dtype for found in founds for dtype in found.dtypes))
    return founds[0]._replace(
        contents=contents, copies=copies, unequal=unequal, by_device=frozenset(rows), dtypes=dtypes, spread={}
    )


def _add_parts(contents: Contents, path: str, founds: Sequence[Found]) -> None:
    """Adds what workers have of an array of which they did not return all parts: a value of each worker's own."""
    parts = [
        (worker, shard.data)
        for worker, one in enumerate(founds)
        if path in one.spread
        for shard in one.spread[path].shards
    ]
    contents.leaves.extend([(of_worker(path, worker), data) for worker, data in parts])
    if parts:
        contents.structure.append((path, described_values(len(founds))))


def _together(parts: Sequence[Spread]) -> Spread:
    return parts[0]._replace(shards=tuple([shard for part in parts for shard in part.shards]))


def _copies(own: Outcome, count: int) -> tuple[VariableKind, ...]:
    """Returns kinds for the values of the host that are not equal in all workers."""
    text = described_values(count)
    return tuple([VariableKind(path, COPIES, "", "NONE") for path, one in own.structure if one == text])
