"""What an answer that is not in the catalogue is named by: the first symptom of its runs."""

import pytest
from course_files import filled

from simstrategy_course.grading import grade
from simstrategy_course.reading import lesson_numbered
from simstrategy_course.submission import submission_of

RIGHT = '    total, rows = ctx.all_reduce("SUM", ctx.xp.sum(losses)), ctx.all_reduce("SUM", np.float32(len(losses)))\n'
"""The numbers from which a file of lesson 3 makes a mistake of its own."""

BODIES = {
    "every result has the wrong sign": RIGHT + "    return -total / rows\n",
    "every result is wrong by the same factor": RIGHT + "    return total / rows * 3\n",
    "some results are right, and the others are wrong by the same factor": (
        RIGHT + "    return total / rows * (3 if rows == 2 else 1)\n"
    ),
    "it is wrong with one replica already": RIGHT + "    return total / rows + 1\n",
    "it is too large by the number of replicas": RIGHT + "    return total / rows * ctx.num_replicas_in_sync\n",
    "it is too small by the number of replicas": RIGHT + "    return total / rows / ctx.num_replicas_in_sync\n",
    "the replicas hold different results": (
        RIGHT + "    return total / rows + np.float32(ctx.replica_id_in_sync_group)\n"
    ),
    "it is right with some numbers of replicas only": (
        RIGHT + "    return total / rows + np.float32(ctx.num_replicas_in_sync == 4)\n"
    ),
    "it is right with one replica only": RIGHT + "    return total / rows + np.float32(ctx.num_replicas_in_sync > 1)\n",
    "the result has another form": RIGHT + "    return [total / rows, rows]\n",
    "a value is not finite": RIGHT + "    return total / rows if ctx.num_replicas_in_sync < 3 else total * np.inf\n",
    "the replicas make different calls": (
        '    return ctx.all_reduce("SUM" if ctx.replica_id_in_sync_group else "MEAN", ctx.xp.mean(losses))\n'
    ),
    "the program raises NameError": "    return totl\n",
    "the program raises ZeroDivisionError": RIGHT + "    return total / rows if len(losses) else 1 / 0\n",
}


@pytest.mark.parametrize("name", BODIES)
def test_a_symptom_is_named_with_where_it_shows(name, runner):
    lesson = lesson_numbered(3)
    idea = grade(submission_of(filled(lesson, BODIES[name]), "lesson_3.py"), runner).idea
    assert (idea.name, idea.source) == (name, "symptom")
    assert any("replica" in fact for fact in idea.facts)
    assert idea.hint.endswith(".")


def test_a_mean_over_the_batch_size_is_a_wrong_answer_that_is_known(runner):
    body = '    return ctx.all_reduce("SUM", ctx.xp.sum(losses)) / np.float32(10)\n'
    idea = grade(submission_of(filled(lesson_numbered(3), body), "lesson_3.py"), runner).idea
    assert (idea.name, idea.source) == ("divided by the batch size", "known")


def test_an_order_of_replicas_that_matters_is_named(runner):
    body = (
        '    rng = np.random.default_rng(ss.get_replica_context().seed("noise"))\n'
        "    BEGAN.append(ss.get_replica_context().replica_id_in_sync_group)\n"
        "    late = BEGAN.index(0) == 0 if 0 in BEGAN else False\n"
        "    BEGAN[:] = BEGAN if len(BEGAN) < ss.get_replica_context().num_replicas_in_sync else []\n"
        "    return value + np.float32(rng.normal()) + np.float32(not late)\n"
    )
    text = filled(lesson_numbered(10), body).replace("def noisy", "BEGAN = []\n\n\ndef noisy")
    idea = grade(submission_of(text, "lesson_10.py"), runner).idea
    assert (idea.name, idea.source) == ("it depends on the order of the replicas", "symptom")


def test_a_right_answer_that_is_written_otherwise_passes(runner):
    body = (
        "    both = ctx.xp.stack([ctx.xp.sum(losses), ctx.xp.asarray(np.float32(losses.shape[0]))])\n"
        '    total = ctx.all_reduce("SUM", both)\n'
        "    return total[0] / total[1]\n"
    )
    assert grade(submission_of(filled(lesson_numbered(3), body), "lesson_3.py"), runner).idea is None


def test_right_values_without_the_collective_are_named_by_the_rule(runner):
    text = filled(lesson_numbered(2), '    return ctx.all_reduce("SUM", value)\n')
    idea = grade(submission_of(text, "lesson_2.py"), runner).idea
    assert (idea.name, idea.source) == ("the built-in all-reduce is called", "known")


def test_an_error_of_the_same_class_as_that_of_a_known_wrong_answer_is_not_named_by_it(runner):
    lesson = lesson_numbered(0)
    text = filled(lesson, "    return start + np.float32(ctx.replica_id / ctx.num_replicas_in_sync)\n")
    idea = grade(submission_of(text, "lesson_0.py"), runner).idea
    assert (idea.name, idea.source) == ("the program raises AttributeError", "symptom")


def idea_of(number, body, runner):
    lesson = lesson_numbered(number)
    return grade(submission_of(filled(lesson, body), f"lesson_{number}.py"), runner).idea


@pytest.mark.parametrize("number", [3, 8])
def test_a_gather_is_an_exchange_of_values_as_well(number, runner):
    chosen = "found[np.isfinite(found)]" if number == 8 else "found"
    body = f"    found = np.asarray(ctx.all_gather(losses, 0))\n    return {chosen}.mean()\n"
    assert idea_of(number, body, runner) is None


def test_a_share_by_a_gather_breaks_its_rule(runner):
    body = "    ss.get_replica_context().all_gather(losses, 0)\n    return xp.sum(losses) / batch_size\n"
    assert idea_of(4, body, runner).name == lesson_numbered(4).rules[0].name


def test_three_reductions_in_a_merge_call_are_more_than_one_collective(runner):
    body = (
        "    def merge(strategy, *parts):\n"
        '        return tuple(strategy.reduce("SUM", part, axis=None) for part in parts)\n\n'
        "    return ctx.merge_call(merge, args=(bias, weights, scales))\n"
    )
    assert idea_of(12, body, runner).name in {"more than one collective", "three collectives"}


def test_one_value_for_all_replicas_has_the_right_form(runner):
    body = '    return ctx.merge_call(lambda strategy, part: strategy.reduce("MEAN", part, axis=0), args=(losses,))\n'
    assert idea_of(3, body, runner) is None


MADE = (
    '    large = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM, name="large")\n'
    '    weight = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.MEAN, name="weight")\n'
)
PROPOSED = (
    '    count = xp.sum(xp.astype(inputs > 5, "float32"))\n'
    "    change = 0.5 * (xp.mean(inputs) - weight.value())\n"
    "    rank = ss.get_replica_context().replica_id_in_sync_group\n"
)
WRITES = {
    "the replicas write different variables": (
        "    for one, value in [(large, count), (weight, change)][:: 1 if rank == 0 else -1]:\n"
        "        one.assign_add(value)\n"
    ),
    "one replica alone writes the weight": (
        "    large.assign_add(count)\n    if rank == 0:\n        weight.assign_add(change)\n"
    ),
    "one replica alone writes": (
        "    if rank == 0:\n        large.assign_add(count)\n        weight.assign_add(change)\n"
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_wrong_with_the_writes_of_lesson_5_is_true_of_it(name, runner):
    text = filled(lesson_numbered(5), MADE, PROPOSED + WRITES[name])
    idea = grade(submission_of(text, "lesson_5.py"), runner).idea
    assert (idea.name, idea.source) == (name, "known")
