"""The parts that programs may have, and the facts that the generator keeps of a drawn value.  Draws nothing."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

__all__ = ["AFTER", "BODY", "Grammar", "Value", "filled", "patterned", "shape_of"]

BODY: Final = ("all_reduce", "all_gather", "merge", "write", "read", "compute", "give", "share", "seed", "look")
AFTER: Final = ("reduce", "gather", "local", "assign", "fetch")
_VARIABLE_KINDS: Final = tuple(
    (synchronization, aggregation)
    for synchronization in ("ON_WRITE", "ON_READ")
    for aggregation in ("SUM", "MEAN", "ONLY_FIRST_REPLICA", "NONE")
)


class Grammar(NamedTuple):
    """What programs are made of; a statement that is named several times is drawn more often."""

    body: tuple[str, ...] = ("all_reduce", "all_reduce", "merge", "all_gather", *BODY, "write", "write")
    after: tuple[str, ...] = ("reduce", "reduce", "assign", "fetch", "gather", *AFTER)
    shapes: tuple[tuple[int, ...], ...] = ((), (1,), (2,), (0,), (3,), (2, 2))
    """The shapes of replicas' values; few, so that a backend that compiles for each shape compiles little."""
    dtypes: tuple[str, ...] = ("float32", "float32", "float32", "int32", "float64", "float16", "int64", "uint8")
    """Of what replicas give, where the backend has them."""
    sizes: tuple[int, ...] = (0, 1, 2, 3)
    """Along the first axis, where each replica has its own; with one alone, all give the same shape."""
    merges: tuple[str, ...] = ("sum", "nested", "nested", "local", "same", "mean")
    """What functions of `merge_call` do."""
    body_max: int = 7
    after_max: int = 4
    variables: bool = True
    variables_min: int = 0
    kinds: tuple[tuple[str, str], ...] = _VARIABLE_KINDS
    """Synchronization and aggregation of variables."""
    data: bool | None = None
    """Whether there is a dataset; None for either."""
    stops: bool = True
    """Whether a replica may raise, leave, or disagree."""
    stop_kinds: tuple[str, ...] = ("raise", *("leave",) * 3, *("disagree",) * 3)
    stop_certain: bool = False
    draws: bool = True
    workers_max: int = 2
    replicas_min: int = 1
    profiles: tuple[str, ...] = ("TF1_15", "TF2")


class Value(NamedTuple):
    """The facts about the result of a statement.

    shapes: of each rank, None where a batch has left them open. bits: of the largest number, in quarters; None
    where sums would round. shared: one object on all replicas.
    """

    dtype: str
    shapes: tuple[tuple[int, ...], ...] | None
    bits: int | None
    shared: bool = False

    @property
    def even(self) -> bool:
        """Whether all ranks have the same shape."""
        return self.shapes is not None and len(set(self.shapes)) == 1

    @property
    def summable(self) -> bool:
        """Whether a sum of such values, and of values computed from them, is exact."""
        return self.bits is not None and self.bits <= (7 if self.dtype == "float16" else 12)


def shape_of(numbers: Any) -> tuple[int, ...]:
    """Returns the shape of a nest of tuples of numbers."""
    return (len(numbers), *(shape_of(numbers[0]) if numbers else ())) if isinstance(numbers, tuple) else ()


def filled(shape: tuple[int, ...], numbers: Iterator[float | int]) -> Any:
    """Returns a nest of tuples of a shape, of the next numbers."""
    return tuple(filled(shape[1:], numbers) for _ in range(shape[0])) if shape else next(numbers)


def patterned(dtype: str, pattern: int, place: int) -> float | int:
    """Returns the number of a pattern at a place: of those that programs are made of, and 0 for pattern 0."""
    number = (pattern * (7 * place + 3)) % 32
    if dtype.startswith("float"):
        return (number - 16 if pattern else 0) / 4
    return number * 8 if dtype == "uint8" else (number % 19 - 9 if pattern else 0)
