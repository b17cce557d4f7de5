"""What an explanation is made of, and what it returns.  It does not matter here how the facts were recorded."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.trace.recording import EventAt

__all__ = [
    "AGAIN",
    "BATCH_GROWS",
    "CLIPPING",
    "DIVIDED",
    "DRAWS",
    "DUPLICATED",
    "FACTOR",
    "FIRST_REPLICA",
    "FUNCTION",
    "KINDS",
    "LOST",
    "MEAN_OF_MEANS",
    "MISSING_REDUCTION",
    "MISSING_SAMPLES",
    "NORMS_AGAIN",
    "NOT_RESTORED",
    "ONE_REPLICA",
    "ORDER",
    "OTHER_BATCHES",
    "OTHER_CALLS",
    "OTHER_EFFECTS",
    "RATE",
    "REPEATED",
    "ROOT",
    "SCALED",
    "STATISTICS",
    "STEPS",
    "STEPS_COUNTED",
    "SUMMED",
    "SUM_OF_MEANS",
    "Cause",
    "Finding",
    "Host",
    "Leaves",
    "PointFacts",
    "StepFacts",
    "Units",
]

Host = np.ndarray[Any, Any]

Leaves = tuple[Host, ...]
"""The arrays [any shape] of a nest."""

Units = Sequence[Sequence[float]]
"""[points of the reference][leaves]: how far rounding moves each output, relative to its largest element."""

MEAN_OF_MEANS: Final = "mean of means"
SUM_OF_MEANS: Final = "sum of means"
SUMMED: Final = "summed where averaged was meant"
SCALED: Final = "scaled by the number of replicas"
DIVIDED: Final = "divided by the number of replicas once too often"
ROOT: Final = "scaled by the square root of the number of replicas"
NORMS_AGAIN: Final = "squared norms summed again"
STEPS_COUNTED: Final = "steps counted by every replica"
FACTOR: Final = "wrong factor"
CLIPPING: Final = "clipping before the sum"
STATISTICS: Final = "statistics per replica"
AGAIN: Final = "combined again"
REPEATED: Final = "added on every replica"
DRAWS: Final = "different draws"
DUPLICATED: Final = "duplicated samples"
MISSING_SAMPLES: Final = "missing samples"
ONE_REPLICA: Final = "written by one replica only"
MISSING_REDUCTION: Final = "missing reduction"
FUNCTION: Final = "function before the sum"
ORDER: Final = "order or axis"
OTHER_BATCHES: Final = "other batches"
BATCH_GROWS: Final = "global batch grows with the number of replicas"
NOT_RESTORED: Final = "not restored at a resume"
LOST: Final = "lost part"
RATE: Final = "other learning rate"
OTHER_CALLS: Final = "different calls"
OTHER_EFFECTS: Final = "equal gradients have other effects on some replicas"
"""What is known of a step that replicas make otherwise; no kind."""
FIRST_REPLICA: Final = "ONLY_FIRST_REPLICA"
"""The aggregation of a variable that keeps what the first replica writes."""
STEPS: Final = "steps"
"""What differs, where all steps that both runs make agree, and one run makes more."""

KINDS: Final = (
    *(MEAN_OF_MEANS, SUM_OF_MEANS, SUMMED, SCALED, DIVIDED, ROOT, NORMS_AGAIN, AGAIN, STEPS_COUNTED, FACTOR),
    *(CLIPPING, REPEATED, STATISTICS, DRAWS, DUPLICATED, MISSING_SAMPLES),
    *(ONE_REPLICA, MISSING_REDUCTION, FUNCTION, ORDER, OTHER_BATCHES, BATCH_GROWS),
    *(NOT_RESTORED, LOST, RATE, OTHER_CALLS),
)
"""All kinds that a `Cause` can have."""


class PointFacts(NamedTuple):
    """What is known of one synchronisation point, or of one value that the program keeps.

    step: the number of the `run`, from 1; 0 before the first. site: file and line, as in ``train.py:31``. what: the
    call, such as ``all_reduce``; ``result`` for a result of the program, ``create`` for a variable's first value.
    subject: the name of the variable, or the path of the result. op: SUM, MEAN or None.

    inputs: for each replica its arrays, in rank order; () for a replica that contributed none. outputs: the combined
    arrays; of a write, the combined value that is assigned, added or subtracted. parts: the examples of each replica in
    this step. rows: for each replica a text for each of its examples, equal for equal examples. parts and rows are
    None where they are not known.

    kept: whether the program's state or result holds the outputs. A difference that reaches no such value has no
    effect. own: whether each replica keeps its own value, which nothing combines. before: the arrays that a write
    replaces. number: its place among the points and writes of the run; -1 where it is not known. ulp: one ulp of 1 in
    the precision of the outputs, where their arrays are finer; 0 where they are not. added: of a component that each
    replica adds to, by how much it changes in this step; () elsewhere. data: the line that distributed the step's
    examples; "" where it is not known. into: of values that the program keeps, by the number and the subject of their
    points, whether they are computed from this point, where the program's code shows it.
    """

    step: int
    site: str
    what: str
    subject: str | None
    op: str | None
    inputs: tuple[Leaves, ...]
    outputs: Leaves
    parts: tuple[int, ...] | None = None
    rows: tuple[tuple[str, ...], ...] | None = None
    kept: bool = False
    own: bool = False
    before: Leaves = ()
    number: int = -1
    ulp: float = 0.0
    added: tuple[Leaves, ...] = ()
    data: str = ""
    into: Mapping[tuple[int, str | None], bool] = {}

    @property
    def contributions(self) -> tuple[Leaves, ...]:
        """What the replicas bring in this step: what they add to their own component, or all that they bring."""
        return self.added or self.inputs


class StepFacts(NamedTuple):
    """One step of an optimizer, in a program whose library has optimizers.

    number: from 1. site: the line that makes the step; gradient_site: the line that computed gradients last. names: of
    the parameters. For each replica, in rank order, the arrays [any shape] of all parameters: before, after: the values
    with which the step begins, and the next one; gradients: what the optimizer takes; terms: what the replica computed
    itself, before anything combined it, () where that is not known. calls: the collectives since the step before. made:
    the values right after the step, where something else writes some of them before ``after``, which is that of
    until, as in ``step 9``; () and "" where nothing does.
    """

    number: int
    site: str
    gradient_site: str
    names: tuple[str, ...]
    before: tuple[Leaves, ...]
    gradients: tuple[Leaves, ...]
    terms: tuple[Leaves, ...]
    after: tuple[Leaves, ...]
    calls: tuple[PointFacts, ...] = ()
    made: tuple[Leaves, ...] = ()
    until: str = ""


class Finding(NamedTuple):
    """What the numbers of one point show.

    kind: one of `KINDS`; None for what is seen and not recognised. reason: a clause that follows the kind. remedy: a
    sentence of advice, or "". by_parts: whether the sizes of the parts matter. factor: the one number by which the
    combined values differ, or None. also: kinds that give the same numbers here. source: the line of the first value
    in a replica function that differs, or None.
    """

    kind: str | None
    reason: str
    remedy: str = ""
    by_parts: bool = False
    factor: float | None = None
    also: tuple[str, ...] = ()
    source: str | None = None


class Cause(NamedTuple):
    """Where two runs began to differ, and why.

    kind: one of `KINDS`, or None where it is not recognised. step, site, what: of the first synchronisation point, or
    kept value, whose combined values differ and whose difference has an effect; None where no recorded value differs.
    variable: the name of the variable that it changes, or of its own subject. text: one paragraph. certain: whether the
    recorded numbers prove the kind. factor: the found values divided by the expected ones, where that is one number.
    also: kinds that give the same numbers here. source: file and line of the value in a replica function that is the
    first to differ; None where it is not known. number: the place of the point among the points and writes of the other
    run's recording; None where it is not known. at: the event of that recording that shows it, where its number is not
    known before it is made. earlier: file and line, before that one, at which a cause without a kind may begin.
    plain: the text without a kind, where it is of what an optimizer makes of equal gradients; else "".
    """

    kind: str | None
    step: int | None
    site: str | None
    what: str | None
    variable: str | None
    text: str
    certain: bool
    factor: float | None = None
    also: tuple[str, ...] = ()
    source: str | None = None
    number: int | None = None
    at: EventAt | None = None
    earlier: str | None = None
    plain: str = ""

    @classmethod
    def unknown(cls, why: str) -> "Cause":
        """Returns a cause that is not recognised.  why: a sentence without its capital and stop."""
        return cls(None, None, None, None, None, f"The cause is not recognised: {why}.", certain=False)
