"""Programs that run on the simulator: kind, step, variable and line of what is wrong, and nothing of what is not.

Clauses: J-20, J-28
"""

from collections import Counter

import pytest
from lawful_programs import LAWFUL, UNCLEAR
from wrong_programs import WRONG, line_of

from simstrategy.check.causes import KINDS
from simstrategy.check.causes.facts import (
    AGAIN,
    BATCH_GROWS,
    DIVIDED,
    FACTOR,
    LOST,
    MISSING_REDUCTION,
    NORMS_AGAIN,
    NOT_RESTORED,
    OTHER_BATCHES,
    OTHER_CALLS,
    RATE,
    ROOT,
    STEPS_COUNTED,
    SUMMED,
)
from simstrategy.check.causes.running import explain_difference


# A mean over no examples.
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_is_explained_by_kind_step_variable_and_line(name: str) -> None:
    wrong = WRONG[name]
    cause = explain_difference(wrong.program, (1, wrong.replicas))
    assert cause.kind == wrong.kind, cause.text
    assert cause.step == wrong.step, cause.text
    assert cause.site == line_of(wrong.program), cause.text
    assert wrong.variable is None or cause.variable == wrong.variable
    assert cause.certain
    assert cause.text.startswith(f"{wrong.replicas} replicas against 1 replica: ")
    assert f"The kind is {wrong.kind}" in cause.text
    assert len(cause.text.splitlines()) == 1


def test_every_kind_has_two_programs() -> None:
    """One factor has several kinds: each has programs in `tests/judging` or points by hand."""
    counted = Counter(wrong.kind for wrong in WRONG.values())
    factors = {SUMMED, DIVIDED, ROOT, NORMS_AGAIN, STEPS_COUNTED, FACTOR}
    of_scripts = {AGAIN, RATE, NOT_RESTORED, OTHER_CALLS, LOST}
    elsewhere = {OTHER_BATCHES, BATCH_GROWS, MISSING_REDUCTION} | of_scripts
    assert {kind for kind in KINDS if counted[kind] < 2} - factors == elsewhere
    assert sum(counted[kind] for kind in factors) >= 3


@pytest.mark.parametrize("name", LAWFUL)
@pytest.mark.parametrize("replicas", [2, 3, 4])
def test_a_lawful_program_has_no_cause(name: str, replicas: int) -> None:
    cause = explain_difference(LAWFUL[name], (1, replicas))
    assert (cause.kind, cause.step, cause.certain) == (None, None, False), cause.text
    assert "not recognised" in cause.text


@pytest.mark.parametrize("name", UNCLEAR)
@pytest.mark.parametrize("replicas", [2, 3])
def test_what_is_not_recognised_has_a_place_and_no_kind(name: str, replicas: int) -> None:
    cause = explain_difference(UNCLEAR[name], (1, replicas))
    assert cause.kind is None, cause.text
    assert not cause.certain
    assert "The kind is not recognised" in cause.text
    assert cause.step is not None
