"""The line of a script where two runs begin to differ, from what its names held.

Clauses: G-34, G-35, G-36, G-37, G-38.
"""

import itertools

import numpy as np
import pytest

from simstrategy.check.causes.facts import Cause, StepFacts
from simstrategy.check.causes.held import Held, Traced
from simstrategy.check.causes.lines import Sides, with_lines
from simstrategy.check.causes.steps import explain_steps
from simstrategy.check.causes.ways import ways_apart

UNKNOWN = Cause(None, None, None, None, None, "The cause is not recognised: no step.", certain=False)


def held(line, name, *values, frame=1, step=1, attribute="", text="", graded=False, callers=()):
    leaves = tuple(np.asarray(value) for value in values)
    return Held(f"train.py:{line}", callers, name, attribute, leaves, text, step, frame, graded)


def explained(reference, other, *, cause=UNKNOWN, steps=((), ()), who=None, remarks=()):
    """Returns the cause of two runs, each a list of the values of each replica."""
    traced = [Traced(tuple(map(tuple, run))) for run in (reference, other)]
    return with_lines(cause, Sides(*traced, *steps, (len(reference), len(other)), who, remarks))


ROWS = np.arange(6.0)
PARTS = [ROWS[:3], ROWS[3:]]


def parts(name="rows", line=2):
    return [[held(line, name, part)] for part in PARTS]


def test_values_that_are_shared_out_added_or_averaged_are_lawful():
    reference = [[held(2, "rows", ROWS), held(3, "total", 15.0), held(4, "mean", 2.5), held(5, "world", 1)]]
    other = [
        [held(2, "rows", PARTS[0]), held(3, "total", 3.0), held(4, "mean", 1.0), held(5, "world", 2)],
        [held(2, "rows", PARTS[1]), held(3, "total", 12.0), held(4, "mean", 4.0), held(5, "world", 2)],
    ]
    assert explained(reference, [other[0], [*other[1], held(9, "own", 7.0)]]).kind == "missing reduction"
    same = [[*one, held(6, "loss", 0.5)] for one in other]
    assert explained([[*reference[0], held(6, "loss", 0.5)]], same) == UNKNOWN


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_value_that_is_cut_along_any_axis_is_lawful_and_one_with_its_parts_crossed_is_not(axis):
    whole = np.arange(24.0).reshape(2, 3, 4) + 0.5

    def run(score, value):
        return [held(2, "cut", value), held(8, "score", score)]

    parts = np.split(whole, whole.shape[axis] if axis == 1 else 2, axis)
    assert explained([run(1.0, whole)], [run(2.0, part) for part in parts]).site == "train.py:8"
    if axis:  # rows may come in any order
        assert explained([run(1.0, whole)], [run(2.0, part) for part in parts[::-1]]).site == "train.py:2"


def test_a_sum_that_is_divided_by_the_number_of_replicas_later_is_lawful_each_time():
    def run(score, total):
        return [held(2, "total", total), held(3, "mean", 1.5), held(8, "score", score)]

    assert explained([run(1.0, 1.5)], [run(2.0, 3.0)] * 2).site == "train.py:8"
    assert explained([run(1.0, 1.5)], [run(2.0, 3.5)] * 2).site == "train.py:2"


@pytest.mark.parametrize("fill", [0.0, 9.0])
def test_a_value_that_zeros_fill_up_to_equal_parts_is_lawful(fill):
    flat = np.array([3.0, 1.0, 4.0, 1.5])
    filled = np.append(flat, [fill, fill])

    def run(norm, own):
        return [held(2, "filled", *own[:1]), held(3, "part", *own[1:]), held(8, "norm", norm)]

    reference = [run(5.3, (flat, flat))]
    other = [run(7.5, (filled, part)) for part in np.split(filled, 3)]
    assert explained(reference, other).site == ("train.py:2" if fill else "train.py:8")
    steps = [
        [held(2, "filled", value, step=step) for step in (1, 2) for value in [step * one]] for one in (flat, filled)
    ]
    found = explained([[*steps[0], held(8, "norm", 5.3)]], [[*steps[1], held(8, "norm", 7.5)]] * 3)
    assert found.site == ("train.py:2" if fill else "train.py:8")


def test_the_first_value_that_is_wrong_is_named_with_the_lines_that_led_there():
    reference = [[held(2, "rows", ROWS), held(7, "loss", 2.5, callers=("train.py:20",)), held(8, "rate", 5.0)]]
    other = [[*values, held(7, "loss", 3.5, callers=("train.py:20",)), held(8, "rate", 7.0)] for values in parts()]
    cause = explained(reference, other)
    assert cause.site == "train.py:7"
    assert "it may begin with 'loss' at train.py:7 (called from train.py:20)" in cause.text


def counted(size, end, *, factor=1.0):
    """Returns the values of a replica that reads rows in every step, and scores what it has after `end` steps."""
    rows = [held(2, "rows", np.arange(6.0)[:size] + step, step=step) for step in range(1, end + 1)]
    scores = [held(8, "score", factor * step / 8, step=step) for step in range(5, end + 2, 4)]
    return sorted([*rows, *scores], key=lambda one: one.step)


def test_steps_that_one_run_alone_makes_are_not_compared_with_those_of_both():
    """A run that stops early has equal rows until then: the score that ends it is what differs."""
    steps = [StepFacts(number, "train.py:5", "", ("w",), *[((np.float32([1.0]),),)] * 4) for number in range(1, 13)]
    cause = explain_steps(steps, steps[:4], counts=(1, 2))
    assert cause.text == "All steps that both runs make agree. One makes 4, and the reference 12."
    other = [counted(6, 4, factor=2.0)] * 2
    found = explained([counted(6, 12)], other, cause=cause, steps=(steps, steps[:4]))
    assert found.site == "train.py:8"
    assert found.text.startswith(f"{cause.text} In the script it may begin with 'score' at train.py:8")
    same = explained([counted(6, 12)], [counted(6, 4)] * 2, cause=cause, steps=(steps, steps[:4]))
    assert same == cause


def test_a_line_that_one_replica_alone_runs_is_stated_as_such():
    def run(value, *more):
        return [held(6, "slow", value), *more]

    cause = explained([run(2.0)], [run(3.5), []])
    assert (cause.kind, cause.site) == (None, "train.py:6")
    both = "it is another one than in the reference, 3.5 on replica 0 against 2"
    assert cause.text.endswith(f"{both}. Replica 0 alone runs that line.")
    assert "alone" not in explained([run(2.0)], [run(3.5), run(3.5)]).text


def test_a_whole_value_that_every_replica_adds_is_duplicated():
    data = np.float32([1.5, -2.0, 0.25])
    added = held(3, "all_reduce SUM", text="all_reduce SUM")
    reference = [[held(2, "batch", data), added, held(3, "total", [1.0, 3.0])]]
    other = [[held(2, "batch", data), added, held(3, "total", [2.0, 6.0])] for _ in range(2)]
    cause = explained(reference, other)
    assert (cause.kind, cause.site) == ("duplicated samples", "train.py:3")
    assert "all replicas hold the same rows of 'batch' at train.py:2" in cause.text


def test_before_anything_is_added_a_value_times_the_replicas_is_no_sum():
    data = np.float32([1.5, -2.0, 0.25])
    reference = [[held(2, "batch", data), held(3, "shift", 0.01), held(4, "all_reduce SUM", text="all_reduce SUM")]]
    other = [[held(2, "batch", data), held(3, "shift", 0.02), held(4, "all_reduce SUM", text="all_reduce SUM")]] * 2
    cause = explained(reference, other)
    assert (cause.kind, cause.site) == ("scaled by the number of replicas", "train.py:3")
    assert "it is 2 times the reference's on all replicas, the number of replicas. The kind is" in cause.text
    assert "added" not in cause.text


def test_rows_that_a_function_drops_are_named_where_it_returns():
    whole, cut = np.arange(4.0), np.arange(2.0)
    reference = [[held(5, "data", whole, frame=2), held(6, "gather()", whole, frame=2)]]
    other = [[held(5, "data", whole, frame=2), held(6, "gather()", cut, frame=2)] for _ in range(2)]
    cause = explained(reference, other)
    assert (cause.kind, cause.site) == ("missing samples", "train.py:6")
    assert "2 rows are missing of the 4" in cause.text


def test_rows_that_come_twice_are_explained_with_the_remarks_of_the_run():
    reference = [[held(4, "numbers", np.arange(5))]]
    other = [[held(4, "numbers", np.array([0, 2, 4]))], [held(4, "numbers", np.array([1, 3, 0]))]]
    cause = explained(reference, other, remarks=["the sampler pads"])
    assert cause.kind == "duplicated samples"
    assert cause.text.endswith("Of that run: the sampler pads.")


def test_a_mean_over_unequal_parts_is_proven_by_their_sizes():
    def run(*sizes):
        values = np.float64([1.0, 4.0, 9.0])
        bounds = np.cumsum([0, *sizes])
        pieces = [values[first:last] for first, last in itertools.pairwise(bounds)]
        return [[held(3, "mine", piece), held(4, "loss", piece.mean())] for piece in pieces]

    cause = explained(run(3), run(2, 1))
    # A mean that nothing combines is named as what it is: each replica's own.
    assert (cause.kind, cause.site) == ("missing reduction", "train.py:4")
    ends = [[*values, held(5, "shared", 5.75)] for values in run(2, 1)]
    cause = explained([[*run(3)[0], held(5, "shared", 14 / 3)]], ends)
    assert (cause.kind, cause.site) == ("mean of means", "train.py:4")
    assert "'mine' counts 2, 1 there" in cause.text
    assert "not weighted in shared at train.py:5" in cause.text


def test_an_empty_part_is_named_with_its_replica():
    reference = [[held(3, "rows", ROWS), held(4, "mean", 2.5)]]
    other = [[held(3, "rows", ROWS), held(4, "mean", np.nan)], [held(3, "rows", ROWS[:0]), held(4, "mean", np.nan)]]
    cause = explained(reference, other)
    assert "not finite" not in cause.text  # replica 0 has rows, and NaN of another cause
    other[0][1] = held(4, "mean", 1.0)
    cause = explained(reference, other)
    assert (cause.kind, cause.site) == ("mean of means", "train.py:4")
    assert "not finite on replica 1, where 'rows' has no rows" in cause.text


def test_the_norm_of_each_part_and_parts_scaled_apart_are_recognised():
    reference = [[held(3, "norm", 5.0), held(4, "gradient", [3.0, 4.0])]]
    other = [[held(3, "norm", 3.0)], [held(3, "norm", 4.0)]]
    cause = explained(reference, other)
    assert (cause.kind, cause.site) == ("missing reduction", "train.py:3")
    assert "the norm of each replica's own part, the square of which is not reduced over the replicas" in cause.text
    clipped = np.array([3.0, 4.0, 1.0, 2.0]) * 2.5 / 30**0.5
    other = [[held(4, "gradient", [1.5, 2.0])], [held(4, "gradient", [1.0, 2.0])]]
    assert explained([[held(4, "gradient", clipped)]], other).kind == "clipping before the sum"


def test_parts_scaled_to_norms_that_no_bound_of_a_clip_gives_are_statistics():
    reference = [[held(4, "gradient", [3.0, 4.0, 1.0, 2.0])]]
    other = [[held(4, "gradient", [1.5, 2.0])], [held(4, "gradient", [0.25, 0.5])]]
    cause = explained(reference, other)
    assert cause.kind == "statistics per replica"
    assert "a number of its own (0.5, 0.25), as one does that divides by a mean, a spread or a norm" in cause.text


def test_turns_of_which_the_last_one_counts_are_lost():
    shares = [np.array([1.0, 2.0]), np.array([-3.0, 0.5])]
    reference = [[held(3, "share", shares[0] + shares[1]), held(9, "weight", -0.1 * (shares[0] + shares[1]))]]
    other = [[*[held(3, "share", one) for one in shares], held(9, "weight", -0.1 * shares[1])]]
    cause = explained(reference, other, who=("steps=1", "steps=2"))
    assert (cause.kind, cause.site) == ("lost part", "train.py:9")
    assert "only the last of the 2 values that 'share' gets at train.py:3" in cause.text


def step(gradients, terms=(), after=None, before=None, names=("w",)):
    arrays = [tuple((np.asarray(one),) for one in some) for some in (gradients, terms)]
    count = len(gradients)
    start = before or tuple((np.zeros(2),) for _ in range(count))
    ends = start if after is None else tuple((np.asarray(one),) for one in after)
    return StepFacts(1, "train.py:30", "train.py:29", names, start, arrays[0], arrays[1], ends)


FACTOR = Cause("scaled by the number of replicas", 1, "train.py:29", "gradient", "w", "Too large.", True, factor=2.0)


def test_a_factor_of_gradients_is_followed_into_the_loss():
    steps = ((step([[1.0, 2.0]]),), (step([[2.0, 4.0]] * 2),))
    reference = [[held(5, "part", 3.0, graded=True), held(6, "loss", 3.0, graded=True)]]
    other = [[held(5, "part", value, graded=True), held(6, "loss", 2 * value, graded=True)] for value in (2.0, 4.0)]
    cause = explained(reference, other, cause=FACTOR, steps=steps)
    assert cause.source == "train.py:6"
    assert "'loss' at train.py:6: its total is 2 times the reference's" in cause.text


def test_a_right_loss_with_wrong_gradients_has_its_fault_in_the_backward_pass():
    steps = ((step([[1.0, 2.0]]),), (step([[2.0, 4.0]] * 2),))
    reference = [[held(6, "loss", 3.0, graded=True), held(11, "backward()", [1.0, 2.0], frame=3)]]
    other = [[held(6, "loss", 3.0, graded=True), held(11, "backward()", [1.0, 2.0], frame=3)] for _ in range(2)]
    assert explained(reference, other, cause=FACTOR, steps=steps).source == "train.py:11"


def test_a_gradient_of_its_own_is_named_where_a_replica_first_holds_it():
    own = [[1.0, 2.0], [3.0, 5.0]]
    steps = ((step([[2.0, 3.5]]),), (step(own),))
    other = [[held(14, "gradients", np.asarray(one))] for one in own]
    cause = explained([[held(14, "gradients", [2.0, 3.5])]], other, cause=FACTOR._replace(factor=None), steps=steps)
    assert cause.source == "train.py:14"
    assert "not averaged over the replicas" in cause.text


def test_a_replica_that_changes_gradients_alone_is_named_with_the_branch():
    values = [[held(43, "weight.grad", [0.5, 1.0])], [held(37, "weight.grad", [1.0, 2.0])]]
    ways = [("train.py:37", "train.py:41", "train.py:43", "train.py:44"), ("train.py:37", "train.py:41", "train.py:44")]
    lines = tuple(tuple((line, 1) for line in one) for one in ways)
    cause = ways_apart(Traced(tuple(map(tuple, values)), lines), [step([[0.5, 1.0], [1.0, 2.0]])])
    assert cause.kind == "clipping before the sum"
    assert "after train.py:41, where the replicas go different ways" in cause.text


@pytest.mark.parametrize("value", [0.0, 2.0])
def test_a_new_start_that_does_not_restore_what_it_had_is_a_resume(value):
    def begin(frame, epoch, line=5):
        return [held(line, "sampler.epoch", epoch, frame=frame, attribute="Sampler.epoch")]

    turns = [held(8, "batch", float(number), frame=2) for number in range(4)]
    ends = [held(9, "train()", 1.0, frame=2)]
    reference = [[*begin(2, 0.0), *turns, *begin(2, 1.0), *turns, *ends]]
    again = [held(8, "batch", float(number), frame=4) for number in range(2)]
    other = [
        [*begin(2, 0.0), *turns, *begin(2, 1.0), *ends, *begin(4, value), *again, held(9, "train()", 2.0, frame=4)]
    ]
    cause = explained(reference, other, who=("stop=0", "stop=5"))
    assert (cause.kind, cause.site) == ("not restored at a resume", "train.py:5")
    assert "train() runs 2 times, and once with stop=0" in cause.text


def test_calls_that_replicas_make_for_other_names_are_found():
    def logged(*names):
        values = []
        for name in names:
            values += [held(4, "key", text=name), held(5, "all_reduce SUM", text="all_reduce SUM")]
        return values

    reference = [[*logged("image", "text"), held(6, "total", 1.0)]]
    other = [[*logged("image", "text"), held(6, "total", 3.0)], [*logged("text", "image"), held(6, "total", 3.0)]]
    cause = explained(reference, other)
    assert (cause.kind, cause.site) == ("different calls", "train.py:5")
    assert "key is 'image' on replica 0, 'text' on replica 1" in cause.text


@pytest.mark.parametrize("steps", [1, 2])
def test_a_list_of_parts_that_zeros_fill_up_stands_lawfully_and_no_later_step_accuses_it(steps):
    """Every replica has gathered all parts.  What a later step has follows from the difference."""
    whole = np.arange(1.0, 8.0)
    filled = [np.arange(1.0, 5.0), np.array([5.0, 6.0, 7.0, 0.0])]
    reference, run = [], []
    for step in range(1, steps + 1):
        reference += [held(4, "parts", whole * step, step=step), held(9, "total", [3.0, 1.5, 0.25], step=step)]
        later = [part if step == 1 else part + 5 for part in filled]
        run += [held(4, "parts", *later, step=step), held(9, "total", [4.5, 1.25, 0.75], step=step)]
    found = explained([reference], [run, run], cause=UNKNOWN._replace(step=1, what="gradient"))
    assert "parts" not in found.text, found.text
    assert "it may begin with 'total' at train.py:9" in found.text, found.text
