"""Points of any values at all: an explanation raises nothing.  Clauses: J-20"""

import warnings
from random import Random
from typing import Any

import numpy as np
import pytest

from simstrategy.check.causes import PointFacts, explain
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.watching import NamedValue

_DTYPES = ("float32", "float64", "float16", "int32", "uint8", "bool", "complex64", "U3")
_SHAPES = ((), (1,), (3,), (0,), (2, 3), (0, 2), (3, 0), (1, 1))
_SPECIAL = (0.0, 1.0, -1.0, float("nan"), float("inf"), 1e38, 1e-38)


def array(rng: Random) -> np.ndarray[Any, Any]:
    """Returns a random array: small integers, special values, reals; sometimes the same as others."""
    shape = rng.choice(_SHAPES)
    size = int(np.prod(shape))
    pool = rng.choice((_SPECIAL, (1.0, 2.0), [rng.gauss(0, 1) for _ in range(8)]))
    with np.errstate(all="ignore"):
        return np.asarray([rng.choice(pool) for _ in range(size)]).reshape(shape).astype(rng.choice(_DTYPES))


def facts(rng: Random, count: int, pool: list[np.ndarray[Any, Any]]) -> PointFacts:
    inputs = tuple([tuple(rng.choices(pool, k=rng.choice((0, 1, 1, 1, 2)))) for _ in range(rng.choice((0, count)))])
    parts = rng.choice((None, tuple([rng.randrange(4) for _ in range(count)]), (0,) * count))
    rows = None if parts is None else tuple([tuple([rng.choice("abcdef") for _ in range(n)]) for n in parts])
    return PointFacts(
        rng.randrange(3),
        f"train.py:{rng.randrange(3)}",
        rng.choice(("all_reduce", "assign", "assign_add", "result", "run", "reduce")),
        rng.choice((None, "w", "b")),
        rng.choice((None, "SUM", "MEAN", "ONLY_FIRST_REPLICA")),
        inputs,
        tuple(rng.choices(pool, k=rng.choice((0, 1, 1, 2)))),
        parts,
        rng.choice((None, rows)),
        kept=rng.random() < 0.4,
        own=rng.random() < 0.3,
        before=rng.choice(((), tuple(rng.choices(pool, k=1)))),
        number=rng.randrange(-1, 6),
        ulp=rng.choice((0.0, 1e-7)),
    )


def named(rng: Random, count: int, pool: list[np.ndarray[Any, Any]]) -> list[NamedValue]:
    numeric = [one for one in pool if one.dtype.kind in "biuf"] or [np.float32([1.5])]
    return [
        NamedValue(step, rng.randrange(6), rank, f"train.py:{line}", "x", rng.choice(numeric))
        for step in range(3)
        for line in range(2)
        for rank in range(count)
    ]


@pytest.mark.parametrize("seed", range(8))
def test_an_explanation_of_any_points_raises_nothing(seed: int) -> None:
    rng = Random(seed)
    for _ in range(60):
        counts = rng.choice(((1, 2), (1, 3), (2, 4)))
        pool = [array(rng) for _ in range(rng.randrange(1, 6))]
        reference = [facts(rng, counts[0], pool) for _ in range(rng.randrange(5))]
        # Most points of the other run have the places of the reference's, so that they are compared.
        other = [facts(rng, counts[1], pool)._replace(**_place(one)) for one in reference if rng.random() < 0.9]
        values = Named(named(rng, counts[0], pool), named(rng, counts[1], pool)) if rng.random() < 0.7 else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cause = explain(reference, other, counts=counts, named=values)
        assert isinstance(cause.text, str)
        assert cause.certain is (cause.kind is not None)


def _place(point: PointFacts) -> dict[str, Any]:
    return {"step": point.step, "site": point.site, "what": point.what, "subject": point.subject, "kept": point.kept}
