"""Parameters that replicas hold in parts, by hand, are compared whole.  Clause: G-102"""

import numpy as np
import pytest

from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.scripts.facts import ScriptRun, Value
from simstrategy.check.scripts.shards import shards_of, with_whole

WHOLE = np.arange(24, dtype=np.float32).reshape(8, 3)
FIRST, LATER = "before the first step['w']", "after step 1['w']"


def value(path, *copies, name="w"):
    return Value(path, copies, "float32", True, path == FIRST, name)


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        (WHOLE, np.split(WHOLE, 2)),
        (WHOLE, np.split(WHOLE, 3, axis=1)),
        (WHOLE[:7], [WHOLE[:4], np.concatenate([WHOLE[4:7], np.zeros((1, 3), np.float32)])]),
        (np.zeros(8, np.float32), [np.zeros(4, np.float32)]),  # equal parts are one copy
    ],
    ids=["rows", "columns", "filled up", "zeros"],
)
def test_parts_that_begin_with_the_reference_s_bits_are_put_together(whole, parts):
    replicas = max(2, len(parts))
    values = (value(FIRST, *parts), value(LATER, *[part + 1 for part in parts]))
    shards = shards_of([value(FIRST, whole)], values, replicas)
    run = with_whole(ScriptRun(None, "", values), shards, replicas)
    assert [len(one.copies) for one in run.values] == [1, 1]
    assert run.values[1].copies[0].shape == whole.shape
    np.testing.assert_array_equal(run.values[1].copies[0], whole + 1)
    assert run.notes[0].startswith("Of 'w' each replica holds a part")


@pytest.mark.parametrize(
    "copies",
    [
        (WHOLE, WHOLE + 1),  # unequal copies of the whole
        (WHOLE[::2], WHOLE[1::2]),  # in another order
        (WHOLE[:4], WHOLE[4:] + np.float32(1e-6)),
        (WHOLE[:4],),  # equal on both
        (WHOLE[:4], WHOLE[4:], WHOLE[4:]),  # of other replicas
    ],
    ids=["copies", "order", "bits", "equal", "ranks"],
)
def test_what_does_not_begin_as_parts_of_the_reference_s_value_stays_apart(copies):
    values = (value(FIRST, *copies), value(LATER, *copies))
    assert shards_of([value(FIRST, WHOLE)], values, 2) == {}
    run = ScriptRun(None, "", values)
    assert with_whole(run, {}, 2) is run


def test_steps_have_whole_gradients_and_no_terms():
    parts = tuple((part,) for part in np.split(WHOLE, 2))
    step = StepFacts(1, "train.py:9", "train.py:8", ("w",), parts, parts, parts, parts)
    shards = shards_of([value(FIRST, WHOLE)], [value(FIRST, *[one for (one,) in parts])], 2)
    (found,) = with_whole(ScriptRun(None, "", (), steps=(step,)), shards, 2).steps
    assert found.terms == ()
    for values in (found.before, found.gradients, found.after):
        assert [len(leaves) for leaves in values] == [1, 1]
        assert all(np.array_equal(leaves[0], WHOLE) for leaves in values)
