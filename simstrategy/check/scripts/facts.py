"""What a front gives: the values of one run of a script, whose runs it makes.  A front is a package of another library.

The values are of two kinds. State, such as parameters, is one value of which each replica has a copy; an observed value
may be each replica's own.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from simstrategy.check.causes.facts import StepFacts

__all__ = ["Front", "Runner", "ScriptRun", "ScriptSettings", "Value", "bits_equal"]

Host = np.ndarray[Any, Any]


class Value(NamedTuple):
    """A value of a run.  path: as in ``after step 2['fc.weight']``.

    copies: one array […] where all replicas that have the value hold the same bits, else one for each of them.
    computed: the dtype in which it was computed, where the array's is wider. is_state: whether all replicas should have
    the same.
    """

    path: str
    copies: tuple[Host, ...]
    computed: str
    is_state: bool


class ScriptSettings(NamedTuple):
    """How a script is run once.

    replicas: how many. arguments: of the script. order: of additions. nudge: a pattern of `device.perturb` by which
    parameters and inputs are moved; None for none. detailed: whether the steps are recorded with their gradients.
    """

    replicas: int
    arguments: tuple[str, ...]
    order: str
    nudge: int | None = None
    detailed: bool = False


class ScriptRun(NamedTuple):
    """What a script did.

    error: class and text of how it ended, None where all is well. output: what replica 0 printed. values: in the order
    in which the script had them. steps: of its optimizers, where they were recorded. events: how many synchronisation
    points and steps there were. nudged: whether anything was moved, or could have been. notes: what was left out, as
    sentences.
    """

    error: tuple[str, str] | None
    output: str
    values: tuple[Value, ...]
    steps: tuple[StepFacts, ...] = ()
    events: int = 0
    nudged: bool = False
    notes: tuple[str, ...] = ()


class Runner(Protocol):
    """Runs one script, as often as it is asked to.

    name: for the rows of a report. nothing: why a run may have no values, and what to do, as a sentence.
    """

    name: str
    nothing: str

    def run(self, settings: ScriptSettings) -> ScriptRun:
        """Runs the script to its end."""

    def close(self) -> None:
        """Ends what the runs share."""


class Front(Protocol):
    """Makes a runner of a script: an entry point of the group `simstrategy.scripts`, named like the launcher."""

    def __call__(self, script: str, /) -> Runner:
        """Raises InvalidArgument for what is no script."""


def bits_equal(values: Sequence[Host]) -> bool:
    """Returns whether arrays […] are one value: of one dtype, one shape and the same bits."""
    first = values[0]
    data = first.tobytes()
    return all(one.dtype == first.dtype and one.shape == first.shape and one.tobytes() == data for one in values[1:])
