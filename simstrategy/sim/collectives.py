"""The simulator's sums, minima and maxima, in a defined order of operations.

`linear`: rank 0, then 1, then 2 …, with one rounding to the dtype at each addition (TensorFlow on one CPU).
`ring`: the flat array is cut into N blocks of ceil(size / N) elements; the sum of block k begins at rank k + 1, goes
round the ring and ends at rank k. `tree`: neighbours first, then neighbouring pairs, and so on.
"""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final

import numpy as np

from simstrategy.device import Op
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr

__all__ = ["ORDERS", "combine", "order_named"]

Host = np.ndarray[Any, Any]
Pair = Callable[..., Any]
"""Combines two arrays elementwise; a third argument receives the result."""
Fold = Callable[[Sequence[Host], Pair], Host]


def _minimum(x1: Host, x2: Host, out: Host | None = None) -> Host:
    least: Host = np.minimum(x1, x2, out=out)
    return least


def _maximum(x1: Host, x2: Host, out: Host | None = None) -> Host:
    most: Host = np.maximum(x1, x2, out=out)
    return most


# NumPy is fastest with `out` by position, which `add` accepts and minimum and maximum do not.
_PAIRS: Final[dict[str, Pair]] = {"SUM": np.add, "MIN": _minimum, "MAX": _maximum}
_BLOCK: Final = 262_144
"""The number of elements that are added over all ranks before the next ones.

The total of so many stays in the cache, and the part of each rank is long enough to stream.
"""


def _linear(arrays: Sequence[Host], pair: Pair) -> Host:
    if len(arrays) == 1:
        return np.array(arrays[0])
    first, second, *others = arrays
    total: Host
    if first.size <= _BLOCK or not others:
        total = pair(first, second)
        if first.ndim == 0:
            total = np.asarray(total)
        into = repeat(total)
        deque(map(pair, into, others, into), maxlen=0)  # one addition after the other, in rank order
        return total
    total = np.empty(first.shape, first.dtype)
    flat = total.reshape(-1)
    sources = [array.reshape(-1) for array in arrays]
    for start in range(0, flat.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        out = flat[part]
        pair(sources[0][part], sources[1][part], out)
        for source in sources[2:]:
            pair(out, source[part], out)
    return total


def _ring(arrays: Sequence[Host], pair: Pair) -> Host:
    count, first = len(arrays), arrays[0]
    total = np.empty(first.shape, first.dtype)
    flat = total.reshape(-1)
    sources = [array.reshape(-1) for array in arrays]
    block = -(-flat.size // count)
    for k in range(count):
        part = slice(k * block, (k + 1) * block)
        flat[part] = _linear([sources[(k + 1 + step) % count][part] for step in range(count)], pair)
    return total


def _tree(arrays: Sequence[Host], pair: Pair) -> Host:
    level = [np.array(array) for array in arrays]
    while len(level) > 1:
        pairs = [np.asarray(pair(level[i], level[i + 1])) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2 :]
    return level[0]


ORDERS: Final[dict[str, Fold]] = {"linear": _linear, "ring": _ring, "tree": _tree}


def order_named(name: str) -> Fold:
    """Returns the function of an order of operations.  Raises InvalidArgument for an unknown name."""
    if not isinstance(name, str) or name not in ORDERS:
        raise InvalidArgument(
            f"The simulator has no order of additions named {short_repr(name)}; choose from {sorted(ORDERS)}."
        )
    return ORDERS[name]


def combine(arrays: Sequence[Host], op: Op, fold: Fold) -> Host:
    """Combines the arrays of all ranks elementwise to a new array of their dtype.

    arrays: one [...] per rank, of equal shape and dtype, in rank order. Integers overflow without an error; MIN and
    MAX with a NaN are NaN.
    """
    return fold(list(map(np.ndarray.view, arrays, repeat(np.ndarray))), _PAIRS[op])
