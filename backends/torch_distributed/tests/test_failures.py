"""Scripts that fail on simulated ranks: the run ends, names rank, line and remedy, and leaves nothing.

Clauses: G-3, G-4, G-10, G-49, G-50, G-60, G-61, G-63. All scenarios run in `every_failure.py`.
"""

import pytest
from failure_scenarios import SCENARIOS
from on_server import left, run_text

from simstrategy_torch_distributed.running import run_on
from simstrategy_torch_distributed.settings import Settings

QUICK = [name for name, one in SCENARIOS.items() if one.is_quick]


def ends_as_it_must(server, folder, scenario):
    """Runs a scenario; what a first run on this forkserver has opened for good is no part of what it leaves."""
    before = left(server)
    report = run_text(server, folder, scenario.text, ranks=scenario.ranks, limit_s=scenario.limit_s)
    text = "\n".join([report.text(), *(one.output for one in report.ranks)])
    missing = [part for part in scenario.shown if part not in text]
    assert (report.exit_code, missing) == (scenario.code, []), text
    assert left(server) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_failure_ends_the_run_and_names_rank_line_and_remedy(server, tmp_path, name):
    ends_as_it_must(server, tmp_path, SCENARIOS[name])


@pytest.mark.slow
def test_a_module_that_there_is_not_is_an_error_without_the_lines_that_have_started_it(server):
    report = run_on([server], Settings("no_such_module", ranks=2, is_module=True, tee=True))
    assert report.exit_code == 1
    assert [one.text for one in report.ranks] == ["ImportError(No module named no_such_module)"] * 2
    assert report.ranks[0].output == "ImportError: No module named no_such_module\n"


@pytest.mark.slow
def test_a_script_that_never_initialises_a_group_ends_as_it_does(server, tmp_path):
    report = run_text(server, tmp_path, "import torch\nprint('alone')\n")
    assert (report.exit_code, report.finding, report.remarks) == (0, None, ())
    assert [one.output for one in report.ranks] == ["alone\n"] * 2


def test_there_are_forty_scenarios_and_a_few_are_quick():
    assert len(SCENARIOS) >= 40
    assert 4 <= len(QUICK) <= 10
