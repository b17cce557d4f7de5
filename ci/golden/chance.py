"""Seeded numbers, and the bodies of cases that hold them. The same on every machine; it draws no case itself.

Of Python's generator only `random()` is used, which is promised to stay as it is, and no number is made by
arithmetic that a processor may round in its own way.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from arrays import encoded

FLOATS = ("float16", "float32", "float64", "complex64", "complex128")
REPLICAS = (1, 2, 3, 5, 6, 7, 8)
# A large number, and one that is lost beside it.
SCALES = {"float16": 2048.0, "float32": 1e8, "float64": 1e16, "complex64": 1e8, "complex128": 1e16}

Body = dict[str, Any]
Array = np.ndarray[Any, Any]


class Chance:
    """Seeded numbers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def below(self, limit: int) -> int:
        return int(self._random() * limit)

    def pick(self, items: Any) -> Any:
        return items[self.below(len(items))]

    def array(self, dtype: str, shape: tuple[int, ...]) -> Array:
        """Returns inexact numbers of many sizes; integers come from the whole of their range."""
        kind = np.dtype(dtype).kind
        return np.array([self._number(dtype, kind) for _ in range(math.prod(shape))], dtype).reshape(shape)

    def lossy(self, dtype: str, shape: tuple[int, ...]) -> Array:
        """Returns numbers that are lost or not as others were added before."""
        numbers = [SCALES[dtype] * sign for sign in (1, -1)] + [1.0, 1.0, 3.0, 0.1]
        return np.array([self.pick(numbers) for _ in range(math.prod(shape))], dtype).reshape(shape)

    def of_these(self, dtype: str, numbers: list[float], replicas: int) -> list[Array]:
        """Returns four of the numbers for each replica; a complex number is made of two."""
        parts = np.finfo(dtype).dtype
        return [np.array([self.pick(numbers) for _ in range(8)], parts).view(dtype)[:4] for _ in range(replicas)]

    def _number(self, dtype: str, kind: str) -> Any:
        if kind in "iu":
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            # Not all of a 64-bit integer's bits are in one float.
            return low + (self.below(2**31) * 2**33 + self.below(2**33)) % (high - low + 1)
        if kind == "c":
            return complex(self._number("float32", "f"), self._number("float32", "f"))
        return (self._random() * 2 - 1) * 2.0 ** (self.below(9) - 4)


Maker = Callable[[Chance, int], Body]


def drawn(seed: int, makers: Mapping[Maker, int]) -> list[Body]:
    """Returns as many cases of each maker as it says, in order; ids are the makers' names and numbers."""
    chance = Chance(seed)
    bodies: Iterator[Body] = itertools.chain.from_iterable(
        ({"id": f"{maker.__name__}-{number:02}", **maker(chance, number)} for number in range(count))
        for maker, count in makers.items()
    )
    return list(bodies)


def reduce(op: str, axis: Any, values: list[Array]) -> Body:
    written = [encoded(value) for value in values]
    return {"kind": "reduce", "replicas": len(values), "op": op, "axis": axis, "values": written}


def all_reduce(op: str, columns: list[list[Array]], structure: str) -> Body:
    written = [[encoded(value) for value in column] for column in columns]
    body = {"kind": "all_reduce", "replicas": len(columns[0]), "op": op}
    return {**body, "values": written, "structure": structure}
