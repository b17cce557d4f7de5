"""Elements of parameters whose gradients are what rounding leaves: which they are, and what a check makes of them.

Clauses: G-120, G-121.
"""

import ml_dtypes
import numpy as np
import pytest
from fake_scripts import Fake, trained

from simstrategy.check.across import Across, Side
from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.causes.left_over import left_over, truly_small
from simstrategy.check.causes.rounding import cancels, sizes_of_terms
from simstrategy.check.compare import Comparison
from simstrategy.check.left_over import judged_without
from simstrategy.check.meaning import meaning_of
from simstrategy.check.once import each_name_once
from simstrategy.check.outcome import Outcome
from simstrategy.check.scripts import check_script
from simstrategy.check.scripts.facts import Batches, ScriptRun, Value
from simstrategy.device.perturbed import LeftSums

ULP = float(np.finfo(np.float32).eps)


def gradients(*steps):
    """Returns steps of a parameter 'w' beside one whose gradient is 1.  steps: gradients of 'w', on one replica."""
    return [{"v": [np.float32([1.0])], "w": [np.float32(one)]} for one in steps]


NOISE = [
    gradients([ULP, 0.5], [-ULP, 0.25]),
    gradients([-ULP, 0.5], [2 * ULP, 0.25]),
    gradients([0.0, 0.5 + ULP], [ULP, 0.25]),
]


def test_elements_that_move_with_the_inputs_and_are_small_in_all_steps_are_found():
    found = left_over([NOISE[0], NOISE[1]], [NOISE[1], NOISE[2]])
    assert {name: mask.tolist() for name, mask in found.items()} == {"w": [True, False]}


def test_what_is_truly_as_small_is_a_gradient_like_another_one():
    small = gradients([ULP, 0.5], [-ULP, 0.25])
    moved = gradients([ULP * 1.0001, 0.5], [-ULP * 0.9999, 0.25])
    assert left_over([small, small], [moved, moved]) == {}


def test_an_element_that_is_large_in_one_step_of_one_run_is_not_found():
    other = gradients([-ULP, 0.5], [1e-3, 0.25])
    assert left_over([NOISE[0], other], [NOISE[1], NOISE[2]]) == {}
    assert left_over([other, NOISE[0]], [NOISE[1], NOISE[2]]) == {}


def test_an_element_that_moves_far_once_in_many_steps_is_not_found():
    steadily = gradients(*[[ULP, 0.5]] * 8)
    once = gradients(*[[-ULP, 0.5]], *[[ULP, 0.5]] * 7)
    assert left_over([steadily, steadily], [once, steadily]) == {}
    assert left_over([steadily, steadily], [gradients(*[[-ULP, 0.5]] * 8), steadily]) != {}


def test_zeros_alone_and_other_shapes_and_no_nudged_runs_are_not_found():
    zeros = gradients([0.0, 0.5], [0.0, 0.25])
    assert left_over([zeros, zeros], [zeros]) == {}
    assert left_over([NOISE[0], gradients([ULP], [ULP])], [NOISE[1]]) == {}
    assert left_over([NOISE[0], NOISE[1]], [gradients([ULP], [ULP])]) == {}
    assert left_over([NOISE[0], NOISE[1]], []) == {}
    assert left_over([NOISE[0], [{"v": [np.float32([1.0])]}]], [NOISE[1]]) == {}


def test_every_replica_counts():
    other = [{"v": one["v"] * 2, "w": [*one["w"], np.float32([0.5, 0.5])]} for one in NOISE[1]]
    assert left_over([NOISE[0], other], [NOISE[1], NOISE[2]]) == {}


@pytest.mark.parametrize(
    ("moved", "found"),
    [
        ([1.00001, 1.0], set()),  # the second is not moved by the inputs: its terms may be constants
        ([1.00001, 1.0 + ULP], set()),  # it is moved by one unit in its last place, as all gradients are
        ([1.00001, 0.99999], {"w"}),
        ([1.00001, 0.9], set()),  # rounding moves it far
    ],
)
def test_gradients_that_are_truly_small_move_and_not_far(moved, found):
    small = np.float32([1.7 * ULP, -1.1 * ULP])
    steps, other = gradients(small, small), gradients(small * np.float32(moved), small)
    assert truly_small(steps, [other]) == found
    assert truly_small(steps, [other, steps]) == found
    assert truly_small(gradients([1e-3, 0.5]), [gradients([1.1e-3, 0.5])]) == set()


def test_gradients_are_small_beside_their_terms_where_these_cancel_and_may_be_truly_so():
    small = np.float32([1.7 * ULP, -1.1 * ULP])
    steps = [{"w": [small]}]
    for factor, found in ((1.00001, {"w"}), (1.5, set())):
        other = [{"w": [small * np.float32(factor)]}]
        assert truly_small(steps, [other]) == set()
        assert truly_small(steps, [other], [{"w": 0.5}]) == found
        assert truly_small(steps, [other], [{"v": 0.5}]) == found  # of another parameter, since all of it is as small


def steps_of(*made):
    """Returns the steps of two replicas on one parameter.  made: of each step the gradient, and the terms or ()."""
    both = ((np.float32([0.0]),), (np.float32([0.0]),))
    return [
        StepFacts(number, "train.py:9", "train.py:8", ("w",), both, ((np.float32(one),),) * 2, terms, both)
        for number, (one, terms) in enumerate(made, 1)
    ]


def test_terms_count_where_they_are_much_larger_than_their_sum():
    large, small = [tuple([(np.float32([one]),) for one in (size, -size)]) for size in (0.5, 2e-7)]
    zeros = ((np.float32([0.0]),),) * 2
    steps = steps_of(([1e-7], zeros), ([1e-7], large), ([0.25], large), ([1e-7], small), ([1e-7], ()))
    assert sizes_of_terms(steps) == ({"w": 0.5}, {"w": 0.5}, {}, {}, {})  # of the first step those of the second
    assert sizes_of_terms([]) == sizes_of_terms(steps[2:]) == ()
    assert not cancels(steps, LeftSums())
    assert cancels(steps, LeftSums((), sizes_of_terms(steps)))
    assert not cancels(steps, LeftSums(("w",), sizes_of_terms(steps)))
    assert not cancels(steps[2:], LeftSums((), sizes_of_terms(steps)))
    assert LeftSums((), sizes_of_terms(steps)).of_step(6) == {}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_gradients_that_are_not_finite_or_narrow_are_none_of_both(dtype):
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    wild = [{"v": [np.float32([1.0, np.inf])], "w": [np.array([np.nan, np.inf, 1e-3, 0.0]).astype(kind)]}]
    other = [{"v": [np.float32([1.0, -np.inf])], "w": [np.array([1.0, -np.inf, 2e-3, 0.0]).astype(kind)]}]
    assert left_over([wild, other], [other]) == {}
    assert truly_small(wild, [other]) == set()


def packed(settings, *, query=0.0, key=0.0, cut=0.0, seen=True, noise=1.0, wild=False):
    """Two steps on a parameter, half of which has gradients of rounding, of which an optimizer makes whole steps.

    query, key: what several replicas add to one element of each half. cut: what they add to both where steps are cut.
    seen: whether all steps are known. noise: what rounding leaves, in units in the last place.
    """
    pattern = 0 if settings.nudge is None else settings.nudge
    draw = np.random.default_rng([pattern, settings.replicas, 2 * ("cut" in settings.arguments)])
    value, values, steps = np.float32([0.5, -0.25, 0.0, 0.0]), [], []
    for number in (1, 2):
        left = np.float32(draw.choice([-2, -1, 1, 2], 2) * ULP * noise)
        gradient = np.concatenate([np.float32([0.3, 0.7]) * (1 + pattern * np.float32(ULP)), left])
        sizes = np.sign(gradient) * (1 if settings.sums is None else 10)
        change = np.where(np.arange(4) < 2, gradient, sizes) * np.float32(0.1)
        change = change + (np.float32([*draw.normal(size=2), 0, 0]) if wild else 0)
        fault = np.float32([query, 0, key, 0]) * (settings.replicas > 1)
        fault = fault + np.float32([cut, 0, cut, 0]) * ("cut" in settings.arguments)
        after = np.float32(value - change + fault)
        copies = [((one,),) * settings.replicas for one in (value, gradient, after)]
        steps.append(StepFacts(number, "train.py:9", "train.py:8", ("w",), copies[0], copies[1], (), copies[2]))
        values.append(Value(f"after step {number}['w']", (after,), "float32", True, name="w"))
        value = after
    values.append(Value("loss", (np.float32([3.0]),), "float32", False))
    known = tuple(steps if seen else steps[1:])
    return ScriptRun(None, "", tuple(values), known, events=2, nudged=True, batches=Batches(made=2))


def checked(script, **settings):
    return check_script(Fake(script), "train.py", replicas=(1, 2), laws=("replicas",), **settings)


def test_the_others_agree_and_these_are_named():
    report = checked(packed)
    assert report.verdict == "agree", str(report)
    assert (
        "Not compared: after steps 1 to 2['w']: 2 of 4 elements are not: their gradients are what rounding leaves "
        "where terms cancel" in str(report)
    )


@pytest.mark.parametrize("query", [0.01, 1e-5])
def test_a_fault_of_the_other_elements_is_not_hidden(query):
    report = checked(lambda settings: packed(settings, query=query))
    assert report.verdict == "undecided", str(report)
    assert "Not compared" not in str(report)


def test_a_fault_beyond_what_rounding_moves_is_found_in_these_elements():
    report = checked(lambda settings: packed(settings, key=20.0))
    assert report.verdict == "differ", str(report)


def test_what_the_inputs_rounding_does_not_explain_stays_not_judged():
    report = checked(lambda settings: packed(settings, key=2.0))
    assert report.verdict == "undecided", str(report)
    assert "Not compared" not in str(report)
    assert "element [2]" in str(report)


def test_where_a_step_is_not_known_or_a_gradient_is_larger_nothing_is_left_out():
    for script in (lambda settings: packed(settings, seen=False), lambda settings: packed(settings, noise=1e5)):
        report = checked(script)
        assert report.verdict == "undecided", str(report)
        assert "Not compared" not in str(report)


def test_where_rounding_moves_the_others_as_far_the_value_stays_not_judged():
    report = checked(lambda settings: packed(settings, wild=True))
    assert report.verdict == "undecided", str(report)
    assert "Not compared" not in str(report)
    assert "element [" in str(report)


def test_the_law_of_the_cut_leaves_out_the_same():
    settings = {"vary": {"cut": ["whole", "cut"]}, "arguments": ["{cut}"]}
    report = check_script(Fake(packed), "train.py", replicas=(1,), laws=("cut",), **settings)
    assert report.verdict == "agree", str(report)
    assert "after step 2['w']: 2 of 4 elements are not" in str(report)
    wrong = Fake(lambda settings: packed(settings, cut=0.01))
    report = check_script(wrong, "train.py", replicas=(1,), laws=("cut",), **settings)
    assert report.verdict == "undecided", str(report)


def test_a_value_all_of_which_is_left_over_is_not_counted_as_compared():
    def script(settings):
        run = packed(settings)
        cut = [one._replace(copies=(one.copies[0][2:],)) if one.name else one for one in run.values]
        both = [
            one._replace(
                names=("k", "v"),
                before=(),
                after=(),
                gradients=tuple((leaf[2:], leaf[:2]) for (leaf,) in one.gradients),
            )
            for one in run.steps
        ]
        named = [one._replace(name="k") if one.name else one for one in cut]
        return run._replace(values=tuple(named), steps=tuple(both))

    report = checked(script)
    assert report.verdict == "agree", str(report)
    assert "after steps 1 to 2['w']: the gradients are what rounding leaves where terms cancel" in str(report)
    (row,) = [row for row in report.rows if row.law == "replicas"]
    assert row.compared == 1


def test_many_names_with_one_text_and_the_same_steps_are_in_one_line():
    found = [f"after step {step}['{one}.bias']: noise" for step in (2, 3) for one in ("a", "b.c", "b.d", "e", "f.g")]
    assert [*each_name_once([*found, "after step 2['w']: noise"])] == [
        "after steps 2 to 3['a.bias', 'b.c.bias', 'b.d.bias', 'e.bias', 'f.g.bias']: noise",
        "after step 2['w']: noise",
    ]
    assert len([*each_name_once([text for text in found if "'a." not in text])]) == 4


def test_where_all_nudged_runs_raise_rounding_is_not_known_and_nobody_is_accused():
    def script(settings, apart=1e-5):
        run = trained(settings, factor=1.0 + apart * 100 * (settings.replicas > 1))
        return run if settings.nudge is None else ScriptRun(("RuntimeError", "moved in place"), "", ())

    report = checked(script)
    assert report.verdict == "undecided", str(report)
    assert "no run with inputs moved by one ulp shows how far rounding moves it" in str(report)
    assert "With its inputs moved by one ulp the script raises RuntimeError" in str(report)
    assert "moved in place" in str(report)
    assert checked(lambda settings: script(settings, apart=1.0)).verdict == "differ"
    assert checked(lambda settings: script(settings, apart=0.0)).verdict == "agree"


def test_values_are_asked_for_and_named_in_the_order_of_the_comparison():
    asked = []
    paths = [f"after step {number}['w']" for number in range(50)]
    found = Across(50, Comparison(False, 1.0, 1.0, None), {}, dict.fromkeys(paths, "unknown"), {}, {})
    outcome = Outcome((), None, ())
    side = Side(1, meaning_of(outcome), (), outcome)
    again = judged_without((side, side), {}, found, lambda given: asked.extend(given) or {}, but=paths[10:12])
    assert again is found
    assert asked == [*paths[:10], *paths[12:]]
