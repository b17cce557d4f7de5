"""What an outcome means whatever the number of replicas: the values by which runs on several numbers are compared.

A variable with a component on each replica stands for its aggregate; a result that holds one value for each replica
stands for these values, and for one value where they are equal or are parts of one array.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.contents import described_length, is_distributed
from simstrategy.check.distances import one_unit, same_bits
from simstrategy.check.outcome import Outcome, VariableKind

__all__ = ["COPIES", "Meaning", "lists_by_replica", "meaning_of"]

COPIES: Final = "copies"
"""The layout of a value of which each replica has a copy, in a program without variables of a strategy."""

Host = np.ndarray[Any, Any]

_REPLICA: Final = re.compile(r" of local replica (\d+)")
_COMPONENT: Final = re.compile(r"(variable \d+ .*), replica \d+", re.DOTALL)


class Meaning(NamedTuple):
    """The values of an outcome, by path without replicas.

    whole: values that all replicas have in common. apart: one value for each replica, which are not all equal.
    structure: the containers around them. computed: the coarsest dtype in which a value was computed. copies: the paths
    of values of which each replica has a copy, and should have the same. partly: why a value is compared in part alone.
    missing: why a value is not there to be compared. first: the path that a value, or a container, has on the first
    replica, where that is another one.
    """

    whole: Mapping[str, Host]
    apart: Mapping[str, tuple[Host, ...]]
    structure: tuple[tuple[str, str], ...]
    computed: Mapping[str, str]
    copies: frozenset[str] = frozenset()
    partly: Mapping[str, str] = {}
    missing: Mapping[str, str] = {}
    first: Mapping[str, str] = {}

    def values(self, path: str) -> tuple[Host, ...]:
        """Returns the value of a path, or one for each replica; () for a path that is not there."""
        return (self.whole[path],) if path in self.whole else self.apart.get(path, ())


def lists_by_replica(one: Outcome, other: Outcome, counts: tuple[int, int]) -> frozenset[str]:
    """Returns the paths of lists that have an item for each replica in both outcomes.

    counts: the two numbers of replicas. A list is taken for one if its length is the number of replicas both times.
    """
    lengths = [
        {path: found for path, text in outcome.structure if (found := described_length(text)) is not None}
        for outcome in (one, other)
    ]
    both = lengths[0].keys() & lengths[1].keys()
    return frozenset(
        path
        for path in both
        if tuple(found[path][1] for found in lengths) == counts and lengths[0][path][0] == lengths[1][path][0]
    )


def meaning_of(outcome: Outcome, lists: frozenset[str] = frozenset()) -> Meaning:
    """Returns the meaning of an outcome.  lists: the paths of lists that have an item for each replica."""
    grouped: dict[str, list[Host]] = {}
    computed: dict[str, str] = {}
    firsts: dict[str, str] = {}
    dtypes = outcome.computed or tuple(leaf.dtype.name for _, leaf in outcome.leaves)
    for (path, leaf), dtype in zip(outcome.leaves, dtypes, strict=True):
        component = _COMPONENT.fullmatch(path)
        key = component[1] if component is not None else _without_replicas(path, lists)[0]
        grouped.setdefault(key, []).append(leaf)
        firsts.setdefault(key, path)
        computed[key] = max(computed.get(key, dtype), dtype, key=_unit)
    kinds = {kind.path: kind for kind in outcome.variables}
    whole: dict[str, Host] = {}
    apart: dict[str, tuple[Host, ...]] = {}
    for path, values in grouped.items():
        value = _in_common(values, kinds.get(path))
        if value is None:
            apart[path] = tuple(values)
        else:
            whole[path] = value
    copies = frozenset(path for path in grouped if path in kinds and kinds[path].layout == COPIES)
    partly = {_without_replicas(path, lists)[0]: reason for path, reason in outcome.partly}
    structure = [*_structure(outcome.structure, lists)]
    firsts |= {key: path for path, key, _ in structure}
    described = tuple([(key, text) for _, key, text in structure])
    other = {key: path for key, path in firsts.items() if key != path}
    return Meaning(whole, apart, described, computed, copies, partly, dict(outcome.missing), other)


def _unit(dtype: str) -> float:
    return one_unit(dtype) if dtype.startswith(("float", "bfloat")) else 0.0


def _structure(structure: Iterable[tuple[str, str]], lists: frozenset[str]) -> Iterable[tuple[str, str, str]]:
    """Yields the containers without those that have an item for each replica, and of the items the first one's.

    Each comes with its path, and its path without replicas.
    """
    for path, text in structure:
        if path in lists or is_distributed(text):
            continue
        key, replicas = _without_replicas(path, lists)
        if not any(replicas):
            yield path, key, text


def _without_replicas(path: str, lists: frozenset[str]) -> tuple[str, list[int]]:
    """Returns a path without the replicas in it, and their numbers."""
    numbers = []
    for container in sorted(lists, key=len, reverse=True):
        found = re.match(r"\[(\d+)\]", path[len(container) :]) if path.startswith(container) else None
        if found is not None:
            numbers.append(int(found[1]))
            path = container + path[len(container) + found.end() :]
    numbers += map(int, _REPLICA.findall(path))
    return _REPLICA.sub("", path), numbers


def _in_common(values: list[Host], kind: VariableKind | None) -> Host | None:
    """Returns the value that stands for all replicas' [any shape]; None where there is none."""
    first = values[0]
    if kind is not None and kind.layout == "per_replica":
        if kind.aggregation == "SUM":
            total: Host = np.sum(np.stack(values), axis=0, dtype=_sum_dtype(first)).astype(first.dtype)
            return total
        if kind.aggregation == "MEAN":
            return np.asarray(np.mean(np.stack(values), axis=0, dtype=np.result_type(_sum_dtype(first), np.float64)))
        if kind.aggregation == "ONLY_FIRST_REPLICA":
            return first
    return first if all(same_bits(first, one) for one in values) else None


def _sum_dtype(value: Host) -> Any:
    return np.float64 if value.dtype.kind == "f" or value.dtype.name == "bfloat16" else value.dtype
