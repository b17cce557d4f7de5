"""Does a Keras program come to the same with any number of replicas?  Runs it under the real MirroredStrategy to see.

Every run adds in rank order and is traced. What replicas disagree about is an error of the run, and is reported;
which layers may differ (a BatchNormalization sees each replica's part alone) is for the reader to know.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import keras  # type: ignore[import-untyped]
import numpy as np

from simstrategy.errors import InvalidArgument, SimStrategyError
from simstrategy.trace import Event, Trace
from simstrategy_tf_distribute.devices import mirrored
from simstrategy_tf_distribute.reduction import OrderedReduction

__all__ = ["Agreement", "Row", "replicas_agree"]

Host = np.ndarray[Any, Any]
RTOL, ATOL = 1e-3, 1e-5
"""What sums of float32 in another order come to in a short training; see `replicas_agree`."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One replica count beside the first."""

    replicas: int
    verdict: str
    """"the same bits", "within rounding", or what differs first, and by how much."""
    agrees: bool
    events: tuple[Event, ...]
    """What the replicas reduced, traced once for each traced step."""


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """What `replicas_agree` found; prints as a table."""

    rows: tuple[Row, ...]

    def __bool__(self) -> bool:
        return all(row.agrees for row in self.rows)

    def __str__(self) -> str:
        lines = [f"{row.replicas:>8}  {len(row.events):>10}  {row.verdict}" for row in self.rows]
        return "\n".join(["replicas  reductions  beside the first", *lines])

    def raise_for_difference(self) -> None:
        """Raises AssertionError with the table unless all replica counts agree."""
        if not self:
            raise AssertionError(f"The program depends on the number of replicas:\n{self}")


def replicas_agree(
    program: Callable[[Any], Any],
    *,
    replicas: Sequence[int] = (1, 2, 4),
    seed: int = 0,
    rtol: float = RTOL,
    atol: float = ATOL,
) -> Agreement:
    """Runs `program(strategy)` under the real MirroredStrategy for each number of replicas, and compares.

    program: builds, compiles and fits in `strategy.scope()`, and returns a nest of arrays and numbers:
    weights, a history. Before each run Keras's seed is set anew. rtol, atol: |a - b| <= atol + rtol |a| is
    rounding. Raises InvalidArgument for no replica counts, and what the program raises with the first.
    """
    if not replicas or not callable(program):
        raise InvalidArgument("replicas_agree takes a program(strategy) and at least one number of replicas.")
    rows: list[Row] = []
    expected: dict[str, Host] = {}
    for count in replicas:
        trace = Trace()
        keras.utils.set_random_seed(seed)
        strategy = mirrored(count, OrderedReduction(trace=trace))
        try:
            found = dict(_leaves(program(strategy), "result"))
        except SimStrategyError as error:
            if not rows:
                raise
            rows.append(Row(count, f"{type(error).__name__}: {error}", False, tuple(trace.events())))
            continue
        expected = expected or found
        verdict, agrees = _compared(expected, found, rtol, atol)
        rows.append(Row(count, verdict if rows else "the first", agrees, tuple(trace.events())))
    return Agreement(tuple(rows))


def _compared(expected: Mapping[str, Host], found: Mapping[str, Host], rtol: float, atol: float) -> tuple[str, bool]:
    if list(expected) != list(found):
        only = [path for path in {**expected, **found} if (path in expected) != (path in found)]
        return f"another structure: {', '.join(only[:3])} is there once only", False
    same = True
    for path, one in expected.items():
        other = found[path]
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return f"{path}: {one.dtype}{list(one.shape)} became {other.dtype}{list(other.shape)}", False
        same = same and one.tobytes() == other.tobytes()
        if not np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True):
            far = np.abs(one.astype(np.float64) - other.astype(np.float64))
            where = np.unravel_index(int(np.argmax(far)), far.shape)
            return f"{path}{list(map(int, where))}: {one[where]!s} became {other[where]!s}", False
    return ("the same bits" if same else "within rounding"), True


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Host]]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _leaves(item, f"{path}[{number}]")
    else:
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            raise InvalidArgument(
                f"The program returned {value!r:.60} at {path}, which is no array of numbers. Return weights, such as "
                f"model.get_weights(), and a history, such as model.fit(...).history."
            )
        yield path, array
