"""Declared costs: how long computing and communication take, in virtual time.  No clock is read.

A message of `s` bytes takes ``alpha_s + s × beta_s_per_byte``, and every device sends one at a time. Of `n` devices and
`s` bytes on each, a call takes so many messages and bytes, one after the other:

============== =========================== ============================ ==============================
call           linear                      ring                         tree, d = ⌈log2 n⌉
============== =========================== ============================ ==============================
all-reduce     2(n-1), of s                2(n-1), of s/n               2d, of s
reduce         n-1, of s                   2(n-1), of s/n               d, of s
broadcast      n-1, of s                   n-1, of s                    d, of s
all-gather     n-1, of s; n-1, of n·s      n-1, of s                    d, together (n-1)·s
reduce-scatter n-1, of s; n-1, of s/n      n-1, of s/n                  d, together s(n-1)/n
============== =========================== ============================ ==============================

Linear: the first device receives from all others, one after the other, and sends to each of them. Source of the ring
and the tree: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in MPICH",
International Journal of High Performance Computing Applications 19(1), 2005.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final, Literal, TypeAlias, final

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.sim.collectives import order_named

__all__ = ["Call", "Cost", "formula"]

Call: TypeAlias = Literal["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"]

_Formula = tuple[str, Callable[[int, float], tuple[float, float]]]
"""In words, and the number of messages and of bytes that follow one another, of n devices and s bytes."""


def _rounds(devices: int) -> int:
    return (devices - 1).bit_length()


_ONE_BY_ONE: Final[_Formula] = ("n-1 messages of s bytes", lambda n, s: (n - 1, (n - 1) * s))
_IN_ROUNDS: Final[_Formula] = ("⌈log2 n⌉ messages of s bytes", lambda n, s: (_rounds(n), _rounds(n) * s))
_ROUND_TWICE: Final[_Formula] = ("2(n-1) messages of s/n bytes", lambda n, s: (2 * (n - 1), 2 * (n - 1) * s / n))

_FORMULAS: Final[Mapping[Call, Mapping[str, _Formula]]] = {
    "all_reduce": {
        "linear": ("2(n-1) messages of s bytes", lambda n, s: (2 * (n - 1), 2 * (n - 1) * s)),
        "ring": _ROUND_TWICE,
        "tree": ("2⌈log2 n⌉ messages of s bytes", lambda n, s: (2 * _rounds(n), 2 * _rounds(n) * s)),
    },
    "reduce": {"linear": _ONE_BY_ONE, "ring": _ROUND_TWICE, "tree": _IN_ROUNDS},
    "broadcast": {"linear": _ONE_BY_ONE, "ring": _ONE_BY_ONE, "tree": _IN_ROUNDS},
    "all_gather": {
        "linear": (
            "n-1 messages of s bytes, and n-1 of n·s",
            lambda n, s: (2 * (n - 1), (n - 1) * s + (n - 1) * n * s),
        ),
        "ring": _ONE_BY_ONE,
        "tree": ("⌈log2 n⌉ messages of (n-1)s bytes together", lambda n, s: (_rounds(n), (n - 1) * s)),
    },
    "reduce_scatter": {
        "linear": (
            "n-1 messages of s bytes, and n-1 of s/n",
            lambda n, s: (2 * (n - 1), (n - 1) * s + (n - 1) * s / n),
        ),
        "ring": ("n-1 messages of s/n bytes", lambda n, s: (n - 1, (n - 1) * s / n)),
        "tree": ("⌈log2 n⌉ messages of s(n-1)/n bytes together", lambda n, s: (_rounds(n), (n - 1) * s / n)),
    },
}


def formula(call: Call, algorithm: str) -> str:
    """Returns the formula of a call in words.

    >>> formula("all_reduce", "ring")
    '2(n-1) messages of s/n bytes'
    """
    return _FORMULAS[call][algorithm][0]


@final
@dataclass(frozen=True, slots=True)
class Cost:
    """What a run costs in virtual time; `timeline` applies it to a recording, so no run is changed by it.

    compute_s: seconds that a replica computes before each synchronisation point. row_s: seconds for each row of its
    part of a step, before the first point after it was drawn. alpha_s: seconds for each message. beta_s_per_byte:
    seconds for each byte of one. slow: by rank, the factor by which a replica computes longer. algorithm: of
    collectives, `linear`, `ring` or `tree`; None for the order of additions of the recording. overlap: whether a
    collective that makes one value for all replicas runs beside their computing, one after the other, until the `run`
    ends, as buckets of gradients do. Raises InvalidArgument for a time that is negative or no finite number, for a
    factor that is not above 0, and for an unknown algorithm. Clauses: M-19 to M-22.

    >>> Cost(alpha_s=1.0, beta_s_per_byte=0.5).seconds("all_reduce", 4, 16, "ring")
    18.0
    """

    compute_s: float = 0.0
    row_s: float = 0.0
    alpha_s: float = 0.0
    beta_s_per_byte: float = 0.0
    slow: Mapping[int, float] = field(default_factory=dict)
    algorithm: str | None = None
    overlap: bool = False

    def __post_init__(self) -> None:
        for name in ("compute_s", "row_s", "alpha_s", "beta_s_per_byte"):
            value = getattr(self, name)
            if not _is_number(value) or value < 0:
                raise InvalidArgument(f"{name} is a number of seconds, got {short_repr(value)}. Pass 0 or more.")
        if not isinstance(self.slow, Mapping) or not all(map(_is_factor, self.slow.items())):
            raise InvalidArgument(
                f"slow has a factor above 0 for each slow replica, by its rank, got {short_repr(self.slow)}. Pass for "
                f"example {{2: 4.0}}."
            )
        if self.algorithm is not None:
            order_named(self.algorithm)
        if not isinstance(self.overlap, bool):
            raise InvalidArgument(f"overlap is True or False, got {short_repr(self.overlap)}.")

    def computing(self, rank: int, rows: int) -> float:
        """Returns for how many seconds a replica computes before a point.  rows: of a part that it has not used yet."""
        return (self.compute_s + rows * self.row_s) * self.slow.get(rank, 1.0)

    def seconds(self, call: Call, devices: int, size: float, algorithm: str) -> float:
        """Returns how long a call takes.  size: bytes on each device, of unequal ones the largest."""
        if devices < 2:
            return 0.0
        messages, total = _FORMULAS[call][algorithm][1](devices, size)
        return messages * self.alpha_s + total * self.beta_s_per_byte


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _is_factor(item: tuple[Any, Any]) -> bool:
    rank, factor = item
    return isinstance(rank, int) and not isinstance(rank, bool) and rank >= 0 and _is_number(factor) and factor > 0
