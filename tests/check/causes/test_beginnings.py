"""Parameters that begin with other values on all replicas: drawn, scaled, or other constants.  Clause: G-28."""

import numpy as np
import pytest

from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.causes.steps import explain_steps

DRAWN = np.random.default_rng(0).normal(size=6).astype(np.float32)


def began(*ranks):
    """Returns one step that begins with these values, of one parameter on each rank."""
    rows = tuple((np.asarray(one, np.float32),) for one in ranks)
    zeros = tuple((np.zeros_like(leaf),) for (leaf,) in rows)
    return [StepFacts(1, "train.py:9", "train.py:8", ("w",), rows, zeros, (), rows)]


@pytest.mark.parametrize(
    ("one", "other", "kind", "text"),
    [
        (
            DRAWN,
            2 * DRAWN,
            "scaled by the number of replicas",
            "all replicas begin with 2 times the reference's values",
        ),
        ([0.01] * 6, [0.02] * 6, "scaled by the number of replicas", "2 times the reference's values"),
        ([0.5, 0.01, 0.01], [0.5, 0.03, 0.03], None, "all replicas begin with other constants than the reference"),
        ([0.01] * 6, DRAWN, "different draws", "Draw them from one seed"),
        (DRAWN, DRAWN[::-1], "different draws", "Draw them from one seed"),
        ([0.25], [0.7], "different draws", "Draw them from one seed"),
    ],
    ids=["factor", "constant factor", "constants", "constant and drawn", "drawn", "one number"],
)
def test_what_is_drawn_is_known_from_a_factor_and_from_constants(one, other, kind, text):
    cause = explain_steps(began(one), began(other, other), counts=(1, 2))
    assert cause.kind == kind
    assert text in cause.text


def test_other_values_on_one_rank_are_drawn():
    cause = explain_steps(began(DRAWN), began(DRAWN, 2 * DRAWN), counts=(1, 2))
    assert cause.kind == "different draws"
    assert "rank 1 begins with other values than rank 0" in cause.text
