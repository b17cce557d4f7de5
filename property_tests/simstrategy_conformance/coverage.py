"""The constructs of programs: a word for each, and the number of programs that have it.

A construct that few programs have is a clause that few programs examine.
"""

from collections.abc import Iterator
from typing import Any, Final

from simstrategy_conformance.program import AllReduce, Merge, Program, Reduce
from simstrategy_conformance.tally import counted

__all__ = ["CONSTRUCTS", "collectives_of", "constructs_of", "count_words", "replicas_and_numbers"]

_KINDS: Final = tuple(
    f"{synchronization} {aggregation}"
    for synchronization in ("ON_WRITE", "ON_READ")
    for aggregation in ("SUM", "MEAN", "ONLY_FIRST_REPLICA", "NONE")
)
CONSTRUCTS: Final = (
    "all_reduce", "all_gather", "merge_call", "nested run", "nest", "MEAN", "reduce", "reduce with axis", "gather",
    "local results", "variable write", "variable read", "assign outside", "read outside", *_KINDS, "dataset",
    "partial batch", "empty batch", "empty part", "seed", "shared object", "context", "scope", "schedule",
    "several runs", "raise", "early return", "disagreement", "TF2", "one replica", "four replicas or more", "workers",
    "used result", "not float32",
)  # fmt: skip
"""Every word that `constructs_of` returns."""

_SIMPLE: Final = {
    "all_reduce": "all_reduce", "all_gather": "all_gather", "merge": "merge_call", "write": "variable write",
    "read": "variable read", "share": "shared object", "seed": "seed", "look": "context", "reduce": "reduce",
    "gather": "gather", "local": "local results", "assign": "assign outside", "fetch": "read outside",
}  # fmt: skip
_STOPS: Final = {"raise": "raise", "leave": "early return", "disagree": "disagreement"}


def _values(statement: Any) -> Iterator[Any]:
    names = [name for name in ("nest", "value") if name in statement.__slots__]
    found = [getattr(statement, name) for name in names]
    while found:
        one = found.pop()
        yield one
        found += one.items if one.kind == "node" else ()


def constructs_of(program: Program) -> set[str]:
    """Returns the words for the constructs of a program."""
    words = {_SIMPLE[one.kind] for one in (*program.body, *program.after) if one.kind in _SIMPLE}
    words |= {_STOPS[one.how] for one in program.body if one.kind == "stop"}  # type: ignore[union-attr]
    every: list[Any] = [*program.body, *program.after]
    words |= {"nested run" for one in every if one.kind == "merge" and one.how == "nested"}
    words |= {"MEAN" for one in every if _is_mean(one)}
    words |= {"reduce with axis" for one in program.after if one.kind == "reduce" and one.axis is not None}  # type: ignore[union-attr]
    words |= {f"{one.synchronization} {one.aggregation}" for one in program.variables}
    for statement in program.body:
        for value in _values(statement):
            words |= {"nest"} if value.kind == "node" else {"used result"} if value.kind == "use" else set()
            if value.kind == "given":
                words |= {"not float32"} if value.dtype != "float32" else set()
                words |= {"empty part"} if any(part == () for part in value.parts) else set()
    words |= _of_data(program)
    settings = {
        "scope": program.scoped, "schedule": program.draws, "TF2": program.profile == "TF2",
        "several runs": program.runs > 1, "one replica": program.ranks == 1,
        "four replicas or more": program.ranks >= 4, "workers": program.workers > 1,
    }  # fmt: skip
    return words | {word for word, there in settings.items() if there}


def _is_mean(statement: Any) -> bool:
    match statement:
        case AllReduce(op="MEAN") | Reduce(op="MEAN") | Merge(how="mean"):
            return True
    return False


def _of_data(program: Program) -> set[str]:
    if program.data is None:
        return set()
    size, batch = len(program.data.numbers), program.data.batch
    words = {"dataset", *(("partial batch",) if size % batch else ()), *(("several runs",) if size > batch else ())}
    last = size % batch or batch
    width = -(-last // program.ranks)
    return words | ({"empty batch"} if width * (program.ranks - 1) >= last else set())


def collectives_of(program: Program) -> int:
    """Returns the number of synchronisation points and of reductions in a program."""
    aggregating = ("SUM", "MEAN", "ONLY_FIRST_REPLICA")
    found = 0
    for one in program.body:
        if one.kind in ("all_reduce", "all_gather"):
            found += max(sum(value.kind != "node" for value in _values(one)), 1)
        elif one.kind == "merge":
            found += 2 if one.how in ("nested", "sum", "mean") else 1  # type: ignore[union-attr]
        elif one.kind == "write":
            spec = program.variables[one.variable]  # type: ignore[union-attr]
            found += spec.synchronization == "ON_WRITE" and spec.aggregation in aggregating
        elif one.kind == "stop":
            found += 1
    return found * steps_of(program) + sum(one.kind in ("reduce", "gather") for one in program.after)


def steps_of(program: Program) -> int:
    """Returns how often the replica function runs."""
    return program.runs if program.data is None else -(-len(program.data.numbers) // program.data.batch)


def replicas_and_numbers(program: Program) -> tuple[int, int]:
    """Returns how many replicas a program has, and how many numbers it is written with, those of all replicas."""
    found = [value for statement in program.body for value in _values(statement) if value.kind == "given"]
    numbers = sum(_count(one.parts) for one in found) + sum(_count(one.initial) for one in program.variables)
    numbers += 0 if program.data is None else len(program.data.numbers)
    return program.ranks, numbers + sum(one.kind == "assign" for one in program.after)


def _count(numbers: Any) -> int:
    return sum(map(_count, numbers)) if isinstance(numbers, tuple) else 1


def count_words(test: str, program: Program) -> None:
    """Counts the constructs of a program, in this process."""
    words = counted.words.setdefault(test, {})
    for word in (*sorted(constructs_of(program)), f"collectives {collectives_of(program)}"):
        words[word] = words.get(word, 0) + 1
