"""Draws the cases of probes.jsonl: rounding, order, extremes, and dtypes that exact sums say nothing of.

No replica adds more than three elements of its own, nothing but halves is subnormal, and no infinite complex number is
divided: those are matters of vector registers, see processor.py. It asks nobody for answers.
"""

import math
from typing import Any

import numpy as np
from arrays import encoded
from chance import FLOATS, REPLICAS, Body, Chance, all_reduce, drawn, reduce

SEED = 20
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64")


def rounding(chance: Chance, number: int) -> Body:
    dtype, replicas, op = FLOATS[number % 5], chance.pick(REPLICAS), chance.pick(("SUM", "MEAN"))
    shape = chance.pick(((), (3,), (2, 2)))
    columns = [[chance.array(dtype, shape) for _ in range(replicas)] for _ in range(1 + number % 2)]
    if number % 3:
        return reduce(op, None, columns[0])
    return all_reduce(op, columns, "list" if len(columns) > 1 else "single")


def order(chance: Chance, number: int) -> Body:
    dtype, op = FLOATS[number % 5], ("SUM", "MEAN")[number % 2]
    values = [chance.lossy(dtype, (3,)) for _ in range(3 + number % 6)]
    return reduce(op, None, values) if number % 3 else all_reduce(op, [values], "single")


def axes(chance: Chance, number: int) -> Body:
    dtype, replicas, op = FLOATS[number % 5], chance.pick(REPLICAS), ("MEAN", "SUM", "MEAN")[number % 3]
    # The reduced axes of one replica hold n elements, three at most; where n is drawn for each, means weigh them.
    axis, shape, each = chance.pick(
        [
            (0, lambda n: (n,), True),
            (0, lambda n: (n, 4), True),
            (-1, lambda n: (3, n), True),
            (1, lambda n: (2, n, 2), True),
            ([0, 1], lambda n: (1, n, 3), True),
            ([-1, 0], lambda n: (n, 4, 1), False),
            ([], lambda n: (2, n), False),
        ]
    )
    one = 1 + chance.below(3)
    sizes = [1 + chance.below(3) if each else one for _ in range(replicas)]
    draw_one = chance.array if number % 2 else chance.lossy
    return reduce(op, axis, [draw_one(dtype, shape(size)) for size in sizes])


def extremes(chance: Chance, number: int) -> Body:
    dtype = FLOATS[number % 5]
    largest = float(np.finfo(dtype).max)
    numbers = [largest, -largest, math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, largest / 4]
    if dtype == "float16":
        # Halves are added as singles, in which their smallest are not subnormal.
        numbers += [2.0**-24, -(2.0**-24), 2.0**-14, 3 * 2.0**-24]
    op = "SUM" if "complex" in dtype else ("SUM", "MEAN")[number % 2]
    return reduce(op, chance.pick((None, None, [])), chance.of_these(dtype, numbers, chance.pick(REPLICAS)))


def empty(chance: Chance, number: int) -> Body:
    dtype, op = ("float32", "float16", "int32", "float64")[number % 4], ("MEAN", "SUM")[number % 2]
    # Every third case is empty everywhere.
    sizes = [0 if number % 3 == 2 else chance.below(4) for _ in range(1 + number % 4)]
    width = chance.pick(((), (2,), (0,)))
    axis = None if len(set(sizes)) == 1 and number % 2 else 0
    return reduce(op, axis, [chance.array(dtype, (size, *width)) for size in sizes])


def integers(chance: Chance, number: int) -> Body:
    dtype, op = INTEGERS[number % 8], ("SUM", "MEAN", "MEAN")[number // 8]
    replicas, axis = chance.pick(REPLICAS), (None, None, 0)[number // 8]
    sizes = [chance.pick((1, 2, 3))] * replicas if axis is None else [1 + chance.below(3) for _ in range(replicas)]
    return reduce(op, axis, [chance.array(dtype, (size,)) for size in sizes])


def variables(chance: Chance, number: int) -> Body:
    dtype = ("float32", "float64", "int32", "float16", "complex64", "int64", "float32", "int16")[number % 8]
    whole = np.dtype(dtype).kind == "i"
    replicas = chance.pick((2, 3, 5, 6, 7, 8))
    shape = chance.pick(((), (2,)))
    sync = "ON_READ" if number % 2 or whole else "ON_WRITE"
    agg = "SUM" if whole else chance.pick(("SUM", "MEAN", "SUM", "ONLY_FIRST_REPLICA"))

    def array() -> Body:
        # Small integers: what is shared out is cut off toward zero, and fits.
        return encoded(np.array(chance.array("int8", shape), dtype) if whole else chance.array(dtype, shape))

    def write(where: str, op: str) -> Body:
        return {"where": where, "op": op, "value": [array() for _ in range(replicas if where == "replica" else 1)]}

    assigned = "assign" if sync == "ON_READ" and agg == "SUM" else chance.pick(("assign", "assign_add", "assign_sub"))
    program = [
        write("replica", chance.pick(("assign", "assign_add", "assign_sub"))),
        {"where": "cross", "op": "read"},
        write("cross", assigned),
        {"where": "replica", "op": "read"},
        {"where": "cross", "op": "read"},
        write("replica", "assign_add"),
    ]
    body: dict[str, Any] = {"kind": "variable", "replicas": replicas, "sync": sync, "agg": agg, "dtype": dtype}
    return {**body, "init": array(), "program": program}


def draw() -> list[Body]:
    """Returns 200 cases, in order."""
    counts = {rounding: 36, order: 28, axes: 40, extremes: 20, empty: 10, integers: 24, variables: 42}
    return drawn(SEED, counts)


def releases_of(body: Body) -> tuple[str, ...]:
    """Returns the releases that are asked for a case: what 1.x cannot do is no matter of numbers."""
    if body["kind"] == "variable":
        return ("1.15.5", "2.21.0")
    first = body["values"][0] if body["kind"] == "reduce" else body["values"][0][0]
    # It has no sums of some dtypes, and divides some complex numbers by another formula.
    odd = body["op"] == "MEAN" and first["dtype"].startswith("complex") and body["replicas"] not in (1, 2, 8)
    if odd or first["dtype"] in ("uint32", "uint64"):
        return ("2.21.0",)
    if body["kind"] == "all_reduce":
        return ("1.15.5", "2.21.0")
    if body["axis"] is None:
        return ("1.13.2", "1.15.5", "2.21.0")
    # Means over a tuple, over as many elements everywhere, or of complex numbers fail in it, or are off.
    same = len({tuple(value["shape"]) for value in body["values"]}) == 1 < body["replicas"]
    fails = isinstance(body["axis"], list) or same or first["dtype"].startswith("complex")
    return ("2.21.0",) if body["op"] == "MEAN" and fails else ("1.15.5", "2.21.0")
