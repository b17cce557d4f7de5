"""Draws the cases of evidence/processor.jsonl: what TensorFlow leaves to its processor's vector registers.

Sums of more than three elements in one replica, subnormal numbers (2.21 takes them for zero), complex quotients (1.x
divides four numbers at a time by another formula than one), and quotients of infinite complex numbers. Not to be
answered to the bit by anybody else: it is there to be looked at. It asks nobody for answers.
"""

import math

from chance import FLOATS, REPLICAS, Body, Chance, drawn, reduce

SEED = 21
# Of the smallest number that is normal, and of the smallest of all.
EXPONENTS = {"float16": (-14, -24), "float32": (-126, -149), "float64": (-1022, -1074), "complex64": (-126, -149)}
COMPLEX = ("complex64", "complex128")


def vectors(chance: Chance, number: int) -> Body:
    size = (4, 5, 8, 16, 50)[number // 5]
    shape, axis = chance.pick((((size,), 0), ((size, 3), 0), ((3, size), 1)))
    return reduce("SUM", axis, [chance.array(FLOATS[number % 5], shape) for _ in range(1 + chance.below(3))])


def subnormal(chance: Chance, number: int) -> Body:
    dtype = [*EXPONENTS][number % 4]
    normal, least = EXPONENTS[dtype]
    # By ldexp, which asks no processor whether it may round the smallest numbers away.
    small, tiny = math.ldexp(1.0, normal), math.ldexp(1.0, least)
    numbers = [small, -small, tiny, -tiny, math.ldexp(3.0, least), -0.0, math.ldexp(1.0, normal - 1)]
    op = ("SUM", "MEAN")[number // 4]
    return reduce(op, None, chance.of_these(dtype, numbers, chance.pick(REPLICAS[1:])))


def quotients(chance: Chance, number: int) -> Body:
    replicas, shape = (3, 6, 7)[number % 3], (1 + number,)
    return reduce("MEAN", None, [chance.array(COMPLEX[number % 2], shape) for _ in range(replicas)])


def infinite(chance: Chance, number: int) -> Body:
    numbers = [math.inf, 1.0, -math.inf, -2.0]
    values = chance.of_these(COMPLEX[number % 2], numbers, 2 + number // 2)
    return reduce("MEAN", None, [value[: 1 + 3 * (number // 2 % 2)] for value in values])


def draw() -> list[Body]:
    """Returns 50 cases, in order."""
    return drawn(SEED, {vectors: 25, subnormal: 8, quotients: 9, infinite: 8})


def releases_of(body: Body) -> tuple[str, ...]:
    """Returns the releases that are asked for a case."""
    return ("1.13.2", "1.15.5", "2.21.0") if body["axis"] is None else ("1.15.5", "2.21.0")
