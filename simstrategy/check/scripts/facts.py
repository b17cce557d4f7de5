"""What a front gives: the values of one run of a script, whose runs it makes.  A front is a package of another library.

The values are of two kinds. State, such as parameters, is one value of which each replica has a copy; an observed value
may be each replica's own.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.causes.held import Traced
from simstrategy.check.injection import Fault
from simstrategy.device.perturbed import LeftSums
from simstrategy.errors import Unsupported
from simstrategy.trace import Recording

__all__ = [
    "REFUSED",
    "Batches",
    "Ended",
    "Ending",
    "Front",
    "Inputs",
    "JudgedRun",
    "Order",
    "Predicted",
    "Runner",
    "ScriptRun",
    "ScriptSettings",
    "Value",
    "bits_equal",
]

Host = np.ndarray[Any, Any]

REFUSED: Final = Unsupported.__name__
"""The class of the error of a run that needs what is not simulated: that is no fault of the script."""


class Value(NamedTuple):
    """A value of a run.  path: as in ``after step 2['fc.weight']``.

    copies: one array […] where all replicas that have the value hold the same bits, else one for each of them.
    computed: the dtype in which it was computed, where the array's is wider. is_state: whether all replicas should have
    the same. begins: whether a parameter begins with it. name: of the parameter; "" of another value.
    """

    path: str
    copies: tuple[Host, ...]
    computed: str
    is_state: bool
    begins: bool = False
    name: str = ""


class ScriptSettings(NamedTuple):
    """How a script is run once.

    replicas: how many. arguments: of the script. order: of additions. nudge: a pattern of `device.perturb` by which
    parameters and inputs are moved; None for none. detailed: whether the steps are recorded with their gradients, and
    what names hold. laws: those of one run that are judged in it. folder: the current folder of the replicas; None for
    this process's. is_planted: whether the run is one of the law of faults, which has `ended`. fault: what is planted
    in such a run; None for nothing. recorded: whether the run has its `recording`; such a run is detailed. sums:
    None, or a nudge also moves these sums of gradients, by the names of parameters, where their terms cancel. reseeded:
    `draws` of runs, from which each replica draws other numbers. predicting: kinds of layers that do what they do in a
    prediction, "statistics" and "draws"; with "elsewhere" another constant than their mean stands in place of the
    numbers that are drawn. narrow: a dtype of `device.narrow` by whose units a nudge moves inputs and gradients; None
    for their own.
    """

    replicas: int
    arguments: tuple[str, ...]
    order: str
    nudge: int | None = None
    detailed: bool = False
    laws: tuple[str, ...] = ()
    reseeded: tuple[str, ...] = ()
    folder: str | None = None
    is_planted: bool = False
    fault: Fault | None = None
    recorded: bool = False
    sums: LeftSums | None = None
    predicting: tuple[str, ...] = ()
    narrow: str | None = None


class JudgedRun(NamedTuple):
    """What a law that looks at one run has found.  problem: None where it is kept. compared: how many values were.

    site: the first line of the script that the problem names; "" for none.
    """

    law: str
    problem: str | None
    compared: int
    site: str = ""


class Ending(NamedTuple):
    """How one replica ended.

    code: the exit code, negative for a signal. text: for people. caught: file and line where the script caught the
    error that it received for a fault; "" for none. is_forced: whether the replica had to be ended. was_busy: whether
    it computed all the time since the failure. steps: how many steps it made.
    """

    code: int
    text: str
    caught: str = ""
    is_forced: bool = False
    was_busy: bool = False
    steps: int = 0


class Ended(NamedTuple):
    """What a run for the law of faults left behind.

    endings: of each replica. is_planted: whether the fault's point was reached. points: of each replica the calls that
    were complete, as texts, in their order. inputs: how many calls of models each replica made with floats. finding:
    how the launcher names what was wrong, "failure", "blocked", "disagreement" or "overdue"; None for nothing. text: of
    it. values: of the end.
    """

    endings: tuple[Ending, ...]
    is_planted: bool
    points: tuple[tuple[str, ...], ...]
    inputs: tuple[int, ...]
    finding: str | None
    text: str
    values: tuple[Value, ...]


class Inputs(NamedTuple):
    """What one replica gives modules.

    digest: a number for what the first one is given, equal for equal inputs. rows: of the first array of each call that
    the script makes up to the first step of an optimizer, in all. Each is None where that is not known.
    """

    digest: int | None = None
    rows: int | None = None


class Order(NamedTuple):
    """The rows of a pass in which a script trains, each row once over all replicas.

    site: the line that goes through the rows. sampler: the name of the class that draws them. is_shuffled: whether
    a replica takes them in an order that does not ascend. rounds: the rows that all replicas take together, [rows] for
    the first batch of each, the second and so on.
    """

    site: str
    sampler: str
    is_shuffled: bool
    rounds: tuple[np.ndarray[Any, Any], ...] = ()


class Predicted(NamedTuple):
    """A layer, or a function that draws, which did what it does in a prediction, though it trained.

    name: of it, as in ``Dropout`` or ``randn at train.py:9``. does: "normalises" or "draws". text: a sentence without
    its stop. share: of the elements that it drops, or of ones; None where it has none. is_constant: whether a constant
    stood in place of the numbers that it draws.
    """

    name: str
    does: str
    text: str
    share: float | None = None
    is_constant: bool = False


class Batches(NamedTuple):
    """What shows which batches a run trains on, beside `Inputs`.

    made: how many steps there are. joined: whether replicas join before others, and have steps of their own time.
    orders: of the first pass at each line.
    """

    made: int = 0
    joined: bool = False
    orders: tuple[Order, ...] = ()


class ScriptRun(NamedTuple):
    """What a script did.

    error: class and text of how it ended, None where all is well. output: what replica 0 printed. values: in the order
    in which the script had them. steps: of its optimizers, where they were recorded. events: how many synchronisation
    points and steps there were. nudged: whether anything was moved, or could have been. notes: what was left out, as
    sentences. judged: what the laws of one run have found. remarks: what these laws remark, as sentences. traced: where
    the run was detailed. draws: from what each replica draws numbers of its own, for people. inputs: of
    each replica. ended: what a run of the law of faults left behind. recording: for a page, where it was asked for.
    predicted: the layers and functions that predicted, though they train. missing: path and reason of values that the
    script had and that are not among these. narrow: the coarsest dtype of `device.narrow` in which a
    detailed run that is not nudged computes; None for none. seeds: what each line seeds with, on all replicas together,
    as a text that is equal for equal ones in any order. is_joint: whether replicas have exchanged values; True where
    that is not known.
    """

    error: tuple[str, str] | None
    output: str
    values: tuple[Value, ...]
    steps: tuple[StepFacts, ...] = ()
    events: int = 0
    nudged: bool = False
    notes: tuple[str, ...] = ()
    judged: tuple[JudgedRun, ...] = ()
    remarks: tuple[str, ...] = ()
    traced: Traced = Traced()
    draws: tuple[str, ...] = ()
    inputs: tuple[Inputs, ...] = ()
    ended: Ended | None = None
    recording: Recording | None = None
    predicted: tuple[Predicted, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    narrow: str | None = None
    seeds: tuple[tuple[str, str], ...] = ()
    batches: Batches = Batches()
    is_joint: bool = True


class Runner(Protocol):
    """Runs one script, as often as it is asked to.

    name: for the rows of a report. nothing: why a run may have no values, and what to do, as a sentence. laws: those
    that look at one run. rank_text: what stands for a replica's number in the arguments of a run; None where all
    replicas have the same arguments.
    """

    name: str
    nothing: str
    laws: Sequence[str]
    rank_text: str | None

    def run(self, settings: ScriptSettings) -> ScriptRun:
        """Runs the script to its end."""

    def close(self) -> None:
        """Ends what the runs share."""


class Front(Protocol):
    """Makes a runner of a script: an entry point of the group `simstrategy.scripts`, named like the launcher."""

    def __call__(self, script: str, /, *, is_module: bool = False, device: str = "cpu") -> Runner:
        """Raises InvalidArgument for what is no script, and for a device that the launcher does not have.

        is_module: whether it is the name of a module. device: what the script's devices are: "cpu" for those that it
        names, or a word of the launcher's for others in their place.
        """


def bits_equal(values: Sequence[Host]) -> bool:
    """Returns whether arrays […] are one value: of one dtype, one shape and the same bits."""
    first = values[0]
    data = first.tobytes()
    return all(one.dtype == first.dtype and one.shape == first.shape and one.tobytes() == data for one in values[1:])
