"""Whether our answer to a recorded call of `tf.estimator` is the recorded one within rounding, or deviates as listed.

Errors are compared by class, as in the rest of the replay. It runs nothing.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from golden_replay.cases import RecordedError
from golden_replay.deviations import Deviation
from golden_replay.verdict import Raised, difference

ULPS: Final = 32
"""How far floats may differ, in units of 2**-24 of the array's largest element, or of 1."""

NOT_COMPARED: Final = ("auc", "auc_precision_recall")
"""Metrics of canned classifiers that are no means: no model here has them."""

Line = dict[str, Any]


class Finding(NamedTuple):
    """One call. text: what differs; "" where it agrees, or deviates as listed."""

    call: str
    deviates: bool
    text: str


def judged(name: str, found: Any, ours: Any, deviation: Deviation | None) -> Finding:
    """Returns what comes of a recorded answer and ours.  deviation: what is listed of this call, or None."""
    problem = _difference(found, ours)
    if deviation is None:
        return Finding(name, False, problem or "")
    if problem is None:
        return Finding(name, True, "is listed as a deviation and agrees: strike it from the list")
    if deviation.error is not None:
        fits = isinstance(ours, Raised) and type(ours.error).__name__ == deviation.error
        return Finding(name, True, "" if fits else f"is listed to raise {deviation.error}: {problem}")
    if isinstance(ours, Raised):
        return Finding(name, True, f"deviates otherwise than listed: {problem}")
    if isinstance(found, RecordedError):
        wanted, ours = deviation.expected, {key: one for key, one in ours.items() if key in deviation.expected}
    else:
        wanted = {**found, **deviation.expected}
    return Finding(name, True, _difference(wanted, ours) or "")


def _difference(found: Any, ours: Any) -> str | None:
    if isinstance(found, RecordedError) or isinstance(ours, Raised):
        return difference(found, ours)
    return _rounded(_summed(found), ours, "answer")


def _summed(found: Line) -> Line:
    """Returns a recorded answer with gradients summed over the replicas, and without what is not compared."""
    answer = dict(found)
    if "gradients" in found:
        answer["gradients"] = [
            [np.sum(np.float32(one), axis=0, dtype=np.float32) for one in zip(*step, strict=True)]
            for step in found["gradients"]
        ]
    if "metrics" in found:
        answer["metrics"] = {name: one for name, one in found["metrics"].items() if name not in NOT_COMPARED}
    return answer


def _rounded(found: Any, ours: Any, where: str) -> str | None:
    """Returns the first difference that rounding does not explain, or None."""
    if isinstance(found, dict) and isinstance(ours, dict):
        if found.keys() != ours.keys():
            return f"{where}: has {sorted(ours)}, recorded {sorted(found)}"
        pairs = [(f"{where}.{key}", found[key], ours[key]) for key in found]
    elif isinstance(found, (list, tuple)) and isinstance(ours, (list, tuple)):
        if len(found) != len(ours):
            return f"{where}: {len(ours)} entries, recorded {len(found)}"
        pairs = [(f"{where}[{number}]", one, ours[number]) for number, one in enumerate(found)]
    else:
        return _unlike(found, ours, where)
    return next((text for place, one, two in pairs if (text := _rounded(one, two, place))), None)


def _unlike(found: Any, ours: Any, where: str) -> str | None:
    text = f"{where}: {ours!r:.120}, recorded {found!r:.120}"
    if isinstance(found, (np.ndarray, np.generic)) or isinstance(ours, (np.ndarray, np.generic)):
        one, two = np.asarray(found), np.asarray(ours)
        if (one.dtype, one.shape) != (two.dtype, two.shape):
            return text
        if one.dtype.kind != "f" or not one.size:
            return None if np.array_equal(one, two) else text
        allowed = ULPS * 2.0**-24 * max(1.0, float(np.max(np.abs(one))))
        return None if np.all(np.abs(one - two) <= allowed) else text
    return None if type(found) is type(ours) and found == ours else text
