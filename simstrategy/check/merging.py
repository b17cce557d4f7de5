"""Makes one outcome of those of all workers, as a run in one process with as many replicas has it.

Each worker has one replica, so worker 2 holds what replica 2 holds there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from simstrategy.check.contents import described_length
from simstrategy.check.distances import same_bits
from simstrategy.check.exempt import reason_for
from simstrategy.check.outcome import Outcome

__all__ = ["by_replica", "described_values", "merged", "of_worker"]

Host = np.ndarray[Any, Any]
Leaf = tuple[Host, str]
"""A value, and the dtype in which it was computed."""

_COMPONENT: Final = ", replica 0"
_OF: Final = " of local replica "
_ALONE: Final = " of replica "


def merged(outcomes: Sequence[Outcome], one_process: Outcome, not_finite: str | None = None) -> Outcome:
    """Returns the outcome of all workers.

    outcomes: one for each worker, none of which raised. one_process: of a run in one process with as many replicas. A
    list that has an item for each replica there has one for the local replica in each worker. A value of the result
    that is equal in all workers is one value; another one is each worker's own, as what one worker alone returns.
    not_finite: as of an `Outcome`.
    """
    count, lists = len(outcomes), _lists(outcomes, one_process)
    placed = [{_placed(path, rank, lists): leaf for path, leaf in _leaves(one)} for rank, one in enumerate(outcomes)]
    expected = {path for path, _ in one_process.leaves}
    leaves: dict[str, Leaf] = {}
    own: list[str] = []
    partly = dict(pair for one in outcomes for pair in one.partly)
    for path in dict.fromkeys(path for one in placed for path in one):
        found = {worker: one[path] for worker, one in enumerate(placed) if path in one}
        if _is_of_replica(path, lists) or _equal(list(found.values()), count):
            leaves[path] = next(iter(found.values()))
        elif len(found) < count and path not in expected:
            partly[path] = f"it is in the result of worker {', '.join(map(str, found))} alone"
        else:
            own.append(path)
            leaves |= {of_worker(path, worker): leaf for worker, leaf in found.items()}
    structure = [*_structure(outcomes, one_process, lists), *[(path, described_values(count)) for path in own]]
    return outcomes[0]._replace(
        leaves=tuple([(path, leaf) for path, (leaf, _) in leaves.items()]),
        computed=tuple([dtype for _, dtype in leaves.values()]),
        structure=tuple(structure),
        not_finite=not_finite,
        exempt=tuple(dict.fromkeys(pair for one in outcomes for pair in one.exempt)),
        partly=tuple(partly.items()),
        floats_put=any(one.floats_put for one in outcomes),
    )


def described_values(count: int) -> str:
    """Returns how the structure of an outcome describes a value that workers have for themselves."""
    return f"PerReplica of {count}"


def of_worker(path: str, worker: int) -> str:
    """Returns the path of such a value in one worker."""
    return f"{path}{_OF}{worker}"


def by_replica(one: Outcome, other: Outcome) -> tuple[Outcome, Outcome]:
    """Returns two outcomes with as many replicas, in which a value that both have for each replica is a value alone."""
    both = {path for path, _ in one.leaves} & {path for path, _ in other.leaves}

    def renamed(outcome: Outcome) -> Outcome:
        reasons, exempt, leaves = dict(outcome.exempt), [*outcome.exempt], []
        for path, leaf in outcome.leaves:
            name = path.replace(_OF, _ALONE) if path in both else path
            reason = None if name == path else reason_for(path.partition(_OF)[0], reasons, {})
            exempt += [] if reason is None else [(name, reason)]
            leaves.append((name, leaf))
        return outcome._replace(leaves=tuple(leaves), exempt=tuple(exempt))

    return renamed(one), renamed(other)


def _lists(outcomes: Sequence[Outcome], one_process: Outcome) -> Mapping[str, str]:
    """Returns path and description of the lists that have an item for each replica, as one process has them."""
    theirs = [dict(one.structure) for one in outcomes]
    found = {}
    for path, text in one_process.structure:
        whole = described_length(text)
        parts = [described_length(one[path]) if path in one else None for one in theirs]
        if whole is not None and whole[1] == len(outcomes) and all(part == (whole[0], 1) for part in parts):
            found[path] = text
    return found


def _structure(
    outcomes: Sequence[Outcome], one_process: Outcome, lists: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yields path and description of the containers; where workers differ, as one process describes them.

    One that some workers alone have, and one process has not, is left out: so are the values in it.
    """
    theirs = [dict(one.structure) for one in outcomes]
    expected = {**dict(one_process.structure), **lists}
    for path in dict.fromkeys(path for one in theirs for path in one):
        found = [one.get(path) for one in theirs]
        text = found[0] if path not in lists and len({*found}) == 1 else expected.get(path)
        if text is not None or None not in found:
            yield path, text or found[0] or ""


def _placed(path: str, worker: int, lists: Mapping[str, str]) -> str:
    """Returns the path that a worker's leaf has in a run in one process.

    >>> _placed("variable 0 'w', replica 0", 2, {}), _placed("result[0]['a']", 1, {"result": "tuple of 2"})
    ("variable 0 'w', replica 2", "result[1]['a']")
    """
    if path.startswith("variable ") and path.endswith(_COMPONENT):
        return f"{path.removesuffix(_COMPONENT)}, replica {worker}"
    for container in lists:
        if path.startswith(f"{container}[0]"):
            path = f"{container}[{worker}]{path.removeprefix(f'{container}[0]')}"
    return path.replace(f"{_OF}0", f"{_OF}{worker}")


def _is_of_replica(path: str, lists: Mapping[str, str]) -> bool:
    inside = any(path.startswith(f"{container}[") for container in lists)
    return inside or _OF in path or (path.startswith("variable ") and ", replica " in path)


def _leaves(outcome: Outcome) -> Iterator[tuple[str, Leaf]]:
    dtypes = outcome.computed or tuple([leaf.dtype.name for _, leaf in outcome.leaves])
    for (path, leaf), dtype in zip(outcome.leaves, dtypes, strict=True):
        yield path, (leaf, dtype)


def _equal(leaves: Sequence[Leaf], count: int) -> bool:
    """Returns whether all workers have a value, and the same one."""
    return len(leaves) == count and all(same_bits(leaves[0][0], leaf) for leaf, _ in leaves[1:])
