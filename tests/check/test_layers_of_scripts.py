"""Layers of a script that see a replica's part alone, by runs in which they predict.  Clause: J-78"""

import numpy as np
import pytest

from simstrategy.check.causes.facts import Cause
from simstrategy.check.outcome import Outcome
from simstrategy.check.scripts.facts import Predicted, ScriptRun
from simstrategy.check.scripts.predicting import with_layers

TEXT = (
    "In step 1, a gradient differs. The kind is not recognised: no factor explains it. 3 of 6 parameters differ there."
)
CAUSE = Cause(None, 1, "train.py:9", "gradient", "w", TEXT, certain=False)
LAYERS = {
    "statistics": Predicted("norm", "normalises", "norm takes its own statistics"),
    "draws": Predicted("drop", "draws", "drop draws"),
}
NOISE = Predicted("randn at train.py:7", "draws", "randn at train.py:7 draws", is_constant=True)


class Script:
    """A script whose parameter is the number of replicas, but where kinds of its layers predict.

    there: which it has. needed: those that have to predict for runs to agree. fails: whether its runs end with errors.
    """

    def __init__(self, there, needed, *, fails=False):
        self.there, self.needed, self.fails = there, needed, fails
        self.runs = []

    def run(self, replicas, kinds, nudge):
        self.runs.append((replicas, kinds, nudge))
        value = 1.0 if set(self.needed) <= set(kinds) else float(replicas)
        value = np.nextafter(np.float32(value), np.float32(9)) if nudge is not None else np.float32(value)
        predicted = tuple([LAYERS[kind] for kind in kinds if kind in self.there])
        error = ("exit code 1", "it failed") if self.fails else None
        return ScriptRun(error, "", (), inputs=(), predicted=predicted, notes=(str(value),))


def outcome_of(run):
    leaf = np.asarray(run.notes[0], np.float64).astype(np.float32)
    return Outcome((("after step 1['w']", leaf),), run.error, ())


def found(script):
    return with_layers(CAUSE, (1, 2), script.run, outcome_of, {})


@pytest.mark.parametrize(
    ("there", "needed", "kind", "also"),
    [
        (["statistics"], ["statistics"], "statistics per replica", ()),
        (["draws"], ["draws"], "different draws", ()),
        (["statistics", "draws"], ["draws"], "different draws", ()),
        (["statistics", "draws"], ["statistics", "draws"], "statistics per replica", ("different draws",)),
    ],
)
def test_the_kind_is_that_of_the_layers_without_which_the_runs_agree(there, needed, kind, also):
    cause = found(Script(there, needed))
    assert (cause.kind, cause.also, cause.certain) == (kind, also, True)
    assert cause.text.startswith("In step 1, a gradient differs. The kind is ")
    without = "With training=False, or constant numbers, there" if "draws" in needed else "With training=False there"
    assert f"{without}, the runs agree. 3 of 6 parameters differ there." in cause.text
    assert "not recognised" not in cause.text


@pytest.mark.parametrize(
    ("script", "runs"),
    [
        (Script([], []), 2),  # one for each kind, on the first number alone
        (Script(["statistics"], ["draws"]), 6),
        (Script(["statistics"], ["statistics"], fails=True), 2),
    ],
)
def test_a_cause_stays_as_it_is_where_no_layer_explains_the_difference(script, runs):
    assert found(script) == CAUSE
    assert len(script.runs) == runs


class Noisy:
    """A script that adds a multiple of a drawn number to a parameter.

    scales: by the number of replicas, what it multiplies with. drawn: what stands in place of the number, by whether it
    is another constant than the mean.
    """

    def __init__(self, scales, drawn=(0.0, 1.0)):
        self.scales, self.drawn = scales, drawn

    def run(self, replicas, kinds, nudge):
        drawn = self.drawn["elsewhere" in kinds] if "draws" in kinds else 0.1 * replicas
        value = np.float32(1.0 + self.scales[replicas] * drawn)
        value = np.nextafter(value, np.float32(9)) if nudge is not None else value
        return ScriptRun(None, "", (), predicted=(NOISE,) if "draws" in kinds else (), notes=(str(value),))


def test_draws_are_a_kind_where_no_constant_in_their_place_makes_runs_differ():
    """Clause: G-100."""
    cause = found(Noisy({1: 2.0, 2: 2.0}))
    assert cause.kind == "different draws"
    cause = found(Noisy({1: 1.0, 2: 2.0}))
    assert cause.kind is None
    assert "With the mean in place of what randn at train.py:7 draws the runs agree, and with another" in cause.text


@pytest.mark.parametrize("name", ["norm draws well", "a normalises b (Dropout)"])
def test_a_layer_is_known_by_its_name_whatever_words_it_has(name):
    """Clause: G-100."""

    def run(replicas, kinds, nudge):
        share = 0.1 * replicas
        there = (Predicted(name, "draws", f"{name} draws random numbers", share),) if "draws" in kinds else ()
        return ScriptRun(None, "", (), predicted=there)

    text = with_layers(CAUSE, (1, 2), run, outcome_of, {}).text
    assert text == f"{TEXT} {name} is given 0.2, and 0.1 in the reference."
