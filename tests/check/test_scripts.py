"""Scripts judged by the laws, with a front that computes what a script would: no process is started.

Clauses: G-21, G-22, G-24, G-28, G-29, G-30, G-32, G-89, G-94, G-108, G-110, G-111, G-114, G-115.
"""

import itertools
import re

import numpy as np
import pytest
from fake_scripts import PLACE, Fake, trained

from simstrategy.check.causes.held import Held, Traced
from simstrategy.check.formats import as_data, played
from simstrategy.check.scripts import check_script
from simstrategy.check.scripts.facts import REFUSED, Batches, JudgedRun, Order, ScriptRun
from simstrategy.check.scripts.printed import Output, unlike_numbers
from simstrategy.errors import InvalidArgument
from simstrategy.player.stops import events_of, stops_of
from simstrategy.trace import Recorder
from simstrategy.trace.recording import HOLDS


def test_a_lawful_script_agrees_and_its_runner_is_closed():
    fake = Fake(trained)
    report = check_script(fake, "train.py", arguments=["{8//replicas}"], replicas=[1, 2, 4])
    assert report.verdict == "agree", str(report)
    assert str(report).endswith("All runs agree: 1 value; replicas 1, 2, 4.")
    assert fake.closed == 1
    assert {one.arguments for one in fake.runs} == {("8",), ("4",), ("2",)}
    assert sum(one.nudge is not None for one in fake.runs) == 3


def test_a_number_with_which_nothing_is_done_is_not_compared():
    def needing_two(settings):
        return trained(settings) if settings.replicas > 1 else ScriptRun(None, "needs two", ())

    report = check_script(Fake(needing_two), "train.py", replicas=[1, 2, 4])
    assert report.verdict == "undecided"
    assert not report.findings
    assert "with 1 replica it makes no collective call and no step" in str(report)
    assert "Leave that number out of --replicas" in str(report)


def test_orders_of_two_samplers_are_no_mistake():
    """With one replica a script often has a path of its own, without the sampler that shares out."""

    def ordered(settings):
        name = "RandomSampler" if settings.replicas == 1 else "DistributedSampler"
        rows = (alone if settings.replicas == 1 else [3, 1, 0, 2]), [4, 5, 6, 7]
        run = trained(settings, 1.0 if settings.replicas == 1 else 1.7)
        order = Order("train.py:22", name, is_shuffled, tuple(np.array(some) for some in rows))
        return run._replace(batches=Batches(orders=(order,)))

    is_shuffled, alone = True, [7, 0, 1, 2]
    report = check_script(Fake(ordered), "train.py", replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "with 1 replica RandomSampler draws the order of the rows that train.py:22 goes through" in str(report)
    assert "Leave 1 out of --replicas" in str(report)
    assert check_script(Fake(ordered), "train.py", replicas=[2, 4]).verdict == "agree"
    is_shuffled = False
    assert check_script(Fake(ordered), "train.py", replicas=[1, 2]).verdict == "differ"
    is_shuffled, alone = True, [0, 1, 2, 3]
    assert check_script(Fake(ordered), "train.py", replicas=[1, 2]).verdict == "differ"


def test_replicas_that_train_and_exchange_nothing_are_not_judged_where_they_agree():
    report = check_script(Fake(lambda one: trained(one)._replace(is_joint=False)), "train.py", replicas=[1, 2, 4])
    assert report.verdict == "undecided"
    assert [row.why for row in report.rows if row.law == "replicas"] == ["nothing exchanged"] * 2
    assert "the replicas exchange no values: each trains alone" in str(report)
    assert "With 2 and 4 replicas these exchange no values" not in str(report)
    joint = check_script(Fake(lambda one: trained(one)._replace(is_joint=one.replicas != 4)), "a", replicas=[1, 2, 4])
    assert [row.why for row in joint.rows if row.law == "replicas"] == ["", "nothing exchanged"]
    assert check_script(Fake(trained), "train.py", replicas=[1, 2, 4]).verdict == "agree"


def test_replicas_that_exchange_nothing_and_do_not_train_are_remarked():
    def apart(settings):
        run = trained(settings)
        values = tuple(value._replace(path="observed", is_state=False) for value in run.values)
        return run._replace(is_joint=False, values=values, steps=())

    report = check_script(Fake(apart), "train.py", replicas=[1, 2, 4])
    assert report.verdict == "agree"
    assert "With 2 and 4 replicas these exchange no values: each works alone" in str(report)
    assert "exchange no values" not in str(check_script(Fake(trained), "train.py", replicas=[1, 2, 4]))


@pytest.mark.parametrize(
    ("is_observed", "moves_with_two", "verdict"),
    [(False, False, "undecided"), (True, False, "agree"), (False, True, "differ")],
)
def test_steps_that_change_nothing_are_not_judged_unless_something_else_is_compared(
    is_observed, moves_with_two, verdict
):
    def still(settings):
        run = trained(settings)
        begun = run.values[0]._replace(path="before the first step['w']", begins=True, name="w")
        moved = begun.copies[0] + np.float32(moves_with_two and settings.replicas == 2)
        observed = begun._replace(path="observed", begins=False, is_state=False, name="")
        values = (begun, begun._replace(path=PLACE, begins=False, copies=(moved,)))
        return run._replace(values=(*values, observed) if is_observed else values)

    report = check_script(Fake(still), "train.py", replicas=[1, 2])
    assert report.verdict == verdict
    whom = "With 1 replica no step" if moves_with_two else "With 1 and 2 replicas no step"
    assert f"{whom} changes a parameter, so agreement states little." in str(report)
    assert "such as those that it had before fully_shard?" in str(report)
    assert ("no step changes a parameter, and nothing else is compared." in str(report)) == (verdict == "undecided")


def test_what_is_not_simulated_is_no_fault_of_the_script():
    refused = Fake(lambda _: ScriptRun((REFUSED, "torch.distributed.rpc.init_rpc at train.py:3"), "", ()))
    report = check_script(refused, "train.py", replicas=[1, 2])
    assert report.verdict == "undecided"
    assert [row.why for row in report.rows][:2] == ["not simulated"] * 2
    assert "init_rpc at train.py:3" in str(report)


def test_a_factor_is_found_with_step_parameter_line_and_kind():
    report = check_script(Fake(lambda settings: trained(settings, 1 / settings.replicas)), "train.py", replicas=[1, 2])
    (finding,) = as_data(report)["findings"]
    assert finding["kind"] == "divided by the number of replicas once too often"
    assert (finding["step"], finding["variable"], finding["site"]) == (1, "w", "train.py:8")
    assert "2 replicas against 1 replica: in step 1, gradient of 'w' at train.py:8" in finding["cause"]


def test_a_copy_of_one_rank_that_drifts_is_a_difference_although_rank_0_is_right():
    fake = Fake(lambda settings: trained(settings, drift=0.01))
    report = check_script(fake, "train.py", replicas=[2, 4])
    assert report.verdict == "differ"
    assert "on replica 1: element" in report.findings[0].text
    assert "on replica 3" in check_script(fake, "train.py", replicas=[1, 4]).findings[0].text


def coarsely(settings, apart, dtype):
    """One step with gradients that are rounded to a narrow dtype.  apart: how much they differ on several ranks."""
    factor = 1.0 + (apart if settings.replicas > 1 else 0.0)
    factor += 0.0 if settings.narrow is None else 2.0**-8 * (settings.nudge - 2)
    run = trained(settings, factor)
    return run._replace(narrow=dtype if settings.detailed and settings.nudge is None else None)


@pytest.mark.parametrize(
    ("apart", "dtype", "verdict", "runs"),
    [(2.0**-9, "bfloat16", "agree", 6), (1.0, "float16", "differ", 6), (2.0**-9, None, "differ", 0)],
)
def test_a_script_in_a_narrow_dtype_is_nudged_by_units_of_that_where_runs_differ(apart, dtype, verdict, runs):
    fake = Fake(lambda settings: coarsely(settings, apart, dtype))
    report = check_script(fake, "train.py", replicas=[1, 2])
    assert report.verdict == verdict, str(report)
    assert [one.narrow for one in fake.runs if one.narrow is not None] == [dtype] * runs
    assert ("The script computes in" in str(report)) == (dtype is not None)
    if apart == 1.0:
        assert as_data(report)["findings"][0]["kind"].startswith("sum of means")


def test_a_script_in_a_narrow_dtype_whose_runs_do_not_differ_runs_no_more_often():
    fake = Fake(lambda settings: coarsely(settings, 0.0, "bfloat16"))
    assert check_script(fake, "train.py", replicas=[1, 2]).verdict == "agree"
    assert not any(one.narrow for one in fake.runs)


def test_an_exempt_parameter_is_listed_and_an_unknown_name_is_an_error():
    wrong = Fake(lambda settings: trained(settings, 1 / settings.replicas))
    report = check_script(wrong, "train.py", replicas=[1, 2], exempt={"w": "on purpose"})
    assert report.verdict == "undecided"
    assert f"Exempt: {PLACE}: on purpose" in str(report)
    with pytest.raises(InvalidArgument, match="The exemption 'v' names no value of this program: it has w"):
        check_script(Fake(trained), "train.py", replicas=[1, 2], exempt={"v": "on purpose"})


def test_a_script_that_is_not_repeatable_is_not_judged():
    numbers = itertools.count()
    noisy = Fake(lambda settings: trained(settings, 1.0 + next(numbers) / 8))
    report = check_script(noisy, "train.py", replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "gives different values in two identical runs" in str(report)


def test_a_script_that_fails_is_a_problem_and_is_not_run_again():
    fails = Fake(lambda settings: trained(settings)._replace(error=("ReplicasDisagree", "rank 0: barrier")))
    report = check_script(fails, "train.py", replicas=[2])
    assert report.verdict == "differ"
    assert "ReplicasDisagree: rank 0: barrier" in str(report)
    assert len(fails.runs) == 1


def test_a_script_without_values_is_not_judged_with_what_to_do():
    empty = Fake(lambda settings: ScriptRun(None, "loss 0.5\n", (), events=1))
    report = check_script(empty, "train.py", replicas=[1, 2])
    assert report.verdict == "undecided"
    assert "nothing was compared: the script did nothing. Let it do something" in str(report)
    assert check_script(empty, "train.py", replicas=[1, 2], same_output="loss").verdict == "agree"


def test_printed_numbers_may_differ_by_one_unit_of_their_last_digit():
    def printing(*texts):
        runs = {1: texts[0], 2: texts[1]}
        return Fake(lambda settings: trained(settings)._replace(output=f"loss {runs[settings.replicas]}\n"))

    verdicts = [
        check_script(printing(*texts), "train.py", replicas=[1, 2], same_output="loss").verdict
        for texts in (("0.1234", "0.1235"), ("0.1234", "0.1236"), ("3", "3"), ("3", "4"))
    ]
    assert verdicts == ["agree", "differ", "agree", "differ"]


def test_a_cut_that_scales_gradients_is_found_with_the_argument():
    def cut(settings):
        return trained(settings, float(settings.arguments[0]))

    report = check_script(
        Fake(cut),
        "train.py",
        arguments=["{accumulate}"],
        replicas=[2],
        vary={"accumulate": [1, 2]},
        without=["replicas"],
    )
    (finding,) = report.findings
    assert (finding.law, finding.step, finding.variable) == ("cut", 1, "w")
    assert "accumulate=2 against accumulate=1" in str(finding)
    assert "2 times the expected ones, as accumulate is" in str(finding)


def test_the_law_of_order_runs_the_other_orders_of_additions():
    fake = Fake(trained)
    report = check_script(fake, "train.py", replicas=[1, 2], laws=["order"])
    assert report.verdict == "agree"
    assert {one.order for one in fake.runs if one.replicas == 2} == {"linear", "ring", "tree"}
    assert "the law of order: nothing was compared" in str(check_script(fake, "train.py", replicas=[1], laws=["order"]))


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"laws": ["resume"]}, "Scripts are not judged by the law of resume: choose from replicas, cut, order"),
        ({"laws": ["speed"]}, "There is no law 'speed'"),
        ({"require": ["uneven"]}, "It is not known of a script whether it tried 'uneven'"),
        ({"vary": {"replicas": [1, 2]}}, "stands for the number of replicas"),
        ({"vary": {"accumulate": [1, 2]}}, "no argument of the script has"),
        ({"arguments": ["{6//replicas}"], "replicas": [1, 4]}, "leaves a remainder with replicas=4"),
    ],
)
def test_settings_that_a_script_does_not_have_are_errors_before_anything_runs(settings, text):
    fake = Fake(trained)
    with pytest.raises(InvalidArgument, match=text):
        check_script(fake, "train.py", **{"replicas": [1, 2], **settings})
    assert not fake.runs


def with_laws(problem=None, compared=4):
    """Returns a script that keeps the law of replicas, and of which a law of one run finds something."""

    def script(settings):
        judged = tuple(JudgedRun(law, problem if law == "state" else None, compared) for law in settings.laws)
        return trained(settings)._replace(judged=judged)

    return script


def test_laws_of_one_run_are_judged_in_the_first_run_of_each_number_alone():
    fake = Fake(with_laws())
    report = check_script(fake, "train.py", replicas=[1, 2])
    assert report.verdict == "agree", str(report)
    assert [(row.law, row.replicas) for row in report.rows if row.law in ("state", "coverage")] == [
        *(("state", "1"), ("coverage", "1"), ("state", "2"), ("coverage", "2"))
    ]
    assert [one.laws for one in fake.runs].count(fake.laws) == 2


def test_what_a_law_of_one_run_finds_is_a_difference():
    report = check_script(Fake(with_laws("rank 1 has another weight")), "train.py", replicas=[2])
    assert report.verdict == "differ"
    assert "rank 1 has another weight" in str(report)
    left_out = Fake(with_laws("rank 1 has another weight"))
    assert not check_script(left_out, "train.py", replicas=[1, 2], without=["state"]).findings
    assert {one.laws for one in left_out.runs} == {("late", "coverage"), ()}


def test_a_law_of_one_run_that_had_nothing_to_look_at_is_no_agreement():
    report = check_script(Fake(with_laws(compared=0)), "train.py", replicas=[2])
    assert report.verdict == "undecided"
    assert {row.law for row in report.rows} == {"repeat"}


def recording_of(settings):
    """Returns what a front records of `trained`: the step of its optimizer, and what a name holds at two lines."""
    recorder = Recorder()
    recorder.describe(replicas=settings.replicas, workers=1, arrivals="not recorded")
    for line in (7, 8):
        recorder.begin_step(0, 1)
        values = [np.float32(line + rank) for rank in range(settings.replicas)]
        recorder.wrote(0, None, "loss", HOLDS, (), values, ("/home/user/train.py", line))
    recorder.ended(0, [])
    recorder.close()
    return recorder.recording()


def wrong(settings):
    """A script whose gradients are divided once too often; its front records a run that a page is to show."""
    run = trained(settings, 1 / settings.replicas)
    held = Held("train.py:8", (), "loss", "", (np.float32(settings.replicas),), "", 1, 1, is_graded=True)
    traced = Traced(((held,),) * settings.replicas) if settings.detailed else Traced()
    recording = recording_of(settings) if settings.recorded else None
    return run._replace(traced=traced, recording=recording)


def test_the_page_of_a_script_has_its_runs_and_opens_at_the_line_of_the_cause():
    fake = Fake(wrong)
    report = check_script(fake, "train.py", arguments=["{8//replicas}"], replicas=[1, 2])
    made = len(fake.runs)
    found = played(report)
    assert [run.name for run in found.runs] == ["1 replica", "2 replicas"]
    assert [(one.arguments, one.recorded) for one in fake.runs[made:]] == [(("8",), True), (("4",), True)]
    assert fake.closed == 3
    (place,) = found.places
    events = events_of(found.runs[place.run].recording)
    assert events[stops_of(events)[place.stop].event].site == report.findings[0].source == "train.py:8"
    assert found.runs[1].notes == {place.stop: report.findings[0].cause}


def test_a_front_that_records_nothing_is_stated_in_the_page():
    report = check_script(Fake(lambda settings: trained(settings, 1 / settings.replicas)), "train.py", replicas=[1, 2])
    (place,) = played(report).places
    assert place.left.startswith("The run could not be made again: Unsupported")
    assert "Runs of torchrun are not recorded for a page" in place.left


def test_what_a_law_of_one_run_finds_opens_at_the_line_that_it_names():
    def script(settings):
        judged = (JudgedRun("late", "A result is used at train.py:7.", 1, "train.py:7"),)
        return trained(settings)._replace(judged=judged if settings.laws else (), recording=recording_of(settings))

    found = played(check_script(Fake(script), "train.py", replicas=[2]))
    assert [place.stop for place in found.places] == [0]


@pytest.mark.parametrize(
    ("one", "again", "other", "nudged"),
    [
        ("took 0.25", "took 0.31", "took 0.5", ()),  # a time
        ("world 1, rows 8", "world 1, rows 8", "world 2, rows 4", ()),  # the number of replicas, and a part of the work
        ("error 0.25", "error 0.25", "error 0.31", ("error 0.29",)),  # what rounding decides
        ("error 0.25", "error 0.25", "error 0.26", ()),  # two units of the last digit
        ("loss 1.5", "loss 1.5", "loss 2.5", ()),  # a line that is compared
        ("step 1", "step 1", "step 1\nstep 2", ()),  # other lines
        ("nan", "nan", "NaN", ()),
        ("2026-11-30 11:34:48 rows 8", "2026-11-30 11:34:48 rows 8", "2026-11-30 11:35:02 rows 8", ()),
    ],
)
def test_printed_numbers_that_may_lawfully_differ_are_not_remarked(one, again, other, nudged):
    """Clause: G-89."""
    pattern = re.compile("loss")
    assert unlike_numbers(Output(1, one, again, nudged), Output(2, other, other), pattern) is None


def test_printed_numbers_that_differ_are_remarked_where_the_values_agree_and_break_no_law():
    """Clause: G-89."""

    def printing(settings):
        errors = {1: (0.25, 0.125), 2: (0.31, 0.155)}[settings.replicas]
        output = "".join(f"epoch {epoch}: top-5 error (%) {error}\n" for epoch, error in enumerate(errors))
        return trained(settings)._replace(output=output)

    report = check_script(Fake(printing), "train.py", replicas=[1, 2])
    assert report.verdict == "agree"
    (remark,) = (text for text in report.remarks() if "prints" in text)
    assert "'epoch 0: top-5 error (%) 0.25' with 1 replica and 'epoch 0: top-5 error (%) 0.31' with 2" in remark
    assert "and 1 such line more" in remark
    assert "--same-output 'error'" in remark
    assert check_script(Fake(printing), "train.py", replicas=[1, 2], same_output="error").verdict == "differ"
    wrong = Fake(lambda settings: printing(settings)._replace(values=trained(settings, settings.replicas).values))
    assert not any("prints" in text for text in check_script(wrong, "train.py", replicas=[1, 2]).remarks())
