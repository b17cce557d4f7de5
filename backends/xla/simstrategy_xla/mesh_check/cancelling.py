"""Finds sums of collectives whose terms cancel, in what was recorded of a run."""

from typing import Any

import numpy as np

from simstrategy.check.distances import is_float, one_unit, parts
from simstrategy.device.perturbed import LEFT_MAX
from simstrategy_xla.mesh_check.calls import Parts, calls_of
from simstrategy_xla.mesh_check.jobs import Record

__all__ = ["cancel_in"]


def cancel_in(record: Record) -> bool:
    """Returns whether an element of a sum, or mean, of all devices may be what rounding leaves of terms that cancel.

    Also where it is exactly zero and its terms are not, and where the values of such a sum were not kept.
    """
    for call in calls_of(record):
        site = call.site
        if site.kind != "all_reduce" or site.op not in ("SUM", "MEAN"):
            continue
        terms, sums = call.values[: site.inputs], call.values[site.inputs :]
        if any(
            one is None or other is None or one[0].shape != other[0].shape or _cancel(one, other[0])
            for one, other in zip(terms, sums, strict=True)
        ):
            return True
    return False


def _cancel(terms: Parts, total: np.ndarray[Any, Any]) -> bool:
    """terms: of each device […]. total: their sum […]."""
    if not is_float(total):
        return False
    sizes = sum(np.abs(parts(one)) for one in terms)
    left = LEFT_MAX * one_unit(total.dtype.name) * sizes
    return bool(((sizes > 0) & (np.abs(parts(total)) <= left)).any())
