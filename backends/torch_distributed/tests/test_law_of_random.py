"""The law of random draws: wrong scripts are found with lines, what may be meant is a remark, the rest is left alone.

Clauses: G-52, G-69, G-70, G-71.
"""

import pytest
from on_server import BEGIN, run_text
from random_scripts import LAWFUL, SUSPICIOUS, WRONG

from simstrategy_torch_distributed.laws.named import DEFAULT, chosen
from simstrategy_torch_distributed.laws.random import Random

pytestmark = pytest.mark.slow


def judged(server, folder, script):
    """Returns the run of a script, judged by the law of random draws alone."""
    report = run_text(server, folder, script.text, laws=("random",))
    assert report.finding is None, report.text()
    return report


@pytest.mark.parametrize("name", WRONG)
def test_what_no_purpose_explains_is_found_with_rank_seed_and_line(server, tmp_path, name):
    report = judged(server, tmp_path, WRONG[name])
    (found,) = report.broken
    assert (found.kind, report.exit_code) == ("random", 1)
    missing = [part for part in WRONG[name].finding if part not in found.text]
    assert not missing, found.text


@pytest.mark.parametrize("name", SUSPICIOUS)
def test_what_may_be_meant_is_a_remark_with_its_line(server, tmp_path, name):
    report = judged(server, tmp_path, SUSPICIOUS[name])
    assert (report.exit_code, report.broken) == (0, ())
    assert len(report.noted) == len(SUSPICIOUS[name].remarks), report.noted
    for part, remark in zip(SUSPICIOUS[name].remarks, report.noted, strict=True):
        assert part in remark


@pytest.mark.parametrize("name", LAWFUL)
def test_a_lawful_script_is_neither_accused_nor_remarked_on(server, tmp_path, name):
    report = judged(server, tmp_path, LAWFUL[name])
    assert (report.exit_code, report.broken, report.noted) == (0, (), ()), report.text()


def test_the_law_is_judged_where_it_is_named():
    assert "random" not in DEFAULT
    assert "random" in chosen(["random"], [])
    assert "random" in chosen(["all"], [])


def test_a_law_alone_makes_other_results_than_no_law_of_no_script(server, tmp_path):
    """The functions that it goes around give what they give without it."""
    text = WRONG["order_of_each_rank"].text + "print(torch.rand(3).tolist(), random.random(), np.random.rand())\n"
    outputs = [[one.output for one in run_text(server, tmp_path, text, laws=laws).ranks] for laws in ((), ("random",))]
    assert outputs[0] == outputs[1]
    assert all(output for output in outputs[0])


def step(number, value, gradient, *, rank, written=False, seed=0):
    """A report of a rank on one parameter of two elements before a step."""
    entries = [["weight", value, [float(rank), 1.0], gradient, 2, written]]
    what = {"what": "step", "optimizer": 0, "step": number, "site": ["/home/user/train.py", 9], "reduced": [2]}
    return {**what, "entries": entries}


def remarks_and_findings(*steps, drawn=("a", "b")):
    """Judges two ranks.  steps: of each rank values and gradients; drawn: the state from which each draws a weight."""
    law = Random(2)
    for rank in (0, 1):
        for number, (value, gradient, written) in steps[rank].items():
            law.receive(rank, step(number, value, gradient, rank=rank, written=written))
        lines = [["uniform_", ["/home/user/train.py", 4], [drawn[rank]], 0, "", "first values"]]
        states = {"begin": ["", ""], "steps": [["", ""]], "seeds": {}}
        law.receive(rank, {"what": "draws", "lines": lines, "states": states})
        law.receive(rank, {"what": "workers", "seeds": []})
    return [type(one).__name__ for one in law.close()]


def of_rank(*values, gradients=("g", "g", None), written=False):
    return {number: (value, one, written) for number, value, one in zip((1, 2, -1), values, gradients, strict=True)}


def test_each_fact_is_needed_for_a_finding():
    apart = (of_rank("x", "y", "z"), of_rank("u", "v", "w"))
    assert remarks_and_findings(*apart) == ["Finding"]
    assert remarks_and_findings(*apart, drawn=("a", "a")) == ["str"]
    equal_once = (of_rank("x", "y", "z"), of_rank("u", "y", "w"))
    assert remarks_and_findings(*equal_once) == []
    own_gradients = (of_rank("x", "y", "z"), of_rank("u", "v", "w", gradients=("g", "h", None)))
    assert remarks_and_findings(*own_gradients) == []
    combined = (of_rank("x", "y", "z", written=True), of_rank("u", "v", "w"))
    assert remarks_and_findings(*combined) == []
    one_stops = (of_rank("x", "y", "z"), {1: ("u", "g", False), -1: ("w", None, False)})
    assert remarks_and_findings(*one_stops) == []


def test_ranks_begin_with_generators_of_their_own_which_are_the_same_in_every_run(server, tmp_path):
    text = BEGIN + "import random, numpy as np\nprint(random.random(), np.random.rand(), torch.rand(2).tolist())\n"
    first, again, other = [
        [one.output for one in run_text(server, tmp_path, text, ranks=3, seed=seed).ranks] for seed in (0, 0, 1)
    ]
    numbers = [*zip(*[one.split() for one in (*first, *other)], strict=True)]
    assert first == again
    assert all(len(set(column)) == 6 for column in numbers), numbers
