"""Where TensorFlow errs and the simulator does not: the deviations by name, and how a program shows each.

Every name has a reproduction of ten lines in backends/tf_distribute/deviations.toml. Nothing else is excused.
"""

import numpy as np
from sides import rounded

from simstrategy_conformance.observe import difference

__all__ = ["KNOWN", "known"]


def _refused(text, error=None):
    """Matches where TensorFlow ends with an error of these words, and the simulator with a result, or with `error`."""

    def shows(program, left, right):
        return right.error is not None and text in right.error[1] and (error is None or _class(left) == error)

    return shows


def _class(observed):
    return None if observed.error is None else observed.error[0]


def _disagreed(program, left, right):
    stops = [one.how for one in program.body if one.kind == "stop"]
    return "disagree" in stops and _class(left) == "ReplicasDisagree" and right.error is None


def _shared_out_narrow(program, left, right):
    totals = [
        number
        for number, one in enumerate(program.variables)
        if (one.synchronization, one.aggregation, one.dtype) == ("ON_READ", "SUM", "float64")
    ]
    near = rounded(left.result, right.result, np.float32)
    shared = any(one.kind == "assign" and one.variable in totals for one in program.after)
    return shared and left.error == right.error and difference(near, right.result) is None


KNOWN = {
    "disagreement is not reported": _disagreed,
    "early return by another name": _refused("Some replicas made a different number", "ReplicasDisagree"),
    "several int32 leaves": _refused("Inputs to batch_reduce_to must be either all on the host or all on the"),
    "a number is shared out in float32": _shared_out_narrow,
    "an unaggregated variable is written, and then refused": _refused("VariableAggregationV2.NONE to"),
}


def known(program, left, right):
    """Returns the name of the deviation that explains a difference, or None."""
    return next((name for name, shows in KNOWN.items() if shows(program, left, right)), None)
