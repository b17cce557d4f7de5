"""The gradients that a recorded run of TensorFlow has reduced, and the state that is made of each of them."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np

from simstrategy.check.causes.left_over import Gradients
from simstrategy.check.exempt import name_of
from simstrategy.check.left_over import LeftOver
from simstrategy.trace import Recording

__all__ = ["GRADIENT", "gradients_in", "of_state"]

GRADIENT: Final = "gradient of "
"""How the subject of a reduction begins that is a gradient."""


def gradients_in(recording: Recording) -> list[Gradients]:
    """Returns the sums of gradients, step by step.  What is reduced again in one step belongs to one of its own."""
    steps: dict[tuple[int, int], dict[str, list[np.ndarray[Any, Any]]]] = {}
    for point in recording.points:
        arrays = [value.array for row in point.outputs for value in row if value.array is not None]
        if arrays and point.subject is not None and point.subject.startswith(GRADIENT):
            name = point.subject.removeprefix(GRADIENT)
            again = 0
            while name in steps.get((point.step, again), {}):
                again += 1
            steps.setdefault((point.step, again), {})[name] = arrays
    return [steps[key] for key in sorted(steps)]


def of_state(left_over: LeftOver, names: Collection[str], paths: Collection[str]) -> LeftOver:
    """Returns what holds of variables for what the paths have: these variables, and an optimizer's state of each.

    left_over: by the name of a variable. names: of all variables with gradients.

    >>> of_state({"dense/bias": np.array([True])}, ["dense/bias"], ["variable 7 'adam/dense_bias_momentum'"])
    {"variable 7 'adam/dense_bias_momentum'": array([ True])}
    """
    beginnings = {f"{name.replace('/', '_')}_": name for name in names}
    found = {}
    for path in paths:
        owner = name_of(path)
        if owner not in left_over:
            owner = _owner(owner.partition("/")[2], beginnings)
        if owner in left_over:
            found[path] = left_over[owner]
    return found


def _owner(state: str, beginnings: Mapping[str, str]) -> str:
    """Returns the variable whose state has this name; "" for none.  beginnings: of such names, with the variable's."""
    longest = max((one for one in beginnings if state.startswith(one)), key=len, default="")
    return beginnings.get(longest, "")
