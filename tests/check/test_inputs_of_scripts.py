"""Whether the runs of a script have one global batch, by what replicas give its modules.  Clauses: G-39, G-103"""

import pytest
from fake_scripts import Fake, trained

from simstrategy.check.scripts import check_script
from simstrategy.check.scripts.facts import Batches, Inputs
from simstrategy.check.scripts.inputs import are_other_data, other_rows


@pytest.mark.parametrize(
    ("one", "other", "is_other"),
    [
        ([(7, 12)], [(7, 6), (8, 6)], False),  # turns of an accumulation
        ([(7, 6)], [(7, 6), (8, 6)], True),
        ([(7, None)], [(7, 6), (8, 6)], True),
        ([(7, 12)], [(9, 6), (8, 6)], False),
        ([(7, 12)], [(7, 12), (7, 12)], False),
    ],
    ids=["turns", "grown", "unknown", "shared out", "equal"],
)
def test_replicas_that_share_out_the_turns_of_an_accumulation_have_one_batch(one, other, is_other):
    runs = [[Inputs(*given) for given in run] for run in (one, other)]
    assert are_other_data(*runs, is_stated=True) is is_other


def test_unlike_numbers_of_rows_are_stated_where_replicas_have_rows_of_their_own():
    reference = [Inputs(7, 12)]
    assert "give their modules 8 rows, and 12 in the reference" in other_rows(reference, [Inputs(7, 4), Inputs(8, 4)])
    assert other_rows(reference, [Inputs(7, 6), Inputs(8, 6)]) == ""
    assert other_rows(reference, [Inputs(7, 12), Inputs(7, 12)]) == ""
    assert other_rows(reference, [Inputs(7, None), Inputs(8, 6)]) == ""


def joining(steps, rows, joined=True):
    """Returns a script with a wrong factor on two replicas.  steps, rows: by the number of replicas."""

    def script(settings):
        count = settings.replicas
        run = trained(settings, factor=float(count))
        inputs = tuple(Inputs(7, rows[count]) for _ in range(count))
        return run._replace(inputs=inputs, batches=Batches(steps[count], joined and count > 1))

    return script


@pytest.mark.parametrize(
    ("steps", "rows", "why"),
    [
        ({1: 4, 2: 5}, {1: 6, 2: 3}, "with 1 replica there are 4 steps, and with 2 replicas 5: the runs do not share"),
        ({1: 4, 2: 4}, {1: 6, 2: 6}, "up to its first step every replica gets 6 rows: the runs do not share out"),
    ],
)
def test_runs_in_which_replicas_join_early_and_have_other_batches_are_not_judged(steps, rows, why):
    fake = Fake(joining(steps, rows))
    report = check_script(fake, "train.py", replicas=[1, 2], arguments=["--batch", "4"])
    assert report.verdict == "undecided", str(report)
    assert f"replicas join before others, and {why}" in str(report)


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        (joining({1: 4, 2: 4}, {1: 6, 2: 3}), []),
        (joining({1: 4, 2: 4}, {1: 6, 2: 6}), ["--batch", "{6//replicas}"]),
        (joining({1: 4, 2: 4}, {1: None, 2: None}), []),
        (joining({1: 4, 2: 5}, {1: 6, 2: 3}, joined=False), []),
    ],
    ids=["shared out", "stated", "unknown", "not joined"],
)
def test_runs_with_the_same_batches_are_judged(script, arguments):
    report = check_script(Fake(script), "train.py", replicas=[1, 2], arguments=arguments)
    assert report.verdict == "differ", str(report)
