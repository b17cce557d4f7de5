"""Facts by hand: points of two runs with values that are written down.  It holds no test."""

from typing import Any

import numpy as np

from simstrategy.check.causes import PointFacts

__all__ = ["kept", "point", "rows"]


def rows(*values: Any) -> np.ndarray[Any, Any]:
    """Returns values as float32."""
    return np.asarray(values, np.float32)


def point(*terms: Any, step: int = 1, op: str = "SUM", line: int = 31, subject: str | None = "w", **known: Any) -> Any:
    """Returns an all-reduce of one array of each replica."""
    arrays = [np.asarray(term, np.float32) for term in terms]
    total = np.add.reduce([array.astype(np.float64) for array in arrays])
    combined = np.asarray(total / len(arrays) if op == "MEAN" else total, np.float32)
    inputs = tuple([(array,) for array in arrays])
    return PointFacts(step, f"train.py:{line}", "all_reduce", subject, op, inputs, (combined,), **known)


def kept(value: Any, *, replicas: int = 1, step: int = 1, line: int = 32, subject: str = "w", **known: Any) -> Any:
    """Returns a write of a value that all replicas hold alike."""
    array = np.asarray(value, np.float32)
    inputs = ((array,),) * replicas
    return PointFacts(step, f"train.py:{line}", "assign_sub", subject, "MEAN", inputs, (array,), kept=True, **known)
