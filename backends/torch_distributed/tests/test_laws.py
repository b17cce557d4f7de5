"""The laws of one run, by what ranks report: no process is started.

Clauses: G-40, G-41, G-42, G-44, G-45, G-46, G-47.
"""

import base64

import numpy as np
import pytest

from simstrategy.errors import InvalidArgument
from simstrategy_torch_distributed.findings import Finding
from simstrategy_torch_distributed.laws.coverage import Coverage
from simstrategy_torch_distributed.laws.judged import Laws
from simstrategy_torch_distributed.laws.late import Late
from simstrategy_torch_distributed.laws.named import LAWS, chosen
from simstrategy_torch_distributed.laws.state import State

WRAPPED = "kept equal by DistributedDataParallel"
BROADCAST = "broadcast by the script"
END = [-1, 0]


class Steps:
    """Reports of steps of two ranks to the law of state."""

    def __init__(self, by=WRAPPED, *, is_trained=False):
        self.law = State()
        self.by, self.is_trained = by, is_trained

    def report(self, rank, when, values, step=1, combined=False):
        """A rank has one parameter of these values, after so many calls of the group."""
        numbers = [float(value) for value in values]
        entry = ["w", "weight", repr(numbers), list(range(len(numbers))), numbers, "float32", combined]
        what = {"key": "0 wrapped 1", "ranks": [0, 1], "by": self.by, "is_trained": self.is_trained}
        site = ["/home/user/train.py", 30]
        self.law.receive(rank, {**what, "when": when, "step": step, "site": site, "entries": [entry]})

    def both(self, when, first, second, step=1, combined=False):
        self.report(0, when, first, step, combined)
        self.report(1, when, second, step, combined)

    def findings(self):
        return [one for one in self.law.close() if isinstance(one, Finding)]

    def remarks(self):
        return [one for one in self.law.close() if isinstance(one, str)]


def test_parameters_that_stay_unequal_are_named_at_the_first_step():
    steps = Steps()
    steps.both([3, 0], [1, 2], [1, 2])
    steps.both([4, 0], [1, 2], [1, 3], step=2)
    steps.both([5, 0], [1, 4], [1, 5], step=3)
    (found,) = steps.findings()
    assert found.kind == "state"
    assert found.lines == (
        "rank 0: weight begins with [1, 2], element 1 is 2.0, after its step 2 at train.py:30",
        "rank 1: weight begins with [1, 3], element 1 is 3.0, after its step 2 at train.py:30",
    )


@pytest.mark.parametrize(("when", "step"), [([6, 0], 3), (END, 2)])
def test_parameters_that_are_equal_again_were_apart_on_purpose(when, step):
    steps = Steps()
    steps.both([5, 0], [1, 2], [1, 3], step=2)
    steps.both(when, [4, 4], [4, 4], step)
    assert not steps.findings()
    steps.both([7, 0], [4, 5], [4, 4], step=4)
    assert not steps.findings()
    assert len(steps.remarks()) == 1


def test_parameters_that_the_script_combines_itself_are_not_accused():
    steps = Steps()
    steps.both([5, 0], [1, 2], [1, 3])
    steps.both([6, 0], [2, 2], [1, 3], combined=True)
    assert not steps.findings()


def test_ranks_are_compared_at_equal_numbers_of_calls_alone():
    """As under join: rank 1 has stopped while rank 0 makes two more steps."""
    steps = Steps()
    steps.both([5, 0], [1, 2], [1, 2])
    steps.report(0, [6, 0], [1, 3], step=2)
    steps.report(0, [7, 0], [1, 4], step=3)
    steps.report(1, [8, 0], [1, 5], step=2)
    steps.report(0, [8, 0], [1, 5], step=4)
    assert not steps.findings()
    assert not steps.remarks()


def test_rounding_is_no_difference_nor_is_nan_on_all_ranks():
    steps = Steps()
    steps.both([5, 0], [1, 2], [1, 2.0000002])
    assert not steps.findings()
    steps = Steps()
    steps.both([5, 0], [float("nan"), 2], [float("nan"), 2])
    assert not steps.findings()


def test_the_end_accuses_only_where_a_rank_never_stepped():
    steps = Steps()
    steps.both([5, 0], [1, 2], [1, 2])
    steps.both(END, [9, 9], [1, 2])  # rank 0 has loaded another state to evaluate it
    assert not steps.findings()
    steps = Steps()
    steps.report(0, [5, 0], [1, 3])
    steps.report(0, END, [1, 3])
    steps.report(1, END, [1, 2], step=0)
    (found,) = steps.findings()
    assert found.lines[1].endswith("at the end, after no step")


@pytest.mark.parametrize("is_trained", [True, False])
def test_broadcast_parameters_are_accused_only_where_gradients_or_parameters_are_reduced(is_trained):
    steps = Steps(BROADCAST, is_trained=is_trained)
    steps.both([5, 0], [1, 2], [1, 3])
    assert len(steps.findings()) == is_trained
    assert len(steps.remarks()) == (not is_trained)


def judged(draws, kind="distributed", count=24, shares=None, batch=1, seeded=True, epochs=1, acts=0, graded=True):
    """Returns what the law of coverage yields for the draws of each rank."""
    law = Coverage(len(draws))
    for epoch in range(epochs):
        for rank, drawn in enumerate(draws):
            data = base64.b64encode(np.asarray([*drawn], dtype=np.int64).tobytes()).decode()
            share = [rank if shares is None else shares[rank], len({*(shares or range(len(draws)))})]
            report = {"name": "Sampler", "kind": kind, "count": count, "batch": batch, "seeded": seeded, "drawn": data}
            report |= {"share": share if kind == "distributed" else None, "site": ["/train.py", 9], "pass": epoch}
            report |= {"made": ["/train.py", 4], "acts": acts, "graded": graded}
            law.receive(rank, report)
    found = list(law.close())
    return [one for one in found if isinstance(one, Finding)], [one for one in found if isinstance(one, str)]


HALVES = [range(0, 24, 2), range(1, 24, 2)]


@pytest.mark.parametrize(
    ("draws", "options", "remark"),
    [
        (HALVES, {}, None),
        ([range(12), [*range(12, 23), 0]], {"count": 23}, "padding of DistributedSampler"),
        ([range(11), range(11, 22)], {"count": 23}, "the remainder, which is dropped"),
        ([range(10), range(12, 22)], {"batch": 5}, "the remainder, which is dropped"),
        ([range(12), range(12), range(12, 24), range(12, 24)], {"shares": [0, 0, 1, 1]}, None),
        ([range(24), range(24)], {"kind": "torch"}, "each rank draws the same 24 indices"),
        ([[1, 1, 2], [3, 3, 4]], {"kind": "own"}, None),
        ([range(12), range(6, 18)], {"kind": "torch"}, "6 of 24 samples are drawn by no rank"),
        ([[5, 3, 1, 0, 2, 4, 6, 8, 7, 9, 10, 11], [0, *range(13, 24)]], {"kind": "own"}, "1 of 24 samples"),
        ([range(3), range(3)], {"kind": "own", "count": 3}, None),
    ],
)
def test_padding_remainders_chance_and_equal_shares_are_not_accused(draws, options, remark):
    findings, remarks = judged(draws, **options)
    assert not findings
    assert len(remarks) == (remark is not None)
    assert remark is None or remark in remarks[0]


@pytest.mark.parametrize(
    ("draws", "options", "text"),
    [
        ([range(12), range(6, 18)], {}, "6 of 24 samples are drawn by no rank (18, 19, 20, 21, 22, …) and 6 are drawn"),
        ([range(12), range(11, 23)], {"kind": "own"}, "1 of 24 samples are drawn by no rank (23) and 1 are drawn more"),
        ([[*range(11), 5], range(12, 24)], {}, "1 of 24 samples are drawn by no rank (11)"),
        ([[3, 2, 1, *range(4, 13)], [3, *range(13, 24)]], {"kind": "own", "epochs": 2}, "1 of 24 samples"),
    ],
)
def test_shares_that_lose_and_repeat_samples_are_findings(draws, options, text):
    (found,), _ = judged(draws, **options)
    assert found.kind == "coverage"
    assert text in found.text
    assert found.lines[0].endswith("at train.py:9")


@pytest.mark.parametrize(("seeded", "expected"), [(True, 1), (False, 0)])
def test_shuffled_passes_of_one_order_are_a_remark(seeded, expected):
    findings, remarks = judged(HALVES, seeded=seeded, epochs=2)
    assert not findings
    assert len([one for one in remarks if "set_epoch" in one]) == expected


@pytest.mark.parametrize(("acts", "graded", "expected"), [(12, True, 1), (0, True, 0), (12, False, 0)])
def test_shuffled_passes_of_one_order_are_a_finding_where_they_train(acts, graded, expected):
    findings, remarks = judged(HALVES, epochs=3, acts=acts, graded=graded)
    assert len(findings) == expected
    assert len(remarks) == 1 - expected
    assert not expected or "each of the 3 passes draws the shuffled samples in the same order" in findings[0].text


def test_passes_that_not_all_ranks_end_are_not_judged():
    law = Coverage(2)
    data = base64.b64encode(np.arange(3).tobytes()).decode()
    fields = {"name": "S", "kind": "distributed", "count": 24, "batch": 1, "seeded": True, "share": [0, 2]}
    fields |= {"made": ["a.py", 1], "acts": 0, "graded": True}
    law.receive(0, {**fields, "site": ["a.py", 1], "pass": 0, "drawn": data})
    assert not list(law.close())


def test_uses_are_findings_and_forgotten_results_remarks():
    law = Late()
    use = {"call": "all_reduce SUM float32[2] at train.py:5", "how": "mul", "site": ["/home/train.py", 6]}
    law.receive(1, use)
    law.receive(1, use)
    law.receive(0, {"forgotten": ["all_reduce SUM float32[3] at train.py:9"]})
    found, remark = law.close()
    assert found.lines == ("rank 1: all_reduce SUM float32[2] at train.py:5 is used by mul at train.py:6",)
    assert remark.startswith("the result of all_reduce SUM float32[3] at train.py:9 is never waited for on rank 0")


def test_laws_are_chosen_by_name():
    assert (*chosen([], []), "random") == LAWS == ("state", "late", "coverage", "random")
    assert not Laws(LAWS, 2).received
    assert chosen([], ["late"]) == ("state", "coverage")
    assert chosen(["all"], ["all"]) == ()
    with pytest.raises(
        InvalidArgument, match="There is no law 'sate' of one run: choose from state, late, coverage, random"
    ):
        chosen(["sate"], [])
    laws = Laws(["late"], 2)
    laws.receive(0, "coverage", {})
    assert laws.close() == ((), ())
